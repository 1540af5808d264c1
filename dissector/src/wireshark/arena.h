/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory for what is kept until the file is closed and never grows: records, notes, and the state of each connection.
 * It lies side by side in large pieces: with thousands of connections the first access to each new page would cost more
 * than what is done there. */
#ifndef NETBLT_ARENA_H
#define NETBLT_ARENA_H

#include "wireshark/compat.h"

/* Under a sanitizer each piece of memory stands for itself, and none is taken up again, so that its bounds and its end
 * are seen. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { NB_SANITIZED = 1 };
#else
enum { NB_SANITIZED = 0 };
#endif

/* `bytes` zeroed bytes in file scope, aligned for pointers, int64_t and double; not to be freed. */
void *nb_arena_new0(size_t bytes);

/* To be called once when the protocol is registered. */
void nb_register_arena(void);

#endif
