/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many buffers may be in transfer at a time (DATA-12). RFC 998 binds the sender: "can be sending at any one time"
 * (5.1), "transferred before waiting for an OK" (8). A GO beyond the limit has to wait there, so a receiver that gives
 * one is suspected at most. */
#include "rules/outstanding.h"

#include "rules/judge.h"

static unsigned limit_of(const struct nb_stream *stream)
{
    const struct nb_terms *terms = nb_terms_of(stream);

    return stream->open_seen && stream->response_seen && terms != NULL ? terms->max_buffers : 0;
}

/* An OK that the capture shows too late, or not at all, may have been known to the sender. */
void nb_outstanding_begin(const struct nb_event *event, const struct nb_buffer *buffer)
{
    const struct nb_stream *stream = event->stream;
    const unsigned limit = limit_of(event->stream);
    const struct nb_charge charge = {.rule = NB_RULE_DATA_OUTSTANDING,
                                     .offender = event->end,
                                     .unseen = true,
                                     .excuse = "an OK may have escaped the capture",
                                     .forgiven = NB_DOUBT_UNSEEN_DATA,
                                     .absent = NB_ABSENT_OK,
                                     .absent_number = stream->accepted};

    if (limit == 0 || buffer->ok_seq != 0 || stream->queue.cut) {
        return;
    }
    if (stream->unaccepted + 1 > limit) {
        nb_await(event, &charge, 1 - event->end, NB_PACKETS_TO_PROVE,
                 "buffer %u is sent while %u buffers have no OK, %u were agreed", buffer->life->number,
                 stream->unaccepted, limit);
    } else {
        nb_keep(event, NB_RULE_DATA_OUTSTANDING);
    }
}

/* Messages that were not captured may be OKs. */
static void judge_receiver(const struct nb_event *event, const struct nb_control *control)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_queue *queue = &stream->queue;
    const unsigned limit = limit_of(stream);
    const int64_t unknown = MAX(stream->newest - (int64_t)queue->messages, 0);
    const int64_t outstanding = (int64_t)queue->gos - queue->oks;
    const struct nb_charge charge = {.rule = NB_RULE_DATA_OUTSTANDING,
                                     .offender = event->end,
                                     .excuse = "the limit binds the sender, which may let the GO wait"};

    if (limit != 0 && control->highest >= stream->newest && outstanding - unknown > (int64_t)limit) {
        nb_blame(event, &charge, "%u buffers have a GO and no OK, %u were agreed", (unsigned)outstanding, limit);
    }
}

void nb_outstanding_control(const struct nb_event *event, const struct nb_control *control)
{
    if (limit_of(event->stream) != 0 && control->fresh > 0) {
        judge_receiver(event, control);
    }
}
