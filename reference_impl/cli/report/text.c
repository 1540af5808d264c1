/* SPDX-License-Identifier: BSD-2-Clause */
/* Text and JSON that a terminal can show: see text.h. */
#include "cli/report/text.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS 15 /* as many as a double keeps */

/* Length of the well-formed UTF-8 character at `text` and its code point; 0 when there is none. RFC 3629: the shortest
 * form only, no surrogates, nothing past U+10FFFF. */
static size_t read_character(const char *text, uint32_t *code)
{
    static const uint32_t least[] = {0, 0x1, 0x80, 0x800, 0x10000}; /* of the lengths */
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = bytes[0] < 0x80   ? 1
                    : bytes[0] < 0xc0 ? 0
                    : bytes[0] < 0xe0 ? 2
                    : bytes[0] < 0xf0 ? 3
                    : bytes[0] < 0xf8 ? 4
                                      : 0;
    *code = bytes[0] & first_bits[length];
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (bytes[i] & 0x3f);
    }
    return *code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff) ? 0 : length;
}

/* Inclusive ranges of code points, ascending. */
static const struct {
    uint32_t first, last;
} harmful[] = {
    {0x00, 0x1f},       /* C0: steers terminals */
    {0x7f, 0x9f},       /* DEL, C1 */
    {0x061c, 0x061c},   /* Arabic letter mark: turns the direction of what follows, as do others below */
    {0x200b, 0x200f},   /* zero width, left-to-right and right-to-left mark */
    {0x2028, 0x202e},   /* ends of lines and paragraphs, embeddings, overrides */
    {0x2060, 0x2060},   /* word joiner: no width */
    {0x2066, 0x2069},   /* isolates */
    {0xfeff, 0xfeff},   /* no-break space without width */
    {0xfff9, 0xfffb},   /* interlinear annotation: hides text */
    {0xe0000, 0xe007f}, /* tags: invisible letters */
};

static bool is_harmful(uint32_t code)
{
    for (size_t i = 0; i < sizeof harmful / sizeof *harmful; i++)
        if (code >= harmful[i].first && code <= harmful[i].last)
            return true;
    return false;
}

text_piece text_next(const char *text)
{
    uint32_t code;
    size_t length = read_character(text, &code);
    if (length == 0)
        return (text_piece){.bytes = 1, .code = TEXT_REPLACEMENT};
    return (text_piece){.bytes = length, .code = code, .printable = !is_harmful(code)};
}

const char *text_printable(const char *text, char *to, size_t capacity)
{
    size_t used = 0;
    while (*text != '\0') {
        text_piece piece = text_next(text);
        if (used + (piece.printable ? piece.bytes : 1) >= capacity)
            break;
        if (piece.printable)
            for (size_t i = 0; i < piece.bytes; i++)
                to[used++] = text[i];
        else
            to[used++] = '?';
        text += piece.bytes;
    }
    to[used] = '\0';
    return to;
}

const char *text_role(enum netblt_role role)
{
    return role == NETBLT_SENDER ? "sender" : "receiver";
}

static const char *scale(double value, const char *const units[5], char to[TEXT_AMOUNT_BYTES])
{
    unsigned unit = 0;
    while (value >= 999.5 && unit < 4) {
        value /= 1000;
        unit++;
    }
    snprintf(to, TEXT_AMOUNT_BYTES, "%.*f %s", unit == 0 || value >= 99.95 ? 0 : 1, value, units[unit]);
    return to;
}

const char *text_bytes(uint64_t bytes, char to[TEXT_AMOUNT_BYTES])
{
    static const char *const units[5] = {"B", "kB", "MB", "GB", "TB"};
    return scale((double)bytes, units, to);
}

const char *text_rate(double bits_per_second, char to[TEXT_AMOUNT_BYTES])
{
    static const char *const units[5] = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"};
    return scale(bits_per_second, units, to);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------
 */

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
