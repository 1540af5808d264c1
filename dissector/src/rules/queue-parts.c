/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A queue of messages that is larger than one packet comes in several CONTROLs (AMB-33): is a CONTROL one of them, and
 * which CONTROLs may be missing before it? */
#include "rules/queue-parts.h"

#include "decode/netblt.h"
#include "rules/judge.h"
#include "wireshark/memory.h"

/* A packet of this size passes any path and any implementation's limit, unless full DATA packets are smaller still. */
#define PATH_LIMIT_BYTES 512

/* The CONTROL captured before, late ones left out, for recognizing a queue in parts (AMB-33). */
struct previous {
    int64_t highest;
    int64_t head;     /* the queue began here: the first message of it, or of the first of its parts */
    double head_when; /* when the CONTROL that began there was captured */
    uint32_t frame;
    double when;
    double began; /* when that part was captured */
    unsigned bytes;
    unsigned messages;
    bool starts_queue; /* all before the head is acknowledged, or may be in a part that was not captured */
    bool numbered;     /* `number` is valid */
    uint64_t number;
};

struct queue_parts {
    struct previous previous;
    unsigned largest_bytes;
    unsigned largest_shared; /* of the CONTROLs with several messages: a single one must be sent, however large */
    unsigned most_messages;  /* in a CONTROL */
};

static size_t place;

void nb_queue_parts_register(void)
{
    place = nb_stream_reserve(sizeof(struct queue_parts));
}

static struct queue_parts *state_of(const struct nb_stream *stream)
{
    return (struct queue_parts *)nb_stream_reserved(stream, place);
}

unsigned nb_queue_capacity(const struct nb_stream *stream)
{
    const unsigned full_data = nb_layout_of(stream->dialect)->data + stream->data_packet_size;

    return MAX(state_of(stream)->largest_bytes, MIN(full_data, PATH_LIMIT_BYTES));
}

unsigned nb_queue_bytes(const struct nb_stream *stream, int64_t first, int64_t highest)
{
    unsigned bytes = NB_HEADER_BYTES;

    for (int64_t seq = first; seq <= highest; seq++) {
        const struct nb_message_life *body = nb_message_find(&stream->messages, seq);
        if (body == NULL && (uint16_t)seq != 0) {
            return UINT_MAX;
        }
        bytes += body == NULL ? 0 : body->bytes;
    }
    return bytes;
}

bool nb_queue_is_beyond_one_packet(const struct nb_stream *stream, int64_t first, int64_t highest)
{
    const struct queue_parts *state = state_of(stream);

    return highest - first >= (int64_t)state->most_messages ||
           nb_queue_bytes(stream, first, highest) > state->largest_shared;
}

bool nb_queue_directly_follows(const struct nb_event *event)
{
    const struct previous *previous = &state_of(event->stream)->previous;

    return event->emitted.arrival == NB_IN_ORDER && previous->numbered && previous->number + 1 == event->emitted.number;
}

/* The CONTROL emitted right before this one may be unknown, and hold the part before it, of a queue too large for one
 * packet. What this end knew to be acknowledged may be less than what was captured by now: the queue may still begin
 * where it began. */
static bool may_lack_a_part(const struct nb_event *event, const struct nb_control *control)
{
    const struct nb_stream *stream = event->stream;
    const struct previous *previous = &state_of(stream)->previous;
    const int64_t head =
        previous->starts_queue && previous->head > 0 ? MIN(previous->head, stream->acked + 1) : stream->acked + 1;

    return event->emitted.arrival == NB_LATE ||
           (!nb_queue_directly_follows(event) && nb_queue_is_beyond_one_packet(stream, head, control->highest));
}

double nb_queue_parts_within_s(const struct nb_event *event, double torn_apart_s)
{
    const double held_up_s = 0.5;
    const struct nb_stream *stream = event->stream;

    return stream->end[stream->sender == 0 ? 1 : 0].flow.climbing ? torn_apart_s : held_up_s;
}

bool nb_queue_continues(const struct nb_event *event, const struct nb_control *control)
{
    const struct previous *previous = &state_of(event->stream)->previous;

    return control->first == previous->highest + 1 &&
           event->now - previous->when < nb_queue_parts_within_s(event, NB_PARTS_LONG_S);
}

bool nb_queue_may_be_part(const struct nb_event *event, const struct nb_control *control)
{
    const struct previous *previous = &state_of(event->stream)->previous;

    return previous->bytes > 0 && control->first == previous->highest + 1 &&
           previous->bytes + event->packet->length - NB_HEADER_BYTES > nb_queue_capacity(event->stream);
}

bool nb_queue_held(const struct nb_stream *stream, const struct nb_queue_size *size)
{
    const struct queue_parts *state = state_of(stream);

    return state->largest_shared >= size->bytes && state->most_messages >= size->messages;
}

struct nb_queue_size nb_queue_with_next(const struct nb_event *event, const struct nb_control *control)
{
    const struct previous *previous = &state_of(event->stream)->previous;
    const struct nb_message_life *first = nb_message_find(&event->stream->messages, control->first);

    return (struct nb_queue_size){.bytes = previous->bytes + first->bytes, .messages = previous->messages + 1};
}

/* It gives OK for a buffer whose end was captured after the part before: no queue can have held both. */
static bool answers_what_came_since(const struct nb_event *event, const struct nb_control *control)
{
    struct nb_stream *stream = event->stream;

    for (int64_t seq = control->first; seq <= control->highest; seq++) {
        const struct nb_message_life *life = nb_message_find(&stream->messages, seq);
        const struct nb_buffer *buffer =
            life != NULL && life->type == NB_OK ? nb_buffer_find(&stream->buffers, life->buffer) : NULL;
        if (buffer != NULL && buffer->last_frame > state_of(event->stream)->previous.frame) {
            return true;
        }
    }
    return false;
}

/* It goes on where the CONTROL before it ended, not long after the first part, and no CONTROL of this end was ever
 * large enough for more, or held more messages: some count them. */
static bool is_next_part(const struct nb_event *event, const struct nb_control *control)
{
    const struct queue_parts *state = state_of(event->stream);
    const struct nb_message_life *first = nb_message_find(&event->stream->messages, control->first);

    return state->previous.starts_queue && first != NULL && control->first == state->previous.highest + 1 &&
           event->now - state->previous.began < nb_queue_parts_within_s(event, NB_PARTS_SOON_S) &&
           (state->previous.bytes + first->bytes >
                MAX(state->largest_shared, control->messages > 1 ? event->packet->length : 0) ||
            state->previous.messages + 1 > MAX(state->most_messages, control->messages)) &&
           !answers_what_came_since(event, control);
}

/* A queue that is more than this end has ever put into one packet, in packets that share no message: all that this one
 * leaves out was sent right before it, and nothing of what it holds. */
static bool is_spread(const struct nb_event *event, const struct nb_control *control)
{
    const struct nb_stream *stream = event->stream;
    nb_moment missing_since = event->moment, present_until = 0;

    if (control->highest > stream->acked + NB_MESSAGE_WINDOW ||
        !nb_queue_is_beyond_one_packet(stream, stream->acked + 1, control->highest)) {
        return false;
    }
    for (int64_t seq = stream->acked + 1; seq <= control->highest; seq++) {
        const struct nb_message_life *life = nb_message_find(&stream->messages, seq);
        const bool present = control->present[seq - stream->acked - 1];
        const unsigned before = life == NULL ? 0 : life->sent - present; /* sendings */
        const nb_moment last = before == 0 ? 0 : nb_message_sendings(life)[before - 1];
        missing_since = present ? missing_since : MIN(missing_since, last);
        present_until = present ? MAX(present_until, last) : present_until;
    }
    return missing_since > present_until &&
           event->now - nb_seconds(nb_time_of(missing_since)) < nb_queue_parts_within_s(event, NB_PARTS_SOON_S) &&
           !answers_what_came_since(event, control);
}

enum nb_queue_part_kind nb_queue_part(const struct nb_event *event, const struct nb_control *control)
{
    if (control->first > event->stream->acked + 1 && !nb_sees_all_of(event->stream, event->end) &&
        may_lack_a_part(event, control)) {
        return NB_LONE_PART; /* even if it goes on where the CONTROL before it ended: that may be no part of this queue
                              */
    }
    return is_next_part(event, control) ? NB_NEXT_PART : is_spread(event, control) ? NB_SPREAD_PART : NB_NO_PART;
}

void nb_queue_note_size(const struct nb_event *event, const struct nb_control *control)
{
    struct queue_parts *state = state_of(event->stream);

    state->largest_bytes = MAX(state->largest_bytes, event->packet->length);
    state->largest_shared = MAX(state->largest_shared, control->messages > 1 ? event->packet->length : 0);
    state->most_messages = MAX(state->most_messages, control->messages);
}

/* It begins where the captured acknowledgements end, and still it may go on from a part before it that was not
 * captured: what was captured near the sender may not have come to this end yet. */
static bool may_go_on(const struct nb_event *event, const struct nb_control *control)
{
    const struct previous *previous = &state_of(event->stream)->previous;

    return event->emitted.arrival == NB_IN_ORDER && previous->starts_queue && control->first > previous->head &&
           event->now - previous->head_when < nb_queue_parts_within_s(event, NB_PARTS_LONG_S) &&
           may_lack_a_part(event, control);
}

void nb_queue_remember(const struct nb_event *event, const struct nb_control *control, enum nb_queue_part_kind part)
{
    struct queue_parts *state = state_of(event->stream);
    const bool starts = control->first <= event->stream->acked + 1;
    const bool keeps_head =
        (part != NB_NO_PART && (!starts || nb_queue_directly_follows(event))) || may_go_on(event, control);

    if (event->emitted.arrival == NB_LATE) {
        return; /* what comes next was emitted after another */
    }
    state->previous = (struct previous){.highest = control->highest,
                                        .head = keeps_head ? state->previous.head : control->first,
                                        .frame = event->frame,
                                        .when = event->now,
                                        .head_when = keeps_head ? state->previous.head_when : event->now,
                                        .began = part == NB_NEXT_PART && !starts ? state->previous.began : event->now,
                                        .bytes = event->packet->length,
                                        .messages = control->messages,
                                        .starts_queue = starts || part != NB_NO_PART,
                                        .numbered = event->emitted.arrival == NB_IN_ORDER,
                                        .number = event->emitted.number};
}
