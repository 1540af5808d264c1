/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiver of tree transfers: what is stored, compared, replaced and refused. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "cli/tests/tree_bed.h"

static netblt_failure failure;

/* ---- whole transfers ------------------------------------------------------------------------------------------- */

static void a_tree_is_stored_whatever_the_buffers_and_their_order(void)
{
    static const bed_delivery ways[] = {{1 << 26, 1, 0}, {1000, 1, 0},    {1000, 8, 1},     {65568, 4, 2},
                                        {65568, 64, 3},  {100000, 16, 4}, {300000, 100, 5}, {7, 30, 6}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        tree_bed bed;
        bed_make(&bed);
        bed_make_source(&bed);
        bed_expect_stored(&bed, (tree_store_how){.sync = i % 2 == 0}, ways[i]);
        bed_remove(&bed);
    }
}

static void content_may_come_in_parts_that_end_anywhere(void)
{
    for (uint64_t most = 1200; most < 700000; most = most * 3 + 1) {
        bed_sender sender;
        tree_bed bed;
        tree_store *store;
        bed_make(&bed);
        bed_make_source(&bed);
        store = bed_store(bed.to, "top", (tree_store_how){0});
        bed_send(&sender, bed.from, bed_top, 1);
        sender.most_bytes = most;
        CHECK_EQUAL(bed_transfer(&sender, store, (bed_delivery){5000, 4, 1}, NULL, &failure), 0);
        tree_store_close(store);
        bed_send_end(&sender);
        CHECK(bed_is_stored(&bed));
        bed_remove(&bed);
    }
}

static void one_file_gets_the_name_of_the_target(void)
{
    static const char *const from[] = {"file"};
    static const char *const other[] = {"other"};
    bed_sender sender;
    tree_bed bed;
    tree_store *store;
    uint8_t sum[PIECE_HASH_BYTES];
    bed_make(&bed);
    bed_file(bed.from, "file", 100000, 1);
    store = bed_store(bed.to, "other", (tree_store_how){0});
    bed_send(&sender, bed.from, from, 1);
    CHECK_EQUAL(bed_transfer(&sender, store, bed_whole, NULL, &failure), 0);
    CHECK(tree_store_sum(store, 0, sum));
    CHECK_EQUAL(tree_store_progress(store).files_done, 1);
    CHECK_EQUAL(tree_store_progress(store).bytes_done, 100000);
    tree_store_close(store);
    bed_send_end(&sender);
    CHECK(bed_exists(bed.to, "other") && bed_count(bed.to, "") == 1);
    bed_send(&sender, bed.to, other, 1);
    CHECK_EQUAL(sender.all->entries[0].size, 100000);
    bed_send_end(&sender);
    bed_remove(&bed);
}

static void several_paths_lie_in_the_target_or_beside_each_other(void)
{
    static const char *const from[] = {"a", "b"};
    static const char *const inside[] = {"target/a", "target/b"};
    for (unsigned has_target = 0; has_target < 2; has_target++) {
        bed_sender sender;
        tree_bed bed;
        tree_store *store;
        bed_make(&bed);
        bed_file(bed.from, "a", 70000, 1);
        bed_directory(bed.from, "b");
        bed_file(bed.from, "b/c", 5, 2);
        store = bed_store(bed.to, has_target ? "target" : NULL, (tree_store_how){0});
        bed_send(&sender, bed.from, from, 2);
        CHECK_EQUAL(bed_transfer(&sender, store, bed_whole, NULL, &failure), 0);
        tree_store_close(store);
        bed_send_end(&sender);
        CHECK(bed_is_equal(bed.from, from, bed.to, has_target ? inside : from, 2));
        CHECK_EQUAL(bed_count(bed.to, ""), has_target ? 1 : 2);
        bed_remove(&bed);
    }
}

static void sums_may_be_those_of_sha_256(void)
{
    tree_bed bed;
    bed_sender sender;
    tree_store *store;
    bed_make(&bed);
    bed_make_source(&bed);
    store = bed_store(bed.to, "top", (tree_store_how){0});
    bed_send(&sender, bed.from, bed_top, 1);
    sender.sum = TREE_SUM_SHA256;
    CHECK_EQUAL(bed_transfer(&sender, store, (bed_delivery){9000, 5, 1}, NULL, &failure), 0);
    tree_store_close(store);
    bed_send_end(&sender);
    CHECK(bed_is_stored(&bed));
    bed_remove(&bed);
}

static void holes_stay_holes(void)
{
    static const char *const file[] = {"file"};
    char full[128];
    struct stat status;
    bed_sender sender;
    tree_bed bed;
    tree_store *store;
    int fd;
    bed_make(&bed);
    snprintf(full, sizeof full, "%s/file", bed.from);
    fd = open(full, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && pwrite(fd, "x", 1, 40 * 65536) == 1 && ftruncate(fd, 100 * 65536 + 5) == 0);
    close(fd);
    store = bed_store(bed.to, "file", (tree_store_how){0});
    bed_send(&sender, bed.from, file, 1);
    CHECK(sender.all->entries[0].hole_count > 0);
    CHECK_EQUAL(bed_transfer(&sender, store, (bed_delivery){9000, 5, 1}, NULL, &failure), 0);
    CHECK_EQUAL(tree_store_progress(store).bytes_done, 100 * 65536 + 5);
    tree_store_close(store);
    bed_send_end(&sender);
    CHECK(bed_is_equal(bed.from, file, bed.to, file, 1));
    snprintf(full, sizeof full, "%s/file", bed.to);
    CHECK(stat(full, &status) == 0 && status.st_blocks * 512 <= 2 * 65536);
    bed_remove(&bed);
}

/* ---- what is there already ------------------------------------------------------------------------------------- */

static void unchanged_files_are_not_sent_again(void)
{
    tree_bed bed;
    uint64_t sent;
    bed_make(&bed);
    bed_make_source(&bed);
    bed_expect_stored(&bed, (tree_store_how){0}, bed_whole);
    CHECK(bed_transfer_top(&bed, (tree_store_how){0}, bed_whole, &sent) == NULL);
    CHECK_EQUAL(sent, TREE_HEADER_BYTES);
    CHECK(bed_is_stored(&bed));
    bed_remove(&bed);
}

static void only_modes_are_corrected_where_only_modes_differ(void)
{
    char full[128];
    tree_bed bed;
    uint64_t sent;
    bed_make(&bed);
    bed_make_source(&bed);
    bed_expect_stored(&bed, (tree_store_how){0}, bed_whole);
    snprintf(full, sizeof full, "%s/top/one", bed.to);
    CHECK(chmod(full, 0640) == 0);
    snprintf(full, sizeof full, "%s/top/sub", bed.to);
    CHECK(chmod(full, 0700) == 0);
    CHECK(bed_transfer_top(&bed, (tree_store_how){0}, bed_whole, &sent) == NULL);
    CHECK_EQUAL(sent, TREE_HEADER_BYTES);
    CHECK(bed_is_stored(&bed));
    bed_remove(&bed);
}

static void changed_files_are_replaced_if_they_may_be(void)
{
    tree_bed bed;
    bed_make(&bed);
    bed_make_source(&bed);
    bed_expect_stored(&bed, (tree_store_how){0}, bed_whole);
    bed_file(bed.from, "top/closed/file", 2000, 8);
    CHECK(strstr(bed_transfer_top(&bed, (tree_store_how){0}, bed_whole, NULL), "top/closed/file: it exists") != NULL);
    CHECK_EQUAL(bed_count(bed.to, ""), 1);
    bed_expect_stored(&bed, (tree_store_how){.replace = true}, bed_whole);
    bed_remove(&bed);
}

static void files_are_compared_by_content_if_that_is_wanted(void)
{
    tree_bed bed;
    uint64_t sent;
    bed_make(&bed);
    bed_make_source(&bed);
    bed_expect_stored(&bed, (tree_store_how){0}, bed_whole);
    CHECK(bed_transfer_top(&bed, (tree_store_how){.checksum = true}, bed_whole, &sent) == NULL);
    CHECK(sent < 1000); /* the sums only */
    bed_time(bed.to, "top/one", 5);
    CHECK(bed_transfer_top(&bed, (tree_store_how){.checksum = true}, bed_whole, &sent) == NULL);
    CHECK(sent < 1000);
    CHECK(bed_is_stored(&bed));
    bed_file(bed.to, "top/more", 65537, 9); /* the same size and time */
    CHECK(bed_transfer_top(&bed, (tree_store_how){.replace = true}, bed_whole, NULL) == NULL);
    CHECK(!bed_is_stored(&bed));
    CHECK(strstr(bed_transfer_top(&bed, (tree_store_how){.checksum = true}, bed_whole, NULL), "top/more: it exists") !=
          NULL);
    CHECK(bed_transfer_top(&bed, (tree_store_how){.checksum = true, .replace = true}, bed_whole, &sent) == NULL);
    CHECK(sent < 65537 + 2000);
    CHECK(bed_is_stored(&bed));
    bed_remove(&bed);
}

static void what_stands_in_the_way_is_named(void)
{
    static const char *const names[] = {"top/sub", "top/one", "top/sub/link"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tree_bed bed;
        bed_make(&bed);
        bed_make_source(&bed);
        bed_directory(bed.to, "top");
        if (i > 0)
            bed_directory(bed.to, "top/sub");
        if (i == 0)
            bed_file(bed.to, "top/sub", 5, 1);
        else if (i == 1)
            bed_directory(bed.to, "top/one");
        else
            bed_directory(bed.to, "top/sub/link");
        CHECK(strstr(bed_transfer_top(&bed, (tree_store_how){.replace = true}, bed_whole, NULL), names[i]) != NULL);
        CHECK_EQUAL(bed_count(bed.to, ".netblt"), 0);
        bed_remove(&bed);
    }
}

static void links_on_the_way_are_not_followed(void)
{
    tree_bed bed;
    bed_make(&bed);
    bed_make_source(&bed);
    bed_directory(bed.to, "top");
    bed_directory(bed.base, "outside");
    bed_link(bed.to, "top/sub", "../../outside");
    CHECK(strstr(bed_transfer_top(&bed, (tree_store_how){.replace = true}, bed_whole, NULL), "top/sub") != NULL);
    CHECK(!bed_exists(bed.base, "outside/large"));
    bed_remove(&bed);
}

/* Also where it leads to another directory beneath the same one, and is no entry itself. */
static void a_target_that_is_a_link_is_not_followed(void)
{
    static const char *const from[] = {"a", "b"};
    bed_sender sender;
    tree_bed bed;
    tree_store *store;
    bed_make(&bed);
    bed_file(bed.from, "a", 70000, 1);
    bed_file(bed.from, "b", 5, 2);
    bed_directory(bed.to, "other");
    bed_link(bed.to, "target", "other");
    store = bed_store(bed.to, "target", (tree_store_how){.replace = true});
    bed_send(&sender, bed.from, from, 2);
    CHECK(bed_transfer(&sender, store, bed_whole, NULL, &failure) != 0);
    CHECK(strstr(failure.text, "cannot store target/a: a link is on the way") != NULL);
    tree_store_close(store);
    bed_send_end(&sender);
    CHECK_EQUAL(bed_count(bed.to, ""), 2);
    bed_remove(&bed);
}

/* ---- damage ---------------------------------------------------------------------------------------------------- */

static void damaged_data_are_not_stored_and_come_again(void)
{
    bed_sender sender;
    tree_bed bed;
    uint64_t length;
    uint64_t end;
    uint8_t *part;
    bed_make(&bed);
    bed_make_source(&bed);
    bed_send(&sender, bed.from, bed_top, 1);
    part = bed_part(&sender, NULL, true, 0, &length, &end);
    for (uint64_t at = 0; at < length; at += at < 800 ? 13 : 40009) {
        char name[32];
        tree_store *store;
        snprintf(name, sizeof name, "top-%u", (unsigned)at);
        store = bed_store(bed.to, name, (tree_store_how){0});
        part[at] ^= 0x10;
        CHECK(bed_deliver(store, part, length, (bed_delivery){100000, 1, 0}, &failure) != 0);
        part[at] ^= 0x10;
        CHECK_EQUAL(bed_transfer(&sender, store, bed_whole, NULL, &failure), 0);
        tree_store_close(store);
        CHECK_EQUAL(bed_count(bed.to, ".netblt"), 0);
    }
    free(part);
    bed_send_end(&sender);
    bed_remove(&bed);
}

/* Each piece is right, and the sum is not: what is recorded of the file counts no more. */
static void a_file_with_a_wrong_sum_gets_no_name_and_comes_again_in_whole(void)
{
    static const char *const file[] = {"file"};
    bed_sender sender;
    tree_bed bed;
    tree_store *store;
    uint64_t length;
    uint64_t end;
    uint8_t *part;
    unsigned rounds;
    bed_make(&bed);
    bed_file(bed.from, "file", 3 * 65536, 1);
    bed_send(&sender, bed.from, file, 1);
    part = bed_part(&sender, NULL, true, 0, &length, &end);
    part[length - 1] ^= 1;
    store = bed_store(bed.to, "file", (tree_store_how){0});
    CHECK(bed_deliver(store, part, length, bed_whole, &failure) != 0);
    CHECK(strstr(failure.text, "file: it is damaged") != NULL);
    CHECK(!bed_exists(bed.to, "file"));
    CHECK_EQUAL(bed_transfer(&sender, store, bed_whole, &rounds, &failure), 0);
    CHECK_EQUAL(rounds, 0);
    tree_store_close(store);
    CHECK(bed_is_equal(bed.from, file, bed.to, file, 1) && bed_count(bed.to, "") == 1);
    free(part);
    bed_send_end(&sender);
    bed_remove(&bed);
}

static void data_that_end_too_early_or_go_on_too_long_are_refused(void)
{
    bed_sender sender;
    tree_bed bed;
    tree_store *store;
    uint64_t length;
    uint64_t end;
    uint8_t *part;
    uint8_t *longer;
    bed_make(&bed);
    bed_make_source(&bed);
    bed_send(&sender, bed.from, bed_top, 1);
    part = bed_part(&sender, NULL, true, 0, &length, &end);
    longer = calloc(1, (size_t)length + 1);
    CHECK(longer != NULL);
    memcpy(longer, part, (size_t)length);
    store = bed_store(bed.to, "top", (tree_store_how){0});
    CHECK(bed_deliver(store, longer, length + 1, bed_whole, &failure) != 0);
    CHECK(strstr(failure.text, "longer") != NULL);
    tree_store_begin(store);
    CHECK_EQUAL(tree_store_write(store, 0, part, 1000, &failure), 0);
    CHECK(tree_store_end(store, length, &failure) != 0);
    CHECK(strstr(failure.text, "too early") != NULL);
    CHECK(bed_deliver(store, part, 40, bed_whole, &failure) != 0);
    tree_store_close(store);
    CHECK(strstr(failure.text, "too early") != NULL);
    CHECK(!bed_exists(bed.to, "top/none"));
    free(part);
    free(longer);
    bed_send_end(&sender);
    bed_remove(&bed);
}

/* tree_store_how.claim_pieces: *context bytes are left. */
static const char *claim_of_budget(void *context, uint64_t bytes)
{
    uint64_t *left = context;
    if (bytes > *left)
        return "no more memory";
    *left -= bytes;
    return NULL;
}

/* A peer sends the first byte of each piece and nothing more. */
static void pieces_that_stay_incomplete_take_no_more_memory_than_may_be_claimed(void)
{
    static const char *const file[] = {"file"};
    enum { PIECES = 400, PIECE_UNIT = 65536 + 32 };
    uint64_t left = UINT64_C(8) << 20;
    uint64_t length;
    uint64_t end;
    uint64_t begun = 0;
    bed_sender sender;
    tree_bed bed;
    tree_store *store;
    uint8_t *part;
    bed_make(&bed);
    bed_file(bed.from, "file", (size_t)PIECES * 65536, 1);
    bed_send(&sender, bed.from, file, 1);
    part = bed_part(&sender, NULL, true, 0, &length, &end);
    store = bed_store(bed.to, "file", (tree_store_how){.claim_pieces = claim_of_budget, .context = &left});
    uint64_t start = TREE_HEADER_BYTES + sender.all->encoded_bytes;
    tree_store_begin(store);
    CHECK_EQUAL(tree_store_write(store, 0, part, (size_t)start, &failure), 0);
    while (begun < PIECES &&
           tree_store_write(store, start + begun * PIECE_UNIT, part + start + begun * PIECE_UNIT, 1, &failure) == 0)
        begun++;
    CHECK(strstr(failure.text, "no more memory") != NULL);
    CHECK(left < UINT64_C(4) << 20);
    CHECK(begun * PIECE_UNIT >= UINT64_C(8) << 20 && begun * PIECE_UNIT <= UINT64_C(16) << 20);
    tree_store_close(store);
    free(part);
    bed_send_end(&sender);
    bed_remove(&bed);
}

int main(void)
{
    RUN(a_tree_is_stored_whatever_the_buffers_and_their_order);
    RUN(content_may_come_in_parts_that_end_anywhere);
    RUN(one_file_gets_the_name_of_the_target);
    RUN(several_paths_lie_in_the_target_or_beside_each_other);
    RUN(sums_may_be_those_of_sha_256);
    RUN(holes_stay_holes);
    RUN(unchanged_files_are_not_sent_again);
    RUN(only_modes_are_corrected_where_only_modes_differ);
    RUN(changed_files_are_replaced_if_they_may_be);
    RUN(files_are_compared_by_content_if_that_is_wanted);
    RUN(what_stands_in_the_way_is_named);
    RUN(links_on_the_way_are_not_followed);
    RUN(a_target_that_is_a_link_is_not_followed);
    RUN(damaged_data_are_not_stored_and_come_again);
    RUN(a_file_with_a_wrong_sum_gets_no_name_and_comes_again_in_whole);
    RUN(pieces_that_stay_incomplete_take_no_more_memory_than_may_be_claimed);
    RUN(data_that_end_too_early_or_go_on_too_long_are_refused);
    return 0;
}
