/* SPDX-License-Identifier: BSD-2-Clause */
/* Oracles of a data sender: what DATA, LDATA and NULL-ACK say, which packets may leave, when an OK counts, which
 * control messages are acknowledged, and how fast data leaves. */
#include "station.h"

#include <string.h>

void sender_opened(struct model *model)
{
    struct station *station = model->station;
    const netblt_params *agreed = &model->info.negotiated;
    const netblt_profile *profile = station->config.profile;
    pace_init(&model->pace, (struct pace_pair){agreed->burst_size, agreed->burst_interval_ms}, profile->catch_up_max_us,
              station->expect.drained_at_once);
}

/* ---- what arrives ---------------------------------------------------------------------------------------------- */

static bool seq_has_arrived(const struct model *model, uint16_t seq)
{
    return (model->seq_arrived[seq / 64] >> seq % 64 & 1) != 0;
}

static void seq_arrives(struct model *model, uint16_t seq)
{
    model->seq_arrived[seq / 64] |= UINT64_C(1) << seq % 64;
    while (seq_has_arrived(model, (uint16_t)(model->seq_high + 1))) {
        model->seq_high++;
        /* Half of the circle further on the number means another message. */
        uint16_t other = (uint16_t)(model->seq_high + 0x8000);
        model->seq_arrived[other / 64] &= ~(UINT64_C(1) << other % 64);
    }
}

static bool was_asked_for(const struct model *model, uint32_t number)
{
    for (size_t i = model->go_count; i > 0; i--)
        if (model->gos[i - 1] == number)
            return true;
    return false;
}

static void go_arrives(struct model *model, uint32_t number)
{
    if (was_asked_for(model, number))
        return;
    if (model->go_count == model->go_room) {
        model->go_room = model->go_room == 0 ? 16 : 2 * model->go_room;
        model->gos = fuzz_realloc(model->gos, model->go_room * sizeof *model->gos);
    }
    model->gos[model->go_count++] = number;
}

/* A buffer whose first packet has left and that has no OK yet; NULL when there is none with this number. */
static struct model_buffer *unfinished_buffer(const struct model *model, uint32_t number)
{
    for (size_t i = model->unfinished_from; i < model->numbered_count; i++)
        if (model->buffers[i].number == number && !model->buffers[i].released)
            return &model->buffers[i];
    return NULL;
}

static void ok_arrives(struct model *model, const struct view_message *ok)
{
    const netblt_params *own = &model->station->limits;
    struct model_buffer *buffer = unfinished_buffer(model, ok->buffer);
    struct pace_pair pair = {ok->burst_size, ok->burst_interval_ms};
    if (pair.size == 0)
        pair.size = 1;
    if (model->station->options.rate == NETBLT_RATE_FIXED) { /* NEG-09 */
        if (own->burst_interval_ms != 0 && pair.size > own->burst_size)
            pair.size = own->burst_size;
        if (pair.interval_ms < own->burst_interval_ms)
            pair.interval_ms = own->burst_interval_ms;
    }
    pace_offer(&model->pace, pair);
    if (buffer != NULL && buffer->next_new == buffer->packets) {
        buffer->ok_arrived = true; /* AMB-48: not before all of its packets have left */
        model->validated = true;
    }
}

static void resend_arrives(struct model *model, const struct view_message *resend)
{
    struct model_buffer *buffer = unfinished_buffer(model, resend->buffer);
    if (buffer == NULL)
        return;
    unsigned sent_and_named = 0, highest = 0;
    for (unsigned i = 0; i < resend->count; i++) {
        unsigned number = view_resend_number(resend, i);
        if (number < buffer->packets && (buffer->marks[number] & MARK_SENT) != 0)
            buffer->marks[number] |= MARK_ASKED;
        sent_and_named += number < buffer->next_new;
        highest = number > highest ? number : highest;
    }
    /* A list that leaves out packets that were sent shows that they arrived. */
    if (resend->count > 0 && sent_and_named < (buffer->next_new < highest + 1 ? buffer->next_new : highest + 1))
        model->validated = true;
}

void sender_arrives(struct model *model, const struct view *view)
{
    struct view_message message;
    if (!model->is_open || view->type != CONTROL)
        return;
    for (size_t at = 0; view_next_message(view, &at, &message);) {
        seq_arrives(model, (uint16_t)message.seq);
        if (message.type == GO)
            go_arrives(model, message.buffer);
        else if (message.type == OK)
            ok_arrives(model, &message);
        else
            resend_arrives(model, &message);
    }
}

/* ---- what leaves ----------------------------------------------------------------------------------------------- */

/* CTRL-06: a number is claimed only if every message up to it arrived, and no claim is taken back. */
static void check_claim(struct model *model, uint16_t claimed)
{
    FUZZ_CHECK((uint16_t)(model->seq_high - claimed) < 0x8000);
    FUZZ_CHECK((uint16_t)(claimed - model->seq_claimed) < 0x8000);
    model->seq_claimed = claimed;
}

/* The first packet of the next buffer: DATA-01, and buffer numbers ascend. */
static struct model_buffer *begin_buffer(struct model *model, uint32_t number)
{
    FUZZ_CHECK(model->numbered_count < model->buffer_count && was_asked_for(model, number));
    if (model->numbered_count > 0) {
        const struct model_buffer *before = &model->buffers[model->numbered_count - 1];
        FUZZ_CHECK(number - before->number - 1 < UINT32_C(0x7FFFFFFF));
        FUZZ_CHECK(before->next_new == before->packets || before->released); /* ORDER-01 */
    }
    struct model_buffer *buffer = &model->buffers[model->numbered_count++];
    uint32_t size = model->info.negotiated.packet_size;
    buffer->numbered = true;
    buffer->number = number;
    buffer->packets = buffer->length == 0 ? 1 : (buffer->length + size - 1) / size;
    buffer->marks = fuzz_calloc(buffer->packets, 1);
    FUZZ_CHECK(buffer->held);
    return buffer;
}

/* A packet leaves for the first time, in order, or because a RESEND has named it since (RESEND-02). */
static void check_turn(struct model_buffer *buffer, unsigned number)
{
    FUZZ_CHECK(number < buffer->packets);
    uint8_t *mark = &buffer->marks[number];
    if ((*mark & MARK_SENT) == 0) {
        FUZZ_CHECK(number == buffer->next_new);
        buffer->next_new++;
    } else {
        FUZZ_CHECK((*mark & MARK_ASKED) != 0);
    }
    *mark = MARK_SENT;
}

static void check_content(const struct model *model, const struct model_buffer *buffer, const struct view *view)
{
    const netblt_params *agreed = &model->info.negotiated;
    uint32_t offset = view->number * (uint32_t)agreed->packet_size;
    uint32_t left = buffer->length - offset;
    bool final = view->number + 1 == buffer->packets;
    FUZZ_CHECK(view->data_length == (final ? left : agreed->packet_size));
    FUZZ_CHECK((view->type == LDATA) == final && view->last_buffer == buffer->last);
    FUZZ_CHECK(agreed->data_checksum ? view->data_good : view->data_sum == 0);
    for (uint32_t i = 0; i < view->data_length; i++)
        FUZZ_CHECK(view->data[i] == model_byte(model->salt, (uint64_t)(buffer - model->buffers), offset + i));
}

static void data_leaves(struct model *model, const struct view *view)
{
    FUZZ_CHECK(model->is_open && model->connection != NULL && model->finished == 0);
    FUZZ_CHECK(!model->quit_has_left); /* QUIT-05 */
    struct model_buffer *buffer = unfinished_buffer(model, view->buffer);
    if (buffer == NULL)
        buffer = begin_buffer(model, view->buffer);
    check_turn(buffer, view->number);
    check_content(model, buffer, view);
    FUZZ_CHECK(pace_sent(&model->pace, model->station->now));
}

/* QUIT-04: a QUIT of ours cuts no buffer in two, unless it has waited for a death time. */
static void quit_leaves(struct model *model)
{
    model->quit_has_left = true;
    netblt_time death = (netblt_time)model->info.negotiated.death_timer_s * 1000000;
    if (!model->is_open || model->finished != 0 || model->station->now >= model->quit_called_at + death)
        return;
    for (size_t i = model->unfinished_from; i < model->numbered_count; i++) {
        const struct model_buffer *buffer = &model->buffers[i];
        FUZZ_CHECK(buffer->released || buffer->next_new == buffer->packets);
    }
}

void sender_emits(struct model *model, const struct view *view)
{
    switch (view->type) {
    case DATA:
    case LDATA:
        check_claim(model, (uint16_t)view->high_seq);
        data_leaves(model, view);
        break;
    case NULL_ACK:
        check_claim(model, (uint16_t)view->high_seq);
        break;
    case QUIT:
        quit_leaves(model);
        break;
    default:
        FUZZ_CHECK(view->type != CONTROL && view->type != DONE);
        break;
    }
}
