/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A buffer that its receiver neither confirms nor requests (RFC 998 5.2.2): CTRL-14, TIMER-07, RESEND-04. The receiver
 * sends other packets meanwhile, all its messages are acknowledged, and no data come. The limits are those of the
 * suite's oracle (oracles/progress.py), which are far beyond any data timer. */
#include "rules/progress.h"

#include "decode/netblt.h"
#include "rules/absence.h"
#include "rules/judge.h"

struct progress {
    bool calm;                /* every message that was captured is acknowledged, */
    double calm_since;        /* since then, s */
    double data_when;         /* the newest data of the sender, s */
    uint32_t reported_buffer; /* reported of this one, if `reported` */
    bool reported;
};

static size_t place;

void nb_progress_register(void)
{
    place = nb_stream_reserve(sizeof(struct progress));
}

/* The lowest buffer with an acknowledged GO and without an OK; NULL: none. */
static const struct nb_buffer *find_waiting(const struct nb_stream *stream)
{
    enum { BUFFERS_AT_MOST = 64 };
    const struct nb_buffer *buffer = stream->buffers.lowest;

    for (int i = 0; i < BUFFERS_AT_MOST && buffer != NULL; i++, buffer = buffer->higher) {
        if (!buffer->retired && buffer->ok_seq == 0 && buffer->go_seq > 0) {
            const bool beyond =
                stream->last.known && nb_buffer_is_after(&stream->buffers, buffer->life->number, stream->last.buffer);
            return beyond || buffer->go_seq > stream->acked ? NULL : buffer;
        }
    }
    return NULL;
}

/* A data timer of any sense has expired, and what it led to has been sent and repeated. */
static double longest_wait_s(const struct nb_stream *stream, const struct nb_terms *terms)
{
    enum { TIMERS = 4, ROUND_TRIPS = 10 };
    const double reaction_s = 2, repetition_s = 20, slack_s = 20;
    const double packets = terms->max_buffers * (terms->buffer_size / (double)terms->data_packet_size + 1);
    const double bursts = packets / MAX(stream->agreed.size, 1) + 1;

    return reaction_s + repetition_s + slack_s + TIMERS * bursts * stream->agreed.interval / 1000.0 +
           ROUND_TRIPS * nb_round_trip_s(&stream->reaction);
}

static void judge_waiting(const struct nb_event *event, const struct nb_buffer *buffer, double waited_s)
{
    const struct nb_stream *stream = event->stream;
    const uint32_t number = buffer->life->number;
    struct nb_charge charge = {.rule = NB_RULE_TIMER_EXPIRY,
                               .offender = event->end,
                               .request_frame = nb_frame_of(buffer->life->go),
                               .unseen = true,
                               .excuse = "its messages may have escaped the capture"};

    if (buffer->ask_seq != 0) {
        charge.rule = NB_RULE_RESEND_LOOP;
        charge.unseen = false;
        charge.excuse = "a data timer may have any length after a RESEND (AMB-45)";
        nb_blame(event, &charge, "buffer %u has no OK, and no further RESEND came for %.0f s", number, waited_s);
    } else if (nb_buffer_is_whole(&stream->buffers, buffer, nb_is_unbroken(stream, stream->sender))) {
        charge.rule = NB_RULE_CTRL_OK;
        nb_blame(event, &charge, "all packets of buffer %u were captured, and no OK or RESEND came for %.0f s", number,
                 waited_s);
    } else {
        nb_blame(event, &charge, "packets of buffer %u are missing, and no RESEND came for %.0f s", number, waited_s);
    }
}

void nb_progress_packet(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    struct progress *progress = (struct progress *)nb_stream_reserved(stream, place);
    const struct nb_terms *terms = nb_terms_of(stream);
    const bool calm = stream->newest <= stream->acked;

    if (calm && !progress->calm) {
        progress->calm_since = event->now;
    }
    progress->calm = calm;
    if (nb_is_data(event->packet->type)) {
        progress->data_when = event->now;
    }
    if (!calm || event->end == stream->sender || stream->sender < 0 || terms == NULL || terms->data_packet_size == 0 ||
        event->packet->type != NB_KEEPALIVE || !nb_goes_on(stream)) {
        return;
    }
    const struct nb_buffer *buffer = find_waiting(stream);
    /* A receiver that repeats messages may not have received their acknowledgement. */
    const double waited_s = event->now - MAX(MAX(progress->calm_since, progress->data_when), stream->queue.when);
    if (buffer == NULL || waited_s <= longest_wait_s(stream, terms) ||
        (progress->reported && progress->reported_buffer == buffer->life->number)) {
        return;
    }
    progress->reported = true;
    progress->reported_buffer = buffer->life->number;
    judge_waiting(event, buffer, waited_s);
}
