/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of modules of the core that need no connection. */
#include "base/allocator.h"
#include "base/bitmap.h"
#include "base/deadlines.h"
#include "base/list.h"
#include "base/ring.h"
#include "base/serial.h"
#include "check.h"
#include "connection/stateless_reply.h"
#include "control/sequence.h"
#include "random.h"
#include "rate/rate_control.h"
#include "rate_begin.h"
#include "wire/checksum.h"
#include "wire/params.h"

#include <string.h>

/* ---- checksum -------------------------------------------------------------------------------------------------- */

/* RFC 998 5.1 word by word, as slowly as it is written there. */
static uint16_t slow_checksum(const uint8_t *bytes, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i += 2) {
        sum += bytes[i] * 256u + (i + 1 < length ? bytes[i + 1] : 0u);
        if (sum > 0xFFFF)
            sum -= 0xFFFF;
    }
    return (uint16_t)(0xFFFF - sum);
}

static void CKSUM_02_checksum_equals_the_definition_for_every_length_and_alignment(void)
{
    struct random random = {7};
    uint8_t *bytes = malloc(3000);
    uint8_t *copy = malloc(3000);
    for (size_t i = 0; i < 3000; i++)
        bytes[i] = (uint8_t)(random_chance(&random, 300) ? 0xFF : random_next(&random));
    for (size_t length = 0; length < 300; length++) {
        for (size_t offset = 0; offset < 8; offset++) {
            uint16_t wanted = slow_checksum(bytes + offset, length);
            CHECK_EQUAL(nb_checksum(bytes + offset, length), wanted);
            memset(copy, 0, 3000);
            CHECK_EQUAL(nb_checksum_copy(copy + 3, bytes + offset, length), wanted);
            CHECK(memcmp(copy + 3, bytes + offset, length) == 0);
            CHECK(copy[2] == 0 && copy[3 + length] == 0);
            CHECK(nb_checksum_matches(bytes + offset, length, wanted));
            CHECK(!nb_checksum_matches(bytes + offset, length, (uint16_t)(wanted ^ 1)));
        }
    }
    free(bytes);
    free(copy);
}

static void CKSUM_02_both_forms_of_zero_verify_and_a_large_sum_loses_no_carry(void)
{
    uint8_t sums_to_ffff[4] = {0xFF, 0xFF, 0, 0};
    CHECK_EQUAL(nb_checksum(sums_to_ffff, 4), 0);
    CHECK(nb_checksum_matches(sums_to_ffff, 4, 0));
    CHECK(nb_checksum_matches(sums_to_ffff, 4, 0xFFFF));
    CHECK(nb_checksum_holds(sums_to_ffff, 4));
    uint8_t *ones = malloc(65535);
    memset(ones, 0xFF, 65535);
    CHECK_EQUAL(nb_checksum(ones, 65535), slow_checksum(ones, 65535));
    free(ones);
}

/* ---- serial, bitmap, ring, list
 * -------------------------------------------------------------------------------------- */

static void AMB_12_serial_comparison_works_across_the_wrap(void)
{
    CHECK(nb_seq_after(1, 0) && nb_seq_after(0, 65535) && nb_seq_after(100, 65000));
    CHECK(!nb_seq_after(0, 1) && !nb_seq_after(65535, 0) && !nb_seq_after(5, 5));
    CHECK(nb_buffer_below(UINT32_MAX, 0) && !nb_buffer_below(0, UINT32_MAX) && !nb_buffer_below(3, 3));
    CHECK_EQUAL(nb_buffer_distance(2, UINT32_MAX), 3);
}

static void a_bitmap_finds_the_next_bit_at_every_position(void)
{
    enum { BITS = 200 };
    uint64_t *map = nb_bitmap_new(&nb_allocator_default, BITS);
    for (uint32_t bit = 0; bit < BITS; bit++) {
        CHECK_EQUAL(nb_bitmap_next(map, 0, BITS, true), BITS);
        nb_bitmap_set(map, bit);
        for (uint32_t from = 0; from <= BITS; from++) {
            CHECK_EQUAL(nb_bitmap_next(map, from, BITS, true), from <= bit ? bit : BITS);
            CHECK_EQUAL(nb_bitmap_next(map, from, BITS, false), from != bit ? from : bit + 1);
        }
        nb_bitmap_clear(map, bit);
    }
    memset(map, 0xFF, nb_bitmap_words(BITS) * 8); /* bits beyond the end are not answers */
    CHECK_EQUAL(nb_bitmap_next(map, 0, BITS, false), BITS);
    free(map);
}

static void a_ring_keeps_its_order_while_it_grows_and_turns(void)
{
    struct nb_ring ring;
    uint32_t in = 0, out = 0;
    struct random random = {3};
    nb_ring_init(&ring, sizeof(uint32_t), &nb_allocator_default);
    for (int i = 0; i < 20000; i++) {
        if (ring.count > 0 && random_chance(&random, 480)) {
            CHECK_EQUAL(*(uint32_t *)nb_ring_at(&ring, 0), out++);
            nb_ring_pop_front(&ring);
        } else {
            uint32_t *item = nb_ring_push(&ring);
            CHECK_EQUAL(*item, 0);
            *item = in++;
        }
    }
    CHECK_EQUAL(ring.count, in - out);
    while (ring.count > 0) {
        CHECK_EQUAL(*(uint32_t *)nb_ring_at(&ring, ring.count - 1), --in);
        nb_ring_pop_back(&ring);
    }
    nb_ring_free(&ring);
}

struct item {
    int number;
    struct nb_link link;
};

NB_LIST_OF(items, struct item, link)

/* A list, and an array that holds the same items in the same order. */
struct list_model {
    struct nb_list list;
    struct item *order[8];
    size_t count;
};

static void check_list(const struct list_model *model)
{
    size_t count = 0;
    for (struct item *at = items_first(&model->list); at != NULL; at = items_next(at)) {
        CHECK(count < model->count && at == model->order[count]);
        count++;
    }
    CHECK_EQUAL(count, model->count);
    CHECK_EQUAL(nb_list_is_empty(&model->list), count == 0);
    CHECK(items_last(&model->list) == (count == 0 ? NULL : model->order[count - 1]));
}

static void list_model_forget(struct list_model *model, const struct item *item)
{
    size_t at = 0;
    while (model->order[at] != item)
        at++;
    model->count--;
    memmove(&model->order[at], &model->order[at + 1], (model->count - at) * sizeof(struct item *));
}

static void a_list_keeps_its_order_whatever_is_removed(void)
{
    struct random random = {11};
    struct item all[8] = {0};
    struct list_model model = {0};
    for (int i = 0; i < 20000; i++) {
        struct item *item = &all[random_next(&random) % 8];
        bool listed = nb_link_is_listed(&item->link);
        if (random_chance(&random, 100)) {
            struct item *first = model.count == 0 ? NULL : model.order[0];
            CHECK(items_take(&model.list) == first);
            if (first != NULL)
                list_model_forget(&model, first);
        } else if (listed || random_chance(&random, 200)) {
            items_remove(item); /* does nothing to an item in no list */
            if (listed)
                list_model_forget(&model, item);
            CHECK(!nb_link_is_listed(&item->link));
        } else {
            items_append(&model.list, item);
            model.order[model.count++] = item;
        }
        check_list(&model);
    }
}

/* ---- sequence -------------------------------------------------------------------------------------------------- */

static void CTRL_06_07_high_seq_is_what_a_set_of_all_received_numbers_says(void)
{
    static bool received[70000];
    struct nb_sequence sequence;
    struct random random = {11};
    uint32_t high = 0; /* not wrapped */
    nb_sequence_init(&sequence);
    CHECK(!nb_sequence_is_new(&sequence, 0)); /* 0 is "nothing received", not a message to come */
    for (int i = 0; i < 300000 && high < 69000; i++) {
        uint32_t seq = high + 1 + (uint32_t)random_below(&random, 40);
        if (random_chance(&random, 200))
            seq = high > 30 ? high - (uint32_t)random_below(&random, 30) : high;
        bool is_new = seq > high && !received[seq];
        CHECK_EQUAL(nb_sequence_is_new(&sequence, (uint16_t)seq), is_new);
        CHECK_EQUAL(nb_sequence_is_next(&sequence, (uint16_t)seq), seq == high + 1);
        if (!is_new)
            continue;
        nb_sequence_record(&sequence, (uint16_t)seq);
        received[seq] = true;
        while (received[high + 1])
            high++;
        CHECK_EQUAL(sequence.high, high % 65536);
    }
    CHECK(high >= 69000);
    CHECK(!nb_sequence_is_new(&sequence, (uint16_t)(high + NB_SEQUENCE_WINDOW)));
    CHECK(nb_sequence_is_new(&sequence, (uint16_t)(high + NB_SEQUENCE_WINDOW - 1)));
}

/* ---- deadlines ------------------------------------------------------------------------------------------------- */

static void deadlines_come_in_order_whatever_was_moved_or_removed(void)
{
    enum { COUNT = 500 };
    static struct nb_deadline entries[COUNT];
    struct nb_deadlines deadlines = {.allocator = &nb_allocator_default};
    struct random random = {5};
    CHECK(nb_deadlines_first(&deadlines) == NULL);
    CHECK(nb_deadlines_reserve(&deadlines, COUNT));
    for (int i = 0; i < COUNT; i++)
        entries[i] = (struct nb_deadline){NETBLT_TIME_NEVER, NB_NOT_SCHEDULED};
    for (int round = 0; round < 20000; round++) {
        bool remove = random_chance(&random, 300);
        nb_deadlines_set(&deadlines, &entries[random_below(&random, COUNT)],
                         remove ? NETBLT_TIME_NEVER : random_below(&random, 1000));
        if (round % 50 != 0)
            continue;
        netblt_time least = NETBLT_TIME_NEVER;
        for (int i = 0; i < COUNT; i++)
            least = entries[i].at < least ? entries[i].at : least;
        const struct nb_deadline *first = nb_deadlines_first(&deadlines);
        CHECK_EQUAL(first == NULL ? NETBLT_TIME_NEVER : first->at, least);
    }
    netblt_time before = 0;
    for (struct nb_deadline *first; (first = nb_deadlines_first(&deadlines)) != NULL;) {
        CHECK(first->at >= before);
        before = first->at;
        nb_deadlines_set(&deadlines, first, NETBLT_TIME_NEVER);
    }
    for (int i = 0; i < COUNT; i++)
        CHECK_EQUAL(entries[i].index, NB_NOT_SCHEDULED);
    nb_deadlines_free(&deadlines);
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */

static void parameters_that_cannot_be_used_are_named(void)
{
    netblt_params good, bad;
    const char *what = "unset";
    netblt_params_default(&good);
    CHECK_EQUAL(netblt_params_check(&good, &what), 0);
    CHECK(what == NULL);
    for (int kind = 0; kind < 8; kind++) {
        bad = good;
        bad.buffer_size = kind == 0 ? 0 : bad.buffer_size;
        bad.packet_size = kind == 1 ? 0 : bad.packet_size;
        bad.packet_size = kind == 2 ? NB_PACKET_SIZE_MAX + 1 : bad.packet_size;
        bad.burst_size = kind == 3 ? 0 : bad.burst_size;
        bad.death_timer_s = kind == 4 ? 0 : bad.death_timer_s;
        bad.max_buffers = kind == 5 ? 0 : bad.max_buffers;
        if (kind == 6) {
            bad.packet_size = 1;
            bad.buffer_size = 65536;
        }
        if (kind == 7)
            memset(bad.client_string, 'x', sizeof bad.client_string);
        CHECK_EQUAL(netblt_params_check(&bad, &what), NETBLT_ERR_INVALID_ARGUMENT);
        CHECK(what != NULL);
        CHECK_EQUAL(netblt_params_check(&bad, NULL), NETBLT_ERR_INVALID_ARGUMENT);
    }
}

static uint16_t random16(struct random *random)
{
    return (uint16_t)(1 + random_below(random, 65535));
}

static void NEG_01_to_07_a_restriction_is_never_looser_than_either_side_and_is_stable(void)
{
    struct random random = {13};
    for (int i = 0; i < 20000; i++) {
        netblt_params sides[2], agreed, again;
        for (int k = 0; k < 2; k++) {
            netblt_params_default(&sides[k]);
            sides[k].buffer_size = 1 + (uint32_t)random_next(&random) / 2;
            sides[k].packet_size = random16(&random);
            sides[k].burst_size = random16(&random);
            sides[k].burst_interval_ms = (uint16_t)(random16(&random) - 1);
            sides[k].max_buffers = random16(&random);
            sides[k].data_checksum = random_chance(&random, 500);
        }
        nb_params_restrict(&sides[0], &sides[1], &agreed);
        for (int k = 0; k < 2; k++) {
            CHECK(agreed.buffer_size <= sides[k].buffer_size && agreed.packet_size <= sides[k].packet_size);
            CHECK(agreed.burst_size <= sides[k].burst_size && agreed.max_buffers <= sides[k].max_buffers);
            CHECK(agreed.burst_interval_ms >= sides[k].burst_interval_ms);
            CHECK(agreed.data_checksum >= sides[k].data_checksum);
        }
        CHECK_EQUAL(netblt_params_check(&agreed, NULL), 0);
        nb_params_restrict(&agreed, &agreed, &again);
        CHECK(again.buffer_size == agreed.buffer_size && again.packet_size == agreed.packet_size);
        CHECK(again.burst_size == agreed.burst_size && again.burst_interval_ms == agreed.burst_interval_ms);
        CHECK(again.max_buffers == agreed.max_buffers && again.data_checksum == agreed.data_checksum);
        CHECK(again.death_timer_s == agreed.death_timer_s && again.transfer_size == agreed.transfer_size);
    }
}

/* ---- rate control ---------------------------------------------------------------------------------------------- */

static void NEG_09_an_offer_is_only_slowed_down(void)
{
    bool restricted;
    struct nb_burst current = {5, 10}, limit = {8, 4};
    struct nb_burst settled = rate_restrict((struct nb_burst){3, 50}, current, limit, &restricted);
    CHECK(settled.size == 3 && settled.interval_ms == 50 && !restricted);
    settled = rate_restrict((struct nb_burst){8, 4}, current, limit, &restricted);
    CHECK(settled.size == 8 && settled.interval_ms == 4 && !restricted);
    settled = rate_restrict((struct nb_burst){9, 5}, current, limit, &restricted);
    CHECK(settled.size == 8 && settled.interval_ms == 5 && restricted);
    settled = rate_restrict((struct nb_burst){2, 0}, current, limit, &restricted);
    CHECK(settled.size == 2 && settled.interval_ms == 4 && restricted);
    settled = rate_restrict((struct nb_burst){0, 20}, current, limit, &restricted);
    CHECK(settled.size == 5 && settled.interval_ms == 20 && restricted); /* AMB-11 */
}

/* ---- replies ------------------------------------------------------------------------------------------------- */

static void stateless_replies_are_limited_and_last_packets_are_not(void)
{
    struct nb_replies replies;
    struct nb_emitter emitter = {2, 1, 7};
    netblt_path path = {.local = {1, {1}}, .foreign = {1, {2}}};
    netblt_output output;
    uint8_t packet[NB_REASON_MAX_BYTES];
    unsigned answered = 0;
    nb_replies_init(&replies, &nb_allocator_default);
    for (int i = 0; i < 10000; i++) /* for one second */
        answered += nb_reply_queue_limited(&replies, &path, &emitter, NB_REFUSED, "no", 5000000 + i * 100) > 0;
    CHECK(answered >= 16 && answered <= 16 + 20);
    for (int i = 0; i < 100; i++)
        CHECK_EQUAL(nb_reply_queue(&replies, &path, &emitter, NB_DONE, NULL), 12);
    CHECK_EQUAL(nb_reply_write(&replies, packet, 12, &output), 12); /* the first that fits */
    CHECK_EQUAL(packet[3], NB_DONE);
    for (unsigned i = 0; i < answered; i++) {
        CHECK_EQUAL(nb_reply_write(&replies, packet, sizeof packet, &output), 16);
        CHECK_EQUAL(packet[3], NB_REFUSED);
        CHECK_EQUAL(output.count, 1);
    }
    for (int i = 0; i < 99; i++)
        CHECK_EQUAL(nb_reply_write(&replies, packet, sizeof packet, &output), 12);
    CHECK_EQUAL(nb_reply_write(&replies, packet, sizeof packet, &output), 0);
    nb_reply_queue(&replies, &path, &emitter, NB_ABORT, "left over");
    nb_replies_free(&replies);
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

static void every_code_has_words_of_its_own(void)
{
    for (int error = NETBLT_ERR_NO_SPACE; error <= NETBLT_OK; error++) {
        CHECK(strcmp(netblt_strerror(error), "unknown error") != 0);
        for (int other = error + 1; other <= NETBLT_OK; other++)
            CHECK(strcmp(netblt_strerror(error), netblt_strerror(other)) != 0);
    }
    CHECK(strcmp(netblt_strerror(-99), "unknown error") == 0);
    for (int result = NETBLT_DONE; result <= NETBLT_PEER_DEAD; result++)
        CHECK(strcmp(netblt_result_name((enum netblt_result)result), "unknown") != 0);
    CHECK(strcmp(netblt_result_name((enum netblt_result)99), "unknown") == 0);
}

int main(void)
{
    RUN(CKSUM_02_checksum_equals_the_definition_for_every_length_and_alignment);
    RUN(CKSUM_02_both_forms_of_zero_verify_and_a_large_sum_loses_no_carry);
    RUN(AMB_12_serial_comparison_works_across_the_wrap);
    RUN(a_bitmap_finds_the_next_bit_at_every_position);
    RUN(a_ring_keeps_its_order_while_it_grows_and_turns);
    RUN(a_list_keeps_its_order_whatever_is_removed);
    RUN(CTRL_06_07_high_seq_is_what_a_set_of_all_received_numbers_says);
    RUN(deadlines_come_in_order_whatever_was_moved_or_removed);
    RUN(parameters_that_cannot_be_used_are_named);
    RUN(NEG_01_to_07_a_restriction_is_never_looser_than_either_side_and_is_stable);
    RUN(NEG_09_an_offer_is_only_slowed_down);
    RUN(stateless_replies_are_limited_and_last_packets_are_not);
    RUN(every_code_has_words_of_its_own);
    return 0;
}
