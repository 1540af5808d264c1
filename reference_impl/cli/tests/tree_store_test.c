/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiver of tree transfers: what is stored, kept, resumed, compared and refused. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "cli/tests/tree_bed.h"

static netblt_failure failure;
static const char *const top[] = {"top"};
static const bed_delivery whole = {.buffer_bytes = 1 << 26};

/* Files of all sizes that matter, empty and deep directories, links, modes. */
static void make_source(const tree_bed *bed)
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

static bool is_stored(const tree_bed *bed)
{
    return bed_is_equal(bed->from, top, bed->to, top, 1) && bed_count(bed->to, "") == 1;
}

/* Transfers `top` once. The failure's text when it fails, else NULL. */
static const char *transfer_top(const tree_bed *bed, tree_store_how how, bed_delivery delivery, uint64_t *sent)
{
    bed_sender sender;
    tree_store *store = bed_store(bed->to, "top", how);
    int result;
    bed_send(&sender, bed->from, top, 1);
    result = bed_transfer(&sender, store, delivery, NULL, &failure);
    tree_store_close(store);
    if (sent != NULL)
        *sent = sender.sent_bytes;
    bed_send_end(&sender);
    return result == 0 ? NULL : failure.text;
}

static void expect_stored(const tree_bed *bed, tree_store_how how, bed_delivery delivery)
{
    const char *text = transfer_top(bed, how, delivery, NULL);
    if (text != NULL)
        fprintf(stderr, "%s\n", text);
    CHECK(text == NULL);
    CHECK(is_stored(bed));
}

/* ---- whole transfers ------------------------------------------------------------------------------------------- */

static void a_tree_is_stored_whatever_the_buffers_and_their_order(void)
{
    static const bed_delivery ways[] = {{1 << 26, 1, 0}, {1000, 1, 0},    {1000, 8, 1},     {65568, 4, 2},
                                        {65568, 64, 3},  {100000, 16, 4}, {300000, 100, 5}, {7, 30, 6}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        tree_bed bed;
        bed_make(&bed);
        make_source(&bed);
        expect_stored(&bed, (tree_store_how){.sync = i % 2 == 0}, ways[i]);
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
        make_source(&bed);
        store = bed_store(bed.to, "top", (tree_store_how){0});
        bed_send(&sender, bed.from, top, 1);
        sender.most_bytes = most;
        CHECK_EQUAL(bed_transfer(&sender, store, (bed_delivery){5000, 4, 1}, NULL, &failure), 0);
        tree_store_close(store);
        bed_send_end(&sender);
        CHECK(is_stored(&bed));
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
    CHECK_EQUAL(bed_transfer(&sender, store, whole, NULL, &failure), 0);
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
        CHECK_EQUAL(bed_transfer(&sender, store, whole, NULL, &failure), 0);
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
    make_source(&bed);
    store = bed_store(bed.to, "top", (tree_store_how){0});
    bed_send(&sender, bed.from, top, 1);
    sender.sum = TREE_SUM_SHA256;
    CHECK_EQUAL(bed_transfer(&sender, store, (bed_delivery){9000, 5, 1}, NULL, &failure), 0);
    tree_store_close(store);
    bed_send_end(&sender);
    CHECK(is_stored(&bed));
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
    make_source(&bed);
    expect_stored(&bed, (tree_store_how){0}, whole);
    CHECK(transfer_top(&bed, (tree_store_how){0}, whole, &sent) == NULL);
    CHECK_EQUAL(sent, TREE_HEADER_BYTES);
    CHECK(is_stored(&bed));
    bed_remove(&bed);
}

static void only_modes_are_corrected_where_only_modes_differ(void)
{
    char full[128];
    tree_bed bed;
    uint64_t sent;
    bed_make(&bed);
    make_source(&bed);
    expect_stored(&bed, (tree_store_how){0}, whole);
    snprintf(full, sizeof full, "%s/top/one", bed.to);
    CHECK(chmod(full, 0640) == 0);
    snprintf(full, sizeof full, "%s/top/sub", bed.to);
    CHECK(chmod(full, 0700) == 0);
    CHECK(transfer_top(&bed, (tree_store_how){0}, whole, &sent) == NULL);
    CHECK_EQUAL(sent, TREE_HEADER_BYTES);
    CHECK(is_stored(&bed));
    bed_remove(&bed);
}

static void changed_files_are_replaced_if_they_may_be(void)
{
    tree_bed bed;
    bed_make(&bed);
    make_source(&bed);
    expect_stored(&bed, (tree_store_how){0}, whole);
    bed_file(bed.from, "top/closed/file", 2000, 8);
    CHECK(strstr(transfer_top(&bed, (tree_store_how){0}, whole, NULL), "top/closed/file: it exists") != NULL);
    CHECK_EQUAL(bed_count(bed.to, ""), 1);
    expect_stored(&bed, (tree_store_how){.replace = true}, whole);
    bed_remove(&bed);
}

static void files_are_compared_by_content_if_that_is_wanted(void)
{
    tree_bed bed;
    uint64_t sent;
    bed_make(&bed);
    make_source(&bed);
    expect_stored(&bed, (tree_store_how){0}, whole);
    CHECK(transfer_top(&bed, (tree_store_how){.checksum = true}, whole, &sent) == NULL);
    CHECK(sent < 1000); /* the sums only */
    bed_time(bed.to, "top/one", 5);
    CHECK(transfer_top(&bed, (tree_store_how){.checksum = true}, whole, &sent) == NULL);
    CHECK(sent < 1000);
    CHECK(is_stored(&bed));
    bed_file(bed.to, "top/more", 65537, 9); /* the same size and time */
    CHECK(transfer_top(&bed, (tree_store_how){.replace = true}, whole, NULL) == NULL);
    CHECK(!is_stored(&bed));
    CHECK(strstr(transfer_top(&bed, (tree_store_how){.checksum = true}, whole, NULL), "top/more: it exists") != NULL);
    CHECK(transfer_top(&bed, (tree_store_how){.checksum = true, .replace = true}, whole, &sent) == NULL);
    CHECK(sent < 65537 + 2000);
    CHECK(is_stored(&bed));
    bed_remove(&bed);
}

static void what_stands_in_the_way_is_named(void)
{
    static const char *const names[] = {"top/sub", "top/one", "top/sub/link"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tree_bed bed;
        bed_make(&bed);
        make_source(&bed);
        bed_directory(bed.to, "top");
        if (i > 0)
            bed_directory(bed.to, "top/sub");
        if (i == 0)
            bed_file(bed.to, "top/sub", 5, 1);
        else if (i == 1)
            bed_directory(bed.to, "top/one");
        else
            bed_directory(bed.to, "top/sub/link");
        CHECK(strstr(transfer_top(&bed, (tree_store_how){.replace = true}, whole, NULL), names[i]) != NULL);
        CHECK_EQUAL(bed_count(bed.to, ".netblt"), 0);
        bed_remove(&bed);
    }
}

static void links_on_the_way_are_not_followed(void)
{
    tree_bed bed;
    bed_make(&bed);
    make_source(&bed);
    bed_directory(bed.to, "top");
    bed_directory(bed.base, "outside");
    bed_link(bed.to, "top/sub", "../../outside");
    CHECK(strstr(transfer_top(&bed, (tree_store_how){.replace = true}, whole, NULL), "top/sub") != NULL);
    CHECK(bed_exists(bed.base, "outside"));
    CHECK(!bed_exists(bed.base, "outside/large"));
    bed_remove(&bed);
}

/* ---- resume ---------------------------------------------------------------------------------------------------- */

/* The link is lost after `bytes` of the first step. */
static void begin_transfer(const tree_bed *bed, uint64_t bytes)
{
    bed_sender sender;
    tree_store *store = bed_store(bed->to, "top", (tree_store_how){0});
    uint64_t length;
    uint64_t end;
    uint8_t *part;
    bed_send(&sender, bed->from, top, 1);
    part = bed_part(&sender, NULL, true, 0, &length, &end);
    tree_store_begin(store);
    for (uint64_t offset = 0; offset < bytes; offset += 10000)
        CHECK_EQUAL(tree_store_write(store, offset, part + offset, 10000, &failure), 0);
    tree_store_stop(store);
    tree_store_close(store);
    free(part);
    bed_send_end(&sender);
}

static void what_came_before_the_link_was_lost_is_not_sent_again(void)
{
    for (uint64_t bytes = 10000; bytes < 800000; bytes += 110000) {
        tree_bed bed;
        uint64_t sent;
        bed_make(&bed);
        make_source(&bed);
        begin_transfer(&bed, bytes);
        CHECK(transfer_top(&bed, (tree_store_how){0}, (bed_delivery){10000, 4, 1}, &sent) == NULL);
        CHECK(sent + bytes < 793000 + 65536 + 3000);
        CHECK(is_stored(&bed));
        bed_remove(&bed);
    }
}

static void pieces_of_unchanged_files_stay_valid_when_others_change(void)
{
    tree_bed bed;
    uint64_t sent;
    bed_make(&bed);
    make_source(&bed);
    begin_transfer(&bed, 600000);
    bed_file(bed.from, "top/a-new-one", 5000, 1);
    bed_file(bed.from, "top/one", 2, 1);
    CHECK(transfer_top(&bed, (tree_store_how){.replace = true}, whole, &sent) == NULL);
    CHECK(sent < 793000 - 600000 + 65536 + 8000);
    CHECK(is_stored(&bed));
    bed_remove(&bed);
}

static void pieces_of_a_file_that_changed_are_not_used(void)
{
    tree_bed bed;
    bed_make(&bed);
    make_source(&bed);
    begin_transfer(&bed, 600000);
    bed_file(bed.from, "top/sub/large", 10 * 65536 + 17, 99);
    bed_time(bed.from, "top/sub/large", 1700000001);
    expect_stored(&bed, (tree_store_how){0}, whole);
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
    make_source(&bed);
    begin_transfer(&bed, 600000);
    CHECK(bed_exists(bed.to, "top") || bed_count(bed.to, ".netblt-partial-") == 1);
    bed_send(&sender, bed.from, top, 1);
    store = bed_store(bed.to, "top", (tree_store_how){0});
    CHECK_EQUAL(tree_store_recall(store, sender.all->id, &failure), 0);
    CHECK_EQUAL(tree_store_state(store), TREE_RESUMES);
    held = tree_store_held(store);
    CHECK(held != NULL && held->count > 0);
    part = bed_part(&sender, held, false, 0, &length, &end);
    CHECK(length < 793000 - 600000 + 65536 + 2000);
    tree_store_close(store);
    store = bed_store(bed.to, "top", (tree_store_how){0}); /* neither manifest nor held list are in its memory */
    CHECK_EQUAL(bed_deliver(store, part, length, whole, &failure), 0);
    CHECK_EQUAL(tree_store_state(store), TREE_DONE);
    CHECK_EQUAL(bed_deliver(store, part, length, whole, &failure), 0); /* now of nothing that is kept */
    CHECK_EQUAL(tree_store_state(store), TREE_CHANGED);
    CHECK(tree_store_recall(store, sender.all->id, &failure) != 0);
    CHECK_EQUAL(tree_store_state(store), TREE_CHANGED);
    tree_store_close(store);
    free(part);
    bed_send_end(&sender);
    CHECK(is_stored(&bed));
    bed_remove(&bed);
}

static void what_was_left_can_be_discarded(void)
{
    tree_bed bed;
    uint64_t sent;
    int dir;
    bed_make(&bed);
    make_source(&bed);
    begin_transfer(&bed, 600000);
    dir = open(bed.to, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK(tree_store_is_left(dir, "top") && !tree_store_is_left(dir, "other"));
    close(dir);
    CHECK(transfer_top(&bed, (tree_store_how){.discard = true}, whole, &sent) == NULL);
    CHECK(sent > 600000);
    CHECK(is_stored(&bed));
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
    make_source(&bed);
    bed_send(&sender, bed.from, top, 1);
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

/* ---- damage ---------------------------------------------------------------------------------------------------- */

static void damaged_data_are_not_stored_and_come_again(void)
{
    bed_sender sender;
    tree_bed bed;
    uint64_t length;
    uint64_t end;
    uint8_t *part;
    bed_make(&bed);
    make_source(&bed);
    bed_send(&sender, bed.from, top, 1);
    part = bed_part(&sender, NULL, true, 0, &length, &end);
    for (uint64_t at = 0; at < length; at += at < 800 ? 13 : 40009) {
        char name[32];
        tree_store *store;
        snprintf(name, sizeof name, "top-%u", (unsigned)at);
        store = bed_store(bed.to, name, (tree_store_how){0});
        part[at] ^= 0x10;
        CHECK(bed_deliver(store, part, length, (bed_delivery){100000, 1, 0}, &failure) != 0);
        part[at] ^= 0x10;
        CHECK_EQUAL(bed_transfer(&sender, store, whole, NULL, &failure), 0);
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
    CHECK(bed_deliver(store, part, length, whole, &failure) != 0);
    CHECK(strstr(failure.text, "file: it is damaged") != NULL);
    CHECK(!bed_exists(bed.to, "file"));
    CHECK_EQUAL(bed_transfer(&sender, store, whole, &rounds, &failure), 0);
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
    make_source(&bed);
    bed_send(&sender, bed.from, top, 1);
    part = bed_part(&sender, NULL, true, 0, &length, &end);
    longer = calloc(1, (size_t)length + 1);
    CHECK(longer != NULL);
    memcpy(longer, part, (size_t)length);
    store = bed_store(bed.to, "top", (tree_store_how){0});
    CHECK(bed_deliver(store, longer, length + 1, whole, &failure) != 0);
    CHECK(strstr(failure.text, "longer") != NULL);
    CHECK(bed_deliver(store, part, 40, whole, &failure) != 0);
    tree_store_close(store);
    CHECK(strstr(failure.text, "too early") != NULL);
    CHECK(!bed_exists(bed.to, "top/none"));
    free(part);
    free(longer);
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
    RUN(what_came_before_the_link_was_lost_is_not_sent_again);
    RUN(pieces_of_unchanged_files_stay_valid_when_others_change);
    RUN(pieces_of_a_file_that_changed_are_not_used);
    RUN(another_process_can_go_on_with_what_was_kept);
    RUN(what_was_left_can_be_discarded);
    RUN(a_target_is_stored_by_one_at_a_time);
    RUN(damaged_data_are_not_stored_and_come_again);
    RUN(a_file_with_a_wrong_sum_gets_no_name_and_comes_again_in_whole);
    RUN(data_that_end_too_early_or_go_on_too_long_are_refused);
    return 0;
}
