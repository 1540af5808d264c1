/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON that a terminal can show: values are made and written with Jansson. */
#ifndef NETBLT_CLI_JSON_H
#define NETBLT_CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

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
