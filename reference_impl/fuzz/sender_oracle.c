/* SPDX-License-Identifier: BSD-2-Clause */
/* Oracles of a data sender: what DATA, LDATA and NULL-ACK contain, which packets may leave, when an OK counts, which
 * control messages are acknowledged, and how fast data leaves. */
#include "model.h"

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
    if (buffer != NULL && buffer->sent == buffer->packets)
        buffer->ok_arrived = true; /* AMB-48: not before all of its packets have left */
}

static bool all_skipped_are_named(const struct model_buffer *buffer)
{
    uint32_t named = 0;
    for (uint32_t i = 0; i < buffer->packets; i++)
        named += (buffer->marks[i] & MARK_SKIPPED) != 0 && (buffer->marks[i] & MARK_NAMED) != 0;
    return buffer->withheld > 0 && buffer->named >= buffer->withheld && named == buffer->skipped;
}

static void resend_arrives(struct model *model, const struct view_message *resend)
{
    struct model_buffer *buffer = unfinished_buffer(model, resend->buffer);
    if (buffer == NULL) {
        model->named_early |= was_asked_for(model, resend->buffer);
        return;
    }
    for (unsigned i = 0; i < resend->count; i++) {
        unsigned number = view_resend_number(resend, i);
        if (number >= buffer->packets)
            continue;
        uint8_t *mark = &buffer->marks[number];
        buffer->named += number > 0 && (*mark & MARK_NAMED) == 0;
        *mark |= MARK_NAMED;
        if ((*mark & MARK_SENT) != 0 || buffer->withheld > 0)
            *mark |= MARK_ASKED;
    }
    if (buffer->chance == 0 && all_skipped_are_named(buffer))
        buffer->chance = unvalidated_chance(buffer->packets, buffer->named);
}

/* guard.h: the peer numbers its buffers from where the token states. */
static void check_token(struct model *model, const struct view_message *message)
{
    uint32_t window = model->station->limits_unvalidated.token_window;
    if (model->info.guarded && model->token.known && message->buffer - model->token.first_buffer < window)
        model->evidence = true;
}

/* An attacker would have named all that was withheld with so little probability that it is none. RESENDs for a buffer
 * that has not begun count too, and are not looked at. */
bool sender_has_evidence(const struct model *model)
{
    double chance = 1;
    for (size_t i = 0; i < model->numbered_count; i++)
        chance *= model->buffers[i].chance > 0 ? model->buffers[i].chance : 1;
    return !model->info.guarded &&
           (chance <= model->station->limits_unvalidated.chance * 1.000001 || model->named_early);
}

void sender_arrives(struct model *model, const struct view *view)
{
    struct view_message message;
    if (!model->is_open || view->type != CONTROL)
        return;
    for (size_t at = 0; view_next_message(view, &at, &message);) {
        seq_arrives(model, (uint16_t)message.seq);
        check_token(model, &message);
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

/* All packets have left but those that may be withheld to the end. */
static bool all_have_left(const struct model_buffer *buffer)
{
    return buffer->packets - buffer->next_new + buffer->skipped <= buffer->withheld ||
           buffer->next_new == buffer->packets;
}

/* How many of a new buffer's packets may be withheld. */
static uint32_t withheld_of(struct model *model, uint32_t packets)
{
    uint64_t packet_bytes = (24 + (uint64_t)model->info.negotiated.packet_size + 3) / 4 * 4;
    if (model->validated)
        return 0;
    model->started_bytes += packets * packet_bytes;
    return model->started_bytes > model->station->limits_unvalidated.whole_bytes ? unvalidated_withheld(packets) : 0;
}

bool sender_may_take_buffer(const struct model *model)
{
    const netblt_params *agreed = &model->info.negotiated;
    uint64_t packet_bytes = (24 + (uint64_t)agreed->packet_size + 3) / 4 * 4;
    uint64_t outstanding = model->buffer_count - model->unfinished_from;
    for (size_t i = model->unfinished_from; i < model->buffer_count; i++)
        outstanding -= model->buffers[i].released;
    if (outstanding >= agreed->max_buffers) /* DATA-12 */
        return false;
    return model->validated || outstanding == 0 ||
           (outstanding + 1) * model->packets_per_buffer * packet_bytes <= model->station->limits_unvalidated.at_once;
}

/* The first packet of the next buffer: DATA-01, and buffer numbers ascend. */
static struct model_buffer *begin_buffer(struct model *model, uint32_t number)
{
    FUZZ_CHECK(model->numbered_count < model->buffer_count && was_asked_for(model, number));
    if (model->numbered_count > 0) {
        const struct model_buffer *before = &model->buffers[model->numbered_count - 1];
        FUZZ_CHECK(number - before->number - 1 < UINT32_C(0x7FFFFFFF));
        FUZZ_CHECK(all_have_left(before) || before->released); /* ORDER-01 */
    }
    struct model_buffer *buffer = &model->buffers[model->numbered_count++];
    uint32_t size = model->info.negotiated.packet_size;
    buffer->numbered = true;
    buffer->number = number;
    buffer->packets = buffer->length == 0 ? 1 : (buffer->length + size - 1) / size;
    buffer->withheld = withheld_of(model, buffer->packets);
    buffer->marks = fuzz_calloc(buffer->packets, 1);
    if (model->info.guarded && model->numbered_count == 1)
        FUZZ_CHECK(number - model->token.first_buffer < model->station->limits_unvalidated.token_window);
    FUZZ_CHECK(buffer->held);
    return buffer;
}

/* Packets below `number` are withheld. */
static void skip_to(const struct model *model, struct model_buffer *buffer, unsigned number)
{
    for (; buffer->next_new < number; buffer->next_new++) {
        FUZZ_CHECK(buffer->next_new > 0);
        buffer->marks[buffer->next_new] |= MARK_SKIPPED;
        buffer->skipped++;
    }
    FUZZ_CHECK(buffer->skipped <= buffer->withheld);
    /* Once the peer is validated, only what was passed over before. */
    if (model->validated && (buffer->marks[number] & MARK_ASKED) == 0)
        FUZZ_CHECK(buffer->late_skips++ == 0);
}

/* A packet leaves for the first time, in order but for those that are withheld, or because a RESEND has named it since
 * (RESEND-02). */
static void check_turn(const struct model *model, struct model_buffer *buffer, unsigned number)
{
    FUZZ_CHECK(number < buffer->packets);
    uint8_t *mark = &buffer->marks[number];
    bool first = (*mark & MARK_SENT) == 0, asked = (*mark & MARK_ASKED) != 0;
    if (first && number > buffer->next_new)
        skip_to(model, buffer, number);
    else if (number != buffer->next_new)
        FUZZ_CHECK(asked);
    if (number == buffer->next_new)
        buffer->next_new++;
    buffer->sent += first;
    *mark = (uint8_t)((*mark & (MARK_SKIPPED | MARK_NAMED)) | MARK_SENT);
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
    check_turn(model, buffer, view->number);
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
        FUZZ_CHECK(buffer->released || buffer->sent == buffer->packets);
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
        FUZZ_CHECK(guarded_null_ack_is_right(model->info.guarded, &model->token, view));
        break;
    case QUIT:
        quit_leaves(model);
        break;
    default:
        FUZZ_CHECK(view->type != CONTROL && view->type != DONE);
        break;
    }
}
