/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_JSON_H
#define NETBLT_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes one JSON object, key by key, commas and escapes right. */
typedef struct json_writer {
    FILE *to;
    bool has_member; /* the innermost object has one already */
} json_writer;

/* `key` NULL: the outermost object, or an element without a name. */
void json_begin(json_writer *json, const char *key);
void json_end(json_writer *json);
/* The same for a list; its elements have no keys. */
void json_begin_list(json_writer *json, const char *key);
void json_end_list(json_writer *json);
/* NULL becomes null. What text_next() finds not printable is escaped, and bytes that are not UTF-8 become U+FFFD: the
 * value is the same, and the line cannot steer a terminal. */
void json_string(json_writer *json, const char *key, const char *value);
void json_number(json_writer *json, const char *key, uint64_t value);
void json_real(json_writer *json, const char *key, double value);
void json_bool(json_writer *json, const char *key, bool value);
void json_null(json_writer *json, const char *key);

#endif
