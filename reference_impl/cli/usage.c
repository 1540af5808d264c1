/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/usage.h"

#include <string.h>

#include "cli/option_table.h"

#define HELP_COLUMN 26
#define HELP_WIDTH 110

static const char *const usages[COMMANDS] = {
    [COMMAND_SEND] =
        "  netblt send FILE HOST        send FILE to HOST, where netblt recv --passive or netblt listen waits\n"
        "  netblt send FILE --passive   wait for one peer and send FILE to it\n",
    [COMMAND_RECV] =
        "  netblt recv FILE HOST        fetch from HOST, where netblt send --passive or netblt listen waits\n"
        "  netblt recv FILE --passive   wait for one peer and store what it sends in FILE\n",
    [COMMAND_LISTEN] = "  netblt listen --root DIR     send files of DIR and store files in it, for many peers\n",
    [COMMAND_PERF] = "  netblt perf HOST             measure from memory to memory, with netblt perf --passive there\n"
                     "  netblt perf --passive        wait for measurements, any number of them\n",
};

static const char *const group_titles[OPTION_GROUPS] = {
    [GROUP_WHERE] = "Where",          [GROUP_HOW] = "How: proposed by the end that opens, limits for the passive end",
    [GROUP_SERVE] = "What is served", [GROUP_TEST] = "What is measured",
    [GROUP_RIGHTS] = "Rights",        [GROUP_OUTPUT] = "Output",
};

/* Words of `text` in lines, from HELP_COLUMN on; `column` is where the cursor is. */
static void print_wrapped(const char *text, size_t column, FILE *to)
{
    if (column + 2 > HELP_COLUMN) {
        fputc('\n', to);
        column = 0;
    }
    fprintf(to, "%*s", (int)(HELP_COLUMN - column), "");
    column = HELP_COLUMN;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");

        if (column + word > HELP_WIDTH) {
            fprintf(to, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        }
        fwrite(text, 1, word, to);
        column += word;
        text += word;
        if (*text == ' ') {
            fputc(' ', to);
            column++;
            text++;
        }
    }
    fputc('\n', to);
}

static void print_option(const option_entry *entry, FILE *to)
{
    char name[64];
    int used = entry->letter != 0 ? snprintf(name, sizeof name, "  -%c, --%s", entry->letter, entry->name)
                                  : snprintf(name, sizeof name, "  --%s", entry->name);

    if (entry->value != NULL)
        used += snprintf(name + used, sizeof name - (size_t)used, " %s", entry->value);
    fputs(name, to);
    print_wrapped(entry->help, (size_t)used, to);
}

static void print_group(enum command command, enum option_group group, FILE *to)
{
    bool titled = false;

    for (size_t i = 0; i < option_table_count; i++) {
        const option_entry *entry = &option_table[i];

        if (entry->group != group || (entry->commands & FOR(command)) == 0 || entry->help == NULL)
            continue;
        if (!titled)
            fprintf(to, "\n%s\n", group_titles[group]);
        titled = true;
        print_option(entry, to);
    }
}

static void print_overview(FILE *to)
{
    fputs("netblt moves files from one host to another by NETBLT (RFC 998).\n\n", to);
    for (int command = 0; command < COMMANDS; command++)
        fputs(usages[command], to);
    fputs("\nnetblt COMMAND --help lists the options of a command; the man pages say more.\n", to);
}

void usage_show_help(enum command command, FILE *to)
{
    if (command == COMMANDS) {
        print_overview(to);
    } else {
        fputs(usages[command], to);
        if (command == COMMAND_SEND || command == COMMAND_RECV)
            fputs("\nFILE - is stdin or stdout.\n", to);
        for (int group = 0; group < OPTION_GROUPS; group++)
            print_group(command, (enum option_group)group, to);
        fputs("\nSizes may end in k, M or G (powers of 1024).\n", to);
    }
    fputs("Exit codes: 0 done, 1 transfer failed, 2 usage or local error, 3 refused or unreachable,\n"
          "127 not supported, 130 interrupted.\n",
          to);
}

void usage_show_version(FILE *to)
{
    fputs("netblt " NETBLT_VERSION_TEXT "\n", to);
}
