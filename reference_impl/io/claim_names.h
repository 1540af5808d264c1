/* SPDX-License-Identifier: BSD-2-Clause */
/* The abstract Unix sockets of this network namespace, and which of them may claim a NETBLT port. */
#ifndef NETBLT_IO_CLAIM_NAMES_H
#define NETBLT_IO_CLAIM_NAMES_H

#include <stdbool.h>
#include <sys/types.h>

/* `name` without the zero byte in front, terminated. `owner`: (uid_t)-1 when the kernel does not report it. Returns
 * true to end the walk. */
typedef bool netblt_name_visitor(void *context, const char *name, uid_t owner);

/* Calls `visit` for each abstract datagram name, at most until it returns true. 1: it did; 0: it did not; -1: the names
 * cannot be read. Never blocks. */
int netblt_visit_names(netblt_name_visitor *visit, void *context);

/* Opens what netblt_may_claim() reads, for a process that will not be able to open files. Otherwise it does so itself.
 */
void netblt_names_prepare(void);

/* Whether the claims of this user count: those of root, of our own user, and of a user who has a raw socket of protocol
 * 30, which needs CAP_NET_RAW. Any local user can bind a name, and must not keep others off a port by that. True also
 * when the owner is not known. */
bool netblt_may_claim(uid_t owner);

#endif
