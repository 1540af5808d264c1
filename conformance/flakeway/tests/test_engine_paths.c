/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lines and paths do beside rates: framing, cells, frames, fragments, bursty loss, delays that reorder. */
#include "random.h"
#include "testing.h"

#define MANY 200000u

static void framing_is_paid_for_by_every_packet(void)
{
    /* 125 + 25 bytes at 1 Mbit/s take 1200 us */
    CHECK_PATH("rate 1Mbit", "framing 25B", "125@0 125@0", "1@1200 2@2400");
}

static void cells_are_sent_whole(void)
{
    /* 97 bytes need 3 cells of 53: 159 bytes, 1272 us at 1 Mbit/s; 96 bytes need 2: 848 us */
    CHECK_PATH("rate 1Mbit", "cells 48/53", "97@0 96@0", "1@1272 2@2120");
}

static void cells_that_came_in_one_by_one_have_begun_to_leave(void)
{
    /* 2 cells are 424 us at 2 Mbit/s and 848 us at 1 Mbit/s: at 424 us the first has left, and at 848 us both have */
    CHECK_PATH("rate 1Mbit", "cells 48/53 from 2Mbit", "96@424", "1@848");
}

static void a_queue_in_cells_takes_packets_that_fit_whole(void)
{
    flakeway *engine = engine_with(1, "rate 1Mbit", "cells 48/53");
    CHECK(flakeway_add(engine, "queue 5cells", NULL) == 0); /* and one that is being sent: three packets of two */
    offer_all(engine, "96@0 96@0 96@0 96@0 96@0");
    CHECK_TEXT(released_text(engine), "1@848 2@1696 3@2544");
    CHECK(flakeway_get_stats(engine, A_TO_B)->dropped_by_queue == 2);
    flakeway_free(engine);
}

static void packets_wait_for_a_frame_with_room(void)
{
    /* A frame of 2000 bits each millisecond takes two packets of 1000 bits, and leaves when its time is over. */
    CHECK_PATH("frames 1ms 2000bits", NULL, "125@10 125@900 125@900 125@900 125@900 125@7500",
               "1@2000 2@2000 3@3000 4@3000 5@4000 6@9000");
}

static void a_packet_larger_than_a_frame_takes_several(void)
{
    /* 1000 bits: three frames. 200 bits of the third are free, but it is no room for another. */
    CHECK_PATH("frames 1ms 400bits", NULL, "125@0 125@0", "1@3000 2@6000");
}

static void fragments_pay_their_own_headers_and_arrive_together(void)
{
    /* 300 bytes over 156: 20+136, 20+136, 20+8 bytes, so 340 in all, and 2720 us at 1 Mbit/s */
    CHECK_PATH("rate 1Mbit", "mtu 156B", "300@0 156@10000", "1@2720 2@11248");
}

static void a_packet_is_lost_with_any_of_its_fragments(void)
{
    flakeway *engine = engine_with(7, "loss 10%", "mtu 156B");
    test_packet packet = simple_packet(6, 300);
    for (unsigned i = 0; i < MANY; i++)
        offer(engine, A_TO_B, &packet, i);
    double lost = (double)flakeway_get_stats(engine, A_TO_B)->dropped_by_loss / MANY;
    CHECK(lost > 0.2655 && lost < 0.2765); /* 1 - 0.9^3 = 0.271, five standard deviations of 0.001 */
    flakeway_free(engine);
}

static void only_fragmented_packets_are_late(void)
{
    CHECK_PATH("latency 1ms", "mtu 156B late 600us 100%", "300@0 100@0", "2@1000 1@1600");
}

/* Losses, and how often one follows another at once. */
static void count_bursts(const char *line, unsigned *lost, unsigned *pairs)
{
    flakeway *engine = engine_with(11, line, NULL);
    test_packet packet = simple_packet(6, 100);
    bool before = false;
    *lost = *pairs = 0;
    for (unsigned i = 0; i < MANY; i++) {
        uint64_t was = flakeway_get_stats(engine, A_TO_B)->dropped_by_loss;
        offer(engine, A_TO_B, &packet, i);
        bool now = flakeway_get_stats(engine, A_TO_B)->dropped_by_loss > was;
        *lost += now;
        *pairs += now && before;
        before = now;
    }
    flakeway_free(engine);
}

static void bursty_loss_loses_as_much_as_it_says_and_in_bursts(void)
{
    unsigned lost;
    unsigned pairs;
    count_bursts("gilbert 1% 19%", &lost, &pairs); /* bad for 1/20 of the time, each time for 5.26 packets */
    CHECK(lost > MANY * 0.045 && lost < MANY * 0.055);
    CHECK(pairs > lost * 0.79 && pairs < lost * 0.83); /* it stays bad with 0.81 */
    count_bursts("gilbert 1% 19% bad=50% good=1%", &lost, &pairs);
    CHECK(lost > MANY * 0.0315 && lost < MANY * 0.0375); /* 0.05 / 2 + 0.95 / 100 = 0.0345 */
    CHECK(pairs < lost / 2);
}

static void spread_delays_by_its_distribution_and_reorders(void)
{
    static const struct {
        const char *line;
        double mean_us;
    } spreads[] = {{"spread 1ms", 500}, {"spread 1ms exponential", 1000}, {"spread 1ms normal", 797.9}};
    for (unsigned kind = 0; kind < 3; kind++) {
        flakeway *engine = engine_with(3, spreads[kind].line, NULL);
        test_packet packet = simple_packet(6, 100);
        flakeway_released released;
        double sum = 0;
        uint64_t last = 0;
        unsigned overtaken = 0;
        for (unsigned i = 0; i < MANY / 10; i++)
            offer(engine, A_TO_B, &packet, i);
        while (flakeway_release(engine, FLAKEWAY_NEVER, &released)) {
            sum += (double)(released.release_us - released.offered_us);
            overtaken += released.id < last;
            last = released.id;
        }
        const unsigned count = MANY / 10;
        double mean = sum / count;
        CHECK(mean > spreads[kind].mean_us * 0.95 && mean < spreads[kind].mean_us * 1.05);
        CHECK(overtaken > 1000);
        flakeway_free(engine);
    }
}

static void path_settings_change_nobody_elses_luck(void)
{
    uint64_t lost[2];
    for (unsigned with = 0; with < 2; with++) {
        flakeway *engine = engine_with(5, "loss 5%", with ? "spread 1ms exponential" : NULL);
        test_packet packet = simple_packet(6, 100);
        lost[with] = 0;
        for (unsigned i = 0; i < 1000; i++) {
            uint64_t before = flakeway_get_stats(engine, A_TO_B)->dropped_by_loss;
            offer(engine, A_TO_B, &packet, i);
            lost[with] = lost[with] * 31 + (flakeway_get_stats(engine, A_TO_B)->dropped_by_loss > before);
        }
        flakeway_free(engine);
    }
    CHECK(lost[0] == lost[1]);
}

static void what_cannot_be_is_refused(void)
{
    static const struct {
        const char *line;
        unsigned column;
    } bad[] = {{"framing 25", 9},       {"cells 48", 7},       {"cells 53/48", 7},         {"frames 1ms", 11},
               {"frames 0ms 8bits", 8}, {"mtu 67B", 5},        {"mtu 1476B late 5ms", 19}, {"gilbert 1%", 11},
               {"spread 1ms wild", 12}, {"loss 1% bad=5%", 9}, {"queue 5sells", 7}};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        flakeway *engine = flakeway_new(1);
        flakeway_error error = {0};
        CHECK(flakeway_add(engine, bad[i].line, &error) == -1);
        if (error.column != bad[i].column || error.message[0] == '\0') {
            fprintf(stderr, "%s: column %u, %s\n", bad[i].line, error.column, error.message);
            failures++;
        }
        flakeway_free(engine);
    }
}

static void a_draw_below_a_bound_of_more_than_32_bits_reaches_all_of_it(void)
{
    const uint64_t day_us = 86400000000u;
    CHECK(fw_below(UINT64_MAX, day_us) == day_us - 1);
    CHECK(fw_below(0, day_us) == 0);
    CHECK(fw_below(UINT64_C(1) << 63, day_us) == day_us / 2);
    CHECK(fw_below(UINT64_MAX, UINT64_C(1) << 32) == UINT32_MAX);
}

int main(void)
{
    RUN(a_draw_below_a_bound_of_more_than_32_bits_reaches_all_of_it);
    RUN(framing_is_paid_for_by_every_packet);
    RUN(cells_are_sent_whole);
    RUN(cells_that_came_in_one_by_one_have_begun_to_leave);
    RUN(a_queue_in_cells_takes_packets_that_fit_whole);
    RUN(packets_wait_for_a_frame_with_room);
    RUN(a_packet_larger_than_a_frame_takes_several);
    RUN(fragments_pay_their_own_headers_and_arrive_together);
    RUN(a_packet_is_lost_with_any_of_its_fragments);
    RUN(only_fragmented_packets_are_late);
    RUN(bursty_loss_loses_as_much_as_it_says_and_in_bursts);
    RUN(spread_delays_by_its_distribution_and_reorders);
    RUN(path_settings_change_nobody_elses_luck);
    RUN(what_cannot_be_is_refused);
    return failures != 0;
}
