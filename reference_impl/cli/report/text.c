/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/report/text.h"

#include <stdbool.h>

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Length of the well-formed UTF-8 character at `text`, 0 when there is none. RFC 3629: the shortest form only, no
 * surrogates, nothing past U+10FFFF. */
static size_t utf8_length(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char first = bytes[0];

    if (first < 0x80)
        return first == 0 ? 0 : 1;
    if (first < 0xc2 || first > 0xf4 || !is_continuation(bytes[1]))
        return 0;
    if (first < 0xe0)
        return 2;
    if ((first == 0xe0 && bytes[1] < 0xa0) || (first == 0xed && bytes[1] > 0x9f) ||
        (first == 0xf0 && bytes[1] < 0x90) || (first == 0xf4 && bytes[1] > 0x8f) || !is_continuation(bytes[2]))
        return 0;
    if (first < 0xf0)
        return 3;
    return is_continuation(bytes[3]) ? 4 : 0;
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

/* Of the well-formed character of `length` bytes. */
static uint32_t code_point(const char *text, size_t length)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t code = bytes[0] & first_bits[length];

    for (size_t i = 1; i < length; i++)
        code = code << 6 | (bytes[i] & 0x3f);
    return code;
}

text_piece text_next(const char *text)
{
    size_t length = utf8_length(text);
    text_piece piece = {.bytes = length == 0 ? 1 : length, .code = TEXT_REPLACEMENT};

    if (length == 0)
        return piece;
    piece.code = code_point(text, length);
    piece.printable = !is_harmful(piece.code);
    return piece;
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
