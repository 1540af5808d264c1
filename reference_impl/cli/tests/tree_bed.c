/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests: directories with trees, and a tree transfer between them: see tree_bed.h. */
#include "cli/tests/tree_bed.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "random.h"

#define FILE_TIME 1700000000
#define PATH_BYTES 512

void bed_make(tree_bed *bed)
{
    /* In memory a sync costs no time. */
    snprintf(bed->base, sizeof bed->base, "%s/netblt-bed-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    CHECK(mkdtemp(bed->base) != NULL);
    CHECK(chmod(bed->base, 0755) == 0);
    snprintf(bed->from, sizeof bed->from, "%s/from", bed->base);
    snprintf(bed->to, sizeof bed->to, "%s/to", bed->base);
    CHECK(mkdir(bed->from, 0755) == 0 && mkdir(bed->to, 0777) == 0);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static int unlock_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)where;
    return kind == FTW_D || kind == FTW_DNR ? chmod(path, (status->st_mode & 07777) | 0700) : 0;
}

void bed_remove(tree_bed *bed)
{
    (void)nftw(bed->base, unlock_one, 16, FTW_PHYS);
    CHECK(nftw(bed->base, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static const char *join(char path[PATH_BYTES], const char *directory, const char *name)
{
    snprintf(path, PATH_BYTES, "%s/%s", directory, name);
    return path;
}

void bed_time(const char *directory, const char *path, long long seconds)
{
    char full[PATH_BYTES];
    const struct timespec times[] = {{.tv_sec = seconds}, {.tv_sec = seconds, .tv_nsec = 123456789}};
    CHECK(utimensat(AT_FDCWD, join(full, directory, path), times, AT_SYMLINK_NOFOLLOW) == 0);
}

void bed_file(const char *directory, const char *path, size_t size, unsigned seed)
{
    char full[PATH_BYTES];
    struct random random = {seed};
    uint8_t bytes[4096];
    FILE *file = fopen(join(full, directory, path), "we");
    CHECK(file != NULL);
    for (size_t done = 0; done < size; done += sizeof bytes) {
        for (size_t i = 0; i < sizeof bytes; i += sizeof(uint64_t)) {
            uint64_t next = random_next(&random);
            memcpy(bytes + i, &next, sizeof next);
        }
        CHECK(fwrite(bytes, size - done < sizeof bytes ? size - done : sizeof bytes, 1, file) == 1);
    }
    CHECK(fclose(file) == 0);
    bed_time(directory, path, FILE_TIME);
}

void bed_directory(const char *directory, const char *path)
{
    char full[PATH_BYTES];
    CHECK(mkdir(join(full, directory, path), 0755) == 0);
}

void bed_link(const char *directory, const char *path, const char *target)
{
    char full[PATH_BYTES];
    CHECK(symlink(target, join(full, directory, path)) == 0);
    bed_time(directory, path, FILE_TIME);
}

bool bed_exists(const char *directory, const char *path)
{
    char full[PATH_BYTES];
    struct stat status;
    return lstat(join(full, directory, path), &status) == 0;
}

unsigned bed_count(const char *directory, const char *prefix)
{
    DIR *names = opendir(directory);
    const struct dirent *next;
    unsigned count = 0;
    CHECK(names != NULL);
    while ((next = readdir(names)) != NULL)
        count += strcmp(next->d_name, ".") != 0 && strcmp(next->d_name, "..") != 0 &&
                 strncmp(next->d_name, prefix, strlen(prefix)) == 0;
    closedir(names);
    return count;
}

/* ---- the sender ------------------------------------------------------------------------------------------------ */

void bed_send(bed_sender *sender, const char *directory, const char *const *names, size_t count)
{
    netblt_failure failure;
    char full[4][PATH_BYTES];
    const char *paths[4];
    CHECK(count <= 4);
    for (size_t i = 0; i < count; i++)
        paths[i] = join(full[i], directory, names[i]);
    *sender = (bed_sender){.sum = TREE_SUM_BLAKE3, .most_bytes = UINT64_MAX};
    sender->files = tree_files_open(paths, count, &failure);
    CHECK(sender->files != NULL);
    sender->all = tree_files_walk(sender->files, &(tree_walk_how){0}, &failure);
    CHECK(sender->all != NULL);
}

void bed_send_end(bed_sender *sender)
{
    manifest_free(sender->all);
    tree_files_close(sender->files);
}

uint8_t *bed_part(bed_sender *sender, const held_list *held, bool with_manifest, uint64_t offset, uint64_t *length,
                  uint64_t *end_offset)
{
    netblt_failure failure;
    const tree_reader_args args = {.files = sender->files,
                                   .all = sender->all,
                                   .held = held,
                                   .sum = sender->sum,
                                   .with_manifest = with_manifest,
                                   .offset = offset,
                                   .most_bytes = sender->most_bytes};
    tree_reader *reader = tree_reader_new(&args, &failure);
    uint8_t *bytes;
    CHECK(reader != NULL);
    *length = tree_reader_bytes(reader);
    bytes = malloc((size_t)*length);
    CHECK(bytes != NULL);
    CHECK_EQUAL(tree_reader_read(reader, bytes, (size_t)*length, &failure), *length);
    *end_offset = tree_reader_end_offset(reader);
    tree_reader_free(reader);
    return bytes;
}

/* ---- the transfer ---------------------------------------------------------------------------------------------- */

tree_store *bed_store(const char *directory, const char *target, tree_store_how how)
{
    netblt_failure failure;
    int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    tree_store *store;
    CHECK(dir >= 0);
    store = tree_store_open(dir, target, &how, &failure);
    if (store == NULL)
        fprintf(stderr, "%s\n", failure.text);
    CHECK(store != NULL);
    return store;
}

/* The order in which buffers are delivered: each is at most a window away from its place. */
static size_t *make_order(size_t count, bed_delivery how)
{
    size_t *order = malloc((count + 1) * sizeof *order);
    struct random random = {how.seed};
    CHECK(order != NULL);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = 0; how.window > 1 && i < count; i++) {
        size_t end = i + how.window < count ? i + how.window : count;
        size_t other = i + (size_t)random_below(&random, end - i);
        size_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    return order;
}

uint64_t *bed_delivered;

int bed_deliver(tree_store *store, const uint8_t *part, uint64_t length, bed_delivery how, netblt_failure *failure)
{
    size_t count = (size_t)((length + how.buffer_bytes - 1) / how.buffer_bytes);
    size_t *order = make_order(count, how);
    int result = 0;
    tree_store_begin(store);
    for (size_t i = 0; i < count && result == 0 && tree_store_state(store) == TREE_RECEIVES; i++) {
        uint64_t offset = (uint64_t)order[i] * how.buffer_bytes;
        size_t bytes = (size_t)(length - offset < how.buffer_bytes ? length - offset : how.buffer_bytes);
        uint8_t *exact = malloc(bytes); /* a sanitizer sees what reads beyond it */
        CHECK(exact != NULL);
        memcpy(exact, part + offset, bytes);
        result = tree_store_write(store, offset, exact, bytes, failure);
        free(exact);
        if (bed_delivered != NULL)
            *bed_delivered += bytes;
    }
    free(order);
    if (result == 0 && tree_store_state(store) == TREE_RECEIVES)
        result = tree_store_end(store, length, failure);
    if (tree_store_state(store) != TREE_DONE && tree_store_state(store) != TREE_PART_DONE)
        tree_store_stop(store);
    return result;
}

/* Delivers the content from `offset` on, in parts. */
static int transfer_parts(bed_sender *sender, tree_store *store, const held_list *held, bool with_manifest,
                          bed_delivery how, netblt_failure *failure)
{
    uint64_t offset = 0;
    int result = 0;
    do {
        uint64_t length;
        uint8_t *part = bed_part(sender, held, with_manifest, offset, &length, &offset);
        sender->sent_bytes += length;
        result = bed_deliver(store, part, length, how, failure);
        free(part);
        with_manifest = false;
        if (result == 0 && tree_store_state(store) == TREE_PART_DONE)
            CHECK_EQUAL(tree_store_next_offset(store), offset);
    } while (result == 0 && tree_store_state(store) == TREE_PART_DONE);
    return result;
}

int bed_transfer(bed_sender *sender, tree_store *store, bed_delivery how, unsigned *rounds, netblt_failure *failure)
{
    unsigned resumed = 0;
    int result = transfer_parts(sender, store, NULL, true, how, failure);
    while (result == 0 && tree_store_state(store) == TREE_RESUMES && resumed < 4) {
        const held_list *held = tree_store_held(store);
        held_list *copy = held_decode(held->encoded, held->encoded_bytes, sender->all, failure);
        CHECK(copy != NULL);
        if (resumed++ == 0)
            sender->sent_bytes = 0; /* the first step was ended */
        result = transfer_parts(sender, store, copy, false, how, failure);
        held_free(copy);
    }
    if (rounds != NULL)
        *rounds = resumed;
    if (result == 0)
        CHECK_EQUAL(tree_store_state(store), TREE_DONE);
    return result;
}

/* ---- comparing ------------------------------------------------------------------------------------------------- */

bool bed_is_equal(const char *from, const char *const *names, const char *to, const char *const *there, size_t count)
{
    bed_sender one;
    bed_sender other;
    uint64_t one_length;
    uint64_t other_length;
    uint64_t end;
    uint8_t *one_bytes;
    uint8_t *other_bytes;
    bool equal;
    bed_send(&one, from, names, count);
    bed_send(&other, to, there, count);
    one_bytes = bed_part(&one, NULL, true, 0, &one_length, &end);
    other_bytes = bed_part(&other, NULL, true, 0, &other_length, &end);
    equal = one_length == other_length && memcmp(one_bytes, other_bytes, (size_t)one_length) == 0;
    free(one_bytes);
    free(other_bytes);
    bed_send_end(&one);
    bed_send_end(&other);
    return equal;
}

/* ---- one tree for many tests ----------------------------------------------------------------------------------- */

const char *const bed_top[] = {"top"};
const bed_delivery bed_whole = {.buffer_bytes = 1 << 26};

void bed_make_source(const tree_bed *bed)
{
    char full[128];
    bed_directory(bed->from, "top");
    bed_directory(bed->from, "top/sub");
    bed_directory(bed->from, "top/sub/empty");
    bed_directory(bed->from, "top/closed");
    bed_file(bed->from, "top/none", 0, 1);
    bed_file(bed->from, "top/one", 1, 2);
    bed_file(bed->from, "top/piece", 65536, 3);
    bed_file(bed->from, "top/more", 65537, 4);
    bed_file(bed->from, "top/sub/large", 10 * 65536 + 17, 5);
    bed_file(bed->from, "top/sub/a\nb", 100, 6);
    bed_file(bed->from, "top/closed/file", 1000, 7);
    bed_link(bed->from, "top/sub/link", "../../../anywhere");
    bed_link(bed->from, "top/dangling", "/none");
    snprintf(full, sizeof full, "%s/top/closed/file", bed->from);
    CHECK(chmod(full, 0400) == 0);
    snprintf(full, sizeof full, "%s/top/closed", bed->from);
    CHECK(chmod(full, 0500) == 0);
    bed_time(bed->from, "top/closed", 1600000000);
    bed_time(bed->from, "top/sub/empty", 1600000001);
    bed_time(bed->from, "top/sub", 1600000002);
    bed_time(bed->from, "top", 1600000003);
}

bool bed_is_stored(const tree_bed *bed)
{
    return bed_is_equal(bed->from, bed_top, bed->to, bed_top, 1) && bed_count(bed->to, "") == 1;
}

const char *bed_transfer_top(const tree_bed *bed, tree_store_how how, bed_delivery delivery, uint64_t *sent)
{
    static netblt_failure failure;
    bed_sender sender;
    tree_store *store = bed_store(bed->to, "top", how);
    int result;
    bed_send(&sender, bed->from, bed_top, 1);
    result = bed_transfer(&sender, store, delivery, NULL, &failure);
    tree_store_close(store);
    if (sent != NULL)
        *sent = sender.sent_bytes;
    bed_send_end(&sender);
    return result == 0 ? NULL : failure.text;
}

void bed_expect_stored(const tree_bed *bed, tree_store_how how, bed_delivery delivery)
{
    const char *text = bed_transfer_top(bed, how, delivery, NULL);
    if (text != NULL)
        fprintf(stderr, "%s\n", text);
    CHECK(text == NULL);
    CHECK(bed_is_stored(bed));
}
