/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control messages: each lives from its first CONTROL to the acknowledgement, whatever CONTROLs carry it between. */
#include "connection/converse.h"

#include "wireshark/memory.h"

/* A forged sequence number must not cost memory for all numbers below it. */
#define LARGEST_GAP 4096
/* In a capture that begins in the middle, older messages than the first one seen may still be on their way. */
#define LATE_MESSAGES 32
/* RESENDs remembered per buffer; a receiver makes a new one for each round of repairs. */
#define REQUESTS_KEPT 64

/* The record keeps the middle of the window of sequence numbers in which the CONTROL's lie (AMB-12). */
#define EPOCH_STEP 0x8000

static uint16_t epoch_of(int64_t newest)
{
    return (uint16_t)(MAX(newest, 0) / EPOCH_STEP);
}

static int64_t middle_of(uint16_t epoch)
{
    return (int64_t)epoch * EPOCH_STEP + EPOCH_STEP / 2;
}

static struct nb_message_life *find(const struct nb_conversation *conversation, int64_t seq)
{
    if (seq < conversation->message_base || seq >= conversation->message_base + conversation->messages.count) {
        return NULL;
    }
    return (struct nb_message_life *)nb_series_at(&conversation->messages, (uint32_t)(seq - conversation->message_base),
                                                  sizeof(struct nb_message_life));
}

/* NULL for numbers too far off to be believed, or without memory. */
static struct nb_message_life *find_or_make(struct nb_conversation *conversation, int64_t seq)
{
    if (!conversation->messages_known) {
        conversation->messages_known = true;
        conversation->message_base = MAX(seq - LATE_MESSAGES, 0);
        conversation->newest = seq;
    }
    if (seq < conversation->message_base ||
        seq >= conversation->message_base + conversation->messages.count + LARGEST_GAP) {
        return NULL;
    }
    nb_series_grow(&conversation->messages, (uint32_t)(seq - conversation->message_base) + 1,
                   sizeof(struct nb_message_life));
    return find(conversation, seq);
}

/* Capacity doubles at every power of two, so it needs not be stored. */
static void note_sending(struct nb_message_life *life, uint32_t frame)
{
    if (life->sent == 0) {
        life->frames.one = frame;
    } else if (life->sent == 1) {
        uint32_t *many = (uint32_t *)nb_file_new(2 * sizeof(uint32_t));
        many[0] = life->frames.one;
        many[1] = frame;
        life->frames.many = many;
    } else {
        if ((life->sent & (life->sent - 1)) == 0) {
            const size_t bytes = life->sent * sizeof(uint32_t);
            life->frames.many = (uint32_t *)nb_file_realloc(life->frames.many, bytes, 2 * bytes);
        }
        life->frames.many[life->sent] = frame;
    }
    life->sent++;
}

static size_t asked_bytes(uint32_t count)
{
    return sizeof(struct nb_asked) + count * sizeof(uint16_t);
}

static void keep_request(struct nb_event *event, const struct nb_message *message, int64_t seq)
{
    struct nb_buffer_life *buffer = nb_buffer_life(&event->stream->conversation, message->buffer, true);
    struct nb_asked *asked = buffer == NULL ? NULL : (struct nb_asked *)nb_file_new(asked_bytes(message->count));
    int kept = 0;

    if (asked == NULL) {
        return;
    }
    *asked = (struct nb_asked){
        .older = buffer->asked, .seq = seq, .at_ns = event->now_ns, .record = event->ordinal, .count = message->count};
    for (unsigned i = 0; i < message->count; i++) {
        asked->packets[i] = nb_resend_entry(event->packet, message, i);
    }
    buffer->asked = asked;
    for (; asked->older != NULL; asked = asked->older) {
        if (++kept >= REQUESTS_KEPT) {
            nb_file_free(asked->older, asked_bytes(asked->older->count));
            asked->older = NULL;
            break;
        }
    }
}

static void first_go(struct nb_event *event, uint32_t number)
{
    struct nb_conversation *conversation = &event->stream->conversation;
    struct nb_buffer_life *buffer = nb_buffer_life(conversation, number, true);

    if (!conversation->first_go_known || (int32_t)(number - conversation->first_go) < 0) {
        conversation->first_go = number; /* numbers may wrap */
    }
    conversation->first_go_known = true;
    if (buffer != NULL && buffer->go_frame == 0) {
        buffer->go_frame = event->frame;
        buffer->go_ns = event->now_ns;
        if (buffer->ok_frame == 0) {
            conversation->outstanding++;
        }
    }
}

static void first_ok(struct nb_event *event, const struct nb_message *message)
{
    struct nb_conversation *conversation = &event->stream->conversation;
    struct nb_buffer_life *buffer = nb_buffer_life(conversation, message->buffer, true);
    tvbuff_t *tvb = event->packet->tvb;

    if (buffer != NULL && buffer->ok_frame == 0) {
        buffer->ok_frame = event->frame;
        buffer->ok_ns = event->now_ns;
        if (buffer->go_frame != 0) {
            conversation->outstanding--;
        }
        if (tvb_get_ntohs(tvb, message->offset + 8) != 0) {
            conversation->burst_size = tvb_get_ntohs(tvb, message->offset + 8);
            conversation->burst_interval_ms = tvb_get_ntohs(tvb, message->offset + 10);
        }
    }
}

static void note_message(struct nb_event *event, const struct nb_message *message, int64_t seq,
                         struct nb_message_life *life)
{
    if (life->sent == 0) {
        life->first_ns = event->now_ns;
        life->type = message->type;
        life->buffer = message->buffer;
        if (message->type == NB_GO) {
            first_go(event, message->buffer);
        } else if (message->type == NB_OK) {
            first_ok(event, message);
        } else {
            keep_request(event, message, seq);
        }
    }
    note_sending(life, event->frame);
}

void nb_converse_control(struct nb_event *event)
{
    struct nb_conversation *conversation = &event->stream->conversation;
    struct nb_message message;
    int offset = NB_HEADER_BYTES;
    unsigned messages = 0, fresh = 0;

    while (nb_memory_ask(0) && nb_next_message(event->packet, &offset, &message) == NB_MESSAGE) {
        const int64_t seq = conversation->messages_known ? nb_unwrap(conversation->newest, message.seq) : message.seq;
        struct nb_message_life *life = find_or_make(conversation, seq);
        if (life == NULL || (life->sent > 0 && nb_message_frames(life)[life->sent - 1] == event->frame)) {
            continue;
        }
        messages++;
        fresh += life->sent == 0;
        note_message(event, &message, seq, life);
        conversation->newest = MAX(conversation->newest, seq);
    }
    event->record->epoch = epoch_of(conversation->newest);
    if (messages > 0 && fresh == 0) {
        event->record->facts |= NB_RETRANSMISSION;
    }
}

void nb_converse_ack(struct nb_event *event, uint16_t high_seq)
{
    struct nb_conversation *conversation = &event->stream->conversation;

    if (!conversation->messages_known) {
        return;
    }
    const int64_t ack = nb_unwrap(conversation->newest, high_seq);
    if (ack <= conversation->acked || ack > conversation->newest) {
        return;
    }
    const struct nb_message_life *newest = find(conversation, ack);
    for (int64_t seq = MAX(conversation->acked + 1, conversation->message_base); seq <= ack; seq++) {
        struct nb_message_life *life = find(conversation, seq);
        if (life != NULL && life->sent > 0 && life->ack_frame == 0) {
            life->ack_frame = event->frame;
            life->ack_ns = event->now_ns;
        }
    }
    conversation->acked = ack;
    if (newest != NULL && newest->sent > 0) {
        nb_note(event->record, NB_NOTE_ACKNOWLEDGES, nb_message_frames(newest)[0], event->now_ns - newest->first_ns);
    }
}

const struct nb_message_life *nb_message_life(const struct nb_record *record, uint16_t seq)
{
    if (record == NULL || record->stream == NULL || !record->stream->conversation.begun) {
        return NULL;
    }
    const struct nb_conversation *conversation = &record->stream->conversation;
    const struct nb_message_life *life = find(conversation, nb_unwrap(middle_of(record->epoch), seq));
    return life != NULL && life->sent > 0 ? life : NULL;
}
