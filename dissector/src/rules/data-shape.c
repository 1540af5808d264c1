/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a DATA or LDATA packet is, whatever was sent before it was due: sizes, types, numbers, the flag of the last
 * buffer and the content. Contradictions between two packets of the sender, or between one and the RESPONSE, need no
 * order: DATA-02..05, DATA-09, RESEND-03, NEG-06. */
#include "rules/data-shape.h"

#include "decode/netblt.h"
#include "rules/ends.h"
#include "rules/judge.h"
#include "rules/sizes.h"

/* AMB-02 (c): some round Length up to a multiple of 4. */
static bool fits_size(int length, int size)
{
    return length == size || (length > size && length - size <= 3 && (length + NB_DATA_HEADER_BYTES) % 4 == 0);
}

/* Data bytes in a full packet of the size that this one has. */
static int size_of(const struct nb_data_view *view)
{
    const int agreed = view->terms == NULL ? 0 : view->terms->data_packet_size;

    return agreed == 0 ? 0 : nb_sizes_in_force(view->event->stream, agreed, view->length, view->ldata);
}

/* The last packet of a full buffer, but DATA, not LDATA: that is what is wrong with it (DATA-04). */
static bool is_unmarked_end(const struct nb_data_view *view)
{
    const uint32_t size = view->terms->data_packet_size;

    return view->full > 0 && !view->ldata && view->event->packet->packet + 1U == view->full &&
           view->length == (int)(view->terms->buffer_size - (view->full - 1) * size);
}

void nb_data_judge_packet_size(const struct nb_data_view *view)
{
    const struct nb_event *event = view->event;
    const int size = size_of(view);
    const int proposed = nb_terms_by(view->event->stream, view->event->stream->active == 1)->data_packet_size;
    struct nb_charge charge = {
        .rule = NB_RULE_DATA_PACKET_SIZE, .offender = event->end, .request_frame = view->terms->frame};

    if (fits_size(view->length, size) || is_unmarked_end(view) ||
        (view->ldata && view->length < size && (view->length > 0 || view->last))) {
        nb_keep(event, NB_RULE_DATA_PACKET_SIZE);
        if (proposed != size) {
            nb_keep(event, NB_RULE_NEG_GOVERNS);
        }
        return;
    }
    if (view->ldata && view->length == 0) {
        charge.rule = NB_RULE_DATA_LDATA;
        charge.excuse = "its end may have been found late (AMB-42)";
        nb_blame(event, &charge, "an LDATA without data ends buffer %u", view->buffer->life->number);
        return;
    }
    if (proposed != size && view->length == proposed) {
        charge.rule = NB_RULE_NEG_GOVERNS;
        nb_blame(event, &charge, "%d bytes as the OPEN proposed, the RESPONSE made it %d", view->length, size);
    }
    charge.rule = NB_RULE_DATA_PACKET_SIZE;
    charge.excuse = nb_sizes_are_open(event->stream) ? "an OK that offers it may have escaped the capture" : NULL;
    nb_blame(event, &charge, "%s of %d bytes, the data packet size is %d%s", view->ldata ? "LDATA" : "DATA",
             view->length, size, view->length + NB_DATA_HEADER_BYTES == size ? " (it counts the header)" : "");
}

/* Of an LDATA and a packet above it the LDATA is wrong, unless it is where a full buffer ends, or another follows.
 */
static bool ended_early(const struct nb_data_view *view)
{
    const uint32_t behind = (uint32_t)view->buffer->last + 1;

    return view->full > 0 && behind < view->full && (!view->ldata || !view->last) &&
           (uint32_t)view->event->packet->packet <= view->full;
}

/* In a full buffer. AMB-10: the base may be 1. AMB-42: an LDATA without data may follow. */
static uint32_t highest_number(const struct nb_data_view *view)
{
    const bool empty = view->ldata && view->length == 0;

    return view->full + empty - view->event->stream->buffers.from_zero;
}

/* A number that no packet of a full buffer has (DATA-05). */
static bool is_beyond(const struct nb_data_view *view, int number)
{
    return view->full > 0 && number > 0 && (uint32_t)number > highest_number(view);
}

/* DATA-04: DATA where a full buffer ends. Before the OK only an LDATA without data can follow. */
static void judge_unmarked_end(const struct nb_data_view *view)
{
    const bool at_end = !view->event->stream->buffers.from_zero || view->event->packet->packet + 1U == view->full;

    nb_buffer_ends_unmarked(view->event, view->buffer, at_end && view->length >= view->terms->data_packet_size);
}

void nb_data_judge_type(const struct nb_data_view *view)
{
    const struct nb_event *event = view->event;
    struct nb_buffer *buffer = view->buffer;
    const int number = event->packet->packet;
    const bool again = (view->part->flags & NB_PART_SEEN) != 0;
    struct nb_charge charge = {.rule = NB_RULE_DATA_LDATA, .offender = event->end};

    if (again && view->ldata != ((view->part->flags & NB_PART_LDATA) != 0)) {
        charge.request_frame = view->part->frame;
        nb_blame(event, &charge, "packet %d of buffer %u is %s now and was %s before", number, buffer->life->number,
                 view->ldata ? "LDATA" : "DATA", view->ldata ? "DATA" : "LDATA");
        charge.rule = NB_RULE_RESEND_IDENTITY;
        nb_blame(event, &charge, "packet %d of buffer %u has another type when retransmitted", number,
                 buffer->life->number);
    } else if (buffer->last >= 0 && number > buffer->last && !again && ended_early(view)) {
        charge.offending_frame = buffer->last_frame;
        nb_blame(event, &charge, "the LDATA of buffer %u is packet %d, packet %d follows", buffer->life->number,
                 buffer->last, number);
        buffer->last = -1; /* the right one is still to come */
        buffer->last_frame = 0;
        buffer->ended_twice = true;
    } else if (buffer->last >= 0 && (number > buffer->last || (view->ldata && number != buffer->last))) {
        charge.request_frame = buffer->last_frame;
        nb_blame(event, &charge, "packet %d of buffer %u, whose LDATA is packet %d", number, buffer->life->number,
                 buffer->last);
    } else if (view->ldata && number < buffer->life->highest && !is_beyond(view, buffer->life->highest)) {
        charge.request_frame = nb_frame_of(nb_first_sent(buffer->life, (uint32_t)buffer->life->highest));
        nb_blame(event, &charge, "LDATA of buffer %u is packet %d, below packet %d", buffer->life->number, number,
                 buffer->life->highest);
    } else if (is_beyond(view, number)) {
        charge.rule = NB_RULE_DATA_NUMBERS;
        nb_blame(event, &charge, "packet %d of buffer %u, a full buffer has %u packets", number, buffer->life->number,
                 view->full);
    } else if (view->full > 0 && !view->ldata && (uint32_t)number + 1 >= view->full &&
               (view->event->stream->buffers.from_zero || (uint32_t)number >= view->full)) {
        judge_unmarked_end(view);
    } else {
        nb_keep(event, NB_RULE_DATA_LDATA);
    }
}

/* DATA-09, with the first packet of a buffer. When others of the flagged buffer had L clear it is no last one after
 * all, and what follows is in order. */
static void judge_behind_last(const struct nb_data_view *view)
{
    struct nb_stream *stream = view->event->stream;
    const struct nb_charge charge = {.rule = NB_RULE_DATA_LAST_FLAG,
                                     .offender = view->event->end,
                                     .offending_frame = stream->last.contested ? stream->last.frame : 0,
                                     .request_frame = stream->last.frame};

    if (view->buffer->distinct > 0) {
        return;
    }
    nb_blame(view->event, &charge, "buffer %u is sent, though buffer %u was flagged as the last",
             view->buffer->life->number, stream->last.buffer);
    if (stream->last.contested) {
        stream->last.known = false;
        stream->last.ok_seq = 0;
    }
}

void nb_data_judge_last_flag(const struct nb_data_view *view)
{
    const struct nb_event *event = view->event;
    struct nb_stream *stream = view->event->stream;
    struct nb_buffer *buffer = view->buffer;
    struct nb_charge charge = {.rule = NB_RULE_DATA_LAST_FLAG, .offender = event->end};
    const bool beyond =
        stream->last.known && nb_buffer_is_after(&stream->buffers, buffer->life->number, stream->last.buffer);

    if (buffer->distinct > 0 && view->last != buffer->last_flagged) {
        stream->last.contested |= view->last || (stream->last.known && stream->last.buffer == buffer->life->number);
        charge.request_frame = nb_frame_of(buffer->life->first_data);
        nb_blame(event, &charge, "packet %u of buffer %u has L %s, others of the buffer have it %s",
                 event->packet->packet, buffer->life->number, view->last ? "set" : "clear",
                 view->last ? "clear" : "set");
        if ((view->part->flags & NB_PART_SEEN) && view->last != ((view->part->flags & NB_PART_LAST) != 0)) {
            charge.rule = NB_RULE_RESEND_IDENTITY;
            nb_blame(event, &charge, "packet %u of buffer %u has another L flag when retransmitted",
                     event->packet->packet, buffer->life->number);
        }
    } else if (beyond) {
        judge_behind_last(view);
    } else if (view->last && stream->buffers.highest != NULL && stream->highest_data_known &&
               nb_buffer_is_after(&stream->buffers, stream->highest_data, buffer->life->number)) {
        if (buffer->distinct == 0) { /* and not for each of its packets */
            nb_blame(event, &charge, "buffer %u is flagged as the last, buffer %u was sent before",
                     buffer->life->number, stream->highest_data);
        }
    } else {
        nb_keep(event, NB_RULE_DATA_LAST_FLAG);
    }
    if (view->last && !stream->last.known) {
        stream->last.known = true;
        stream->last.buffer = buffer->life->number;
        stream->last.frame = event->frame;
        stream->last.ok_seq = buffer->ok_seq;
    }
}

void nb_data_judge_identity(const struct nb_data_view *view, uint32_t hash)
{
    const struct nb_event *event = view->event;
    const struct nb_part *part = view->part;
    const bool checked = event->packet->data_checksum == NB_GOOD;
    const bool sure = checked && (part->flags & NB_PART_CHECKED);
    struct nb_charge charge = {.rule = NB_RULE_RESEND_IDENTITY, .offender = event->end, .request_frame = part->frame};

    if (part->length != view->length) {
        nb_blame(event, &charge, "packet %u of buffer %u has %d bytes now and had %u before", event->packet->packet,
                 view->buffer->life->number, view->length, part->length);
    } else if ((part->flags & NB_PART_HASHED) && part->hash != hash &&
               checked == ((part->flags & NB_PART_CHECKED) != 0)) { /* else it is another hash */
        charge.excuse = sure ? NULL : "no data checksum excludes damage on the way";
        nb_blame(event, &charge, "packet %u of buffer %u has other content than in frame %u", event->packet->packet,
                 view->buffer->life->number, part->frame);
        charge.rule = NB_RULE_DATA_UNREQUESTED;
        nb_blame(event, &charge, "packet %u of buffer %u has other content than in frame %u", event->packet->packet,
                 view->buffer->life->number, part->frame);
    } else {
        nb_keep(event, NB_RULE_RESEND_IDENTITY);
    }
}

int nb_data_clipped_length(const struct nb_data_view *view)
{
    const int size = size_of(view);

    return size > 0 && fits_size(view->length, size) ? size : view->length;
}
