/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each action of a rule, the order of what comes out, and what is reported about it. */
#include "testing.h"

static void offer_data(flakeway *engine, unsigned count, uint64_t gap_us)
{
    for (unsigned i = 0; i < count; i++) {
        test_packet packet = data_packet(6, 0, (uint16_t)i, 100);
        offer(engine, A_TO_B, &packet, i * gap_us);
    }
}

/* Packets 1..count of buffer 0, `gap_us` apart, under one rule. */
static void check_fate(const char *rule, const char *second, unsigned count, uint64_t gap_us, const char *expected)
{
    flakeway *engine = engine_with(1, rule, second);
    offer_data(engine, count, gap_us);
    CHECK_TEXT(released_text(engine), expected);
    flakeway_free(engine);
}

static void without_rules_packets_leave_as_they_came(void)
{
    check_fate(NULL, NULL, 4, 10, "1@0 2@10 3@20 4@30");
    check_fate(NULL, NULL, 4, 0, "1@0 2@0 3@0 4@0");
}

static void drop_takes_the_nth_packet_only(void)
{
    check_fate("drop nth=2", NULL, 4, 10, "1@0 3@20 4@30");
    check_fate("drop nth=2..3", NULL, 4, 10, "1@0 4@30");
    check_fate("drop every=2", NULL, 5, 10, "1@0 3@20 5@40");
    check_fate("drop packet=0..1", NULL, 4, 10, "3@20 4@30");
}

static void delay_lets_later_packets_overtake(void)
{
    check_fate("delay 15us nth=1", NULL, 4, 10, "2@10 1@15 3@20 4@30");
}

static void packets_of_one_moment_leave_in_the_order_of_arrival(void)
{
    check_fate("delay 20us nth=1", NULL, 4, 10, "2@10 1@20 3@20 4@30");
    check_fate("latency 500us", NULL, 3, 0, "1@500 2@500 3@500");
}

static void duplicates_follow_their_original_at_the_gap(void)
{
    check_fate("duplicate nth=1", NULL, 2, 10, "1@0 1+1@0 2@10");
    check_fate("duplicate nth=1 count=2 gap=15us", NULL, 3, 10, "1@0 2@10 1+1@15 3@20 1+2@30");
}

static void swap_changes_places_with_the_next_packet(void)
{
    check_fate("swap nth=2", NULL, 4, 10, "1@0 3@20 2@20 4@30");
    check_fate("swap", NULL, 4, 10, "2@10 1@10 4@30 3@30");
}

static void hold_waits_for_k_packets_to_pass(void)
{
    check_fate("hold 3 nth=1", NULL, 5, 10, "2@10 3@20 4@30 1@30 5@40");
    check_fate("hold 2", NULL, 6, 10, "2@10 3@20 1@20 5@40 6@50 4@50");
}

static void dropped_packets_do_not_count_as_passing(void)
{
    check_fate("hold 2 nth=1", "drop packet=2", 4, 10, "2@10 4@30 1@30");
}

static void a_packet_held_at_the_end_stays_held_and_is_counted(void)
{
    flakeway *engine = engine_with(1, "swap nth=2", NULL);
    offer_data(engine, 2, 10);
    CHECK_TEXT(released_text(engine), "1@0");
    CHECK(flakeway_queued(engine) == 1);
    flakeway_free(engine);
}

static void the_first_rule_that_matches_wins(void)
{
    check_fate("pass nth=2", "drop", 3, 10, "2@10");
    check_fate("drop", "pass nth=2", 3, 10, "");
}

static void every_rule_counts_what_an_earlier_rule_takes(void)
{
    check_fate("drop nth=1", "drop nth=2", 4, 10, "3@20 4@30");
}

static void a_rule_for_one_direction_leaves_the_other_alone(void)
{
    flakeway *engine = engine_with(1, "drop a>b", NULL);
    test_packet packet = simple_packet(2, 12);
    offer(engine, A_TO_B, &packet, 0);
    offer(engine, B_TO_A, &packet, 0);
    CHECK_TEXT(released_text(engine), "2@0");
    CHECK(flakeway_get_stats(engine, A_TO_B)->dropped_by_rule == 1);
    CHECK(flakeway_get_stats(engine, B_TO_A)->dropped_by_rule == 0);
    flakeway_free(engine);
}

static void a_rule_for_both_directions_counts_each_for_itself(void)
{
    flakeway *engine = engine_with(1, "drop nth=2", NULL);
    test_packet packet = simple_packet(2, 12);
    offer(engine, A_TO_B, &packet, 0);
    offer(engine, B_TO_A, &packet, 1);
    offer(engine, A_TO_B, &packet, 2);
    offer(engine, B_TO_A, &packet, 3);
    CHECK_TEXT(released_text(engine), "1@0 2@1");
    flakeway_free(engine);
}

/* What packet 1 looks like when it comes out. */
static flakeway_released fate_of_one(const char *rule, const test_packet *packet, flakeway **engine)
{
    flakeway_released released = {0};
    *engine = engine_with(1, rule, NULL);
    offer(*engine, A_TO_B, packet, 0);
    CHECK(flakeway_release(*engine, 0, &released));
    return released;
}

static void corrupt_flips_the_one_bit_that_was_named(void)
{
    flakeway *engine;
    test_packet packet = data_packet(6, 0, 0, 100);
    flakeway_released released = fate_of_one("corrupt bit=200", &packet, &engine);
    packet.bytes[25] ^= 0x80;
    CHECK(released.changed);
    CHECK(released.packet.length == packet.length);
    CHECK(memcmp(released.packet.bytes, packet.bytes, packet.length) == 0);
    flakeway_free(engine);
}

static unsigned flipped_bits(const uint8_t *a, const uint8_t *b, size_t length, size_t *where)
{
    unsigned count = 0;
    for (size_t bit = 0; bit < length * 8; bit++) {
        if ((a[bit / 8] ^ b[bit / 8]) >> (7 - bit % 8) & 1) {
            count++;
            *where = bit / 8;
        }
    }
    return count;
}

static void corrupt_flips_one_bit_within_the_bytes_that_were_named(void)
{
    bool seen[200] = {false};
    flakeway *engine = engine_with(7, "corrupt byte=24..29", NULL);
    test_packet packet = data_packet(6, 0, 0, 100);
    for (unsigned i = 0; i < 200; i++) {
        flakeway_released released;
        size_t where = 0;
        offer(engine, A_TO_B, &packet, i);
        CHECK(flakeway_release(engine, i, &released));
        CHECK(flipped_bits(released.packet.bytes, packet.bytes, packet.length, &where) == 1);
        CHECK(where >= 24 && where <= 29);
        seen[where] = true;
    }
    CHECK(seen[24] && seen[25] && seen[26] && seen[27] && seen[28] && seen[29]);
    flakeway_free(engine);
}

static void a_packet_too_short_to_corrupt_or_truncate_passes_unchanged(void)
{
    flakeway *engine;
    test_packet packet = simple_packet(2, 12);
    CHECK(!fate_of_one("corrupt bit=96", &packet, &engine).changed);
    flakeway_free(engine);
    CHECK(!fate_of_one("corrupt byte=12..20", &packet, &engine).changed);
    flakeway_free(engine);
    CHECK(!fate_of_one("truncate 12", &packet, &engine).changed);
    CHECK(flakeway_get_stats(engine, A_TO_B)->truncated == 0);
    flakeway_free(engine);
}

static void truncate_keeps_the_first_bytes_and_the_outer_headers(void)
{
    test_packet inner = data_packet(6, 0, 0, 100);
    uint8_t frame[34 + 124 + 2];
    memset(frame, 0xee, sizeof frame);
    memcpy(frame + 34, inner.bytes, inner.length);
    flakeway *engine = engine_with(1, "truncate 30", NULL);
    const flakeway_packet packet = {
        .bytes = frame, .length = sizeof frame, .netblt_offset = 34, .netblt_length = inner.length};
    flakeway_released released;
    flakeway_offer(engine, A_TO_B, &packet, 0);
    CHECK(flakeway_release(engine, 0, &released));
    CHECK(released.packet.length == 64 && released.packet.netblt_length == 30 && released.packet.netblt_offset == 34);
    CHECK(memcmp(released.packet.bytes, frame, 64) == 0);
    flakeway_free(engine);
}

static void a_fragment_without_a_netblt_header_meets_no_rule_but_the_rates(void)
{
    const uint8_t bytes[40] = {0};
    const flakeway_packet packet = {.bytes = bytes, .length = sizeof bytes, .netblt_offset = 20};
    flakeway *engine = engine_with(1, "drop", NULL);
    flakeway_offer(engine, A_TO_B, &packet, 0);
    CHECK_TEXT(released_text(engine), "1@0");
    CHECK(flakeway_add(engine, "loss 100%", NULL) == 0);
    flakeway_offer(engine, A_TO_B, &packet, 1);
    CHECK_TEXT(released_text(engine), "");
    flakeway_free(engine);
}

static void a_removed_rule_lets_its_packet_go_and_forgets_nothing_else(void)
{
    flakeway *engine = engine_with(1, "hold 9 nth=1", "drop nth=3");
    offer_data(engine, 2, 10);
    CHECK(flakeway_remove(engine, 1, 15));
    CHECK(!flakeway_remove(engine, 1, 15));
    test_packet packet = simple_packet(2, 12);
    offer(engine, A_TO_B, &packet, 20);
    offer(engine, A_TO_B, &packet, 30);
    CHECK_TEXT(released_text(engine), "2@10 1@15 4@30");
    CHECK(flakeway_rule_text(engine, 1) == NULL);
    CHECK_TEXT(flakeway_rule_text(engine, 2), "drop nth=3");
    CHECK(flakeway_rule_hits(engine, 2) == 1);
    CHECK(flakeway_add(engine, "pass", NULL) == 3); /* IDs are never used again */
    flakeway_free(engine);
}

static void clear_lets_everything_go_and_forgets_rules_and_rates(void)
{
    flakeway *engine = engine_with(1, "hold 9 nth=1", "latency 1s");
    offer_data(engine, 1, 0);
    flakeway_clear(engine, 5);
    test_packet packet = simple_packet(2, 12);
    offer(engine, A_TO_B, &packet, 10);
    CHECK_TEXT(released_text(engine), "2@10 1@1000000"); /* the first is on its way already */
    flakeway_free(engine);
}

/* ---- what is reported ----------------------------------------------------------------------------------------- */

static char told[1024];

static void listen(void *context, const flakeway_event *event)
{
    char line[300];
    (void)context;
    flakeway_describe(event, line, sizeof line);
    snprintf(told + strlen(told), sizeof told - strlen(told), "%u:%s;", (unsigned)event->id, line);
}

static void every_decision_is_told_with_its_rule(void)
{
    flakeway *engine = engine_with(1, " drop nth=2 DATA ", "corrupt 100%");
    told[0] = '\0';
    flakeway_set_trace(engine, listen, NULL);
    CHECK(flakeway_add(engine, "truncate 5 nth=3", NULL) == 2);
    CHECK(flakeway_add(engine, "duplicate 100% a>b", NULL) == 0);
    offer_data(engine, 3, 0);
    CHECK_TEXT(told, "1:corrupted by corrupt 100%;1:duplicated by duplicate 100% a>b;"
                     "2:dropped by rule 1 (drop nth=2 DATA);3:truncated by rule 2 (truncate 5 nth=3);");
    flakeway_free(engine);
}

static bool decide(void *context, uint32_t rule, enum flakeway_direction direction, const uint8_t *netblt,
                   size_t netblt_length, uint64_t now_us, flakeway_action *action)
{
    unsigned *calls = context;
    ++*calls;
    CHECK(rule == 1 && direction == FLAKEWAY_A_TO_B && netblt_length == 124 && now_us == netblt[19] * 10u);
    action->kind = FLAKEWAY_DROP;
    return netblt[19] == 1;
}

static void a_hook_decides_or_leaves_it_to_the_next_rule(void)
{
    unsigned calls = 0;
    flakeway *engine = engine_with(1, "hook a>b", "delay 100us packet=0");
    flakeway_set_hook(engine, decide, &calls);
    offer_data(engine, 3, 10);
    CHECK_TEXT(released_text(engine), "3@20 1@100");
    CHECK(calls == 3);
    flakeway_free(engine);
}

int main(void)
{
    RUN(without_rules_packets_leave_as_they_came);
    RUN(drop_takes_the_nth_packet_only);
    RUN(delay_lets_later_packets_overtake);
    RUN(packets_of_one_moment_leave_in_the_order_of_arrival);
    RUN(duplicates_follow_their_original_at_the_gap);
    RUN(swap_changes_places_with_the_next_packet);
    RUN(hold_waits_for_k_packets_to_pass);
    RUN(dropped_packets_do_not_count_as_passing);
    RUN(a_packet_held_at_the_end_stays_held_and_is_counted);
    RUN(the_first_rule_that_matches_wins);
    RUN(every_rule_counts_what_an_earlier_rule_takes);
    RUN(a_rule_for_one_direction_leaves_the_other_alone);
    RUN(a_rule_for_both_directions_counts_each_for_itself);
    RUN(corrupt_flips_the_one_bit_that_was_named);
    RUN(corrupt_flips_one_bit_within_the_bytes_that_were_named);
    RUN(a_packet_too_short_to_corrupt_or_truncate_passes_unchanged);
    RUN(truncate_keeps_the_first_bytes_and_the_outer_headers);
    RUN(a_fragment_without_a_netblt_header_meets_no_rule_but_the_rates);
    RUN(a_removed_rule_lets_its_packet_go_and_forgets_nothing_else);
    RUN(clear_lets_everything_go_and_forgets_rules_and_rates);
    RUN(every_decision_is_told_with_its_rule);
    RUN(a_hook_decides_or_leaves_it_to_the_next_rule);
    return failures != 0;
}
