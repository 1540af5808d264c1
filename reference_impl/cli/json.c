/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/json.h"

#include <inttypes.h>

#include "cli/text.h"

static void write_quoted(FILE *to, const char *text)
{
    fputc('"', to);
    while (*text != '\0') {
        size_t length = text_utf8_length(text);

        if (length == 0)
            fputs("\\ufffd", to);
        else if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else if ((unsigned char)*text < 0x20 || *text == 0x7f)
            fprintf(to, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            fwrite(text, 1, length, to);
        text += length == 0 ? 1 : length;
    }
    fputc('"', to);
}

static void write_key(json_writer *json, const char *key)
{
    if (json->has_member)
        fputs(", ", json->to);
    json->has_member = true;
    if (key != NULL) {
        write_quoted(json->to, key);
        fputs(": ", json->to);
    }
}

void json_begin(json_writer *json, const char *key)
{
    write_key(json, key);
    fputc('{', json->to);
    json->has_member = false;
}

void json_end(json_writer *json)
{
    fputc('}', json->to);
    json->has_member = true;
}

void json_begin_list(json_writer *json, const char *key)
{
    write_key(json, key);
    fputc('[', json->to);
    json->has_member = false;
}

void json_end_list(json_writer *json)
{
    fputc(']', json->to);
    json->has_member = true;
}

void json_string(json_writer *json, const char *key, const char *value)
{
    if (value == NULL) {
        json_null(json, key);
        return;
    }
    write_key(json, key);
    write_quoted(json->to, value);
}

void json_number(json_writer *json, const char *key, uint64_t value)
{
    write_key(json, key);
    fprintf(json->to, "%" PRIu64, value);
}

void json_real(json_writer *json, const char *key, double value)
{
    write_key(json, key);
    fprintf(json->to, "%.6f", value);
}

void json_bool(json_writer *json, const char *key, bool value)
{
    write_key(json, key);
    fputs(value ? "true" : "false", json->to);
}

void json_null(json_writer *json, const char *key)
{
    write_key(json, key);
    fputs("null", json->to);
}
