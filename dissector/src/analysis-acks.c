/* SPDX-License-Identifier: GPL-2.0-or-later */
/* High-seq, the cumulative acknowledgement in every packet of the sender (RFC 998 5.2.1): CTRL-06, CTRL-07, CTRL-10,
 * CKSUM-06, and what NULL-ACK says of the pace: CTRL-11, NEG-09. */
#include "analysis.h"

/* CTRL-10: nothing acknowledges a CONTROL although its end is sending (AMB-34 gives it 1 s or two intervals; the path
 * may be slow, too). */
#define PATIENCE_S 3.0

/* CTRL-06: never less than in a packet emitted before. Whatever the capture missed, these two contradict each other.
 * Told again when it falls deeper, not for every packet until it has risen. */
static void judge_decrease(const struct nb_event *event, int64_t ack)
{
    struct nb_facts *facts = event->stream->facts;
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_ACK,
                                     .offender = event->end,
                                     .forgiven = NB_DOUBTS_OF_LOSS,
                                     .request_frame = facts->acked_mark.frame};

    if (nb_proven_after(event, &facts->acked_mark) &&
        (facts->fallen_from != facts->acked_mark.frame || ack < facts->fallen_to)) {
        facts->fallen_from = facts->acked_mark.frame;
        facts->fallen_to = ack;
        nb_blame(event, &charge, "acknowledges %u, frame %u acknowledged %u before", (uint16_t)ack,
                 facts->acked_mark.frame, (uint16_t)event->stream->acked);
    }
}

/* CTRL-06, CTRL-07, CKSUM-06: a message is acknowledged that was never captured. Either the capture missed it, or the
 * sender is wrong; which of both the IP IDs of the receiver tell. */
static void judge_unseen(const struct nb_event *event, int64_t unseen, int64_t ack)
{
    struct nb_stream *stream = event->stream;
    const struct nb_facts *facts = stream->facts;
    const bool damaged = facts->damaged_seq != 0 && unseen <= facts->damaged_seq && unseen > facts->damaged_above;
    const enum nb_rule rule = damaged                   ? NB_RULE_CKSUM_BAD_HEADER
                              : stream->newest > unseen ? NB_RULE_CTRL_HOLE
                                                        : NB_RULE_CTRL_ACK;
    const struct nb_charge charge = {.rule = rule,
                                     .offender = event->end,
                                     .excuse = "the CONTROL with it may have escaped the capture",
                                     .forgiven = NB_DOUBTS_OF_LOSS,
                                     .absent = NB_ABSENT_MESSAGE,
                                     .absent_number = unseen,
                                     .request_frame = damaged ? facts->damaged_frame : 0};

    stream->doubts |= NB_DOUBT_UNSEEN_ACKED;
    if (stream->open_seen && stream->response_seen && !facts->queue.cut) {
        nb_await(event, &charge, 1 - event->end, NB_PACKETS_TO_PROVE, "acknowledges %u, but message %u %s",
                 (uint16_t)ack, (uint16_t)unseen,
                 damaged ? "was captured with a bad checksum only" : "was not captured");
    }
}

/* Goes through the messages that are acknowledged now for the first time. */
static void take_acknowledged(const struct nb_event *event, int64_t ack)
{
    struct nb_stream *stream = event->stream;
    struct nb_facts *facts = stream->facts;
    int64_t unseen = 0;

    for (int64_t seq = MAX(stream->acked, ack - NB_TOLD_WINDOW) + 1; seq <= ack; seq++) {
        const struct nb_told *told = nb_told_find(&facts->told, seq);
        if (told == NULL) {
            unseen = unseen == 0 && (uint16_t)seq != 0 ? seq : unseen;
        } else if (told->type == NB_OK && told->burst_size != 0) { /* AMB-11: 0 keeps the size */
            facts->agreed = (struct nb_pace){told->burst_size, told->burst_interval};
            facts->agreed_seq = seq;
        }
    }
    if (ack - stream->acked > NB_TOLD_WINDOW) {
        unseen = unseen == 0 ? stream->acked + 1 : unseen;
    }
    if (unseen != 0) {
        judge_unseen(event, unseen, ack);
    } else {
        nb_keep(event, NB_RULE_CTRL_ACK);
        nb_keep(event, NB_RULE_CTRL_ALL);
        if (facts->damaged_seq != 0 && ack <= facts->damaged_seq) {
            nb_keep(event, NB_RULE_CKSUM_BAD_HEADER);
        }
    }
}

/* CTRL-10 */
static void judge_duty(const struct nb_event *event, int64_t ack)
{
    const struct nb_stream *stream = event->stream;
    struct nb_queue *queue = &stream->facts->queue;
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_ACK_DUTY,
                                     .offender = event->end,
                                     .request_frame = queue->told_frame,
                                     .excuse = "the CONTROL may have been lost behind the capture"};

    queue->answered = true;
    if (ack >= stream->newest) {
        nb_keep(event, NB_RULE_CTRL_ACK_DUTY);
        queue->waits_told = true; /* there is nothing to wait for */
    } else if (!queue->waits_told && stream->newest > 0 && queue->told_frame != 0 &&
               event->now - queue->emitted_when > PATIENCE_S &&
               nb_told_find(&stream->facts->told, ack + 1) != NULL) { /* a hole is not acknowledged (CTRL-07) */
        queue->waits_told = true;
        nb_blame(event, &charge, "acknowledges %u, message %u came %.1f s ago", (uint16_t)ack, (uint16_t)stream->newest,
                 event->now - queue->emitted_when);
    }
}

void nb_acks_packet(const struct nb_event *event, int64_t ack)
{
    struct nb_stream *stream = event->stream;
    struct nb_facts *facts = stream->facts;
    struct nb_mark *mark = &facts->acked_mark;

    if (ack < stream->acked) {
        judge_decrease(event, ack);
    } else if (ack > stream->acked) {
        take_acknowledged(event, ack);
    } else {
        nb_keep(event, NB_RULE_CTRL_ACK);
        if (stream->newest > ack && nb_told_find(&facts->told, ack + 1) == NULL) {
            nb_keep(event, NB_RULE_CTRL_HOLE);
        }
    }
    /* The earliest emitted packet with the highest high-seq. */
    if (ack > stream->acked || mark->frame == 0 ||
        (ack == stream->acked && mark->ordered && event->emitted.arrival == NB_LATE &&
         event->emitted.number < mark->number)) {
        *mark = nb_mark_of(event);
    }
    judge_duty(event, ack);
    if (facts->last_known && facts->last_ok_seq != 0 && !facts->final_acked && ack >= facts->final_ok_seq &&
        facts->unaccepted == 0) {
        nb_keep(event, NB_RULE_DATA_DELIVERED);
    }
    if (ack >= facts->final_ok_seq) {
        facts->final_acked = true;
        facts->final_unanswered = 0;
    }
}

void nb_acks_null_ack(const struct nb_event *event, int64_t ack)
{
    struct nb_stream *stream = event->stream;
    struct nb_facts *facts = stream->facts;
    const struct nb_pace reported = {event->packet->burst_size, event->packet->burst_interval};
    struct nb_pace allowed = facts->agreed;
    bool offered = facts->agreed_seq != 0;

    if (allowed.size == 0 || ack < facts->agreed_seq) {
        return; /* overtaken: what was agreed when it was emitted is not kept */
    }
    /* OKs that may have been acted upon, though they are not acknowledged. */
    for (int64_t seq = MAX(ack, facts->agreed_seq) + 1; seq <= MIN(stream->newest, ack + NB_TOLD_WINDOW); seq++) {
        const struct nb_told *told = nb_told_find(&facts->told, seq);
        if (told != NULL && told->type == NB_OK && told->burst_size != 0) {
            allowed = nb_looser(allowed, (struct nb_pace){told->burst_size, told->burst_interval});
            offered = true;
        }
    }
    const enum nb_rule rule = offered ? NB_RULE_NEG_RESTRICT : NB_RULE_CTRL_NULL_ACK;
    struct nb_charge charge = {
        .rule = rule, .offender = event->end, .excuse = "another offer may have escaped the capture"};
    if (reported.size == 0) {
        charge.rule = NB_RULE_CTRL_NULL_ACK;
        charge.excuse = "it may mean that nothing changes";
        nb_blame(event, &charge, "NULL-ACK reports bursts of no packets");
    } else if (!offered && (reported.size > allowed.size || reported.interval < allowed.interval)) {
        charge.excuse = "RFC 998 says what it reports behind an OK only (AMB-62)";
        nb_blame(event, &charge, "NULL-ACK reports %u packets per %u ms, at most %u per %u ms were agreed",
                 reported.size, reported.interval, allowed.size, allowed.interval);
    } else if (reported.size > allowed.size || reported.interval < allowed.interval) {
        nb_await(event, &charge, 1 - event->end, NB_PACKETS_TO_PROVE,
                 "NULL-ACK reports %u packets per %u ms, at most %u per %u ms were offered", reported.size,
                 reported.interval, allowed.size, allowed.interval);
    } else {
        nb_keep(event, rule);
        nb_keep(event, NB_RULE_CTRL_NULL_ACK);
    }
}

void nb_acks_retire(const struct nb_event *event, int64_t before, int64_t ack)
{
    struct nb_facts *facts = event->stream->facts;

    for (int64_t seq = MAX(before, ack - NB_TOLD_WINDOW) + 1; seq <= ack; seq++) {
        const struct nb_told *told = nb_told_find(&facts->told, seq);
        if (told == NULL || told->type != NB_OK) {
            continue;
        }
        struct nb_buffer *buffer = nb_buffer_find(&facts->buffers, told->buffer);
        if (buffer != NULL && !buffer->retired && buffer->ok_seq == seq) {
            nb_requests_judge(event, buffer);
            nb_buffer_leaves(event, buffer);
            nb_buffer_retire(&facts->buffers, buffer);
        }
    }
}
