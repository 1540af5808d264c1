/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CTRL-10 (RFC 998 5.2.1): a CONTROL is not acknowledged although its end is sending. */
#include "rules/duty.h"

#include "rules/judge.h"

static size_t place;

/* The frame of the newest CONTROL with something new for which nothing remains to report: it was acknowledged, or it
 * was reported that it is not. */
static uint32_t *settled_of(const struct nb_event *event)
{
    return (uint32_t *)nb_stream_reserved(event->stream, place);
}

void nb_duty_register(void)
{
    place = nb_stream_reserve(sizeof(uint32_t));
}

void nb_duty_acknowledged(const struct nb_event *event, int64_t ack)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_queue *queue = &stream->queue;
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_ACK_DUTY,
                                     .offender = event->end,
                                     .request_frame = queue->frame,
                                     .excuse = "the CONTROL may have been lost beyond the capture point"};

    if (ack >= stream->newest) {
        nb_keep(event, NB_RULE_CTRL_ACK_DUTY);
        *settled_of(event) = queue->fresh_frame; /* there is nothing to wait for */
    } else if (*settled_of(event) != queue->fresh_frame && stream->newest > 0 && queue->frame != 0 &&
               event->now - queue->fresh_when > NB_ACK_PATIENCE_S &&
               nb_message_find(&stream->messages, ack + 1) != NULL) { /* a hole is not acknowledged (CTRL-07) */
        *settled_of(event) = queue->fresh_frame;
        nb_blame(event, &charge, "acknowledges %u, message %u arrived %.1f s ago", (uint16_t)ack,
                 (uint16_t)stream->newest, event->now - queue->fresh_when);
    }
}

/* CTRL-10: the sender emits packets, and none that acknowledges anything. */
void nb_duty_keepalive(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_queue *queue = &stream->queue;
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_ACK_DUTY,
                                     .offender = event->end,
                                     .request_frame = queue->frame,
                                     .excuse = "the CONTROL may have been lost beyond the capture point"};

    if (event->packet->type != NB_KEEPALIVE || event->end != stream->sender || queue->frame == 0 ||
        *settled_of(event) == queue->fresh_frame || stream->newest <= stream->acked ||
        event->now - queue->fresh_when <= NB_ACK_PATIENCE_S ||
        nb_message_find(&stream->messages, stream->acked + 1) == NULL) {
        return;
    }
    *settled_of(event) = queue->fresh_frame;
    nb_blame(event, &charge, "KEEPALIVE, and nothing acknowledges message %u, which arrived %.1f s ago",
             (uint16_t)stream->newest, event->now - queue->fresh_when);
}
