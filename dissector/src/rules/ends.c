/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where buffers end (RFC 998 section 3): DATA-02, DATA-13 after the end, and DATA-04 of full buffers. */
#include "rules/ends.h"

#include "rules/judge.h"
#include "rules/sizes.h"

void nb_buffer_ends_unmarked(const struct nb_event *event, struct nb_buffer *buffer, bool may_go_on)
{
    const struct nb_charge charge = {.rule = NB_RULE_DATA_LDATA,
                                     .offender = event->end,
                                     .excuse = may_go_on ? "an LDATA without data may follow (AMB-42)" : NULL};

    if (may_go_on && buffer->unmarked_frame != 0) {
        return;
    }
    nb_blame(event, &charge, "packet %u ends buffer %u and is DATA, not LDATA", event->packet->packet,
             buffer->life->number);
    buffer->unmarked_frame = may_go_on ? event->frame : buffer->unmarked_frame;
    buffer->unmarked_record = may_go_on ? event->moment : buffer->unmarked_record;
}

void nb_buffer_judge_end(const struct nb_event *event, struct nb_buffer *buffer)
{
    const struct nb_charge charge = {.rule = NB_RULE_DATA_LDATA,
                                     .offender = event->end,
                                     .forgiven = NB_DOUBTS_OF_LOSS,
                                     .offending_frame = buffer->unmarked_frame,
                                     .suspected_key = buffer->unmarked_record};

    if (buffer->unmarked_frame != 0 && buffer->last < 0 && !buffer->retired && !buffer->overlooked &&
        nb_is_unbroken(event->stream, event->end)) {
        nb_blame(event, &charge, "buffer %u ended with DATA in frame %u, no LDATA followed", buffer->life->number,
                 buffer->unmarked_frame);
        buffer->unmarked_frame = 0;
    }
}

/* DATA-13: the sender knew the OK when it emitted this, so that it is no copy, and not requested. */
void nb_buffer_goes_on(const struct nb_event *event, int64_t ack)
{
    const uint32_t number = event->packet->buffer;
    const int64_t ok_seq = nb_buffer_unasked_ok(&event->stream->buffers, number, event->packet->packet);
    const struct nb_charge charge = {.rule = NB_RULE_DATA_UNREQUESTED, .offender = event->end};

    if (ok_seq != 0 && ack >= ok_seq) {
        nb_blame(event, &charge,
                 "packet %u of buffer %u acknowledges the OK of this buffer, of which nothing was requested",
                 event->packet->packet, number);
    }
}

void nb_buffer_judge_size(const struct nb_event *event, struct nb_buffer *buffer, bool from_one, bool ended)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_terms *terms = nb_terms_of(stream);
    const struct nb_charge charge = {
        .rule = NB_RULE_DATA_BUFFER_SIZE, .offender = event->end, .offending_frame = ended ? buffer->last_frame : 0};

    if (terms == NULL || nb_sizes_vary(stream) || buffer->sized || buffer->life->highest != buffer->last ||
        !nb_buffer_is_whole(&stream->buffers, buffer, from_one)) {
        return;
    }
    const uint64_t size = terms->buffer_size;
    const bool last = buffer->last_flagged || (stream->last.known && stream->last.buffer == buffer->life->number);
    if (!last && !ended && buffer->bytes < size) {
        return;
    }
    buffer->sized = true;
    if (last ? buffer->bytes <= size + 3 : buffer->bytes >= size && buffer->bytes <= size + 3) {
        nb_keep(event, NB_RULE_DATA_BUFFER_SIZE);
        nb_keep(event, NB_RULE_NEG_ANY_SIZE);
    } else {
        nb_blame(event, &charge, "buffer %u has %" PRIu64 " bytes, the buffer size is %" PRIu64, buffer->life->number,
                 buffer->bytes, size);
    }
}
