/* SPDX-License-Identifier: GPL-2.0-or-later */
/* R1986-01..14: what RFC 1986 changes. Of such a connection nothing else is judged. */
#include "rules/etftp.h"

#include "decode/netblt.h"
#include "rules/judge.h"

enum { SMALLEST_DATA = 16, LARGEST_DATA = 1448, FIRST_TIMEOUT_S = 5 };

/* What an OK or NULL-ACK offers or confirms. */
struct offer {
    uint16_t packet_size;
    uint16_t burst_size;
    uint16_t burst_interval;
};

struct etftp {
    struct offer offer; /* RESPONSE, then the newest OK */
    struct offer confirmed;
    unsigned renegotiates; /* ends that set R, a bit for each */
    bool numbers_told;
    uint32_t buffer_packets; /* of a full buffer */
    uint32_t asked;          /* packet numbers in RESENDs since the newest OK */
    uint32_t buffer;         /* the highest data packet */
    uint16_t packet;
    bool data_known;
    int64_t acked;
    struct nb_mark acked_mark;
    double asked_when; /* the newest OPEN or QUIT, when there is one */
    uint8_t asking;    /* its type + 1 */
};

static size_t place;

void nb_etftp_register(void)
{
    place = nb_stream_reserve(sizeof(struct etftp));
}

/* R1986-09 */
static void judge_range(const struct nb_event *event)
{
    const uint16_t size = event->packet->data_packet_size;
    const struct nb_charge charge = {.rule = NB_RULE_R1986_RANGE,
                                     .offender = event->end,
                                     .excuse = size > LARGEST_DATA ? "RFC 1986 itself used up to 2048 (2.6)" : NULL,
                                     .alone = true};

    if (size < SMALLEST_DATA || size > LARGEST_DATA) {
        nb_blame(event, &charge, "data packets of %u bytes, ETFTP has %d to %d", size, SMALLEST_DATA, LARGEST_DATA);
    } else {
        nb_keep(event, NB_RULE_R1986_RANGE);
    }
}

static void take_opening(const struct nb_event *event, struct etftp *state)
{
    const struct nb_packet *packet = event->packet;

    nb_keep(event, NB_RULE_R1986_OPEN);
    nb_keep(event, NB_RULE_R1986_FLAGS);
    judge_range(event);
    if (packet->open_flags & NB_ETFTP_RENEGOTIATE) {
        state->renegotiates |= 1U << event->end;
    }
    if (packet->type == NB_RESPONSE) {
        state->offer = (struct offer){packet->data_packet_size, packet->burst_size, packet->burst_interval};
        state->confirmed = state->offer;
        state->buffer_packets = packet->data_packet_size == 0 ? 0 : packet->buffer_size / packet->data_packet_size;
    }
}

/* R1986-05: both ends have set R. */
static void judge_size(const struct nb_event *event, const struct etftp *state, uint16_t size, const char *what)
{
    const struct nb_charge charge = {
        .rule = NB_RULE_R1986_SIZE, .offender = event->end, .excuse = "0 may stand for the size that was agreed"};

    if (size != 0) {
        nb_keep(event, NB_RULE_R1986_SIZE);
    } else if (state->renegotiates == 3) {
        nb_blame(event, &charge, "%s without a packet size, though both ends set R", what);
    }
}

/* R1986-08: half of a buffer or more was asked for again. */
static void judge_back_off(const struct nb_event *event, struct etftp *state, const struct offer *offer)
{
    const bool slower = (offer->packet_size != 0 && offer->packet_size < state->offer.packet_size) ||
                        (offer->burst_size != 0 && offer->burst_size < state->offer.burst_size) ||
                        offer->burst_interval > state->offer.burst_interval;

    if (state->buffer_packets > 0 && state->asked * 2 >= state->buffer_packets && slower) {
        nb_keep(event, NB_RULE_R1986_BACK_OFF);
    }
    state->asked = 0;
}

static void take_ok(const struct nb_event *event, struct etftp *state, const struct nb_message *message)
{
    tvbuff_t *tvb = event->packet->tvb;
    const struct offer offer = {.packet_size =
                                    tvb_get_ntohs(tvb, message->offset + event->packet->layout->ok_packet_size),
                                .burst_size = tvb_get_ntohs(tvb, message->offset + 8),
                                .burst_interval = tvb_get_ntohs(tvb, message->offset + 10)};

    judge_size(event, state, offer.packet_size, "OK");
    judge_back_off(event, state, &offer);
    state->offer = offer;
}

/* R1986-07: message 1 is the first, and asks for the first buffer. Once data flow, numbers may have wrapped. */
static void judge_numbers(const struct nb_event *event, struct etftp *state, const struct nb_message *message)
{
    const struct nb_charge charge = {.rule = NB_RULE_R1986_NUMBERS, .offender = event->end};

    if (message->seq != 1 || message->type != NB_GO || state->numbers_told || state->data_known) {
        return;
    }
    state->numbers_told = true;
    if (message->buffer == 0) {
        nb_keep(event, NB_RULE_R1986_NUMBERS);
    } else {
        nb_blame(event, &charge, "the first GO asks for buffer %u", message->buffer);
    }
}

static void take_control(const struct nb_event *event, struct etftp *state)
{
    struct nb_message message;
    int offset = NB_HEADER_BYTES;

    while (nb_next_message(event->packet, &offset, &message) == NB_MESSAGE) {
        judge_numbers(event, state, &message);
        if (message.type == NB_OK) {
            take_ok(event, state, &message);
        } else if (message.type == NB_RESEND) {
            state->asked += message.count;
        }
    }
}

/* R1986-14: "It should contain the ID number of the current CONTROL message being processed" (2.1), which may be one of
 * old. */
static void judge_ack(const struct nb_event *event, struct etftp *state)
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
static void take_data(const struct nb_event *event, struct etftp *state)
{
    const struct nb_packet *packet = event->packet;
    const struct nb_stream *stream = event->stream;
    const int32_t buffers = (int32_t)(packet->buffer - state->buffer);
    const bool again = state->data_known && (buffers < 0 || (buffers == 0 && packet->packet <= state->packet));

    if (event->stream->open_seen &&
        (event->end == stream->active) == nb_active_sends(NB_ETFTP, nb_terms_by(stream, stream->active)->flags)) {
        nb_keep(event, NB_RULE_R1986_MODE);
    }
    if (again) {
        nb_keep(event, NB_RULE_R1986_REPEAT);
        return;
    }
    state->data_known = true;
    state->buffer = packet->buffer;
    state->packet = packet->packet;
}

/* R1986-05, R1986-06 */
static void take_null_ack(const struct nb_event *event, struct etftp *state)
{
    const struct nb_packet *packet = event->packet;
    const struct offer now = {.packet_size = packet->data_packet_size,
                              .burst_size = packet->burst_size,
                              .burst_interval = packet->burst_interval};

    judge_size(event, state, now.packet_size, "NULL-ACK");
    if (now.packet_size != state->confirmed.packet_size || now.burst_size != state->confirmed.burst_size ||
        now.burst_interval != state->confirmed.burst_interval) {
        nb_keep(event, NB_RULE_R1986_NULL_ACK);
    }
    state->confirmed = now;
}

/* R1986-11 */
static void judge_patience(const struct nb_event *event, struct etftp *state)
{
    const uint8_t type = event->packet->type;

    if (state->asking == type + 1 && event->now - state->asked_when >= FIRST_TIMEOUT_S) {
        nb_keep(event, NB_RULE_R1986_TIMERS);
    }
    state->asking = (uint8_t)(type + 1);
    state->asked_when = event->now;
}

/* R1986-10 */
static void judge_close(const struct nb_event *event, const struct etftp *state)
{
    if (state->asking == NB_QUIT + 1 && event->end != event->stream->sender) {
        nb_keep(event, NB_RULE_R1986_CLOSE);
    }
}

void nb_etftp_packet(const struct nb_event *event)
{
    struct etftp *state = (struct etftp *)nb_stream_reserved(event->stream, place);
    const uint8_t type = event->packet->type;

    if (event->over_udp) {
        nb_keep(event, NB_RULE_R1986_CARRIER);
    }
    if (type == NB_OPEN || type == NB_RESPONSE) {
        take_opening(event, state);
    } else if (type == NB_CONTROL) {
        take_control(event, state);
    } else if (type == NB_DONE) {
        judge_close(event, state);
    } else if (nb_has_high_seq(type)) {
        judge_ack(event, state);
        if (nb_is_data(type)) {
            take_data(event, state);
        } else {
            take_null_ack(event, state);
        }
    }
    if (type == NB_OPEN || type == NB_QUIT) {
        judge_patience(event, state);
    }
}
