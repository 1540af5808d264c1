/* SPDX-License-Identifier: BSD-2-Clause */
/* The data sender: GO, OK and RESEND that arrive (RFC 998 5.2.1). */
#include "base/bitmap.h"
#include "base/serial.h"
#include "connection/close.h"
#include "connection/endpoint_state.h"
#include "connection/observe.h"
#include "connection/send_buffers.h"
#include "connection/validation.h"
#include "rate/rate_control.h"
#include "rate/rate_pair.h"
#include "sender/sender.h"

#include <stdio.h>

/* Control messages at the data sender (RFC 998 5.2.1; CTRL-06..12). */

/* What to do with the sequence number of a message. */
enum verdict {
    VERDICT_RECORD, /* handled, or senseless: acknowledged either way */
    VERDICT_FORGET, /* as if it had not arrived: the peer repeats it */
    VERDICT_CLOSED, /* the connection is over */
};

/* ---- GO -------------------------------------------------------------------------------------------------------- */

/* AMB-09, AMB-36, AMB-47: go_queue.h. A repeated GO and one past the last buffer (CTRL-15) do nothing. */
static enum verdict on_go(struct nb_sender *sender, uint16_t seq, uint32_t buffer)
{
    if (sender->last_known)
        return VERDICT_RECORD;
    return nb_go_queue_add(&sender->gos, &sender->sequence, seq, buffer) ? VERDICT_RECORD : VERDICT_FORGET;
}

/* ---- OK -------------------------------------------------------------------------------------------------------- */

static void adopt_offer(netblt_connection *connection, const struct nb_message *ok)
{
    struct nb_sender *sender = &connection->sender;
    if (sender->ok_seen && !nb_seq_after(ok->seq, sender->newest_ok))
        return;
    sender->ok_seen = true;
    sender->newest_ok = ok->seq;
    sender->peer_control_timer_ms = ok->control_timer_ms;
    struct nb_burst offer = {ok->burst_size, ok->burst_interval_ms};
    struct nb_burst before = sender->pacing.settled;
    bool restricted;
    const struct nb_rate_limits limits = {sender->own_limit, nb_connection_rate_limit(connection)};
    struct nb_burst settled = sender->rate_controller->adopt(offer, before, &limits, &restricted);
    nb_pacing_settle(&sender->pacing, settled);
    if (!nb_pair_same(settled, before))
        nb_observe_rate(connection, settled, 0, 0, restricted ? "an offer, restricted" : "as offered");
    if (restricted)
        sender->report_owed = true; /* NEG-09 */
}

/* The peer has shown that it has so many packets of the buffer; RESENDs of parts of a buffer may show fewer than is
 * known. */
static void settle(netblt_connection *connection, struct nb_send_buffer *buffer, uint32_t packets)
{
    if (packets <= buffer->settled)
        return;
    connection->stats.data_packets_settled += packets - buffer->settled;
    buffer->settled = packets;
}

static void buffer_is_sent(netblt_connection *connection, struct nb_send_buffer *buffer, uint64_t index,
                           netblt_time now)
{
    struct nb_sender *sender = &connection->sender;
    buffer->sent = true;
    sender->outstanding--;
    settle(connection, buffer, buffer->packets);
    connection->stats.payload_bytes += buffer->length;
    connection->stats.last_buffer_at = now;
    const uint8_t *data = buffer->data;
    nb_release(connection->allocator, buffer->retransmit);
    buffer->retransmit = NULL;
    buffer->retransmit_count = 0;
    nb_observe_buffer_done(connection, index, buffer->length);
    nb_sender_release(connection, index, data);
    nb_sender_pop_sent(connection);
}

/* The buffer in the ring with a number that the peer named. Numbers ascend there, in steps of any size. */
static struct nb_send_buffer *find_buffer(const struct nb_sender *sender, uint32_t number, uint64_t *index)
{
    size_t low = 0;
    size_t high = sender->buffers.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct nb_send_buffer *buffer = nb_ring_at(&sender->buffers, middle);
        if (buffer->number == number) {
            *index = sender->first + middle;
            return buffer;
        }
        if (nb_buffer_below(buffer->number, number))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Whether a number that the peer named is that of a buffer that got its OK and left the ring. */
static bool left_the_ring(const struct nb_sender *sender, uint32_t number)
{
    if (!nb_go_queue_has_passed(&sender->gos, number))
        return false;
    if (sender->buffers.count == 0)
        return true;
    const struct nb_send_buffer *front = nb_ring_at(&sender->buffers, 0);
    return nb_buffer_below(number, front->number);
}

/* AMB-48, ROBUST-07: nothing counts as delivered that was not sent. */
static enum verdict on_ok(netblt_connection *connection, const struct nb_message *ok, netblt_time now)
{
    struct nb_sender *sender = &connection->sender;
    uint64_t index = 0;
    if (left_the_ring(sender, ok->buffer))
        return VERDICT_RECORD; /* has its OK */
    struct nb_send_buffer *buffer = find_buffer(sender, ok->buffer, &index);
    if (buffer == NULL || buffer->next_new == 0) {
        if (!nb_sequence_is_next(&sender->sequence, ok->seq)) /* perhaps a stray of an earlier connection */
            return VERDICT_FORGET;
        char reason[64];
        snprintf(reason, sizeof reason, "OK for buffer %u, which was never sent", (unsigned)ok->buffer);
        nb_close_abort(connection, reason);
        return VERDICT_CLOSED;
    }
    if (buffer->sent)
        return VERDICT_RECORD;
    if (buffer->next_new < buffer->packets || (buffer->challenge != NULL && buffer->challenge->unsent > 0)) {
        nb_log(connection->endpoint, "OK for buffer %u, which is not fully sent; ignored", (unsigned)ok->buffer);
        return VERDICT_RECORD;
    }
    adopt_offer(connection, ok);
    buffer_is_sent(connection, buffer, index, now);
    return connection->state == NETBLT_STATE_CLOSED ? VERDICT_CLOSED : VERDICT_RECORD;
}

/* ---- RESEND ---------------------------------------------------------------------------------------------------- */

/* How many packets that were sent the list, which ascends, passes over below the highest that it names: the peer must
 * have got those. */
static uint32_t count_left_out(const struct nb_send_buffer *buffer, const struct nb_message *resend)
{
    if (resend->count == 0)
        return 0;
    uint16_t highest = nb_message_packet(resend, (uint16_t)(resend->count - 1));
    uint32_t sent_below = buffer->next_new < highest ? buffer->next_new : highest;
    uint32_t named = 0;
    for (uint16_t i = 0; i < resend->count; i++)
        named += nb_message_packet(resend, i) < sent_below;
    return sent_below > named ? sent_below - named : 0;
}

/* What the RESEND proves about the peer's address (resend_challenge.h). */
static void check_challenge(netblt_connection *connection, const struct nb_send_buffer *buffer)
{
    struct nb_resend_challenge *challenge = buffer->challenge;
    if (challenge == NULL || challenge->counted || challenge->unnamed > 0)
        return;
    challenge->counted = true;
    nb_validation_named(connection, nb_challenge_chance(challenge));
}

/* RESEND-02, RESEND-08, AMB-32, AMB-35: each listed packet that exists and was sent is sent once more. Numbers that do
 * not exist, and packets still waiting to be sent, first time or again, are passed over. */
static enum verdict on_resend(netblt_connection *connection, const struct nb_message *resend)
{
    struct nb_sender *sender = &connection->sender;
    uint64_t index = 0;
    struct nb_send_buffer *buffer = find_buffer(sender, resend->buffer, &index);
    if (buffer == NULL || buffer->sent)
        return VERDICT_RECORD;
    settle(connection, buffer, count_left_out(buffer, resend));
    if (buffer->retransmit == NULL)
        buffer->retransmit = nb_bitmap_new(connection->allocator, buffer->packets);
    if (buffer->retransmit == NULL)
        return VERDICT_FORGET; /* memory may come back before the peer's repetition does */
    for (uint16_t i = 0; i < resend->count; i++) {
        uint16_t packet = nb_message_packet(resend, i);
        nb_send_buffer_queue_retransmission(buffer, packet);
        if (buffer->challenge == NULL)
            continue;
        nb_challenge_name(buffer->challenge, packet);
        if (packet >= buffer->next_new && packet < buffer->packets)
            nb_challenge_sent(buffer->challenge, packet); /* it leaves in its turn */
    }
    if (index < sender->work_from)
        sender->work_from = index;
    check_challenge(connection, buffer);
    return connection->state == NETBLT_STATE_CLOSED ? VERDICT_CLOSED : VERDICT_RECORD;
}

/* ---- the packet ------------------------------------------------------------------------------------------------ */

/* Buffer numbers that a peer which counts in steps of one can name: more than it may have outstanding, below and above
 * the newest GO. Of 2^32 numbers a guess hits one of these with a probability of 2^-18. */
#define NUMBER_WINDOW (1u << 13)

/* Whether a guarded peer can have sent this (guard.h): its receiver starts at the token's number and counts by one. */
static bool is_plausible(const netblt_connection *connection, const struct nb_message *message)
{
    const struct nb_go_queue *gos = &connection->sender.gos;
    if (!connection->guarded)
        return true;
    if (!gos->any)
        return message->buffer - nb_guard_first_buffer_of_token(connection->token) < NUMBER_WINDOW;
    return message->buffer - gos->highest + NUMBER_WINDOW <= 2 * NUMBER_WINDOW;
}

static enum verdict on_message(netblt_connection *connection, const struct nb_message *message, netblt_time now)
{
    struct nb_sender *sender = &connection->sender;
    if (!is_plausible(connection, message))
        return VERDICT_FORGET;
    if (connection->guarded) /* the peer has seen our RESPONSE */
        nb_validation_done(connection);
    if (connection->state == NETBLT_STATE_CLOSED)
        return VERDICT_CLOSED;
    if (!nb_sequence_is_new(&sender->sequence, message->seq)) { /* CTRL-09: a duplicate does nothing a second time */
        if (message->type == NB_OK && sender->ok_seen && message->seq == sender->newest_ok)
            sender->peer_control_timer_ms = message->control_timer_ms; /* but may publish a longer timer: AMB-44 */
        return VERDICT_FORGET;
    }
    enum verdict verdict = VERDICT_RECORD;
    switch ((enum nb_message_type)message->type) {
    case NB_GO:
        verdict = on_go(sender, message->seq, message->buffer);
        break;
    case NB_OK:
        verdict = on_ok(connection, message, now);
        break;
    case NB_RESEND:
        verdict = on_resend(connection, message);
        break;
    }
    if (verdict == VERDICT_RECORD) {
        nb_sequence_record(&sender->sequence, message->seq);
        nb_go_queue_update(&sender->gos, &sender->sequence);
    }
    return verdict;
}

void nb_sender_on_control(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    struct nb_sender *sender = &connection->sender;
    bool dallies = connection->state == NETBLT_STATE_DALLYING && !connection->quit_dally;
    if (!nb_connection_transfers(connection) && !dallies)
        return; /* QUIT-05 */
    struct nb_message message;
    enum nb_fault fault;
    size_t offset = 0;
    bool any = false;
    while (nb_next_message(packet->control.bytes, packet->control.length, &offset, &message, &fault)) {
        any = true;
        if (on_message(connection, &message, now) == VERDICT_CLOSED)
            return;
    }
    if (fault != NB_FAULT_NONE)
        connection->stats.malformed++;
    if (!any)
        return;              /* AMB-46: an empty CONTROL is a KEEPALIVE */
    sender->ack_owed = true; /* duplicates too: the NULL-ACK may have been lost (CTRL-10) */
    if (dallies)
        nb_close_extend_dally(connection, now); /* CLOSE-05 */
}
