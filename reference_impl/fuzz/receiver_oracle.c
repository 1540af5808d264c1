/* SPDX-License-Identifier: BSD-2-Clause */
/* Oracles of a data receiver: what may be delivered, and what CONTROL packets contain. */
#include "model.h"

#include <string.h>

/* ---- what arrives ---------------------------------------------------------------------------------------------- */

static bool same_arrival(const struct arrival *arrival, const struct view *view)
{
    return arrival->ldata == (view->type == LDATA) && arrival->last_buffer == view->last_buffer &&
           arrival->length == view->data_length && memcmp(arrival->data, view->data, view->data_length) == 0;
}

static void keep_arrival(struct model *model, struct model_buffer *buffer, const struct view *view)
{
    if (buffer->arrivals == NULL)
        buffer->arrivals = fuzz_calloc(model->packets_per_buffer, sizeof(struct arrival *));
    struct arrival **list = &buffer->arrivals[view->number];
    for (const struct arrival *at = *list; at != NULL; at = at->next)
        if (same_arrival(at, view))
            return;
    struct arrival *arrival = fuzz_malloc(sizeof *arrival + view->data_length);
    *arrival = (struct arrival){*list, view->type == LDATA, view->last_buffer, view->data_length};
    memcpy(arrival->data, view->data, view->data_length);
    *list = arrival;
    buffer->last_flag_arrived |= view->last_buffer;
}

/* Whether a GO has named its buffer. */
static bool was_asked_for(const struct model *model, const struct view *view)
{
    return model->base_known && view->buffer - model->base < model->asked_for;
}

static void data_arrives(struct model *model, const struct view *view)
{
    uint32_t index = view->buffer - model->base;
    if (view->number >= model->packets_per_buffer)
        return; /* no place */
    if (model->info.negotiated.data_checksum && !view->data_good)
        return; /* CKSUM-07: as if it had been lost */
    struct model_buffer *buffer = &model->buffers[index];
    if (!buffer->delivered)
        keep_arrival(model, buffer, view);
}

/* The peer has all messages up to a number that we have sent. */
static void ack_arrives(struct model *model, uint16_t ack)
{
    uint16_t more = (uint16_t)(ack - (uint16_t)model->messages_acked); /* numbers begin with 1 */
    if (more == 0 || more > model->message_count - model->messages_acked)
        return;
    model->messages_acked += more;
}

void receiver_arrives(struct model *model, const struct view *view)
{
    if (!model->is_open || model->finished != 0)
        return;
    bool is_data = view->type == DATA || view->type == LDATA;
    if (is_data && !was_asked_for(model, view))
        return;
    bool believed = !model->info.guarded || guarded_null_ack_is_right(true, &model->token, view);
    if (is_data || (view->type == NULL_ACK && believed))
        ack_arrives(model, (uint16_t)view->high_seq);
    if (is_data) {
        model->evidence = true;
        data_arrives(model, view);
    }
}

void receiver_forget_arrivals(const struct model *model, struct model_buffer *buffer)
{
    for (uint32_t i = 0; buffer->arrivals != NULL && i < model->packets_per_buffer; i++) {
        while (buffer->arrivals[i] != NULL) {
            struct arrival *next = buffer->arrivals[i]->next;
            free(buffer->arrivals[i]);
            buffer->arrivals[i] = next;
        }
    }
    free(buffer->arrivals);
    buffer->arrivals = NULL;
}

/* ---- complete buffers ------------------------------------------------------------------------------------------ */

/* A packet with `length` bytes at its place in `data` (any bytes when that is NULL) arrived, perhaps with padding that
 * its Length counts. */
static bool has_arrived(const struct model_buffer *buffer, uint32_t number, bool ldata, const uint8_t *data,
                        uint32_t length)
{
    for (const struct arrival *at = buffer->arrivals[number]; at != NULL; at = at->next) {
        bool long_enough = at->length >= length && at->length <= (length + 3) / 4 * 4;
        if (at->ldata == ldata && long_enough && (data == NULL || memcmp(at->data, data, length) == 0))
            return true;
    }
    return false;
}

/* The buffer can have been put together from `packets` packets that arrived. */
static bool is_made_of(const struct model *model, const struct model_buffer *buffer, uint32_t packets,
                       const uint8_t *data, uint32_t length)
{
    uint32_t size = model->info.negotiated.packet_size;
    uint32_t before_last = (packets - 1) * size;
    if (packets > model->packets_per_buffer || before_last > length || length - before_last > size)
        return false;
    if (!has_arrived(buffer, packets - 1, true, data + before_last, length - before_last))
        return false;
    for (uint32_t i = 0; i + 1 < packets; i++)
        if (!has_arrived(buffer, i, false, data + (size_t)i * size, size))
            return false;
    return true;
}

bool receiver_may_deliver(struct model *model, struct model_buffer *buffer, const uint8_t *data, uint32_t length,
                          bool last)
{
    const netblt_params *agreed = &model->info.negotiated;
    if (buffer->arrivals == NULL || (last ? !buffer->last_flag_arrived : length != agreed->buffer_size))
        return false;
    uint32_t full = length / agreed->packet_size;
    uint32_t packets = full + (length % agreed->packet_size != 0);
    if (packets > 0 && is_made_of(model, buffer, packets, data, length))
        return true;
    return is_made_of(model, buffer, full + 1, data, length); /* an empty LDATA after full packets */
}

static bool any_arrived(const struct model_buffer *buffer, uint32_t number, bool ldata)
{
    for (const struct arrival *at = buffer->arrivals[number]; at != NULL; at = at->next)
        if (at->ldata == ldata)
            return true;
    return false;
}

/* Some LDATA and all DATA below it arrived. */
static bool is_complete(const struct model *model, struct model_buffer *buffer)
{
    if (buffer->delivered || buffer->complete)
        return true;
    for (uint32_t i = 0; buffer->arrivals != NULL && i < model->packets_per_buffer; i++) {
        if (any_arrived(buffer, i, true))
            return buffer->complete = true;
        if (!any_arrived(buffer, i, false))
            return false;
    }
    return false;
}

size_t receiver_outstanding(struct model *model)
{
    size_t count = 0;
    while (model->all_complete_below < model->buffer_count &&
           is_complete(model, &model->buffers[model->all_complete_below]))
        model->all_complete_below++;
    for (size_t i = model->all_complete_below; i < model->buffer_count; i++)
        count += !is_complete(model, &model->buffers[i]);
    return count;
}

/* ---- what leaves ----------------------------------------------------------------------------------------------- */

static struct model_buffer *numbered_buffer(const struct model *model, uint32_t number)
{
    uint32_t index = number - model->base;
    FUZZ_CHECK(model->base_known && index < model->buffer_count); /* that the client has given memory for */
    return &model->buffers[index];
}

static void new_message(struct model *model, const struct view_message *message)
{
    if (model->message_count == model->message_room) {
        model->message_room = model->message_room == 0 ? 16 : 2 * model->message_room;
        model->messages = fuzz_realloc(model->messages, model->message_room * sizeof *model->messages);
    }
    model->messages[model->message_count++] = (struct emitted_message){message->type, message->count, message->buffer};
}

/* The first GO names the first buffer, and its number follows from the token where there is one (guard.h). */
static void learn_base(struct model *model, const struct view_message *message)
{
    if (!model->base_known)
        model->base = message->buffer;
    model->base_known = true;
    if (model->message_count == 0)
        FUZZ_CHECK(message->type == GO && message->buffer == model->base);
    if (model->info.guarded)
        FUZZ_CHECK(model->token.known && model->base == model->token.first_buffer);
}

/* netblt_options.confirm_end: the OK that reports success to the sender waits for the client. */
static void check_new_ok(struct model *model)
{
    model->oks++;
    if (model->confirm_end && !model->confirmed && model->last_was_delivered)
        FUZZ_CHECK(model->oks <= model->last_index);
}

/* What is requested from an unvalidated peer. */
static void check_new_go(const struct model *model, size_t index)
{
    const struct unvalidated_limits *limits = &model->station->limits_unvalidated;
    uint64_t most = model->messages_acked > 0 ? limits->gos_acknowledged : limits->gos;
    FUZZ_CHECK(model->validated || index < most);
}

static void check_resend(const struct model *model, const struct view_message *message)
{
    FUZZ_CHECK(message->count > 0);
    for (unsigned i = 0; i < message->count; i++) {
        unsigned number = view_resend_number(message, i);
        FUZZ_CHECK(number < model->packets_per_buffer);
        FUZZ_CHECK(i == 0 || number > view_resend_number(message, i - 1));
    }
}

static void check_message(struct model *model, const struct view_message *message, bool repeated)
{
    learn_base(model, message);
    struct model_buffer *buffer = numbered_buffer(model, message->buffer);
    const netblt_params *agreed = &model->info.negotiated;
    switch (message->type) {
    case OK:
        FUZZ_CHECK(repeated || is_complete(model, buffer)); /* CTRL-14 */
        if (model->station->options.rate == NETBLT_RATE_FIXED)
            FUZZ_CHECK(message->burst_size == agreed->burst_size &&
                       message->burst_interval_ms == agreed->burst_interval_ms);
        FUZZ_CHECK(message->burst_size > 0);
        if (!repeated)
            check_new_ok(model);
        break;
    case RESEND:
        check_resend(model, message);
        break;
    default:
        if (!repeated)
            check_new_go(model, (size_t)(buffer - model->buffers));
        break;
    }
}

/* CTRL-01, CTRL-04: numbers ascend by one from the lowest that is not acknowledged, and a repeated message is the same
 * as before. */
static void control_leaves(struct model *model, const struct view *view)
{
    struct view_message message;
    size_t place = model->messages_acked;
    size_t at = 0;
    FUZZ_CHECK(model->is_open && model->connection != NULL && model->finished == 0);
    for (; view_next_message(view, &at, &message); place++) {
        FUZZ_CHECK(message.seq == (uint16_t)(place + 1));
        bool repeated = place < model->message_count;
        check_message(model, &message, repeated);
        if (!repeated)
            new_message(model, &message);
        const struct emitted_message *known = &model->messages[place];
        FUZZ_CHECK(known->type == message.type && known->buffer == message.buffer && known->count == message.count);
    }
    FUZZ_CHECK(at == view->length && place > model->messages_acked);
}

void receiver_emits(struct model *model, const struct view *view)
{
    switch (view->type) {
    case CONTROL:
        control_leaves(model, view);
        break;
    case DONE: /* "the last buffer" and all acks: finished() has checked; it is reported once */
        FUZZ_CHECK(model->finished == 1 && model->result == NETBLT_DONE);
        break;
    default:
        FUZZ_CHECK(view->type != DATA && view->type != LDATA && view->type != NULL_ACK);
        break;
    }
}
