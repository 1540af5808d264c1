/* SPDX-License-Identifier: GPL-2.0-or-later */
/* R1986-04, 07, 13, 14, 23: what the packets of a transfer number and count in RFC 1986. */
#include "decode/netblt.h"
#include "rules/etftp.h"
#include "rules/judge.h"

/* So many buffers have a GO and no OK at a time, or are not remembered. */
enum { BUFFERS_KEPT = 16 };

/* A buffer with a GO. */
struct granted {
    bool used;
    bool begun;  /* data of it were captured */
    bool zero;   /* packet 0, too */
    bool judged; /* its OK was captured */
    bool timed;  /* the CONTROL that said the GO first was captured, if none of its end is missing */
    uint32_t number;
    double when; /* its GO was captured first, s since the first frame */
};

struct numbers {
    struct granted granted[BUFFERS_KEPT]; /* by the last bits of the number */
    bool told;                            /* the first GO was judged */
    bool begun;                           /* a CONTROL was captured; the first one may be a repetition */
    uint32_t buffer;                      /* the highest data packet */
    uint16_t packet;
    bool data_known;
    int64_t acked;
    struct nb_mark acked_mark;
};

static size_t place;

void nb_etftp_numbers_register(void)
{
    place = nb_stream_reserve(sizeof(struct numbers));
}

/* NULL: its GO was not captured. */
static struct granted *granted_of(struct numbers *state, uint32_t number)
{
    struct granted *granted = &state->granted[number % BUFFERS_KEPT];

    return granted->used && granted->number == number ? granted : NULL;
}

/* R1986-07: message 1 is the first, and asks for the first buffer. Once data flow, numbers may have wrapped. */
static void judge_first_go(const struct nb_event *event, struct numbers *state, const struct nb_message *message)
{
    const struct nb_charge charge = {.rule = NB_RULE_R1986_NUMBERS, .offender = event->end};

    if (message->seq != 1 || state->told || state->data_known) {
        return;
    }
    state->told = true;
    if (message->buffer == 0) {
        nb_keep(event, NB_RULE_R1986_NUMBERS);
    } else {
        nb_blame(event, &charge, "the first GO asks for buffer %u", message->buffer);
    }
}

static void take_go(const struct nb_event *event, struct numbers *state, const struct nb_message *message)
{
    judge_first_go(event, state, message);
    if (granted_of(state, message->buffer) == NULL) {
        state->granted[message->buffer % BUFFERS_KEPT] =
            (struct granted){.used = true, .number = message->buffer, .when = event->now, .timed = state->begun};
    }
}

/* R1986-07: who gives OK has got the buffer, and of a flow without a gap all of it was captured. */
static void judge_first_packet(const struct nb_event *event, const struct granted *granted)
{
    const struct nb_charge charge = {
        .rule = NB_RULE_R1986_NUMBERS, .offender = 1 - event->end, .forgiven = NB_DOUBTS_OF_LOSS};

    if (granted->zero) {
        nb_keep(event, NB_RULE_R1986_NUMBERS);
    } else if (granted->begun && nb_is_unbroken(event->stream, 1 - event->end)) {
        nb_blame(event, &charge, "buffer %u has no packet 0, and its OK", granted->number);
    }
}

/* R1986-23: RFC 1986 does not say whether the field counts milliseconds or seconds. The ways of GO and OK to the
 * capture differ by some seconds at most, and the radio delay. */
static void judge_tight_timer(const struct nb_event *event, const struct granted *granted, uint16_t field)
{
    const double blur_s = 3;
    const double since = event->now - granted->when;
    const double off_s = MAX(since / 2, blur_s);
    const struct nb_charge charge = {.rule = NB_RULE_R1986_TIGHT_TIMER,
                                     .offender = event->end,
                                     .excuse = "the paths of GO and OK to the capture may differ by so much"};

    if (ABS(field / 1000.0 - since) <= off_s || ABS(field - since) <= off_s) {
        nb_keep(event, NB_RULE_R1986_TIGHT_TIMER);
    } else if (granted->timed && nb_is_unbroken(event->stream, event->end)) {
        nb_blame(event, &charge, "OK of buffer %u with a timer of %u, its GO is %.1f s old", granted->number, field,
                 since);
    }
}

static void take_ok(const struct nb_event *event, struct numbers *state, const struct nb_message *message)
{
    struct granted *granted = granted_of(state, message->buffer);

    if (granted == NULL || granted->judged) {
        return;
    }
    granted->judged = true;
    judge_first_packet(event, granted);
    judge_tight_timer(event, granted, tvb_get_ntohs(event->packet->tvb, message->offset + 12));
}

static void take_control(const struct nb_event *event, struct numbers *state)
{
    struct nb_message message;
    int offset = NB_HEADER_BYTES;

    while (nb_next_message(event->packet, &offset, &message) == NB_MESSAGE) {
        if (message.type == NB_GO) {
            take_go(event, state, &message);
        } else if (message.type == NB_OK) {
            take_ok(event, state, &message);
        }
    }
    state->begun = true;
}

/* R1986-14: "It should contain the ID number of the current CONTROL message being processed" (2.1), which may be one of
 * old. */
static void judge_ack(const struct nb_event *event, struct numbers *state)
{
    const struct nb_charge charge = {.rule = NB_RULE_R1986_ACK,
                                     .offender = event->end,
                                     .request_frame = state->acked_mark.frame,
                                     .evidence_frame = state->acked_mark.frame,
                                     .excuse = "it may name the message that is processed, not the highest"};
    const int64_t ack = nb_unwrap(state->acked, event->packet->high_seq);

    if (state->acked_mark.frame == 0 || ack >= state->acked) {
        nb_keep(event, NB_RULE_R1986_ACK);
        state->acked = ack;
        state->acked_mark = nb_mark_of(event);
    } else if (nb_proven_after(event, &state->acked_mark)) {
        nb_blame(event, &charge, "acknowledges %u, frame %u acknowledged %u before", event->packet->high_seq,
                 state->acked_mark.frame, (uint16_t)state->acked);
    }
}

/* R1986-04, R1986-13 */
static void take_data(const struct nb_event *event, struct numbers *state)
{
    const struct nb_packet *packet = event->packet;
    const struct nb_stream *stream = event->stream;
    struct granted *granted = granted_of(state, packet->buffer);
    const bool same = packet->buffer == state->buffer && packet->packet <= state->packet;
    const bool again =
        state->data_known && (same || nb_buffer_is_after(&stream->buffers, state->buffer, packet->buffer));

    if (event->stream->open_seen &&
        (event->end == stream->active) == nb_active_sends(NB_ETFTP, nb_terms_by(stream, stream->active)->flags)) {
        nb_keep(event, NB_RULE_R1986_MODE);
    }
    if (granted != NULL) {
        granted->begun = true;
        granted->zero = granted->zero || packet->packet == 0;
    }
    if (again) {
        nb_keep(event, NB_RULE_R1986_REPEAT);
        return;
    }
    state->data_known = true;
    state->buffer = packet->buffer;
    state->packet = packet->packet;
}

void nb_etftp_numbers(const struct nb_event *event)
{
    struct numbers *state = (struct numbers *)nb_stream_reserved(event->stream, place);
    const uint8_t type = event->packet->type;

    if (type == NB_CONTROL) {
        take_control(event, state);
    } else if (nb_has_high_seq(type)) {
        judge_ack(event, state);
        if (nb_is_data(type)) {
            take_data(event, state);
        }
    }
}
