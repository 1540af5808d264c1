/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/text.h"

#include <stdbool.h>

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* RFC 3629: the shortest form only, no surrogates, nothing past U+10FFFF. */
size_t text_utf8_length(const char *text)
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

/* U+2028 to U+202E end a line or turn the direction of what follows, U+2066 to U+2069 too: a line with such a name in
 * it would read as another one. */
static bool rearranges_the_line(const unsigned char bytes[3])
{
    return bytes[0] == 0xe2 && ((bytes[1] == 0x80 && bytes[2] >= 0xa8 && bytes[2] <= 0xae) ||
                                (bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9));
}

/* C0 and C1 control characters and DEL steer terminals. */
static bool is_printable(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;

    if (length == 1)
        return bytes[0] >= 0x20 && bytes[0] != 0x7f;
    if (length == 3 && rearranges_the_line(bytes))
        return false;
    return length > 0 && !(bytes[0] == 0xc2 && bytes[1] < 0xa0);
}

const char *text_printable(const char *text, char *to, size_t capacity)
{
    size_t used = 0;

    while (*text != '\0') {
        size_t length = text_utf8_length(text);
        bool printable = is_printable(text, length);

        if (length == 0)
            length = 1;
        if (used + (printable ? length : 1) >= capacity)
            break;
        if (printable)
            for (size_t i = 0; i < length; i++)
                to[used++] = text[i];
        else
            to[used++] = '?';
        text += length;
    }
    to[used] = '\0';
    return to;
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
