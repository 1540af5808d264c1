/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A RESEND when it is captured for the first time, and whether it came when it may come (RFC 998 5.2.2): TIMER-04, 05,
 * 06, 08, 09, RESEND-07, R1030-05, R1030-07. */
#include "rules/resend-message.h"

#include "decode/netblt.h"
#include "rules/judge.h"
#include "rules/requests.h"

enum { AFTER_OK_KEPT = 4 };

/* TIMER-08: buffers of which RESENDs after their OK were reported last. */
struct reported {
    uint32_t buffer[AFTER_OK_KEPT];
    unsigned count; /* of reports so far */
};

static size_t place;

void nb_resend_message_register(void)
{
    place = nb_stream_reserve(sizeof(struct reported));
}

/* TIMER-04: no GO is among all the messages before this one. Those that are acknowledged were captured, or the
 * capture is known to have a hole (CTRL-06). */
static void judge_missing_go(const struct nb_event *event, const struct nb_message *message, int64_t seq)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_charge charge = {.rule = NB_RULE_TIMER_ACK_WAIT, .offender = event->end};

    for (int64_t before = stream->acked + 1; before < seq; before++) {
        if (nb_message_find(&stream->messages, before) == NULL && (uint16_t)before != 0) {
            return;
        }
    }
    nb_blame(event, &charge, "RESEND for buffer %u, which has no GO", message->buffer);
}

/* TIMER-04: while the GO is not acknowledged the buffer's data timer does not run, unless data came all the same. */
static void judge_ack_wait(const struct nb_event *event, const struct nb_message *message, int64_t seq,
                           const struct nb_buffer *buffer)
{
    struct nb_stream *stream = event->stream;
    const struct nb_message_life *go = nb_message_find(&stream->messages, buffer->go_seq);
    const struct nb_charge charge = {.rule = NB_RULE_TIMER_ACK_WAIT,
                                     .offender = event->end,
                                     .unseen = true,
                                     .excuse = "the acknowledgement of the GO may have escaped the capture",
                                     .forgiven = NB_DOUBTS_OF_LOSS,
                                     .absent = NB_ABSENT_ACK,
                                     .absent_number = buffer->go_seq,
                                     .answered_seq = seq,
                                     .request_frame = nb_frame_of(buffer->life->go)};

    if (nb_frame_of(buffer->life->go) == 0 && nb_shows_first_messages(stream)) { /* not even as message 0 */
        judge_missing_go(event, message, seq);
    }
    if (buffer->go_seq == 0 || stream->sender < 0) {
        return;
    }
    if (buffer->go_seq <= stream->acked || buffer->life->highest >= 0 || buffer->overlooked || go == NULL) {
        nb_keep(event, NB_RULE_TIMER_ACK_WAIT);
        return;
    }
    nb_await(event, &charge, stream->sender, NB_PACKETS_TO_PROVE,
             "RESEND for buffer %u, though its GO (message %u) is not "
             "acknowledged and no data of it arrived",
             message->buffer, (uint16_t)buffer->go_seq);
}

/* RESEND-07, R1030-05, TIMER-06: holes are left to the data timer. "At once" is as fast as this end ever reacts. */
static void judge_patience(const struct nb_event *event, const struct nb_message *message,
                           const struct nb_buffer *buffer)
{
    const double fastest = event->stream->reaction.shortest[event->end];
    const double limit = fastest * 1.02 + 0.001;
    struct nb_charge charge = {.offender = event->end,
                               .request_frame = buffer->last_frame,
                               .excuse = "its data timer may have expired just now"};

    const struct nb_stream *stream = event->stream;
    if (fastest >= 0 && stream->highest_data_known &&
        nb_buffer_is_after(&stream->buffers, stream->highest_data, message->buffer) && buffer->ask_seq == 0 &&
        buffer->last < 0) {
        charge.rule = NB_RULE_TIMER_PATIENCE;
        if (event->now - stream->highest_data_when <= limit) {
            nb_blame(event, &charge, "RESEND for buffer %u at once when buffer %u began", message->buffer,
                     stream->highest_data);
        } else {
            nb_keep(event, NB_RULE_TIMER_PATIENCE);
        }
    }
    if (fastest < 0 || buffer->last_frame == 0 || nb_buffer_is_whole(&event->stream->buffers, buffer, false)) {
        return; /* no hole is visible here: another timer may have expired as well */
    }
    if (event->now - buffer->last_when <= limit && buffer->ask_seq == 0) {
        charge.rule = NB_RULE_RESEND_PATIENCE;
        nb_blame(event, &charge, "RESEND for buffer %u at once when its LDATA arrived", message->buffer);
        charge.rule = NB_RULE_R1030_PATIENCE;
        nb_blame(event, &charge, "RESEND for buffer %u at once when its LDATA arrived", message->buffer);
    } else {
        nb_keep(event, NB_RULE_RESEND_PATIENCE);
        nb_keep(event, NB_RULE_R1030_PATIENCE);
    }
}

/* When the last packet that the RESEND names was due by the loosest pace, s since the first frame: the bursts before it
 * follow one another (RFC 998 5.2.2). */
static double due_when(const struct nb_event *event, const struct nb_message *message, const struct nb_buffer *buffer)
{
    const struct nb_pace pace = event->stream->agreed;
    unsigned highest = 0;

    for (unsigned i = 0; i < message->count; i++) {
        highest = MAX(highest, nb_resend_entry(event->packet, message, i));
    }
    const unsigned bursts = highest / MAX(pace.size, 1U);

    return nb_seconds(nb_time_of(buffer->life->first_data)) + bursts * pace.interval / 1000.0;
}

/* TIMER-05, TIMER-09, R1030-07: a receiver that has got the first packet knows when the others are due. Noted only: a
 * list may name what the buffer does not have (AMB-32), and what delays packets need not show. */
static void judge_data_timer(const struct nb_event *event, const struct nb_message *message,
                             const struct nb_buffer *buffer)
{
    const double due = due_when(event, message, buffer);

    if (nb_frame_of(buffer->life->first_data) == 0 || buffer->ask_seq != 0) {
        return;
    }
    nb_keep(event, NB_RULE_TIMER_TIGHT);
    if (event->now < due) {
        nb_remark(event, NB_NOTES_DATA_TIMER, "RESEND for buffer %u %.3f s before all that it names was due",
                  message->buffer, due - event->now);
        return;
    }
    nb_keep(event, NB_RULE_TIMER_MAGNITUDE);
    if (buffer->last_frame != 0 && buffer->distinct > 1 &&
        event->now - buffer->last_when >=
            (buffer->last_when - nb_seconds(nb_time_of(buffer->life->first_data))) / (buffer->distinct - 1)) {
        nb_keep(event, NB_RULE_R1030_ADAPTIVE);
    }
}

/* TIMER-08: nothing answers such a RESEND, so that some ask again and again. */
static bool is_first_report(const struct nb_stream *stream, uint32_t buffer)
{
    struct reported *reported = (struct reported *)nb_stream_reserved(stream, place);

    for (unsigned i = 0; i < MIN(reported->count, AFTER_OK_KEPT); i++) {
        if (reported->buffer[i] == buffer) {
            return false;
        }
    }
    reported->buffer[reported->count++ % AFTER_OK_KEPT] = buffer;
    return true;
}

void nb_resend_message(const struct nb_event *event, const struct nb_message *message, int64_t seq, bool oked)
{
    struct nb_stream *stream = event->stream;
    const bool done = nb_buffer_is_done(&stream->buffers, message->buffer);
    struct nb_buffer *buffer = done ? NULL : nb_buffer_find(&stream->buffers, message->buffer);

    if (done && !oked) { /* a number that the receiver has left out */
        if (nb_buffer_has_no_go(&stream->buffers, message->buffer) && nb_shows_first_messages(stream)) {
            judge_missing_go(event, message, seq);
        }
        return;
    }
    if (done || (buffer != NULL && buffer->ok_seq != 0 && seq > buffer->ok_seq)) {
        const struct nb_charge charge = {.rule = NB_RULE_TIMER_COMPLETE,
                                         .offender = event->end,
                                         .request_frame = buffer == NULL ? 0 : nb_frame_of(buffer->life->ok)};
        if (is_first_report(stream, message->buffer)) {
            nb_blame(event, &charge, "RESEND for buffer %u as message %u, after its OK", message->buffer,
                     (uint16_t)seq);
        }
        return;
    }
    if (buffer == NULL) {
        buffer = nb_buffer_get(&stream->buffers, message->buffer);
    }
    judge_ack_wait(event, message, seq, buffer);
    judge_patience(event, message, buffer);
    judge_data_timer(event, message, buffer);
    nb_requests_ask(event, message, buffer);
    nb_keep(event, NB_RULE_TIMER_EXPIRY);
    if (buffer->ask_seq != 0) {
        nb_keep(event, NB_RULE_RESEND_LOOP);
    }
    if (seq > buffer->ask_seq) {
        buffer->ask_seq = seq;
        buffer->ask_frame = event->frame;
    }
    if (stream->last.known) {
        nb_keep(event, NB_RULE_CLOSE_REPAIRS);
    }
}
