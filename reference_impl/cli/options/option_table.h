/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the command-line parser share: the table of options, and what takes more than the table. */
#ifndef NETBLT_CLI_OPTION_TABLE_H
#define NETBLT_CLI_OPTION_TABLE_H

#include <stdio.h>

#include "cli/options/options.h"

#define FOR(command) (1u << (command))

/* What to do with an option's value. `member` is the member of struct options at `offset`. */
enum option_kind {
    OPTION_TITLE,        /* no option: the title in --help of those that follow */
    OPTION_NUMBER,       /* optional_number, within min..max */
    OPTION_SIZE,         /* the same; k, M, G may follow */
    OPTION_FLAG,         /* bool: becomes `min` */
    OPTION_CONSTANT,     /* an enum: becomes `min` */
    OPTION_CHOICE,       /* an enum: the first of `choices` stands for `min`, the next for min + 1 ... */
    OPTION_TEXT,         /* const char *, not empty */
    OPTION_CALL,         /* `set` */
    OPTION_SHOW_HELP,    /* the three that end it all */
    OPTION_SHOW_VERSION, /* ... */
    OPTION_SHOW_OPTIONS, /* ... */
};

typedef struct option_entry {
    enum option_kind kind;
    const char *name;
    const char *value;   /* placeholder in --help; NULL: takes none */
    const char *help;    /* NULL: not shown */
    const char *choices; /* "a|b|c" */
    int letter;          /* short form; 0: none */
    size_t offset;
    uint64_t preset; /* a number that is not given */
    uint64_t min;
    uint64_t max;
    unsigned commands; /* FOR(...) bits */
    int (*set)(options *parsed, const char *text, netblt_failure *failure);
} option_entry;

/* Every option there is, once: what argp gets, what --help prints and what the parser does all come from here; a
 * test compares the man pages with it. */
extern const option_entry option_table[];
extern const size_t option_table_count;

/* ---- option_values.c: values that are more than a number, a text or a choice. Each returns 0, or -1 with *failure. */
int option_set_bind(options *parsed, const char *text, netblt_failure *failure);
int option_set_path(options *parsed, const char *text, netblt_failure *failure);
int option_set_client_string(options *parsed, const char *text, netblt_failure *failure);
int option_add_allow(options *parsed, const char *text, netblt_failure *failure);
int option_set_retry(options *parsed, const char *text, netblt_failure *failure);

/* ---- option_list.c */
/* Prints commands and options as one JSON object (tools/completion/completion.py). 0, or -1 when that failed. */
int option_list_print(FILE *to);

/* ---- option_words.c: the words of a command line that are no options, and what fits together */
/* COMMANDS when the first word is none. */
enum command option_words_command(char *const *words, int count);
/* `words` live on. 0, or -1 with *failure. */
int option_words_set(options *parsed, char **words, int count, netblt_failure *failure);
/* Settings that are right one by one and wrong together; settles what one of them means for another. */
int option_words_check(options *parsed, netblt_failure *failure);

#endif
