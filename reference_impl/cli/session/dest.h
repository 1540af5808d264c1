/* SPDX-License-Identifier: BSD-2-Clause */
/* Where `netblt recv DEST` stores: the rules for DEST. */
#ifndef NETBLT_CLI_DEST_H
#define NETBLT_CLI_DEST_H

#include "io/failure.h"

/*   DEST                                            what comes goes
 *   -, a device, a FIFO                             to a stream: one file
 *   ends in /, or is a directory                    beneath it, under its own names
 *   a directory that an interrupted transfer made   on, as it began
 *   anything else                                   to that name: one file or directory becomes DEST, several lie in a
 *                                                   directory DEST */
enum dest_kind {
    DEST_STREAM,
    DEST_NAME,
    DEST_BENEATH,
};

typedef struct dest {
    enum dest_kind kind;
    int directory; /* DEST_NAME: that holds the name; DEST_BENEATH: the directory itself; O_PATH */
    char *name;    /* DEST_NAME: in `directory`; else NULL */
} dest;

/* Makes a directory that ends in / and is not there. 0, or -1 with *failure. */
int dest_open(const char *path, dest *to, netblt_failure *failure);
/* A dest that is all zero and one whose directory was taken over (-1) are allowed. */
void dest_close(dest *to);

#endif
