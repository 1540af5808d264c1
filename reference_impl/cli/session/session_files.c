/* SPDX-License-Identifier: BSD-2-Clause */
/* What `netblt send` sends and `netblt recv` stores: see session_files.h. */
#include "cli/session/session_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/report/report.h"
#include "io/clock.h"
#include "io/privileges.h"

/* A passive end may wait for a peer for days, in which files change. */
#define FRESH_US 2000000

static int no_memory(netblt_failure *failure)
{
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
}

/* ---- what will still be opened ------------------------------------------------------------------------------------
 */

static int reach(session_files *files, int fd, netblt_failure *failure)
{
    int *more = realloc(files->reached, (files->reached_count + 1) * sizeof *more);
    if (fd < 0 || more == NULL) {
        if (more != NULL)
            files->reached = more;
        return no_memory(failure);
    }
    files->reached = more;
    files->reached[files->reached_count++] = fd;
    return 0;
}

sandbox_files session_files_reached(const session_files *files)
{
    return (sandbox_files){
        .fds = files->reached, .count = files->reached_count, .writable = files->given->role == NETBLT_RECEIVER};
}

/* ---- a sender's: opening ------------------------------------------------------------------------------------------
 */

/* A file in /proc has bytes and no size. */
static bool has_a_size(const char *path)
{
    struct stat status;
    char byte;
    int fd;
    bool is_empty;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    if (status.st_size > 0)
        return true;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    is_empty = fd >= 0 && read(fd, &byte, 1) == 0;
    if (fd >= 0)
        close(fd);
    return is_empty;
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Everything beneath the paths, and nothing beside them. */
static int reach_paths(session_files *files, netblt_failure *failure)
{
    for (size_t i = 0; i < files->given->path_count; i++) {
        const char *path = files->given->paths[i];
        int fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0)
            return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", path, strerror(errno));
        if (reach(files, fd, failure) != 0)
            return -1;
    }
    return 0;
}

static void report_skipped(void *context, const char *path, const char *why)
{
    char printable[256];
    (void)context;
    report_note("left out: %s: %s", text_printable(path, printable, sizeof printable), why);
}

static enum tree_sum sum_kind(const session_files *files)
{
    return files->given->hash == HASH_SHA256 ? TREE_SUM_SHA256 : TREE_SUM_BLAKE3;
}

static int plan(session_files *files, netblt_failure *failure)
{
    layout_free(files->plan);
    files->plan = layout_new(files->all, files->held);
    return files->plan != NULL ? 0 : no_memory(failure);
}

static void forget_held(session_files *files)
{
    layout_free(files->plan);
    files->plan = NULL;
    held_free(files->held);
    files->held = NULL;
}

static int walk(session_files *files, netblt_failure *failure)
{
    const tree_walk_how how = {.skipped = report_skipped};
    manifest *found = tree_files_walk(files->tree, &how, failure);
    if (found == NULL)
        return -1;
    forget_held(files);
    manifest_free(files->all);
    files->all = found;
    files->walked_at = netblt_clock_now();
    tree_sums_free(files->sums);
    files->sums = tree_sums_new(files->all, sum_kind(files));
    return files->sums == NULL ? no_memory(failure) : plan(files, failure);
}

int session_files_refresh(session_files *files, netblt_failure *failure)
{
    bool is_fresh = files->held == NULL && netblt_clock_now() - files->walked_at < FRESH_US;
    return is_fresh ? 0 : walk(files, failure);
}

/* Later, without capabilities, the files are opened again: what only root's rights reach is no tree. */
static int open_tree(session_files *files, netblt_failure *failure)
{
    int result;
    netblt_privileges_set_effective(false);
    files->tree = tree_files_open((const char *const *)files->given->paths, files->given->path_count, failure);
    result = files->tree == NULL ? -1 : walk(files, failure);
    netblt_privileges_set_effective(true);
    if (result == 0)
        return reach_paths(files, failure);
    tree_files_close(files->tree);
    files->tree = NULL;
    return -1;
}

static int open_sender(session_files *files, netblt_failure *failure)
{
    const options *given = files->given;
    netblt_failure ignored;
    if (given->path_count > 1 || is_directory(given->file))
        return open_tree(files, failure);
    files->is_one = true;
    if (!has_a_size(given->file)) {
        files->one = source_open(given->file, given->beyond_4g, failure);
        return files->one != NULL ? 0 : -1;
    }
    files->one = source_open(given->file, true, failure); /* see session_files_source() */
    if (files->one != NULL)
        (void)open_tree(files, &ignored);
    return files->one != NULL ? 0 : -1;
}

/* ---- a sender's: steps --------------------------------------------------------------------------------------------
 */

int session_files_take_held(session_files *files, uint8_t *encoded, uint64_t length, netblt_failure *failure)
{
    held_list *held = held_decode(encoded, length, files->all, failure);
    free(encoded);
    if (held == NULL)
        return -1;
    forget_held(files);
    files->held = held;
    return plan(files, failure);
}

static bool knows_held(const session_files *files, const uint8_t id[STEP_ID_BYTES])
{
    static const uint8_t none[STEP_ID_BYTES];
    return memcmp(files->held == NULL ? none : files->held->id, id, STEP_ID_BYTES) == 0;
}

const char *session_files_object(const session_files *files, const step_name *what)
{
    if (what->kind == STEP_FIRST)
        return NULL;
    if (memcmp(files->all->id, what->manifest_id, STEP_ID_BYTES) != 0)
        return STEP_CHANGED;
    if (what->kind == STEP_CONTENT && !knows_held(files, what->held_id))
        return STEP_RESUME;
    return what->kind == STEP_CONTENT && what->offset > layout_bytes(files->plan) ? STEP_CHANGED : NULL;
}

tree_reader_args session_files_reading(const session_files *files, const step_name *what)
{
    const options *given = files->given;
    bool first = what->kind == STEP_FIRST;
    uint64_t least = TREE_HEADER_BYTES + files->all->encoded_bytes + PIECE_BYTES;
    uint64_t most = given->part_size.value;
    return (tree_reader_args){
        .files = files->tree,
        .all = files->all,
        .held = first ? NULL : files->held,
        .sum = sum_kind(files),
        .sums = files->sums,
        .with_manifest = first,
        .offset = what->offset,
        .most_bytes = first && most < least ? least : most,
    };
}

/* The next transfer of a file reads it from its beginning. */
source *session_files_source(session_files *files, netblt_failure *failure)
{
    source *from;
    if (source_size(files->one) > SOURCE_MAX_BYTES && !files->given->beyond_4g) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                    "%s has more than 4294967264 bytes, and the peer cannot take it in several transfers: split it, or "
                    "give --beyond-4g at both ends",
                    files->given->file);
        return NULL;
    }
    if (session_files_size(files) > 0)
        return source_copy(files->one, failure);
    from = files->one;
    files->one = NULL;
    return from;
}

/* ---- a receiver's -------------------------------------------------------------------------------------------------
 */

static sink_how how_to_store(const session_files *files)
{
    return (sink_how){.replace = true, .sync = files->given->sync == SYNC_ALWAYS, .wake_fd = files->wake_fd};
}

static int open_place(session_files *files, netblt_failure *failure)
{
    const sink_how how = how_to_store(files);
    files->place = sink_open(files->given->file, &how, failure);
    return files->place != NULL ? 0 : -1;
}

static int open_store(session_files *files, netblt_failure *failure)
{
    const tree_store_how how = {.replace = true,
                                .sync = files->given->sync == SYNC_ALWAYS,
                                .checksum = files->given->checksum,
                                .discard = files->given->discard};
    int directory = files->to.directory;
    files->to.directory = -1;
    files->store = tree_store_open(directory, files->to.name, &how, failure);
    if (files->store == NULL)
        return -1;
    return reach(files, fcntl(tree_store_directory(files->store), F_DUPFD_CLOEXEC, 3), failure);
}

/* The directory is opened for it: an O_PATH descriptor cannot be listed. */
static bool has_entries(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    bool found = false;
    if (listing == NULL) {
        if (fd >= 0)
            close(fd);
        return true;
    }
    while (!found && (entry = readdir(listing)) != NULL)
        found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(listing);
    return found;
}

static bool may_hold(const dest *to)
{
    struct stat status;
    if (to->kind == DEST_BENEATH)
        return has_entries(to->directory);
    return to->kind == DEST_NAME && (fstatat(to->directory, to->name, &status, AT_SYMLINK_NOFOLLOW) == 0 ||
                                     tree_store_is_left(to->directory, to->name));
}

static int open_receiver(session_files *files, netblt_failure *failure)
{
    if (dest_open(files->given->file, &files->to, failure) != 0)
        return -1;
    files->is_one = files->to.kind == DEST_STREAM || !is_directory(files->given->file);
    files->may_hold = may_hold(&files->to);
    if (files->is_one && open_place(files, failure) != 0)
        return -1;
    return files->to.kind == DEST_STREAM ? 0 : open_store(files, failure);
}

/* The first one was opened when the command began; after a failure there is another one. */
sink *session_files_sink(session_files *files, netblt_failure *failure)
{
    sink *to;
    if (files->place == NULL && open_place(files, failure) != 0)
        return NULL;
    to = files->place;
    files->place = NULL;
    return to;
}

static bool knows_manifest(const session_files *files, const uint8_t id[STEP_ID_BYTES])
{
    const manifest *all = tree_store_manifest(files->store);
    return all != NULL && tree_store_held(files->store) != NULL && memcmp(all->id, id, STEP_ID_BYTES) == 0;
}

source *session_files_held(session_files *files, const step_name *what, const char **reason, netblt_failure *failure)
{
    *reason = NULL;
    if (!knows_manifest(files, what->manifest_id) && tree_store_recall(files->store, what->manifest_id, failure) != 0) {
        if (tree_store_state(files->store) == TREE_CHANGED)
            *reason = STEP_CHANGED;
        return NULL;
    }
    return step_held_source(tree_store_held(files->store), tree_store_manifest(files->store), failure);
}

/* ---- both ---------------------------------------------------------------------------------------------------------
 */

static void name_for_people(session_files *files)
{
    const options *given = files->given;
    files->name = given->file;
    if (given->path_count > 1) {
        snprintf(files->summary, sizeof files->summary, "%s and %zu more", given->file, given->path_count - 1);
        files->name = files->summary;
    }
}

int session_files_open(session_files *files, const options *given, int wake_fd, netblt_failure *failure)
{
    int result;
    *files = (session_files){.given = given, .wake_fd = wake_fd, .to = {.directory = -1}};
    name_for_people(files);
    if (given->role == NETBLT_SENDER)
        return open_sender(files, failure);
    netblt_privileges_set_effective(false);
    result = open_receiver(files, failure);
    netblt_privileges_set_effective(true);
    return result;
}

void session_files_close(session_files *files)
{
    source_close(files->one);
    forget_held(files);
    tree_sums_free(files->sums);
    manifest_free(files->all);
    tree_files_close(files->tree);
    sink_close(files->place);
    tree_store_close(files->store);
    dest_close(&files->to);
    for (size_t i = 0; i < files->reached_count; i++)
        close(files->reached[i]);
    free(files->reached);
}

bool session_files_are_tree(const session_files *files)
{
    return files->tree != NULL || files->store != NULL;
}

bool session_files_can_repeat(const session_files *files)
{
    return files->given->role == NETBLT_SENDER ? session_files_size(files) > 0
                                               : files->is_one && files->to.kind == DEST_NAME;
}

uint64_t session_files_size(const session_files *files)
{
    return files->one != NULL ? source_size(files->one) : 0;
}
