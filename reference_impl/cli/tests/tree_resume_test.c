/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiver of tree transfers: what is kept after a loss, and what of it counts. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "cli/tests/tree_bed.h"

static netblt_failure failure;

/* ---- resume ---------------------------------------------------------------------------------------------------- */

/* The first `bytes` of the first step come, and the link is lost; or the process is killed. */
static void begin_transfer_and(const tree_bed *bed, uint64_t bytes, bool is_killed)
{
    bed_sender sender;
    tree_store *store = bed_store(bed->to, "top", (tree_store_how){0});
    uint64_t length;
    uint64_t end;
    uint8_t *part;
    bed_send(&sender, bed->from, bed_top, 1);
    part = bed_part(&sender, NULL, true, 0, &length, &end);
    tree_store_begin(store);
    for (uint64_t offset = 0; offset < bytes; offset += 10000)
        CHECK_EQUAL(tree_store_write(store, offset, part + offset, 10000, &failure), 0);
    if (is_killed)
        _exit(0);
    tree_store_stop(store);
    tree_store_close(store);
    free(part);
    bed_send_end(&sender);
}

static void begin_transfer(const tree_bed *bed, uint64_t bytes)
{
    begin_transfer_and(bed, bytes, false);
}

static void expect_child(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void begin_transfer_and_be_killed(const tree_bed *bed, uint64_t bytes)
{
    pid_t child;
    fflush(stdout);
    child = fork();
    CHECK(child >= 0);
    if (child == 0)
        begin_transfer_and(bed, bytes, true);
    expect_child(child);
}

static void what_came_before_the_link_was_lost_is_not_sent_again(void)
{
    for (uint64_t bytes = 10000; bytes < 800000; bytes += 110000) {
        tree_bed bed;
        uint64_t sent;
        bed_make(&bed);
        bed_make_source(&bed);
        begin_transfer(&bed, bytes);
        CHECK(bed_transfer_top(&bed, (tree_store_how){0}, (bed_delivery){10000, 4, 1}, &sent) == NULL);
        CHECK(sent + bytes < 793000 + 65536 + 3000);
        CHECK(bed_is_stored(&bed));
        bed_remove(&bed);
    }
}

static void pieces_of_unchanged_files_stay_valid_when_others_change(void)
{
    tree_bed bed;
    uint64_t sent;
    bed_make(&bed);
    bed_make_source(&bed);
    begin_transfer(&bed, 600000);
    bed_file(bed.from, "top/a-new-one", 5000, 1);
    bed_file(bed.from, "top/one", 2, 1);
    CHECK(bed_transfer_top(&bed, (tree_store_how){.replace = true}, bed_whole, &sent) == NULL);
    CHECK(sent < 793000 - 600000 + 65536 + 8000);
    CHECK(bed_is_stored(&bed));
    bed_remove(&bed);
}

static void pieces_of_a_file_that_changed_are_not_used(void)
{
    tree_bed bed;
    bed_make(&bed);
    bed_make_source(&bed);
    begin_transfer(&bed, 600000);
    bed_file(bed.from, "top/sub/large", 10 * 65536 + 17, 99);
    bed_time(bed.from, "top/sub/large", 1700000001);
    bed_expect_stored(&bed, (tree_store_how){0}, bed_whole);
    bed_remove(&bed);
}

static void another_process_can_go_on_with_what_was_kept(void)
{
    bed_sender sender;
    tree_bed bed;
    tree_store *store;
    const held_list *held;
    uint64_t length;
    uint64_t end;
    uint8_t *part;
    bed_make(&bed);
    bed_make_source(&bed);
    begin_transfer(&bed, 600000);
    CHECK(bed_exists(bed.to, "top") || bed_count(bed.to, ".netblt-partial-") == 1);
    bed_send(&sender, bed.from, bed_top, 1);
    store = bed_store(bed.to, "top", (tree_store_how){0});
    CHECK_EQUAL(tree_store_recall(store, sender.all->id, &failure), 0);
    CHECK_EQUAL(tree_store_state(store), TREE_RESUMES);
    held = tree_store_held(store);
    CHECK(held != NULL && held->count > 0);
    part = bed_part(&sender, held, false, 0, &length, &end);
    CHECK(length < 793000 - 600000 + 65536 + 2000);
    tree_store_close(store);
    store = bed_store(bed.to, "top", (tree_store_how){0}); /* neither manifest nor held list are in its memory */
    CHECK_EQUAL(bed_deliver(store, part, length, bed_whole, &failure), 0);
    CHECK_EQUAL(tree_store_state(store), TREE_DONE);
    CHECK_EQUAL(bed_deliver(store, part, length, bed_whole, &failure), 0); /* now of nothing that is kept */
    CHECK_EQUAL(tree_store_state(store), TREE_CHANGED);
    CHECK(tree_store_recall(store, sender.all->id, &failure) != 0);
    CHECK_EQUAL(tree_store_state(store), TREE_CHANGED);
    tree_store_close(store);
    free(part);
    bed_send_end(&sender);
    CHECK(bed_is_stored(&bed));
    bed_remove(&bed);
}

static void what_was_left_can_be_discarded(void)
{
    tree_bed bed;
    uint64_t sent;
    int dir;
    bed_make(&bed);
    bed_make_source(&bed);
    begin_transfer(&bed, 600000);
    dir = open(bed.to, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK(tree_store_is_left(dir, "top") && !tree_store_is_left(dir, "other"));
    close(dir);
    CHECK(bed_transfer_top(&bed, (tree_store_how){.discard = true}, bed_whole, &sent) == NULL);
    CHECK(sent > 600000);
    CHECK(bed_is_stored(&bed));
    bed_remove(&bed);
}

static void a_target_is_stored_by_one_at_a_time(void)
{
    bed_sender sender;
    tree_bed bed;
    tree_store *one;
    tree_store *other;
    uint64_t length;
    uint64_t end;
    uint8_t *part;
    bed_make(&bed);
    bed_make_source(&bed);
    bed_send(&sender, bed.from, bed_top, 1);
    part = bed_part(&sender, NULL, true, 0, &length, &end);
    one = bed_store(bed.to, "top", (tree_store_how){0});
    other = bed_store(bed.to, "top", (tree_store_how){0});
    tree_store_begin(one);
    tree_store_begin(other);
    CHECK_EQUAL(tree_store_write(one, 0, part, 100000, &failure), 0);
    CHECK(tree_store_write(other, 0, part, 100000, &failure) != 0);
    CHECK(strstr(failure.text, "another transfer stores the same") != NULL);
    tree_store_close(one);
    tree_store_close(other);
    free(part);
    bed_send_end(&sender);
    bed_remove(&bed);
}

/* ---- failures of the host ------------------------------------------------------------------------------------- */

#define RECORD_BYTES 64

/* The path of the partial directory's file with the longest name that begins with `prefix`. */
static void find_partial(const tree_bed *bed, const char *prefix, off_t least, char path[256])
{
    char directory[128] = "";
    DIR *names = opendir(bed->to);
    const struct dirent *next;
    struct stat status;
    bool found = false;
    CHECK(names != NULL);
    while ((next = readdir(names)) != NULL)
        if (strncmp(next->d_name, ".netblt-partial-", 16) == 0)
            snprintf(directory, sizeof directory, "%s/%.40s", bed->to, next->d_name);
    closedir(names);
    names = opendir(directory);
    CHECK(names != NULL);
    while (!found && (next = readdir(names)) != NULL) {
        snprintf(path, 256, "%s/%.64s", directory, next->d_name);
        found = strncmp(next->d_name, prefix, strlen(prefix)) == 0 && stat(path, &status) == 0 &&
                S_ISREG(status.st_mode) && status.st_size >= least;
    }
    closedir(names);
    CHECK(found);
}

/* The host was started again: the journal names another boot. */
static void change_boot(const tree_bed *bed)
{
    uint8_t record[RECORD_BYTES];
    uint8_t hash[PIECE_HASH_BYTES];
    char path[256];
    int fd;
    find_partial(bed, "journal", 0, path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && pread(fd, record, sizeof record, 0) == sizeof record);
    record[8] ^= 1;
    blake3_of(record + 4, sizeof record - 4, hash);
    memcpy(record, hash, 4);
    CHECK(pwrite(fd, record, sizeof record, 0) == sizeof record);
    close(fd);
}

/* A page of the incomplete large file did not reach the disk. */
static void damage_large(const tree_bed *bed)
{
    static const char zeros[4096];
    char path[256];
    int fd;
    find_partial(bed, "", 10 * 65536, path);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, zeros, sizeof zeros, 2 * 65536 + 4096) == sizeof zeros);
    close(fd);
}

/* What was not synced is read again, and only what is not as recorded is retransmitted. */
static void after_a_failure_of_power_only_what_is_on_disk_counts(void)
{
    tree_bed bed;
    uint64_t sent;
    bed_make(&bed);
    bed_make_source(&bed);
    begin_transfer_and_be_killed(&bed, 600000);
    change_boot(&bed);
    damage_large(&bed);
    CHECK(bed_transfer_top(&bed, (tree_store_how){0}, bed_whole, &sent) == NULL);
    CHECK(bed_is_stored(&bed));
    CHECK(sent < 793000 - 600000 + 2 * 65536 + 3000);
    CHECK(sent > 793000 - 600000 + 65536);
    bed_remove(&bed);
}

/* Damage that nothing but reading could find shows what is read. */
static void what_was_synced_is_not_read_again(void)
{
    tree_bed bed;
    bed_make(&bed);
    bed_make_source(&bed);
    begin_transfer(&bed, 600000);
    change_boot(&bed);
    damage_large(&bed);
    CHECK(bed_transfer_top(&bed, (tree_store_how){0}, bed_whole, NULL) == NULL);
    CHECK(!bed_is_stored(&bed));
    bed_remove(&bed);
}

static void after_a_kill_nothing_is_read_again(void)
{
    tree_bed bed;
    bed_make(&bed);
    bed_make_source(&bed);
    begin_transfer_and_be_killed(&bed, 600000);
    damage_large(&bed);
    CHECK(bed_transfer_top(&bed, (tree_store_how){0}, bed_whole, NULL) == NULL);
    CHECK(!bed_is_stored(&bed));
    bed_remove(&bed);
}

/* Kind, level, index and hash of each record: a wrong index would claim a piece that never came. */
static void a_damaged_journal_counts_up_to_the_damage(void)
{
    static const off_t places[] = {4, 5, 24, 40};
    for (unsigned i = 0; i < 4 * 15; i++) {
        off_t at = (off_t)(i / 4) * RECORD_BYTES + places[i % 4];
        char path[256];
        uint8_t byte;
        tree_bed bed;
        int fd;
        bed_make(&bed);
        bed_make_source(&bed);
        begin_transfer(&bed, 600000);
        find_partial(&bed, "journal", 0, path);
        fd = open(path, O_RDWR | O_CLOEXEC);
        CHECK(fd >= 0 && pread(fd, &byte, 1, at) == 1);
        byte ^= 4;
        CHECK(pwrite(fd, &byte, 1, at) == 1);
        if (i % 7 == 0)
            CHECK(ftruncate(fd, at + 1) == 0);
        close(fd);
        bed_expect_stored(&bed, (tree_store_how){0}, bed_whole);
        bed_remove(&bed);
    }
}

static void nap(long milliseconds)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* A second after something came it is synced, and then complete files get their names. */
static void complete_files_get_their_names_while_others_come(void)
{
    bed_sender sender;
    tree_bed bed;
    tree_store *store;
    uint64_t length;
    uint64_t end;
    uint8_t *part;
    bed_make(&bed);
    bed_make_source(&bed);
    bed_send(&sender, bed.from, bed_top, 1);
    part = bed_part(&sender, NULL, true, 0, &length, &end);
    store = bed_store(bed.to, "top", (tree_store_how){0});
    tree_store_begin(store);
    CHECK_EQUAL(tree_store_write(store, 0, part, 300000, &failure), 0);
    CHECK(!bed_exists(bed.to, "top/closed/file"));
    nap(1001);
    CHECK_EQUAL(tree_store_write(store, 300000, part + 300000, 1000, &failure), 0);
    for (uint64_t offset = 301000; !bed_exists(bed.to, "top/closed/file"); offset += 1000) {
        CHECK(offset < 500000);
        nap(5);
        CHECK_EQUAL(tree_store_write(store, offset, part + offset, 1000, &failure), 0);
    }
    CHECK(!bed_exists(bed.to, "top/sub/large"));
    tree_store_stop(store);
    tree_store_close(store);
    free(part);
    bed_send_end(&sender);
    bed_expect_stored(&bed, (tree_store_how){0}, bed_whole);
    bed_remove(&bed);
}

/* ---- partial directories that are no longer needed -------------------------------------------------------------- */

static void make_old(const tree_bed *bed, const char *name, bool has_new_journal)
{
    char journal[64];
    snprintf(journal, sizeof journal, "%s/journal", name);
    bed_directory(bed->to, name);
    bed_file(bed->to, journal, 64, 1);
    if (has_new_journal)
        bed_time(bed->to, journal, time(NULL));
    bed_time(bed->to, name, time(NULL) - 15 * 86400);
}

static void abandoned_partial_directories_are_removed_after_two_weeks(void)
{
    tree_bed bed;
    bed_make(&bed);
    bed_make_source(&bed);
    make_old(&bed, ".netblt-partial-0000000000000001", false);
    make_old(&bed, ".netblt-partial-0000000000000002", true);
    CHECK(bed_transfer_top(&bed, (tree_store_how){0}, bed_whole, NULL) == NULL);
    CHECK(!bed_exists(bed.to, ".netblt-partial-0000000000000001"));
    CHECK(bed_exists(bed.to, ".netblt-partial-0000000000000002/journal"));
    bed_remove(&bed);
}

/* ---- users ----------------------------------------------------------------------------------------------------- */

#define NOBODY 65534

/* As root every directory can be written. */
static void with_the_rights_of_a_user(void (*test)(void))
{
    pid_t child;
    fflush(stdout);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (geteuid() == 0)
            CHECK(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
                  setresuid(NOBODY, NOBODY, NOBODY) == 0);
        test();
        _exit(0);
    }
    expect_child(child);
}

static void change_in_a_directory_without_rights(void)
{
    static const mode_t modes[] = {0500, 0400, 0000, 0100};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        char from[128];
        char to[128];
        char file[160];
        struct stat status;
        tree_bed bed;
        bed_make(&bed);
        bed_make_source(&bed);
        bed_expect_stored(&bed, (tree_store_how){0}, bed_whole);
        snprintf(from, sizeof from, "%s/top/closed", bed.from);
        snprintf(to, sizeof to, "%s/top/closed", bed.to);
        snprintf(file, sizeof file, "%s/file", from);
        CHECK(chmod(from, 0700) == 0 && chmod(file, 0600) == 0 && chmod(to, modes[i]) == 0);
        bed_file(bed.from, "top/closed/file", 2000, 8);
        CHECK(chmod(file, 0400) == 0 && chmod(from, 0500) == 0);
        bed_time(bed.from, "top/closed", 1600000000);
        CHECK(bed_transfer_top(&bed, (tree_store_how){.replace = true}, bed_whole, NULL) == NULL);
        CHECK(stat(to, &status) == 0 && (status.st_mode & 07777) == 0500);
        CHECK(bed_is_stored(&bed));
        bed_remove(&bed);
    }
}

static void directories_without_rights_are_opened_and_closed_again(void)
{
    with_the_rights_of_a_user(change_in_a_directory_without_rights);
}

/* Only root can make one. */
static void partial_directories_of_other_users_are_not_used(void)
{
    char path[256];
    tree_bed bed;
    if (geteuid() != 0)
        return;
    bed_make(&bed);
    bed_make_source(&bed);
    begin_transfer(&bed, 600000);
    find_partial(&bed, "journal", 0, path);
    *strrchr(path, '/') = '\0';
    CHECK(chown(path, 1, 1) == 0);
    CHECK(strstr(bed_transfer_top(&bed, (tree_store_how){0}, bed_whole, NULL), "is not ours") != NULL);
    bed_remove(&bed);
}

static void special_bits_come_or_are_dropped(void)
{
    static const char *const file[] = {"file"};
    for (unsigned drops = 0; drops < 2; drops++) {
        char full[128];
        struct stat status;
        bed_sender sender;
        tree_bed bed;
        tree_store *store;
        bed_make(&bed);
        bed_file(bed.from, "file", 100, 1);
        snprintf(full, sizeof full, "%s/file", bed.from);
        CHECK(chmod(full, 06755) == 0);
        store = bed_store(bed.to, "file", (tree_store_how){.drop_special_bits = drops == 1});
        bed_send(&sender, bed.from, file, 1);
        CHECK_EQUAL(bed_transfer(&sender, store, bed_whole, NULL, &failure), 0);
        tree_store_close(store);
        bed_send_end(&sender);
        snprintf(full, sizeof full, "%s/file", bed.to);
        CHECK(stat(full, &status) == 0);
        CHECK_EQUAL(status.st_mode & 07777, drops == 1 ? 0755 : 06755);
        bed_remove(&bed);
    }
}

/* ---- what a receiver may forbid --------------------------------------------------------------------------------- */

static const char *forbid(void *context, const manifest_entry *entry)
{
    const char *wanted = context;
    return strstr(entry->path, wanted) != NULL ? "not this one" : NULL;
}

static const char *refuse_to_keep(void *context, uint64_t bytes)
{
    (void)context;
    return bytes > 100 ? "too much" : NULL;
}

static void a_receiver_may_refuse_entries_and_long_lists(void)
{
    tree_bed bed;
    bed_make(&bed);
    bed_make_source(&bed);
    CHECK(strstr(bed_transfer_top(&bed, (tree_store_how){.check = forbid, .context = "large"}, bed_whole, NULL),
                 "top/sub/large: not this one") != NULL);
    CHECK(strstr(bed_transfer_top(&bed, (tree_store_how){.claim = refuse_to_keep}, bed_whole, NULL), "too much") !=
          NULL);
    CHECK_EQUAL(bed_count(bed.to, ""), 0);
    bed_remove(&bed);
}

/* A manifest of a peer that wants its names in our own directory. */
static void names_of_files_under_way_are_refused(void)
{
    manifest_entry entry = {.kind = ENTRY_DIRECTORY, .mode = 0755, .path = ".netblt-partial-0"};
    uint8_t part[TREE_HEADER_BYTES + 100];
    tree_header header = {.data = TREE_CONTENT, .sum = TREE_SUM_BLAKE3, .has_manifest = true};
    manifest *all = manifest_new();
    tree_bed bed;
    tree_store *store;
    bed_make(&bed);
    CHECK_EQUAL(manifest_add(all, &entry), 0);
    CHECK_EQUAL(manifest_seal(all, &failure), 0);
    header.list_bytes = all->encoded_bytes;
    memcpy(header.manifest_id, all->id, sizeof header.manifest_id);
    tree_header_encode(&header, part);
    memcpy(part + TREE_HEADER_BYTES, all->encoded, (size_t)all->encoded_bytes);
    store = bed_store(bed.to, NULL, (tree_store_how){0});
    CHECK(bed_deliver(store, part, TREE_HEADER_BYTES + all->encoded_bytes, bed_whole, &failure) != 0);
    CHECK(strstr(failure.text, "reserved") != NULL);
    tree_store_close(store);
    CHECK_EQUAL(bed_count(bed.to, ""), 0);
    manifest_free(all);
    bed_remove(&bed);
}

int main(void)
{
    RUN(abandoned_partial_directories_are_removed_after_two_weeks); /* by a process's first transfer */
    RUN(what_came_before_the_link_was_lost_is_not_sent_again);
    RUN(pieces_of_unchanged_files_stay_valid_when_others_change);
    RUN(pieces_of_a_file_that_changed_are_not_used);
    RUN(another_process_can_go_on_with_what_was_kept);
    RUN(what_was_left_can_be_discarded);
    RUN(a_target_is_stored_by_one_at_a_time);
    RUN(after_a_failure_of_power_only_what_is_on_disk_counts);
    RUN(what_was_synced_is_not_read_again);
    RUN(after_a_kill_nothing_is_read_again);
    RUN(a_damaged_journal_counts_up_to_the_damage);
    RUN(complete_files_get_their_names_while_others_come);
    RUN(directories_without_rights_are_opened_and_closed_again);
    RUN(partial_directories_of_other_users_are_not_used);
    RUN(special_bits_come_or_are_dropped);
    RUN(a_receiver_may_refuse_entries_and_long_lists);
    RUN(names_of_files_under_way_are_refused);
    return 0;
}
