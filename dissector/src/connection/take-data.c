/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DATA and LDATA: first transmission or again, in which order, at whose request. */
#include "connection/take.h"

#include "wireshark/memory.h"

/* A forged packet number must not cost memory for all the numbers below it. */
#define LARGEST_GAP 1024U

static void move_base(struct nb_buffer_life *life, uint32_t base)
{
    const uint32_t by = life->base - base;

    memmove(life->first_sent + by, life->first_sent, life->tracked * sizeof(uint32_t));
    memset(life->first_sent, 0, by * sizeof(uint32_t));
    life->base = (uint16_t)base;
    life->tracked += by;
}

/* False when there is no memory. */
static bool make_room(struct nb_buffer_life *life, uint32_t entries, uint32_t room_at_first)
{
    if (entries <= life->room) {
        return true;
    }
    const uint32_t room = MAX(MAX(entries, life->room * 3 / 2), life->room == 0 ? room_at_first : 0);
    const size_t before = life->room * sizeof(uint32_t);
    if (!nb_memory_ask(room * sizeof(uint32_t) - before)) {
        return false;
    }
    life->first_sent = (uint32_t *)nb_file_realloc(life->first_sent, before, room * sizeof(uint32_t));
    life->room = room;
    return true;
}

/* Where the first record of this packet is kept; NULL when there is no memory for it. */
static uint32_t *first_sent(struct nb_buffer_life *life, uint32_t packet, uint32_t room_at_first)
{
    const uint32_t end = life->base + life->tracked;

    if (life->tracked > 0 && (packet + LARGEST_GAP < life->base || packet > end + LARGEST_GAP)) {
        life->tracked = 0; /* far away: start again there */
    }
    if (life->tracked == 0) {
        life->base = (uint16_t)packet;
    }
    if (packet < life->base) {
        if (!make_room(life, life->tracked + life->base - packet, room_at_first)) {
            return NULL;
        }
        move_base(life, packet);
    } else if (packet >= life->base + life->tracked) {
        const uint32_t entries = packet - life->base + 1;
        if (!make_room(life, entries, room_at_first)) {
            return NULL;
        }
        memset(life->first_sent + life->tracked, 0, (entries - life->tracked) * sizeof(uint32_t));
        life->tracked = entries;
    }
    return &life->first_sent[packet - life->base];
}

static bool names(const struct nb_asked *asked, uint16_t packet)
{
    for (uint32_t i = 0; i < asked->count; i++) {
        if (asked->packets[i] == packet) {
            return true;
        }
    }
    return false;
}

/* The RESEND that this packet answers: the newest that names it, of those that the sender acknowledges with it. */
static const struct nb_asked *request_for(const struct nb_event *event, const struct nb_buffer_life *life)
{
    const int64_t ack = event->ack.now;
    const struct nb_asked *any = NULL;

    for (const struct nb_asked *asked = life->asked; asked != NULL; asked = asked->older) {
        if (names(asked, event->packet->packet)) {
            if (asked->seq <= ack) {
                return asked;
            }
            any = any == NULL ? asked : any;
        }
    }
    return any;
}

static void link_repair(struct nb_event *event, const struct nb_asked *asked)
{
    struct nb_record *resend = nb_record_at(asked->record);

    nb_note(event->record, NB_NOTE_ASKED_BY, resend->frame, event->now_ns - asked->at_ns);
    nb_note_once(resend, NB_NOTE_REPAIRED_BY, event->frame, event->now_ns - asked->at_ns);
}

static void link_retransmission(struct nb_event *event, struct nb_record *original)
{
    nb_note(event->record, NB_NOTE_FIRST_SENT, original->frame, NB_NO_TIME);
    nb_note_once(original, NB_NOTE_SENT_AGAIN, event->frame, NB_NO_TIME);
}

static void note_start(struct nb_event *event, struct nb_buffer_life *life)
{
    life->first_data_record = event->ordinal + 1;
    life->first_data_frame = event->frame;
    life->first_data_ns = event->now_ns;
    if (life->go_frame != 0) {
        nb_note(event->record, NB_NOTE_STARTS, life->go_frame, event->now_ns - life->go_ns);
    }
}

/* What a full buffer will need, as far as that is believable. */
static uint32_t expected_packets(const struct nb_stream *stream)
{
    enum { WITHOUT_TERMS = 4, AT_MOST = 64 };
    const struct nb_terms *terms = &stream->response;

    if (terms->data_packet_size == 0) {
        return WITHOUT_TERMS;
    }
    return CLAMP((terms->buffer_size + terms->data_packet_size - 1) / terms->data_packet_size, 1, AT_MOST);
}

void nb_take_data(struct nb_event *event)
{
    const struct nb_packet *packet = event->packet;
    struct nb_buffer_life *life = nb_buffer_life(&event->stream->buffers, packet->buffer, true);
    uint32_t *first = life == NULL ? NULL : first_sent(life, packet->packet, expected_packets(event->stream));

    if (first == NULL) {
        return; /* nothing can be remembered of it */
    }
    const struct nb_asked *asked = life->asked == NULL ? NULL : request_for(event, life);

    if (life->first_data_frame == 0) {
        note_start(event, life);
    }
    if (*first != 0) {
        link_retransmission(event, nb_record_at(*first - 1));
    }
    if (*first != 0 || asked != NULL) {
        event->record->facts |= NB_RETRANSMISSION;
    } else if (packet->packet < life->highest) {
        event->record->facts |= NB_OUT_OF_ORDER;
    }
    if (*first == 0) {
        *first = event->ordinal + 1;
    }
    if (asked != NULL) {
        link_repair(event, asked);
    }
    if ((int32_t)packet->packet > life->highest) {
        life->highest = packet->packet;
        life->highest_frame = event->frame;
    }
}
