/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_SIGNALS_H
#define NETBLT_CLI_SIGNALS_H

/* SIGINT, SIGTERM and SIGHUP: a user's or a system's wish that this program ends. */

/* From the first line of main() on: until signals_open() one of them ends the program at once, with exit code 130,
 * `line` on stderr and `object` on stdout. Both stay the caller's and must live on; NULL: nothing. */
void signals_catch_early(const char *line, const char *object);
/* Then that ending also removes this file; NULL: none. */
void signals_remove_early(const char *path);

/* From here on they are read from the descriptor that this answers; -1 with errno. Also ignores SIGPIPE and SIGXFSZ:
 * errors of write() tell the same. */
int signals_open(void);
/* How many have come since. */
unsigned signals_take(int fd);

#endif
