/* SPDX-License-Identifier: BSD-2-Clause */
/* ABORT, QUIT and REFUSED from a foreign peer, to an end with a secret: believed when nothing else arrives any more
 * (core/connection/pending_end.h). */
#include "check.h"
#include "peer.h"
#include "security/guard.h"

#include <string.h>

#define WAIT (500 * MS)         /* with short round trips and bursts */
#define LISTENS_FROM (125 * MS) /* a quarter of it: what arrives before may have been under way */

static void meet(struct peer *peer, enum netblt_role role, bool active)
{
    peer_init(peer, role, active);
    memset(peer->secret, 0x3C, sizeof peer->secret);
}

/* A transfer that goes on: we receive, and buffer 0 lacks its last packet. */
static void receive(struct peer *peer)
{
    struct message messages[8];
    meet(peer, NETBLT_RECEIVER, false);
    peer_open(peer);
    CHECK(!peer_info(peer)->guarded);
    CHECK_EQUAL(peer_last_messages(peer, messages, 8), 2);
    peer->first_buffer = messages[0].buffer;
    for (unsigned number = 0; number < 3; number++)
        peer_data(peer, peer->first_buffer, number, 2, false);
    peer_mark(peer);
}

/* We send a packet in each 10 ms. */
static void send_paced(struct peer *peer)
{
    meet(peer, NETBLT_SENDER, false);
    peer->params.burst_size = 1;
    peer->params.burst_interval_ms = 10;
    peer->size = 400 * 1000;
    peer->params.buffer_size = 10000;
    peer_open(peer);
    peer_go(peer, 1, 0);
    peer_wait(peer, 100 * MS);
    CHECK(peer_count_data(peer) >= 10);
    peer_mark(peer);
}

static void complete_the_reception(struct peer *peer)
{
    struct message messages[8];
    peer_data(peer, peer->first_buffer, 3, 2, false);
    for (unsigned number = 0; number < 4; number++)
        peer_data(peer, peer->first_buffer + 1, number, 2, true);
    size_t count = peer_last_messages(peer, messages, 8);
    CHECK_EQUAL(peer->finished, 0);
    peer_null_ack(peer, messages[count - 1].seq);
    CHECK_EQUAL(peer->result, NETBLT_DONE);
    CHECK_EQUAL(peer->closed, 1);
    CHECK(peer_delivered_exactly(peer, 800));
}

/* ---- ABORT ----------------------------------------------------------------------------------------------------- */

static void an_ABORT_is_believed_after_half_a_second_of_silence_at_both_ends(void)
{
    for (int role = 0; role < 2; role++) {
        struct peer peer;
        (role == 0 ? receive : send_paced)(&peer);
        peer_reason(&peer, ABORT, "the disk is full");
        peer_wait(&peer, WAIT - 1);
        CHECK_EQUAL(peer.finished, 0);
        CHECK_EQUAL(peer_count(&peer, -1), 0); /* if it is true, there may be no host that gets our packets */
        peer_wait(&peer, 1);
        CHECK_EQUAL(peer.finished, 1);
        CHECK_EQUAL(peer.closed, 1);
        CHECK_EQUAL(peer.result, NETBLT_PEER_ABORTED);
        CHECK(strcmp(peer.reason, "the disk is full") == 0);
        peer_wait(&peer, 10 * SECOND);
        CHECK_EQUAL(peer_count(&peer, -1), 0);
        peer_free(&peer);
    }
}

static void a_packet_that_is_due_when_the_ABORT_arrives_does_not_leave(void)
{
    struct peer peer;
    send_paced(&peer);
    peer.now += 15 * MS; /* our process was held up */
    peer_reason(&peer, ABORT, "no");
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    peer_free(&peer);
}

/* Three control timers of the peer, or two burst intervals, but never more than five seconds. */
static void the_wait_is_longer_on_a_slow_path(void)
{
    static const struct {
        unsigned control_timer_ms, interval_ms;
        netblt_time wait;
    } cases[] = {
        {100, 10, 500 * MS},      {166, 10, 500 * MS},     {1000, 10, 3 * SECOND},  {100, 1000, 2 * SECOND},
        {1000, 1000, 3 * SECOND}, {60000, 10, 5 * SECOND}, {10, 60000, 5 * SECOND},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct peer peer;
        struct forged control;
        meet(&peer, NETBLT_SENDER, false);
        peer.params.burst_interval_ms = (uint16_t)cases[i].interval_ms;
        peer_open(&peer);
        peer_go(&peer, 1, 0);
        forge(&peer, &control, CONTROL);
        forge_ok(&control, 2, 0, 1000, cases[i].interval_ms, cases[i].control_timer_ms);
        peer_send(&peer, &control);
        peer_reason(&peer, ABORT, "no");
        peer_wait(&peer, cases[i].wait - 1);
        CHECK_EQUAL(peer.finished, 0);
        peer_wait(&peer, 1);
        CHECK_EQUAL(peer.result, NETBLT_PEER_ABORTED);
        peer_free(&peer);
    }
}

static void packets_of_the_first_quarter_do_not_refute_it(void)
{
    struct peer peer;
    receive(&peer);
    peer_reason(&peer, ABORT, "no");
    for (unsigned i = 0; i < 12; i++) {
        peer_wait(&peer, 10 * MS);
        peer_data(&peer, peer.first_buffer, i % 3, 2, false);
    }
    peer_wait(&peer, LISTENS_FROM - 120 * MS - 1);
    peer_data(&peer, peer.first_buffer, 0, 2, false);
    peer_wait(&peer, WAIT - LISTENS_FROM);
    CHECK_EQUAL(peer.finished, 0);
    peer_wait(&peer, 1);
    CHECK_EQUAL(peer.result, NETBLT_PEER_ABORTED);
    peer_free(&peer);
}

static void send_sign_of_life(struct peer *peer, int type)
{
    if (type == DATA)
        peer_data(peer, peer->first_buffer, 0, 2, false); /* which we have */
    else if (type == NULL_ACK)
        peer_null_ack(peer, 2);
    else
        peer_bare(peer, type);
}

static void any_later_packet_of_a_transfer_refutes_it_and_the_transfer_completes(void)
{
    static const int types[] = {DATA, NULL_ACK, KEEPALIVE};
    static const netblt_time times[] = {LISTENS_FROM, 300 * MS, WAIT - 1};
    for (size_t i = 0; i < 9; i++) {
        struct peer peer;
        receive(&peer);
        peer_reason(&peer, ABORT, "forged");
        peer_wait(&peer, times[i / 3]);
        send_sign_of_life(&peer, types[i % 3]);
        peer_wait(&peer, 10 * SECOND);
        CHECK_EQUAL(peer.finished, 0);
        CHECK(peer_count(&peer, -1) > 0); /* no longer silent */
        complete_the_reception(&peer);
        peer_free(&peer);
    }
}

static void CONTROL_refutes_it_at_a_sender_which_goes_on_at_once(void)
{
    struct peer peer;
    send_paced(&peer);
    peer_reason(&peer, ABORT, "forged");
    peer_wait(&peer, 200 * MS);
    CHECK_EQUAL(peer_count_data(&peer), 0);
    peer_go(&peer, 2, 1);
    peer_wait(&peer, 100 * MS);
    CHECK(peer_count_data(&peer) >= 9);
    peer_wait(&peer, 5 * SECOND);
    CHECK_EQUAL(peer.finished, 0);
    peer_free(&peer);
}

static void after_a_refutation_another_one_does_not_silence_us(void)
{
    struct peer peer;
    send_paced(&peer);
    peer_reason(&peer, ABORT, "forged");
    peer_wait(&peer, 200 * MS);
    peer_go(&peer, 2, 1);
    peer_wait(&peer, 100 * MS);
    peer_mark(&peer);
    peer_reason(&peer, ABORT, "forged again");
    peer_wait(&peer, 200 * MS);
    CHECK(peer_count_data(&peer) >= 19);
    CHECK_EQUAL(peer.finished, 0);
    peer_bare(&peer, KEEPALIVE);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer.finished, 0);
    peer_reason(&peer, ABORT, "this one is true"); /* it is believed all the same */
    peer_wait(&peer, WAIT - 1);
    CHECK_EQUAL(peer.finished, 0);
    peer_wait(&peer, 1);
    CHECK_EQUAL(peer.result, NETBLT_PEER_ABORTED);
    CHECK(strcmp(peer.reason, "this one is true") == 0);
    peer_free(&peer);
}

static void a_flood_does_not_prolong_the_wait(void)
{
    struct peer peer;
    receive(&peer);
    for (unsigned i = 0; i < 500; i++) {
        peer_reason(&peer, i % 2 == 0 ? ABORT : QUIT, "no");
        CHECK_EQUAL(peer.finished, 0);
        peer_wait(&peer, MS);
    }
    CHECK_EQUAL(peer.result, NETBLT_PEER_QUIT); /* as the newest one states */
    peer_free(&peer);
}

static void a_flood_does_not_end_a_transfer_whose_packets_flow(void)
{
    struct peer peer;
    receive(&peer);
    for (unsigned i = 0; i < 20000; i++) {
        peer_reason(&peer, ABORT, "forged");
        peer_wait(&peer, MS);
        if (i % 200 == 0) /* five packets in a second */
            peer_data(&peer, peer.first_buffer, 0, 2, false);
        CHECK_EQUAL(peer.finished, 0);
    }
    complete_the_reception(&peer);
    peer_free(&peer);
}

static void our_client_may_abort_meanwhile(void)
{
    struct peer peer;
    receive(&peer);
    peer_reason(&peer, ABORT, "no");
    peer_wait(&peer, 100 * MS);
    CHECK_EQUAL(netblt_abort(peer.connection, "enough", peer.now), 0);
    CHECK_EQUAL(peer.result, NETBLT_LOCAL_ABORT);
    CHECK_EQUAL(peer.closed, 1);
    peer_wait(&peer, 10 * SECOND);
    CHECK_EQUAL(peer.finished, 1);
    peer_free(&peer);
}

/* Packets that were long under way refuted it, then nothing came. */
static void a_true_one_that_was_refuted_is_reported_when_the_death_timer_expires(void)
{
    static const struct {
        int type;
        const char *reason;
        enum netblt_result result;
    } cases[] = {{ABORT, "the disk is full", NETBLT_PEER_ABORTED},
                 {QUIT, "enough", NETBLT_PEER_QUIT},
                 {ABORT, "", NETBLT_PEER_ABORTED}};
    for (size_t i = 0; i < 3; i++) {
        struct peer peer;
        receive(&peer);
        peer_reason(&peer, cases[i].type, cases[i].reason);
        peer_wait(&peer, 300 * MS);
        peer_data(&peer, peer.first_buffer, 0, 2, false);
        peer_wait(&peer, 60 * SECOND - 1);
        CHECK_EQUAL(peer.finished, 0);
        peer_wait(&peer, 1);
        CHECK_EQUAL(peer.result, cases[i].result);
        CHECK(strcmp(peer.reason, cases[i].reason) == 0);
        peer_free(&peer);
    }
}

/* ---- QUIT ------------------------------------------------------------------------------------------------------ */

static void each_QUIT_gets_its_QUITACK_at_once_and_the_client_learns_of_it_after_the_wait(void)
{
    struct peer peer;
    receive(&peer);
    for (unsigned i = 1; i <= 4; i++) {
        peer_reason(&peer, QUIT, "enough");
        CHECK_EQUAL(peer_count(&peer, QUITACK), i);
        CHECK_EQUAL(peer.finished, 0);
        peer_wait(&peer, 100 * MS);
    }
    peer_wait(&peer, WAIT - 400 * MS - 1);
    CHECK_EQUAL(peer.finished, 0);
    CHECK_EQUAL(peer_count(&peer, -1), 4); /* nothing else */
    peer_wait(&peer, 1);
    CHECK_EQUAL(peer.finished, 1);
    CHECK_EQUAL(peer.result, NETBLT_PEER_QUIT);
    CHECK(strcmp(peer.reason, "enough") == 0);
    peer_mark(&peer);
    peer_reason(&peer, QUIT, "enough"); /* our QUITACKs were lost */
    CHECK_EQUAL(peer_count(&peer, QUITACK), 1);
    peer_wait(&peer, 100 * SECOND);
    CHECK_EQUAL(peer.closed, 1);
    peer_free(&peer);
}

static void a_forged_QUIT_is_refuted_and_the_transfer_completes(void)
{
    struct peer peer;
    receive(&peer);
    peer_reason(&peer, QUIT, "forged");
    peer_wait(&peer, 200 * MS);
    peer_data(&peer, peer.first_buffer, 0, 2, false);
    peer_wait(&peer, 10 * SECOND);
    CHECK_EQUAL(peer.finished, 0);
    complete_the_reception(&peer);
    peer_free(&peer);
}

/* ---- REFUSED, and ABORT while opening -------------------------------------------------------------------------- */

static void open_impatiently(struct peer *peer)
{
    meet(peer, NETBLT_RECEIVER, true);
    peer->profile.open_retry_us = 50 * MS; /* by itself it would give up before the wait is over: after 50, 100, 200 */
    peer->profile.open_attempts = 3;
    peer_start(peer);
    peer->unique_id = peer_get32(peer_nth(peer, OPEN, 0)->bytes + 12);
    peer_wait(peer, 60 * MS);
    CHECK_EQUAL(peer_count(peer, OPEN), 2);
    peer_mark(peer);
}

static void after_a_REFUSED_no_OPEN_follows_and_it_is_believed_after_the_wait(void)
{
    static const int types[] = {REFUSED, ABORT};
    for (int i = 0; i < 2; i++) {
        struct peer peer;
        open_impatiently(&peer);
        peer_reason(&peer, types[i], "no such file");
        peer_wait(&peer, WAIT - 1);
        CHECK_EQUAL(peer.finished, 0);
        peer_wait(&peer, 1);
        CHECK_EQUAL(peer.result, NETBLT_REFUSED);
        CHECK(strcmp(peer.reason, "no such file") == 0);
        CHECK_EQUAL(peer.closed, 1);
        peer_wait(&peer, 10 * SECOND);
        CHECK_EQUAL(peer_count(&peer, -1), 0);
        peer_free(&peer);
    }
}

static void a_RESPONSE_within_the_wait_opens(void)
{
    static const netblt_time times[] = {0, 10 * MS, WAIT - 1};
    for (size_t i = 0; i < 3; i++) {
        struct peer peer;
        struct forged packet;
        open_impatiently(&peer);
        peer_reason(&peer, REFUSED, "forged");
        peer_wait(&peer, times[i]);
        forge_open(&peer, &packet, RESPONSE, &peer.params, false);
        CHECK_EQUAL(peer_send(&peer, &packet), 0);
        CHECK_EQUAL(peer.opened, 1);
        CHECK_EQUAL(peer_count(&peer, CONTROL), 1); /* it is not silent either */
        peer_wait(&peer, 5 * SECOND);
        CHECK_EQUAL(peer.finished, 0);
        CHECK_EQUAL(peer_count(&peer, OPEN), 0);
        peer_free(&peer);
    }
}

static void an_ABORT_after_a_refuted_REFUSED_is_believed_as_any(void)
{
    struct peer peer;
    struct forged packet;
    open_impatiently(&peer);
    peer_reason(&peer, REFUSED, "forged");
    forge_open(&peer, &packet, RESPONSE, &peer.params, false);
    CHECK_EQUAL(peer_send(&peer, &packet), 0);
    peer_wait(&peer, SECOND);
    peer_reason(&peer, ABORT, "true");
    peer_wait(&peer, WAIT);
    CHECK_EQUAL(peer.result, NETBLT_PEER_ABORTED);
    peer_free(&peer);
}

static void REFUSEDs_in_a_flood_do_not_prolong_the_wait(void)
{
    struct peer peer;
    open_impatiently(&peer);
    for (unsigned i = 0; i < 500; i++) {
        peer_reason(&peer, REFUSED, "no");
        CHECK_EQUAL(peer.finished, 0);
        peer_wait(&peer, MS);
    }
    CHECK_EQUAL(peer.result, NETBLT_REFUSED);
    peer_free(&peer);
}

/* ---- when nothing is waited for -------------------------------------------------------------------------------- */

static void with_the_proof_or_without_a_secret_each_is_believed_at_once(void)
{
    for (int secret = 0; secret < 2; secret++) {
        static const int types[] = {ABORT, QUIT, REFUSED};
        static const enum netblt_result results[] = {NETBLT_PEER_ABORTED, NETBLT_PEER_QUIT, NETBLT_REFUSED};
        for (int i = 0; i < 3; i++) {
            struct peer peer;
            char reason[NETBLT_STRING_MAX_BYTES + 1] = "now";
            meet(&peer, NETBLT_RECEIVER, types[i] == REFUSED);
            if (!secret)
                memset(peer.secret, 0, sizeof peer.secret);
            if (types[i] == REFUSED)
                peer_start(&peer);
            else
                peer_open(&peer);
            if (peer.active)
                peer.unique_id = peer_get32(peer_nth(&peer, OPEN, 0)->bytes + 12);
            if (secret)
                nb_guard_append_proof(reason, peer.unique_id, (enum nb_type)types[i]);
            peer_reason(&peer, types[i], reason);
            CHECK_EQUAL(peer.finished, 1);
            CHECK_EQUAL(peer.result, results[i]);
            CHECK(strcmp(peer.reason, "now") == 0);
            peer_free(&peer);
        }
    }
}

int main(void)
{
    RUN(an_ABORT_is_believed_after_half_a_second_of_silence_at_both_ends);
    RUN(a_packet_that_is_due_when_the_ABORT_arrives_does_not_leave);
    RUN(the_wait_is_longer_on_a_slow_path);
    RUN(packets_of_the_first_quarter_do_not_refute_it);
    RUN(any_later_packet_of_a_transfer_refutes_it_and_the_transfer_completes);
    RUN(CONTROL_refutes_it_at_a_sender_which_goes_on_at_once);
    RUN(after_a_refutation_another_one_does_not_silence_us);
    RUN(a_flood_does_not_prolong_the_wait);
    RUN(a_flood_does_not_end_a_transfer_whose_packets_flow);
    RUN(our_client_may_abort_meanwhile);
    RUN(a_true_one_that_was_refuted_is_reported_when_the_death_timer_expires);
    RUN(each_QUIT_gets_its_QUITACK_at_once_and_the_client_learns_of_it_after_the_wait);
    RUN(a_forged_QUIT_is_refuted_and_the_transfer_completes);
    RUN(after_a_REFUSED_no_OPEN_follows_and_it_is_believed_after_the_wait);
    RUN(a_RESPONSE_within_the_wait_opens);
    RUN(an_ABORT_after_a_refuted_REFUSED_is_believed_as_any);
    RUN(REFUSEDs_in_a_flood_do_not_prolong_the_wait);
    RUN(with_the_proof_or_without_a_secret_each_is_believed_at_once);
    return 0;
}
