/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DATA and LDATA: first transmission or again, in which order, at whose request. */
#include "conversation.h"

/* A forged packet number must not cost memory for all the numbers below it. */
#define LARGEST_GAP 1024U

struct nb_buffer_life *nb_buffer_life(struct nb_conversation *conversation, uint32_t number, bool make)
{
    struct nb_buffer_life *life = conversation->recent;

    if (life != NULL && life->number == number) {
        return life;
    }
    if (conversation->buffers == NULL) {
        conversation->buffers = wmem_map_new(wmem_file_scope(), g_direct_hash, g_direct_equal);
    }
    life = (struct nb_buffer_life *)wmem_map_lookup(conversation->buffers, GUINT_TO_POINTER(number));
    if (life == NULL) {
        if (!make) {
            return NULL;
        }
        life = wmem_new0(wmem_file_scope(), struct nb_buffer_life);
        life->number = number;
        life->highest = -1;
        wmem_map_insert(conversation->buffers, GUINT_TO_POINTER(number), life);
    }
    conversation->recent = life;
    return life;
}

static void move_base(struct nb_buffer_life *life, uint32_t base)
{
    const uint32_t by = life->base - base;

    memmove(life->first_sent + by, life->first_sent, life->tracked * sizeof(uint32_t));
    memset(life->first_sent, 0, by * sizeof(uint32_t));
    life->base = base;
    life->tracked += by;
}

static void make_room(struct nb_buffer_life *life, uint32_t entries)
{
    enum { ROOM_AT_FIRST = 4 };

    if (entries > life->room) {
        life->room = MAX(MAX(entries, life->room * 3 / 2), ROOM_AT_FIRST);
        life->first_sent = (uint32_t *)wmem_realloc(wmem_file_scope(), life->first_sent, life->room * sizeof(uint32_t));
    }
}

/* Where the first record of this packet is kept. */
static uint32_t *first_sent(struct nb_buffer_life *life, uint32_t packet)
{
    const uint32_t end = life->base + life->tracked;

    if (life->tracked > 0 && (packet + LARGEST_GAP < life->base || packet > end + LARGEST_GAP)) {
        life->tracked = 0; /* far away: start again there */
    }
    if (life->tracked == 0) {
        life->base = packet;
    }
    if (packet < life->base) {
        make_room(life, life->tracked + life->base - packet);
        move_base(life, packet);
    } else if (packet >= life->base + life->tracked) {
        const uint32_t entries = packet - life->base + 1;
        make_room(life, entries);
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
    const struct nb_conversation *conversation = event->stream->conversation;
    const int64_t ack = nb_unwrap(conversation->newest, event->packet->high_seq);
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
    life->first_data_frame = event->frame;
    life->first_data_ns = event->now_ns;
    if (life->go_frame != 0) {
        nb_note(event->record, NB_NOTE_STARTS, life->go_frame, event->now_ns - life->go_ns);
    }
}

void nb_converse_data(struct nb_event *event)
{
    const struct nb_packet *packet = event->packet;
    struct nb_buffer_life *life = nb_buffer_life(event->stream->conversation, packet->buffer, true);
    uint32_t *first = first_sent(life, packet->packet);
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
    life->highest = MAX(life->highest, (int32_t)packet->packet);
}
