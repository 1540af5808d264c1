/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the command line, with argp of the C library, and prints --help: see command_line.h. */
#include "cli/options/command_line.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/option_table.h"

/* More rows than the table can have. */
#define ROWS_MAX 80
/* The key of a row without a letter is its place in the table plus this, beyond all characters. */
#define KEY_FIRST 256

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* The power of two that a suffix stands for; -1 for anything that is no suffix. */
static int suffix_bits(const char *suffix)
{
    static const char suffixes[] = "kKMG";
    static const int bits[] = {10, 10, 20, 30};
    const char *found = strchr(suffixes, suffix[0]);
    if (suffix[0] == '\0')
        return 0;
    return found == NULL || suffix[1] != '\0' ? -1 : bits[found - suffixes];
}

static int set_number(const option_entry *entry, const char *text, optional_number *number, netblt_failure *failure)
{
    bool is_size = entry->kind == OPTION_SIZE;
    unsigned long long value;
    char *rest;
    int bits;
    errno = 0;
    value = strtoull(text, &rest, 10);
    bits = suffix_bits(rest);
    if (!isdigit((unsigned char)text[0]) || bits < 0 || (bits > 0 && !is_size))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--%s %s: not a number%s; give one between %" PRIu64 " and %" PRIu64, entry->name, text,
                           is_size ? " (k, M or G may follow)" : "", entry->min, entry->max);
    if (errno == ERANGE || value > (entry->max >> bits) || value << bits < entry->min)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--%s %s: out of range; give a number between %" PRIu64 " and %" PRIu64, entry->name, text,
                           entry->min, entry->max);
    *number = (optional_number){.given = true, .value = value << bits};
    return 0;
}

/* "a|b|c" as "a, b or c". */
static void list_choices(const char *choices, char *to, size_t capacity)
{
    const char *last = strrchr(choices, '|');
    size_t used = 0;
    for (const char *at = choices; *at != '\0' && used + 5 < capacity; at++)
        used += (size_t)snprintf(to + used, capacity - used, *at != '|' ? "%.1s" : at == last ? " or " : ", ", at);
}

static int set_choice(const option_entry *entry, const char *text, int *member, netblt_failure *failure)
{
    size_t length = strlen(text);
    const char *choices = entry->choices != NULL ? entry->choices : "";
    char listed[80];
    int i = (int)entry->min;
    for (const char *choice = choices; *choice != '\0'; i++) {
        size_t bytes = strcspn(choice, "|");
        if (length == bytes && strncmp(text, choice, length) == 0) {
            *member = i;
            return 0;
        }
        choice += choice[bytes] == '|' ? bytes + 1 : bytes;
    }
    list_choices(choices, listed, sizeof listed);
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--%s %s: give %s", entry->name, text, listed);
}

static int set_option(options *parsed, const option_entry *entry, const char *text, netblt_failure *failure)
{
    void *member = (char *)parsed + entry->offset;
    switch (entry->kind) {
    case OPTION_NUMBER:
    case OPTION_SIZE:
        return set_number(entry, text, member, failure);
    case OPTION_FLAG:
        *(bool *)member = entry->min != 0;
        return 0;
    case OPTION_CONSTANT:
        *(int *)member = (int)entry->min;
        return 0;
    case OPTION_CHOICE:
        return set_choice(entry, text, member, failure);
    case OPTION_TEXT:
        *(const char **)member = text;
        return text[0] != '\0'
                   ? 0
                   : netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--%s needs a value; see netblt --help", entry->name);
    default:
        return entry->set(parsed, text, failure);
    }
}

static void set_defaults(options *parsed)
{
    *parsed =
        (options){.command = COMMANDS, .file = "", .data_checksum = true, .path_memory = true, .hash = HASH_BLAKE3};
    for (size_t i = 0; i < option_table_count; i++)
        if (option_table[i].kind == OPTION_NUMBER || option_table[i].kind == OPTION_SIZE)
            *(optional_number *)(void *)((char *)parsed + option_table[i].offset) =
                (optional_number){.value = option_table[i].preset};
}

/* ---- the table as argp wants it --------------------------------------------------------------------------------- */

/* argp sorts the options of a group; each title begins a group. Options of other commands are understood, so that the
 * user gets an error that names the command, but not shown. */
static void make_argp_view(enum command command, struct argp_option view[ROWS_MAX])
{
    int group = 0;
    for (size_t i = 0; i < option_table_count; i++) {
        const option_entry *entry = &option_table[i];
        bool shown = (entry->commands & FOR(command)) != 0 && entry->help != NULL;
        if (entry->kind == OPTION_TITLE)
            group++;
        *view++ = (struct argp_option){
            .name = entry->name,
            .key = entry->kind == OPTION_TITLE ? 0
                   : entry->letter != 0        ? entry->letter
                                               : KEY_FIRST + (int)i,
            .arg = entry->value,
            .flags = shown ? 0 : OPTION_HIDDEN,
            .doc = shown || entry->kind != OPTION_TITLE ? entry->help : "",
            .group = group,
        };
    }
    *view = (struct argp_option){0};
}

static const option_entry *entry_of(int key)
{
    for (size_t i = 0; i < option_table_count; i++)
        if (key == KEY_FIRST + (int)i || (option_table[i].letter != 0 && key == option_table[i].letter))
            return &option_table[i];
    return NULL;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

struct reading {
    options *parsed;
    netblt_failure *failure;
    char **words; /* that are no options: argc at most */
    int count;
    const option_entry *shown; /* --help, --version */
    bool seen[ROWS_MAX];       /* rows: which command they need shows only after all words */
};

/* The C library's own words are several lines and name no remedy. */
static void explain(const char *word, netblt_failure *failure)
{
    bool lacks_value = false;
    for (size_t i = 0; i < option_table_count; i++)
        lacks_value = lacks_value || (option_table[i].value != NULL && strncmp(word, "--", 2) == 0 &&
                                      strcmp(word + 2, option_table[i].name) == 0);
    netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                lacks_value ? "%s needs a value; see netblt --help"
                            : "%s: unknown option, or it takes no value; see netblt --help",
                word);
}

static bool is_shown(enum option_kind kind)
{
    return kind == OPTION_SHOW_HELP || kind == OPTION_SHOW_VERSION || kind == OPTION_SHOW_OPTIONS;
}

static error_t read_one(int key, char *text, struct argp_state *state)
{
    struct reading *read = state->input;
    const option_entry *entry = entry_of(key);
    if (key == ARGP_KEY_ERROR && read->failure->kind == NETBLT_FAILURE_NONE)
        explain(state->argv[state->next - 1], read->failure);
    if (key == ARGP_KEY_ARG) {
        read->words[read->count++] = text;
        return 0;
    }
    if (entry == NULL)
        return ARGP_ERR_UNKNOWN;
    read->seen[entry - option_table] = true;
    if (is_shown(entry->kind))
        read->shown = entry;
    else if (read->shown == NULL && set_option(read->parsed, entry, text, read->failure) != 0)
        return EINVAL;
    return 0;
}

static int check_command_fits(const struct reading *read)
{
    const char *command = command_names[read->parsed->command];
    for (size_t i = 0; i < option_table_count; i++)
        if (read->seen[i] && (option_table[i].commands & FOR(read->parsed->command)) == 0)
            return netblt_fail(read->failure, NETBLT_FAILURE_LOCAL,
                               "--%s is no option of netblt %s; see netblt %s --help", option_table[i].name, command,
                               command);
    return 0;
}

/* ---- help ------------------------------------------------------------------------------------------------------- */

static const char *const usages[COMMANDS] = {
    [COMMAND_SEND] = "  netblt send PATH... HOST       send files and directories to HOST, where\n"
                     "                                 netblt recv --passive or netblt listen waits\n"
                     "  netblt send PATH... --passive  wait for one peer and send to it\n",
    [COMMAND_RECV] = "  netblt recv [DEST] HOST        fetch from HOST, where netblt send --passive or\n"
                     "                                 netblt listen waits\n"
                     "  netblt recv DEST --passive     wait for one peer and store its data in DEST\n",
    [COMMAND_LISTEN] = "  netblt listen --root DIR       send files and directories of DIR and store\n"
                       "                                 them in it, for many peers\n",
    [COMMAND_PERF] = "  netblt perf HOST               measure from memory to memory, with netblt perf\n"
                     "                                 --passive at HOST\n"
                     "  netblt perf --passive          wait for measurements, any number of them\n",
};

static void show_help(enum command command)
{
    struct argp_option view[ROWS_MAX];
    const struct argp shown = {.options = view};
    char name[] = "netblt";
    if (command == COMMANDS)
        puts("netblt moves files from one host to another with NETBLT (RFC 998).\n");
    for (int i = 0; i < COMMANDS; i++)
        if (command == COMMANDS || command == (enum command)i)
            fputs(usages[i], stdout);
    if (command == COMMANDS) {
        puts("\nnetblt COMMAND --help lists the options of a command. The manual pages have\n"
             "more details.");
    } else {
        if (command == COMMAND_SEND)
            puts("\nPATH - is stdin.");
        if (command == COMMAND_RECV)
            puts("\nDEST - is stdout; without DEST everything goes to this directory.");
        putchar('\n');
        make_argp_view(command, view);
        argp_help(&shown, stdout, ARGP_HELP_LONG, name);
        puts("\nSizes may end in k, M or G (powers of 1024).");
    }
    puts("Exit codes: 0 done, 1 transfer failed, 2 usage or local error,\n"
         "3 refused or unreachable, 127 not supported, 130 interrupted.");
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

enum options_result options_parse(int argc, char **argv, options *parsed, netblt_failure *failure)
{
    struct reading read = {.parsed = parsed, .failure = failure};
    struct argp_option view[ROWS_MAX];
    const struct argp all = {.options = view, .parser = read_one};
    set_defaults(parsed);
    read.words = calloc((size_t)argc + 1, sizeof *read.words);
    parsed->words = read.words;
    if (read.words == NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
        return OPTIONS_WRONG;
    }
    for (int i = 1; i < argc; i++)
        parsed->json = parsed->json || strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "--json-progress") == 0;
    make_argp_view(COMMANDS, view);
    if (argp_parse(&all, argc, argv, ARGP_SILENT, NULL, &read) != 0)
        return OPTIONS_WRONG;
    if (read.shown != NULL) {
        if (read.shown->kind == OPTION_SHOW_VERSION)
            puts("netblt " NETBLT_VERSION_TEXT);
        else if (read.shown->kind == OPTION_SHOW_OPTIONS)
            (void)option_list_print(stdout); /* what is wrong with stdout shows at the end */
        else
            show_help(option_words_command(read.words, read.count));
        return OPTIONS_SHOWN;
    }
    if (option_words_set(parsed, read.words, read.count, failure) != 0 || check_command_fits(&read) != 0 ||
        option_words_check(parsed, failure) != 0)
        return OPTIONS_WRONG;
    return OPTIONS_RUN;
}

void options_free(options *parsed)
{
    free(parsed->words);
    parsed->words = NULL;
}
