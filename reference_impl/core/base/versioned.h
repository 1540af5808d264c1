/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures of programs that were compiled with an older or newer header (netblt/netblt.h). */
#ifndef NETBLT_CORE_VERSIONED_H
#define NETBLT_CORE_VERSIONED_H

#include <stdbool.h>
#include <stddef.h>

/* Copies a structure of the program to `known`, a structure of `known_bytes` bytes that holds the defaults. Both begin
 * with a size_t, their size. Bytes that the program does not have keep their default. False, and nothing is copied, if
 * the program's size is below `least_bytes`, or if bytes beyond `known_bytes` are not zero: the program asks for
 * something that this library does not know. */
bool nb_versioned_read(void *known, size_t known_bytes, const void *program, size_t least_bytes);

/* Copies `known_bytes` bytes to a structure of the program of `program_bytes` bytes: what fits, then zero. */
void nb_versioned_write(void *program, size_t program_bytes, const void *known, size_t known_bytes);

#endif
