/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_OPTION_TABLE_H
#define NETBLT_CLI_OPTION_TABLE_H

#include "cli/options.h"

/* Every option there is, once: what getopt is told, what --help prints and what the parser does all come from here; a
 * test holds the man pages against it. */

#define FOR(command) (1u << (command))

enum option_group {
    GROUP_WHERE,
    GROUP_HOW,
    GROUP_SERVE,
    GROUP_TEST,
    GROUP_RIGHTS,
    GROUP_OUTPUT,
    OPTION_GROUPS,
};

/* What to do with an option's value. */
enum option_kind {
    OPTION_NUMBER,       /* optional_number at `offset`, within min..max */
    OPTION_SIZE,         /* the same; k, M, G may follow */
    OPTION_SET,          /* bool at `offset` becomes true */
    OPTION_CLEAR,        /* ... false */
    OPTION_TEXT,         /* const char * at `offset` */
    OPTION_CALL,         /* `set` */
    OPTION_SHOW_HELP,    /* the two that end it all */
    OPTION_SHOW_VERSION, /* ... */
};

typedef struct option_entry {
    const char *name;
    const char *value; /* placeholder in --help; NULL: takes none */
    const char *help;  /* NULL: not shown */
    int (*set)(options *parsed, const char *text, netblt_failure *failure);
    size_t offset;
    uint64_t min;
    uint64_t max;
    unsigned commands; /* FOR(...) bits */
    enum option_group group;
    enum option_kind kind;
    char letter; /* short form; 0: none */
} option_entry;

extern const option_entry option_table[];
extern const size_t option_table_count;

/* What commands are called, by enum command. */
extern const char *const command_names[COMMANDS];

#endif
