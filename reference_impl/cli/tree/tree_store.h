/* SPDX-License-Identifier: BSD-2-Clause */
/* What the receiver of a tree transfer keeps: the partial directory with its journal, and files that become complete.
 */
#ifndef NETBLT_CLI_TREE_STORE_H
#define NETBLT_CLI_TREE_STORE_H

#include "cli/tree/layout.h"
#include "cli/tree/tree_header.h"
#include "cli/tree/tree_store_types.h"

/* What lies on disk, and what survives what: docs/tree-transfer.md, "What the receiver keeps". At any moment, and after
 * kill -9 at any system call, a final name holds the old file or the new one. When all is complete the partial
 * directory is removed.
 *
 * A store lives over several transfers: the parts and steps of a tree transfer, and attempts after a failure. Each
 * transfer has a sink of its own (sink_open_tree()), whose thread calls tree_store_write() and tree_store_end(). Only
 * the functions whose comment allows it may be called while a sink that is not at rest has the store. */
/* Stores beneath `dir_fd`, which it takes over; `target` is the name there. If the manifest has one top entry it gets
 * the name `target`; if it has several, `target` is made a directory that holds them. `target` NULL: top entries keep
 * their names and lie directly in `dir_fd`. Nothing is created before tree_store_write(), which then opens or makes the
 * partial directory. NULL with *failure: the directory cannot be written. */
tree_store *tree_store_open(int dir_fd, const char *target, const tree_store_how *how, netblt_failure *failure);
/* Removes the partial directory if nothing is kept in it. Blocks for the disk. NULL is allowed. */
void tree_store_close(tree_store *store);
/* Whether an interrupted transfer of `target` (as above) left something in `dir_fd` with which the next can go on. */
bool tree_store_is_left(int dir_fd, const char *target);
/* Before the process is confined, if no store is opened by then: reads what cannot be read later. */
void tree_store_prepare(void);
/* The directory, as an O_PATH descriptor, for the sandbox. */
int tree_store_directory(const tree_store *store);

/* A part begins (step 1, 4 or 5): bytes of it follow by tree_store_write(). Does not block. What tree_store_manifest()
 * and tree_store_held() returned before stays valid until the next tree_store_write() or _recall(). */
void tree_store_begin(tree_store *store);
/* Bytes of the part at `offset` from its beginning, in any order, each once. Blocks for the disk. 0, or -1 with
 * *failure: a wrong header, manifest, hash or sum; a full disk; another process stores the same target; something
 * has the name and does not give way. The text names paths beneath the directory only, so the peer may see it. */
int tree_store_write(tree_store *store, uint64_t offset, const uint8_t *bytes, size_t length, netblt_failure *failure);
/* All bytes of the part were written: verifies that nothing is missing in it. Blocks for the disk. 0, or -1 with
 * *failure. What comes next is in tree_store_state(). */
int tree_store_end(tree_store *store, uint64_t part_bytes, netblt_failure *failure);
/* The transfer failed or was ended: what came is kept. Blocks for the disk. */
void tree_store_stop(tree_store *store);

/* ---- at any time, in any thread */

enum tree_state tree_store_state(const tree_store *store);
/* Header and manifest of the part have come, and its content is wanted: until then it may have been sent for nothing.
 */
bool tree_store_takes_content(const tree_store *store);
const manifest *tree_store_manifest(const tree_store *store); /* NULL before it is known */
/* NULL: not TREE_RESUMES, and no tree_store_recall() */
const held_list *tree_store_held(const tree_store *store);
/* TREE_PART_DONE: where in the content the next part begins. */
uint64_t tree_store_next_offset(const tree_store *store);

tree_progress tree_store_progress(const tree_store *store);

/* A long computation in tree_store_write() ends with a failure, until the next tree_store_begin(). */
void tree_store_cancel(tree_store *store);

/* ---- while no sink has the store */

/* Step 3, by a process that has not received the manifest itself (it was restarted, or serves many): reads the partial
 * directory and makes the held list: TREE_RESUMES. `id`: the first bytes of the manifest's. Blocks for the disk. 0, or
 * -1 with *failure: then that manifest is not there (TREE_CHANGED), or a failure as of tree_store_write(). A part that
 * comes without its manifest does not need it: tree_store_write() itself finds what was kept. */
int tree_store_recall(tree_store *store, const uint8_t id[8], netblt_failure *failure);
/* The sum of a complete file. False: not known, because it was there already. */
bool tree_store_sum(const tree_store *store, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES]);
/* Which sums the sender makes, once the header of a part has come. */
enum tree_sum tree_store_sum_kind(const tree_store *store);

#endif
