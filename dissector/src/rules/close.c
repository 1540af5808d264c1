/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a connection (RFC 998 5.3): CLOSE, QUIT, ABORT. */
#include "rules/close.h"

#include "rules/judge.h"
#include "rules/robust.h"

/* Of one end. */
struct closer {
    struct nb_mark quit; /* its first QUIT or QUITACK */
    bool transfers_on;   /* though its QUIT has been acknowledged */
    bool fell_silent;    /* reported that it goes on after the peer's ABORT */
    bool goes_on_told;   /* reported that it emits something after its ABORT */
    unsigned unanswered; /* QUITs in a row */
    bool waits;          /* no QUITACK was captured since its newest QUIT */
    unsigned answered;   /* QUITs in a row that came although there was one since the QUIT before */
};

struct closing {
    struct closer closer[2];
    uint32_t done_packets; /* sound packets of the sender up to the newest DONE */
    nb_moment done;        /* the first DONE, */
    double done_when;      /* in s */
    bool refuted;          /* reported that something new came after it */
    unsigned after_done;   /* KEEPALIVEs of the sender long after that */
};

static size_t place;

void nb_close_register(void)
{
    place = nb_stream_reserve(sizeof(struct closing));
}

static struct closing *closing_of(const struct nb_event *event)
{
    return (struct closing *)nb_stream_reserved(event->stream, place);
}

static struct closer *closer_of(const struct nb_event *event, int end)
{
    return &closing_of(event)->closer[end];
}

/* CLOSE-01: every buffer with a GO, up to the last, got its OK. The receiver's own packets show it. */
const struct nb_buffer *nb_close_open_buffer(const struct nb_stream *stream)
{
    enum { BUFFERS_AT_MOST = 256 };
    const struct nb_buffer *buffer = stream->buffers.lowest;

    for (int i = 0; i < BUFFERS_AT_MOST && buffer != NULL; i++, buffer = buffer->higher) {
        const bool in_range = !nb_buffer_is_after(&stream->buffers, buffer->life->number, stream->last.buffer);

        /* Data without a GO make no buffer of the receiver (DATA-01). */
        if (!buffer->retired && buffer->go_seq != 0 && buffer->ok_seq == 0 && in_range) {
            return buffer;
        }
    }
    return NULL;
}

static void judge_done(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const int sender = 1 - event->end;
    const struct nb_buffer *open = nb_close_open_buffer(stream);
    struct nb_charge charge = {.rule = NB_RULE_CLOSE_RECEIVER,
                               .offender = event->end,
                               .forgiven = NB_DOUBTS_OF_LOSS,
                               .unseen = true,
                               .excuse = "the packets that allow it may have escaped the capture"};

    if (!stream->open_seen) {
        return;
    }
    if (stream->acked < stream->newest || !stream->last.known || open != NULL) {
        nb_robust_odd(event, NB_ODD_CONTROL);
    }
    if (stream->acked < stream->newest) {
        charge.absent = NB_ABSENT_ACK;
        charge.absent_number = stream->newest;
        nb_await(event, &charge, sender, 1, "DONE, though message %u is not acknowledged", (uint16_t)stream->newest);
        return;
    }
    if (stream->last.contested || stream->queue.cut) {
        return; /* DATA-09: it may have taken an earlier buffer for the last. Or not all OKs are known */
    }
    if (!stream->last.known) {
        charge.absent = NB_ABSENT_LAST;
        nb_await(event, &charge, sender, 1, "DONE, though no packet of the last buffer was captured");
        return;
    }
    if (open != NULL) {
        charge.excuse = nb_is_unbroken(stream, event->end) ? NULL : charge.excuse;
        charge.forgiven = NB_DOUBT_UNSEEN_DATA; /* an OK that came after its acknowledgement was not noted */
        nb_blame(event, &charge, "DONE, though buffer %u has no OK", open->life->number);
        return;
    }
    stream->queue.done_in_time = true;
    nb_keep(event, NB_RULE_CLOSE_RECEIVER);
}

/* It was reported as a violation, or a suspicion of it was proven. */
static bool is_proven(const struct nb_record *record, enum nb_rule rule)
{
    const struct nb_finding *known = nb_finding_in(record->notes);

    while (known != NULL && (known->rule != (uint16_t)rule || known->verdict == NB_EVENT ||
                             (known->verdict == NB_SUSPECTED && known->proof_frame == 0))) {
        known = nb_next_finding(known);
    }
    return known != NULL;
}

void nb_close_goes_on(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_mark *done = &stream->queue.done;
    struct closing *closing = closing_of(event);
    const struct nb_charge charge = {.rule = NB_RULE_CLOSE_RECEIVER,
                                     .offender = event->end,
                                     .forgiven = NB_DOUBTS_OF_LOSS,
                                     .offending_frame = done->frame,
                                     .suspected_key = closing->done};

    if (closing->refuted || !nb_proven_after(event, done) || !nb_shows_all_of(stream, event->end) ||
        is_proven(nb_record_at(closing->done - 1), NB_RULE_CLOSE_RECEIVER)) {
        return;
    }
    closing->refuted = true;
    nb_blame(event, &charge, "DONE, though message %u is new after it", (uint16_t)stream->newest);
}

/* CLOSE-06: "not reliably transmitted" (5.3.1), so that nothing but a packet of the sender asks for another. */
static void judge_done_again(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    struct nb_queue *queue = &stream->queue;
    const uint32_t packets = stream->end[1 - event->end].packets;
    const struct nb_charge charge = {.rule = NB_RULE_CLOSE_DONE,
                                     .offender = event->end,
                                     .request_frame = queue->done.frame,
                                     .unseen = true,
                                     .excuse = event->emitted.arrival == NB_NO_ORDER
                                                   ? "the network may have made the copy"
                                                   : "a packet of the sender may have escaped the capture"};

    if (packets == closing_of(event)->done_packets) {
        nb_blame(event, &charge, "DONE is repeated, and the sender sent nothing since the DONE before");
    } else {
        nb_remark(event, NB_NOTES_DONE_AGAIN, "DONE is repeated, first in frame %u", queue->done.frame);
    }
    closing_of(event)->done_packets = packets;
}

static void take_done(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    struct nb_queue *queue = &stream->queue;

    if (event->end == event->stream->sender) {
        return; /* WIRE-13 */
    }
    if (queue->done.frame != 0) {
        judge_done_again(event);
        return;
    }
    judge_done(event);
    closing_of(event)->done = event->moment;
    closing_of(event)->done_when = event->now;
    closing_of(event)->done_packets = stream->end[1 - event->end].packets;
    queue->done = nb_mark_of(event);
    nb_keep(event, NB_RULE_CLOSE_DONE);
    if (stream->final_ok.acked) {
        nb_keep(event, NB_RULE_CLOSE_FINAL_OK);
        nb_keep(event, NB_RULE_CLOSE_SENDER);
    }
    if (queue->oks > 0 && queue->controls * 5 > queue->oks * 6) {
        nb_remark(event, NB_NOTES_CHATTY, "%u CONTROLs for %u buffers", queue->controls, queue->oks);
    } else if (queue->oks > 0) {
        nb_keep(event, NB_RULE_R1030_CONTROLS);
    }
}

/* CLOSE-03, 04, 05: the final OK is repeated. Loss explains one without answer, hardly several. */
void nb_close_repeated(const struct nb_event *event)
{
    enum { UNANSWERED = 3 };
    struct nb_stream *stream = event->stream;
    struct nb_charge charge = {.rule = stream->final_ok.acked ? NB_RULE_CLOSE_REPEATED_OK : NB_RULE_CLOSE_FINAL_OK,
                               .offender = 1 - event->end,
                               .request_frame = stream->final_ok.frame,
                               .excuse = "the answers may have been lost, or the time to answer is over"};

    if (!stream->last.known || stream->last.ok_seq == 0 || event->emitted.arrival == NB_LATE) {
        return;
    }
    if (stream->queue.answered) {
        nb_keep(event, NB_RULE_CLOSE_REPEATED_OK);
        stream->final_ok.unanswered = 0;
        return;
    }
    if (++stream->final_ok.unanswered != UNANSWERED) {
        return;
    }
    if (stream->final_ok.acked && (event->now - stream->final_ok.when) * 1000.0 <= stream->final_ok.timer) {
        charge.rule = NB_RULE_CLOSE_DALLY;
    }
    nb_blame(event, &charge, "the final OK is repeated, no answer was captured");
}

/* CLOSE-06: a sender whose last OK has come needs no more than its dally, with or without the DONE. */
static void judge_after_done(const struct nb_event *event)
{
    enum { KEEPALIVES = 3, TIMES_PUBLISHED = 10 };
    const double shortest_s = 10;
    const struct nb_stream *stream = event->stream;
    struct closing *closing = closing_of(event);
    const struct nb_charge charge = {.rule = NB_RULE_CLOSE_DONE,
                                     .offender = event->end,
                                     .request_frame = stream->queue.done.frame,
                                     .excuse =
                                         "the DONE may have been lost, and how long a sender waits is its choice"};

    if (event->end != stream->sender || stream->queue.done.frame == 0 || !stream->final_ok.acked ||
        event->now - closing->done_when <= MAX(stream->final_ok.timer * TIMES_PUBLISHED / 1000.0, shortest_s)) {
        return;
    }
    if (++closing->after_done == KEEPALIVES) {
        nb_blame(event, &charge, "KEEPALIVE %.1f s after the DONE, of a sender whose buffers all have their OK",
                 event->now - closing->done_when);
    }
}

static bool is_transfer(uint8_t type)
{
    return nb_has_high_seq(type) || type == NB_CONTROL;
}

/* ABORT-01, QUIT-05 */
static void judge_silence(const struct nb_event *event)
{
    const struct nb_end *side = &event->stream->end[event->end];
    const struct nb_end *peer = &event->stream->end[1 - event->end];
    struct closer *closer = closer_of(event, event->end);
    const uint8_t type = event->packet->type;
    struct nb_charge charge = {.rule = NB_RULE_ABORT_SILENCE, .offender = event->end};

    /* An end that goes on has not sent the QUIT that was acknowledged: any host can send one (AMB-73). */
    const bool refuted = side->quits == 0 && closer_of(event, 1 - event->end)->transfers_on;

    closer->transfers_on |= is_transfer(type) && peer->quitacks > 0;
    if (side->abort.frame == 0 && closer->quit.frame == 0) {
        return;
    }
    if (nb_proven_after(event, &side->abort) && (is_transfer(type) || type == NB_KEEPALIVE || type == NB_DONE)) {
        /* 5.3.3: it "can immediately close". An ABORT that refuses another connection on these ports ends nothing
         * (OPEN-09). */
        charge.request_frame = side->abort.frame;
        charge.excuse =
            "the ABORT may have been about another connection (AMB-18), and an end that aborts need not close";
        if (closer->goes_on_told) {
            return;
        }
        closer->goes_on_told = true;
        nb_blame(event, &charge, "%s after the ABORT in frame %u", nb_type_name(type), side->abort.frame);
    } else if (nb_proven_after(event, &closer->quit) && (nb_is_data(type) || type == NB_CONTROL) && !refuted) {
        /* A NULL-ACK moves nothing: it only calms a receiver that has not got the QUIT. */
        charge.rule = NB_RULE_QUIT_SILENCE;
        charge.request_frame = closer->quit.frame;
        nb_blame(event, &charge, "%s after the %s in frame %u", nb_type_name(type),
                 side->quits > 0 ? "QUIT" : "QUITACK", closer->quit.frame);
    }
}

/* ABORT-02 */
static void judge_aborted(const struct nb_event *event)
{
    const struct nb_end *peer = &event->stream->end[1 - event->end];
    struct closer *closer = closer_of(event, event->end);

    if (peer->abort.frame != 0 && is_transfer(event->packet->type) && !closer->fell_silent) {
        closer->fell_silent = true;
        nb_remark(event, NB_NOTES_ABORTED, "%s after the ABORT of the peer in frame %u, which may have been lost",
                  nb_type_name(event->packet->type), peer->abort.frame);
    }
}

/* Of which data were captured, and no LDATA. */
static const struct nb_buffer *find_begun_buffer(const struct nb_stream *stream)
{
    enum { BUFFERS_AT_MOST = 256 };
    const struct nb_buffer *buffer = stream->buffers.lowest;

    for (int i = 0; i < BUFFERS_AT_MOST && buffer != NULL; i++, buffer = buffer->higher) {
        if (!buffer->retired && buffer->ok_seq == 0 && buffer->life->highest >= 0 && buffer->last < 0) {
            return buffer;
        }
    }
    return NULL;
}

/* QUIT-04: the receiver knows what arrived, not what was sent. */
static void judge_boundary(const struct nb_event *event, const struct nb_buffer *open)
{
    const struct nb_charge charge = {.rule = NB_RULE_QUIT_BOUNDARY,
                                     .offender = event->end,
                                     .request_frame = nb_frame_of(open->life->first_data),
                                     .unseen = true,
                                     .excuse = nb_is_unbroken(event->stream, event->end)
                                                   ? "with several buffers in transfer a boundary may be far (AMB-56)"
                                                   : "the LDATA may have escaped the capture"};

    if (event->end == event->stream->sender) {
        nb_blame(event, &charge, "QUIT, the LDATA of buffer %u was not captured", open->life->number);
    } else {
        nb_remark(event, NB_NOTES_QUIT_EARLY, "QUIT, the LDATA of buffer %u was not captured", open->life->number);
    }
}

/* QUIT-02: before an answer can have arrived nothing has timed out. */
static void judge_quit_again(const struct nb_event *event)
{
    const double soonest_s = 0.02;
    const double copy_s = 0.0005;
    const struct nb_end *side = &event->stream->end[event->end];
    const double since = event->now - side->quit_when;
    const struct nb_charge charge = {.rule = NB_RULE_QUIT_REPEATED,
                                     .offender = event->end,
                                     .request_frame = side->quit_asked.frame,
                                     .excuse = "the QUIT before may have been held up"};

    if (event->emitted.arrival == NB_LATE || (event->emitted.arrival == NB_NO_ORDER && since < copy_s)) {
        return;
    }
    if (since < MAX(nb_round_trip_s(&event->stream->reaction), soonest_s)) {
        nb_blame(event, &charge, "QUIT is repeated after %.1f ms, before an answer can have arrived", since * 1000.0);
    } else {
        nb_keep(event, NB_RULE_QUIT_REPEATED);
    }
}

/* QUIT-02: QUITACK ends the repetition. One QUITACK may be lost beyond the capture point, hardly several. */
static void judge_quit_answered(const struct nb_event *event, struct closer *closer)
{
    enum { ANSWERED = 3 };
    const struct nb_end *side = &event->stream->end[event->end];
    const struct nb_charge charge = {.rule = NB_RULE_QUIT_REPEATED,
                                     .offender = event->end,
                                     .request_frame = side->quit_asked.frame,
                                     .excuse = "the QUITACKs may have been lost beyond the capture point"};

    if (event->emitted.arrival == NB_LATE) {
        return;
    }
    closer->answered = closer->waits ? 0 : closer->answered + 1;
    if (closer->answered == ANSWERED) {
        nb_blame(event, &charge, "QUIT is repeated, though a QUITACK for each of the %d before was captured", ANSWERED);
    }
}

static void take_quit(const struct nb_event *event)
{
    enum { UNANSWERED = 3 };
    struct nb_stream *stream = event->stream;
    struct nb_end *side = &stream->end[event->end];
    const struct nb_end *peer = &stream->end[1 - event->end];
    const struct nb_charge charge = {.rule = peer->quitacks > 0 ? NB_RULE_QUIT_DALLY : NB_RULE_QUIT_ANSWERED,
                                     .offender = 1 - event->end,
                                     .request_frame = side->quit_asked.frame,
                                     .excuse = "QUITACKs may have been lost, or the time to answer is over"};
    const struct nb_buffer *open = find_begun_buffer(stream);
    struct closer *closer = closer_of(event, event->end);

    nb_keep(event, NB_RULE_QUIT_REASON);
    if (side->quits++ == 0) {
        side->quit_asked = nb_mark_of(event);
        if (open != NULL) {
            judge_boundary(event, open);
        } else {
            nb_keep(event, NB_RULE_QUIT_BOUNDARY);
        }
    } else {
        judge_quit_again(event);
        judge_quit_answered(event, closer);
        if (++closer->unanswered == UNANSWERED) {
            nb_blame(event, &charge, "QUIT is repeated, no answer was captured");
        }
    }
    side->quit_when = event->now;
    closer->waits = true;
    if (closer->quit.frame == 0) {
        closer->quit = nb_mark_of(event);
    }
}

/* ABORT-03: what does the QUITACK answer? */
static void take_quitack(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    struct nb_end *side = &stream->end[event->end];
    struct nb_end *peer = &stream->end[1 - event->end];
    const struct nb_charge charge = {
        .rule = NB_RULE_ABORT_QUITACK,
        .offender = event->end,
        .forgiven = NB_DOUBTS_OF_LOSS,
        .request_frame = peer->abort.frame,
        .unseen = true,
        .excuse = nb_is_unbroken(event->stream, 1 - event->end) ? NULL : "a QUIT may have escaped the capture"};

    closer_of(event, 1 - event->end)->unanswered = 0;
    closer_of(event, 1 - event->end)->waits = false;
    if (peer->quits == 0 && peer->abort.frame != 0) {
        nb_blame(event, &charge, "QUITACK answers the ABORT in frame %u", peer->abort.frame);
    } else if (peer->quits > 0) {
        nb_keep(event, side->quitacks == 0 ? NB_RULE_QUIT_ANSWERED : NB_RULE_QUIT_DALLY);
    }
    side->quitacks++;
    if (closer_of(event, event->end)->quit.frame == 0) {
        closer_of(event, event->end)->quit = nb_mark_of(event);
    }
}

static void take_abort(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    struct nb_end *side = &stream->end[event->end];
    const struct nb_charge charge = {.rule = NB_RULE_DEMUX_SERVICE,
                                     .offender = event->end,
                                     .excuse = "the ports may be in use since before the capture (OPEN-09)"};

    if (stream->doubts & NB_DOUBT_EPOCH && stream->response_seen) {
        nb_keep(event, NB_RULE_OPEN_FOREIGN); /* it refuses the other connection, this one goes on */
        return;
    }
    if (side->abort.frame == 0) {
        side->abort = nb_mark_of(event);
    }
    if (stream->open_seen && !stream->response_seen && stream->active == 1 - event->end && !stream->follows_another) {
        nb_blame(event, &charge, "an OPEN is answered with ABORT");
    }
}

void nb_close_packet(const struct nb_event *event)
{
    judge_silence(event);
    judge_aborted(event);
    switch (event->packet->type) {
    case NB_DONE:
        take_done(event);
        break;
    case NB_QUIT:
        take_quit(event);
        break;
    case NB_QUITACK:
        take_quitack(event);
        break;
    case NB_ABORT:
        take_abort(event);
        break;
    case NB_KEEPALIVE:
        judge_after_done(event);
        break;
    default:
        break;
    }
}
