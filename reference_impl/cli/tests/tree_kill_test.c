/* SPDX-License-Identifier: BSD-2-Clause */
/* A receiver of a tree that is killed, or whose system calls fail, at each call that changes something on disk: final
 * names hold the old file or the new one, and the same transfer goes on. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cli/tests/tree_bed.h"
#include "random.h"

/* ---- system calls that can go wrong (the linker's --wrap) ------------------------------------------------------- */

enum fault { FAULT_NONE, FAULT_KILL, FAULT_ERROR };

static enum fault fault;
static unsigned fault_at; /* which call, counted from 1 */
static int fault_error;   /* FAULT_ERROR: the errno value that it and all after it get */
static unsigned calls;
static unsigned syncs;             /* calls of fsync() */
static unsigned syncs_before_name; /* when the last file was renamed */

static bool strikes(void)
{
    calls++;
    return fault == FAULT_ERROR ? calls >= fault_at : fault == FAULT_KILL && calls == fault_at;
}

/* Does not return if the process is to be killed. */
static int strike(void)
{
    if (fault == FAULT_KILL)
        kill(getpid(), SIGKILL);
    errno = fault_error;
    return -1;
}

int __real_openat(int dir, const char *path, int flags, ...);
ssize_t __real_write(int fd, const void *bytes, size_t length);
ssize_t __real_pwrite(int fd, const void *bytes, size_t length, off_t offset);
int __real_ftruncate(int fd, off_t length);
int __real_renameat(int from, const char *old, int to, const char *new);
int __real_renameat2(int from, const char *old, int to, const char *new, unsigned flags);
int __real_unlinkat(int dir, const char *path, int flags);
int __real_mkdirat(int dir, const char *path, mode_t mode);
int __real_symlinkat(const char *target, int dir, const char *path);
int __real_fsync(int fd);
int __real_fchmodat(int dir, const char *path, mode_t mode, int flags);
int __real_utimensat(int dir, const char *path, const struct timespec times[2], int flags);

int __wrap_openat(int dir, const char *path, int flags, ...);
ssize_t __wrap_write(int fd, const void *bytes, size_t length);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t length, off_t offset);
int __wrap_ftruncate(int fd, off_t length);
int __wrap_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat2(int from, const char *old, int to, const char *new, unsigned flags);
int __wrap_unlinkat(int dir, const char *path, int flags);
int __wrap_mkdirat(int dir, const char *path, mode_t mode);
int __wrap_symlinkat(const char *target, int dir, const char *path);
int __wrap_fsync(int fd);
int __wrap_fchmodat(int dir, const char *path, mode_t mode, int flags);
int __wrap_utimensat(int dir, const char *path, const struct timespec times[2], int flags);

int __wrap_openat(int dir, const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode = 0;
    va_start(arguments, flags);
    if ((flags & O_CREAT) != 0)
        mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return (flags & O_CREAT) != 0 && strikes() ? strike() : __real_openat(dir, path, flags, mode);
}

/* A process can be killed in the middle of a write. */
ssize_t __wrap_write(int fd, const void *bytes, size_t length)
{
    if (!strikes())
        return __real_write(fd, bytes, length);
    if (length > 1 && __real_write(fd, bytes, length / 2) < 0)
        return -1;
    return strike();
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    if (!strikes())
        return __real_pwrite(fd, bytes, length, offset);
    if (length > 1 && __real_pwrite(fd, bytes, length / 2, offset) < 0)
        return -1;
    return strike();
}

int __wrap_ftruncate(int fd, off_t length)
{
    return strikes() ? strike() : __real_ftruncate(fd, length);
}

int __wrap_renameat(int from, const char *old, int to, const char *new)
{
    syncs_before_name = syncs;
    return strikes() ? strike() : __real_renameat(from, old, to, new);
}

int __wrap_renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    return strikes() ? strike() : __real_renameat2(from, old, to, new, flags);
}

int __wrap_unlinkat(int dir, const char *path, int flags)
{
    return strikes() ? strike() : __real_unlinkat(dir, path, flags);
}

int __wrap_mkdirat(int dir, const char *path, mode_t mode)
{
    return strikes() ? strike() : __real_mkdirat(dir, path, mode);
}

int __wrap_symlinkat(const char *target, int dir, const char *path)
{
    return strikes() ? strike() : __real_symlinkat(target, dir, path);
}

int __wrap_fsync(int fd)
{
    syncs++;
    return strikes() ? strike() : __real_fsync(fd);
}

int __wrap_fchmodat(int dir, const char *path, mode_t mode, int flags)
{
    return strikes() ? strike() : __real_fchmodat(dir, path, mode, flags);
}

int __wrap_utimensat(int dir, const char *path, const struct timespec times[2], int flags)
{
    return strikes() ? strike() : __real_utimensat(dir, path, times, flags);
}

/* ---- one attempt ----------------------------------------------------------------------------------------------- */

/* Under a sanitizer, where a process costs much, only some calls are tried. */
#ifndef KILL_STEP
#define KILL_STEP 1
#endif

#define LARGE_BYTES (5 * 65536 + 100)
static const char *const top[] = {"top"};
static const char *const files[] = {"top/large", "top/closed/small", "top/none", "top/sum"};
static netblt_failure failure;

/* What an attempt in a process of its own leaves in memory. */
typedef struct attempt {
    uint64_t delivered; /* bytes of the first part */
    uint64_t sent;
    char text[400]; /* why it failed; empty when it did not */
} attempt;

static attempt *shared;

static void make_source(const char *directory, unsigned seed)
{
    char full[128];
    bed_directory(directory, "top");
    bed_directory(directory, "top/closed");
    bed_file(directory, "top/large", LARGE_BYTES, seed);
    bed_file(directory, "top/closed/small", 1000, seed + 1);
    bed_file(directory, "top/none", 0, 0);
    bed_file(directory, "top/sum", 65536, seed + 2);
    bed_link(directory, "top/link", seed == 1 ? "large" : "other");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        bed_time(directory, files[i], 1700000000 + (long long)seed);
    snprintf(full, sizeof full, "%s/top/closed", directory);
    CHECK(chmod(full, seed == 1 ? 0500 : 0700) == 0);
    bed_time(directory, "top/closed", 1600000000);
    bed_time(directory, "top", 1600000003);
}

/* The whole transfer, in a process that may be killed. Whether it ended by itself. */
static bool run(const tree_bed *bed, enum fault wanted, unsigned at, int error)
{
    int status;
    pid_t child;
    *shared = (attempt){.text = ""};
    fflush(stdout);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const tree_store_how how = {.replace = true, .sync = at % 2 == 0};
        tree_store *store = bed_store(bed->to, "top", how);
        bed_sender sender;
        bed_send(&sender, bed->from, top, 1);
        bed_delivered = &shared->delivered;
        calls = 0;
        fault_at = at;
        fault_error = error;
        fault = wanted;
        if (bed_transfer(&sender, store, (bed_delivery){50000, 1, 0}, NULL, &failure) != 0)
            snprintf(shared->text, sizeof shared->text, "%s", failure.text);
        shared->sent = sender.sent_bytes;
        tree_store_close(store);
        _exit(wanted != FAULT_NONE && calls < at ? 2 : 0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) ? WEXITSTATUS(status) != 1 : WTERMSIG(status) == SIGKILL);
    return WIFEXITED(status) && WEXITSTATUS(status) == 2;
}

static bool is_equal_file(const char *one, const char *other, const char *path)
{
    static uint8_t bytes[2][LARGE_BYTES + 1];
    char full[2][128];
    size_t length[2];
    snprintf(full[0], sizeof full[0], "%s/%s", one, path);
    snprintf(full[1], sizeof full[1], "%s/%s", other, path);
    for (unsigned i = 0; i < 2; i++) {
        FILE *file = fopen(full[i], "re");
        CHECK(file != NULL);
        length[i] = fread(bytes[i], 1, sizeof bytes[i], file);
        fclose(file);
    }
    return length[0] == length[1] && memcmp(bytes[0], bytes[1], length[0]) == 0;
}

/* Each final name has the old file, or the new one; or none, if there was none. */
static void expect_whole_files(const tree_bed *bed, const char *old)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (old != NULL || bed_exists(bed->to, files[i]))
            CHECK(is_equal_file(bed->from, bed->to, files[i]) ||
                  (old != NULL && is_equal_file(old, bed->to, files[i])));
}

static void expect_stored(const tree_bed *bed)
{
    if (shared->text[0] != '\0')
        fprintf(stderr, "%s\n", shared->text);
    CHECK(shared->text[0] == '\0');
    CHECK(bed_is_equal(bed->from, top, bed->to, top, 1));
    CHECK_EQUAL(bed_count(bed->to, ""), 1);
}

/* A new bed, with an old tree under the final names if `has_old`; `old` becomes its copy. */
static const char *make_bed(tree_bed *bed, bool has_old, char old[128])
{
    bed_make(bed);
    make_source(bed->from, 1);
    if (!has_old)
        return NULL;
    snprintf(old, 128, "%s/old", bed->base);
    CHECK(mkdir(old, 0755) == 0);
    make_source(old, 10);
    make_source(bed->to, 10);
    return old;
}

/* ---- the tests ------------------------------------------------------------------------------------------------- */

/* Beside pieces, a resumed transfer sends header and sums. */
#define OVERHEAD_BYTES 1000

static void a_kill_at_any_call(bool has_old)
{
    const uint64_t total = LARGE_BYTES + 1000 + 65536;
    bool ended = false;
    unsigned at;
    for (at = 1; !ended; at += KILL_STEP) {
        char memory[128];
        tree_bed bed;
        const char *old = make_bed(&bed, has_old, memory);
        uint64_t delivered;
        ended = run(&bed, FAULT_KILL, at, 0);
        delivered = shared->delivered;
        expect_whole_files(&bed, old);
        CHECK(!run(&bed, FAULT_NONE, at, 0));
        expect_stored(&bed);
        /* The last buffer, and the piece that its beginning belongs to, are retransmitted. */
        CHECK(delivered < 50000 || shared->sent <= total - delivered + 50000 + 65536 + OVERHEAD_BYTES);
        bed_remove(&bed);
    }
    CHECK(at > 40);
}

static void a_kill_at_any_call_leaves_whole_files_and_what_came(void)
{
    a_kill_at_any_call(false);
}

static void a_kill_at_any_call_leaves_the_old_file_or_the_new_one(void)
{
    a_kill_at_any_call(true);
}

/* Again and again, until one attempt gets through. */
static void kills_may_follow_one_another(void)
{
    struct random random = {1};
    for (unsigned round = 0; round < 30; round += KILL_STEP) {
        char memory[128];
        tree_bed bed;
        const char *old = make_bed(&bed, round % 2 == 0, memory);
        for (unsigned i = 0; i < 10; i++) {
            (void)run(&bed, FAULT_KILL, 1 + (unsigned)random_below(&random, 60), 0);
            expect_whole_files(&bed, old);
        }
        CHECK(!run(&bed, FAULT_NONE, 0, 0));
        expect_stored(&bed);
        bed_remove(&bed);
    }
}

/* From some call on all fail: the disk is full, or broken. */
static void calls_that_fail_are_reported(int error)
{
    bool ended = false;
    for (unsigned at = 1; !ended; at += KILL_STEP) {
        char memory[128];
        tree_bed bed;
        const char *old = make_bed(&bed, at % 3 == 0, memory);
        ended = run(&bed, FAULT_ERROR, at, error);
        expect_whole_files(&bed, old);
        if (shared->text[0] == '\0')
            CHECK(bed_is_equal(bed.from, top, bed.to, top, 1));
        else
            CHECK(strstr(shared->text, strerror(error)) != NULL);
        CHECK(!run(&bed, FAULT_NONE, at, 0));
        expect_stored(&bed);
        bed_remove(&bed);
    }
}

static void a_full_disk_is_reported_wherever_it_shows(void)
{
    calls_that_fail_are_reported(ENOSPC);
}

static void a_broken_disk_is_reported_wherever_it_shows(void)
{
    calls_that_fail_are_reported(EIO);
}

static void a_file_is_synced_before_and_its_directory_after_it_gets_its_name(void)
{
    static const char *const file[] = {"file"};
    for (unsigned sync = 0; sync < 2; sync++) {
        bed_sender sender;
        tree_bed bed;
        tree_store *store;
        bed_make(&bed);
        bed_file(bed.from, "file", 100000, 1);
        store = bed_store(bed.to, "file", (tree_store_how){.sync = sync == 1, .replace = true});
        bed_send(&sender, bed.from, file, 1);
        syncs = 0;
        CHECK_EQUAL(bed_transfer(&sender, store, (bed_delivery){50000, 1, 0}, NULL, &failure), 0);
        CHECK_EQUAL(syncs_before_name, sync);
        CHECK_EQUAL(syncs, 2 * sync);
        tree_store_close(store);
        bed_send_end(&sender);
        bed_remove(&bed);
    }
}

int main(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    RUN(a_file_is_synced_before_and_its_directory_after_it_gets_its_name);
    RUN(a_kill_at_any_call_leaves_whole_files_and_what_came);
    RUN(a_kill_at_any_call_leaves_the_old_file_or_the_new_one);
    RUN(kills_may_follow_one_another);
    RUN(a_full_disk_is_reported_wherever_it_shows);
    RUN(a_broken_disk_is_reported_wherever_it_shows);
    return 0;
}
