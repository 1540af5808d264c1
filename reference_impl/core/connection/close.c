/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of a connection: DONE, dally, QUIT, ABORT, death timer (RFC 998 5.3). */
#include "connection/close.h"

#include "base/bytes.h"
#include "connection/demux.h"
#include "connection/endpoint_state.h"
#include "connection/observe.h"
#include "connection/pending_end.h"
#include "connection/receive_buffers.h"
#include "connection/send_buffers.h"
#include "connection/validation.h"
#include "wire/params.h"

#include <string.h>

/* How long an end that has acknowledged a QUIT answers repeated ones (QUIT-03, AMB-57). RFC 998 5.3.2: the peer repeats
 * QUIT until its death timer expires, so half of that time holds two repetitions of a peer that sends four. A peer that
 * turns out to be slower is waited for twice the interval that it showed. */
#define QUIT_DALLY_MIN_INTERVALS 4 /* of our own repetition */
#define QUIT_DALLY_MAX_US UINT64_C(60000000)

void nb_close_finish(netblt_connection *connection, enum netblt_result result, const char *reason)
{
    if (connection->finished)
        return;
    connection->finished = true;
    connection->succeeded = result == NETBLT_DONE;
    if (connection->started && connection->role == NETBLT_SENDER)
        nb_sender_release_all(connection);
    else if (connection->started)
        nb_receiver_discard_all(connection);
    netblt_outcome outcome = {.result = result, .reason = reason};
    if (connection->client->finished != NULL)
        connection->client->finished(connection->context, connection, &outcome);
}

/* No timer runs any more. */
static void stop_timers(netblt_connection *connection)
{
    nb_set_timer(connection, NETBLT_TIMER_OPEN, NB_NO_BUFFER, &connection->open_retry_at, NETBLT_TIME_NEVER);
    nb_set_timer(connection, NETBLT_TIMER_DALLY, NB_NO_BUFFER, &connection->dally_until, NETBLT_TIME_NEVER);
    nb_set_timer(connection, NETBLT_TIMER_QUIT, NB_NO_BUFFER, &connection->quit_retry_at, NETBLT_TIME_NEVER);
    if (connection->started && connection->role == NETBLT_RECEIVER)
        nb_receiver_stop_timers(connection);
    if (connection->started && !connection->death_timer_ended) {
        connection->death_timer_ended = true;
        nb_observe_timer(connection, NETBLT_EVENT_TIMER_CLEARED, NETBLT_TIMER_DEATH, NB_NO_BUFFER, NETBLT_TIME_NEVER);
    }
}

void nb_close_now(netblt_connection *connection)
{
    nb_set_state(connection, NETBLT_STATE_CLOSED);
    stop_timers(connection);
    nb_validation_forget(connection);
    connection->owed = 0;
    nb_mark(connection);
}

/* Whether the peer may look for a proof in our reasons: it does if it knows guard.h, and while opening it may. */
static bool gives_proof(const netblt_connection *connection)
{
    return connection->guarded ||
           (connection->endpoint->secret.known && connection->active && connection->state == NETBLT_STATE_OPENING);
}

/* `reason` as it goes to the peer, in `text`. */
static const char *with_proof(const netblt_connection *connection, enum nb_type type, const char *reason,
                              char text[NETBLT_STRING_MAX_BYTES + 1])
{
    if (reason == NULL || !gives_proof(connection))
        return reason;
    memcpy(text, reason, strlen(reason) + 1);
    nb_guard_append_proof(text, connection->unique_id, type);
    return text;
}

/* An unvalidated peer gets its last packet as far as the budget and the allowance for stateless replies go. */
static bool may_send_last(netblt_connection *connection, const char *reason)
{
    netblt_endpoint *endpoint = connection->endpoint;
    size_t bytes = NETBLT_HEADER_BYTES + (reason == NULL ? 0 : nb_align4(strlen(reason) + 1));
    if (!nb_validation_is_missing(connection))
        return true;
    if (nb_validation_send_at(connection, bytes, endpoint->now) > endpoint->now ||
        !nb_reply_take_allowance(&endpoint->replies, endpoint->now))
        return false;
    nb_validation_sent(connection, bytes, endpoint->now);
    return true;
}

/* The last packet of a connection that closes with it. */
static void send_last(netblt_connection *connection, enum nb_type type, const char *reason)
{
    char text[NETBLT_STRING_MAX_BYTES + 1];
    struct nb_emitter emitter = nb_connection_emitter(connection);
    netblt_endpoint *endpoint = connection->endpoint;
    const char *sent = with_proof(connection, type, reason, text);
    if (!may_send_last(connection, sent))
        return;
    size_t bytes = nb_reply_queue(&endpoint->replies, &connection->path, &emitter, type, sent);
    if (bytes > 0) {
        connection->stats.packets_sent++;
        connection->stats.bytes_sent += bytes;
        nb_observe_reply(endpoint, connection);
    }
}

/* ---- success --------------------------------------------------------------------------------------------------- */

void nb_close_receiver_done(netblt_connection *connection)
{
    send_last(connection, NB_DONE, NULL);
    nb_set_state(connection, NETBLT_STATE_CLOSED);
    nb_close_finish(connection, NETBLT_DONE, "");
    nb_close_now(connection);
}

void nb_close_sender_done(netblt_connection *connection, netblt_time now)
{
    nb_set_state(connection, NETBLT_STATE_DALLYING);
    nb_close_extend_dally(connection, now);
    nb_close_finish(connection, NETBLT_DONE, "");
}

void nb_close_extend_dally(netblt_connection *connection, netblt_time now)
{
    nb_set_timer(connection, NETBLT_TIMER_DALLY, NB_NO_BUFFER, &connection->dally_until,
                 now + nb_dally_time(nb_profile_of(connection), connection->sender.peer_control_timer_ms,
                                     nb_death_time(connection->own.death_timer_s)));
}

void nb_close_on_done(netblt_connection *connection)
{
    /* Only a sender whose buffers all got their OK believes it (AMB-48, AMB-54, ROBUST-07). */
    if (connection->state == NETBLT_STATE_DALLYING && !connection->quit_dally)
        nb_close_now(connection);
}

/* ---- ABORT ----------------------------------------------------------------------------------------------------- */

void nb_close_abort(netblt_connection *connection, const char *reason)
{
    send_last(connection, NB_ABORT, reason);
    nb_set_state(connection, NETBLT_STATE_CLOSED);
    nb_close_finish(connection, NETBLT_LOCAL_ABORT, reason);
    nb_close_now(connection);
}

static void end_by_abort(netblt_connection *connection, const char *reason)
{
    nb_set_state(connection, NETBLT_STATE_CLOSED);
    nb_close_finish(connection, NETBLT_PEER_ABORTED, reason);
    nb_close_now(connection);
}

void nb_close_on_abort(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    nb_text_copy(reason, packet->reason);
    if (nb_pending_end_decide(connection, NB_ABORT, reason, now) == NB_END_BELIEVED)
        end_by_abort(connection, reason);
}

/* ---- unvalidated peers ----------------------------------------------------------------------------------------- */

static void evict(netblt_connection *connection)
{
    nb_log(connection->endpoint, "too many connections with unvalidated peers: the oldest one ends");
    nb_close_abort(connection, "too many half-open connections");
}

void nb_close_make_room(netblt_endpoint *endpoint)
{
    const struct nb_unvalidated_connections *all = &endpoint->unvalidated;
    uint32_t most = endpoint->config.unvalidated_connections;
    if (most != 0 && all->count >= most)
        evict(nb_unvalidated_first(nb_list_is_empty(&all->silent) ? &all->talking : &all->silent));
}

static void close_unreachable(netblt_connection *connection)
{
    nb_set_state(connection, NETBLT_STATE_CLOSED);
    nb_close_finish(connection, NETBLT_PEER_DEAD, "the network reports that packets do not reach the peer");
    nb_close_now(connection);
}

static void end_unreachable(const struct nb_list *list, const netblt_address *foreign, uint16_t local_port)
{
    netblt_connection *next;
    for (netblt_connection *at = nb_unvalidated_first(list); at != NULL; at = next) {
        next = nb_unvalidated_next(at);
        if (nb_demux_same_address(&at->path.foreign, foreign) && (local_port == 0 || at->local_port == local_port))
            close_unreachable(at);
    }
}

void nb_close_unreachable(netblt_endpoint *endpoint, const netblt_address *foreign, uint16_t local_port)
{
    end_unreachable(&endpoint->unvalidated.silent, foreign, local_port);
    end_unreachable(&endpoint->unvalidated.talking, foreign, local_port);
}

/* ---- QUIT ------------------------------------------------------------------------------------------------------ */

void nb_close_want_quit(netblt_connection *connection, const char *reason, netblt_time now)
{
    memcpy(connection->reason, reason, strlen(reason) + 1);
    if (connection->state == NETBLT_STATE_OPENING) {
        /* The peer may have accepted already: one QUIT ends it there, and its QUITACK gets no reply. */
        send_last(connection, NB_QUIT, reason);
        nb_set_state(connection, NETBLT_STATE_CLOSED);
        nb_close_finish(connection, NETBLT_LOCAL_QUIT, reason);
        nb_close_now(connection);
        return;
    }
    connection->quit_wanted = true;
    connection->quit_latest_at = now + nb_death_time(connection->own.death_timer_s); /* AMB-56 */
}

size_t nb_close_write_quit(const netblt_connection *connection, uint8_t *packet)
{
    char text[NETBLT_STRING_MAX_BYTES + 1];
    struct nb_emitter emitter = nb_connection_emitter(connection);
    return nb_write_reason(packet, &emitter, NB_QUIT, with_proof(connection, NB_QUIT, connection->reason, text));
}

bool nb_close_beyond_4g(netblt_connection *connection, uint64_t end, netblt_time now)
{
    if (connection->options.beyond_4g || end <= NETBLT_TRANSFER_MAX_BYTES)
        return false;
    if (!connection->quit_wanted)
        nb_close_want_quit(connection, NB_BEYOND_4G_REASON, now);
    return true;
}

/* The timers of the data phase end with it. */
static void stop_transfer(netblt_connection *connection)
{
    if (connection->role == NETBLT_RECEIVER)
        nb_receiver_stop_timers(connection);
}

static bool at_boundary(const netblt_connection *connection)
{
    return connection->role == NETBLT_SENDER ? nb_sender_at_boundary(connection) : nb_receiver_at_boundary(connection);
}

void nb_close_step_quit(netblt_connection *connection, netblt_time now)
{
    if (connection->state != NETBLT_STATE_OPEN) { /* it ended some other way meanwhile */
        connection->quit_wanted = false;
        connection->quit_latest_at = NETBLT_TIME_NEVER;
        return;
    }
    if (now < connection->quit_latest_at && !at_boundary(connection))
        return;
    connection->quit_wanted = false;
    connection->quit_latest_at = NETBLT_TIME_NEVER;
    nb_set_state(connection, NETBLT_STATE_QUITTING);
    stop_transfer(connection);
    connection->owed = NB_OWED_QUIT; /* QUIT-05: nothing of the transfer leaves any more */
    connection->quit_wait_us = nb_profile_of(connection)->quit_retry_us;
    nb_set_timer(connection, NETBLT_TIMER_QUIT, NB_NO_BUFFER, &connection->quit_retry_at,
                 now + connection->quit_wait_us);
}

static netblt_time quit_dally_time(const netblt_connection *connection)
{
    uint16_t peer_s = connection->peer_death_timer_s; /* 0: it never dies (AMB-50) */
    netblt_time dally = nb_death_time(peer_s == 0 ? connection->own.death_timer_s : peer_s) / 2;
    netblt_time least = QUIT_DALLY_MIN_INTERVALS * nb_profile_of(connection)->quit_retry_us;
    if (dally < 2 * connection->quit_interval_us)
        dally = 2 * connection->quit_interval_us;
    if (dally > QUIT_DALLY_MAX_US)
        dally = QUIT_DALLY_MAX_US;
    return dally > least ? dally : least;
}

static void begin_quit_dally(netblt_connection *connection, netblt_time now)
{
    nb_set_timer(connection, NETBLT_TIMER_DALLY, NB_NO_BUFFER, &connection->dally_until,
                 now + quit_dally_time(connection));
}

/* The longest interval at which the peer has repeated its QUIT. */
static void measure_quit_interval(netblt_connection *connection, netblt_time now)
{
    if (connection->quit_dally && now - connection->quit_seen_at > connection->quit_interval_us)
        connection->quit_interval_us = now - connection->quit_seen_at;
    connection->quit_seen_at = now;
}

/* The QUIT is believed. */
static void end_by_quit(netblt_connection *connection, const char *reason, netblt_time now)
{
    if (connection->state == NETBLT_STATE_OPEN || connection->quit_dally) {
        measure_quit_interval(connection, now);
        connection->owed = NB_OWED_QUITACK;
        nb_set_state(connection, NETBLT_STATE_DALLYING);
        connection->quit_dally = true;
        stop_transfer(connection);
        begin_quit_dally(connection, now);
    } else {
        connection->owed |= NB_OWED_QUITACK;
    }
    if (connection->quit_dally)
        nb_close_finish(connection, NETBLT_PEER_QUIT, reason);
}

/* QUITACK leaves at once, in any state and for each QUIT (QUIT-01, QUIT-03), but for one that is known to be forged. */
void nb_close_on_quit(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    nb_text_copy(reason, packet->reason);
    bool open = connection->state == NETBLT_STATE_OPEN;
    enum nb_end_belief belief = open ? nb_pending_end_decide(connection, NB_QUIT, reason, now) : NB_END_BELIEVED;
    if (belief == NB_END_BELIEVED)
        end_by_quit(connection, reason, now);
    else if (belief == NB_END_WAITS)
        connection->owed |= NB_OWED_QUITACK;
}

void nb_close_on_quitack(netblt_connection *connection)
{
    if (connection->state != NETBLT_STATE_QUITTING)
        return;
    nb_close_finish(connection, NETBLT_LOCAL_QUIT, connection->reason);
    nb_close_now(connection);
}

/* ---- timers ---------------------------------------------------------------------------------------------------- */

netblt_time nb_close_death_at(const netblt_connection *connection)
{
    return connection->received_at + nb_death_time(connection->own.death_timer_s);
}

/* TIMER-10: this end's own declared value, and no word to the peer (AMB-52). */
static void die(netblt_connection *connection)
{
    connection->death_timer_ended = true;
    nb_observe_timer(connection, NETBLT_EVENT_TIMER_EXPIRED, NETBLT_TIMER_DEATH, NB_NO_BUFFER, NETBLT_TIME_NEVER);
    bool quitting = connection->state == NETBLT_STATE_QUITTING; /* QUIT-02: over, with or without QUITACK */
    const struct nb_pending_end *pending = &connection->pending_end;
    nb_set_state(connection, NETBLT_STATE_CLOSED);
    if (quitting)
        nb_close_finish(connection, NETBLT_LOCAL_QUIT, connection->reason);
    else if (pending->refuted) /* it was true: what refuted it had been under way for long */
        nb_close_finish(connection, pending->type == NB_QUIT ? NETBLT_PEER_QUIT : NETBLT_PEER_ABORTED, pending->reason);
    else
        nb_close_finish(connection, NETBLT_PEER_DEAD, "nothing was heard from the peer for the death timer");
    nb_close_now(connection);
}

/* The process was held up: what a dally is for, to answer (CLOSE-03, QUIT-01), has not been done yet even once. */
static bool reply_is_due(const netblt_connection *connection)
{
    bool acks = connection->role == NETBLT_SENDER && !connection->quit_dally; /* QUIT-05: else no ack leaves any more */
    return (connection->owed & (NB_OWED_NULL_ACK | NB_OWED_QUITACK)) != 0 || (acks && connection->sender.ack_owed);
}

static void begin_dally_anew(netblt_connection *connection, netblt_time now)
{
    if (connection->quit_dally)
        begin_quit_dally(connection, now);
    else
        nb_close_extend_dally(connection, now);
}

/* Nothing has refuted the QUIT or ABORT. */
static void believe(netblt_connection *connection, netblt_time now)
{
    nb_pending_end_settle(connection);
    if (connection->pending_end.type == NB_ABORT)
        end_by_abort(connection, connection->pending_end.reason);
    else
        end_by_quit(connection, connection->pending_end.reason, now);
}

void nb_close_timeout(netblt_connection *connection, netblt_time now)
{
    if (connection->state == NETBLT_STATE_OPENING || connection->state == NETBLT_STATE_CLOSED)
        return;
    if (nb_pending_end_is_due(connection, now)) {
        believe(connection, now);
        if (connection->state != NETBLT_STATE_QUITTING) /* whose own timers may expire at the same time */
            return;
    }
    if (now >= connection->dally_until && reply_is_due(connection))
        begin_dally_anew(connection, now);
    if (now >= connection->dally_until) {
        nb_timer_expired(connection, NETBLT_TIMER_DALLY, NB_NO_BUFFER, &connection->dally_until);
        nb_close_now(connection);
        return;
    }
    if (now >= nb_close_death_at(connection)) {
        die(connection);
        return;
    }
    if (now >= connection->quit_retry_at) {
        nb_timer_expired(connection, NETBLT_TIMER_QUIT, NB_NO_BUFFER, &connection->quit_retry_at);
        connection->owed |= NB_OWED_QUIT;
        if (nb_validation_is_missing(connection))
            connection->quit_wait_us *= 2;
        nb_set_timer(connection, NETBLT_TIMER_QUIT, NB_NO_BUFFER, &connection->quit_retry_at,
                     now + connection->quit_wait_us);
    }
}
