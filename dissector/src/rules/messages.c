/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control messages one by one, when they are captured for the first time and when they are repeated (RFC 998 5.2,
 * 5.2.1): CTRL-02, and those of GO and OK: CTRL-13, CTRL-14, CTRL-15, DATA-06, DATA-10, NEG-08. */
#include "rules/messages.h"

#include "decode/netblt.h"
#include "rules/judge.h"
#include "rules/order.h"
#include "rules/rate.h"
#include "rules/requests.h"
#include "rules/resend-message.h"
#include "rules/robust.h"

struct messages {
    int64_t go_seq; /* newest GO in sequence order, and its buffer */
    uint32_t go_buffer;
    struct nb_knowledge knowledge;
};

static size_t place;

void nb_messages_register(void)
{
    place = nb_stream_reserve(sizeof(struct messages));
}

static struct messages *messages_of(const struct nb_stream *stream)
{
    return (struct messages *)nb_stream_reserved(stream, place);
}

const struct nb_knowledge *nb_messages_knowledge(const struct nb_stream *stream)
{
    return &messages_of(stream)->knowledge;
}

/* NEG-08, CLOSE-07: what every OK carries. Copies may carry other values; the loosest of them counts. */
static void judge_offer(const struct nb_event *event, const struct nb_message *message,
                        const struct nb_message_life *life)
{
    const struct nb_charge zero = {.rule = life->burst_size == 0 ? NB_RULE_NEG_OFFER : NB_RULE_CLOSE_TIMER,
                                   .offender = event->end,
                                   .excuse = life->burst_size == 0 ? "it may mean that the old size stays (AMB-11)"
                                                                   : "its clock may count less than a millisecond"};

    event->stream->queue.published = life->timer;
    if (life->burst_size == 0) {
        nb_blame(event, &zero, "OK of buffer %u offers bursts of no packets", message->buffer);
    } else if (life->timer == 0) {
        nb_blame(event, &zero, "OK of buffer %u publishes no control timer", message->buffer);
    } else {
        nb_keep(event, NB_RULE_NEG_OFFER);
        nb_keep(event, NB_RULE_CLOSE_TIMER);
    }
}

static void take_offer(const struct nb_event *event, const struct nb_message_life *life)
{
    nb_rate_offer(event, (struct nb_pace){life->burst_size, life->burst_interval});
}

/* A GO for the same buffer was captured, as another message. */
static bool has_another_go(const struct nb_event *event, const struct nb_message *message, int64_t seq,
                           const struct nb_buffer *buffer)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_buffer_life *life = nb_buffer_life_find(&stream->buffers, message->buffer);
    const uint32_t own = (uint32_t)(seq - stream->messages.base) + 1;

    return life != NULL && ((life->go_message != 0 && life->go_message != own) ||
                            (buffer != NULL && buffer->go_seq != 0 && buffer->go_seq != seq));
}

/* An OK of the buffer was captured in an earlier packet. */
static bool is_oked_before(const struct nb_event *event, const struct nb_message *message)
{
    const struct nb_buffer_life *life = nb_buffer_life_find(&event->stream->buffers, message->buffer);

    return life != NULL && life->ok != 0 && life->ok != event->moment;
}

/* From the buffer of a GO to that of the next one. RFC 998 does not state what follows the highest number, so a lower
 * one less than half of all numbers on is an increase too. */
static int64_t step_between(uint32_t before, uint32_t number)
{
    return number > before ? (int64_t)number - before : (int32_t)(number - before);
}

/* DATA-06, CTRL-13 */
static void judge_go(const struct nb_event *event, const struct nb_message *message, int64_t seq,
                     struct nb_buffer *buffer)
{
    struct messages *messages = messages_of(event->stream);
    struct nb_charge charge = {.rule = NB_RULE_CTRL_GO_ONCE, .offender = event->end};

    if (has_another_go(event, message, seq, buffer)) {
        charge.request_frame = nb_frame_of(nb_buffer_life_find(&event->stream->buffers, message->buffer)->go);
        nb_blame(event, &charge, "another GO for buffer %u, as message %u", message->buffer, (uint16_t)seq);
        return;
    }
    if (buffer == NULL && is_oked_before(event, message)) {
        nb_blame(event, &charge, "GO for buffer %u, as message %u, after its OK", message->buffer, (uint16_t)seq);
        return;
    }
    nb_keep(event, NB_RULE_CTRL_GO_ONCE);
    charge.rule = NB_RULE_DATA_BUFFERS;
    if (messages->go_seq > 0 && seq > messages->go_seq) {
        const int64_t between = seq - messages->go_seq - 1;
        const int64_t step = step_between(messages->go_buffer, message->buffer);
        int64_t unknown = 0;
        for (int64_t i = messages->go_seq + 1; i < seq && between < NB_MESSAGE_WINDOW; i++) {
            unknown += nb_message_find(&event->stream->messages, i) == NULL;
        }
        if (step < 1) {
            nb_blame(event, &charge, "GO for buffer %u follows GO for buffer %u", message->buffer, messages->go_buffer);
        } else {
            nb_keep(event, NB_RULE_DATA_BUFFERS);
        }
        if (step > 1 && between < NB_MESSAGE_WINDOW && step - 1 > unknown) {
            nb_remark(event, NB_NOTES_BUFFER_STEP, "GO for buffer %u follows GO for buffer %u", message->buffer,
                      messages->go_buffer);
        }
        if (step > 1 && between < NB_MESSAGE_WINDOW && unknown == 0 && buffer != NULL) {
            buffer->follows = messages->go_buffer;
            buffer->follows_known = true;
        }
    }
    if (seq > messages->go_seq) {
        messages->go_seq = seq;
        messages->go_buffer = message->buffer;
    }
}

/* DATA-10, CTRL-15: once the last buffer is OK'd the receiver knows that there is no other. RFC 998 does not forbid to
 * ask for more, and the sender has nothing to send. A GO in the same CONTROL as this OK prepares the next buffer as
 * every other OK does. */
static void judge_beyond(const struct nb_event *event, const struct nb_message *message, int64_t seq)
{
    const struct nb_stream *stream = event->stream;
    const bool is_go = message->type == NB_GO;
    const struct nb_charge charge = {.rule = is_go ? NB_RULE_DATA_AFTER_LAST : NB_RULE_CTRL_BEYOND,
                                     .offender = event->end,
                                     .request_frame = stream->last.frame,
                                     .excuse = "RFC 998 does not forbid it, and the sender ignores it"};
    const char *name = is_go ? "GO" : "RESEND";
    const struct nb_message_life *last_ok = nb_message_find(&stream->messages, stream->last.ok_seq);

    if (!stream->last.known || !nb_buffer_is_after(&stream->buffers, message->buffer, stream->last.buffer)) {
        return;
    }
    if (stream->last.ok_seq != 0 && seq > stream->last.ok_seq && !stream->last.contested &&
        !(is_go && last_ok != NULL && nb_message_frame(last_ok) == event->frame)) {
        nb_blame(event, &charge, "%s for buffer %u, though buffer %u was the last and has its OK", name,
                 message->buffer, stream->last.buffer);
    } else {
        nb_remark(event, NB_NOTES_LATE_GO, "%s for buffer %u beyond the last buffer %u", name, message->buffer,
                  stream->last.buffer);
    }
}

/* Every message from `from` to `end` - 1 was captured in this CONTROL first. */
static bool came_together(const struct nb_event *event, int64_t from, int64_t end)
{
    if (end - from >= NB_MESSAGE_WINDOW) {
        return false;
    }
    for (int64_t seq = from; seq < end; seq++) {
        const struct nb_message_life *told = nb_message_find(&event->stream->messages, seq);
        if (told == NULL || nb_message_frame(told) != event->frame) {
            return false;
        }
    }
    return true;
}

/* DATA-01: the data acknowledge everything below the messages that came with this GO. Their sender had not got it,
 * whatever the capture missed: else they would acknowledge it, too (CTRL-06). */
static void judge_early_data(const struct nb_event *event, const struct nb_buffer *buffer, int64_t seq)
{
    const struct nb_charge charge = {.rule = NB_RULE_DATA_BEFORE_GO,
                                     .offender = 1 - event->end,
                                     .forgiven = NB_DOUBTS_OF_LOSS,
                                     .offending_frame = nb_frame_of(buffer->life->first_data),
                                     .suspected_key = buffer->life->first_data};

    if (nb_rule_holds(event->stream, NB_RULE_CTRL_ACK) && buffer->distinct >= NB_PACKETS_TO_PROVE &&
        buffer->told_ack < seq && came_together(event, buffer->told_ack + 1, seq)) {
        nb_blame(event, &charge, "data of buffer %u acknowledge messages up to %u, their GO is message %u",
                 buffer->life->number, (uint16_t)buffer->told_ack, (uint16_t)seq);
    }
}

/* If an end numbers control messages from 0, its GO arrives before message 1. */
static bool is_behind_another(const struct nb_stream *stream, uint32_t number)
{
    const struct nb_buffer *lowest = stream->buffers.lowest;

    return lowest != NULL && nb_buffer_is_after(&stream->buffers, number, lowest->life->number);
}

static void take_go(const struct nb_event *event, const struct nb_message *message, int64_t seq)
{
    struct nb_stream *stream = event->stream;
    const bool done = nb_buffer_is_done(&stream->buffers, message->buffer);
    struct nb_buffer *buffer = done ? NULL : nb_buffer_get(&stream->buffers, message->buffer);

    if (!stream->buffers.base_known && seq == 1 && !is_behind_another(stream, message->buffer)) {
        stream->buffers.base_known = true;
        stream->buffers.done_below = nb_buffer_order(&stream->buffers, message->buffer);
    }
    judge_go(event, message, seq, buffer);
    judge_beyond(event, message, seq);
    if (buffer != NULL && buffer->go_seq == 0) {
        buffer->go_seq = seq;
        buffer->pace_seq = stream->agreed_seq;
        stream->queue.gos++;
        judge_early_data(event, buffer, seq);
    }
}

/* All that a full buffer can hold, though no LDATA shows it (DATA-04, AMB-42), or no packet 0 (AMB-10). */
static bool has_all_bytes(const struct nb_stream *stream, const struct nb_buffer *buffer)
{
    const struct nb_terms *terms = nb_terms_of(stream);

    return terms != NULL && buffer != NULL && buffer->bytes >= terms->buffer_size &&
           buffer->life->highest <= (buffer->last < 0 ? buffer->life->highest : buffer->last);
}

/* File scope. What the capture lacks of the buffer, or the sender never emitted. */
static const char *what_is_missing(const struct nb_buffer *buffer)
{
    uint32_t missing = 0;

    if (buffer == NULL || buffer->last < 0) {
        return " and no LDATA";
    }
    while (missing < buffer->room && (buffer->parts[missing].flags & NB_PART_SEEN) != 0) {
        missing++;
    }
    return nb_file_printf(", not packet %u", missing);
}

/* CTRL-14, CKSUM-07: the buffer must have arrived. Only a sender's flow without a gap shows what was never emitted. */
static void judge_complete(const struct nb_event *event, const struct nb_buffer *buffer, uint32_t number, int64_t seq)
{
    struct nb_stream *stream = event->stream;
    /* NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c) */
    const int sender = stream->sender;
    const bool unbroken = sender >= 0 && stream->end[sender].flow.unbroken;
    const bool whole = nb_buffer_is_whole(&stream->buffers, buffer, unbroken);
    struct nb_charge charge = {.rule = NB_RULE_CTRL_OK,
                               .offender = event->end,
                               .unseen = true,
                               .excuse = "its packets may have escaped the capture",
                               .forgiven = NB_DOUBTS_OF_LOSS,
                               .absent = NB_ABSENT_PACKETS,
                               .answered_seq = seq,
                               .absent_number = number,
                               .evidence_frame = buffer == NULL ? 0 : buffer->last_frame};

    if (!whole && has_all_bytes(stream, buffer)) {
        stream->buffers.from_one |= buffer->last == (int)buffer->distinct && !stream->buffers.from_zero;
        return;
    }
    if (!whole) {
        stream->doubts |= NB_DOUBT_UNSEEN_DATA;
    }
    if (sender < 0 || !stream->open_seen || (buffer != NULL && (buffer->ended_twice || buffer->overlooked))) {
        return;
    }
    const uint32_t spoilt = buffer == NULL ? 0 : nb_buffer_spoilt(buffer);
    if (!whole) {
        nb_robust_odd(event, NB_ODD_CONTROL);
        nb_await(event, &charge, sender, NB_PACKETS_TO_PROVE, "OK for buffer %u, of which %u packets were emitted%s",
                 number, buffer == NULL ? 0 : buffer->distinct, what_is_missing(buffer));
    } else if (stream->data_checksummed && spoilt > 0) {
        charge.rule = NB_RULE_CKSUM_BAD_DATA;
        nb_await(event, &charge, sender, NB_PACKETS_TO_PROVE,
                 "OK for buffer %u, of which %u packets arrived with bad data "
                 "checksums only",
                 buffer->life->number, spoilt);
    } else {
        nb_keep(event, NB_RULE_CTRL_OK);
        if (stream->data_checksummed) {
            nb_keep(event, NB_RULE_CKSUM_BAD_DATA);
        }
    }
}

/* CTRL-05: a receiver that gives OK has got every packet of the buffer, and with all but the one that came last what
 * they acknowledge: RFC 998 does not state whether it takes the data of a packet or its acknowledgement first. From a
 * sender that acknowledges what it cannot have received (CTRL-06) it need not believe that. Of each
 * packet the first copy acknowledges least, and in a flow without a gap it was captured. Of packets above an LDATA it
 * may have got none. */
static void note_knowledge(const struct nb_event *event, const struct nb_buffer *buffer, int64_t seq)
{
    struct nb_stream *stream = event->stream;
    struct nb_knowledge *known = &messages_of(stream)->knowledge;

    const struct nb_standing acks = nb_standing_of(stream, NB_RULE_CTRL_ACK);

    if (buffer != NULL && !buffer->ended_twice && stream->sender >= 0 && acks.violations + acks.suspicions == 0 &&
        nb_is_unbroken(stream, stream->sender) && nb_buffer_is_whole(&stream->buffers, buffer, true) &&
        buffer->life->highest == buffer->last && buffer->next_ack > known->ack) {
        known->ack = buffer->next_ack;
        known->low = buffer->low_ack;
        known->from = seq;
        known->frame = buffer->last_frame;
    }
}

/* A receiver that gives OK has got every packet. Of a buffer that was never requested again, each was emitted once. */
static void note_arrival(const struct nb_event *event, const struct nb_buffer *buffer)
{
    struct nb_stream *stream = event->stream;

    if (buffer != NULL && !buffer->ended_twice && buffer->ask_seq == 0 && !buffer->firsts_unordered &&
        nb_buffer_is_whole(&stream->buffers, buffer, event->stream->end[1 - event->end].flow.unbroken)) {
        stream->arrived = MAX(stream->arrived, buffer->newest_first);
    }
}

static void accept_buffer(struct nb_stream *stream, struct nb_buffer *buffer, int64_t seq)
{
    stream->accepted++;
    if (buffer->counted) {
        buffer->counted = false;
        stream->unaccepted--;
    }
    buffer->ok_seq = seq;
}

/* R1030-11 */
static void judge_odd_size(const struct nb_event *event)
{
    const struct nb_terms *terms = nb_terms_of(event->stream);

    if (terms != NULL && terms->data_packet_size % 4 != 0) {
        nb_keep(event, NB_RULE_R1030_ODD_SIZES);
    }
}

static void take_ok(const struct nb_event *event, const struct nb_message *message, int64_t seq,
                    const struct nb_message_life *life)
{
    struct nb_stream *stream = event->stream;
    const bool done = nb_buffer_is_done(&stream->buffers, message->buffer);
    struct nb_buffer *buffer = done ? NULL : nb_buffer_find(&stream->buffers, message->buffer);

    judge_offer(event, message, life);
    take_offer(event, life);
    if (done && !is_oked_before(event, message)) {
        if (nb_buffer_has_no_go(&stream->buffers, message->buffer)) { /* else given after higher ones (DATA-06) */
            judge_complete(event, NULL, message->buffer, seq);
        }
        return;
    }
    if (done || (buffer != NULL && buffer->ok_seq != 0 && buffer->ok_seq != seq)) {
        const struct nb_charge twice = {.rule = NB_RULE_CTRL_OK,
                                        .offender = event->end,
                                        .request_frame = buffer == NULL ? 0 : nb_frame_of(buffer->life->ok)};
        nb_blame(event, &twice, "another OK for buffer %u, as message %u", message->buffer, (uint16_t)seq);
        return;
    }
    stream->queue.oks++;
    judge_complete(event, buffer, message->buffer, seq);
    note_arrival(event, buffer);
    note_knowledge(event, buffer, seq);
    if (buffer == NULL) {
        buffer = nb_buffer_get(&stream->buffers, message->buffer);
    }
    accept_buffer(stream, buffer, seq);
    if (stream->last.known && stream->last.buffer == message->buffer) {
        stream->last.ok_seq = seq;
    }
    judge_odd_size(event);
    stream->final_ok.seq = MAX(stream->final_ok.seq, seq);
    if (stream->final_ok.seq == seq) {
        stream->final_ok.acked = false;
        stream->final_ok.unanswered = 0;
        stream->final_ok.frame = event->frame;
        stream->final_ok.when = event->now;
        stream->final_ok.timer = life->timer;
    }
    nb_keep(event, NB_RULE_TIMER_COMPLETE);
}

void nb_message_fresh(const struct nb_event *event, const struct nb_heard *heard)
{
    const struct nb_message *message = &heard->message;

    event->stream->queue.messages++;
    nb_order_message(event, message, heard->seq);
    if (message->type == NB_GO) {
        take_go(event, message, heard->seq);
    } else if (message->type == NB_OK) {
        take_ok(event, message, heard->seq, heard->life);
    } else {
        judge_beyond(event, message, heard->seq);
        nb_resend_message(event, message, heard->seq, is_oked_before(event, message));
    }
}

void nb_message_late(const struct nb_event *event, const struct nb_heard *heard)
{
    struct nb_stream *stream = event->stream;
    const struct nb_message *message = &heard->message;

    if ((message->type == NB_RESEND && heard->seq <= stream->acked) ||
        nb_buffer_is_done(&stream->buffers, message->buffer)) {
        return;
    }
    struct nb_buffer *buffer = nb_buffer_get(&stream->buffers, message->buffer);
    if (message->type == NB_RESEND) {
        /* Too far ahead to be remembered; 5.2.1 allows to process it immediately. */
        nb_requests_count(event, message, buffer);
    } else if (message->type == NB_GO && buffer->go_seq == 0) {
        buffer->go_seq = heard->seq;
    } else if (message->type == NB_OK && buffer->ok_seq == 0) {
        note_arrival(event, buffer);
        accept_buffer(stream, buffer, heard->seq);
    }
}

/* CTRL-02 */
void nb_message_again(const struct nb_event *event, const struct nb_heard *heard)
{
    const struct nb_message *message = &heard->message;
    const uint32_t first = nb_message_frame(heard->life);
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_REPEAT, .offender = event->end, .request_frame = first};

    if (nb_message_hash(event->packet, message) != heard->life->hash) {
        nb_blame(event, &charge, "message %u differs from its copy in frame %u", (uint16_t)heard->seq, first);
        return;
    }
    nb_keep(event, NB_RULE_CTRL_REPEAT);
    if (message->type == NB_OK) {
        take_offer(event, heard->life);
    } else if (message->type == NB_RESEND) {
        nb_requests_ask_again(event, message);
    }
}
