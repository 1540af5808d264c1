/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CONTROL packets and acknowledgements: what was requested, confirmed and received, and when. */
#include "connection/take.h"

#include "wireshark/memory.h"

/* In a capture that begins in the middle, older messages than the first one seen may still be on their way. */
#define LATE_MESSAGES 32
/* RESENDs remembered per buffer; a receiver makes a new one for each round of retransmissions. */
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

static size_t asked_bytes(uint32_t count)
{
    return sizeof(struct nb_asked) + count * sizeof(uint16_t);
}

/* A receiver that has not seen the LDATA of a short buffer asks for numbers beyond it (AMB-32); those were never lost.
 */
static uint32_t lost_of(const struct nb_buffer_life *buffer, const struct nb_asked *asked)
{
    uint32_t lost = 0;

    for (unsigned i = 0; i < asked->count; i++) {
        lost += buffer->ldata == 0 || asked->packets[i] <= buffer->ldata_number;
    }
    return lost;
}

static void forget_oldest(struct nb_asked *asked)
{
    int kept = 0;

    for (; asked->older != NULL; asked = asked->older) {
        if (++kept >= REQUESTS_KEPT) {
            nb_file_free(asked->older, asked_bytes(asked->older->count));
            asked->older = NULL;
            break;
        }
    }
}

static void keep_request(struct nb_event *event, const struct nb_message *message, int64_t seq)
{
    struct nb_buffers *buffers = &event->stream->buffers;
    struct nb_buffer_life *buffer = nb_buffer_life(buffers, message->buffer, true);

    if (buffer == NULL) {
        return;
    }
    if (buffer->requests == NULL) {
        buffer->requests = (struct nb_requests *)nb_file_new0(sizeof(struct nb_requests));
        buffer->requests->first = event->moment;
    }
    struct nb_requests *requests = buffer->requests;
    struct nb_asked *asked = (struct nb_asked *)nb_file_new(asked_bytes(message->count));
    *asked = (struct nb_asked){.older = requests->newest,
                               .seq = seq,
                               .moment = event->moment,
                               .count = message->count,
                               .missing = message->count};
    for (unsigned i = 0; i < message->count; i++) {
        asked->packets[i] = nb_resend_entry(event->packet, message, i);
    }
    const uint32_t lost = lost_of(buffer, asked);
    requests->newest = asked;
    requests->last = event->moment;
    requests->count++;
    requests->lost += lost;
    buffers->totals.resends++;
    buffers->totals.lost += lost;
    forget_oldest(asked);
}

static void first_go(struct nb_event *event, uint32_t number, int64_t seq)
{
    struct nb_buffers *buffers = &event->stream->buffers;
    struct nb_buffer_life *buffer = nb_buffer_life(buffers, number, true);

    if (!buffers->first_go_known || nb_buffer_is_after(buffers, buffers->first_go, number)) {
        buffers->first_go = number;
    }
    buffers->first_go_known = true;
    if (buffer != NULL && buffer->go == 0) {
        buffer->go = event->moment;
        buffer->go_message = (uint32_t)(seq - event->stream->messages.base) + 1;
        if (buffer->ok == 0) {
            buffers->outstanding++;
        }
    }
}

static struct nb_pace offer_of(const struct nb_event *event, const struct nb_message *message)
{
    return (struct nb_pace){.size = tvb_get_ntohs(event->packet->tvb, message->offset + 8),
                            .interval = tvb_get_ntohs(event->packet->tvb, message->offset + 10)};
}

static void first_ok(struct nb_event *event, const struct nb_message *message)
{
    struct nb_conversation *conversation = &event->stream->conversation;
    struct nb_buffer_life *buffer = nb_buffer_life(&event->stream->buffers, message->buffer, true);

    if (buffer != NULL && buffer->ok == 0) {
        const struct nb_pace offer = offer_of(event, message);
        buffer->ok = event->moment;
        if (buffer->go != 0) {
            event->stream->buffers.outstanding--;
        }
        if (offer.size != 0) {
            conversation->burst_size = offer.size;
            conversation->burst_interval_ms = offer.interval;
        }
    }
}

/* Captured for the first time. */
static void begin_message(struct nb_event *event, const struct nb_message *message, int64_t seq,
                          struct nb_message_life *life)
{
    life->type = message->type;
    life->buffer = message->buffer;
    life->bytes = (uint16_t)message->bytes;
    life->hash = nb_message_hash(event->packet, message);
    if (message->type == NB_GO) {
        first_go(event, message->buffer, seq);
    } else if (message->type == NB_OK) {
        const struct nb_pace offer = offer_of(event, message);
        life->burst_size = offer.size;
        life->burst_interval = offer.interval;
        life->timer = tvb_get_ntohs(event->packet->tvb, message->offset + 12);
        first_ok(event, message);
    } else {
        keep_request(event, message, seq);
    }
}

/* Copies of an OK may carry other values; the loosest of them count. */
static void repeat_message(const struct nb_event *event, const struct nb_message *message, struct nb_message_life *life)
{
    if (message->type == NB_OK && life->type == NB_OK) {
        const struct nb_pace offer = offer_of(event, message);
        life->burst_size = MAX(life->burst_size, offer.size);
        life->burst_interval = MIN(life->burst_interval, offer.interval);
    }
}

static enum nb_heard_kind kind_of(const struct nb_stream *stream, int64_t seq, const struct nb_message_life *life)
{
    if (life != NULL && life->sent > 0 && life->in_time) {
        return NB_HEARD_AGAIN;
    }
    const int64_t highest = MAX(stream->acked, stream->messages.in_time);
    return life != NULL && seq > stream->acked && seq <= highest + NB_MESSAGE_WINDOW ? NB_HEARD_FRESH : NB_HEARD_LATE;
}

/* The number that a message has, by the nearest one that it may have (AMB-12). Where the first message is known there
 * is none below: what reads as that is far ahead, by half of all numbers or more. */
static int64_t number_of(const struct nb_stream *stream, uint16_t seq)
{
    enum { NUMBERS = 0x10000 };
    const int64_t number = nb_unwrap(stream->acked_known ? stream->acked : stream->newest, seq);
    const bool begun = stream->acked_known && (stream->doubts & NB_DOUBT_BEGINNING) == 0;

    return begun && number < 0 ? number + NUMBERS : number;
}

static struct nb_heard take_message(struct nb_event *event, const struct nb_message *message)
{
    struct nb_stream *stream = event->stream;

    if (!stream->acked_known && stream->newest == 0) {
        stream->newest = message->seq;
    }
    const int64_t seq = number_of(stream, message->seq);
    const int64_t lowest = stream->acked_known ? MIN(seq, stream->acked + 1) : seq;
    struct nb_message_life *life = nb_message_place(&stream->messages, seq, MAX(lowest - LATE_MESSAGES, 0));
    const enum nb_heard_kind kind = kind_of(stream, seq, life);

    if (life != NULL && life->sent == 0) {
        begin_message(event, message, seq, life);
    } else if (life != NULL) {
        repeat_message(event, message, life);
    }
    if (kind == NB_HEARD_FRESH) {
        life->in_time = true;
        stream->messages.in_time = MAX(stream->messages.in_time, seq);
    }
    if (life != NULL && (life->sent == 0 || nb_frame_of(nb_message_sendings(life)[life->sent - 1]) != event->frame)) {
        nb_message_sent(life, event->moment);
    }
    stream->newest = MAX(stream->newest, seq);
    return (struct nb_heard){.kind = kind, .message = *message, .seq = seq, .life = life};
}

/* Message 1 was not captured. The capture may have begun in the middle, right before an old OPEN that was on its way
 * for long and the RESPONSE to it (OPEN-07): the IP ID of that OPEN is far below those of its end's other packets.
 * Then numbers are taken up where they are. */
static void begin_without_first_message(struct nb_stream *stream)
{
    const int8_t active = stream->active;

    if (active < 0 || !stream->end[active].flow.unbroken || stream->end[active].opened_number != NB_FIRST_NUMBER) {
        stream->doubts |= NB_DOUBT_BEGINNING;
        stream->acked_known = false;
    }
}

bool nb_begins_with_message_1(const struct nb_packet *packet)
{
    struct nb_message message;
    int offset = NB_HEADER_BYTES;

    return nb_next_message(packet, &offset, &message) == NB_MESSAGE && message.seq == 1;
}

/* Which messages came together: a sender that has one of them has those that follow it. */
static void note_company(const struct nb_event *event)
{
    uint16_t following = 0;

    for (unsigned i = event->heard_count; i-- > 0;) {
        const struct nb_heard *one = &event->heard[i];
        const bool next_follows = i + 1 < event->heard_count && event->heard[i + 1].seq == one->seq + 1;

        following = next_follows && following < UINT16_MAX ? following + 1 : 0;
        if (one->life != NULL) {
            one->life->company = one->life->sent == 1 ? following : MIN(following, one->life->company);
        }
    }
}

void nb_take_control(struct nb_event *event)
{
    static GArray *heard; /* of the newest CONTROL: a large one holds thousands of messages */
    struct nb_stream *stream = event->stream;
    struct nb_message message;
    int offset = NB_HEADER_BYTES;
    unsigned known = 0, fresh = 0;

    if (heard == NULL) {
        heard = g_array_new(FALSE, FALSE, sizeof(struct nb_heard));
    }
    g_array_set_size(heard, 0);
    event->newest_before = stream->newest;
    event->heard_end = NB_END;
    if (event->end == stream->sender) {
        return;
    }
    if (stream->newest == 0 && stream->acked_known && !nb_begins_with_message_1(event->packet)) {
        begin_without_first_message(stream);
    }
    while ((event->heard_end = nb_next_message(event->packet, &offset, &message)) == NB_MESSAGE && nb_memory_ask(0)) {
        const struct nb_heard one = take_message(event, &message);
        known += one.life != NULL;
        fresh += one.life != NULL && one.life->sent == 1 && nb_message_first(one.life) == event->moment;
        g_array_append_val(heard, one);
    }
    event->heard = (const struct nb_heard *)(void *)heard->data;
    event->heard_count = heard->len;
    note_company(event);
    event->record->epoch = epoch_of(stream->newest);
    if (known > 0 && fresh == 0) {
        event->record->facts |= NB_RETRANSMISSION;
    }
}

/* Marks the captured messages that are acknowledged. */
static void acknowledge(struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const int64_t newest = MIN(event->ack.now, stream->newest);

    for (int64_t seq = MAX(stream->messages.marked + 1, stream->messages.base); seq <= newest; seq++) {
        struct nb_message_life *life = nb_message_find_any(&stream->messages, seq);
        if (life == NULL) {
            continue;
        }
        if (life->acked == 0) {
            const double took = event->now - nb_seconds(nb_time_of(nb_message_first(life)));
            life->acked = event->moment;
            stream->quickest_ack = stream->quickest_ack < 0 ? took : MIN(took, stream->quickest_ack);
        }
        if (life->in_time && life->type == NB_OK && life->burst_size != 0) { /* AMB-11: 0 keeps the size */
            stream->agreed = (struct nb_pace){life->burst_size, life->burst_interval};
            stream->agreed_seq = seq;
        }
    }
    event->ack.first = newest > stream->messages.marked && newest == event->ack.now;
    stream->messages.marked = MAX(stream->messages.marked, newest);
}

/* The earliest emitted packet with the highest high-seq. */
static void mark_highest(const struct nb_event *event)
{
    struct nb_mark *mark = &event->stream->acked_mark;
    const struct nb_ack *ack = &event->ack;

    if (ack->now > ack->before || mark->frame == 0 ||
        (ack->now == ack->before && mark->ordered && event->emitted.arrival == NB_LATE &&
         event->emitted.number < mark->number)) {
        *mark = nb_mark_of(event);
    }
}

void nb_take_ack(struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const uint16_t high_seq = event->packet->high_seq;

    if (event->end != stream->sender) {
        return;
    }
    if (stream->acked_mark.frame == 0 && stream->acked_known && high_seq != 0 &&
        nb_message_find(&stream->messages, 1) == NULL) {
        begin_without_first_message(stream);
    }
    if (!stream->acked_known) {
        stream->acked_known = true; /* mid-stream: begin with what this end acknowledges now */
        stream->doubts |= NB_DOUBT_BEGINNING;
        stream->acked = high_seq;
        stream->newest = MAX(stream->newest, stream->acked);
    }
    event->ack = (struct nb_ack){.given = true, .now = nb_unwrap(stream->acked, high_seq), .before = stream->acked};
    mark_highest(event);
    acknowledge(event);
    stream->acked = MAX(stream->acked, event->ack.now);
}

void nb_note_ack(const struct nb_event *event)
{
    const struct nb_ack *ack = &event->ack;
    const struct nb_message_life *newest = nb_message_find_any(&event->stream->messages, ack->now);

    if (ack->first && newest != NULL) {
        nb_note(event->record, NB_NOTE_ACKNOWLEDGES, nb_message_first(newest));
    }
}

const struct nb_message_life *nb_message_life(const struct nb_record *record, uint16_t seq)
{
    const struct nb_stream *stream = nb_stream_of_record(record);

    if (stream == NULL || !stream->conversation.begun) {
        return NULL;
    }
    return nb_message_find_any(&stream->messages, nb_unwrap(middle_of(record->epoch), seq));
}
