/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts (RFC 998 2.3, RATE): a sender emits up to `burst size` packets every `burst interval`, start to start.
 * The wire does not mark them. A new one begins when the one before is full, or when time shows it: packets lost before
 * the capture leave bursts short. */
#include "connection/take.h"

#define NS_PER_MS 1000000

static bool starts_burst(const struct nb_conversation *conversation, int64_t now_ns)
{
    const int64_t interval = (int64_t)conversation->burst_interval_ms * NS_PER_MS;

    if (conversation->burst == 0 ||
        (conversation->burst_size > 0 && conversation->burst_position >= conversation->burst_size)) {
        return true;
    }
    /* Packets may be spread over the whole interval, so it takes half of it without any to end a burst early. */
    return interval > 0 && (now_ns - nb_time_of(conversation->last_data) > interval / 2 ||
                            now_ns - nb_time_of(conversation->burst_begun) > interval - interval / 10);
}

void nb_take_burst(struct nb_event *event)
{
    struct nb_conversation *conversation = &event->stream->conversation;
    struct nb_record *record = event->record;

    if (starts_burst(conversation, event->now_ns)) {
        record->facts |= NB_BURST_START;
        if (conversation->burst > 0) {
            nb_note(record, NB_NOTE_BURST_GAP, conversation->burst_begun);
        }
        conversation->burst++;
        conversation->burst_position = 0;
        conversation->burst_begun = event->moment;
    }
    conversation->burst_position++;
    conversation->last_data = event->moment;
    record->burst = conversation->burst;
    record->burst_position = (uint16_t)MIN(conversation->burst_position, 0xFFFF);
}
