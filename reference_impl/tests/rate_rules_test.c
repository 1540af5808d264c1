/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of rates and long round trips against a scripted peer. Standard buffers: 4 packets of 100 bytes. */
#include "check.h"
#include "control/control_queue.h"
#include "control/timers.h"
#include "peer.h"
#include "rate/pacing.h"
#include "rate/rate_control.h"
#include "rate_begin.h"
#include "receiver_peer.h"

/* ---- the sender ------------------------------------------------------------------------------------------------ */

/* Our end sends, its pair is 4 packets every 100 ms; the peer's OK for buffer 0 offers another. */
static void offer_pair(struct peer *peer, enum netblt_rate rate, uint64_t limit_bps, unsigned size, unsigned interval)
{
    struct forged control;
    peer_init(peer, NETBLT_SENDER, true);
    peer->options.rate = rate;
    peer->options.rate_limit_bps = limit_bps;
    peer->params.burst_size = 4;
    peer->params.burst_interval_ms = 100;
    peer->params.max_buffers = 8;
    peer->size = 400 * 8;
    peer_open(peer);
    forge(peer, &control, CONTROL);
    for (unsigned i = 0; i < 8; i++)
        forge_go(&control, i + 1, i);
    peer_send(peer, &control);
    peer_mark(peer);
    forge(peer, &control, CONTROL);
    forge_ok(&control, 9, 0, size, interval, 100);
    peer_send(peer, &control);
}

static void AMB_43_an_automatic_sender_takes_an_offer_beyond_the_negotiated_pair(void)
{
    struct peer peer;
    offer_pair(&peer, NETBLT_RATE_AUTO, 0, 28, 10);
    peer_wait(&peer, 120 * MS);
    CHECK_EQUAL(peer_count_data(&peer), 28);
    for (size_t i = 0; i < peer_count(&peer, NULL_ACK); i++)
        CHECK_EQUAL(peer_nth(&peer, NULL_ACK, i)->high_seq < 9, 0);
    peer_free(&peer);
}

/* Buffers 2 to 7 were sent and are wanted again: the offer is not kept waiting for a buffer that may not come for long.
 */
static void AMB_43_with_only_retransmissions_left_a_faster_pair_holds_at_once(void)
{
    static const uint16_t all[] = {0, 1, 2, 3};
    struct peer peer;
    struct forged control;
    offer_pair(&peer, NETBLT_RATE_AUTO, 0, 4, 100);
    peer_wait(&peer, 900 * MS);
    peer_mark(&peer);
    forge(&peer, &control, CONTROL);
    for (unsigned i = 2; i < 8; i++)
        forge_resend(&control, 8 + i, i, all, 4);
    peer_send(&peer, &control);
    forge(&peer, &control, CONTROL);
    forge_ok(&control, 16, 1, 28, 10, 100);
    peer_send(&peer, &control);
    peer_wait(&peer, 220 * MS); /* at the old pair: 500 ms */
    CHECK_EQUAL(peer_count_data(&peer), 24);
    peer_free(&peer);
}

static void the_client_sees_the_pair_of_now_beside_the_negotiated_one(void)
{
    struct peer peer;
    offer_pair(&peer, NETBLT_RATE_AUTO, 0, 28, 10);
    const netblt_info *info = peer_info(&peer);
    CHECK_EQUAL(info->negotiated.burst_interval_ms, 100);
    CHECK_EQUAL(info->burst_size, 28);
    CHECK_EQUAL(info->burst_interval_ms, 10);
    peer_free(&peer);
    offer_pair(&peer, NETBLT_RATE_FIXED, 0, 28, 10);
    CHECK_EQUAL(peer_info(&peer)->burst_size, 4); /* restricted: NEG-09 */
    CHECK_EQUAL(peer_info(&peer)->burst_interval_ms, 100);
    peer_free(&peer);
}

static void NEG_09_a_fixed_sender_restricts_the_same_offer_to_its_own_pair_and_says_so(void)
{
    struct peer peer;
    offer_pair(&peer, NETBLT_RATE_FIXED, 0, 28, 10);
    const struct seen *report = peer_nth(&peer, NULL_ACK, 0);
    CHECK_EQUAL(report->high_seq, 9);
    CHECK_EQUAL(peer_get16(report->bytes + 14), 4);
    CHECK_EQUAL(peer_get16(report->bytes + 16), 100);
    peer_wait(&peer, 250 * MS);
    CHECK_EQUAL(peer_count_data(&peer), 8);
    peer_free(&peer);
}

static void NEG_09_an_automatic_senders_own_limit_restricts_the_offer_and_is_reported(void)
{
    struct peer peer;
    offer_pair(&peer, NETBLT_RATE_AUTO, 800 * 200, 28, 10); /* 200 packets of 100 bytes a second */
    const struct seen *report = peer_nth(&peer, NULL_ACK, 0);
    CHECK_EQUAL(report->high_seq, 9);
    CHECK_EQUAL(peer_get16(report->bytes + 14), 2);
    CHECK_EQUAL(peer_get16(report->bytes + 16), 10);
    peer_wait(&peer, 100 * MS);
    peer_mark(&peer);
    peer_wait(&peer, 40 * MS);
    CHECK_EQUAL(peer_count_data(&peer), 8);
    peer_free(&peer);
}

/* ---- the receiver ---------------------------------------------------------------------------------------------- */

static void fixed_parameters_are_offered_unchanged_however_slowly_data_comes(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, true);
    peer.params.max_buffers = 2;
    peer.params.burst_size = 3;
    peer.params.burst_interval_ms = 7;
    peer.size = 4000;
    begin(&peer, true);
    for (uint32_t buffer = 0; buffer < 10; buffer++) {
        peer_mark(&peer);
        peer_wait(&peer, 15 * MS); /* twice the interval */
        send_buffer(&peer, buffer, 2 + 2 * buffer, buffer == 9);
        peer_last_messages(&peer, messages, 128);
        CHECK_EQUAL(messages[0].type, OK);
        CHECK_EQUAL(messages[0].burst_size, 3);
        CHECK_EQUAL(messages[0].burst_interval_ms, 7);
    }
    peer_free(&peer);
}

static void TIMER_06_buffers_that_begin_never_push_a_waiting_timer_out(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, true);
    peer.params.max_buffers = 60;
    peer.params.burst_size = 4;
    peer.params.burst_interval_ms = 10;
    peer.size = 400 * 60;
    begin(&peer, true);
    peer_data(&peer, 0, 0, 60, false); /* buffer 0 waits for three packets, then for its RESEND */
    peer_wait(&peer, 50 * MS);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
    CHECK_EQUAL(messages[0].type, RESEND);
    peer_null_ack(&peer, messages[0].seq); /* the retransmissions are lost */
    unsigned asked = messages[0].seq;
    peer_mark(&peer);
    unsigned again = 0;
    for (uint32_t buffer = 1; buffer < 50; buffer++) { /* a buffer begins every 10 ms */
        peer_wait(&peer, 10 * MS);
        peer_data(&peer, buffer, 0, asked, false);
        for (size_t i = 0; i < peer_count(&peer, CONTROL); i++) {
            size_t count = peer_messages(peer_nth(&peer, CONTROL, i), messages, 128);
            for (size_t k = 0; k < count; k++)
                again += messages[k].type == RESEND && messages[k].buffer == 0;
        }
        if (again > 0)
            break;
    }
    CHECK(again > 0);
    peer_free(&peer);
}

static void TIMER_06_a_buffer_that_begins_hastens_those_below_that_lack_a_rest(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, true);
    peer.params.max_buffers = 40;
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 50; /* buffer 20 is due after more than four seconds */
    peer.size = 400 * 40;
    begin(&peer, true);
    peer_data(&peer, 20, 0, 40, false); /* the others were lost, or come in the wrong order */
    for (uint32_t buffer = 0; buffer < 20; buffer++)
        send_buffer(&peer, buffer, 40, false);
    peer_null_ack(&peer, 60); /* their OKs */
    peer_mark(&peer);
    peer_data(&peer, 21, 0, 60, false); /* all that there was of buffer 20 was sent before this */
    peer_wait(&peer, 400 * MS);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128) > 0, 1);
    bool asked = false;
    for (size_t i = 0; i < peer_count(&peer, CONTROL); i++) {
        size_t count = peer_messages(peer_nth(&peer, CONTROL, i), messages, 128);
        for (size_t k = 0; k < count; k++)
            asked = asked || (messages[k].type == RESEND && messages[k].buffer == 20);
    }
    CHECK(asked);
    peer_free(&peer);
}

/* ---- long round trips ------------------------------------------------------------------------------------------ */

static void OPEN_03_the_client_says_how_long_to_wait_for_a_RESPONSE(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.options.open_timeout_us = 2500 * SECOND;
    peer_start(&peer);
    peer_wait(&peer, 2500 * SECOND - 1);
    CHECK_EQUAL(peer.finished, 0);
    CHECK(peer_count(&peer, OPEN) > 8 && peer_count(&peer, OPEN) < 20); /* repeated ever more rarely */
    peer_wait(&peer, 1);
    CHECK_EQUAL(peer.finished, 1);
    CHECK_EQUAL(peer.result, NETBLT_UNREACHABLE);
    peer_free(&peer);
    peer_init(&peer, NETBLT_SENDER, true);
    peer.options.open_timeout_us = SECOND / 2; /* less than one retry */
    peer_start(&peer);
    peer_wait(&peer, SECOND / 2);
    CHECK_EQUAL(peer.result, NETBLT_UNREACHABLE);
    CHECK_EQUAL(peer.finished, 1);
    peer_free(&peer);
}

static void TIMER_03_a_guess_serves_until_the_first_true_round_trip(void)
{
    struct nb_control_timer timer;
    nb_control_timer_init(&timer, &netblt_profile_default, 7200 * SECOND, 0);
    CHECK(nb_control_timer_guess(&timer, 1200 * SECOND));
    CHECK(timer.value_us >= 1200 * SECOND && timer.value_us <= 1900 * SECOND); /* not clamped at 65535 ms ... */
    CHECK_EQUAL(nb_control_timer_published_ms(&timer), 65535);                 /* ... as the value in OKs is */
    CHECK(!nb_control_timer_guess(&timer, 5 * SECOND));
    nb_control_timer_sample(&timer, 50 * MS);
    CHECK_EQUAL(timer.value_us, 150 * MS); /* as if it were the first */
    CHECK(!nb_control_timer_guess(&timer, 5 * SECOND));
}

/* The round trip exceeds the initial control timer, so that every message was repeated before its ack came. */
static void TIMER_03_a_round_trip_longer_than_the_initial_timer_is_learnt_from_what_was_repeated(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.death_timer_s = 3600;
    peer_open(&peer);
    peer_wait(&peer, 300 * SECOND);
    CHECK(peer_count(&peer, CONTROL) > 10);
    peer_null_ack(&peer, (unsigned)peer_last_messages(&peer, messages, 128));
    CHECK_EQUAL(peer_info(&peer)->stats.round_trip_us, 300 * SECOND);
    peer_free(&peer);
}

static void RATE_02_mit1987_plans_each_burst_from_the_actual_start_of_the_one_before(void)
{
    struct nb_pacing pacing;
    netblt_time now = 5;
    nb_pacing_init(&pacing, (struct nb_burst){2, 40}, netblt_profile_mit1987.catch_up_max_us);
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(nb_pacing_begin(&pacing, now), 2);
        nb_pacing_sent(&pacing, 2);
        CHECK_EQUAL(nb_pacing_next(&pacing, now), now + 40 * MS);
        now += 40 * MS + 1 + (netblt_time)i * 7; /* late by so much */
    }
}

static void AMB_43_a_pair_is_slower_or_faster_as_a_whole(void)
{
    struct nb_pacing pacing;
    nb_pacing_init(&pacing, (struct nb_burst){25, 3}, 0);
    CHECK_EQUAL(nb_pacing_begin(&pacing, 0), 25);
    nb_pacing_sent(&pacing, 25);
    nb_pacing_settle(&pacing, (struct nb_burst){33, 4}); /* 1 % slower: from the next burst on, both fields */
    CHECK_EQUAL(nb_pacing_begin(&pacing, 3 * MS), 33);
    nb_pacing_sent(&pacing, 33);
    CHECK_EQUAL(nb_pacing_next(&pacing, 3 * MS), 7 * MS);
}

/* ---- what is offered and used, without a connection ------------------------------------------------------------ */

static void AMB_43_a_limit_turns_an_offer_without_pace_into_a_paced_one(void)
{
    bool restricted = false;
    struct nb_burst settled = rate_follow((struct nb_burst){100, 0}, (struct nb_burst){4, 100}, 2000, &restricted);
    CHECK(settled.size == 2 && settled.interval_ms == 1 && restricted);
    settled = rate_follow((struct nb_burst){100, 0}, (struct nb_burst){4, 100}, 250, &restricted);
    CHECK(settled.size == 1 && settled.interval_ms == 4 && restricted);
    settled = rate_follow((struct nb_burst){100, 0}, (struct nb_burst){4, 100}, 1e12, &restricted);
    CHECK(settled.size == 100 && settled.interval_ms == 0 && !restricted);
}

/* OK, not RESPONSE, brings it: what was negotiated is the peer's business until then. */
static void a_receiver_whose_limit_lies_below_the_negotiated_pair_offers_less_from_its_first_OK_on(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, true);
    peer.options.rate = NETBLT_RATE_AUTO;
    peer.options.rate_limit_bps = 800 * 200; /* 200 packets of 100 bytes a second */
    peer.params.burst_size = 8;
    peer.params.burst_interval_ms = 20;
    peer_open(&peer);
    unsigned gos = (unsigned)peer_last_messages(&peer, messages, 128);
    peer_null_ack(&peer, gos);
    peer_mark(&peer);
    send_buffer(&peer, 0, gos, false);
    peer_last_messages(&peer, messages, 128);
    CHECK_EQUAL(messages[0].type, OK);
    CHECK(messages[0].burst_size * 1000 <= 200 * messages[0].burst_interval_ms);
    CHECK(messages[0].burst_size * 1000 >= 100 * messages[0].burst_interval_ms);
    peer_free(&peer);
}

/* A number at random is that of a message which was never sent, or of one that was acknowledged before. */
static void NEG_09_a_null_ack_whose_number_is_not_current_restricts_nothing(void)
{
    static const unsigned numbers[] = {40000, 60000, 0};
    for (unsigned i = 0; i < 3; i++) {
        struct peer peer;
        struct forged packet;
        peer_init(&peer, NETBLT_RECEIVER, true);
        peer.options.rate = NETBLT_RATE_AUTO;
        peer.params.burst_size = 8;
        peer.params.burst_interval_ms = 20;
        peer_open(&peer);
        unsigned gos = (unsigned)peer_last_messages(&peer, messages, 128);
        peer_null_ack(&peer, gos);
        forge_null_ack(&peer, &packet, numbers[i], 1, 1000);
        peer_send(&peer, &packet);
        peer_mark(&peer);
        send_buffer(&peer, 0, gos, false);
        peer_last_messages(&peer, messages, 128);
        CHECK_EQUAL(messages[0].type, OK);
        CHECK(messages[0].burst_size >= 8 && messages[0].burst_interval_ms <= 20);
        peer_free(&peer);
    }
}

/* NEG-09 field by field: the sender took the longer interval as offered and shortened the burst alone, so the interval
 * is not its limit: 8 packets every 20 ms it had agreed to before. */
static void NEG_09_a_field_that_was_left_as_offered_is_no_limit_of_the_sender(void)
{
    struct nb_rate_control rate;
    rate_begin(&rate, NETBLT_RATE_AUTO, (struct nb_burst){8, 20}, 90, 1e12, 7);
    rate.state.automatic.offered = (struct nb_rate_offer){.seq = 5, .burst = {16, 60}};
    nb_rate_control_null_ack(&rate, 5, (struct nb_burst){8, 60});
    CHECK(rate.state.automatic.capped.size == 8 && rate.state.automatic.capped.interval_ms == 20);
    rate_begin(&rate, NETBLT_RATE_AUTO, (struct nb_burst){8, 20}, 90, 1e12, 7);
    rate.state.automatic.offered = (struct nb_rate_offer){.seq = 5, .burst = {4, 5}};
    nb_rate_control_null_ack(&rate, 5, (struct nb_burst){4, 20});
    CHECK(rate.state.automatic.capped.size == 8 && rate.state.automatic.capped.interval_ms == 20);
}

int main(void)
{
    RUN(AMB_43_an_automatic_sender_takes_an_offer_beyond_the_negotiated_pair);
    RUN(the_client_sees_the_pair_of_now_beside_the_negotiated_one);
    RUN(NEG_09_a_fixed_sender_restricts_the_same_offer_to_its_own_pair_and_says_so);
    RUN(NEG_09_an_automatic_senders_own_limit_restricts_the_offer_and_is_reported);
    RUN(fixed_parameters_are_offered_unchanged_however_slowly_data_comes);
    RUN(TIMER_06_buffers_that_begin_never_push_a_waiting_timer_out);
    RUN(TIMER_06_a_buffer_that_begins_hastens_those_below_that_lack_a_rest);
    RUN(OPEN_03_the_client_says_how_long_to_wait_for_a_RESPONSE);
    RUN(TIMER_03_a_guess_serves_until_the_first_true_round_trip);
    RUN(TIMER_03_a_round_trip_longer_than_the_initial_timer_is_learnt_from_what_was_repeated);
    RUN(RATE_02_mit1987_plans_each_burst_from_the_actual_start_of_the_one_before);
    RUN(AMB_43_with_only_retransmissions_left_a_faster_pair_holds_at_once);
    RUN(AMB_43_a_pair_is_slower_or_faster_as_a_whole);
    RUN(AMB_43_a_limit_turns_an_offer_without_pace_into_a_paced_one);
    RUN(NEG_09_a_null_ack_whose_number_is_not_current_restricts_nothing);
    RUN(a_receiver_whose_limit_lies_below_the_negotiated_pair_offers_less_from_its_first_OK_on);
    RUN(NEG_09_a_field_that_was_left_as_offered_is_no_limit_of_the_sender);
    return 0;
}
