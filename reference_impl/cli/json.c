/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/json.h"

#include <inttypes.h>

#include "cli/text.h"

/* RFC 8259 7: beyond U+FFFF as a pair of surrogates. */
static void write_escape(FILE *to, uint32_t code)
{
    if (code > 0xffff) {
        code -= 0x10000;
        fprintf(to, "\\u%04x", (unsigned)(0xd800 + (code >> 10)));
        code = 0xdc00 + (code & 0x3ff);
    }
    fprintf(to, "\\u%04x", (unsigned)code);
}

static void write_quoted(FILE *to, const char *text)
{
    fputc('"', to);
    while (*text != '\0') {
        text_piece piece = text_next(text);

        if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else if (piece.printable)
            fwrite(text, 1, piece.bytes, to);
        else
            write_escape(to, piece.code);
        text += piece.bytes;
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
