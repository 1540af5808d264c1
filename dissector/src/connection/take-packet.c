/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds a packet to the model of its connection: the order of the steps. */
#include "connection/take.h"

#include "wireshark/memory.h"

/* The pace that the first OPEN and the first RESPONSE announce. */
static void learn_pace(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const struct nb_terms *terms = event->packet->type == NB_OPEN ? &stream->open : &stream->response;

    if (terms->frame == event->frame) {
        stream->conversation.burst_size = event->packet->burst_size;
        stream->conversation.burst_interval_ms = event->packet->burst_interval;
    }
}

static void learn_completeness(struct nb_conversation *conversation, const struct nb_packet *packet)
{
    static const uint8_t seen[] = {
        [NB_OPEN] = NB_SEEN_OPEN,     [NB_RESPONSE] = NB_SEEN_RESPONSE, [NB_QUIT] = NB_SEEN_BREAK,
        [NB_QUITACK] = NB_SEEN_BREAK, [NB_ABORT] = NB_SEEN_BREAK,       [NB_DATA] = NB_SEEN_DATA,
        [NB_LDATA] = NB_SEEN_DATA,    [NB_REFUSED] = NB_SEEN_BREAK,     [NB_DONE] = NB_SEEN_DONE,
    };

    if (packet->type < array_length(seen)) {
        conversation->completeness |= seen[packet->type];
    }
    if (packet->type == NB_LDATA && packet->data_flags & NB_DATA_LAST_BUFFER) {
        conversation->completeness |= NB_SEEN_LAST;
    }
}

/* What a packet of this type answers; -1 nothing. */
static int question_of(uint8_t type)
{
    switch (type) {
    case NB_RESPONSE:
    case NB_REFUSED:
        return NB_OPEN;
    case NB_QUITACK:
        return NB_QUIT;
    default:
        return -1;
    }
}

/* Packets that are retransmitted until they are answered; KEEPALIVE and NULL-ACK are meant to be sent often. */
static bool is_sent_again(uint8_t type)
{
    return type == NB_OPEN || type == NB_RESPONSE || type == NB_QUIT || type == NB_QUITACK || type == NB_ABORT ||
           type == NB_REFUSED || type == NB_DONE;
}

/* Links of OPEN, RESPONSE and the packets that close a connection. */
static void link_single(struct nb_event *event)
{
    struct nb_conversation *conversation = &event->stream->conversation;
    const uint8_t type = event->packet->type;
    nb_moment *first = &conversation->first_of[event->end][type];

    if (*first != 0) {
        event->record->facts |= NB_RETRANSMISSION;
        nb_note(event->record, NB_NOTE_FIRST_SENT, *first);
        nb_note_once(nb_record_at(*first - 1), NB_NOTE_SENT_AGAIN, event->moment);
        return;
    }
    *first = event->moment;
    const int question = question_of(type);
    const nb_moment asked = question < 0 ? 0 : conversation->first_of[1 - event->end][question];
    if (asked != 0) {
        nb_note(event->record, NB_NOTE_ANSWER_TO, asked);
        nb_note_once(nb_record_at(asked - 1), NB_NOTE_ANSWERED_BY, event->moment);
    }
}

/* Where identifications do not count upwards the emission order knows no copies; but two packets of one end with the
 * same identification and content, one soon after the other, are one packet all the same. A host that gives all
 * packets one identification shows nothing with it. */
static bool is_copy(struct nb_event *event)
{
    struct nb_conversation *conversation = &event->stream->conversation;
    const uint16_t ip_id = event->packet->ip_id;
    uint32_t copy_of = 0;
    bool varies = false;

    if (event->emitted.arrival == NB_COPY) {
        return true;
    }
    if (!event->packet->ipv4 || ip_id == 0) {
        return false;
    }
    for (int i = 0; i < NB_IDS_KEPT; i++) {
        const uint32_t frame = conversation->recent_ids[event->end][i].frame;
        varies = varies || (frame != 0 && conversation->recent_ids[event->end][i].ip_id != ip_id);
        if (frame != 0 && conversation->recent_ids[event->end][i].ip_id == ip_id &&
            conversation->recent_ids[event->end][i].hash == event->content) {
            copy_of = frame;
        }
    }
    if (copy_of != 0 && varies) {
        nb_note_copy(event->record, copy_of);
        return true;
    }
    const uint8_t at = conversation->recent_at[event->end]++ % NB_IDS_KEPT;
    conversation->recent_ids[event->end][at].ip_id = ip_id;
    conversation->recent_ids[event->end][at].hash = event->content;
    conversation->recent_ids[event->end][at].frame = event->frame;
    return false;
}

static bool came_late(const struct nb_event *event)
{
    enum { ENOUGH_BITS = 16 };

    return event->emitted.arrival == NB_LATE && nb_emission_counts(&event->stream->end[event->end].flow, ENOUGH_BITS);
}

static void take_high_seq(struct nb_event *event)
{
    const struct nb_packet *packet = event->packet;
    struct nb_conversation *conversation = &event->stream->conversation;

    nb_take_ack(event);
    if (nb_is_data(packet->type)) {
        nb_take_burst(event);
        nb_take_data(event);
    } else if (packet->burst_size != 0) {
        conversation->burst_size = packet->burst_size;
        conversation->burst_interval_ms = packet->burst_interval;
    }
    nb_note_ack(event);
}

bool nb_take_packet(struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const struct nb_packet *packet = event->packet;

    stream->conversation.begun = true;
    if (is_copy(event)) {
        return false;
    }
    learn_completeness(&stream->conversation, packet);
    if (nb_is_data(packet->type) && !event->sound_data) {
        event->record->facts |= NB_DATA_SPOILT;
    }
    if (came_late(event)) {
        event->record->facts |= NB_OUT_OF_ORDER;
    }
    if (packet->type == NB_OPEN || packet->type == NB_RESPONSE) {
        nb_take_opening(event);
        learn_pace(event);
    }
    if (is_sent_again(packet->type)) {
        link_single(event);
    } else if (packet->type == NB_CONTROL) {
        nb_take_control(event);
    } else if (nb_has_high_seq(packet->type)) {
        take_high_seq(event);
    }
    return true;
}
