/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of what is remembered of paths: the rate that a transfer has shown, the list, its file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cli/path_memory/carried_rate.h"
#include "cli/path_memory/path_file.h"

#define NOW UINT64_C(1800000000)
#define PROCESSES 8
#define NOTES_EACH 5

/* ---- the rate of a transfer ---------------------------------------------------------------------------------------
 */

/* `count` buffers of 1000 bytes, one each `each_us`; the first tenth ten times more slowly. */
static carried_samples transfer_of(unsigned count, netblt_time each_us)
{
    carried_samples all = {.count = 0};
    netblt_time now = 1000;
    for (unsigned i = 0; i < count; i++) {
        now += i < count / 10 ? 10 * each_us : each_us;
        carried_add(&all, 1000, now);
    }
    return all;
}

static void the_rate_is_that_of_the_middle_of_the_data(void)
{
    static const unsigned counts[] = {20, 64, 65, 1000, 4097};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        carried_samples all = transfer_of(counts[i], 10000);
        carried_rate rate = carried_get(&all, 10000);
        CHECK(rate.bytes_per_s > 0.999 * 100000 && rate.bytes_per_s < 1.001 * 100000);
        CHECK(!rate.is_least);
    }
}

static void a_transfer_of_few_round_trips_shows_the_least_that_the_path_carries(void)
{
    carried_samples all = transfer_of(100, 10000); /* the middle half takes 0.5 s */
    CHECK(!carried_get(&all, 120000).is_least);
    CHECK(carried_get(&all, 130000).is_least);
}

static void few_buffers_and_short_times_show_no_rate(void)
{
    carried_samples few = transfer_of(7, 100000);
    carried_samples brief = transfer_of(30, 100);
    CHECK(carried_get(&few, 1000).bytes_per_s <= 0);
    CHECK(carried_get(&brief, 1000).bytes_per_s <= 0);
}

/* ---- the list -----------------------------------------------------------------------------------------------------
 */

static path_entry entry_of(unsigned number, double bits_per_second, uint64_t at)
{
    path_entry entry = {.path = {.bits_per_second = bits_per_second, .round_trip_s = 0.1},
                        .measured_at = at,
                        .used_at = at,
                        .key = {.local = "10.0.0.1", .role = NETBLT_SENDER}};
    snprintf(entry.key.peer, sizeof entry.key.peer, "10.9.%u.%u", number / 256, number % 256);
    return entry;
}

static void ports_are_no_part_of_a_path(void)
{
    netblt_address peer = netblt_address_of_ipv4((struct in_addr){htonl(0x0a000002)});
    netblt_address with_port = netblt_address_with_port(&peer, 9980);
    path_key one = path_key_of(&peer, &with_port, NETBLT_SENDER);
    path_key other = path_key_of(&with_port, &peer, NETBLT_SENDER);
    CHECK_EQUAL(strcmp(one.peer, "10.0.0.2"), 0);
    CHECK_EQUAL(strcmp(one.peer, other.peer), 0);
    CHECK_EQUAL(strcmp(one.local, other.local), 0);
}

static void an_address_and_a_direction_are_a_path_of_their_own(void)
{
    path_list all = {.count = 0};
    path_entry one = entry_of(1, 1e6, NOW);
    path_list_note(&all, &one);
    path_key other = one.key;
    CHECK(path_list_find(&all, &other, NOW) != NULL);
    other.role = NETBLT_RECEIVER;
    CHECK(path_list_find(&all, &other, NOW) == NULL);
    other = one.key;
    snprintf(other.local, sizeof other.local, "10.0.0.9");
    CHECK(path_list_find(&all, &other, NOW) == NULL);
}

static void a_short_transfer_only_raises_what_is_known(void)
{
    path_list all = {.count = 0};
    path_entry first = entry_of(1, 50e6, NOW), brief = entry_of(1, 10e6, NOW + 1), whole = entry_of(1, 20e6, NOW + 2);
    brief.path.is_least = true;
    path_list_note(&all, &first);
    path_list_note(&all, &brief);
    CHECK_EQUAL((uint64_t)path_list_find(&all, &first.key, NOW + 3)->path.bits_per_second, 50000000);
    path_list_note(&all, &whole);
    CHECK_EQUAL((uint64_t)path_list_find(&all, &first.key, NOW + 3)->path.bits_per_second, 20000000);
    brief.path.bits_per_second = 30e6;
    path_list_note(&all, &brief);
    CHECK_EQUAL((uint64_t)path_list_find(&all, &first.key, NOW + 3)->path.bits_per_second, 30000000);
    CHECK_EQUAL(all.count, 1);
}

static void an_old_measurement_and_one_of_the_future_are_not_used(void)
{
    path_list all = {.count = 0};
    path_entry one = entry_of(1, 1e6, NOW);
    path_list_note(&all, &one);
    CHECK(path_list_find(&all, &one.key, NOW + PATH_LIFE_S - 1) != NULL);
    CHECK(path_list_find(&all, &one.key, NOW + PATH_LIFE_S) == NULL);
    CHECK(path_list_find(&all, &one.key, NOW - 1) == NULL);
}

static void the_path_that_was_not_used_for_longest_gives_way(void)
{
    path_list all = {.count = 0};
    path_entry used = entry_of(0, 1e6, NOW + 1000);
    for (unsigned i = 0; i < PATHS_MAX; i++) {
        path_entry one = entry_of(i, 1e6, NOW + i);
        path_list_note(&all, &one);
    }
    path_list_note(&all, &used); /* number 0 */
    path_entry more = entry_of(1000, 1e6, NOW + 1001), oldest = entry_of(1, 0, 0);
    path_list_note(&all, &more);
    CHECK_EQUAL(all.count, PATHS_MAX);
    CHECK(path_list_find(&all, &used.key, NOW + 1001) != NULL);
    CHECK(path_list_find(&all, &more.key, NOW + 1001) != NULL);
    CHECK(path_list_find(&all, &oldest.key, NOW + 1001) == NULL);
}

static void the_text_holds_all_of_a_full_list(void)
{
    path_list all = {.count = 0}, again;
    for (unsigned i = 0; i < PATHS_MAX; i++) {
        path_entry one = entry_of(i, 1e6 + i, NOW);
        memset(one.key.peer, 'f', sizeof one.key.peer - 1);
        snprintf(one.key.local, sizeof one.key.local, "%u", i);
        one.path.is_least = i % 2 == 1;
        path_list_note(&all, &one);
    }
    char *text = path_list_write(&all, NOW);
    CHECK(strlen(text) < PATH_TEXT_MAX_BYTES);
    CHECK(path_list_read(&again, text, strlen(text)));
    CHECK_EQUAL(again.count, PATHS_MAX);
    for (unsigned i = 0; i < PATHS_MAX; i++) {
        CHECK_EQUAL(strcmp(again.entries[i].key.peer, all.entries[i].key.peer), 0);
        CHECK_EQUAL(strcmp(again.entries[i].key.local, all.entries[i].key.local), 0);
        CHECK(again.entries[i].path.is_least == all.entries[i].path.is_least);
        CHECK_EQUAL(again.entries[i].measured_at, NOW);
    }
    free(text);
}

static void what_is_no_list_is_refused_whole(void)
{
    static const char good[] = "{\"peer\":\"a\",\"local\":\"b\",\"role\":\"sender\",\"bits_per_second\":1e6,"
                               "\"round_trip_s\":0.1,\"is_least\":false,\"measured_at\":1,\"used_at\":1}";
    static const char *const wrong[] = {
        "",
        "{",
        "[]",
        "{\"version\":2,\"paths\":[]}",
        "{\"version\":1,\"paths\":{}}",
        "{\"version\":1,\"paths\":[{}]}",
        "{\"version\":1,\"paths\":[{\"peer\":\"a\",\"local\":\"b\",\"role\":\"nobody\",\"bits_per_second\":1e6,"
        "\"round_trip_s\":0.1,\"is_least\":false,\"measured_at\":1,\"used_at\":1}]}",
        "{\"version\":1,\"paths\":[{\"peer\":\"a\",\"local\":\"b\",\"role\":\"sender\",\"bits_per_second\":1e99,"
        "\"round_trip_s\":0.1,\"is_least\":false,\"measured_at\":1,\"used_at\":1}]}",
        "{\"version\":1,\"paths\":[{\"peer\":\"a\",\"local\":\"b\",\"role\":\"sender\",\"bits_per_second\":1e6,"
        "\"round_trip_s\":-1,\"is_least\":false,\"measured_at\":1,\"used_at\":1}]}",
        "{\"version\":1,\"paths\":[{\"peer\":\"a\",\"local\":\"b\",\"role\":\"sender\",\"bits_per_second\":1e6,"
        "\"round_trip_s\":0.1,\"is_least\":false,\"measured_at\":-1,\"used_at\":1}]}",
    };
    char text[1024];
    path_list all;
    snprintf(text, sizeof text, "{\"version\":1,\"paths\":[%s,%s]}", good, good);
    CHECK(path_list_read(&all, text, strlen(text)));
    CHECK_EQUAL(all.count, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(!path_list_read(&all, wrong[i], strlen(wrong[i])));
        CHECK_EQUAL(all.count, 0);
    }
    snprintf(text, sizeof text, "{\"version\":1,\"paths\":[%s,{}]}", good);
    CHECK(!path_list_read(&all, text, strlen(text)));
    CHECK_EQUAL(all.count, 0);
}

/* ---- the file -----------------------------------------------------------------------------------------------------
 */

static char home[] = "/tmp/netblt-paths-XXXXXX";

static mode_t mode_of(const char *name)
{
    char path[256];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", home, name);
    CHECK_EQUAL(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void put_file(int directory, const char *text)
{
    int fd = openat(directory, PATH_FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK_EQUAL((size_t)write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static int open_directory(void)
{
    const char *reason = NULL;
    int directory = path_file_open_directory(&reason);
    CHECK(directory >= 0);
    CHECK(reason == NULL);
    return directory;
}

static void others_cannot_read_directory_and_file(void)
{
    path_entry one = entry_of(1, 1e6, NOW);
    umask(0);
    int directory = open_directory();
    CHECK(path_file_note(directory, &one));
    CHECK_EQUAL(mode_of(".cache/netblt"), 0700);
    CHECK_EQUAL(mode_of(".cache/netblt/paths.json"), 0600);
    CHECK_EQUAL(faccessat(directory, "paths.json.new", F_OK, 0), -1);
    close(directory);
}

static void a_damaged_file_is_not_used_and_is_replaced(void)
{
    path_list all;
    path_entry one = entry_of(1, 1e6, NOW);
    int directory = open_directory();
    put_file(directory, "{\"version\":1,\"pat");
    CHECK_EQUAL(path_file_read(directory, &all), PATH_FILE_DAMAGED);
    CHECK_EQUAL(all.count, 0);
    CHECK(path_file_note(directory, &one));
    CHECK_EQUAL(path_file_read(directory, &all), PATH_FILE_READ);
    CHECK_EQUAL(all.count, 1);
    close(directory);
}

static void a_link_under_the_name_is_replaced_and_not_followed(void)
{
    path_list all;
    path_entry one = entry_of(1, 1e6, NOW);
    struct stat status;
    int directory = open_directory();
    unlinkat(directory, PATH_FILE_NAME, 0);
    CHECK_EQUAL(symlinkat("/etc/passwd", directory, PATH_FILE_NAME), 0);
    CHECK_EQUAL(symlinkat("elsewhere", directory, "paths.json.new"), 0);
    CHECK_EQUAL(path_file_read(directory, &all), PATH_FILE_DAMAGED);
    CHECK(path_file_note(directory, &one));
    CHECK_EQUAL(fstatat(directory, PATH_FILE_NAME, &status, AT_SYMLINK_NOFOLLOW), 0);
    CHECK(S_ISREG(status.st_mode));
    CHECK_EQUAL(faccessat(directory, "elsewhere", F_OK, 0), -1);
    close(directory);
}

static void note_some(unsigned process)
{
    int directory = open_directory();
    for (unsigned i = 0; i < NOTES_EACH; i++) {
        path_entry one = entry_of(process * NOTES_EACH + i, 1e6, NOW);
        while (!path_file_note(directory, &one))
            CHECK_EQUAL(errno, EWOULDBLOCK);
    }
    _exit(0);
}

static void processes_that_note_at_the_same_time_lose_nothing(void)
{
    path_list all;
    int directory = open_directory();
    unlinkat(directory, PATH_FILE_NAME, 0);
    for (unsigned i = 0; i < PROCESSES; i++)
        if (fork() == 0)
            note_some(i);
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        CHECK(wait(&status) > 0);
        CHECK_EQUAL(status, 0);
    }
    CHECK_EQUAL(path_file_read(directory, &all), PATH_FILE_READ);
    CHECK_EQUAL(all.count, PROCESSES * NOTES_EACH);
    close(directory);
}

static void a_directory_that_stays_locked_is_not_waited_for_long(void)
{
    path_entry one = entry_of(1, 1e6, NOW);
    int directory = open_directory(), other = open_directory();
    CHECK_EQUAL(flock(other, LOCK_EX), 0);
    CHECK(!path_file_note(directory, &one));
    close(other);
    CHECK(path_file_note(directory, &one));
    close(directory);
}

static void without_a_home_there_is_no_directory(void)
{
    const char *reason = NULL;
    unsetenv("HOME");
    CHECK_EQUAL(path_file_open_directory(&reason), -1);
    CHECK(reason != NULL);
    setenv("HOME", "/proc/self/nowhere", 1);
    CHECK_EQUAL(path_file_open_directory(&reason), -1);
    setenv("XDG_CACHE_HOME", "relative", 1);
    CHECK_EQUAL(path_file_open_directory(&reason), -1);
    setenv("XDG_CACHE_HOME", home, 1);
    int directory = path_file_open_directory(&reason);
    CHECK(directory >= 0);
    CHECK_EQUAL(mode_of("netblt"), 0700);
    close(directory);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
}

static void a_directory_that_others_may_change_is_not_used(void)
{
    const char *reason = NULL;
    char path[256];
    snprintf(path, sizeof path, "%s/.cache/netblt", home);
    CHECK_EQUAL(chmod(path, 0777), 0);
    CHECK_EQUAL(path_file_open_directory(&reason), -1);
    CHECK(reason != NULL);
    CHECK_EQUAL(chmod(path, 0700), 0);
}

static void remove_all(void)
{
    static const char *const names[] = {".cache/netblt/paths.json", ".cache/netblt", ".cache", "netblt", ""};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", home, names[i]);
        CHECK_EQUAL(remove(path), 0);
    }
}

int main(void)
{
    CHECK(mkdtemp(home) != NULL);
    setenv("HOME", home, 1);
    unsetenv("XDG_CACHE_HOME");
    RUN(the_rate_is_that_of_the_middle_of_the_data);
    RUN(a_transfer_of_few_round_trips_shows_the_least_that_the_path_carries);
    RUN(few_buffers_and_short_times_show_no_rate);
    RUN(ports_are_no_part_of_a_path);
    RUN(an_address_and_a_direction_are_a_path_of_their_own);
    RUN(a_short_transfer_only_raises_what_is_known);
    RUN(an_old_measurement_and_one_of_the_future_are_not_used);
    RUN(the_path_that_was_not_used_for_longest_gives_way);
    RUN(the_text_holds_all_of_a_full_list);
    RUN(what_is_no_list_is_refused_whole);
    RUN(others_cannot_read_directory_and_file);
    RUN(a_damaged_file_is_not_used_and_is_replaced);
    RUN(a_link_under_the_name_is_replaced_and_not_followed);
    RUN(processes_that_note_at_the_same_time_lose_nothing);
    RUN(a_directory_that_stays_locked_is_not_waited_for_long);
    RUN(without_a_home_there_is_no_directory);
    RUN(a_directory_that_others_may_change_is_not_used);
    remove_all();
    return 0;
}
