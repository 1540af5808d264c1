/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/option_table.h"
#include "cli/option_words.h"
#include "cli/usage.h"

/* More entries than the table can have, for getopt's arrays. */
#define OPTIONS_MAX 64
/* getopt answers this plus the entry's place, away from the characters that it answers itself. */
#define OPTION_FIRST 256

/* ---- what getopt wants to know ------------------------------------------------------------------------------------
 */

struct getopt_view {
    struct option longs[OPTIONS_MAX + 1];
    char shorts[2 * OPTIONS_MAX + 2];
};

static void make_getopt_view(struct getopt_view *view)
{
    size_t used = 0;

    memset(view, 0, sizeof *view);
    view->shorts[used++] = ':';
    for (size_t i = 0; i < option_table_count; i++) {
        const option_entry *entry = &option_table[i];

        view->longs[i] = (struct option){entry->name, entry->value == NULL ? no_argument : required_argument, NULL,
                                         OPTION_FIRST + (int)i};
        if (entry->letter != 0)
            view->shorts[used++] = entry->letter;
    }
}

static const option_entry *entry_of(int option)
{
    if (option >= OPTION_FIRST)
        return &option_table[option - OPTION_FIRST];
    for (size_t i = 0; i < option_table_count; i++)
        if (option_table[i].letter == option)
            return &option_table[i];
    return NULL;
}

/* getopt's own words are several lines and name no remedy. */
static int explain_getopt(int option, char **argv, netblt_failure *failure)
{
    const char *word = argv[optind - 1];

    if (option == ':')
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s needs a value; see netblt --help", word);
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s: unknown option, or it takes no value; see netblt --help",
                       word);
}

/* ---- one option ---------------------------------------------------------------------------------------------------
 */

static int set_number(options *parsed, const option_entry *entry, const char *text, netblt_failure *failure)
{
    optional_number *place = (optional_number *)(void *)((char *)parsed + entry->offset);
    char name[40];

    snprintf(name, sizeof name, "--%s", entry->name);
    return number_parse(name, text, entry->min, entry->max, entry->kind == OPTION_SIZE, place, failure);
}

static int set_text(options *parsed, const option_entry *entry, const char *text, netblt_failure *failure)
{
    if (text[0] == '\0')
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--%s needs a value; see netblt --help", entry->name);
    *(const char **)(void *)((char *)parsed + entry->offset) = text;
    return 0;
}

static int set_option(options *parsed, const option_entry *entry, const char *text, netblt_failure *failure)
{
    switch (entry->kind) {
    case OPTION_NUMBER:
    case OPTION_SIZE:
        return set_number(parsed, entry, text, failure);
    case OPTION_SET:
    case OPTION_CLEAR:
        *(bool *)((char *)parsed + entry->offset) = entry->kind == OPTION_SET;
        return 0;
    case OPTION_TEXT:
        return set_text(parsed, entry, text, failure);
    default:
        return entry->set(parsed, text, failure);
    }
}

/* ---- all of them --------------------------------------------------------------------------------------------------
 */

static void set_defaults(options *parsed)
{
    *parsed = (options){.command = COMMANDS,
                        .file = "",
                        .encap = NETBLT_ENCAP_IP,
                        .family = NETBLT_FAMILY_ANY,
                        .profile = &netblt_profile_default,
                        .data_checksum = true};
}

static bool seen[OPTIONS_MAX]; /* by place in the table: which command they need shows only after all words */

static int read_options(int argc, char **argv, options *parsed, const option_entry **shown, netblt_failure *failure)
{
    struct getopt_view view;
    int option;

    make_getopt_view(&view);
    while ((option = getopt_long(argc, argv, view.shorts, view.longs, NULL)) != -1) {
        const option_entry *entry = option == '?' || option == ':' ? NULL : entry_of(option);

        if (entry == NULL)
            return explain_getopt(option, argv, failure);
        seen[entry - option_table] = true;
        if (entry->kind == OPTION_SHOW_HELP || entry->kind == OPTION_SHOW_VERSION)
            *shown = entry;
        else if (*shown == NULL && set_option(parsed, entry, optarg, failure) != 0)
            return -1;
    }
    return 0;
}

static int check_command_fits(const options *parsed, netblt_failure *failure)
{
    for (size_t i = 0; i < option_table_count; i++) {
        const option_entry *entry = &option_table[i];

        if (seen[i] && (entry->commands & FOR(parsed->command)) == 0)
            return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--%s is no option of netblt %s; see netblt %s --help",
                               entry->name, command_names[parsed->command], command_names[parsed->command]);
    }
    return 0;
}

enum options_result options_parse(int argc, char **argv, options *parsed, netblt_failure *failure)
{
    const option_entry *shown = NULL;
    int error;

    set_defaults(parsed);
    for (int i = 1; i < argc; i++)
        parsed->json = parsed->json || strcmp(argv[i], "--json") == 0;
    error = read_options(argc, argv, parsed, &shown, failure);
    if (error == 0 && shown != NULL) {
        if (shown->kind == OPTION_SHOW_HELP)
            usage_show_help(option_words_command(argv + optind, argc - optind), stdout);
        else
            usage_show_version(stdout);
        return OPTIONS_SHOWN;
    }
    if (error == 0)
        error = option_words_set(parsed, argv + optind, argc - optind, failure);
    if (error == 0)
        error = check_command_fits(parsed, failure);
    if (error == 0)
        error = option_words_check(parsed, failure);
    return error == 0 ? OPTIONS_RUN : OPTIONS_WRONG;
}

uint64_t options_number_or(optional_number number, uint64_t otherwise)
{
    return number.given ? number.value : otherwise;
}

bool options_sync(const options *given)
{
    return given->sync == SYNC_ALWAYS || (given->sync == SYNC_DEFAULT && given->command == COMMAND_LISTEN);
}

uint16_t options_port(const options *given)
{
    return (uint16_t)options_number_or(given->port, NETBLT_PORT_DEFAULT);
}

uint16_t options_udp_port(const options *given)
{
    return (uint16_t)options_number_or(given->udp_port, NETBLT_UDP_PORT_DEFAULT);
}
