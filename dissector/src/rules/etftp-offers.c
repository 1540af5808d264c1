/* SPDX-License-Identifier: GPL-2.0-or-later */
/* R1986-05, 06, 08, 09, 28: packet size and pace, which an OK offers and a NULL-ACK confirms (RFC 1986 2.1, 2.3). */
#include "decode/netblt.h"
#include "rules/etftp.h"
#include "rules/judge.h"
#include "rules/sizes.h"

/* What an OK or NULL-ACK offers or confirms. */
struct offer {
    uint16_t packet_size;
    uint16_t burst_size;
    uint16_t burst_interval;
};

struct offers {
    struct offer offer; /* RESPONSE, then the newest OK */
    struct offer confirmed;
    uint16_t offered;        /* size in the newest OK that changes it and is not confirmed; 0: none */
    uint32_t offered_frame;  /* of that OK */
    uint32_t buffer_packets; /* of a full buffer */
    uint32_t asked;          /* packet numbers in RESENDs since the newest OK */
};

static size_t place;

void nb_etftp_offers_register(void)
{
    place = nb_stream_reserve(sizeof(struct offers));
}

static void take_opening(const struct nb_event *event, struct offers *state)
{
    const struct nb_packet *packet = event->packet;

    nb_sizes_flags(event);
    if (packet->type == NB_RESPONSE && state->confirmed.packet_size == 0) {
        state->offer = (struct offer){packet->data_packet_size, packet->burst_size, packet->burst_interval};
        state->confirmed = state->offer;
        state->buffer_packets = packet->data_packet_size == 0 ? 0 : packet->buffer_size / packet->data_packet_size;
    }
}

/* R1986-05, R1986-09, R1986-28 */
static void judge_size(const struct nb_event *event, uint16_t size, const char *what)
{
    const struct nb_stream *stream = event->stream;
    const uint16_t agreed = stream->data_packet_size;
    const struct nb_charge none = {
        .rule = NB_RULE_R1986_SIZE, .offender = event->end, .excuse = "0 may mean the size that was agreed"};
    const struct nb_charge other = {
        .rule = NB_RULE_R1986_FIXED_SIZE, .offender = event->end, .forgiven = NB_DOUBTS_OF_LOSS};
    const struct nb_charge small = {.rule = NB_RULE_R1986_RANGE, .offender = event->end, .alone = true};

    if (size != 0 && size < NB_ETFTP_SMALLEST_DATA) {
        nb_blame(event, &small, "%s with data packets of %u bytes, ETFTP has %d and more", what, size,
                 NB_ETFTP_SMALLEST_DATA);
    }
    if (nb_sizes_are_open(stream)) {
        if (size == 0) {
            nb_blame(event, &none, "%s without a packet size, though both ends set R", what);
        } else {
            nb_keep(event, NB_RULE_R1986_SIZE);
        }
    } else if (!stream->open_seen || !stream->response_seen) {
        return; /* the one that was not captured may set R */
    } else if (size != 0 && size != agreed) {
        nb_blame(event, &other, "%s with packets of %u bytes, %u were agreed, and not both ends set R", what, size,
                 agreed);
    } else {
        nb_keep(event, NB_RULE_R1986_FIXED_SIZE);
    }
}

/* R1986-08: half of a buffer or more was requested again. */
static void judge_back_off(const struct nb_event *event, struct offers *state, const struct offer *offer)
{
    const bool slower = (offer->packet_size != 0 && offer->packet_size < state->offer.packet_size) ||
                        (offer->burst_size != 0 && offer->burst_size < state->offer.burst_size) ||
                        offer->burst_interval > state->offer.burst_interval;

    if (state->buffer_packets > 0 && state->asked * 2 >= state->buffer_packets && slower) {
        nb_keep(event, NB_RULE_R1986_BACK_OFF);
    }
    state->asked = 0;
}

static void take_ok(const struct nb_event *event, struct offers *state, const struct nb_message *message)
{
    tvbuff_t *tvb = event->packet->tvb;
    const struct offer offer = {.packet_size =
                                    tvb_get_ntohs(tvb, message->offset + event->packet->layout->ok_packet_size),
                                .burst_size = tvb_get_ntohs(tvb, message->offset + 8),
                                .burst_interval = tvb_get_ntohs(tvb, message->offset + 10)};

    judge_size(event, offer.packet_size, "OK");
    judge_back_off(event, state, &offer);
    state->offer = offer;
    nb_sizes_offer(event, offer.packet_size);
    if (offer.packet_size != 0 && state->confirmed.packet_size != 0 &&
        offer.packet_size != state->confirmed.packet_size) {
        state->offered = offer.packet_size;
        state->offered_frame = event->frame;
    }
}

static void take_control(const struct nb_event *event, struct offers *state)
{
    struct nb_message message;
    int offset = NB_HEADER_BYTES;

    while (nb_next_message(event->packet, &offset, &message) == NB_MESSAGE) {
        if (message.type == NB_OK) {
            take_ok(event, state, &message);
        } else if (message.type == NB_RESEND) {
            state->asked += message.count;
        }
    }
}

static void take_null_ack(const struct nb_event *event, struct offers *state)
{
    const struct nb_packet *packet = event->packet;
    const struct offer now = {.packet_size = packet->data_packet_size,
                              .burst_size = packet->burst_size,
                              .burst_interval = packet->burst_interval};

    judge_size(event, now.packet_size, "NULL-ACK");
    if (now.packet_size != state->confirmed.packet_size || now.burst_size != state->confirmed.burst_size ||
        now.burst_interval != state->confirmed.burst_interval) {
        nb_keep(event, NB_RULE_R1986_NULL_ACK);
    }
    if (now.packet_size == state->offered) {
        state->offered = 0;
    }
    state->confirmed = now;
}

/* R1986-06: the sender does as the OK offers, and has not said so. An LDATA may have any length. */
static void judge_confirmation(const struct nb_event *event, struct offers *state)
{
    const int length = event->packet->length - event->packet->layout->data;
    const struct nb_charge charge = {.rule = NB_RULE_R1986_NULL_ACK,
                                     .offender = event->end,
                                     .request_frame = state->offered_frame,
                                     .excuse = "a NULL-ACK may have been sent before the capture"};

    if (event->packet->type == NB_DATA && state->offered != 0 && length == state->offered &&
        nb_is_unbroken(event->stream, event->end)) {
        state->offered = 0;
        nb_blame(event, &charge, "DATA of %d bytes, which frame %u offered and no NULL-ACK has confirmed", length,
                 state->offered_frame);
    }
}

void nb_etftp_offers(const struct nb_event *event)
{
    struct offers *state = (struct offers *)nb_stream_reserved(event->stream, place);

    switch (event->packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        take_opening(event, state);
        break;
    case NB_CONTROL:
        take_control(event, state);
        break;
    case NB_NULL_ACK:
        take_null_ack(event, state);
        break;
    case NB_DATA:
        judge_confirmation(event, state);
        break;
    default:
        break;
    }
}
