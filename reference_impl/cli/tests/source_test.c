/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a sender's bytes come from: buffers of files, streams and trees that a thread reads ahead. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "cli/store/source.h"
#include "random.h"

#define FILE_BYTES 1000003
#define PATIENCE_MS 20000

static struct random any = {3};
static uint8_t content[FILE_BYTES + DIGEST_BYTES];
static char place[] = "/tmp/source-XXXXXX";

static void enter(void)
{
    int fd;
    memset(place + strlen(place) - 6, 'X', 6);
    CHECK(mkdtemp(place) != NULL && chdir(place) == 0);
    for (size_t i = 0; i < FILE_BYTES; i++)
        content[i] = (uint8_t)random_next(&any);
    fd = open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, content, FILE_BYTES) == FILE_BYTES);
    close(fd);
}

static void leave(void)
{
    CHECK(unlink("file") == 0 && chdir("/") == 0 && rmdir(place) == 0);
}

static source *open_source(const char *path)
{
    netblt_failure failure = {0};
    source *from = source_open(path, false, &failure);
    if (from == NULL)
        fprintf(stderr, "%s\n", failure.text);
    CHECK(from != NULL);
    return from;
}

/* As the event loop does: waits until the descriptor is readable. False with a failure of the source. */
static bool take(source *from, uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    while (source_supply(from, capacity, data, length, last) == NETBLT_SEND_BUFFER_WAIT) {
        struct pollfd ready = {.fd = source_fd(from), .events = POLLIN};
        if (source_failure(from) != NULL)
            return false;
        CHECK_EQUAL(poll(&ready, 1, PATIENCE_MS), 1);
    }
    return true;
}

/* Takes everything and holds a few buffers, as the core does, before it gives them back. */
static void check_all(source *from, uint32_t capacity, const uint8_t *wanted, uint64_t bytes)
{
    const uint8_t *held[5] = {NULL};
    uint64_t at = 0;
    bool last = false;
    for (size_t i = 0; !last; i++) {
        const uint8_t **slot = &held[i % 5];
        uint32_t length = 0;
        source_release(from, *slot);
        CHECK(take(from, capacity, slot, &length, &last));
        CHECK(at + length <= bytes && memcmp(*slot, wanted + at, length) == 0);
        CHECK(last || length == capacity);
        at += length;
    }
    CHECK_EQUAL(at, bytes);
}

static void a_file_comes_in_full_buffers_and_its_digest_after_it(void)
{
    static const uint32_t capacities[] = {97, 1000, 65536, FILE_BYTES - 1, FILE_BYTES, FILE_BYTES + 31, 2 * FILE_BYTES};
    netblt_failure failure;
    digest *sum;
    enter();
    sum = digest_new(&failure);
    CHECK(sum != NULL);
    digest_add(sum, content, FILE_BYTES);
    digest_finish(sum, content + FILE_BYTES);
    for (size_t i = 0; i < 2 * sizeof capacities / sizeof *capacities; i++) {
        source *from = open_source("file");
        char text[DIGEST_TEXT_BYTES];
        char expected[DIGEST_TEXT_BYTES];
        CHECK_EQUAL(source_size(from), FILE_BYTES);
        source_end_in_digest(from, i % 2 == 1);
        check_all(from, capacities[i / 2], content, FILE_BYTES + (i % 2) * DIGEST_BYTES);
        source_digest(from, text);
        digest_finish_text(sum, expected);
        CHECK(strcmp(text, expected) == 0);
        source_close(from);
    }
    digest_free(sum);
    leave();
}

static unsigned count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned count = 0;
    CHECK(tasks != NULL);
    for (const struct dirent *next; (next = readdir(tasks)) != NULL;)
        count += next->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* A host that forges packets can have no more of netblt listen. */
static void the_first_buffer_of_a_file_takes_no_thread_and_no_descriptor(void)
{
    const uint8_t *data;
    uint32_t length;
    bool last;
    unsigned before = count_threads();
    source *from;
    enter();
    from = open_source("file");
    CHECK_EQUAL(source_supply(from, 1000, &data, &length, &last), NETBLT_SEND_BUFFER_READY);
    CHECK(length == 1000 && !last && memcmp(data, content, length) == 0);
    CHECK_EQUAL(source_fd(from), -1);
    CHECK_EQUAL(count_threads(), before);
    CHECK(take(from, 1000, &data, &length, &last));
    CHECK(memcmp(data, content + 1000, length) == 0);
    CHECK(source_fd(from) >= 0);
    source_close(from);
    from = open_source("file");
    CHECK_EQUAL(source_supply(from, FILE_BYTES, &data, &length, &last), NETBLT_SEND_BUFFER_READY);
    CHECK(last);
    CHECK_EQUAL(source_fd(from), -1);
    source_close(from);
    leave();
}

static void a_part_and_a_copy_of_a_file_are_read_from_their_beginnings(void)
{
    netblt_failure failure;
    int fd;
    source *from;
    source *copy;
    enter();
    fd = open("file", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && lseek(fd, 100, SEEK_SET) == 100);
    from = source_adopt(fd, "file", false, &failure);
    CHECK(from != NULL);
    CHECK_EQUAL(source_size(from), FILE_BYTES - 100);
    CHECK(!source_cut(from, FILE_BYTES));
    CHECK(source_cut(from, 5000));
    check_all(from, 1024, content + 100, 5000);
    copy = source_copy(from, &failure);
    CHECK(copy != NULL);
    check_all(copy, 1024, content + 100, FILE_BYTES - 100);
    source_close(from);
    source_close(copy);
    leave();
}

static void a_file_that_becomes_shorter_fails_after_what_was_read(void)
{
    const uint8_t *data;
    uint32_t length;
    bool last;
    source *from;
    enter();
    from = open_source("file");
    CHECK(take(from, 1000, &data, &length, &last));
    CHECK(truncate("file", 500000) == 0);
    while (take(from, 1000, &data, &length, &last))
        source_release(from, data);
    CHECK(strstr(source_failure(from)->text, "became shorter") != NULL);
    CHECK_EQUAL(source_supply(from, 1000, &data, &length, &last), NETBLT_SEND_BUFFER_WAIT);
    source_close(from);
    leave();
}

/* ---- streams
 * ---------------------------------------------------------------------------------------------------------- */

static source *open_pipe(int *feed)
{
    netblt_failure failure = {0};
    int ends[2];
    source *from;
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    *feed = ends[1];
    from = source_adopt(ends[0], "stream", false, &failure);
    CHECK(from != NULL);
    CHECK_EQUAL(source_size(from), 0);
    return from;
}

static void a_stream_is_waited_for_and_its_last_full_buffer_is_known(void)
{
    const uint8_t *data;
    uint32_t length;
    bool last;
    int feed;
    source *from = open_pipe(&feed);
    struct pollfd ready = {.fd = source_fd(from), .events = POLLIN};
    CHECK_EQUAL(source_supply(from, 4, &data, &length, &last), NETBLT_SEND_BUFFER_WAIT);
    CHECK(write(feed, "abcd", 4) == 4);
    CHECK_EQUAL(poll(&ready, 1, 50), 0); /* it may be the last: one byte more or the end will show */
    CHECK(write(feed, "e", 1) == 1);
    CHECK(take(from, 4, &data, &length, &last));
    CHECK(length == 4 && !last && memcmp(data, "abcd", 4) == 0);
    CHECK_EQUAL(source_supply(from, 4, &data, &length, &last), NETBLT_SEND_BUFFER_WAIT);
    CHECK_EQUAL(poll(&ready, 1, 50), 0);
    CHECK(write(feed, "fgh", 3) == 3);
    close(feed);
    CHECK(take(from, 4, &data, &length, &last));
    CHECK(length == 4 && last && memcmp(data, "efgh", 4) == 0);
    source_close(from);
}

static void an_empty_stream_is_one_empty_buffer_or_its_digest(void)
{
    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *data;
        uint32_t length;
        bool last;
        int feed;
        source *from = open_pipe(&feed);
        source_end_in_digest(from, i == 1);
        close(feed);
        CHECK(take(from, 4096, &data, &length, &last));
        CHECK(last && length == i * DIGEST_BYTES);
        source_close(from);
    }
}

static void a_digest_that_fills_several_buffers_comes_whole(void)
{
    netblt_failure failure;
    uint8_t wanted[3 + DIGEST_BYTES] = "abc";
    digest *sum = digest_new(&failure);
    int feed;
    source *from = open_pipe(&feed);
    CHECK(sum != NULL);
    digest_add(sum, wanted, 3);
    digest_finish(sum, wanted + 3);
    source_end_in_digest(from, true);
    CHECK(write(feed, "abc", 3) == 3);
    close(feed);
    check_all(from, 7, wanted, sizeof wanted); /* five full ones, of which the last is to be known */
    source_close(from);
    digest_free(sum);
}

static void a_source_that_waits_for_its_stream_or_for_the_network_can_be_closed(void)
{
    const uint8_t *data;
    uint32_t length;
    bool last;
    int feed;
    struct pollfd ready = {.events = POLLIN};
    source *from = open_pipe(&feed);
    CHECK_EQUAL(source_supply(from, 4, &data, &length, &last), NETBLT_SEND_BUFFER_WAIT);
    ready.fd = source_fd(from);
    CHECK_EQUAL(poll(&ready, 1, 50), 0); /* so that its thread waits as well */
    source_close(from);
    close(feed);
    enter();
    from = open_source("file");
    CHECK(take(from, 100, &data, &length, &last));
    source_close(from); /* with a buffer that was not given back */
    source_close(open_source("file"));
    leave();
}

/* ---- trees
 * ------------------------------------------------------------------------------------------------------------ */

static uint64_t read_tree(source *from)
{
    uint64_t at = 0;
    bool last = false;
    while (!last) {
        const uint8_t *data;
        uint32_t length;
        CHECK(take(from, 4096, &data, &length, &last));
        if (at == 0)
            CHECK(memcmp(data, "NBTT", 4) == 0);
        at += length;
        source_release(from, data);
    }
    return at;
}

static void a_tree_comes_as_its_reader_reads_it(void)
{
    static const char *const path = "file";
    netblt_failure failure = {0};
    uint8_t wanted[PIECE_HASH_BYTES];
    uint8_t sum[PIECE_HASH_BYTES];
    tree_files *files;
    manifest *all;
    source *from;
    enter();
    files = tree_files_open(&path, 1, &failure);
    CHECK(files != NULL);
    all = tree_files_walk(files, NULL, &failure);
    CHECK(all != NULL);
    from = source_open_tree(
        &(tree_reader_args){
            .files = files, .all = all, .sum = TREE_SUM_BLAKE3, .with_manifest = true, .most_bytes = UINT64_MAX},
        "file", &failure);
    CHECK(from != NULL);
    source_end_in_digest(from, true); /* what two ends agreed on for files does not count */
    CHECK_EQUAL(read_tree(from), source_size(from));
    CHECK_EQUAL(source_tree_end_offset(from), FILE_BYTES + (manifest_pieces(FILE_BYTES) + 1) * PIECE_HASH_BYTES);
    CHECK_EQUAL(source_tree_entry(from), 0);
    blake3_of(content, FILE_BYTES, wanted);
    CHECK(source_tree_sum(from, 0, sum) && memcmp(sum, wanted, sizeof sum) == 0);
    source_close(from);
    from =
        source_open_tree(&(tree_reader_args){.files = files, .all = all, .sum = TREE_SUM_BLAKE3, .offset = UINT64_MAX},
                         "file", &failure);
    CHECK(from == NULL);
    manifest_free(all);
    tree_files_close(files);
    leave();
}

static void what_is_read_ahead_is_a_mebibyte_or_two_buffers(void)
{
    CHECK_EQUAL(source_ahead_bytes(64 << 10), 1 << 20);
    CHECK_EQUAL(source_ahead_bytes(4 << 20), 8 << 20);
    CHECK_EQUAL(source_ahead_bytes(1000), 32000);
}

int main(void)
{
    RUN(a_file_comes_in_full_buffers_and_its_digest_after_it);
    RUN(the_first_buffer_of_a_file_takes_no_thread_and_no_descriptor);
    RUN(a_part_and_a_copy_of_a_file_are_read_from_their_beginnings);
    RUN(a_file_that_becomes_shorter_fails_after_what_was_read);
    RUN(a_stream_is_waited_for_and_its_last_full_buffer_is_known);
    RUN(an_empty_stream_is_one_empty_buffer_or_its_digest);
    RUN(a_digest_that_fills_several_buffers_comes_whole);
    RUN(a_source_that_waits_for_its_stream_or_for_the_network_can_be_closed);
    RUN(what_is_read_ahead_is_a_mebibyte_or_two_buffers);
    RUN(a_tree_comes_as_its_reader_reads_it);
    return 0;
}
