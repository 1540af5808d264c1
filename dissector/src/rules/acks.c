/* SPDX-License-Identifier: GPL-2.0-or-later */
/* High-seq, the cumulative acknowledgement in every packet of the sender (RFC 998 5.2.1): CTRL-06, CTRL-07, CTRL-10,
 * CTRL-12, CKSUM-06, and what NULL-ACK states of the pace: CTRL-11, NEG-09. */
#include "rules/acks.h"

#include "rules/duty.h"
#include "rules/judge.h"
#include "rules/requests.h"
#include "rules/wire.h"
#include "wireshark/memory.h"

/* CTRL-06: reported that high-seq fell */
struct fallen {
    int64_t to;    /* the lowest since the packet with the highest high-seq, */
    uint32_t from; /* and the frame of that packet; 0: none */
};

/* CTRL-12: the CONTROL that proves to have arrived because its message `ack` is acknowledged. */
struct arrived {
    int64_t ack;
    int64_t up_to; /* its messages that follow without a hole; 0: none */
    double when;   /* the packet that acknowledged `ack`, s */
    struct nb_mark mark;
    uint32_t control_frame;
};

static size_t place, place_of_arrived;

void nb_acks_register(void)
{
    place = nb_stream_reserve(sizeof(struct fallen));
    place_of_arrived = nb_stream_reserve(sizeof(struct arrived));
}

/* CTRL-06: never less than in a packet emitted before. Whatever the capture missed, these two contradict each other.
 * Reported again when it falls deeper, not for every packet until it has risen. */
static void judge_decrease(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    struct fallen *fallen = (struct fallen *)nb_stream_reserved(stream, place);
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_ACK,
                                     .offender = event->end,
                                     .forgiven = NB_DOUBTS_OF_LOSS,
                                     .request_frame = stream->acked_mark.frame};

    if (nb_proven_after(event, &stream->acked_mark) &&
        (fallen->from != stream->acked_mark.frame || event->ack.now < fallen->to)) {
        fallen->from = stream->acked_mark.frame;
        fallen->to = event->ack.now;
        nb_blame(event, &charge, "acknowledges %u, frame %u acknowledged %u before", (uint16_t)event->ack.now,
                 stream->acked_mark.frame, (uint16_t)event->ack.before);
    }
}

/* CTRL-06, CTRL-07, CKSUM-06: a message is acknowledged that was never captured. Either the capture missed it, or the
 * sender is wrong; which of both the IP IDs of the receiver show. */
static void judge_unseen(const struct nb_event *event, int64_t unseen, int64_t ack)
{
    struct nb_stream *stream = event->stream;
    const struct nb_damaged *known = nb_wire_damaged(stream);
    const bool damaged = known->seq != 0 && unseen <= known->seq && unseen > known->above;
    const enum nb_rule rule = damaged                   ? NB_RULE_CKSUM_BAD_HEADER
                              : stream->newest > unseen ? NB_RULE_CTRL_HOLE
                                                        : NB_RULE_CTRL_ACK;
    const struct nb_charge charge = {.rule = rule,
                                     .offender = event->end,
                                     .unseen = true,
                                     .excuse = "the CONTROL with it may have escaped the capture",
                                     .forgiven = NB_DOUBTS_OF_LOSS,
                                     .absent = NB_ABSENT_MESSAGE,
                                     .absent_number = unseen,
                                     .request_frame = damaged ? known->frame : 0};

    stream->doubts |= NB_DOUBT_UNSEEN_ACKED;
    if (stream->open_seen && stream->response_seen && !stream->queue.cut) {
        nb_await(event, &charge, 1 - event->end, NB_PACKETS_TO_PROVE, "acknowledges %u, but message %u %s",
                 (uint16_t)ack, (uint16_t)unseen,
                 damaged ? "was captured with a bad checksum only" : "was not captured");
    }
}

/* Goes through the messages that are acknowledged now for the first time. */
static void take_acknowledged(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    int64_t unseen = 0;

    for (int64_t seq = MAX(event->ack.before, event->ack.now - NB_MESSAGE_WINDOW) + 1; seq <= event->ack.now; seq++) {
        const struct nb_message_life *told = nb_message_find(&stream->messages, seq);
        if (told == NULL) {
            unseen = unseen == 0 && (uint16_t)seq != 0 ? seq : unseen;
        }
    }
    if (unseen == 0 && (uint16_t)(event->ack.before + 1) != 0 &&
        nb_message_find(&stream->messages, event->ack.before + 1) == NULL) {
        unseen = event->ack.before + 1;
    }
    if (unseen != 0) {
        judge_unseen(event, unseen, event->ack.now);
    } else {
        nb_keep(event, NB_RULE_CTRL_ACK);
        nb_keep(event, NB_RULE_CTRL_ALL);
        if (nb_wire_damaged(stream)->seq != 0 && event->ack.now <= nb_wire_damaged(stream)->seq) {
            nb_keep(event, NB_RULE_CKSUM_BAD_HEADER);
        }
    }
}

/* A GO beyond the last buffer has no data, and its acknowledgement is CTRL-15. */
static bool is_surplus(const struct nb_stream *stream, int64_t seq)
{
    const struct nb_message_life *message = nb_message_find_any(&stream->messages, seq);

    return message != NULL && message->type == NB_GO && stream->last.known &&
           nb_buffer_is_after(&stream->buffers, message->buffer, stream->last.buffer);
}

/* CTRL-12: every CONTROL with a message that was acknowledged holds those after it, too, so they arrived with it. Long
 * after that they are acknowledged (AMB-34). */
static void judge_whole_control(const struct nb_event *event, struct arrived *arrived)
{
    const struct nb_stream *stream = event->stream;
    const double patience_s = MAX(NB_ACK_PATIENCE_S, 2 * stream->agreed.interval / 1000.0);
    struct nb_charge charge = {.rule = NB_RULE_CTRL_ALL,
                               .offender = event->end,
                               .request_frame = arrived->control_frame,
                               .evidence_frame = arrived->mark.frame};

    if (arrived->up_to <= event->ack.now || event->now - arrived->when <= patience_s ||
        !nb_proven_after(event, &arrived->mark) || is_surplus(stream, event->ack.now + 1)) {
        return;
    }
    const char *text = nb_file_printf(
        "acknowledges %u, %.1f s after message %u was acknowledged, which came with all up to %u",
        (uint16_t)event->ack.now, event->now - arrived->when, (uint16_t)arrived->ack, (uint16_t)arrived->up_to);
    arrived->up_to = 0; /* reported */
    if (event->at_sender || nb_sees_all_of(stream, event->end)) {
        charge.unseen = true;
        charge.excuse = "a CONTROL with fewer messages may have escaped the capture";
        nb_await(event, &charge, 1 - event->end, NB_PACKETS_TO_PROVE, "%s", text);
    } else {
        charge.excuse = "the packet may have been held up on its way";
        nb_blame(event, &charge, "%s", text);
    }
}

static void take_arrived(const struct nb_event *event)
{
    struct arrived *arrived = (struct arrived *)nb_stream_reserved(event->stream, place_of_arrived);

    judge_whole_control(event, arrived);
    if (event->ack.now <= event->ack.before || arrived->up_to > event->ack.now) {
        return;
    }
    const struct nb_message_life *message = nb_message_find(&event->stream->messages, event->ack.now);
    *arrived = (struct arrived){.ack = event->ack.now, .when = event->now, .mark = nb_mark_of(event)};
    if (message != NULL && message->company > 0) {
        arrived->up_to = event->ack.now + message->company;
        arrived->control_frame = nb_message_frame(message);
    }
}

void nb_acks_packet(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;

    take_arrived(event);
    if (event->ack.now < event->ack.before) {
        judge_decrease(event);
    } else if (event->ack.now > event->ack.before) {
        take_acknowledged(event);
    } else {
        nb_keep(event, NB_RULE_CTRL_ACK);
        if (stream->newest > event->ack.now && nb_message_find(&stream->messages, event->ack.now + 1) == NULL) {
            nb_keep(event, NB_RULE_CTRL_HOLE);
        }
    }
    stream->queue.answered = true;
    nb_duty_acknowledged(event, event->ack.now);
    if (stream->last.known && stream->last.ok_seq != 0 && !stream->final_ok.acked &&
        event->ack.now >= stream->final_ok.seq && stream->unaccepted == 0) {
        nb_keep(event, NB_RULE_DATA_DELIVERED);
    }
    if (event->ack.now >= stream->final_ok.seq) {
        stream->final_ok.acked = true;
        stream->final_ok.unanswered = 0;
    }
}

void nb_acks_null_ack(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const struct nb_pace reported = {event->packet->burst_size, event->packet->burst_interval};
    struct nb_pace allowed = stream->agreed;
    bool offered = stream->agreed_seq != 0;

    if (allowed.size == 0 || event->ack.now < stream->agreed_seq) {
        return; /* overtaken: what was agreed when it was emitted is not kept */
    }
    /* OKs that may have been acted upon, though they are not acknowledged. */
    for (int64_t seq = MAX(event->ack.now, stream->agreed_seq) + 1;
         seq <= MIN(stream->newest, event->ack.now + NB_MESSAGE_WINDOW); seq++) {
        const struct nb_message_life *told = nb_message_find(&stream->messages, seq);
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
        charge.excuse = "RFC 998 specifies its values after an OK only (AMB-62)";
        nb_blame(event, &charge, "NULL-ACK reports %u packets per %u ms, at most %u per %u ms were agreed",
                 reported.size, reported.interval, allowed.size, allowed.interval);
    } else if (reported.size > allowed.size || reported.interval < allowed.interval) {
        charge.unseen = true;
        nb_await(event, &charge, 1 - event->end, NB_PACKETS_TO_PROVE,
                 "NULL-ACK reports %u packets per %u ms, at most %u per %u ms were offered", reported.size,
                 reported.interval, allowed.size, allowed.interval);
    } else {
        nb_keep(event, rule);
        nb_keep(event, NB_RULE_CTRL_NULL_ACK);
    }
}

void nb_acks_retire(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;

    for (int64_t seq = MAX(event->ack.before, event->ack.now - NB_MESSAGE_WINDOW) + 1; seq <= event->ack.now; seq++) {
        const struct nb_message_life *told = nb_message_find(&stream->messages, seq);
        if (told == NULL || told->type != NB_OK) {
            continue;
        }
        struct nb_buffer *buffer = nb_buffer_find(&stream->buffers, told->buffer);
        if (buffer != NULL && !buffer->retired && buffer->ok_seq == seq) {
            nb_requests_judge(event, buffer);
            nb_buffer_leaves(event, buffer);
            nb_buffer_retire(&stream->buffers, buffer);
        }
    }
}
