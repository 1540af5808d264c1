/* SPDX-License-Identifier: BSD-2-Clause */
/* Text and JSON that a terminal can show. */
#ifndef NETBLT_CLI_TEXT_H
#define NETBLT_CLI_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <netblt/types.h>

/* Text from the network may hold anything. Whatever is printed, on a terminal, as JSON or in a qlog file, goes through
 * text_next(): it finds what steers a terminal, is invisible or turns the direction of what follows, and broken UTF-8.
 */

#define TEXT_REPLACEMENT 0xfffd

/* One character of a text. */
typedef struct text_piece {
    size_t bytes;   /* that it takes; 1 where the text is no UTF-8 */
    uint32_t code;  /* code point; TEXT_REPLACEMENT where the text is no UTF-8 */
    bool printable; /* may be written as it is; else an escape has to stand for it */
} text_piece;

/* The first character of `text`, which is not empty. Ends in NUL. */
text_piece text_next(const char *text);
/* Copies `text`, cut to fit, with '?' for every character that is not printable, and for
 * every byte that is no UTF-8. Returns `to`. */
const char *text_printable(const char *text, char *to, size_t capacity);

/* "sender", "receiver" */
const char *text_role(enum netblt_role role);

/* "12.3 MB", "999 B": powers of 1000 */
#define TEXT_AMOUNT_BYTES 32
const char *text_bytes(uint64_t bytes, char to[TEXT_AMOUNT_BYTES]);
/* "64.8 Mb/s" */
const char *text_rate(double bits_per_second, char to[TEXT_AMOUNT_BYTES]);

/* ---- JSON: values are made and written with Jansson */

/* Text from the network may hold anything: bytes that are not UTF-8 become U+FFFD. NULL becomes null. */
json_t *json_text(const char *text);
/* `value`, or null where it is not known. */
json_t *json_known(bool known, uint64_t value);
/* `value`, or null where it is 0. */
json_t *json_positive(double value);
/* A whole number, for the format I of json_pack(). */
#define JSON_WHOLE(value) ((json_int_t)(value))

/* Writes `value` in printable ASCII, so that no character of it steers a terminal or turns what follows, and gives it
 * up. Errors are those of `to`. */
void json_print(FILE *to, json_t *value);

#endif
