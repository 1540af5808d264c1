/* SPDX-License-Identifier: BSD-2-Clause */
/* Who owns a buffer when: the table of netblt/client.h, by a ledger of every buffer that the client has lent. */
#include "check.h"
#include "peer.h"

#include <string.h>

enum { BUFFERS = 16 };

/* A client that notes what it has lent. Standard buffers: 400 bytes, two at a time. */
struct ledger {
    struct peer peer;
    uint8_t memory[BUFFERS][400];
    bool lent[BUFFERS];
    unsigned lent_now, lent_ever, returned_empty, delivered;
    unsigned at_finished; /* buffers that were lent when `finished` was called */
    bool finished;
    bool abort_when_asked;
    uint64_t last; /* index of the sender's last buffer */
};

static uint8_t *lend(struct ledger *ledger, netblt_connection *connection, uint64_t index)
{
    CHECK(index < BUFFERS && !ledger->lent[index] && !ledger->finished);
    ledger->lent[index] = true;
    ledger->lent_now++;
    ledger->lent_ever++;
    if (ledger->abort_when_asked)
        CHECK_EQUAL(netblt_abort(connection, "no more", ledger->peer.now), 0);
    return ledger->memory[index];
}

static void take_back(struct ledger *ledger, uint64_t index, const uint8_t *data)
{
    CHECK(index < BUFFERS && ledger->lent[index] && data == ledger->memory[index]);
    ledger->lent[index] = false;
    ledger->lent_now--;
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    struct ledger *ledger = context;
    *data = lend(ledger, connection, index);
    *length = capacity;
    *last = index == ledger->last;
    return NETBLT_SEND_BUFFER_READY;
}

static void release(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data)
{
    (void)connection;
    struct ledger *ledger = context;
    take_back(ledger, index, data);
    ledger->returned_empty++;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    CHECK_EQUAL(capacity, 400);
    return lend(context, connection, index);
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    (void)connection, (void)length, (void)last;
    struct ledger *ledger = context;
    take_back(ledger, index, data);
    ledger->delivered++;
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    release(context, connection, index, data);
}

static void opened(void *context, netblt_connection *connection)
{
    ((struct ledger *)context)->peer.connection = connection;
    ((struct ledger *)context)->peer.opened++;
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    struct ledger *ledger = context;
    ledger->finished = true;
    ledger->at_finished = ledger->lent_now;
    ledger->peer.finished++;
    ledger->peer.result = outcome->result;
}

static void closed(void *context, netblt_connection *connection)
{
    (void)connection;
    CHECK_EQUAL(((struct ledger *)context)->lent_now, 0);
    ((struct ledger *)context)->peer.connection = NULL;
    ((struct ledger *)context)->peer.closed++;
}

static const netblt_client client = {.size = sizeof(netblt_client),
                                     .get_send_buffer = get_send_buffer,
                                     .release = release,
                                     .get_receive_buffer = get_receive_buffer,
                                     .deliver = deliver,
                                     .discard = discard,
                                     .opened = opened,
                                     .finished = finished,
                                     .closed = closed};

/* Open, with two buffers lent: the first is partly sent or has partly arrived. */
static void lend_two(struct ledger *ledger, enum netblt_role role)
{
    *ledger = (struct ledger){.last = 5};
    peer_init(&ledger->peer, role, false);
    ledger->peer.client = &client; /* its context is the peer, the first member of the ledger */
    peer_open(&ledger->peer);
    if (role == NETBLT_SENDER) {
        peer_go(&ledger->peer, 1, 0);
        peer_go(&ledger->peer, 2, 1);
    } else {
        peer_null_ack(&ledger->peer, 2); /* the GOs */
        peer_data(&ledger->peer, 0, 0, 2, false);
    }
    CHECK_EQUAL(ledger->lent_now, 2);
}

static void expect_all_returned(struct ledger *ledger, enum netblt_result result)
{
    CHECK_EQUAL(ledger->peer.finished, 1);
    CHECK_EQUAL(ledger->peer.result, result);
    CHECK_EQUAL(ledger->at_finished, 0);
    CHECK_EQUAL(ledger->lent_now, 0);
    CHECK_EQUAL(ledger->lent_ever, ledger->returned_empty + ledger->delivered);
    peer_wait(&ledger->peer, 600 * SECOND); /* what a dally does */
    CHECK_EQUAL(ledger->lent_ever, ledger->returned_empty + ledger->delivered);
    peer_free(&ledger->peer);
}

static void for_both_roles(void (*test)(struct ledger *ledger, enum netblt_role role))
{
    static struct ledger ledger;
    for (int role = NETBLT_SENDER; role <= NETBLT_RECEIVER; role++) {
        lend_two(&ledger, (enum netblt_role)role);
        test(&ledger, (enum netblt_role)role);
    }
}

/* ---- what returns buffers ---- */

static void after_abort(struct ledger *ledger, enum netblt_role role)
{
    (void)role;
    CHECK_EQUAL(netblt_abort(ledger->peer.connection, "", ledger->peer.now), 0);
    CHECK_EQUAL(ledger->returned_empty, 2);
    expect_all_returned(ledger, NETBLT_LOCAL_ABORT);
}

static void after_abort_of_the_peer(struct ledger *ledger, enum netblt_role role)
{
    (void)role;
    peer_reason(&ledger->peer, ABORT, "");
    CHECK_EQUAL(ledger->returned_empty, 2);
    expect_all_returned(ledger, NETBLT_PEER_ABORTED);
}

static void after_quit_of_the_peer(struct ledger *ledger, enum netblt_role role)
{
    (void)role;
    peer_reason(&ledger->peer, QUIT, "");
    CHECK_EQUAL(ledger->returned_empty, 2);
    CHECK_EQUAL(ledger->peer.closed, 0);
    expect_all_returned(ledger, NETBLT_PEER_QUIT);
}

static void after_the_death_timer(struct ledger *ledger, enum netblt_role role)
{
    (void)role;
    peer_wait(&ledger->peer, 59 * SECOND); /* retransmissions, control and data timers */
    CHECK_EQUAL(ledger->lent_now, 2);
    peer_wait(&ledger->peer, 2 * SECOND);
    expect_all_returned(ledger, NETBLT_PEER_DEAD);
}

static void with_quitack(struct ledger *ledger, enum netblt_role role)
{
    if (role == NETBLT_RECEIVER) /* up to the buffer boundary */
        for (unsigned packet = 1; packet < 4; packet++)
            peer_data(&ledger->peer, 0, packet, 2, false);
    unsigned lent = ledger->lent_now;
    CHECK_EQUAL(lent, 2);
    CHECK_EQUAL(netblt_quit(ledger->peer.connection, "", ledger->peer.now), 0);
    peer_wait(&ledger->peer, 3 * SECOND);
    CHECK_EQUAL(peer_info(&ledger->peer)->state, NETBLT_STATE_QUITTING);
    CHECK_EQUAL(ledger->lent_now, lent);
    peer_bare(&ledger->peer, QUITACK);
    expect_all_returned(ledger, NETBLT_LOCAL_QUIT);
}

static void an_abort_returns_all_buffers_before_finished(void)
{
    for_both_roles(after_abort);
}

static void an_abort_of_the_peer_returns_all_buffers_before_finished(void)
{
    for_both_roles(after_abort_of_the_peer);
}

static void a_quit_of_the_peer_returns_all_buffers_before_finished(void)
{
    for_both_roles(after_quit_of_the_peer);
}

static void timers_keep_buffers_until_the_death_timer_expires(void)
{
    for_both_roles(after_the_death_timer);
}

static void a_quit_keeps_buffers_until_quitack(void)
{
    for_both_roles(with_quitack);
}

/* ---- buffers one by one ---- */

static void an_ok_returns_a_send_buffer(void)
{
    static struct ledger ledger;
    lend_two(&ledger, NETBLT_SENDER);
    peer_ok(&ledger.peer, 3, 0);
    CHECK(!ledger.lent[0] && ledger.lent[1]);
    uint16_t packet = 0;
    peer_resend(&ledger.peer, 4, 1, &packet, 1);
    CHECK(ledger.lent[1]); /* needed for the retransmission */
    CHECK_EQUAL(netblt_abort(ledger.peer.connection, "", ledger.peer.now), 0);
    expect_all_returned(&ledger, NETBLT_LOCAL_ABORT);
}

static void a_complete_receive_buffer_is_delivered_and_one_beyond_the_last_discarded(void)
{
    static struct ledger ledger;
    lend_two(&ledger, NETBLT_RECEIVER);
    peer_data(&ledger.peer, 0, 1, 2, true); /* states that buffer 0 is the last */
    CHECK(ledger.lent[0] && !ledger.lent[1]);
    CHECK_EQUAL(ledger.returned_empty, 1);
    peer_data(&ledger.peer, 0, 2, 2, true);
    peer_data(&ledger.peer, 0, 3, 2, true);
    CHECK_EQUAL(ledger.delivered, 1);
    peer_null_ack(&ledger.peer, 3);
    expect_all_returned(&ledger, NETBLT_DONE);
}

static void an_abort_while_lending_returns_the_buffer_that_is_being_lent(void)
{
    static struct ledger ledger;
    for (int role = NETBLT_SENDER; role <= NETBLT_RECEIVER; role++) {
        ledger = (struct ledger){.last = 5, .abort_when_asked = true};
        peer_init(&ledger.peer, (enum netblt_role)role, false);
        ledger.peer.client = &client;
        peer_open(&ledger.peer);
        if (role == NETBLT_SENDER)
            peer_go(&ledger.peer, 1, 0);
        CHECK_EQUAL(ledger.lent_ever, 1);
        CHECK_EQUAL(ledger.at_finished, 1); /* the callback has not returned it yet */
        CHECK_EQUAL(ledger.returned_empty, 1);
        CHECK_EQUAL(ledger.peer.result, NETBLT_LOCAL_ABORT);
        peer_free(&ledger.peer);
    }
}

static void freeing_the_endpoint_calls_nothing(struct ledger *ledger, enum netblt_role role)
{
    (void)role;
    netblt_endpoint_free(ledger->peer.endpoint);
    CHECK_EQUAL(ledger->lent_now, 2); /* the client's again, without a callback */
    CHECK(!ledger->finished && ledger->peer.closed == 0);
    memset(ledger->memory, 0, sizeof ledger->memory);
    ledger->peer.endpoint = NULL;
    ledger->peer.connection = NULL;
    peer_free(&ledger->peer);
}

static void netblt_endpoint_free_returns_buffers_without_a_callback(void)
{
    for_both_roles(freeing_the_endpoint_calls_nothing);
}

int main(void)
{
    RUN(an_abort_returns_all_buffers_before_finished);
    RUN(an_abort_of_the_peer_returns_all_buffers_before_finished);
    RUN(a_quit_of_the_peer_returns_all_buffers_before_finished);
    RUN(timers_keep_buffers_until_the_death_timer_expires);
    RUN(a_quit_keeps_buffers_until_quitack);
    RUN(an_ok_returns_a_send_buffer);
    RUN(a_complete_receive_buffer_is_delivered_and_one_beyond_the_last_discarded);
    RUN(an_abort_while_lending_returns_the_buffer_that_is_being_lent);
    RUN(netblt_endpoint_free_returns_buffers_without_a_callback);
    return 0;
}
