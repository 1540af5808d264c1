/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CONTROL packets, message by message (RFC 998 5.2.1). Contradictions in one packet, or between two sound packets of
 * the receiver, need no order and no complete capture: CTRL-01 (gaps inside what was captured), CTRL-02, CTRL-03,
 * CTRL-13, DATA-06, DATA-10, CTRL-15, TIMER-08, RESEND-06. What depends on the order in which CONTROLs were emitted is
 * proven by IP IDs only: CTRL-05, TIMER-02. */
#include "rules/control.h"

#include "decode/netblt.h"
#include "rules/close.h"
#include "rules/judge.h"
#include "rules/messages.h"
#include "rules/outstanding.h"
#include "rules/queue-parts.h"
#include "rules/redundancy.h"
#include "wireshark/memory.h"

/* A message number that was not captured, below others that were (CTRL-01). */
struct hole {
    uint32_t frame; /* the CONTROL that shows it; 0: none */
    int64_t seq;
    int64_t highest;   /* message of this CONTROL */
    unsigned controls; /* to be captured before it is judged */
    const char *text;  /* file scope */
    struct nb_finding *suspicion;
};

/* A repetition that seems too early (TIMER-03), until the next CONTROL shows whether it is the first part of a queue
 * that a new message made leave (AMB-33). */
struct early {
    uint32_t frame; /* 0: none */
    uint32_t request_frame;
    int64_t highest; /* message in it */
    double when;
    const char *text; /* file scope */
};

struct controls {
    struct hole hole;
    struct early early;
    int64_t head;             /* first message of a CONTROL that was right to begin there */
    struct nb_mark head_mark; /* that CONTROL */
    bool head_known;          /* what it begins above had been acknowledged to this end */
    int64_t repeated_up_to;   /* highest message of the newest CONTROL */
    unsigned repeats;         /* of this CONTROL since */
    uint32_t lone_ok_frame;   /* the newest CONTROL with something new has OKs and no GO */
    double lone_ok_when;
};

static size_t place;

void nb_control_register(void)
{
    place = nb_stream_reserve(sizeof(struct controls));
}

static struct controls *controls_of(const struct nb_event *event)
{
    return (struct controls *)nb_stream_reserved(event->stream, place);
}

/* CTRL-03, from the packet alone. AMB-12: some skip 0 when numbers wrap. Where one packet is not sufficient there may
 * be several (5.2.1), and RFC 998 does not say how messages are spread over them; but new ones go to the end of each.
 */
static void judge_sequence(const struct nb_event *event, int64_t previous, int64_t seq, bool *told)
{
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_FIFO,
                                     .offender = event->end,
                                     .excuse = seq > previous ? "what is left out may be in another CONTROL" : NULL};

    if (previous == INT64_MIN || *told || seq == previous + 1 ||
        (seq == previous + 2 && (uint16_t)(previous + 1) == 0)) {
        return;
    }
    *told = true;
    nb_blame(event, &charge, "message %u follows message %u", (uint16_t)seq, (uint16_t)previous);
}

/* A DONE shows that its receiver knew all acknowledgements, unless it came too early (CLOSE-01): what is new after it
 * shows that. */
static bool is_after_done(const struct nb_event *event, const struct nb_control *control)
{
    struct nb_queue *queue = &event->stream->queue;

    if (control->fresh > 0) {
        queue->done_in_time = false;
    }
    return queue->done_in_time && nb_proven_after(event, &queue->done);
}

/* It begins above a message whose acknowledgement had reached this end, by its shortest reaction. Else it may have left
 * out that message, which is no acknowledgement (CTRL-04). */
static bool knew_acknowledgement(const struct nb_event *event, int64_t first)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_message_life *below = nb_message_find_any(&stream->messages, first - 1);
    const double shortest_s = stream->reaction.shortest[event->end];

    return first == 1 || (below != NULL && below->acked != 0 && shortest_s >= 0 &&
                          event->now - nb_seconds(nb_time_of(below->acked)) >= shortest_s);
}

/* CTRL-05, TIMER-02: of two CONTROLs the later emitted one begins lower, though the acknowledgement was known. */
static void judge_head(const struct nb_event *event, const struct nb_control *control)
{
    struct nb_stream *stream = event->stream;
    struct nb_queue *queue = &stream->queue;
    struct controls *controls = controls_of(event);
    const struct nb_knowledge *known = nb_messages_knowledge(stream);
    const bool after_done = is_after_done(event, control);
    struct nb_charge charge = {.rule = NB_RULE_CTRL_ACKED,
                               .offender = event->end,
                               .request_frame = after_done ? queue->done.frame : controls->head_mark.frame};

    if (known->from != 0 && control->highest >= known->from && control->first <= known->ack) {
        charge.request_frame = known->frame;
        charge.excuse = control->first > known->low ? "its OK may have come before the last packets (CTRL-14)" : NULL;
        nb_blame(event, &charge, "CONTROL holds message %u, though its OK shows that its acknowledgement has arrived",
                 (uint16_t)control->first);
        return;
    }
    if (after_done || (control->first < controls->head && nb_proven_after(event, &controls->head_mark))) {
        charge.excuse =
            after_done || controls->head_known ? NULL : "what it left out may not have been acknowledged (CTRL-04)";
        nb_blame(event, &charge,
                 "CONTROL holds message %u again, which frame %u shows to be "
                 "acknowledged",
                 (uint16_t)control->first, charge.request_frame);
        if (after_done || control->highest < controls->head) {
            charge.rule = NB_RULE_TIMER_CLEARED;
            nb_blame(event, &charge,
                     "CONTROL is repeated, though frame %u shows that all of it is "
                     "acknowledged",
                     charge.request_frame);
        }
        return;
    }
    if (control->first <= stream->acked && control->fresh == 0 && control->highest <= stream->acked) {
        nb_remark(event, NB_NOTES_CTRL_STALE, "CONTROL up to message %u, of which %u is acknowledged by now",
                  (uint16_t)control->highest, (uint16_t)stream->acked);
        return;
    }
    nb_keep(event, NB_RULE_CTRL_ACKED);
    nb_keep(event, NB_RULE_TIMER_CLEARED);
    if (control->first > stream->acked + 1 || nb_queue_may_be_part(event, control)) {
        queue->in_parts = true;
        controls->head = 0;
    }
    /* What was emitted right before it must be known, not to take a part for the head. */
    if (!queue->in_parts && control->first > controls->head && nb_queue_directly_follows(event) &&
        !nb_queue_continues(event, control)) {
        controls->head = control->first;
        controls->head_mark = nb_mark_of(event);
        controls->head_known = knew_acknowledgement(event, control->first);
    }
}

/* CTRL-01: the number turns up if it is in another CONTROL of the same queue (AMB-33), or was left out of this one only
 * (CTRL-04). Each CONTROL of a queue holds other messages, so one that reaches as high again is of a later queue. */
static void judge_hole(const struct nb_event *event, const struct nb_control *control)
{
    struct hole *hole = &controls_of(event)->hole;
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_NUMBERS,
                                     .offender = event->end,
                                     .forgiven = NB_DOUBTS_OF_LOSS,
                                     .offending_frame = hole->frame,
                                     .suspicion = hole->suspicion};

    if (hole->frame == 0) {
        return;
    }
    if (nb_message_find_any(&event->stream->messages, hole->seq) != NULL || event->emitted.arrival == NB_LATE) {
        hole->frame = 0;
        return;
    }
    hole->controls -= hole->controls > 0;
    if (hole->controls == 0 && control->highest >= hole->highest && nb_shows_all_of(event->stream, event->end)) {
        nb_blame(event, &charge, "%s", hole->text);
        hole->frame = 0;
    }
}

/* Right after the opening too few IP IDs are known to decide whether the flow has gaps. */
static void suspect_hole(const struct nb_event *event, const struct nb_control *control, int64_t seq)
{
    enum { CONTROLS_TO_JUDGE_A_FLOW = 10 };
    struct hole *hole = &controls_of(event)->hole;
    const bool first = control->newest_before == 0;
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_NUMBERS,
                                     .offender = event->end,
                                     .excuse = nb_shows_all_of(event->stream, event->end)
                                                   ? "it may be in a CONTROL to come"
                                                   : "a CONTROL may have escaped the capture"};

    if (hole->frame != 0 || (!first && !nb_shows_all_of(event->stream, event->end))) {
        return;
    }
    const char *text = first ? nb_file_printf("the first CONTROL leaves out message %u", (uint16_t)seq)
                             : nb_file_printf("message %u is left out between %u and %u", (uint16_t)seq,
                                              (uint16_t)control->newest_before, (uint16_t)control->highest);
    *hole = (struct hole){.frame = event->frame,
                          .seq = seq,
                          .highest = control->highest,
                          .controls = first ? CONTROLS_TO_JUDGE_A_FLOW : NB_PACKETS_TO_PROVE,
                          .suspicion = nb_blame(event, &charge, "%s", text),
                          .text = text};
}

/* CTRL-01. Only a flow without a gap shows that a number was never used. */
static void judge_numbers(const struct nb_event *event, const struct nb_control *control)
{
    const struct nb_stream *stream = event->stream;

    judge_hole(event, control);
    if (!stream->open_seen || !stream->response_seen ||
        (control->newest_before == 0 && control->highest > NB_MESSAGE_WINDOW)) {
        return;
    }
    if (control->first == 0 && stream->newest < NB_MESSAGE_WINDOW) {
        const struct nb_charge zero = {.rule = NB_RULE_CTRL_NUMBERS, .offender = event->end};
        nb_blame(event, &zero, "the first message has number 0");
        return;
    }
    /* Of more messages than can wait here nothing is remembered. */
    const int64_t end = MIN(control->highest, stream->acked + NB_MESSAGE_WINDOW + 1);
    for (int64_t seq = MAX(control->newest_before, stream->acked) + 1; seq < end; seq++) {
        if (nb_message_find(&stream->messages, seq) == NULL && (uint16_t)seq != 0) {
            suspect_hole(event, control, seq);
            return;
        }
    }
    if (control->fresh > 0) {
        nb_keep(event, NB_RULE_CTRL_NUMBERS);
    }
}

/* TIMER-03: many times the published timer, which follows the round trip slowly, and may be doubled. */
static bool is_late(const struct nb_queue *queue, double since, double round_trip_s)
{
    enum { TIMES_AT_MOST = 6 };
    const double slack_s = 0.25;

    return since > TIMES_AT_MOST * (queue->published / 1000.0 + round_trip_s) + slack_s;
}

/* TIMER-03: so late that no timer was armed for what was published, as in the suite's oracles. */
static bool is_no_timer(const struct nb_queue *queue, double since)
{
    enum { TIMES = 10 };
    const double shortest_s = 5;

    return since > MAX(shortest_s, TIMES * queue->published / 1000.0);
}

static void blame_early(const struct nb_event *event, const struct early *early)
{
    const struct nb_charge charge = {.rule = NB_RULE_TIMER_PUBLISHED,
                                     .offender = event->end,
                                     .offending_frame = early->frame == event->frame ? 0 : early->frame,
                                     .request_frame = early->request_frame,
                                     .excuse = "the CONTROL before may have been held up"};

    nb_blame(event, &charge, "%s", early->text);
}

/* TIMER-03: whether it was too early is decided now, or by the CONTROL after it when several messages may fill it. */
static void judge_early(const struct nb_event *event, const struct nb_control *control, double since)
{
    const struct nb_queue *queue = &event->stream->queue;
    const struct early early = {.frame = event->frame,
                                .request_frame = queue->frame,
                                .highest = control->highest,
                                .when = event->now,
                                .text =
                                    nb_file_printf("CONTROL is repeated after %.0f ms, the published timer is %u ms",
                                                   since * 1000.0, queue->published)};

    if (control->messages > 1) {
        controls_of(event)->early = early;
    } else {
        blame_early(event, &early);
    }
}

/* The CONTROL after one that seems too early: what is new in it made both leave if it goes on where that one ended. */
static void decide_early(const struct nb_event *event, const struct nb_control *control)
{
    struct early *early = &controls_of(event)->early;

    if (early->frame == 0 || event->emitted.arrival == NB_LATE) {
        return;
    }
    if (control->fresh == 0 || control->first != early->highest + 1 || control->first <= event->stream->acked + 1 ||
        event->now - early->when >= nb_queue_parts_within_s(event, NB_PARTS_SOON_S)) {
        blame_early(event, early);
    }
    early->frame = 0;
}

/* TIMER-01, TIMER-03, CTRL-10: a CONTROL without anything new. Only the first repetition is compared with the
 * published timer: later ones may be slower, also with new messages after those that were repeated. A path that
 * reorders may hold a CONTROL up for some round trips. */
static void judge_repetition(const struct nb_event *event, const struct nb_control *control)
{
    enum { HELD_UP_ROUND_TRIPS = 2 };
    const double copy_s = 0.0005;
    struct nb_queue *queue = &event->stream->queue;
    struct controls *controls = controls_of(event);
    const double since = event->now - queue->when;

    decide_early(event, control);
    if (control->fresh > 0) {
        if (control->newest_before <= event->stream->acked) {
            controls->repeats = 0;
        }
        queue->fresh_when = event->now;
        queue->fresh_frame = event->frame;
    } else if (control->highest > event->stream->acked && event->emitted.arrival != NB_LATE) {
        nb_keep(event, NB_RULE_TIMER_CONTROL);
        controls->repeats++;
        if (event->emitted.arrival == NB_NO_ORDER && since < copy_s) {
            /* nothing distinguishes a copy that the network or the capture made: no timer is so short */
        } else if (controls->repeats == 1 && queue->published > 0 && control->highest == controls->repeated_up_to) {
            const double missing_s = queue->published / 1000.0 - since;
            if (since * 1000.0 < queue->published * 0.25 &&
                missing_s > HELD_UP_ROUND_TRIPS * nb_round_trip_s(&event->stream->reaction)) {
                judge_early(event, control, since);
            } else if (is_late(queue, since, nb_round_trip_s(&event->stream->reaction))) {
                const struct nb_charge late = {.rule = NB_RULE_TIMER_PUBLISHED,
                                               .offender = event->end,
                                               .request_frame = queue->frame,
                                               .unseen = is_no_timer(queue, since),
                                               .excuse = "repetitions may have been lost before the capture"};
                nb_blame(event, &late, "CONTROL is repeated after %.0f ms, the published timer is %u ms",
                         since * 1000.0, queue->published);
            } else {
                nb_keep(event, NB_RULE_TIMER_PUBLISHED);
            }
        }
        if (!queue->answered) {
            nb_remark(event, NB_NOTES_CTRL_WAITING, "CONTROL is repeated, no packet of the sender since frame %u",
                      queue->frame);
        }
    }
    if (control->fresh == 0) {
        nb_close_repeated(event);
    }
    queue->when = event->now;
    queue->frame = event->frame;
    controls->repeated_up_to = control->highest;
    queue->answered = false;
    queue->controls++;
}

/* R1030-01: within a round trip the GO could have been sent with the OK before it. */
static void judge_packing(const struct nb_event *event, const struct nb_control *control)
{
    struct controls *controls = controls_of(event);

    if (control->gos > 0 && control->oks > 0) {
        nb_keep(event, NB_RULE_R1030_PACK);
    } else if (control->gos > 0 && controls->lone_ok_frame != 0 &&
               event->now - controls->lone_ok_when < nb_round_trip_s(&event->stream->reaction)) {
        nb_remark(event, NB_NOTES_UNPACKED, "GO after the OK of frame %u, in a separate CONTROL",
                  controls->lone_ok_frame);
    }
    if (control->fresh > 0) {
        controls->lone_ok_frame = control->oks > 0 && control->gos == 0 ? event->frame : 0;
        controls->lone_ok_when = event->now;
    }
}

/* The RESENDs in one CONTROL. */
struct asked {
    struct nb_message message[64];
    int64_t seq[64];
    unsigned count;
};

static bool share_a_packet(const struct nb_event *event, const struct nb_message *a, const struct nb_message *b)
{
    enum { ENTRIES_AT_MOST = 64 };

    for (unsigned i = 0; i < MIN(a->count, ENTRIES_AT_MOST); i++) {
        for (unsigned k = 0; k < MIN(b->count, ENTRIES_AT_MOST); k++) {
            if (nb_resend_entry(event->packet, a, i) == nb_resend_entry(event->packet, b, k)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether these messages came up at one moment, as far as anyone saw. */
static bool came_together(const struct nb_event *event, int64_t first, int64_t second)
{
    const int64_t at_once_ns = 2000000;
    const struct nb_message_life *a = nb_message_find(&event->stream->messages, first);
    const struct nb_message_life *b = nb_message_find(&event->stream->messages, second);

    return a == NULL || b == NULL || nb_time_of(nb_message_first(b)) - nb_time_of(nb_message_first(a)) < at_once_ns;
}

/* TIMER-04: data of the buffer that came after the first message show that it arrived; through a hole below it they
 * come before its acknowledgement. Only a flow without a gap shows that none came. */
static const char *has_been_served(const struct nb_event *event, uint32_t number, int64_t first)
{
    struct nb_stream *stream = event->stream;
    const struct nb_message_life *told = nb_message_find(&stream->messages, first);
    const struct nb_buffer *buffer = nb_buffer_find(&stream->buffers, number);

    if (stream->sender < 0 || !nb_is_unbroken(stream, stream->sender)) {
        return "data that answer the first of them may have escaped the capture";
    }
    for (uint32_t i = 0; told != NULL && buffer != NULL && i < buffer->room; i++) {
        if (buffer->parts[i].frame > nb_message_frame(told)) {
            return "data that came since show that the first of them had arrived";
        }
    }
    return NULL;
}

/* RESEND-06: both messages are unacknowledged. A list may be spread over several messages, and how many entries are too
 * many for one is this end's own affair (AMB-33); but they come up together, and name no packet twice. Holes may also
 * be requested one by one, as they show (AMB-31). */
static void judge_single(const struct nb_event *event, const struct nb_message *first, const struct nb_message *second,
                         int64_t first_seq, bool together)
{
    struct nb_charge charge = {.rule = NB_RULE_RESEND_SINGLE, .offender = event->end};
    const bool shared = share_a_packet(event, first, second);

    if (shared || event->packet->length + second->bytes <= (int)nb_queue_capacity(event->stream)) {
        charge.excuse = !shared && together ? "this end may limit the length of a list"
                        : !shared           ? "this end may request each hole when it sees it"
                        : together          ? NULL
                                            : has_been_served(event, second->buffer, first_seq);
        nb_blame(event, &charge, "two unacknowledged RESENDs for buffer %u", second->buffer);
    }
}

static void note_asked(const struct nb_event *event, struct asked *asked, const struct nb_message *message, int64_t seq,
                       bool fresh)
{
    for (unsigned i = 0; i < asked->count; i++) {
        if (asked->message[i].buffer == message->buffer) {
            if (fresh) { /* what is repeated was reported before */
                judge_single(event, &asked->message[i], message, asked->seq[i],
                             came_together(event, asked->seq[i], seq));
            }
            return;
        }
    }
    if (asked->count < array_length(asked->message)) {
        asked->seq[asked->count] = seq;
        asked->message[asked->count++] = *message;
    }
    nb_keep(event, NB_RULE_RESEND_SINGLE);
}

static void take_message(const struct nb_event *event, const struct nb_heard *heard, struct nb_control *control)
{
    struct nb_stream *stream = event->stream;
    const int64_t seq = heard->seq;

    control->first = control->messages == 0 ? seq : MIN(control->first, seq);
    control->highest = control->messages == 0 ? seq : MAX(control->highest, seq);
    control->messages++;
    if (heard->kind == NB_HEARD_AGAIN) {
        nb_message_again(event, heard);
    } else if (heard->kind == NB_HEARD_FRESH) {
        control->fresh++;
        control->gos += heard->message.type == NB_GO;
        control->oks += heard->message.type == NB_OK;
        nb_message_fresh(event, heard);
    } else {
        nb_turned_up(event, seq);
        nb_message_late(event, heard);
    }
    if (seq > stream->acked && seq <= stream->acked + NB_MESSAGE_WINDOW) {
        control->present[seq - stream->acked - 1] = true;
    }
}

void nb_control_packet(const struct nb_event *event)
{
    struct nb_control control = {.newest_before = event->newest_before};
    struct asked asked;
    int64_t previous = INT64_MIN;
    bool disordered = false;

    asked.count = 0;
    for (unsigned i = 0; i < event->heard_count && nb_memory_ask(0); i++) {
        const struct nb_heard *heard = &event->heard[i];
        judge_sequence(event, previous, heard->seq, &disordered);
        previous = heard->seq;
        take_message(event, heard, &control);
        if (heard->message.type == NB_RESEND) {
            note_asked(event, &asked, &heard->message, heard->seq, heard->kind == NB_HEARD_FRESH);
        }
    }
    if (event->heard_end != NB_END || control.messages == 0) {
        return;
    }
    if (!disordered) {
        nb_keep(event, NB_RULE_CTRL_FIFO);
    }
    judge_head(event, &control);
    judge_numbers(event, &control);
    if (control.fresh > 0) {
        nb_close_goes_on(event);
    }
    nb_outstanding_control(event, &control);
    judge_packing(event, &control);
    judge_repetition(event, &control);
    nb_redundancy_control(event, &control);
}
