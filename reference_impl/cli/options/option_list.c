/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of options as JSON, from which the completion of shells is made (tools/completion/completion.py). */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/options/option_table.h"

/* What the completion shows of a command. */
static const struct {
    const char *summary;
    const char *words[2]; /* that follow it and are no options */
} commands[COMMANDS] = {
    [COMMAND_SEND] = {"send files and directories", {"PATH", "PATH|HOST"}},
    [COMMAND_RECV] = {"receive files and directories", {"DEST|HOST", "HOST"}},
    [COMMAND_LISTEN] = {"serve a directory", {NULL}},
    [COMMAND_PERF] = {"measure from memory to memory", {"HOST"}},
};

/* "a|b" as ["a", "b"]; without choices an empty list. */
static json_t *list_of_choices(const char *choices)
{
    json_t *list = json_array();
    while (choices != NULL && *choices != '\0') {
        size_t length = strcspn(choices, "|");
        json_array_append_new(list, json_stringn(choices, length));
        choices += choices[length] == '|' ? length + 1 : length;
    }
    return list;
}

static json_t *describe_value(const char *label, const char *choices)
{
    return json_pack("{s:s, s:o}", "label", label, "choices", list_of_choices(choices));
}

static json_t *describe_option(const option_entry *entry)
{
    char name[64];
    json_t *names = json_array();
    snprintf(name, sizeof name, "--%s", entry->name);
    json_array_append_new(names, json_string(name));
    snprintf(name, sizeof name, "-%c", entry->letter);
    if (entry->letter != 0)
        json_array_append_new(names, json_string(name));
    return json_pack("{s:o, s:s, s:o}", "names", names, "help", entry->help, "value",
                     entry->value == NULL ? json_null() : describe_value(entry->value, entry->choices));
}

/* Those of `command`; of COMMANDS, those that need none. */
static json_t *describe_options(enum command command)
{
    json_t *list = json_array();
    for (size_t i = 0; i < option_table_count; i++) {
        const option_entry *entry = &option_table[i];
        bool needs_none = entry->kind == OPTION_SHOW_HELP || entry->kind == OPTION_SHOW_VERSION;
        bool listed = command == COMMANDS ? needs_none : (entry->commands & FOR(command)) != 0;
        if (entry->kind != OPTION_TITLE && entry->help != NULL && listed)
            json_array_append_new(list, describe_option(entry));
    }
    return list;
}

static json_t *describe_words(enum command command)
{
    json_t *list = json_array();
    for (size_t i = 0; i < 2 && commands[command].words[i] != NULL; i++)
        json_array_append_new(list, describe_value(commands[command].words[i], NULL));
    return list;
}

int option_list_print(FILE *to)
{
    json_t *list = json_array();
    json_t *all;
    int result;
    for (int i = 0; i < COMMANDS; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o}", "name", command_names[i], "summary",
                                              commands[i].summary, "words", describe_words((enum command)i), "options",
                                              describe_options((enum command)i)));
    all = json_pack("{s:s, s:o, s:o}", "program", "netblt", "options", describe_options(COMMANDS), "commands", list);
    result = json_dumpf(all, to, JSON_INDENT(1));
    json_decref(all);
    fputc('\n', to);
    return result;
}
