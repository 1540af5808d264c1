/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a rule or rate, and the values that they can be. */
#ifndef FLAKEWAY_WORDS_H
#define FLAKEWAY_WORDS_H

#include "flakeway.h"
#include "match.h"

/* The words of one line, and the values that words can be. Every reader returns false with the error filled, naming
 * the word and its column. */
typedef struct fw_word {
    const char *start;
    size_t length;
    unsigned column; /* from 1 */
} fw_word;

typedef struct fw_words {
    const char *at;
    const char *begin;
    flakeway_error *error;
} fw_words;

fw_words fw_words_of(const char *text, flakeway_error *error);
/* false at the end of the line, without an error; *word is then empty, at the end. */
bool fw_next_word(fw_words *words, fw_word *word);
/* Whether the word is `text`; capitals do not matter. */
bool fw_word_is(fw_word word, const char *text);
/* The part of "key=value" after the '=' when the word begins with `key` and '='. */
bool fw_word_value(fw_word word, const char *key, fw_word *value);
/* Fills the error with the word, its place and "what is wrong"; returns false, for `return fw_fail(...)`. */
bool fw_fail(const fw_words *words, fw_word word, const char *what);

bool fw_read_number(const fw_words *words, fw_word word, uint32_t minimum, uint32_t maximum, uint32_t *number);
/* "7" or "3..9". */
bool fw_read_range(const fw_words *words, fw_word word, uint32_t minimum, uint32_t maximum, fw_range *range);
/* "5ms", "1.5s", "200us". */
bool fw_read_time(const fw_words *words, fw_word word, uint64_t *time_us);
/* "2%", "0.05%": parts per billion. */
bool fw_read_percent(const fw_words *words, fw_word word, uint32_t *ppb);
/* "10Mbit", "64kbit/s", "9600bit/s"; "unlimited" is 0. */
bool fw_read_rate(const fw_words *words, fw_word word, uint64_t *bits_per_s);
/* "20packets", "64KiB", "1500B", "100ms", "256cells". */
bool fw_read_queue(const fw_words *words, fw_word word, uint32_t *packets, uint64_t *bytes, uint64_t *time_us,
                   uint32_t *cells);
/* "38B", "1476B"; 0 is allowed. */
bool fw_read_bytes(const fw_words *words, fw_word word, uint32_t *bytes);
/* "24054bits". */
bool fw_read_bits(const fw_words *words, fw_word word, uint64_t *bits);
/* "48/53": two numbers from 1 on. */
bool fw_read_pair(const fw_words *words, fw_word word, uint32_t *first, uint32_t *second);
/* "a>b", "b>a", "left>right", "right>left", "both". false without an error when the word is none of them. */
bool fw_read_direction(fw_word word, uint8_t *directions);

#endif
