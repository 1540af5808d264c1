/* SPDX-License-Identifier: BSD-2-Clause */
/* START of automatic rate control: what the first buffer shows, and what may be requested before the first OK. */
#include "check.h"
#include "rate/rate_pair.h"
#include "rate_begin.h"

#define MS UINT64_C(1000)
#define SECOND UINT64_C(1000000)
#define BUFFER 90
#define FIRST_PAIR ((struct nb_burst){48, 15})

static struct nb_rate_control begun(void)
{
    struct nb_rate_control rate;
    rate_begin(&rate, NETBLT_RATE_AUTO, FIRST_PAIR, BUFFER, 1e12, 7);
    nb_rate_control_round_trip(&rate, 100 * MS, 0);
    return rate;
}

/* `packets` arrive `distance_us` apart, from `from` on; returns when the next one would. */
static netblt_time arrive(struct nb_rate_control *rate, enum nb_rate_arrival kind, unsigned packets,
                          netblt_time distance_us, netblt_time from)
{
    for (unsigned i = 0; i < packets; i++, from += distance_us)
        nb_rate_control_arrival(rate, kind, rate->next_position, from);
    return from;
}

/* The rate of the OK for the first buffer, whose bursts arrive with so many microseconds between packets. */
static double first_offer(netblt_time distance_us, netblt_time second_burst_after_us)
{
    struct nb_rate_control rate = begun();
    arrive(&rate, NB_RATE_FRESH, 48, distance_us, SECOND);
    netblt_time now = arrive(&rate, NB_RATE_FRESH, BUFFER - 48, distance_us, SECOND + second_burst_after_us);
    return nb_pair_rate(nb_rate_control_offer(&rate, 1, now));
}

static void two_bursts_show_a_faster_link(void)
{
    CHECK(first_offer(120, 15 * MS) >= 0.85 * 0.95 * 1e6 / 120); /* a rough pair will do */
    CHECK(first_offer(120, 15 * MS) <= 0.96 * 1e6 / 120);
    CHECK(first_offer(12, 15 * MS) >= 0.85 * 0.95 * 1e6 / 12); /* 1 Gb/s */
}

/* Packets in a row come 120 us apart, so what comes less than was offered comes late from the sender. */
static void a_late_second_burst_is_no_slower_link(void)
{
    CHECK(first_offer(120, 40 * MS) >= 0.85 * 0.95 * 1e6 / 120);
    struct nb_rate_control rate = begun();
    arrive(&rate, NB_RATE_FRESH, 48, 120, SECOND);
    arrive(&rate, NB_RATE_FRESH, BUFFER - 48, 120, SECOND + 40 * MS);
    CHECK(nb_rate_control_credit(&rate, 1000) > 3);
}

/* The same, but the round trip shows a queue. */
static void a_late_second_burst_behind_a_queue_may_be_the_path(void)
{
    struct nb_rate_control rate = begun();
    for (unsigned i = 0; i < 8; i++)
        nb_rate_control_round_trip(&rate, 150 * MS, SECOND - (8 - i) * 30 * MS);
    arrive(&rate, NB_RATE_FRESH, 48, 120, SECOND);
    netblt_time now = arrive(&rate, NB_RATE_FRESH, BUFFER - 48, 120, SECOND + 40 * MS);
    CHECK(nb_pair_rate(nb_rate_control_offer(&rate, 1, now)) <= 3200);
}

static void one_buffer_shows_a_slower_link(void)
{
    double offer = first_offer(1200, 48 * 1200); /* bursts have become one row */
    CHECK(offer >= 0.9 * 1e6 / 1200);
    CHECK(offer <= 1e6 / 1200);
}

/* A sender may space its packets, and the link may carry just what was offered. */
static void a_row_as_fast_as_the_offer_shows_little(void)
{
    struct nb_rate_control rate;
    rate_begin(&rate, NETBLT_RATE_AUTO, (struct nb_burst){16, 5}, BUFFER, 1e12, 7);
    nb_rate_control_round_trip(&rate, 100 * MS, 0);
    netblt_time now = arrive(&rate, NB_RATE_FRESH, BUFFER, 312, SECOND);
    double offer = nb_pair_rate(nb_rate_control_offer(&rate, 1, now));
    CHECK(offer >= 1.8 * 3200);
    CHECK(offer <= 2 * 3200);
}

/* The rate that a train 120 us apart shows when its last packet comes so much after the one before. */
static double with_last_packet_after(netblt_time distance_us)
{
    struct nb_rate_trains trains = {0};
    for (unsigned i = 0; i < 47; i++)
        nb_rate_trains_add(&trains, true, 7500, SECOND + (netblt_time)i * 120);
    nb_rate_trains_add(&trains, true, 7500, SECOND + UINT64_C(46) * 120 + distance_us);
    return nb_rate_trains_rough_rate(&trains);
}

static void a_packet_that_the_network_delays_makes_no_train_longer(void)
{
    CHECK(with_last_packet_after(5000) > 0.99 * 1e6 / 120);
    CHECK(with_last_packet_after(1800) > 0.99 * 1e6 / 120);
    CHECK(with_last_packet_after(1200) < 0.9 * 1e6 / 120); /* a host may have been busy: others in the train make up */
}

/* Ten packets at each look, as a busy host reads them where the kernel notes no times: no train can be timed. A queue
 * of 100 ms would lose packets long before the round trip shows it. */
static void a_short_path_that_carries_less_twice_is_at_its_limit_though_no_train_is_seen(void)
{
    struct nb_rate_control rate;
    rate_begin(&rate, NETBLT_RATE_AUTO, FIRST_PAIR, BUFFER, 1e12, 7);
    nb_rate_control_round_trip(&rate, 4 * MS, 0);
    netblt_time now = SECOND;
    double offer = 0;
    for (uint16_t seq = 1; seq <= 4; seq++) {
        for (unsigned look = 0; look < 2 * BUFFER / 10; look++)
            arrive(&rate, NB_RATE_FRESH, 10, 0, now += seq == 1 ? 3125 : 1200); /* 3200 packets a second, then 8333 */
        offer = nb_pair_rate(nb_rate_control_offer(&rate, seq, now));
        CHECK(offer <= 4.1 * 3200);
        nb_rate_control_acked(&rate, seq);
    }
    CHECK(offer <= 1.1 * 1e6 / 120);
}

/* The path carries 833 packets a second. Some of the first buffer are lost and have to be requested, one after the
 * other: on average so much less arrives than the row at the begin shows that the average confirms nothing. */
static double offer_while_retransmissions_are_awaited(netblt_time round_trip_us)
{
    struct nb_rate_control rate;
    rate_begin(&rate, NETBLT_RATE_AUTO, FIRST_PAIR, BUFFER, 1e12, 7);
    nb_rate_control_round_trip(&rate, round_trip_us, 0);
    netblt_time now = arrive(&rate, NB_RATE_FRESH, 30, 1200, SECOND);
    double offer = 0;
    for (uint16_t seq = 1; seq <= 2; seq++) { /* a first measurement may be an accident */
        now = arrive(&rate, NB_RATE_REQUESTED, 8, 70 * MS, now);
        offer = nb_pair_rate(nb_rate_control_offer(&rate, seq, now));
    }
    return offer;
}

static void rows_slower_than_the_offer_end_START_though_retransmissions_are_awaited(void)
{
    CHECK(offer_while_retransmissions_are_awaited(100 * MS) <= 1e6 / 1200);
    CHECK(offer_while_retransmissions_are_awaited(100 * MS) >= 0.85 * 1e6 / 1200);
    CHECK(offer_while_retransmissions_are_awaited(5 * MS) <= 1e6 / 1200);
}

/* Another flow has half of the link. Its packets are between our bursts, so our rows are as fast as the link. */
static void less_than_an_offer_as_fast_as_the_rows_is_the_path_and_no_late_sender(void)
{
    struct nb_rate_control rate = begun();
    arrive(&rate, NB_RATE_FRESH, 48, 120, SECOND);
    netblt_time now = arrive(&rate, NB_RATE_FRESH, BUFFER - 48, 120, SECOND + 15 * MS);
    double offer = nb_pair_rate(nb_rate_control_offer(&rate, 1, now));
    CHECK(offer >= 0.85 * 1e6 / 120);
    nb_rate_control_acked(&rate, 1);
    for (uint16_t seq = 2; seq <= 3; seq++) { /* seen twice */
        for (unsigned burst = 0; burst < 8; burst++, now += 8 * MS)
            arrive(&rate, NB_RATE_FRESH, 32, 120, now); /* 4000 a second */
        offer = nb_pair_rate(nb_rate_control_offer(&rate, seq, now));
    }
    CHECK(offer <= 1.1 * 4000);
}

/* The hosts are the limit there, and delay packets for a millisecond or two without a queue in the path. */
static void on_a_near_path_START_goes_on_though_less_than_the_offer_arrives_twice(void)
{
    struct nb_rate_control rate;
    rate_begin(&rate, NETBLT_RATE_AUTO, FIRST_PAIR, BUFFER, 1e12, 7);
    nb_rate_control_round_trip(&rate, 100, 0);
    netblt_time now = SECOND;
    double offer = 0;
    for (uint16_t seq = 1; seq <= 8; seq++) {
        for (unsigned i = 0; i < 8; i++)
            nb_rate_control_round_trip(&rate, 1800, now + i);
        for (unsigned look = 0; look < 4 * BUFFER / 10; look++)
            arrive(&rate, NB_RATE_FRESH, 10, 0, now += 1000); /* 10000 a second */
        offer = nb_pair_rate(nb_rate_control_offer(&rate, seq, now));
        nb_rate_control_acked(&rate, seq);
    }
    CHECK(offer >= 8 * 10000);
}

static void few_packets_make_no_rough_rate(void)
{
    struct nb_rate_trains trains = {0};
    for (unsigned i = 0; i < 24; i++)
        nb_rate_trains_add(&trains, true, 7500, SECOND + (uint64_t)i * 120);
    CHECK_EQUAL(nb_rate_trains_rough_rate(&trains), 0); /* 23 distances */
    nb_rate_trains_add(&trains, true, 7500, SECOND + 24 * 120);
    CHECK(nb_rate_trains_rough_rate(&trains) > 0);
}

/* A queue of eight packets: the others are requested, and lost, again and again. */
static void when_most_of_the_buffer_had_to_be_requested_the_offer_is_what_arrives(void)
{
    struct nb_rate_control rate = begun();
    netblt_time now = SECOND;
    arrive(&rate, NB_RATE_FRESH, 9, 12 * MS, now);
    for (unsigned i = 0; i < 9; i++)
        arrive(&rate, NB_RATE_REQUESTED, 9, 12 * MS, now += 250 * MS);
    now += 108 * MS;
    nb_rate_control_offer(&rate, 1, now);
    for (unsigned i = 0; i < 10; i++) /* once more, as the first measurement may be an accident */
        arrive(&rate, NB_RATE_REQUESTED, 9, 12 * MS, now += 250 * MS);
    CHECK(nb_pair_rate(nb_rate_control_offer(&rate, 2, now + 108 * MS)) <= 1.1 * 1000 / 12);
}

static void more_is_requested_before_the_first_OK_when_the_pair_fits_the_path(void)
{
    struct nb_rate_control rate = begun();
    arrive(&rate, NB_RATE_FRESH, 20, 120, SECOND);
    /* One is lost: the buffer's OK must wait for it. */
    nb_rate_control_arrival(&rate, NB_RATE_FRESH, rate.next_position + 1, SECOND + 21 * 120);
    arrive(&rate, NB_RATE_FRESH, 26, 120, SECOND + 22 * 120);
    CHECK_EQUAL(nb_rate_control_credit(&rate, 1000), 1);
    arrive(&rate, NB_RATE_FRESH, BUFFER - 48, 120, SECOND + 15 * MS);
    CHECK(nb_rate_control_credit(&rate, 1000) > 3);
}

static void nothing_more_is_requested_while_less_arrives(void)
{
    struct nb_rate_control rate = begun();
    arrive(&rate, NB_RATE_FRESH, BUFFER, 1200, SECOND);
    CHECK_EQUAL(nb_rate_control_credit(&rate, 1000), 1);
}

static void a_slower_offer_is_in_force_when_it_is_acknowledged(void)
{
    struct nb_rate_control rate = begun();
    netblt_time now = arrive(&rate, NB_RATE_FRESH, BUFFER, 1200, SECOND);
    struct nb_burst offer = nb_rate_control_offer(&rate, 1, now);
    CHECK(nb_pair_same(nb_rate_control_in_force(&rate), FIRST_PAIR));
    nb_rate_control_acked(&rate, 1);
    CHECK(nb_pair_same(nb_rate_control_in_force(&rate), offer));
}

static void a_faster_offer_is_in_force_with_the_next_buffer(void)
{
    struct nb_rate_control rate = begun();
    arrive(&rate, NB_RATE_FRESH, 48, 120, SECOND);
    netblt_time now = arrive(&rate, NB_RATE_FRESH, BUFFER - 48, 120, SECOND + 15 * MS);
    nb_rate_control_offer(&rate, 1, now);
    nb_rate_control_acked(&rate, 1);
    CHECK(nb_pair_same(nb_rate_control_in_force(&rate), FIRST_PAIR));
}

/* An earlier transfer has shown that the path carries the pair. */
static struct nb_rate_control begun_known(struct nb_burst pair, uint32_t buffer_packets)
{
    struct nb_rate_control rate;
    const struct nb_rate_setup setup = {.negotiated = pair,
                                        .buffer_packets = buffer_packets,
                                        .limit_rate = 1e12,
                                        .negotiated_is_known = true,
                                        .seed = 7};
    nb_rate_control_begin(&rate, nb_rate_controller_of(NETBLT_RATE_AUTO), &setup);
    nb_rate_control_round_trip(&rate, 100 * MS, 0);
    return rate;
}

static void a_round_trip_of_a_pair_that_is_known_is_requested_at_once(void)
{
    struct nb_rate_control rate = begun_known((struct nb_burst){60, 10}, BUFFER); /* 600 packets in a round trip */
    CHECK_EQUAL(nb_rate_control_credit(&rate, 1000), 600 / BUFFER + 1);
    CHECK_EQUAL(nb_rate_control_credit(&rate, 3), 3);
    rate = begun_known((struct nb_burst){100, 1}, BUFFER);
    CHECK_EQUAL(nb_rate_control_credit(&rate, 1000), NB_RATE_FIRST_BUFFERS);
    rate = begun_known((struct nb_burst){100, 1}, NB_RATE_FIRST_PACKETS / 4);
    CHECK_EQUAL(nb_rate_control_credit(&rate, 1000), 5);
}

static void when_a_known_pair_does_not_fit_any_more_nothing_more_is_requested_and_the_offer_is_what_arrives(void)
{
    struct nb_rate_control rate = begun_known((struct nb_burst){60, 10}, BUFFER);
    unsigned first = nb_rate_control_credit(&rate, 1000);
    netblt_time now = SECOND;
    for (unsigned i = 0; i < BUFFER; i++, now += 1700) { /* a tenth of the packets comes, at a tenth of the rate */
        CHECK_EQUAL(nb_rate_control_credit(&rate, 1000), first);
        nb_rate_control_arrival(&rate, NB_RATE_FRESH, rate.next_position + 9, now);
    }
    CHECK(nb_pair_rate(nb_rate_control_offer(&rate, 1, now)) <= 600);
}

int main(void)
{
    RUN(two_bursts_show_a_faster_link);
    RUN(a_late_second_burst_is_no_slower_link);
    RUN(a_late_second_burst_behind_a_queue_may_be_the_path);
    RUN(one_buffer_shows_a_slower_link);
    RUN(a_row_as_fast_as_the_offer_shows_little);
    RUN(a_packet_that_the_network_delays_makes_no_train_longer);
    RUN(a_short_path_that_carries_less_twice_is_at_its_limit_though_no_train_is_seen);
    RUN(rows_slower_than_the_offer_end_START_though_retransmissions_are_awaited);
    RUN(less_than_an_offer_as_fast_as_the_rows_is_the_path_and_no_late_sender);
    RUN(on_a_near_path_START_goes_on_though_less_than_the_offer_arrives_twice);
    RUN(few_packets_make_no_rough_rate);
    RUN(when_most_of_the_buffer_had_to_be_requested_the_offer_is_what_arrives);
    RUN(more_is_requested_before_the_first_OK_when_the_pair_fits_the_path);
    RUN(nothing_more_is_requested_while_less_arrives);
    RUN(a_slower_offer_is_in_force_when_it_is_acknowledged);
    RUN(a_faster_offer_is_in_force_with_the_next_buffer);
    RUN(a_round_trip_of_a_pair_that_is_known_is_requested_at_once);
    RUN(when_a_known_pair_does_not_fit_any_more_nothing_more_is_requested_and_the_offer_is_what_arrives);
    return 0;
}
