/* SPDX-License-Identifier: BSD-2-Clause */
/* Final names of a tree transfer's entries: what has them already, and giving them to what was stored. */
#ifndef NETBLT_CLI_TREE_PLACE_H
#define NETBLT_CLI_TREE_PLACE_H

#include "cli/tree/beneath.h"
#include "cli/tree/manifest.h"

/* Where the entries of a manifest belong. No link is followed on the way to any of them. */
typedef struct tree_place {
    int root;           /* an O_PATH descriptor; not the place's own */
    const char *target; /* as of tree_store_open() */
    bool replace;
    uint16_t mode_mask; /* which bits of modes count */
    const manifest *all;
    bool has_one_top; /* it gets the name `target` */
    /* The directory that was used last. */
    char parent_path[BENEATH_PATH_BYTES];
    int parent; /* -1: none */
} tree_place;

/* Keeps its arguments. */
void tree_place_init(tree_place *place, int root, const char *target, bool replace, bool drop_special_bits);
/* The entries are those of `all`, which lives on. */
void tree_place_use(tree_place *place, const manifest *all);
void tree_place_clear(tree_place *place);

/* The final name, for messages as well. False, and an empty path: it is too long. */
bool tree_place_path(const tree_place *place, const manifest_entry *entry, char path[BENEATH_PATH_BYTES]);

enum place_found {
    PLACE_FREE,
    PLACE_SAME,      /* as in the manifest; of a file, size and modification time are. Its mode may differ */
    PLACE_SAME_SIZE, /* a file with that size and another modification time */
    PLACE_OTHER,     /* a file or link that may be replaced if tree_place.replace allows it */
};
/* What has the name already. 0, or -1 with *failure: something that never gives way. */
int tree_place_look(tree_place *place, const manifest_entry *entry, enum place_found *found, netblt_failure *failure);
/* That a file or link was found to be PLACE_OTHER, and may not be replaced: -1 with *failure; else 0. */
int tree_place_may_replace(const tree_place *place, const manifest_entry *entry, netblt_failure *failure);

/* The file `name` in the directory `from` gets the mode and time of an entry. 0, or -1 with errno. */
int tree_place_prepare(const tree_place *place, const manifest_entry *entry, int from, const char *name);
/* These three give an entry its name, in one step, with its mode and time; directories above it are made. 0, or -1 with
 * *failure. The file is `name` in the directory `from`. */
int tree_place_file(tree_place *place, const manifest_entry *entry, int from, const char *name,
                    netblt_failure *failure);
int tree_place_link(tree_place *place, const manifest_entry *entry, int from, netblt_failure *failure);
int tree_place_directory(tree_place *place, const manifest_entry *entry, netblt_failure *failure);
/* Mode and time of what has the name become those of the manifest: of a directory after everything in it, of a file
 * that was PLACE_SAME or that was compared. 0, or -1 with *failure. */
int tree_place_settle(tree_place *place, const manifest_entry *entry, netblt_failure *failure);
/* Opens the file that has the name for reading. -1 with errno. */
int tree_place_read(tree_place *place, const manifest_entry *entry);

#endif
