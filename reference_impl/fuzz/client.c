/* SPDX-License-Identifier: BSD-2-Clause */
/* The client of a connection under test, with the oracles of life cycle and content: every callback in its turn, memory
 * given back once, every delivered byte what was sent, success only when all is complete. */
#include "model.h"

#include <string.h>

static struct model *model_of(void *context, const netblt_connection *connection)
{
    struct model *model = context;
    model->station->callbacks++;
    FUZZ_CHECK(model->begun && connection == model->connection);
    return model;
}

static bool puts_off(struct station *station)
{
    return station->held >= STATION_HELD_MAX ||
           (station->stall_every != 0 && ++station->requests % station->stall_every == 0);
}

static void lend(struct model *model, struct model_buffer *buffer, uint32_t bytes)
{
    buffer->memory = fuzz_malloc(bytes); /* exact, so that the sanitizer sees every step beyond */
    buffer->held = true;
    model->station->held++;
}

static void take_back(struct model *model, struct model_buffer *buffer)
{
    FUZZ_CHECK(buffer->held);
    free(buffer->memory);
    buffer->memory = NULL;
    buffer->held = false;
    model->station->held--;
}

static struct model_buffer *held_buffer(struct model *model, uint64_t index, const uint8_t *memory)
{
    FUZZ_CHECK(index < model->buffer_count);
    struct model_buffer *buffer = &model->buffers[index];
    FUZZ_CHECK(buffer->held && buffer->memory == memory);
    return buffer;
}

/* ---- sending --------------------------------------------------------------------------------------------------- */

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    struct model *model = model_of(context, connection);
    struct station *station = model->station;
    FUZZ_CHECK(model->is_open && model->finished == 0 && model->info.role == NETBLT_SENDER);
    FUZZ_CHECK(index == model->buffer_count && capacity == model->info.negotiated.buffer_size);
    FUZZ_CHECK(index == 0 || !model->buffers[index - 1].last);
    FUZZ_CHECK(sender_may_take_buffer(model));
    if (puts_off(station))
        return NETBLT_SEND_BUFFER_WAIT;
    struct model_buffer *buffer = model_add_buffer(model);
    buffer->last = index + 1 >= station->buffers_to_send;
    buffer->length = buffer->last ? (uint32_t)((uint64_t)capacity * station->last_buffer_per_256 / 256) : capacity;
    lend(model, buffer, buffer->length);
    for (uint32_t i = 0; i < buffer->length; i++)
        buffer->memory[i] = model_byte(model->salt, index, i);
    *data = buffer->memory;
    *length = buffer->length;
    *last = buffer->last;
    return NETBLT_SEND_BUFFER_READY;
}

static void release(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data)
{
    struct model *model = model_of(context, connection);
    FUZZ_CHECK(model->finished == 0);
    struct model_buffer *buffer = held_buffer(model, index, data);
    take_back(model, buffer);
    buffer->released = true;
    if (buffer->ok_arrived)
        model->payload_bytes += buffer->length;
    else
        model->unjustified_releases++;
    while (model->unfinished_from < model->buffer_count && model->buffers[model->unfinished_from].released)
        model->unfinished_from++;
}

/* ---- receiving ------------------------------------------------------------------------------------------------- */

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    struct model *model = model_of(context, connection);
    FUZZ_CHECK(model->is_open && model->finished == 0 && model->info.role == NETBLT_RECEIVER);
    FUZZ_CHECK(index == model->buffer_count && capacity == model->info.negotiated.buffer_size);
    FUZZ_CHECK(!model->last_was_delivered);
    FUZZ_CHECK(receiver_outstanding(model) < model->info.negotiated.max_buffers); /* DATA-12 */
    if (puts_off(model->station))
        return NULL;
    struct model_buffer *buffer = model_add_buffer(model);
    model->asked_for = model->buffer_count;
    lend(model, buffer, capacity);
    memset(buffer->memory, 0xA5, capacity); /* what is not written over shows */
    return buffer->memory;
}

/* The model of the peer, if that is ours too and still has this connection. */
static const struct model *partner_of(const struct model *model)
{
    const struct model *partner = model->station->partner;
    if (partner == NULL || !model->station->expect.peer_is_ours || !partner->begun)
        return NULL;
    bool same = partner->local_port == model->foreign_port && partner->foreign_port == model->local_port;
    return same ? partner : NULL;
}

/* The sender is ours, and nothing on the way can have changed a byte unseen. */
static void check_against_partner(const struct model *model, uint64_t index, const uint8_t *data, uint32_t length,
                                  bool last)
{
    const struct model *partner = partner_of(model);
    if (partner == NULL || !model->info.negotiated.data_checksum)
        return;
    FUZZ_CHECK(index < partner->buffer_count);
    FUZZ_CHECK(length == partner->buffers[index].length && last == partner->buffers[index].last);
    for (uint32_t i = 0; i < length; i++)
        FUZZ_CHECK(data[i] == model_byte(partner->salt, index, i));
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    struct model *model = model_of(context, connection);
    FUZZ_CHECK(model->finished == 0);
    struct model_buffer *buffer = held_buffer(model, index, data);
    FUZZ_CHECK(!buffer->delivered && length <= model->info.negotiated.buffer_size);
    FUZZ_CHECK(model->any_order || index == model->next_delivery);
    FUZZ_CHECK(receiver_may_deliver(model, buffer, data, length, last));
    check_against_partner(model, index, data, length, last);
    take_back(model, buffer);
    buffer->delivered = true;
    receiver_forget_arrivals(model, buffer);
    model->payload_bytes += length;
    model->next_delivery++;
    if (last) {
        FUZZ_CHECK(!model->last_was_delivered);
        model->last_was_delivered = true;
        model->last_index = index;
    }
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    struct model *model = model_of(context, connection);
    FUZZ_CHECK(model->finished == 0);
    take_back(model, held_buffer(model, index, data));
    if (index < model->asked_for) /* past the last buffer */
        model->asked_for = index;
}

void model_confirm(struct model *model)
{
    bool confirmed = model->confirmed, due = model->completed && model->confirm_end && !confirmed;
    int error = netblt_confirm(model->connection, model->station->now);
    FUZZ_CHECK(due ? error == 0 || error == NETBLT_ERR_WRONG_STATE : error == NETBLT_ERR_WRONG_STATE);
    model->confirmed = confirmed || error == 0;
}

static void complete(void *context, netblt_connection *connection)
{
    struct model *model = model_of(context, connection);
    FUZZ_CHECK(!model->completed && model->finished == 0 && model->last_was_delivered);
    FUZZ_CHECK(model->next_delivery == model->last_index + 1);
    model->completed = true;
    if (model->confirm_end && model->station->stall_every == 0)
        model_confirm(model);
}

/* ---- validation ------------------------------------------------------------------------------------------------ */

static void validated(void *context, netblt_connection *connection)
{
    struct model *model = model_of(context, connection);
    FUZZ_CHECK(model->passive && model->is_open && !model->validated);
    FUZZ_CHECK(model->evidence || (model->info.role == NETBLT_SENDER && sender_has_evidence(model)));
    model->validated = true;
}

/* ---- life cycle ------------------------------------------------------------------------------------------------ */

static void opened(void *context, netblt_connection *connection)
{
    struct model *model = context;
    struct station *station = model->station;
    station->callbacks++;
    FUZZ_CHECK(model->begun && !model->is_open && model->finished == 0);
    FUZZ_CHECK(model->connection == NULL || model->connection == connection);
    if (model->passive)
        station->open_connections++;
    model->connection = connection;
    model->is_open = true;
    model->valid_at = station->now;
    netblt_get_info(connection, &model->info);
    FUZZ_CHECK(model->info.active != model->passive && model->info.local_port == model->local_port &&
               model->info.foreign_port == model->foreign_port);
    if (!model->passive)
        model->token = guarded_read_token(station->arriving);
    FUZZ_CHECK(!model->info.guarded || guarded_has_secret(&station->config));
    const netblt_params *agreed = &model->info.negotiated, *own = &station->limits;
    FUZZ_CHECK(agreed->buffer_size <= own->buffer_size && agreed->packet_size <= own->packet_size &&
               agreed->burst_size <= own->burst_size && agreed->burst_interval_ms >= own->burst_interval_ms &&
               agreed->max_buffers <= own->max_buffers);
    model->packets_per_buffer = (agreed->buffer_size + agreed->packet_size - 1) / agreed->packet_size;
    sender_opened(model);
}

static bool all_were_released(const struct model *model)
{
    return model->buffer_count > 0 && model->buffers[model->buffer_count - 1].last &&
           model->unjustified_releases == 0 && model->unfinished_from == model->buffer_count;
}

static bool all_were_delivered(const struct model *model)
{
    return model->last_was_delivered && model->next_delivery == model->last_index + 1 &&
           model->messages_acked == model->message_count && (!model->confirm_end || model->confirmed);
}

/* "Done" at a sender of ours means that the receiver's client has everything, if that is ours too. */
static void check_success(const struct model *model)
{
    bool sends = model->info.role == NETBLT_SENDER;
    FUZZ_CHECK(sends ? all_were_released(model) : all_were_delivered(model));
    const struct model *partner = partner_of(model);
    if (partner != NULL && sends)
        FUZZ_CHECK(partner->last_was_delivered && partner->next_delivery == model->buffer_count &&
                   (!partner->confirm_end || partner->confirmed));
}

static void check_cause(const struct model *model, const netblt_outcome *outcome)
{
    netblt_time now = model->station->now, death = (netblt_time)model->info.negotiated.death_timer_s * 1000000;
    bool has_secret = guarded_has_secret(&model->station->config), guarded = model->info.guarded;
    switch (outcome->result) {
    case NETBLT_DONE:
        FUZZ_CHECK(model->is_open);
        check_success(model);
        break;
    case NETBLT_REFUSED:
        FUZZ_CHECK(!model->is_open &&
                   guarded_may_believe(&model->ends, &model->ends.refused, has_secret, guarded, now));
        break;
    case NETBLT_UNREACHABLE:
        FUZZ_CHECK(!model->is_open);
        break;
    case NETBLT_PEER_QUIT:
        FUZZ_CHECK(guarded_may_believe(&model->ends, &model->ends.quit, has_secret, guarded, now));
        break;
    case NETBLT_PEER_ABORTED:
        FUZZ_CHECK(guarded_may_believe(&model->ends, &model->ends.aborted, has_secret, guarded, now));
        break;
    case NETBLT_LOCAL_QUIT:
        FUZZ_CHECK(model->quit_called);
        break;
    case NETBLT_LOCAL_ABORT: /* with a peer of ours no end malfunctions */
        FUZZ_CHECK(model->abort_called || model->station->memory_was_short || !model->validated ||
                   !model->station->expect.peer_is_ours);
        break;
    case NETBLT_PEER_DEAD:
        FUZZ_CHECK(model->is_open && (now >= model->valid_at + death || (model->unreachable && !model->validated)));
        break;
    }
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    struct model *model = model_of(context, connection);
    FUZZ_CHECK(model->finished++ == 0 && outcome->reason != NULL && netblt_result_name(outcome->result)[0] != 0);
    model->result = outcome->result;
    for (size_t i = 0; i < model->buffer_count; i++)
        FUZZ_CHECK(!model->buffers[i].held);
    check_cause(model, outcome);
}

static void remember_success(struct model *model)
{
    struct station *station = model->station;
    station->passive_closed++;
    if (model->result != NETBLT_DONE)
        return;
    station->closed[station->well_closed++ % STATION_CLOSED_MAX] = (struct closed_transfer){
        .host = model->host,
        .foreign_port = model->foreign_port,
        .unique_id = model->info.unique_id,
        .at = station->now,
        .number = station->passive_closed,
    };
}

static void closed(void *context, netblt_connection *connection)
{
    struct model *model = model_of(context, connection);
    netblt_info info;
    FUZZ_CHECK(model->finished == 1);
    netblt_get_info(connection, &info);
    /* An OK that arrives at a sender that quits is not believed any more. */
    bool exact = model->result == NETBLT_DONE || info.role == NETBLT_RECEIVER;
    FUZZ_CHECK(info.stats.payload_bytes <= model->payload_bytes);
    FUZZ_CHECK(!exact || info.stats.payload_bytes == model->payload_bytes);
    if (model->passive)
        remember_success(model);
    model->connection = NULL;
    model->station->open_connections--;
}

const netblt_client model_client = {
    .size = sizeof(netblt_client),
    .get_send_buffer = get_send_buffer,
    .release = release,
    .get_receive_buffer = get_receive_buffer,
    .deliver = deliver,
    .discard = discard,
    .complete = complete,
    .opened = opened,
    .validated = validated,
    .finished = finished,
    .closed = closed,
};
