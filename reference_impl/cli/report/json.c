/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON that a terminal can show: see json.h. */
#include "cli/report/json.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/text.h"

#define DIGITS 15 /* as many as a double keeps */

json_t *json_text(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    json_t *value;
    char *copy;
    size_t used = 0;
    if (text == NULL)
        return json_null();
    copy = malloc(strlen(text) * (sizeof replacement - 1) + 1);
    if (copy == NULL)
        return NULL;
    while (*text != '\0') {
        text_piece piece = text_next(text);
        bool is_text = piece.code != TEXT_REPLACEMENT;
        size_t length = is_text ? piece.bytes : sizeof replacement - 1;
        memcpy(copy + used, is_text ? text : replacement, length);
        used += length;
        text += piece.bytes;
    }
    value = json_stringn(copy, used);
    free(copy);
    return value;
}

json_t *json_known(bool known, uint64_t value)
{
    return known ? json_integer(JSON_WHOLE(value)) : json_null();
}

json_t *json_positive(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

/* Jansson escapes what is no ASCII, and control characters but DEL, which can only be in a string. */
static int write_some(const char *bytes, size_t length, void *to)
{
    for (const char *end = bytes + length; bytes < end; bytes++)
        if (*bytes == 0x7f)
            fputs("\\u007F", to);
        else
            putc_unlocked(*bytes, to);
    return 0;
}

void json_print(FILE *to, json_t *value)
{
    (void)json_dump_callback(value, write_some, to, JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DIGITS));
    json_decref(value);
}
