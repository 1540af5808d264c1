/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse.h"

#include "checksum.h"

static const struct {
    const char *name;
    int minimum;
} types[NB_TYPES] = {
    [NB_OPEN] = {"OPEN", NB_OPEN_BYTES},
    [NB_RESPONSE] = {"RESPONSE", NB_OPEN_BYTES},
    [NB_KEEPALIVE] = {"KEEPALIVE", NB_HEADER_BYTES},
    [NB_QUIT] = {"QUIT", NB_HEADER_BYTES},
    [NB_QUITACK] = {"QUITACK", NB_HEADER_BYTES},
    [NB_ABORT] = {"ABORT", NB_HEADER_BYTES},
    [NB_DATA] = {"DATA", NB_DATA_HEADER_BYTES},
    [NB_LDATA] = {"LDATA", NB_DATA_HEADER_BYTES},
    [NB_NULL_ACK] = {"NULL-ACK", NB_NULL_ACK_BYTES},
    [NB_CONTROL] = {"CONTROL", NB_HEADER_BYTES},
    [NB_REFUSED] = {"REFUSED", NB_HEADER_BYTES},
    [NB_DONE] = {"DONE", NB_HEADER_BYTES},
};

bool nb_is_data(uint8_t type)
{
    return type == NB_DATA || type == NB_LDATA;
}

bool nb_has_high_seq(uint8_t type)
{
    return nb_is_data(type) || type == NB_NULL_ACK;
}

int nb_minimum_length(uint8_t type)
{
    return type < NB_TYPES ? types[type].minimum : NB_HEADER_BYTES;
}

const char *nb_type_name(uint8_t type)
{
    return type < NB_TYPES ? types[type].name : NULL;
}

static enum nb_status judge_header(const struct nb_packet *packet)
{
    const bool cut = packet->fragment || packet->captured < packet->reported;

    if (packet->version == NB_VERSION_TACO2 || packet->version == NB_VERSION_DRAFT) {
        return NB_OTHER_DIALECT;
    }
    if (packet->type >= NB_TYPES) {
        return NB_UNKNOWN_TYPE;
    }
    if (packet->length < nb_minimum_length(packet->type)) {
        return NB_LENGTH_BELOW;
    }
    if (packet->length > packet->reported && !packet->fragment) {
        return NB_LENGTH_BEYOND;
    }
    if (cut && packet->captured < nb_minimum_length(packet->type)) {
        return NB_CUT;
    }
    return NB_SOUND;
}

/* CKSUM-01, CKSUM-03: everything up to Length is covered, of DATA and LDATA the 24-byte header only. A sum over the
 * whole DATA packet is a known other reading (AMB-04), named as such. */
static void verify_header(struct nb_packet *packet)
{
    const bool data = nb_is_data(packet->type);
    const int covered = data ? NB_DATA_HEADER_BYTES : packet->length;

    if (packet->captured < covered || packet->fragment) {
        return;
    }
    packet->header_sum = nb_sum(packet->tvb, 0, covered);
    if (nb_sum_fits(packet->header_sum)) {
        packet->header_checksum = NB_GOOD;
    } else if (data && packet->captured >= packet->length && nb_sum_fits(nb_sum(packet->tvb, 0, packet->length))) {
        packet->header_checksum = NB_COVERS_DATA;
    } else {
        packet->header_checksum = NB_BAD;
    }
}

static void read_body(struct nb_packet *packet)
{
    tvbuff_t *tvb = packet->tvb;

    switch (packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        packet->uid = tvb_get_ntohl(tvb, 12);
        packet->data_packet_size = tvb_get_ntohs(tvb, 24);
        packet->open_flags = tvb_get_ntohs(tvb, 32);
        break;
    case NB_DATA:
    case NB_LDATA:
        packet->buffer = tvb_get_ntohl(tvb, 12);
        packet->high_seq = tvb_get_ntohs(tvb, 16);
        packet->packet = tvb_get_ntohs(tvb, 18);
        packet->data_flags = tvb_get_ntohs(tvb, 22);
        break;
    case NB_NULL_ACK:
        packet->high_seq = tvb_get_ntohs(tvb, 12);
        break;
    default:
        break;
    }
}

void nb_parse(struct nb_packet *packet, tvbuff_t *tvb, bool fragment, bool verify)
{
    memset(packet, 0, sizeof(*packet));
    packet->tvb = tvb;
    packet->reported = (int)tvb_reported_length(tvb);
    packet->captured = (int)tvb_captured_length(tvb);
    packet->fragment = fragment;
    packet->end = packet->reported;
    if (packet->captured < NB_HEADER_BYTES) {
        packet->status = packet->reported < NB_HEADER_BYTES && !fragment ? NB_SHORT : NB_CUT;
        return;
    }
    packet->checksum = tvb_get_ntohs(tvb, 0);
    packet->version = tvb_get_uint8(tvb, 2);
    packet->type = tvb_get_uint8(tvb, 3);
    packet->length = tvb_get_ntohs(tvb, 4);
    packet->local_port = tvb_get_ntohs(tvb, 6);
    packet->foreign_port = tvb_get_ntohs(tvb, 8);
    packet->status = judge_header(packet);
    if (packet->status != NB_SOUND) {
        return;
    }
    packet->end = MIN((int)packet->length, packet->reported);
    if (verify) {
        verify_header(packet);
    }
    read_body(packet);
}

/* WIRE-12. Sizes are fixed by type and count; nothing here reads behind the packet or stands still. */
enum nb_walk nb_next_message(const struct nb_packet *packet, int *offset, struct nb_message *message)
{
    tvbuff_t *tvb = packet->tvb;
    const int at = *offset;
    const int left = packet->end - at;
    const int captured = packet->captured - at;

    if (left <= 0) {
        return packet->end < packet->length ? NB_WALK_CUT : NB_END;
    }
    if (captured < MIN(left, NB_GO_BYTES)) {
        return NB_WALK_CUT;
    }
    message->offset = at;
    message->count = 0;
    message->type = tvb_get_uint8(tvb, at);
    if (left < NB_GO_BYTES) {
        return NB_RESIDUE;
    }
    message->seq = tvb_get_ntohs(tvb, at + 2);
    message->buffer = tvb_get_ntohl(tvb, at + 4);
    switch (message->type) {
    case NB_GO:
        message->bytes = NB_GO_BYTES;
        break;
    case NB_OK:
        message->bytes = NB_OK_BYTES;
        break;
    case NB_RESEND:
        message->bytes = NB_RESEND_HEADER_BYTES;
        if (left >= NB_RESEND_HEADER_BYTES && captured >= NB_RESEND_HEADER_BYTES) {
            message->count = tvb_get_ntohs(tvb, at + 8);
            message->bytes += (message->count + 1) / 2 * 4;
        }
        break;
    default:
        return NB_UNKNOWN_MESSAGE;
    }
    if (message->bytes > left) {
        return NB_OVERRUN;
    }
    if (message->bytes > captured) {
        return NB_WALK_CUT;
    }
    *offset = at + message->bytes;
    return NB_MESSAGE;
}

uint16_t nb_resend_entry(const struct nb_packet *packet, const struct nb_message *message, unsigned index)
{
    return tvb_get_ntohs(packet->tvb, message->offset + NB_RESEND_HEADER_BYTES + 2 * (int)index);
}
