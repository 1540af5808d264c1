/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chance, the link's rate and queue, and that a seed repeats itself. */
#include "random.h"
#include "testing.h"

#define MANY 200000u
#define SEEDS 10

/* MANY packets a>b, one microsecond apart, all released. */
static flakeway_stats stats_after_many(uint64_t seed, const char *first, const char *second)
{
    flakeway *engine = engine_with(seed, first, second);
    test_packet packet = simple_packet(6, 100);
    flakeway_released released;
    for (unsigned i = 0; i < MANY; i++) {
        offer(engine, A_TO_B, &packet, i);
        while (flakeway_release(engine, i, &released)) {
        }
    }
    while (flakeway_release(engine, FLAKEWAY_NEVER, &released)) {
    }
    flakeway_stats stats = *flakeway_get_stats(engine, A_TO_B);
    flakeway_free(engine);
    return stats;
}

/* `count` of MANY at `ppm` within five standard deviations: one good run in two million would fail, and the seeds are
 * fixed. */
static bool plausible(uint64_t count, double ppm)
{
    double p = ppm / 1e6;
    double expected = MANY * p;
    double distance = (double)count - expected;
    return distance * distance <= 25 * MANY * p * (1 - p);
}

static void rates_hit_as_often_as_they_say(void)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        flakeway_stats loss = stats_after_many(seed, "loss 2%", NULL);
        CHECK(plausible(loss.dropped_by_loss, 20000));
        CHECK(loss.delivered + loss.dropped_by_loss == MANY);
        CHECK(plausible(stats_after_many(seed, "reorder 1% by 5us", NULL).reordered, 10000));
        CHECK(plausible(stats_after_many(seed, "duplicate 0.5%", NULL).duplicated, 5000));
        CHECK(plausible(stats_after_many(seed, "corrupt 0.05%", NULL).corrupted, 500));
        CHECK(plausible(stats_after_many(seed, "drop chance=30%", NULL).dropped_by_rule, 300000));
    }
}

static void nothing_and_everything_are_exact(void)
{
    CHECK(stats_after_many(1, "loss 0%", NULL).dropped_by_loss == 0);
    CHECK(stats_after_many(1, "loss 100%", NULL).dropped_by_loss == MANY);
    CHECK(stats_after_many(1, "duplicate 100%", NULL).delivered == 2 * MANY);
    CHECK(!fw_chance(0, 0) && fw_chance(UINT64_MAX, FW_PPB_ALWAYS)); /* the least and the largest draw */
}

static void losses_are_independent_of_each_other(void)
{
    flakeway *engine = engine_with(3, "loss 10%", NULL);
    test_packet packet = simple_packet(6, 100);
    unsigned after_loss = 0;
    unsigned both = 0;
    bool lost_before = false;
    for (unsigned i = 0; i < MANY; i++) {
        uint64_t before = flakeway_get_stats(engine, A_TO_B)->dropped_by_loss;
        offer(engine, A_TO_B, &packet, i);
        bool lost = flakeway_get_stats(engine, A_TO_B)->dropped_by_loss > before;
        after_loss += lost_before;
        both += lost_before && lost;
        lost_before = lost;
    }
    /* 20,000 losses; 2,000 of them straight after another one, standard deviation 42 */
    CHECK(both > 1790 && both < 2210);
    CHECK(plausible(after_loss, 100000));
    flakeway_free(engine);
}

/* ---- repetition ------------------------------------------------------------------------------------------- */

/* The fate of 300 packets a>b, with b>a traffic between them when `with_reverse`. */
static void fates(uint64_t seed, const char *first, const char *second, bool with_reverse, char *out, size_t capacity)
{
    flakeway *engine = engine_with(seed, first, second);
    test_packet packet = simple_packet(6, 100);
    size_t used = 0;
    for (unsigned i = 0; i < 300; i++) {
        uint64_t before = flakeway_get_stats(engine, A_TO_B)->delivered;
        flakeway_released released;
        offer(engine, A_TO_B, &packet, i);
        for (unsigned k = 0; with_reverse && k < i % 3; k++)
            offer(engine, B_TO_A, &packet, i);
        while (flakeway_release(engine, i, &released)) {
        }
        uint64_t count = flakeway_get_stats(engine, A_TO_B)->delivered - before;
        used += (size_t)snprintf(out + used, capacity - used, "%u", (unsigned)count);
    }
    flakeway_free(engine);
}

static void a_seed_repeats_itself_and_another_does_not(void)
{
    char one[400];
    char two[400];
    char other[400];
    fates(42, "loss 10%", "duplicate 10%", false, one, sizeof one);
    fates(42, "loss 10%", "duplicate 10%", false, two, sizeof two);
    fates(43, "loss 10%", "duplicate 10%", false, other, sizeof other);
    CHECK_TEXT(two, one);
    CHECK(strcmp(other, one) != 0);
}

static void one_directions_packets_do_not_change_the_others_fate(void)
{
    char alone[400];
    char together[400];
    fates(42, "loss 10%", "drop chance=10%", false, alone, sizeof alone);
    fates(42, "loss 10%", "drop chance=10%", true, together, sizeof together);
    CHECK_TEXT(together, alone);
}

static void the_directions_have_luck_of_their_own(void)
{
    flakeway *engine = engine_with(42, "loss 50%", NULL);
    test_packet packet = simple_packet(6, 100);
    unsigned alike = 0;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t lost[2];
        for (unsigned k = 0; k < 2; k++) {
            lost[k] = flakeway_get_stats(engine, (enum flakeway_direction)k)->dropped_by_loss;
            offer(engine, (enum flakeway_direction)k, &packet, i);
            lost[k] = flakeway_get_stats(engine, (enum flakeway_direction)k)->dropped_by_loss - lost[k];
        }
        alike += lost[0] == lost[1];
    }
    CHECK(alike > 420 && alike < 580); /* 500, five standard deviations of 16 */
    flakeway_free(engine);
}

static void another_rate_does_not_change_who_is_lost(void)
{
    char loss_only[400];
    char with_corruption[400];
    fates(42, "loss 10%", NULL, false, loss_only, sizeof loss_only);
    fates(42, "loss 10%", "corrupt 50%", false, with_corruption, sizeof with_corruption);
    CHECK_TEXT(with_corruption, loss_only);
}

/* ---- time ------------------------------------------------------------------------------------------------- */

static void reordered_packets_arrive_later_by_what_was_said(void)
{
    flakeway *engine = engine_with(1, "reorder 100% by 30us a>b", "latency 100us");
    test_packet packet = simple_packet(6, 125);
    offer(engine, A_TO_B, &packet, 0);
    offer(engine, B_TO_A, &packet, 10);
    CHECK(flakeway_add(engine, "reorder 100%", NULL) == 0); /* 5 ms when none is stated */
    offer(engine, A_TO_B, &packet, 20);
    CHECK_TEXT(released_text(engine), "2@110 1@130 3@5120");
    flakeway_free(engine);
}

static void jitter_stays_within_its_bounds_and_keeps_the_order(void)
{
    flakeway *engine = engine_with(5, "latency 100us", "jitter 50us");
    test_packet packet = simple_packet(6, 100);
    flakeway_released released;
    uint64_t last_id = 0;
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (unsigned i = 0; i < 4000; i++)
        offer(engine, A_TO_B, &packet, i < 2000 ? i * 7 : i * 60); /* close to each other, then far apart */
    while (flakeway_release(engine, FLAKEWAY_NEVER, &released)) {
        uint64_t took = released.release_us - released.offered_us;
        CHECK(released.id == ++last_id);
        least = took < least ? took : least;
        most = took > most ? took : most;
    }
    CHECK(least == 100 && most == 150);
    flakeway_free(engine);
}

static void a_link_spaces_packets_by_their_size_and_its_rate(void)
{
    /* 125 bytes at 1 Mbit/s take 1000 us */
    CHECK_PATH("rate 1Mbit", "latency 5ms", "125@0 125@0 125@0 125@10000", "1@6000 2@7000 3@8000 4@16000");
}

static void a_rate_that_does_not_divide_evenly_is_kept_in_the_long_run(void)
{
    flakeway *engine = engine_with(1, "rate 7Mbit", "queue 1000000packets");
    test_packet packet = simple_packet(6, 1000);
    flakeway_released released;
    uint64_t last_us = 0;
    for (unsigned i = 0; i < 7000; i++)
        offer(engine, A_TO_B, &packet, 0);
    while (flakeway_release(engine, FLAKEWAY_NEVER, &released))
        last_us = released.release_us;
    CHECK(last_us >= 8000000 && last_us <= 8000008); /* 56 Mbit, rounded up by less than 1 ns a packet */
    flakeway_free(engine);
}

static void a_full_queue_drops_the_newcomer(void)
{
    flakeway *engine = engine_with(1, "rate 1Mbit", "queue 2packets");
    offer_all(engine, "125@0 125@0 125@0 125@0 125@0"); /* one is being sent, two wait */
    offer_all(engine, "125@1000 125@1000");             /* the first has left: a place is free */
    CHECK_TEXT(released_text(engine), "1@1000 2@2000 3@3000 6@4000");
    CHECK(flakeway_get_stats(engine, A_TO_B)->dropped_by_queue == 3);
    flakeway_free(engine);
}

static void a_queue_in_bytes_counts_bytes(void)
{
    /* The fourth: 150 + 125 > 250 */
    CHECK_PATH("rate 1Mbit", "queue 250B", "125@0 125@0 25@0 125@0 25@0", "1@1000 2@2000 3@2200 5@2400");
}

/* 100 bytes take 800 us at 1 Mb/s. The fourth and fifth would wait 2.4 ms and longer for their turn. */
static void a_queue_in_time_counts_the_wait(void)
{
    flakeway *engine = engine_with(1, "rate 1Mbit", "queue 2ms");
    const uint8_t bytes[100] = {0};
    const flakeway_packet packet = {.bytes = bytes, .length = sizeof bytes};
    for (int i = 0; i < 5; i++)
        flakeway_offer(engine, A_TO_B, &packet, 0);
    CHECK(flakeway_get_stats(engine, A_TO_B)->dropped_by_queue == 2);
    flakeway_offer(engine, A_TO_B, &packet, 400); /* the line is free at 2400 us: exactly 2 ms */
    CHECK(flakeway_get_stats(engine, A_TO_B)->dropped_by_queue == 2);
    flakeway_offer(engine, A_TO_B, &packet, 1199); /* now at 3200 us */
    CHECK(flakeway_get_stats(engine, A_TO_B)->dropped_by_queue == 3);
    flakeway_free(engine);
}

static void a_rule_sees_only_what_the_queue_let_through(void)
{
    flakeway *engine = engine_with(1, "rate 1Mbit", "queue 0packets");
    CHECK(flakeway_add(engine, "drop nth=2", NULL) == 1);
    offer_all(engine, "125@0 125@500 125@1000 125@1500 125@2000 125@2500"); /* every other one finds the line busy */
    CHECK_TEXT(released_text(engine), "1@1000 5@3000");
    flakeway_free(engine);
}

static void rates_can_change_while_packets_fly(void)
{
    flakeway *engine = engine_with(1, "latency 100us", NULL);
    test_packet packet = simple_packet(6, 125);
    offer(engine, A_TO_B, &packet, 0);
    CHECK(flakeway_add(engine, "latency 10us a>b", NULL) == 0);
    offer(engine, A_TO_B, &packet, 50);
    offer(engine, B_TO_A, &packet, 50);
    CHECK_TEXT(released_text(engine), "2@60 1@100 3@150");
    flakeway_free(engine);
}

int main(void)
{
    RUN(rates_hit_as_often_as_they_say);
    RUN(nothing_and_everything_are_exact);
    RUN(losses_are_independent_of_each_other);
    RUN(a_seed_repeats_itself_and_another_does_not);
    RUN(one_directions_packets_do_not_change_the_others_fate);
    RUN(another_rate_does_not_change_who_is_lost);
    RUN(the_directions_have_luck_of_their_own);
    RUN(reordered_packets_arrive_later_by_what_was_said);
    RUN(jitter_stays_within_its_bounds_and_keeps_the_order);
    RUN(a_link_spaces_packets_by_their_size_and_its_rate);
    RUN(a_rate_that_does_not_divide_evenly_is_kept_in_the_long_run);
    RUN(a_full_queue_drops_the_newcomer);
    RUN(a_queue_in_bytes_counts_bytes);
    RUN(a_queue_in_time_counts_the_wait);
    RUN(a_rule_sees_only_what_the_queue_let_through);
    RUN(rates_can_change_while_packets_fly);
    return failures != 0;
}
