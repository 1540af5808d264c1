/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_TEXT_H
#define NETBLT_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Words from the network may hold anything: control characters must not reach a terminal, nor broken UTF-8 a JSON
 * parser. */

/* Length of the well-formed UTF-8 character at `text`, 0 when there is none. Strings end in NUL. */
size_t text_utf8_length(const char *text);
/* Copies `text`, cut to fit, with '?' for every byte that is no printable character. Answers `to`. */
const char *text_printable(const char *text, char *to, size_t capacity);

/* "12.3 MB", "999 B": powers of 1000 */
#define TEXT_AMOUNT_BYTES 32
const char *text_bytes(uint64_t bytes, char to[TEXT_AMOUNT_BYTES]);
/* "64.8 Mb/s" */
const char *text_rate(double bits_per_second, char to[TEXT_AMOUNT_BYTES]);

#endif
