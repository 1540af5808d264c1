/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the events that an observer gets: they are complete, agree with the statistics and are consistent. */
#include "check.h"
#include "pair.h"
#include "peer.h"

#include <string.h>

enum { BUFFERS_MAX = 64, STATES_MAX = 8, TIMERS = NETBLT_TIMER_QUIT + 1 };

struct timer {
    bool runs;
    netblt_time until;
    unsigned expired;
};

/* One end, as its events show it. */
struct story {
    netblt_connection *connection; /* the first that was named */
    netblt_time at;
    unsigned sent, received, dropped;
    uint64_t bytes_sent;
    int states[STATES_MAX];
    unsigned state_count;
    struct timer timers[TIMERS][BUFFERS_MAX]; /* [.][0] but for data timers */
    unsigned data_expired;
    unsigned rates;
    uint16_t burst_size, burst_interval_ms;
    unsigned done[BUFFERS_MAX];
    uint64_t done_bytes;
};

static void hear_timer(struct story *story, const netblt_event *event)
{
    CHECK(event->timer.buffer < BUFFERS_MAX);
    struct timer *timer = &story->timers[event->timer.which][event->timer.buffer];
    if (event->kind == NETBLT_EVENT_TIMER_SET) {
        CHECK(event->timer.until != NETBLT_TIME_NEVER && event->timer.until >= event->at);
        timer->runs = true;
        timer->until = event->timer.until;
        return;
    }
    CHECK(timer->runs);
    timer->runs = false;
    if (event->kind == NETBLT_EVENT_TIMER_CLEARED)
        return;
    CHECK(event->at >= timer->until); /* none expires early */
    timer->expired++;
    if (event->timer.which == NETBLT_TIMER_DATA)
        story->data_expired++;
}

static void hear(void *context, const netblt_event *event)
{
    struct story *story = context;
    CHECK(event->at >= story->at);
    story->at = event->at;
    if (story->connection == NULL)
        story->connection = event->connection;
    CHECK(event->connection == NULL || event->connection == story->connection);
    switch (event->kind) {
    case NETBLT_EVENT_PACKET_SENT:
        story->sent++;
        story->bytes_sent += event->packet.length;
        break;
    case NETBLT_EVENT_PACKET_RECEIVED:
        story->received++;
        break;
    case NETBLT_EVENT_PACKET_DROPPED:
        CHECK(event->why != NULL);
        story->dropped++;
        break;
    case NETBLT_EVENT_STATE:
        CHECK(story->state_count < STATES_MAX);
        story->states[story->state_count++] = event->state;
        break;
    case NETBLT_EVENT_RATE:
        story->rates++;
        story->burst_size = event->rate.burst_size;
        story->burst_interval_ms = event->rate.burst_interval_ms;
        break;
    case NETBLT_EVENT_BUFFER_DONE:
        CHECK(event->buffer.index < BUFFERS_MAX);
        story->done[event->buffer.index]++;
        story->done_bytes += event->buffer.length;
        break;
    default:
        hear_timer(story, event);
        break;
    }
}

static void no_timer_runs(const struct story *story)
{
    for (int which = 0; which < TIMERS; which++)
        for (int buffer = 0; buffer < BUFFERS_MAX; buffer++)
            CHECK(!story->timers[which][buffer].runs);
}

static void agrees_with(const struct story *story, const netblt_stats *stats)
{
    CHECK_EQUAL(story->sent, stats->packets_sent);
    CHECK_EQUAL(story->bytes_sent, stats->bytes_sent);
    CHECK_EQUAL(story->received, stats->packets_received);
    CHECK_EQUAL(story->timers[NETBLT_TIMER_CONTROL][0].expired, stats->control_timeouts);
    CHECK_EQUAL(story->data_expired, stats->data_timeouts);
    CHECK_EQUAL(story->done_bytes, stats->payload_bytes);
    no_timer_runs(story);
}

static void states_are(const struct story *story, const int *states, unsigned count)
{
    CHECK_EQUAL(story->state_count, count);
    for (unsigned i = 0; i < count; i++)
        CHECK_EQUAL(story->states[i], states[i]);
}

static void states_of_a_success(const struct story *story, bool active, bool sender)
{
    int states[4];
    unsigned count = 0;
    if (active)
        states[count++] = NETBLT_STATE_OPENING;
    states[count++] = NETBLT_STATE_OPEN;
    if (sender)
        states[count++] = NETBLT_STATE_DALLYING;
    states[count++] = NETBLT_STATE_CLOSED;
    states_are(story, states, count);
}

static void the_events_of_a_lossy_transfer_agree_with_its_statistics(void)
{
    unsigned data_expired = 0, dropped = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct pair_case c;
        struct pair_result result;
        struct story ends[2] = {{0}, {0}};
        pair_case_default(&c);
        c.seed = seed;
        c.active_sends = seed % 2 != 0;
        c.faults[0].loss_permille = c.faults[1].loss_permille = 150;
        c.faults[0].duplicate_permille = c.faults[1].duplicate_permille = 50;
        c.faults[0].corrupt_permille = c.faults[1].corrupt_permille = 20;
        c.observe = hear;
        c.observe_context[0] = &ends[0];
        c.observe_context[1] = &ends[1];
        pair_run(&c, &result);
        const struct story *sender = &ends[c.active_sends ? 0 : 1], *receiver = &ends[c.active_sends ? 1 : 0];
        agrees_with(sender, &result.sender);
        agrees_with(receiver, &result.receiver);
        states_of_a_success(sender, c.active_sends, true);
        states_of_a_success(receiver, !c.active_sends, false);
        CHECK_EQUAL(sender->done_bytes, c.size);
        CHECK_EQUAL(receiver->done_bytes, c.size);
        for (uint64_t i = 0; i < c.size / 10000; i++) {
            CHECK_EQUAL(sender->done[i], 1);
            CHECK_EQUAL(receiver->done[i], 1);
        }
        CHECK_EQUAL(sender->rates, 1); /* fixed: the negotiated pair, and no other */
        CHECK_EQUAL(sender->burst_size, result.negotiated.burst_size);
        data_expired += receiver->data_expired;
        dropped += receiver->dropped + sender->dropped;
    }
    CHECK(data_expired > 0 && dropped > 0); /* else this has shown little */
}

static void observed(struct peer *peer, struct story *story, enum netblt_role role, bool active)
{
    peer_init(peer, role, active);
    peer->event = hear;
    peer->event_context = story;
}

static void a_sender_tells_which_rate_it_settled_on(void)
{
    struct peer peer;
    struct story story = {0};
    observed(&peer, &story, NETBLT_SENDER, true);
    peer_open(&peer);
    CHECK_EQUAL(story.rates, 1);
    CHECK_EQUAL(story.burst_size, 1000);
    peer_go(&peer, 1, 0);
    struct forged control;
    forge(&peer, &control, CONTROL);
    forge_ok(&control, 2, 0, 7, 30, 500);
    peer_send(&peer, &control);
    CHECK_EQUAL(story.rates, 2);
    CHECK_EQUAL(story.burst_size, 7);
    CHECK_EQUAL(story.burst_interval_ms, 30);
    peer_free(&peer);
}

static void quitting_stops_the_timers_of_the_data_phase(void)
{
    for (int we_quit = 0; we_quit < 2; we_quit++) {
        struct peer peer;
        struct story story = {0};
        observed(&peer, &story, NETBLT_RECEIVER, false);
        peer_open(&peer);
        CHECK(story.timers[NETBLT_TIMER_CONTROL][0].runs);
        CHECK(story.timers[NETBLT_TIMER_DEATH][0].runs && story.timers[NETBLT_TIMER_KEEPALIVE][0].runs);
        if (we_quit)
            CHECK_EQUAL(netblt_quit(peer.connection, "enough", peer.now), 0);
        else
            peer_reason(&peer, QUIT, "enough");
        CHECK(!story.timers[NETBLT_TIMER_CONTROL][0].runs && !story.timers[NETBLT_TIMER_KEEPALIVE][0].runs);
        CHECK(story.timers[we_quit ? NETBLT_TIMER_QUIT : NETBLT_TIMER_DALLY][0].runs);
        peer_wait(&peer, 100 * SECOND); /* QUIT is repeated until the peer counts as dead; the dally ends by itself */
        CHECK_EQUAL(peer.closed, 1);
        CHECK(story.timers[we_quit ? NETBLT_TIMER_QUIT : NETBLT_TIMER_DALLY][0].expired >= (we_quit ? 2 : 1));
        CHECK_EQUAL(story.timers[NETBLT_TIMER_DEATH][0].expired, we_quit ? 1 : 0);
        no_timer_runs(&story);
        int states[] = {NETBLT_STATE_OPEN, we_quit ? NETBLT_STATE_QUITTING : NETBLT_STATE_DALLYING,
                        NETBLT_STATE_CLOSED};
        states_are(&story, states, 3);
        peer_free(&peer);
    }
}

static void packets_for_nobody_are_told_with_the_reason(void)
{
    struct peer peer;
    struct story story = {0};
    struct forged packet;
    observed(&peer, &story, NETBLT_RECEIVER, false);
    peer_start(&peer);
    peer_bare(&peer, KEEPALIVE);
    CHECK_EQUAL(story.dropped, 1); /* belongs to no connection */
    peer_send_raw(&peer, "short", 5);
    CHECK_EQUAL(story.dropped, 2);
    peer.refuse = true;
    forge_open(&peer, &packet, OPEN, &peer.params, true);
    peer_send(&peer, &packet);
    CHECK_EQUAL(story.dropped, 3);
    CHECK_EQUAL(story.sent, 1); /* REFUSED */
    packet.bytes[20] ^= 1;
    peer_send_raw(&peer, packet.bytes, packet.length); /* a wrong checksum */
    CHECK_EQUAL(story.dropped, 4);
    CHECK_EQUAL(story.received, 0);
    CHECK_EQUAL(story.sent, 1);
    CHECK(story.connection == NULL);
    peer_free(&peer);
}

static void an_unanswered_opening_is_told_from_its_first_OPEN_to_its_end(void)
{
    struct peer peer;
    struct story story = {0};
    observed(&peer, &story, NETBLT_SENDER, true);
    peer_start(&peer);
    peer_wait(&peer, 100 * SECOND);
    CHECK_EQUAL(peer.result, NETBLT_UNREACHABLE);
    CHECK_EQUAL(story.sent, peer.profile.open_attempts);
    CHECK_EQUAL(story.timers[NETBLT_TIMER_OPEN][0].expired, peer.profile.open_attempts);
    int states[] = {NETBLT_STATE_OPENING, NETBLT_STATE_CLOSED};
    states_are(&story, states, 2);
    no_timer_runs(&story);
    peer_free(&peer);
}

int main(void)
{
    RUN(the_events_of_a_lossy_transfer_agree_with_its_statistics);
    RUN(a_sender_tells_which_rate_it_settled_on);
    RUN(quitting_stops_the_timers_of_the_data_phase);
    RUN(packets_for_nobody_are_told_with_the_reason);
    RUN(an_unanswered_opening_is_told_from_its_first_OPEN_to_its_end);
    return 0;
}
