/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DATA and LDATA: first transmission or retransmission, in which order, for which RESEND. */
#include "connection/take.h"

#include "wireshark/memory.h"

/* A forged packet number must not cost memory for all the numbers below it. */
#define LARGEST_GAP 1024U

static void move_base(struct nb_buffer_life *life, uint32_t base)
{
    const uint32_t by = life->base - base;

    memmove(life->first_sent + by, life->first_sent, life->tracked * sizeof(nb_moment));
    memset(life->first_sent, 0, by * sizeof(nb_moment));
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
    const size_t before = life->room * sizeof(nb_moment);
    if (!nb_memory_ask(room * sizeof(nb_moment) - before)) {
        return false;
    }
    life->first_sent = (nb_moment *)nb_file_realloc(life->first_sent, before, room * sizeof(nb_moment));
    life->room = room;
    return true;
}

/* Where the first record of this packet is kept; NULL when there is no memory for it. */
static nb_moment *first_sent(struct nb_buffer_life *life, uint32_t packet, uint32_t room_at_first)
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
        memset(life->first_sent + life->tracked, 0, (entries - life->tracked) * sizeof(nb_moment));
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

    for (const struct nb_asked *asked = life->requests->newest; asked != NULL; asked = asked->older) {
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
    nb_note(event->record, NB_NOTE_ASKED_BY, asked->moment);
    nb_note_once(nb_record_at(asked->moment - 1), NB_NOTE_REPAIRED_BY, event->moment);
}

static void link_retransmission(struct nb_event *event, nb_moment original)
{
    nb_note(event->record, NB_NOTE_FIRST_DATA_SENT, original);
    nb_note_once(nb_record_at(original - 1), NB_NOTE_SENT_AGAIN, event->moment);
}

/* A packet that RESENDs may have named has come. Those that are still missing stay in front. */
static void note_came(const struct nb_event *event, const struct nb_requests *requests)
{
    const uint16_t number = event->packet->packet;

    for (struct nb_asked *asked = requests->newest; asked != NULL; asked = asked->older) {
        for (unsigned n = 0; n < asked->missing; n++) {
            if (asked->packets[n] == number) {
                asked->missing--;
                asked->packets[n] = asked->packets[asked->missing];
                asked->packets[asked->missing] = number;
                asked->effect = event->moment;
                break;
            }
        }
    }
}

/* The lowest, the highest and the one below it are those between which the speed of a transfer is measured. */
static void note_started(struct nb_totals *totals, const struct nb_buffer_life *life)
{
    totals->started++;
    if (totals->lowest == NULL || life->number < totals->lowest->number) {
        totals->lowest = life;
    }
    if (totals->highest == NULL || life->number > totals->highest->number) {
        totals->below_highest = totals->highest;
        totals->highest = life;
    } else if (totals->below_highest == NULL || life->number > totals->below_highest->number) {
        totals->below_highest = life;
    }
}

static void note_start(struct nb_event *event, struct nb_buffer_life *life)
{
    life->first_data = event->moment;
    if (life->go != 0) {
        nb_note(event->record, NB_NOTE_STARTS, life->go);
    }
    note_started(&event->stream->buffers.totals, life);
}

/* What RESENDs requested beyond the LDATA was never lost. */
static void recount_losses(struct nb_totals *totals, struct nb_buffer_life *life)
{
    uint32_t lost = 0;

    for (const struct nb_asked *asked = life->requests->newest; asked != NULL; asked = asked->older) {
        for (unsigned i = 0; i < asked->count; i++) {
            lost += asked->packets[i] <= life->ldata_number;
        }
    }
    totals->lost += lost;
    totals->lost -= life->requests->lost;
    life->requests->lost = lost;
}

static void note_ldata(struct nb_event *event, struct nb_buffer_life *life)
{
    if (event->packet->type == NB_LDATA && life->ldata == 0) {
        life->ldata = event->moment;
        life->ldata_number = event->packet->packet;
        if (life->requests != NULL) {
            recount_losses(&event->stream->buffers.totals, life);
        }
    }
    life->last = life->last || (event->packet->data_flags & NB_DATA_LAST_BUFFER) != 0;
}

/* `again`: captured before, or requested. */
static void count_data(const struct nb_event *event, struct nb_buffer_life *life, bool fresh, bool again)
{
    struct nb_totals *totals = &event->stream->buffers.totals;

    life->transmissions++;
    totals->transmissions++;
    life->retransmitted += again;
    totals->retransmitted += again;
    if (fresh) {
        const uint64_t bytes = (uint64_t)(event->packet->end - event->packet->layout->data);
        life->packets++;
        life->bytes += bytes;
        totals->bytes += bytes;
        totals->last_data = event->moment;
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
    nb_moment *first = life == NULL ? NULL : first_sent(life, packet->packet, expected_packets(event->stream));

    if (first == NULL) {
        return; /* nothing can be remembered of it */
    }
    const struct nb_asked *asked = life->requests == NULL ? NULL : request_for(event, life);
    const bool fresh = *first == 0, again = !fresh || asked != NULL, complete = nb_buffer_is_complete(life);

    if (life->first_data == 0) {
        note_start(event, life);
    }
    if (!fresh) {
        link_retransmission(event, *first);
    }
    if (again) {
        event->record->facts |= NB_RETRANSMISSION;
    } else if (packet->packet < life->highest) {
        event->record->facts |= NB_OUT_OF_ORDER;
    }
    if (fresh) {
        *first = event->moment;
    }
    if (asked != NULL) {
        link_repair(event, asked);
        note_came(event, life->requests);
    }
    life->highest = MAX(life->highest, (int32_t)packet->packet);
    note_ldata(event, life);
    count_data(event, life, fresh, again);
    event->stream->buffers.totals.complete += (uint32_t)nb_buffer_is_complete(life) - (uint32_t)complete;
}
