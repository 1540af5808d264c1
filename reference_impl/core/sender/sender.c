/* SPDX-License-Identifier: BSD-2-Clause */
/* The data sender: start, buffers from the client, NULL-ACK (RFC 998 5.2). */
#include "sender/sender.h"

#include "base/bitmap.h"
#include "connection/close.h"
#include "connection/endpoint_state.h"
#include "connection/footprint.h"
#include "connection/send_buffers.h"
#include "connection/validation.h"
#include "rate/rate_control.h"
#include "wire/params.h"

#include <assert.h>

/* AMB-34: an ack waits for DATA that leaves within one burst interval, but never longer than this, so that the
 * receiver's control timer does not learn to wait for slow bursts. */
#define ACK_PATIENCE_MAX_US 100000

/* footprint.h: a buffer takes a slot and, once a RESEND has come, a bit for each packet. A buffer with its OK that
 * waits for a lower one to get its own takes a slot: a peer that never completes the lowest one must not fill our
 * memory. */
static void limit_memory(struct nb_sender *sender, const netblt_params *agreed)
{
    size_t slot = NB_FOOTPRINT_IN_RING(sizeof(struct nb_send_buffer));
    size_t bits = nb_bitmap_words(nb_packets_per_buffer(agreed->buffer_size, agreed->packet_size)) * sizeof(uint64_t) +
                  NB_FOOTPRINT_BLOCK_BYTES;
    sender->max_outstanding =
        nb_footprint_items(slot + bits, agreed->buffer_size / 100, NB_FOOTPRINT_BUFFERS_BYTES, agreed->max_buffers);
    sender->max_slots =
        sender->max_outstanding +
        nb_footprint_items(slot, agreed->buffer_size / 200, NB_FOOTPRINT_WAITING_BYTES, NB_FOOTPRINT_WAITING_MAX);
}

void nb_sender_start(netblt_connection *connection)
{
    struct nb_sender *sender = &connection->sender;
    const netblt_params *agreed = &connection->agreed;
    *sender = (struct nb_sender){
        .rate_controller = nb_rate_controller_of(connection->options.rate),
        .own_limit = {connection->own.burst_size, connection->own.burst_interval_ms},
        .packet_size = agreed->packet_size,
        .buffer_size = agreed->buffer_size,
    };
    nb_sequence_init(&sender->sequence);
    nb_pacing_init(&sender->pacing, (struct nb_burst){agreed->burst_size, agreed->burst_interval_ms},
                   nb_profile_of(connection)->catch_up_max_us);
    nb_ring_init(&sender->buffers, sizeof(struct nb_send_buffer), connection->allocator);
    limit_memory(sender, agreed);
}

/* ---- the client's buffers -------------------------------------------------------------------------------------- */

/* DATA-01: only with a GO; DATA-12: never more than negotiated, even if the peer sent more GOs; CTRL-15: none past the
 * last. A client that wants to quit starts no new buffer. */
static bool wants_buffer(const netblt_connection *connection)
{
    const struct nb_sender *sender = &connection->sender;
    return nb_connection_transfers(connection) && !connection->quit_wanted && !sender->client_waits &&
           !sender->last_known && nb_go_queue_has(&sender->gos) && sender->outstanding < sender->max_outstanding &&
           sender->buffers.count < sender->max_slots && nb_validation_allows_buffer(connection);
}

static const char *supply_mistake(const struct nb_sender *sender, uint32_t length, bool last)
{
    if (length > sender->buffer_size)
        return "the client supplied more than a buffer";
    if (!last && length < sender->buffer_size)
        return "the client supplied a short buffer that is not the last";
    return NULL;
}

/* Without memory nothing is withheld, and the peer stays unvalidated for one more buffer. */
static void withhold(netblt_connection *connection, struct nb_send_buffer *buffer)
{
    struct nb_hash_key key = connection->endpoint->secret.key;
    key.words[0] ^= (uint64_t)connection->unique_id << 32 | buffer->number;
    key.words[1] ^= (uint64_t)connection->foreign_port << 16 | connection->local_port;
    buffer->challenge = nb_challenge_new(buffer->packets, &key, connection->allocator);
}

static void take_buffer(netblt_connection *connection, uint64_t index, const uint8_t *data, uint32_t length, bool last)
{
    struct nb_sender *sender = &connection->sender;
    const char *mistake = supply_mistake(sender, length, last);
    struct nb_send_buffer *buffer = mistake == NULL ? nb_ring_push(&sender->buffers) : NULL;
    if (buffer == NULL) {
        nb_sender_release(connection, index, data);
        nb_close_abort(connection, mistake != NULL ? mistake : "out of memory");
        return;
    }
    buffer->data = data;
    buffer->length = length;
    buffer->number = nb_go_queue_take(&sender->gos);
    buffer->packets = length == 0 ? 1 : (uint32_t)(((uint64_t)length + sender->packet_size - 1) / sender->packet_size);
    buffer->last = last;
    sender->outstanding++;
    if (nb_validation_start_buffer(connection, buffer->packets))
        withhold(connection, buffer);
    if (last) {
        sender->last_known = true;
        sender->last_index = index;
    }
}

static void ask_client(netblt_connection *connection, netblt_time now)
{
    struct nb_sender *sender = &connection->sender;
    while (wants_buffer(connection)) {
        uint64_t index = sender->first + sender->buffers.count;
        const uint8_t *data = NULL;
        uint32_t length = 0;
        bool last = false;
        enum netblt_send_buffer answer = connection->client->get_send_buffer(
            connection->context, connection, index, sender->buffer_size, &data, &length, &last);
        if (answer != NETBLT_SEND_BUFFER_READY) {
            sender->client_waits = true;
            return;
        }
        if (!nb_connection_transfers(connection)) { /* it aborted meanwhile */
            nb_sender_release(connection, index, data);
            return;
        }
        if (nb_close_beyond_4g(connection, index * sender->buffer_size + length, now)) {
            nb_sender_release(connection, index, data);
            return;
        }
        take_buffer(connection, index, data, length, last);
    }
}

/* ---- step ------------------------------------------------------------------------------------------------------ */

/* CTRL-10, AMB-34: DATA carries the ack if it leaves soon, else a NULL-ACK does, now. */
static void settle_ack(netblt_connection *connection, netblt_time now)
{
    struct nb_sender *sender = &connection->sender;
    if (sender->report_owed) {
        connection->owed |= NB_OWED_NULL_ACK;
        return;
    }
    if (!sender->ack_owed)
        return;
    netblt_time patience = (netblt_time)sender->pacing.burst.interval_ms * 1000;
    if (patience > ACK_PATIENCE_MAX_US)
        patience = ACK_PATIENCE_MAX_US;
    netblt_time next = nb_connection_transfers(connection) ? nb_sender_next_data(connection, now) : NETBLT_TIME_NEVER;
    if (next == NETBLT_TIME_NEVER || next > now + patience)
        connection->owed |= NB_OWED_NULL_ACK;
}

void nb_sender_step(netblt_connection *connection, netblt_time now)
{
    struct nb_sender *sender = &connection->sender;
    ask_client(connection, now);
    /* CLOSE-02: the last buffer was sent, and all have their OK. */
    if (nb_connection_transfers(connection) && sender->last_known && sender->outstanding == 0)
        nb_close_sender_done(connection, now);
    bool answers =
        nb_connection_transfers(connection) || (connection->state == NETBLT_STATE_DALLYING && !connection->quit_dally);
    if (answers)
        settle_ack(connection, now);
}

size_t nb_sender_write_null_ack(netblt_connection *connection, uint8_t *packet)
{
    struct nb_sender *sender = &connection->sender;
    struct nb_emitter emitter = nb_connection_emitter(connection);
    struct nb_null_ack_fields fields = {
        .high_seq = sender->sequence.high,
        .burst_size = sender->pacing.settled.size, /* CTRL-11 */
        .burst_interval_ms = sender->pacing.settled.interval_ms,
    };
    if (connection->guarded)
        fields.padding = nb_guard_null_ack(connection->token, &fields);
    sender->ack_owed = false;
    sender->report_owed = false;
    return nb_write_null_ack(packet, &emitter, &fields);
}
