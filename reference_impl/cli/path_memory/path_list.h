/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of paths that this user's transfers have measured: its entries, its bounds, and its JSON text. */
#ifndef NETBLT_CLI_PATH_LIST_H
#define NETBLT_CLI_PATH_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netblt/client.h>
#include <netblt/types.h>

#include "cli/path_memory/known_path.h"
#include "io/address.h"

/* More than these: those that were not used for longest go. */
#define PATHS_MAX 64
/* Links change: an older measurement is not used. */
#define PATH_LIFE_S (UINT64_C(30) * 24 * 3600)
/* Of the file. The longest list has less. */
#define PATH_TEXT_MAX_BYTES 65536

/* A path in one direction of the data. Ports do not count. */
typedef struct path_key {
    char peer[NETBLT_ADDRESS_TEXT_BYTES];
    char local[NETBLT_ADDRESS_TEXT_BYTES];
    enum netblt_role role; /* of this end */
} path_key;

typedef struct path_entry {
    path_key key;
    known_path path;
    uint64_t measured_at; /* these two: seconds since 1970 */
    uint64_t used_at;
} path_entry;

typedef struct path_list {
    path_entry entries[PATHS_MAX];
    size_t count;
} path_list;

/* The key of two addresses, whose ports are left out. */
path_key path_key_of(const netblt_address *peer, const netblt_address *local, enum netblt_role role);

/* NULL: there is none, or it is too old, or comes from the future. */
path_entry *path_list_find(path_list *all, const path_key *key, uint64_t now);

/* Adds what a transfer has measured. If that is the least that the path carries, it only raises what is there. */
void path_list_note(path_list *all, const path_entry *measured);

/* Reads what path_list_write() has written. False: that is not what `text` is, and *all is empty. */
bool path_list_read(path_list *all, const char *text, size_t length);
/* The entries that are not too old, as JSON. The caller frees it. NULL when memory is short. */
char *path_list_write(const path_list *all, uint64_t now);

#endif
