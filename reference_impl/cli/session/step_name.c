/* SPDX-License-Identifier: BSD-2-Clause */
/* The client string of the steps of a tree transfer: see step_name.h. */
#include "cli/session/step_name.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/hex.h"

#define MARK " netblt="
#define HELD "held:"
#define CONTENT "content:"
#define ID_DIGITS ((size_t)2 * STEP_ID_BYTES)
#define OFFSET_DIGITS_MAX 20

_Static_assert(STEP_NAME_MAX_BYTES + sizeof MARK CONTENT + 2 * ID_DIGITS + 2 + OFFSET_DIGITS_MAX <=
                   NETBLT_STRING_MAX_BYTES + 1,
               "the longest step fits after the longest name");

/* ---- reading: each returns what follows, or NULL when it is not there -------------------------------------------- */

static const char *skip(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static const char *read_id(const char *text, uint8_t id[STEP_ID_BYTES])
{
    for (size_t i = 0; i < STEP_ID_BYTES; i++) {
        int high = digit_value(text[2 * i]);
        int low = high < 0 ? -1 : digit_value(text[2 * i + 1]);
        if (low < 0)
            return NULL;
        id[i] = (uint8_t)(high << 4 | low);
    }
    return text + ID_DIGITS;
}

/* One text for each number: no sign, no leading zero, nothing beyond 64 bits. */
static const char *read_offset(const char *text, uint64_t *offset)
{
    const char *at = text;
    *offset = 0;
    for (; isdigit((unsigned char)*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (*offset > (UINT64_MAX - digit) / 10)
            return NULL;
        *offset = *offset * 10 + digit;
    }
    return at == text || (text[0] == '0' && at > text + 1) ? NULL : at;
}

static const char *read_held(const char *text, step_name *step)
{
    text = skip(text, HELD);
    step->kind = STEP_HELD;
    return text == NULL ? NULL : read_id(text, step->manifest_id);
}

static const char *read_content(const char *text, step_name *step)
{
    text = skip(text, CONTENT);
    step->kind = STEP_CONTENT;
    if (text != NULL)
        text = read_id(text, step->manifest_id);
    if (text != NULL)
        text = skip(text, ":");
    if (text != NULL)
        text = read_id(text, step->held_id);
    if (text != NULL)
        text = skip(text, ":");
    return text == NULL ? NULL : read_offset(text, &step->offset);
}

/* What follows the mark. */
static bool read_step(const char *text, step_name *step)
{
    const char *rest = read_held(text, step);
    if (rest == NULL) {
        *step = (step_name){0};
        rest = read_content(text, step);
    }
    return rest != NULL && *rest == '\0';
}

/* The last one in `text`, or NULL. */
static const char *find_mark(const char *text)
{
    const char *found = NULL;
    for (const char *at = strstr(text, MARK); at != NULL; at = strstr(at + 1, MARK))
        found = at;
    return found;
}

void step_name_parse(const char *text, step_name *step)
{
    const char *mark = find_mark(text);
    *step = (step_name){0};
    if (mark == NULL || !read_step(mark + strlen(MARK), step)) {
        *step = (step_name){0};
        snprintf(step->name, sizeof step->name, "%s", text);
    } else {
        snprintf(step->name, sizeof step->name, "%.*s", (int)(mark - text), text);
    }
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

static const char *id_text(const uint8_t id[STEP_ID_BYTES], char text[ID_DIGITS + 1])
{
    hex_text(id, STEP_ID_BYTES, text);
    return text;
}

static bool is_plain(const char *name)
{
    step_name parsed;
    step_name_parse(name, &parsed);
    return strlen(name) <= STEP_NAME_MAX_BYTES && parsed.kind == STEP_FIRST;
}

bool step_name_write(const step_name *step, char text[NETBLT_STRING_MAX_BYTES + 1])
{
    const size_t capacity = NETBLT_STRING_MAX_BYTES + 1;
    char manifest[ID_DIGITS + 1];
    char held[ID_DIGITS + 1];
    text[0] = '\0';
    if (!is_plain(step->name))
        return false;
    if (step->kind == STEP_FIRST)
        snprintf(text, capacity, "%s", step->name);
    else if (step->kind == STEP_HELD)
        snprintf(text, capacity, "%s" MARK HELD "%s", step->name, id_text(step->manifest_id, manifest));
    else
        snprintf(text, capacity, "%s" MARK CONTENT "%s:%s:%" PRIu64, step->name, id_text(step->manifest_id, manifest),
                 id_text(step->held_id, held), step->offset);
    return true;
}
