/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the ways in which a connection ends, rule by rule, against a scripted peer. */
#include "check.h"
#include "peer.h"

#include <string.h>

static struct message messages[64];

static void publish_ok(struct peer *peer, unsigned seq, uint32_t buffer, unsigned control_timer_ms)
{
    struct forged control;
    forge(peer, &control, CONTROL);
    forge_ok(&control, seq, buffer, 1000, 0, control_timer_ms);
    CHECK_EQUAL(peer_send(peer, &control), 0);
}

/* A sender whose only buffer got its OK just now. */
static void reach_dally(struct peer *peer, unsigned control_timer_ms)
{
    peer_init(peer, NETBLT_SENDER, false);
    peer->size = 400;
    peer->params.death_timer_s = 300;
    peer_open(peer);
    peer_go(peer, 1, 0);
    peer_mark(peer);
    publish_ok(peer, 2, 0, control_timer_ms);
}

static void CLOSE_03_the_final_OK_is_acknowledged_and_CLOSE_02_only_it_makes_success(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    publish_ok(&peer, 3, 1, 100);
    CHECK_EQUAL(peer.finished, 0); /* buffer 0 is missing */
    peer_mark(&peer);
    publish_ok(&peer, 4, 0, 100);
    CHECK_EQUAL(peer.finished, 1);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    CHECK_EQUAL(peer.closed, 0);
    CHECK_EQUAL(peer_count(&peer, NULL_ACK), 1);
    CHECK_EQUAL(peer_nth(&peer, NULL_ACK, 0)->high_seq, 4);
    peer_free(&peer);
}

static void CLOSE_02_without_the_last_OK_the_death_timer_makes_it_a_failure(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    publish_ok(&peer, 3, 1, 100);
    peer_wait(&peer, 60 * SECOND);
    CHECK_EQUAL(peer.result, NETBLT_PEER_DEAD);
    peer_free(&peer);
}

static void CLOSE_08_repairs_are_served_after_the_last_buffer(void)
{
    struct peer peer;
    uint16_t list[] = {2};
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    publish_ok(&peer, 3, 1, 100);
    peer_mark(&peer);
    peer_resend(&peer, 4, 0, list, 1);
    CHECK_EQUAL(peer_count_data(&peer), 1);
    CHECK(!peer_nth_data(&peer, 0)->last_buffer);
    peer_free(&peer);
}

static void CLOSE_04_the_dally_is_twice_the_published_timer_then_it_closes_by_itself(void)
{
    static const struct {
        unsigned published_ms;
        netblt_time dally;
    } cases[] = {{2000, 4 * SECOND},
                 {100, SECOND},
                 {0, 2 * SECOND},
                 {65534, 131068 * MS},
                 {65535, 300 * SECOND}}; /* 65535: at least */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct peer peer;
        reach_dally(&peer, cases[i].published_ms);
        peer_wait(&peer, cases[i].dally - 1);
        CHECK_EQUAL(peer.closed, 0);
        peer_wait(&peer, 1);
        CHECK_EQUAL(peer.closed, 1);
        CHECK_EQUAL(peer.finished, 1);
        CHECK_EQUAL(netblt_deadline(peer.endpoint), NETBLT_TIME_NEVER);
        peer_free(&peer);
    }
}

static void CLOSE_05_each_repeated_OK_is_answered_and_restarts_the_dally(void)
{
    struct peer peer;
    reach_dally(&peer, 2000);
    for (int i = 1; i <= 3; i++) {
        peer_wait(&peer, 3900 * MS);
        publish_ok(&peer, 2, 0, 2000);
        CHECK_EQUAL(peer_count(&peer, NULL_ACK), 1 + i);
        CHECK_EQUAL(peer_last(&peer, NULL_ACK)->high_seq, 2);
    }
    publish_ok(&peer, 2, 0, 5000); /* a repeat publishes the timer that is armed with it: AMB-44 */
    peer_wait(&peer, 9999 * MS);
    CHECK_EQUAL(peer.closed, 0);
    peer_wait(&peer, MS);
    CHECK_EQUAL(peer.closed, 1);
    CHECK_EQUAL(peer.finished, 1);
    peer_mark(&peer);
    publish_ok(&peer, 2, 0, 2000); /* AMB-55 */
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    peer_free(&peer);
}

static void CLOSE_03_and_QUIT_01_an_end_that_was_held_up_answers_before_it_forgets_the_connection(void)
{
    for (int quit = 0; quit < 2; quit++) {
        struct peer peer;
        peer_init(&peer, NETBLT_SENDER, false);
        peer.size = 400;
        peer.params.death_timer_s = 300;
        peer_open(&peer);
        peer_go(&peer, 1, 0);
        peer_mark(&peer);
        peer.held_up = true;
        if (quit)
            peer_reason(&peer, QUIT, "enough");
        else
            publish_ok(&peer, 2, 0, 100);
        peer.now += 100 * SECOND; /* far longer than any dally of these */
        peer.held_up = false;
        peer_wait(&peer, 0);
        CHECK_EQUAL(peer_count(&peer, quit ? QUITACK : NULL_ACK), 1);
        CHECK_EQUAL(peer.closed, 0);
        peer_wait(&peer, quit ? 60 * SECOND - 1 : SECOND - 1); /* and dallies from then on */
        CHECK_EQUAL(peer.closed, 0);
        peer_wait(&peer, 1);
        CHECK_EQUAL(peer.closed, 1);
        peer_free(&peer);
    }
}

static void CLOSE_06_DONE_ends_the_dally_at_once(void)
{
    struct peer peer;
    reach_dally(&peer, 2000);
    peer_bare(&peer, DONE);
    CHECK_EQUAL(peer.closed, 1);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    CHECK_EQUAL(peer.finished, 1);
    peer_free(&peer);
}

static void TIMER_10_silence_for_our_own_declared_time_ends_it_without_a_word(void)
{
    for (int role = NETBLT_SENDER; role <= NETBLT_RECEIVER; role++) {
        for (int active = 0; active < 2; active++) {
            struct peer peer;
            struct forged packet;
            peer_init(&peer, (enum netblt_role)role, active != 0);
            peer.params.death_timer_s = 8;
            peer_start(&peer);
            netblt_params theirs = peer.params;
            theirs.death_timer_s = 100;
            forge_open(&peer, &packet, active ? RESPONSE : OPEN, &theirs, (role == NETBLT_SENDER) == (active != 0));
            peer_send(&peer, &packet);
            for (int i = 0; i < 5; i++) {
                peer_wait(&peer, 7900 * MS);
                CHECK_EQUAL(peer.finished, 0);
                peer_bare(&peer, KEEPALIVE);
            }
            peer_wait(&peer, 8 * SECOND - 1);
            CHECK_EQUAL(peer.finished, 0);
            peer_mark(&peer);
            peer_wait(&peer, 1);
            CHECK_EQUAL(peer.result, NETBLT_PEER_DEAD);
            CHECK_EQUAL(peer.closed, 1);
            CHECK_EQUAL(peer_count(&peer, ABORT), 0); /* AMB-52 */
            peer_free(&peer);
        }
    }
}

static void AMB_59_packets_that_fail_their_checksum_do_not_keep_a_connection_alive(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.params.death_timer_s = 8;
    peer_open(&peer);
    for (int i = 0; i < 4; i++) {
        peer_wait(&peer, 2 * SECOND);
        forge(&peer, &packet, KEEPALIVE);
        forged_put16(&packet, 4, 12);
        peer_send_raw(&peer, packet.bytes, 12);
    }
    CHECK_EQUAL(peer.result, NETBLT_PEER_DEAD);
    peer_free(&peer);
}

static void TIMER_11_KEEPALIVEs_come_four_times_in_the_peers_declared_time(void)
{
    static const unsigned declared_s[] = {8, 60, 0};
    for (size_t i = 0; i < 3; i++) {
        struct peer peer;
        struct forged packet;
        peer_init(&peer, NETBLT_SENDER, false);
        peer.params.death_timer_s = 1000;
        peer_start(&peer);
        netblt_params theirs = peer.params;
        theirs.death_timer_s = (uint16_t)declared_s[i];
        forge_open(&peer, &packet, OPEN, &theirs, false);
        peer_send(&peer, &packet);
        unsigned period = declared_s[i] == 0 ? 1000 : declared_s[i]; /* AMB-50: at our own value */
        peer_mark(&peer);
        peer_wait(&peer, period * SECOND - 1);
        CHECK_EQUAL(peer_count(&peer, KEEPALIVE), 3);
        CHECK_EQUAL(peer_nth(&peer, KEEPALIVE, 1)->at - peer_nth(&peer, KEEPALIVE, 0)->at, period * SECOND / 4);
        peer_free(&peer);
    }
}

static void TIMER_12_KEEPALIVE_is_not_answered_and_AMB_51_other_packets_postpone_ours(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 10000;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_mark(&peer);
    for (int i = 0; i < 10; i++)
        peer_bare(&peer, KEEPALIVE);
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    peer_wait(&peer, 25 * SECOND); /* data every 10 s, a KEEPALIVE would be due after 15 */
    CHECK_EQUAL(peer_count(&peer, KEEPALIVE), 0);
    CHECK_EQUAL(peer_count_data(&peer), 2);
    peer_free(&peer);
}

static void TIMER_11_no_KEEPALIVE_leaves_beside_data_that_is_due_at_the_same_moment(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 15000; /* a quarter of the death timer */
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_mark(&peer);
    peer_wait(&peer, 45 * SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 3);
    CHECK_EQUAL(peer_count(&peer, KEEPALIVE), 0);
    peer_free(&peer);
}

static void QUIT_01_03_QUIT_is_answered_at_once_and_again_and_QUIT_05_nothing_else_follows(void)
{
    for (int role = NETBLT_SENDER; role <= NETBLT_RECEIVER; role++) {
        struct peer peer;
        peer_init(&peer, (enum netblt_role)role, false);
        peer.params.burst_size = 1;
        peer.params.burst_interval_ms = 100;
        peer_open(&peer);
        if (role == NETBLT_SENDER)
            peer_go(&peer, 1, 0);
        else
            peer_data(&peer, 0, 0, 0, false);
        peer_mark(&peer);
        peer_reason(&peer, QUIT, "had enough");
        CHECK_EQUAL(peer_count(&peer, QUITACK), 1);
        CHECK_EQUAL(peer_nth(&peer, QUITACK, 0)->length, 12);
        CHECK_EQUAL(peer.result, NETBLT_PEER_QUIT);
        CHECK(strcmp(peer.reason, "had enough") == 0);
        CHECK_EQUAL(peer.finished, 1);
        peer_wait(&peer, SECOND);
        peer_reason(&peer, QUIT, "had enough");
        peer_wait(&peer, SECOND);
        peer_reason(&peer, QUIT, "had enough");
        if (role == NETBLT_SENDER)
            peer_go(&peer, 2, 1);
        else
            peer_data(&peer, 0, 1, 2, false);
        CHECK_EQUAL(peer_count(&peer, QUITACK), 3);
        CHECK_EQUAL(peer_count(&peer, -1), 3);
        peer_wait(&peer, 30 * SECOND - 1); /* half of the death timer, counted from the last QUIT */
        CHECK_EQUAL(peer.closed, 0);
        peer_wait(&peer, 1);
        CHECK_EQUAL(peer.closed, 1);
        CHECK_EQUAL(peer.finished, 1);
        CHECK_EQUAL(peer_count(&peer, -1), 3);
        peer_free(&peer);
    }
}

static void QUIT_03_the_dally_follows_the_peers_death_timer_and_its_repetitions_within_a_bound(void)
{
    static const struct {
        uint16_t own_s, peer_s;
        netblt_time repeated_after;
        netblt_time dally;
    } cases[] = {{300, 30, 0, 15 * SECOND},           {300, 2, 0, 4 * SECOND},
                 {300, 300, 0, 60 * SECOND},          {40, 0, 0, 20 * SECOND},
                 {300, 30, 12 * SECOND, 24 * SECOND}, {300, 100, 45 * SECOND, 60 * SECOND}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct peer peer;
        struct forged packet;
        peer_init(&peer, NETBLT_RECEIVER, false);
        peer.params.death_timer_s = cases[i].own_s;
        peer_start(&peer);
        netblt_params theirs = peer.params;
        theirs.death_timer_s = cases[i].peer_s;
        forge_open(&peer, &packet, OPEN, &theirs, true);
        peer_send(&peer, &packet);
        peer_reason(&peer, QUIT, "enough");
        if (cases[i].repeated_after > 0) {
            peer_wait(&peer, cases[i].repeated_after);
            peer_reason(&peer, QUIT, "enough");
            CHECK_EQUAL(peer_count(&peer, QUITACK), 2);
        }
        peer_wait(&peer, cases[i].dally - 1);
        CHECK_EQUAL(peer.closed, 0);
        peer_wait(&peer, 1);
        CHECK_EQUAL(peer.closed, 1);
        peer_free(&peer);
    }
}

/* The data that would have carried an ack leaves no more: nothing is owed but QUITACK. */
static void QUIT_03_an_ack_that_never_left_does_not_prolong_the_dally(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 50;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_wait(&peer, 10 * MS);
    peer_go(&peer, 2, 1); /* its ack waits for the next DATA packet */
    CHECK_EQUAL(peer_count(&peer, NULL_ACK), 0);
    peer_reason(&peer, QUIT, "enough");
    CHECK_EQUAL(peer_count(&peer, QUITACK), 1);
    peer_wait(&peer, 30 * SECOND - 1);
    CHECK_EQUAL(peer.closed, 0);
    peer_wait(&peer, 1);
    CHECK_EQUAL(peer.closed, 1);
    peer_free(&peer);
}

static void QUIT_01_QUIT_during_the_dally_is_answered_and_changes_nothing(void)
{
    struct peer peer;
    reach_dally(&peer, 2000);
    peer_reason(&peer, QUIT, "late");
    CHECK_EQUAL(peer_count(&peer, QUITACK), 1);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_wait(&peer, 4 * SECOND);
    CHECK_EQUAL(peer.closed, 1);
    peer_free(&peer);
}

static void QUIT_02_ours_is_repeated_until_QUITACK_or_death(void)
{
    for (int acked = 0; acked < 2; acked++) {
        struct peer peer;
        peer_init(&peer, NETBLT_RECEIVER, true);
        peer.params.death_timer_s = 10;
        peer_open(&peer);
        peer_mark(&peer);
        CHECK_EQUAL(netblt_quit(peer.connection, "changed my mind", peer.now), 0);
        CHECK_EQUAL(netblt_quit(peer.connection, "twice", peer.now), NETBLT_ERR_WRONG_STATE);
        peer_wait(&peer, 3500 * MS);
        CHECK_EQUAL(peer_count(&peer, QUIT), 4);
        CHECK(strcmp((const char *)peer_nth(&peer, QUIT, 3)->bytes + 12, "changed my mind") == 0);
        CHECK_EQUAL(peer_count(&peer, -1), 4); /* QUIT-05 */
        CHECK_EQUAL(peer.finished, 0);
        if (acked)
            peer_bare(&peer, QUITACK);
        else
            peer_wait(&peer, 8 * SECOND);
        CHECK_EQUAL(peer.result, NETBLT_LOCAL_QUIT);
        CHECK_EQUAL(peer.closed, 1);
        peer_mark(&peer);
        peer_wait(&peer, 20 * SECOND);
        CHECK_EQUAL(peer_count(&peer, -1), 0);
        peer_free(&peer);
    }
}

static void QUIT_04_a_sender_finishes_its_buffer_before_it_quits_and_starts_no_other(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 3; /* the burst that ends buffer 0 has room for buffer 1 */
    peer.params.burst_interval_ms = 100;
    peer.size = 4000;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    netblt_quit(peer.connection, "stop", peer.now);
    peer_wait(&peer, 50 * MS);
    CHECK_EQUAL(peer_count(&peer, QUIT), 0);
    peer_wait(&peer, 950 * MS);
    CHECK_EQUAL(peer_count(&peer, QUIT), 1);
    CHECK_EQUAL(peer_count_data(&peer), 4);
    CHECK_EQUAL(peer_nth(&peer, QUIT, 0)->at, peer_nth(&peer, LDATA, 0)->at);
    peer_free(&peer);
}

static void QUIT_04_a_receiver_waits_for_the_LDATA_but_not_longer_than_a_death_interval(void)
{
    for (int comes = 0; comes < 2; comes++) {
        struct peer peer;
        peer_init(&peer, NETBLT_RECEIVER, false);
        peer.params.death_timer_s = 10;
        peer_open(&peer);
        peer_data(&peer, 0, 0, 2, false);
        netblt_quit(peer.connection, "stop", peer.now);
        CHECK_EQUAL(peer_count(&peer, QUIT), 0);
        if (comes) {
            peer_data(&peer, 0, 3, 2, false);
        } else {
            for (int i = 0; i < 11; i++) {
                peer_wait(&peer, SECOND);
                peer_bare(&peer, KEEPALIVE);
            }
        }
        CHECK_EQUAL(peer_count(&peer, QUIT) > 0, 1);
        peer_free(&peer);
    }
}

static void quitting_while_opening_ends_the_attempt(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer_start(&peer);
    CHECK_EQUAL(netblt_quit(peer.connection, "never mind", peer.now), 0);
    CHECK_EQUAL(peer.result, NETBLT_LOCAL_QUIT);
    CHECK_EQUAL(peer.closed, 1);
    peer_wait(&peer, 100 * SECOND);
    CHECK_EQUAL(peer_count(&peer, OPEN), 1);
    peer_free(&peer);
}

static void a_client_that_quits_when_it_learns_of_the_end_has_come_too_late(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.quits_when_finished = true;
    peer_start(&peer);
    peer_mark(&peer);
    peer_reason(&peer, REFUSED, "not here");
    CHECK_EQUAL(peer.result, NETBLT_REFUSED);
    CHECK_EQUAL(peer.closed, 1);
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    peer_free(&peer);
}

static void ABORT_01_ours_is_one_packet_and_the_end(void)
{
    for (int role = NETBLT_SENDER; role <= NETBLT_RECEIVER; role++) {
        struct peer peer;
        peer_init(&peer, (enum netblt_role)role, true);
        peer_open(&peer);
        peer_mark(&peer);
        CHECK_EQUAL(netblt_abort(peer.connection, "broken", peer.now), 0);
        CHECK_EQUAL(peer.result, NETBLT_LOCAL_ABORT);
        CHECK_EQUAL(peer.closed, 1);
        peer_wait(&peer, 100 * SECOND);
        peer_go(&peer, 1, 0);
        peer_reason(&peer, QUIT, "hello?");
        CHECK_EQUAL(peer_count(&peer, ABORT), 1);
        CHECK_EQUAL(peer_count(&peer, -1), 1);
        CHECK(strcmp((const char *)peer_nth(&peer, ABORT, 0)->bytes + 12, "broken") == 0);
        peer_free(&peer);
    }
}

static void ABORT_02_03_theirs_closes_at_once_and_is_not_answered(void)
{
    for (int role = NETBLT_SENDER; role <= NETBLT_RECEIVER; role++) {
        struct peer peer;
        peer_init(&peer, (enum netblt_role)role, false);
        peer_open(&peer);
        if (role == NETBLT_SENDER)
            peer_go(&peer, 1, 0);
        peer_mark(&peer);
        peer_reason(&peer, ABORT, "your fault");
        CHECK_EQUAL(peer.result, NETBLT_PEER_ABORTED);
        CHECK(strcmp(peer.reason, "your fault") == 0);
        CHECK_EQUAL(peer.closed, 1);
        peer_wait(&peer, 100 * SECOND);
        CHECK_EQUAL(peer_count(&peer, -1), 0);
        peer_free(&peer);
    }
}

static void CKSUM_06_corrupted_ABORT_and_QUIT_do_nothing(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_mark(&peer);
    for (int type = QUIT; type <= ABORT; type++) {
        forge_reason(&peer, &packet, type, "x");
        forged_put16(&packet, 4, (unsigned)packet.length);
        forged_put16(&packet, 0, 0x1234);
        CHECK_EQUAL(peer_send_raw(&peer, packet.bytes, packet.length), NETBLT_ERR_CHECKSUM);
    }
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    CHECK_EQUAL(peer.finished, 0);
    peer_free(&peer);
}

static void DEMUX_04_a_port_pair_can_be_used_again_and_stale_packets_do_no_harm(void)
{
    struct peer peer;
    struct forged packet;
    reach_dally(&peer, 100);
    peer_bare(&peer, DONE);
    CHECK_EQUAL(peer.closed, 1);
    peer.unique_id++;
    forge_open(&peer, &packet, OPEN, &peer.params, false);
    peer_send(&peer, &packet);
    CHECK_EQUAL(peer.opened, 2);
    peer_mark(&peer);
    publish_ok(&peer, 2, 0, 100); /* of the old connection */
    peer_bare(&peer, DONE);
    peer_data(&peer, 0, 0, 0, true);
    CHECK_EQUAL(peer.finished, 1);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_count_data(&peer), 4);
    publish_ok(&peer, 2, 0, 100);
    CHECK_EQUAL(peer.finished, 2);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

/* RFC 998 5.3.1: the receiver may close and open again at once, and its DONE may be lost. */
static void CLOSE_06_a_new_OPEN_during_the_dally_ends_it_and_opens_a_connection(void)
{
    for (int quit = 0; quit < 2; quit++) {
        struct peer peer;
        struct forged packet;
        reach_dally(&peer, 2000);
        if (quit) {
            peer_free(&peer);
            peer_init(&peer, NETBLT_SENDER, false);
            peer_open(&peer);
            peer_reason(&peer, QUIT, "enough");
        }
        CHECK_EQUAL(peer.finished, 1);
        CHECK_EQUAL(peer.closed, 0);
        peer_mark(&peer);
        peer.unique_id++;
        forge_open(&peer, &packet, OPEN, &peer.params, false);
        peer_send(&peer, &packet);
        CHECK_EQUAL(peer_count(&peer, ABORT), 0);
        CHECK_EQUAL(peer_count(&peer, RESPONSE), 1);
        CHECK_EQUAL(peer_get32(peer_nth(&peer, RESPONSE, 0)->bytes + 12), peer.unique_id);
        CHECK_EQUAL(peer.closed, 1);
        CHECK_EQUAL(peer.opened, 2);
        peer_go(&peer, 1, 0);
        CHECK_EQUAL(peer_count_data(&peer), 4);
        peer_free(&peer);
    }
}

static void OPEN_09_an_OPEN_that_opens_nothing_does_not_end_the_dally(void)
{
    struct peer peer;
    struct forged packet;
    reach_dally(&peer, 100);
    peer_bare(&peer, DONE);
    uint32_t first = peer.unique_id++;
    forge_open(&peer, &packet, OPEN, &peer.params, false);
    peer_send(&peer, &packet);
    peer_go(&peer, 1, 0);
    publish_ok(&peer, 2, 0, 2000);
    CHECK_EQUAL(peer.finished, 2);
    peer.unique_id = first; /* a late copy of the OPEN of the connection before */
    forge_open(&peer, &packet, OPEN, &peer.params, false);
    peer_send(&peer, &packet);
    CHECK_EQUAL(peer.opened, 2);
    CHECK_EQUAL(peer.closed, 1);
    peer.unique_id = first + 2;
    forge_open(&peer, &packet, OPEN, &peer.params, false);
    forged_put16(&packet, 24, 0); /* packet size 0 */
    peer_send(&peer, &packet);
    CHECK_EQUAL(peer.closed, 1);
    netblt_unlisten(peer.endpoint, peer.our_port);
    forge_open(&peer, &packet, OPEN, &peer.params, false);
    peer_send(&peer, &packet);
    CHECK_EQUAL(peer.closed, 1);
    peer_free(&peer);
}

static void reasons_longer_than_their_field_are_an_error(void)
{
    struct peer peer;
    char text[NETBLT_STRING_MAX_BYTES + 2];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    CHECK_EQUAL(netblt_quit(peer.connection, text, peer.now), NETBLT_ERR_TOO_LONG);
    CHECK_EQUAL(netblt_abort(peer.connection, text, peer.now), NETBLT_ERR_TOO_LONG);
    text[NETBLT_STRING_MAX_BYTES] = 0;
    CHECK_EQUAL(netblt_abort(peer.connection, text, peer.now), 0);
    peer_wait(&peer, 1);
    CHECK_EQUAL(peer_nth(&peer, ABORT, 0)->length, 12 + 256);
    peer_free(&peer);
}

static void TIMER_01_a_receiver_in_its_last_moments_still_repeats_its_OK(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer_open(&peer);
    for (unsigned i = 0; i < 4; i++)
        peer_data(&peer, 0, i, 2, true);
    peer_mark(&peer);
    peer_wait(&peer, 5 * SECOND);
    CHECK(peer_count(&peer, CONTROL) >= 2);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 64), 1);
    CHECK_EQUAL(messages[0].type, OK);
    CHECK_EQUAL(peer_count(&peer, DONE), 0);
    peer_null_ack(&peer, 3);
    CHECK_EQUAL(peer_count(&peer, DONE), 1);
    peer_free(&peer);
}

int main(void)
{
    RUN(CLOSE_03_the_final_OK_is_acknowledged_and_CLOSE_02_only_it_makes_success);
    RUN(CLOSE_02_without_the_last_OK_the_death_timer_makes_it_a_failure);
    RUN(CLOSE_08_repairs_are_served_after_the_last_buffer);
    RUN(CLOSE_04_the_dally_is_twice_the_published_timer_then_it_closes_by_itself);
    RUN(CLOSE_05_each_repeated_OK_is_answered_and_restarts_the_dally);
    RUN(CLOSE_03_and_QUIT_01_an_end_that_was_held_up_answers_before_it_forgets_the_connection);
    RUN(CLOSE_06_DONE_ends_the_dally_at_once);
    RUN(TIMER_10_silence_for_our_own_declared_time_ends_it_without_a_word);
    RUN(AMB_59_packets_that_fail_their_checksum_do_not_keep_a_connection_alive);
    RUN(TIMER_11_KEEPALIVEs_come_four_times_in_the_peers_declared_time);
    RUN(TIMER_12_KEEPALIVE_is_not_answered_and_AMB_51_other_packets_postpone_ours);
    RUN(TIMER_11_no_KEEPALIVE_leaves_beside_data_that_is_due_at_the_same_moment);
    RUN(QUIT_01_03_QUIT_is_answered_at_once_and_again_and_QUIT_05_nothing_else_follows);
    RUN(QUIT_03_the_dally_follows_the_peers_death_timer_and_its_repetitions_within_a_bound);
    RUN(QUIT_03_an_ack_that_never_left_does_not_prolong_the_dally);
    RUN(QUIT_01_QUIT_during_the_dally_is_answered_and_changes_nothing);
    RUN(QUIT_02_ours_is_repeated_until_QUITACK_or_death);
    RUN(QUIT_04_a_sender_finishes_its_buffer_before_it_quits_and_starts_no_other);
    RUN(QUIT_04_a_receiver_waits_for_the_LDATA_but_not_longer_than_a_death_interval);
    RUN(quitting_while_opening_ends_the_attempt);
    RUN(a_client_that_quits_when_it_learns_of_the_end_has_come_too_late);
    RUN(ABORT_01_ours_is_one_packet_and_the_end);
    RUN(ABORT_02_03_theirs_closes_at_once_and_is_not_answered);
    RUN(CKSUM_06_corrupted_ABORT_and_QUIT_do_nothing);
    RUN(DEMUX_04_a_port_pair_can_be_used_again_and_stale_packets_do_no_harm);
    RUN(CLOSE_06_a_new_OPEN_during_the_dally_ends_it_and_opens_a_connection);
    RUN(OPEN_09_an_OPEN_that_opens_nothing_does_not_end_the_dally);
    RUN(reasons_longer_than_their_field_are_an_error);
    RUN(TIMER_01_a_receiver_in_its_last_moments_still_repeats_its_OK);
    return 0;
}
