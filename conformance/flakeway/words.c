/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a rule or rate, and the values that they can be. */
#include "words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "random.h"

#define FRACTION_DIGITS 9 /* what a decimal number keeps after its point */
#define FRACTION_ONE 1000000000u
#define WHOLE_MAX 1000000000u    /* keeps every product of a value and its unit within 64 bits */
#define TIME_MAX_US 86400000000u /* a day: more is a slip, and sums stay far from overflow */

fw_words fw_words_of(const char *text, flakeway_error *error)
{
    return (fw_words){.at = text, .begin = text, .error = error};
}

bool fw_next_word(fw_words *words, fw_word *word)
{
    while (isspace((unsigned char)*words->at))
        words->at++;
    word->start = words->at;
    word->column = (unsigned)(words->at - words->begin) + 1;
    while (*words->at && !isspace((unsigned char)*words->at))
        words->at++;
    word->length = (size_t)(words->at - word->start);
    return word->length > 0;
}

static bool same_letters(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (tolower((unsigned char)a[i]) != tolower((unsigned char)b[i]))
            return false;
    return true;
}

bool fw_word_is(fw_word word, const char *text)
{
    return word.length == strlen(text) && same_letters(word.start, text, word.length);
}

bool fw_word_value(fw_word word, const char *key, fw_word *value)
{
    size_t length = strlen(key);
    if (word.length <= length || word.start[length] != '=' || !same_letters(word.start, key, length))
        return false;
    *value = (fw_word){.start = word.start + length + 1,
                       .length = word.length - length - 1,
                       .column = word.column + (unsigned)length + 1};
    return true;
}

enum { SHOWN_MAX = 64 }; /* characters of a word in a message */

/* The beginning of a word, fit for a terminal: any file may be given as one with rules. */
static void copy_printable(fw_word word, char shown[static SHOWN_MAX + 1])
{
    size_t length = word.length > SHOWN_MAX ? SHOWN_MAX : word.length;
    for (size_t i = 0; i < length; i++)
        shown[i] = (char)(word.start[i] > ' ' && word.start[i] <= '~' ? word.start[i] : '?');
    shown[length] = '\0';
}

bool fw_fail(const fw_words *words, fw_word word, const char *what)
{
    flakeway_error *error = words->error;
    if (error) {
        error->column = word.column;
        if (word.length == 0) {
            snprintf(error->message, sizeof error->message, "%s", what);
        } else {
            char shown[SHOWN_MAX + 1];
            copy_printable(word, shown);
            snprintf(error->message, sizeof error->message, "\"%s\" %s", shown, what);
        }
    }
    return false;
}

/* A decimal number with at most FRACTION_DIGITS digits after its point; *unit is what follows it. */
static bool read_decimal(fw_word word, uint64_t *whole, uint64_t *fraction, fw_word *unit)
{
    size_t at = 0;
    uint64_t weight = FRACTION_ONE;
    *whole = *fraction = 0;
    while (at < word.length && isdigit((unsigned char)word.start[at])) {
        *whole = *whole * 10 + (uint64_t)(word.start[at++] - '0');
        if (*whole > WHOLE_MAX)
            return false;
    }
    if (at == 0)
        return false;
    if (at < word.length && word.start[at] == '.') {
        size_t point = at++;
        while (at < word.length && isdigit((unsigned char)word.start[at])) {
            weight /= 10;
            *fraction += weight * (uint64_t)(word.start[at++] - '0');
        }
        if (at == point + 1 || at - point - 1 > FRACTION_DIGITS)
            return false;
    }
    *unit = (fw_word){.start = word.start + at, .length = word.length - at, .column = word.column + (unsigned)at};
    return true;
}

/* (whole.fraction) * factor, rounded down. factor <= 1e10. */
static uint64_t scale(uint64_t whole, uint64_t fraction, uint64_t factor)
{
    return whole * factor + (fraction * (factor / 1000) / (FRACTION_ONE / 1000)) +
           fraction * (factor % 1000) / FRACTION_ONE;
}

static bool plain_number(fw_word word, uint32_t *number)
{
    uint64_t value = 0;
    if (word.length == 0 || word.length > 10)
        return false;
    for (size_t i = 0; i < word.length; i++) {
        if (!isdigit((unsigned char)word.start[i]))
            return false;
        value = value * 10 + (uint64_t)(word.start[i] - '0');
    }
    *number = (uint32_t)value;
    return value <= UINT32_MAX;
}

bool fw_read_number(const fw_words *words, fw_word word, uint32_t minimum, uint32_t maximum, uint32_t *number)
{
    if (plain_number(word, number) && *number >= minimum && *number <= maximum)
        return true;
    char what[96];
    snprintf(what, sizeof what, "is not a number from %u to %u", minimum, maximum);
    return fw_fail(words, word, word.length ? what : "a number is missing here");
}

bool fw_read_range(const fw_words *words, fw_word word, uint32_t minimum, uint32_t maximum, fw_range *range)
{
    fw_word first = word;
    fw_word last = word;
    for (size_t i = 0; i + 1 < word.length; i++) {
        if (word.start[i] == '.' && word.start[i + 1] == '.') {
            first.length = i;
            last = (fw_word){
                .start = word.start + i + 2, .length = word.length - i - 2, .column = word.column + (unsigned)i + 2};
            break;
        }
    }
    if (!fw_read_number(words, first, minimum, maximum, &range->first) ||
        !fw_read_number(words, last, minimum, maximum, &range->last))
        return false;
    range->set = true;
    return range->first <= range->last || fw_fail(words, word, "is a range that ends before it begins");
}

bool fw_read_time(const fw_words *words, fw_word word, uint64_t *time_us)
{
    static const struct {
        const char *unit;
        uint64_t us;
    } units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}};
    uint64_t whole;
    uint64_t fraction;
    fw_word unit;
    if (!read_decimal(word, &whole, &fraction, &unit))
        return fw_fail(words, word,
                       word.length ? "is not a time such as 5ms, 1.5s or 200us" : "a time is missing here");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (fw_word_is(unit, units[i].unit)) {
            *time_us = scale(whole, fraction, units[i].us);
            return *time_us <= TIME_MAX_US || fw_fail(words, word, "is more than a day");
        }
    }
    return fw_fail(words, word, "is a time without its unit: us, ms or s");
}

bool fw_read_percent(const fw_words *words, fw_word word, uint32_t *ppb)
{
    uint64_t whole;
    uint64_t fraction;
    fw_word unit;
    if (word.length == 0 || !read_decimal(word, &whole, &fraction, &unit) || !fw_word_is(unit, "%"))
        return fw_fail(words, word,
                       word.length ? "is not a percentage such as 2% or 0.5%" : "a percentage is missing here");
    uint64_t value = scale(whole, fraction, FW_PPB_ALWAYS / 100);
    if (value > FW_PPB_ALWAYS)
        return fw_fail(words, word, "is more than 100%");
    *ppb = (uint32_t)value;
    return true;
}

bool fw_read_rate(const fw_words *words, fw_word word, uint64_t *bits_per_s)
{
    static const struct {
        const char *unit;
        uint64_t bits;
    } units[] = {{"bit", 1},       {"kbit", 1000},      {"mbit", 1000000},     {"gbit", 1000000000},
                 {"k", 1000},      {"m", 1000000},      {"g", 1000000000},     {"bit/s", 1},
                 {"kbit/s", 1000}, {"mbit/s", 1000000}, {"gbit/s", 1000000000}};
    uint64_t whole;
    uint64_t fraction;
    fw_word unit;
    if (fw_word_is(word, "unlimited")) {
        *bits_per_s = 0;
        return true;
    }
    if (!read_decimal(word, &whole, &fraction, &unit))
        return fw_fail(words, word,
                       word.length ? "is not a rate such as 10Mbit or 64kbit/s" : "a rate is missing here");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (fw_word_is(unit, units[i].unit)) {
            *bits_per_s = scale(whole, fraction, units[i].bits);
            return *bits_per_s > 0 || fw_fail(words, word, "is less than one bit per second");
        }
    }
    return fw_fail(words, word, "is a rate without its unit: bit, kbit, Mbit or Gbit (per second)");
}

bool fw_read_queue(const fw_words *words, fw_word word, uint32_t *packets, uint64_t *bytes, uint64_t *time_us,
                   uint32_t *cells)
{
    static const struct {
        const char *unit;
        uint64_t bytes;
    } units[] = {{"b", 1}, {"kb", 1000}, {"mb", 1000000}, {"kib", 1024}, {"mib", 1048576}};
    uint64_t whole;
    uint64_t fraction;
    fw_word unit;
    bool number = read_decimal(word, &whole, &fraction, &unit);
    *packets = *cells = UINT32_MAX;
    *bytes = *time_us = UINT64_MAX;
    if (number && (fw_word_is(unit, "us") || fw_word_is(unit, "ms") || fw_word_is(unit, "s")))
        return fw_read_time(words, word, time_us);
    if (!number || fraction)
        return fw_fail(words, word,
                       word.length ? "is not a queue such as 20packets, 64KiB, 100ms or 256cells"
                                   : "a queue length is missing here");
    if (fw_word_is(unit, "packets") || fw_word_is(unit, "packet")) {
        *packets = (uint32_t)whole;
        return true;
    }
    if (fw_word_is(unit, "cells") || fw_word_is(unit, "cell")) {
        *cells = (uint32_t)whole;
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (fw_word_is(unit, units[i].unit)) {
            *bytes = whole * units[i].bytes;
            return true;
        }
    }
    return fw_fail(words, word, "is a queue without its unit: packets; B, kB, KiB, MB or MiB; us, ms or s; cells");
}

#define BYTES_MAX 65535

bool fw_read_bytes(const fw_words *words, fw_word word, uint32_t *bytes)
{
    uint64_t whole;
    uint64_t fraction;
    fw_word unit;
    if (!read_decimal(word, &whole, &fraction, &unit) || fraction || whole > BYTES_MAX || !fw_word_is(unit, "B"))
        return fw_fail(words, word, word.length ? "is not a size such as 38B" : "a size such as 38B is missing here");
    *bytes = (uint32_t)whole;
    return true;
}

bool fw_read_bits(const fw_words *words, fw_word word, uint64_t *bits)
{
    uint64_t fraction;
    fw_word unit;
    bool good = read_decimal(word, bits, &fraction, &unit) && fraction == 0 && *bits > 0 && fw_word_is(unit, "bits");
    return good ||
           fw_fail(words, word,
                   word.length ? "is not a size such as 24054bits" : "a size such as 24054bits is missing here");
}

bool fw_read_pair(const fw_words *words, fw_word word, uint32_t *first, uint32_t *second)
{
    const char *slash = word.length ? memchr(word.start, '/', word.length) : NULL;
    if (!slash)
        return fw_fail(words, word,
                       word.length ? "is not a pair such as 48/53" : "a pair such as 48/53 is missing here");
    size_t length = (size_t)(slash - word.start);
    fw_word one = {.start = word.start, .length = length, .column = word.column};
    fw_word two = {
        .start = slash + 1, .length = word.length - length - 1, .column = word.column + (unsigned)length + 1};
    return fw_read_number(words, one, 1, BYTES_MAX, first) && fw_read_number(words, two, 1, BYTES_MAX, second);
}

bool fw_read_direction(fw_word word, uint8_t *directions)
{
    if (fw_word_is(word, "a>b") || fw_word_is(word, "left>right"))
        *directions = 1u << FLAKEWAY_A_TO_B;
    else if (fw_word_is(word, "b>a") || fw_word_is(word, "right>left"))
        *directions = 1u << FLAKEWAY_B_TO_A;
    else if (fw_word_is(word, "both"))
        *directions = 1u << FLAKEWAY_A_TO_B | 1u << FLAKEWAY_B_TO_A;
    else
        return false;
    return true;
}
