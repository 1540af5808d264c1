/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt_options.confirm_end and netblt_confirm(): the sender succeeds only when the receiving client has stored the
 * data. */
#include "check.h"
#include "pair.h"
#include "peer.h"
#include "receiver_peer.h"

#include <string.h>

/* Standard buffers: 4 packets of 100 bytes, 2 at a time. Messages 1 and 2 are the GOs of buffers 0 and 1. */

static unsigned completions;
static unsigned deliveries_at_completion;

static void on_complete(void *context, netblt_connection *connection)
{
    struct peer *peer = context;
    netblt_info info;
    netblt_get_info(connection, &info);
    CHECK_EQUAL(info.state, NETBLT_STATE_OPEN);
    completions++;
    deliveries_at_completion = peer->deliveries;
}

static void confirm_at_once(void *context, netblt_connection *connection)
{
    on_complete(context, connection);
    CHECK_EQUAL(netblt_confirm(connection, ((struct peer *)context)->now), 0);
}

static void quit_and_confirm(void *context, netblt_connection *connection)
{
    netblt_time now = ((struct peer *)context)->now;
    CHECK_EQUAL(netblt_quit(connection, "changed my mind", now), 0);
    CHECK_EQUAL(netblt_confirm(connection, now), NETBLT_ERR_WRONG_STATE);
}

static netblt_client client;

static void begin_with(struct peer *peer, bool any_order, void (*complete)(void *, netblt_connection *))
{
    peer_init(peer, NETBLT_RECEIVER, false);
    client = peer_client;
    client.complete = complete;
    peer->client = &client;
    peer->options.confirm_end = true;
    peer->options.any_order = any_order;
    completions = 0;
    begin(peer, true);
}

static void begin_confirming(struct peer *peer, bool any_order)
{
    begin_with(peer, any_order, on_complete);
}

/* Two buffers; all but the last OK is acknowledged. */
static void send_all(struct peer *peer)
{
    send_buffer(peer, 0, 2, false);
    send_buffer(peer, 1, 4, true); /* acknowledges OK 3 and the GO 4 that came with it */
}

static void expect_withheld(struct peer *peer, netblt_time us)
{
    peer_mark(peer);
    peer_wait(peer, us);
    CHECK_EQUAL(peer_count(peer, CONTROL), 0);
    CHECK_EQUAL(peer_count(peer, DONE), 0);
    CHECK_EQUAL(peer->finished, 0);
}

static void expect_last_ok(struct peer *peer, unsigned seq, uint32_t buffer)
{
    CHECK_EQUAL(peer_last_messages(peer, messages, 128), 1);
    CHECK_EQUAL(messages[0].type, OK);
    CHECK_EQUAL(messages[0].seq, seq);
    CHECK_EQUAL(messages[0].buffer, buffer);
    CHECK_EQUAL(messages[0].burst_size, peer->params.burst_size);
}

static void the_last_OK_leaves_only_when_the_client_confirms(void)
{
    struct peer peer;
    begin_confirming(&peer, false);
    send_all(&peer);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 2); /* OK of buffer 0 and a GO; no OK of buffer 1 */
    CHECK_EQUAL(messages[0].type, OK);
    CHECK_EQUAL(messages[0].buffer, 0);
    CHECK_EQUAL(messages[1].type, GO);
    CHECK_EQUAL(completions, 1);
    CHECK_EQUAL(deliveries_at_completion, 2);
    expect_withheld(&peer, 10 * SECOND); /* nor any RESEND: no data timer runs, and all was acknowledged */
    peer_mark(&peer);
    CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), 0);
    peer_wait(&peer, 0);
    expect_last_ok(&peer, 5, 1);
    peer_null_ack(&peer, 5);
    CHECK_EQUAL(peer_count(&peer, DONE), 1);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    CHECK_EQUAL(completions, 1);
    CHECK(peer_delivered_exactly(&peer, 800));
    peer_free(&peer);
}

static void a_confirmed_OK_is_repeated_until_it_is_acknowledged(void)
{
    struct peer peer;
    begin_confirming(&peer, false);
    send_all(&peer);
    CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), 0);
    peer_mark(&peer);
    peer_wait(&peer, 20 * SECOND);
    CHECK(peer_count(&peer, CONTROL) > 1);
    expect_last_ok(&peer, 5, 1);
    CHECK_EQUAL(peer.finished, 0);
    peer_free(&peer);
}

static void the_withheld_OK_is_that_of_the_buffer_that_completes_last_whichever_it_is(void)
{
    for (int any_order = 0; any_order < 2; any_order++) {
        struct peer peer;
        begin_confirming(&peer, any_order != 0);
        send_buffer(&peer, 1, 2, true);
        CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
        CHECK_EQUAL(messages[0].type, OK);
        CHECK_EQUAL(messages[0].buffer, 1);
        CHECK_EQUAL(completions, 0);
        send_buffer(&peer, 0, 3, false);
        CHECK_EQUAL(completions, 1);
        CHECK_EQUAL(deliveries_at_completion, 2);
        expect_withheld(&peer, 5 * SECOND);
        CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), 0);
        peer_wait(&peer, 0);
        expect_last_ok(&peer, 4, 0);
        peer_free(&peer);
    }
}

static void while_the_client_stores_the_connection_lives_on_and_repeated_DATA_is_ignored(void)
{
    struct peer peer;
    begin_confirming(&peer, false);
    peer.params.death_timer_s = 60;
    send_all(&peer);
    for (unsigned i = 0; i < 10; i++) { /* 200 s: more than three death timers */
        peer_mark(&peer);
        peer_wait(&peer, 20 * SECOND);
        CHECK(peer_count(&peer, KEEPALIVE) > 0);
        CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
        peer_data(&peer, 1, 3, 4, true);
        peer_bare(&peer, KEEPALIVE);
    }
    CHECK_EQUAL(peer_info(&peer)->stats.data_packets_duplicate, 10);
    CHECK_EQUAL(peer.deliveries, 2);
    CHECK_EQUAL(completions, 1);
    CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), 0);
    peer_wait(&peer, 0);
    expect_last_ok(&peer, 5, 1);
    peer_free(&peer);
}

static void messages_that_are_not_acknowledged_are_repeated_meanwhile(void)
{
    struct peer peer;
    begin_confirming(&peer, false);
    send_buffer(&peer, 0, 2, false);
    send_buffer(&peer, 1, 2, true); /* OK 3 and GO 4 are not acknowledged */
    peer_mark(&peer);
    peer_wait(&peer, 5 * SECOND);
    CHECK(peer_count(&peer, CONTROL) > 0);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 2);
    peer_null_ack(&peer, 4);
    expect_withheld(&peer, 10 * SECOND);
    peer_free(&peer);
}

static void a_peer_that_falls_silent_meanwhile_is_dead(void)
{
    struct peer peer;
    begin_confirming(&peer, false);
    send_all(&peer);
    peer_wait(&peer, 61 * SECOND);
    CHECK_EQUAL(peer.result, NETBLT_PEER_DEAD);
    peer_free(&peer);
}

static void an_abort_before_confirmation_reaches_the_sender_and_no_OK_does(void)
{
    struct peer peer;
    begin_confirming(&peer, false);
    send_all(&peer);
    peer_mark(&peer);
    CHECK_EQUAL(netblt_abort(peer.connection, "no space left", peer.now), 0);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_count(&peer, -1), 1);
    CHECK(strcmp((const char *)peer_nth(&peer, ABORT, 0)->bytes + 12, "no space left") == 0);
    CHECK_EQUAL(peer.result, NETBLT_LOCAL_ABORT);
    peer_free(&peer);
}

static void a_quit_before_confirmation_leaves_at_once_and_takes_confirmation_away(void)
{
    struct peer peer;
    begin_confirming(&peer, false);
    send_all(&peer);
    peer_mark(&peer);
    CHECK_EQUAL(netblt_quit(peer.connection, "changed my mind", peer.now), 0);
    CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), NETBLT_ERR_WRONG_STATE);
    peer_wait(&peer, 0);
    CHECK_EQUAL(peer_count(&peer, QUIT), 1);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
    peer_bare(&peer, QUITACK);
    CHECK_EQUAL(peer.result, NETBLT_LOCAL_QUIT);
    peer_free(&peer);
    begin_with(&peer, false, quit_and_confirm);
    send_all(&peer);
    CHECK_EQUAL(peer_count(&peer, QUIT), 1);
    peer_free(&peer);
}

static void the_peer_may_quit_or_abort_before_confirmation(void)
{
    struct peer peer;
    begin_confirming(&peer, false);
    send_all(&peer);
    peer_reason(&peer, QUIT, "changed my mind");
    CHECK_EQUAL(peer.result, NETBLT_PEER_QUIT);
    CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), NETBLT_ERR_WRONG_STATE);
    peer_free(&peer);
    begin_confirming(&peer, false);
    send_all(&peer);
    peer_reason(&peer, ABORT, "out of order");
    CHECK_EQUAL(peer.result, NETBLT_PEER_ABORTED);
    peer_free(&peer);
}

static void confirming_is_an_error_when_nothing_awaits_it(void)
{
    struct peer peer;
    begin_confirming(&peer, false);
    CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), NETBLT_ERR_WRONG_STATE); /* not complete */
    send_all(&peer);
    CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), 0);
    CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), NETBLT_ERR_WRONG_STATE); /* a second time */
    peer_free(&peer);
    peer_init(&peer, NETBLT_RECEIVER, false); /* without confirm_end */
    begin(&peer, true);
    send_all(&peer);
    CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), NETBLT_ERR_WRONG_STATE);
    peer_free(&peer);
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), NETBLT_ERR_WRONG_STATE);
    peer_free(&peer);
    peer_init(&peer, NETBLT_RECEIVER, true); /* still opening */
    peer_start(&peer);
    CHECK_EQUAL(netblt_confirm(peer.connection, peer.now), NETBLT_ERR_WRONG_STATE);
    peer_free(&peer);
}

static void a_client_may_confirm_from_inside_complete(void)
{
    struct peer peer;
    begin_with(&peer, false, confirm_at_once);
    send_all(&peer);
    CHECK_EQUAL(completions, 1);
    expect_last_ok(&peer, 5, 1);
    peer_null_ack(&peer, 5);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

static void without_confirm_end_complete_is_called_and_the_last_OK_leaves_at_once(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    client = peer_client;
    client.complete = on_complete;
    peer.client = &client;
    completions = 0;
    begin(&peer, true);
    send_all(&peer);
    CHECK_EQUAL(completions, 1);
    CHECK_EQUAL(deliveries_at_completion, 2);
    expect_last_ok(&peer, 5, 1);
    peer_free(&peer);
}

/* ---- two endpoints, with losses -------------------------------------------------------------------------------- */

static void run_lossy(uint64_t seed, bool abort_at_end)
{
    struct pair_case c;
    pair_case_default(&c);
    c.seed = seed;
    c.active_sends = seed % 2 != 0;
    c.any_order = seed % 4 < 2;
    c.auto_rate = seed % 3 == 0;
    c.size = seed % 5 == 0 ? 0 : seed * 3001;
    c.faults[0].loss_permille = c.faults[1].loss_permille = 150;
    c.faults[0].jitter_us = c.faults[1].jitter_us = 8000;
    c.confirm_end = true;
    c.confirm_after_us = seed % 3 * 40000000;
    c.abort_at_end = abort_at_end;
    c.active.death_timer_s = c.passive.death_timer_s = 300; /* losses alone end no connection */
    pair_run(&c, NULL);
}

static void on_a_lossy_path_success_follows_confirmation(void)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        run_lossy(seed, false);
}

static void on_a_lossy_path_an_abort_at_the_end_is_a_failure_at_both_ends(void)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        run_lossy(seed, true);
}

int main(void)
{
    RUN(the_last_OK_leaves_only_when_the_client_confirms);
    RUN(a_confirmed_OK_is_repeated_until_it_is_acknowledged);
    RUN(the_withheld_OK_is_that_of_the_buffer_that_completes_last_whichever_it_is);
    RUN(while_the_client_stores_the_connection_lives_on_and_repeated_DATA_is_ignored);
    RUN(messages_that_are_not_acknowledged_are_repeated_meanwhile);
    RUN(a_peer_that_falls_silent_meanwhile_is_dead);
    RUN(an_abort_before_confirmation_reaches_the_sender_and_no_OK_does);
    RUN(a_quit_before_confirmation_leaves_at_once_and_takes_confirmation_away);
    RUN(the_peer_may_quit_or_abort_before_confirmation);
    RUN(confirming_is_an_error_when_nothing_awaits_it);
    RUN(a_client_may_confirm_from_inside_complete);
    RUN(without_confirm_end_complete_is_called_and_the_last_OK_leaves_at_once);
    RUN(on_a_lossy_path_success_follows_confirmation);
    RUN(on_a_lossy_path_an_abort_at_the_end_is_a_failure_at_both_ends);
    return 0;
}
