/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests: directories with trees, and a tree transfer between them without a network. */
#ifndef NETBLT_TESTS_TREE_BED_H
#define NETBLT_TESTS_TREE_BED_H

#include "cli/tree/tree_reader.h"
#include "cli/tree/tree_store.h"

/* A new directory with the empty directories `from` and `to`. */
typedef struct tree_bed {
    char base[64];
    char from[80];
    char to[80];
} tree_bed;

void bed_make(tree_bed *bed);
void bed_remove(tree_bed *bed);

/* All paths are relative to `directory`. Contents are made from `seed`. Files get a fixed modification time. */
void bed_file(const char *directory, const char *path, size_t size, unsigned seed);
void bed_directory(const char *directory, const char *path);
void bed_link(const char *directory, const char *path, const char *target);
void bed_time(const char *directory, const char *path, long long seconds);
bool bed_exists(const char *directory, const char *path);
/* Names in `directory` that begin with `prefix`. */
unsigned bed_count(const char *directory, const char *prefix);

/* What a sender has. */
typedef struct bed_sender {
    tree_files *files;
    manifest *all;
    enum tree_sum sum;
    uint64_t most_bytes; /* of a part */
    uint64_t sent_bytes; /* of files, in all transfers */
} bed_sender;

/* `count` names in `directory`. */
void bed_send(bed_sender *sender, const char *directory, const char *const *names, size_t count);
void bed_send_end(bed_sender *sender);
/* The bytes of a part, which the caller frees. */
uint8_t *bed_part(bed_sender *sender, const held_list *held, bool with_manifest, uint64_t offset, uint64_t *length,
                  uint64_t *end_offset);

/* How a network delivers. */
typedef struct bed_delivery {
    size_t buffer_bytes;
    size_t window; /* buffers that may overtake each other */
    unsigned seed;
} bed_delivery;

/* NULL, or where bed_deliver() notes how many bytes of its part have been taken. */
extern uint64_t *bed_delivered;
/* Delivers a part and ends it, or stops it when it resumes. 0, or -1 with *failure. */
int bed_deliver(tree_store *store, const uint8_t *part, uint64_t length, bed_delivery how, netblt_failure *failure);
/* All steps until everything is stored. 0, or -1 with *failure. *rounds, unless NULL: how often it was resumed. */
int bed_transfer(bed_sender *sender, tree_store *store, bed_delivery how, unsigned *rounds, netblt_failure *failure);
tree_store *bed_store(const char *directory, const char *target, tree_store_how how);

/* Whether two trees are equal: names, modes, times, links, holes, contents. */
bool bed_is_equal(const char *from, const char *const *names, const char *to, const char *const *there, size_t count);

/* ---- one tree for many tests */
extern const char *const bed_top[];  /* its name, "top" */
extern const bed_delivery bed_whole; /* in one buffer */
/* Files of all sizes that matter, empty and deep directories, links, modes. */
void bed_make_source(const tree_bed *bed);
/* Whether it is stored, and nothing else. */
bool bed_is_stored(const tree_bed *bed);
/* Transfers it. The failure's text when that fails, else NULL. *sent, unless NULL: bytes that were sent. */
const char *bed_transfer_top(const tree_bed *bed, tree_store_how how, bed_delivery delivery, uint64_t *sent);
void bed_expect_stored(const tree_bed *bed, tree_store_how how, bed_delivery delivery);

#endif
