/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The power of two that a suffix stands for; -1 for anything that is no suffix. */
static int suffix_bits(const char *suffix)
{
    if (*suffix == '\0')
        return 0;
    if (suffix[1] != '\0')
        return -1;
    switch (suffix[0]) {
    case 'k':
    case 'K':
        return 10;
    case 'M':
        return 20;
    case 'G':
        return 30;
    default:
        return -1;
    }
}

int number_parse(const char *option, const char *text, uint64_t min, uint64_t max, bool is_size,
                 optional_number *number, netblt_failure *failure)
{
    char *rest;
    unsigned long long value;
    int bits;

    errno = 0;
    value = strtoull(text, &rest, 10);
    bits = suffix_bits(rest);
    if (!isdigit((unsigned char)text[0]) || bits < 0 || (bits > 0 && !is_size))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "%s %s: not a number%s; give one between %" PRIu64 " and %" PRIu64, option, text,
                           is_size ? " (k, M or G may follow)" : "", min, max);
    if (errno == ERANGE || value > (max >> bits) || value << bits < min)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "%s %s: out of range; give a number between %" PRIu64 " and %" PRIu64, option, text, min,
                           max);
    *number = (optional_number){.given = true, .value = value << bits};
    return 0;
}
