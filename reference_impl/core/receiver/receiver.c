/* SPDX-License-Identifier: BSD-2-Clause */
/* The data receiver: start, GO, completion and delivery of buffers (RFC 998 5.2). */
#include "receiver/receiver.h"

#include "base/bitmap.h"
#include "base/bytes.h"
#include "connection/close.h"
#include "connection/endpoint_state.h"
#include "connection/footprint.h"
#include "connection/observe.h"
#include "connection/receive_buffers.h"
#include "connection/validation.h"
#include "rate/rate_pair.h"
#include "wire/params.h"

#include <assert.h>

/* AMB-33: a CONTROL is no larger than the DATA packets that the path was chosen for. Every IPv4 path carries 576 bytes
 * (less IP and UDP headers), so small data packets do not force smaller CONTROLs than that. */
#define CONTROL_LIMIT_FLOOR_BYTES (576 - 20 - 8)
/* More GOs at a time than this help no transfer, and with their OKs and RESENDs they could fill the sequence space. */
#define OUTSTANDING_MAX 8192
/* Un-acked messages beyond those that the outstanding buffers explain: OKs whose acks are on their way. */
#define CONTROL_SPARE_MESSAGES 64

/* footprint.h: a buffer takes a slot, a bit for each packet, two messages that are not acknowledged yet, and a RESEND
 * list. Complete buffers that wait for a lower one take a slot and an OK; with any_order that is all, else their memory
 * counts among the negotiated buffers. */
static void limit_memory(const netblt_connection *connection, struct nb_receiver *receiver)
{
    size_t message = NB_FOOTPRINT_IN_RING(sizeof(struct nb_control_message));
    size_t slot = NB_FOOTPRINT_IN_RING(sizeof(struct nb_receive_buffer));
    size_t bits = nb_bitmap_words(receiver->packets_per_buffer) * sizeof(uint64_t) + NB_FOOTPRINT_BLOCK_BYTES;
    size_t list = nb_control_queue_resend_room(&receiver->queue) * sizeof(uint16_t);
    if (list > receiver->packets_per_buffer * sizeof(uint16_t))
        list = receiver->packets_per_buffer * sizeof(uint16_t);
    receiver->max_outstanding = (uint16_t)nb_footprint_items(
        slot + bits + 2 * message + list + NB_FOOTPRINT_BLOCK_BYTES, receiver->buffer_size / 100,
        NB_FOOTPRINT_BUFFERS_BYTES, receiver->max_outstanding);
    size_t waiting = nb_footprint_items(slot + message, receiver->buffer_size / 200, NB_FOOTPRINT_WAITING_BYTES,
                                        NB_FOOTPRINT_WAITING_MAX);
    receiver->max_slots = receiver->max_outstanding + (connection->options.any_order ? waiting : 0);
}

/* That of OPEN and RESPONSE. */
static void learn_first_round_trip(netblt_connection *connection, netblt_time us)
{
    struct nb_receiver *receiver = &connection->receiver;
    if (connection->open_attempts == 1) {
        nb_control_timer_sample(&receiver->control_timer, us);
        nb_rate_control_round_trip(&receiver->rate, us, connection->stats.opened_at);
    } else if (nb_control_timer_guess(&receiver->control_timer, us)) {
        nb_rate_control_round_trip_guess(&receiver->rate, us);
    }
}

/* AMB-09: any number will do, and one that cannot be predicted keeps forged packets out (guard.h). */
static uint32_t first_buffer(const netblt_connection *connection)
{
    const netblt_endpoint *endpoint = connection->endpoint;
    if (connection->guarded)
        return nb_guard_first_buffer_of_token(connection->token);
    if (endpoint->secret.known)
        return nb_guard_first_buffer(&endpoint->secret, &connection->path, connection->local_port,
                                     connection->foreign_port, connection->unique_id);
    return endpoint->config.first_buffer;
}

void nb_receiver_start(netblt_connection *connection, netblt_time first_round_trip_us)
{
    struct nb_receiver *receiver = &connection->receiver;
    const netblt_params *agreed = &connection->agreed;
    const netblt_profile *profile = nb_profile_of(connection);
    struct nb_burst burst = {agreed->burst_size, agreed->burst_interval_ms};
    size_t limit = nb_align4((size_t)agreed->packet_size + NETBLT_DATA_HEADER_BYTES);
    *receiver = (struct nb_receiver){
        .control_at = NETBLT_TIME_NEVER,
        .data_timer_from = NETBLT_TIME_NEVER,
        .offered = burst,
        .burst = burst,
        .first_number = first_buffer(connection),
        .buffer_size = agreed->buffer_size,
        .packet_size = agreed->packet_size,
        .packets_per_buffer = nb_packets_per_buffer(agreed->buffer_size, agreed->packet_size),
        .spacing.decides = profile->measured_pace_decides,
        .max_outstanding = agreed->max_buffers < OUTSTANDING_MAX ? agreed->max_buffers : OUTSTANDING_MAX,
    };
    nb_control_queue_init(&receiver->queue, limit < CONTROL_LIMIT_FLOOR_BYTES ? CONTROL_LIMIT_FLOOR_BYTES : limit,
                          connection->allocator);
    limit_memory(connection, receiver);
    nb_control_timer_init(&receiver->control_timer, profile, nb_death_time(connection->own.death_timer_s),
                          (netblt_time)burst.interval_ms * 1000);
    nb_control_timer_for_unvalidated(&receiver->control_timer, nb_validation_is_missing(connection));
    const struct nb_rate_setup setup = {
        .negotiated = burst,
        .buffer_packets = receiver->packets_per_buffer,
        .limit_rate = nb_connection_rate_limit(connection),
        .negotiated_is_known = connection->active && connection->options.rate_is_known,
        .seed = connection->unique_id,
    };
    nb_rate_control_begin(&receiver->rate, nb_rate_controller_of(connection->options.rate), &setup);
    if (first_round_trip_us > 0)
        learn_first_round_trip(connection, first_round_trip_us);
    nb_ring_init(&receiver->buffers, sizeof(struct nb_receive_buffer), connection->allocator);
}

void nb_receiver_out_of_memory(netblt_connection *connection)
{
    nb_close_abort(connection, "out of memory");
}

/* ---- GO -------------------------------------------------------------------------------------------------------- */

/* DATA-14: a buffer that starts where RFC 998 ends a transfer may still be the empty last one (AMB-41); none starts
 * beyond. */
static bool next_is_within_range(const netblt_connection *connection)
{
    const struct nb_receiver *receiver = &connection->receiver;
    uint64_t index = receiver->first + receiver->buffers.count;
    return connection->options.beyond_4g || index * receiver->buffer_size <= NETBLT_TRANSFER_MAX_BYTES;
}

/* An unvalidated peer gets one GO, and a few when it has acknowledged that: any host can forge the acknowledgement, but
 * a sender may wait for the GOs of several buffers before it sends. */
#define UNVALIDATED_BUFFERS_MAX 4

static bool within_unvalidated(const netblt_connection *connection)
{
    const struct nb_receiver *receiver = &connection->receiver;
    return !nb_validation_is_missing(connection) ||
           (receiver->queue.acked != 0 && receiver->first + receiver->buffers.count < UNVALIDATED_BUFFERS_MAX);
}

/* Each outstanding buffer, this one included, may add a RESEND and an OK before anything is acknowledged.
 * DATA-10: none after L; DATA-12: at most N outstanding; a wanted QUIT requests nothing new. */
static bool may_go(const netblt_connection *connection)
{
    const struct nb_receiver *receiver = &connection->receiver;
    bool first = receiver->first + receiver->buffers.count == 0;
    return nb_connection_transfers(connection) && !connection->quit_wanted && !receiver->client_waits &&
           receiver->resends_waiting == 0 && (first || within_unvalidated(connection)) && !receiver->last_known &&
           receiver->outstanding < nb_rate_control_credit(&receiver->rate, receiver->max_outstanding) &&
           nb_rate_control_window_allows(&receiver->rate, receiver->first + receiver->buffers.count) &&
           receiver->buffers.count < receiver->max_slots &&
           receiver->queue.messages.count < 2 * receiver->max_slots + CONTROL_SPARE_MESSAGES &&
           receiver->queue.messages.count + 2 * ((size_t)receiver->outstanding + 1) < NB_CONTROL_QUEUE_MAX_MESSAGES &&
           next_is_within_range(connection);
}

static bool add_buffer(netblt_connection *connection, uint64_t index, uint8_t *memory)
{
    struct nb_receiver *receiver = &connection->receiver;
    uint16_t seq;
    uint64_t *got = nb_bitmap_new(connection->allocator, receiver->packets_per_buffer);
    struct nb_receive_buffer *buffer = got == NULL ? NULL : nb_ring_push(&receiver->buffers);
    if (buffer == NULL || !nb_control_queue_go(&receiver->queue, receiver->first_number + (uint32_t)index, &seq)) {
        if (buffer != NULL)
            nb_ring_pop_back(&receiver->buffers);
        nb_release(connection->allocator, got);
        return false;
    }
    buffer->state = NB_ACK_WAIT;
    buffer->awaited = seq;
    buffer->memory = memory;
    buffer->got = got;
    buffer->timer_at = NETBLT_TIME_NEVER;
    receiver->outstanding++;
    return true;
}

/* CTRL-13: one GO for each buffer that the client has memory for. */
static void issue_gos(netblt_connection *connection)
{
    struct nb_receiver *receiver = &connection->receiver;
    while (may_go(connection)) {
        uint64_t index = receiver->first + receiver->buffers.count;
        uint8_t *memory =
            connection->client->get_receive_buffer(connection->context, connection, index, receiver->buffer_size);
        if (memory == NULL) {
            receiver->client_waits = true;
            return;
        }
        if (!nb_connection_transfers(connection)) { /* it aborted meanwhile */
            nb_receiver_discard(connection, index, memory);
            return;
        }
        if (!add_buffer(connection, index, memory)) {
            nb_receiver_discard(connection, index, memory);
            nb_receiver_out_of_memory(connection);
            return;
        }
    }
}

/* ---- completion ------------------------------------------------------------------------------------------------ */

/* The memory goes back to the client before the callback, so that nothing the callback calls can discard it too. */
static void deliver(netblt_connection *connection, size_t i)
{
    struct nb_receiver *receiver = &connection->receiver;
    struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, i);
    uint64_t index = receiver->first + i;
    uint8_t *memory = buffer->memory;
    uint32_t length = buffer->length;
    buffer->memory = NULL;
    receiver->client_waits = false; /* it has memory again: worth asking */
    connection->stats.payload_bytes += length;
    if (connection->client->deliver != NULL)
        connection->client->deliver(connection->context, connection, index, memory, length,
                                    receiver->last_known && index == receiver->last_index);
}

/* DATA-08: in order of index, unless the client places buffers itself. */
static void deliver_in_order(netblt_connection *connection)
{
    struct nb_receiver *receiver = &connection->receiver;
    while (receiver->buffers.count > 0 && nb_receiver_buffer(receiver, 0)->state == NB_RECEIVED) {
        if (nb_receiver_buffer(receiver, 0)->memory != NULL)
            deliver(connection, 0);
        if (connection->state == NETBLT_STATE_CLOSED)
            return;
        nb_ring_pop_front(&receiver->buffers);
        receiver->first++;
    }
}

static void observe_offer(netblt_connection *connection, struct nb_burst offer)
{
    const struct nb_receiver *receiver = &connection->receiver;
    struct nb_rate_report report = nb_rate_control_report(&receiver->rate);
    double measured = report.packets_per_s * receiver->packet_size * 8;
    nb_observe_rate(connection, offer, receiver->control_timer.smoothed_us, (uint64_t)measured, report.why);
}

/* With the newest offer. */
static void queue_ok(netblt_connection *connection, uint32_t number)
{
    struct nb_receiver *receiver = &connection->receiver;
    uint16_t seq;
    if (!nb_control_queue_ok(&receiver->queue, number, receiver->offered.size, receiver->offered.interval_ms, &seq))
        nb_receiver_out_of_memory(connection);
}

/* The client learns of it once, after the last deliver. */
static void all_delivered(netblt_connection *connection)
{
    if (connection->client->complete != NULL && nb_connection_transfers(connection))
        connection->client->complete(connection->context, connection);
}

void nb_receiver_complete(netblt_connection *connection, size_t i, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, i);
    if (nb_close_beyond_4g(connection, (receiver->first + i) * receiver->buffer_size + buffer->length, now)) {
        nb_set_timer(connection, NETBLT_TIMER_DATA, receiver->first + i, &buffer->timer_at, NETBLT_TIME_NEVER);
        return; /* neither delivered nor OK'd */
    }
    buffer->state = NB_RECEIVED;
    nb_set_timer(connection, NETBLT_TIMER_DATA, receiver->first + i, &buffer->timer_at,
                 NETBLT_TIME_NEVER); /* TIMER-08 */
    nb_release(connection->allocator, buffer->got);
    buffer->got = NULL;
    receiver->outstanding--;
    connection->stats.last_buffer_at = now;
    struct nb_burst offer = nb_rate_control_offer(&receiver->rate, receiver->queue.next_seq, now);
    if (!nb_pair_same(offer, receiver->offered))
        observe_offer(connection, offer);
    receiver->offered = offer;
    uint32_t number = receiver->first_number + (uint32_t)(receiver->first + i);
    bool whole = receiver->last_known && receiver->outstanding == 0;
    receiver->awaits_confirmation = whole && connection->options.confirm_end;
    receiver->unconfirmed = number;
    if (!receiver->awaits_confirmation)
        queue_ok(connection, number);
    if (connection->state == NETBLT_STATE_CLOSED)
        return;
    nb_observe_buffer_done(connection, receiver->first + i, buffer->length);
    if (connection->options.any_order)
        deliver(connection, i);
    if (connection->state != NETBLT_STATE_CLOSED)
        deliver_in_order(connection);
    if (whole)
        all_delivered(connection);
}

void nb_receiver_confirm(netblt_connection *connection)
{
    connection->receiver.awaits_confirmation = false;
    queue_ok(connection, connection->receiver.unconfirmed);
}

void nb_receiver_end_at(netblt_connection *connection, size_t i)
{
    struct nb_receiver *receiver = &connection->receiver;
    receiver->last_known = true;
    receiver->last_index = receiver->first + i;
    while (receiver->buffers.count > i + 1) {
        size_t top = receiver->buffers.count - 1;
        struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, top);
        nb_set_timer(connection, NETBLT_TIMER_DATA, receiver->first + top, &buffer->timer_at, NETBLT_TIME_NEVER);
        nb_receiver_discard_buffer(connection, receiver->first + top, buffer);
        nb_release(connection->allocator, buffer->got);
        receiver->outstanding--;
        nb_ring_pop_back(&receiver->buffers);
        if (connection->state == NETBLT_STATE_CLOSED)
            return;
    }
}

/* ---- step ------------------------------------------------------------------------------------------------------ */

void nb_receiver_step(netblt_connection *connection)
{
    struct nb_receiver *receiver = &connection->receiver;
    issue_gos(connection);
    if (!nb_connection_transfers(connection))
        return;
    if (nb_control_queue_has_news(&receiver->queue))
        connection->owed |= NB_OWED_CONTROL;
    if (nb_control_queue_is_empty(&receiver->queue)) /* an ack overtook the repeat: no empty CONTROL (AMB-46) */
        connection->owed &= ~(unsigned)NB_OWED_CONTROL;
    if (receiver->awaits_confirmation) /* one more OK is to come */
        return;
    /* CLOSE-01: L seen, no buffer with missing packets, and every control message acknowledged. */
    if (receiver->last_known && receiver->buffers.count == 0 && nb_control_queue_is_empty(&receiver->queue))
        nb_close_receiver_done(connection);
}

size_t nb_receiver_write_control(netblt_connection *connection, uint8_t *packet, size_t capacity, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    struct nb_emitter emitter = nb_connection_emitter(connection);
    assert(capacity >= receiver->queue.limit_bytes);
    size_t messages =
        nb_control_queue_write(&receiver->queue, packet + NETBLT_HEADER_BYTES, capacity - NETBLT_HEADER_BYTES,
                               nb_control_timer_published_ms(&receiver->control_timer), now);
    nb_set_timer(connection, NETBLT_TIMER_CONTROL, NB_NO_BUFFER, &receiver->control_at,
                 now + receiver->control_timer.value_us); /* TIMER-01 */
    connection->stats.control_packets_sent++;
    return nb_write_control(packet, &emitter, messages);
}
