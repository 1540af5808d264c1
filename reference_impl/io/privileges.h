/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives up the rights of a process, step by step. */
#ifndef NETBLT_IO_PRIVILEGES_H
#define NETBLT_IO_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

#include "io/failure.h"

/* Privileges serve two purposes: to open the sockets, and to open the files that the local user names. They go in this
 * order, each step permanently:
 *
 *     sockets are opened and bound
 *     netblt_privileges_reduce   another user if wanted; of the capabilities, root keeps those that open files
 *     files of the command line are opened
 *     netblt_privileges_drop     no capability is left
 *     packets of peers are processed
 *
 * A raw socket that is open keeps working without CAP_NET_RAW. */

/* Whom to become. */
typedef struct netblt_user {
    const char *text; /* as it was written, for messages */
    uid_t uid;
    gid_t gid;
    char *name; /* whose supplementary groups are taken; NULL: none are */
} netblt_user;

/* Reads NAME[:GROUP]; each may be a number. A number that no account has needs a GROUP. `text` must outlive *user. 0,
 * or -1 with *failure. */
int netblt_user_find(const char *text, netblt_user *user, netblt_failure *failure);
void netblt_user_free(netblt_user *user);

/* Gives up set-user-ID and set-group-ID identities; becomes `user` (NULL: stays who it is), with user, group and
 * supplementary groups; gives up all capabilities, but root that stays root keeps those that let it open any file;
 * closes the way back to them by starting programs. 0, or -1 with *failure: then the program must not go on. */
int netblt_privileges_reduce(const netblt_user *user, netblt_failure *failure);

/* Whether what is left of the capabilities counts. Off, root may do with files what their modes allow the user root: a
 * receiver creates its file so, since it gives the file its name when nothing else is left. */
void netblt_privileges_set_effective(bool effective);

/* No capability is left. 0, or -1 with *failure: then the program must not go on. */
int netblt_privileges_drop(netblt_failure *failure);

#endif
