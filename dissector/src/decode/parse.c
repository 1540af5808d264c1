/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses one packet into a structure. */
#include "decode/parse.h"

#include "decode/checksum.h"

const value_string nb_type_names[] = {{NB_OPEN, "OPEN"},
                                      {NB_RESPONSE, "RESPONSE"},
                                      {NB_KEEPALIVE, "KEEPALIVE"},
                                      {NB_QUIT, "QUIT"},
                                      {NB_QUITACK, "QUITACK"},
                                      {NB_ABORT, "ABORT"},
                                      {NB_DATA, "DATA"},
                                      {NB_LDATA, "LDATA"},
                                      {NB_NULL_ACK, "NULL-ACK"},
                                      {NB_CONTROL, "CONTROL"},
                                      {NB_REFUSED, "REFUSED"},
                                      {NB_DONE, "DONE"},
                                      {NB_TEXT_MESSAGE, "MESSAGE"},
                                      {0, NULL}};

bool nb_is_data(uint8_t type)
{
    return type == NB_DATA || type == NB_LDATA;
}

bool nb_has_high_seq(uint8_t type)
{
    return nb_is_data(type) || type == NB_NULL_ACK;
}

const char *nb_type_name(uint8_t type)
{
    return type <= NB_TEXT_MESSAGE ? nb_type_names[type].strptr : NULL;
}

static enum nb_status judge_header(struct nb_packet *packet)
{
    const bool cut = packet->fragment || packet->captured < packet->reported;
    const int type = nb_type_of_code(packet->dialect, packet->version, packet->type_code);

    if (type < 0) {
        packet->type = packet->type_code;
        return NB_UNKNOWN_TYPE;
    }
    packet->type = (uint8_t)type;
    const int minimum = nb_minimum_length(packet->layout, packet->type);
    if (packet->length < minimum) {
        return NB_LENGTH_BELOW;
    }
    if (packet->length > packet->reported && !packet->fragment) {
        return NB_LENGTH_BEYOND;
    }
    if (cut && packet->captured < minimum) {
        return NB_CUT;
    }
    return NB_SOUND;
}

bool nb_is_guarded(const struct nb_packet *packet)
{
    static const char prefix[] = " guard=";
    enum { PREFIX = sizeof(prefix) - 1, DIGITS = 16 };
    int end = MIN(packet->end, packet->captured);

    while (end > packet->layout->client_string && tvb_get_uint8(packet->tvb, end - 1) == 0) {
        end--;
    }
    const int at = end - DIGITS - PREFIX;
    if (packet->type != NB_RESPONSE || at < packet->layout->client_string ||
        tvb_memeql(packet->tvb, at, (const uint8_t *)prefix, PREFIX) != 0) {
        return false;
    }
    for (int i = at + PREFIX; i < end; i++) {
        if (!g_ascii_isxdigit(tvb_get_uint8(packet->tvb, i))) {
            return false;
        }
    }
    return true;
}

/* CKSUM-01, CKSUM-03: everything up to Length is covered, of DATA and LDATA the header only. A sum over the
 * whole DATA packet is a known other reading (AMB-04), named as such. */
static void verify_header(struct nb_packet *packet)
{
    const bool data = nb_is_data(packet->type);
    const int covered = data ? packet->layout->data : packet->length;

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

static void read_open(struct nb_packet *packet)
{
    tvbuff_t *tvb = packet->tvb;
    const int sizes = packet->layout->data_packet_size;

    packet->uid = tvb_get_ntohl(tvb, 12);
    packet->buffer_size = tvb_get_ntohl(tvb, 16);
    packet->transfer_size = packet->layout->transfer_size ? tvb_get_ntohl(tvb, packet->layout->transfer_size) : 0;
    packet->data_packet_size = tvb_get_ntohs(tvb, sizes);
    packet->burst_size = tvb_get_ntohs(tvb, sizes + 2);
    packet->burst_interval = tvb_get_ntohs(tvb, sizes + 4);
    packet->death_timer = tvb_get_ntohs(tvb, sizes + 6);
    packet->open_flags = tvb_get_ntohs(tvb, sizes + 8);
    packet->max_buffers = tvb_get_ntohs(tvb, sizes + 10);
}

static void read_data(struct nb_packet *packet)
{
    tvbuff_t *tvb = packet->tvb;
    const struct nb_layout *layout = packet->layout;

    packet->buffer = tvb_get_ntohl(tvb, 12);
    packet->high_seq = tvb_get_ntohs(tvb, layout->high_seq);
    packet->packet = tvb_get_ntohs(tvb, layout->high_seq + 2);
    packet->data_flags = tvb_get_ntohs(tvb, layout->high_seq + 6);
    if (layout->data_burst) {
        packet->burst_size = tvb_get_ntohs(tvb, layout->data_burst);
        packet->burst_interval = tvb_get_ntohs(tvb, layout->data_burst + 2);
    }
}

static void read_null_ack(struct nb_packet *packet)
{
    tvbuff_t *tvb = packet->tvb;
    const struct nb_layout *layout = packet->layout;

    packet->high_seq = tvb_get_ntohs(tvb, layout->null_ack_high_seq);
    packet->burst_size = tvb_get_ntohs(tvb, layout->null_ack_high_seq + 2);
    packet->burst_interval = tvb_get_ntohs(tvb, layout->null_ack_high_seq + 4);
    if (layout->null_ack_packet_size) {
        packet->data_packet_size = tvb_get_ntohs(tvb, layout->null_ack_packet_size);
    }
}

static void read_body(struct nb_packet *packet)
{
    switch (packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        read_open(packet);
        break;
    case NB_DATA:
    case NB_LDATA:
        read_data(packet);
        break;
    case NB_NULL_ACK:
        read_null_ack(packet);
        break;
    default:
        break;
    }
}

static void parse_as(struct nb_packet *packet, enum nb_dialect dialect, bool verify)
{
    packet->dialect = dialect;
    packet->layout = nb_layout_of(dialect);
    packet->header_checksum = NB_UNVERIFIED;
    packet->end = packet->reported;
    packet->status = judge_header(packet);
    if (packet->status != NB_SOUND) {
        return;
    }
    packet->end = MIN((int)packet->length, packet->reported);
    if (verify) {
        verify_header(packet);
    }
}

/* A wrong Length speaks for no dialect: most types are summed whole in all of them. */
static bool speaks_against(const struct nb_packet *packet)
{
    return packet->status == NB_UNKNOWN_TYPE || (packet->status == NB_SOUND && packet->header_checksum == NB_BAD);
}

/* RFC 998 and ETFTP differ in OPEN and RESPONSE: the latter has four bytes more before the string. The port decides
 * unless only one of the readings makes sense. */
static enum nb_dialect tell_etftp(struct nb_packet *packet, const struct nb_reading *reading)
{
    const bool open = packet->type == NB_OPEN || packet->type == NB_RESPONSE;

    if (packet->dialect == NB_VERSION4 || !reading->udp) {
        packet->dialect_certain = true;
        return packet->dialect;
    }
    if (open && packet->status == NB_SOUND && packet->captured >= packet->end && !packet->fragment) {
        const bool etftp = nb_strings_as_etftp(packet->tvb, packet->end);
        const bool rfc998 = nb_strings_as_rfc998(packet->tvb, packet->end);
        if (etftp != rfc998) {
            packet->dialect_certain = true;
            return etftp && (packet->open_flags & NB_ETFTP_RESERVED) == 0 ? NB_ETFTP : NB_RFC998;
        }
    }
    return reading->etftp_port ? NB_ETFTP : NB_RFC998;
}

/* The version byte decides (AMB-01), unless only the other reading holds: RFC 998 leaves its value open. */
static void parse_any(struct nb_packet *packet, const struct nb_reading *reading)
{
    const bool newer = packet->version == NB_VERSION_TACO2 || packet->version == NB_VERSION_DRAFT;
    const enum nb_dialect likely = newer ? NB_VERSION4 : NB_RFC998;

    parse_as(packet, likely, reading->verify);
    if (speaks_against(packet)) {
        struct nb_packet other = *packet;

        parse_as(&other, likely == NB_RFC998 ? NB_VERSION4 : NB_RFC998, true);
        if (other.status == NB_SOUND && other.header_checksum == NB_GOOD) {
            *packet = other;
            packet->header_checksum = reading->verify ? NB_GOOD : NB_UNVERIFIED;
        }
    }
}

void nb_read_as(struct nb_packet *packet, enum nb_dialect dialect)
{
    const struct nb_layout *layout = nb_layout_of(dialect);

    if (packet->dialect == dialect || packet->dialect == NB_VERSION4 || dialect == NB_VERSION4 || dialect == NB_AUTO) {
        return;
    }
    if (packet->status == NB_SOUND && packet->length < nb_minimum_length(layout, packet->type)) {
        return; /* an OPEN that is too short for it */
    }
    packet->dialect = dialect;
    packet->layout = layout;
    if (packet->status == NB_SOUND && packet->type == NB_NULL_ACK) {
        read_null_ack(packet); /* all that was read in other packets is where it was */
    }
}

void nb_parse(struct nb_packet *packet, tvbuff_t *tvb, const struct nb_reading *reading)
{
    memset(packet, 0, sizeof(*packet));
    packet->tvb = tvb;
    packet->reported = (int)tvb_reported_length(tvb);
    packet->captured = (int)tvb_captured_length(tvb);
    packet->fragment = reading->fragment;
    packet->end = packet->reported;
    packet->dialect = reading->dialect == NB_AUTO ? NB_RFC998 : reading->dialect;
    packet->layout = nb_layout_of(packet->dialect);
    if (packet->captured < NB_HEADER_BYTES) {
        packet->status = packet->reported < NB_HEADER_BYTES && !packet->fragment ? NB_SHORT : NB_CUT;
        return;
    }
    packet->checksum = tvb_get_ntohs(tvb, 0);
    packet->version = tvb_get_uint8(tvb, 2);
    packet->type_code = tvb_get_uint8(tvb, 3);
    packet->length = tvb_get_ntohs(tvb, 4);
    packet->local_port = tvb_get_ntohs(tvb, 6);
    packet->foreign_port = tvb_get_ntohs(tvb, 8);
    if (reading->dialect == NB_AUTO) {
        parse_any(packet, reading);
    } else {
        packet->dialect_certain = true;
        parse_as(packet, reading->dialect, reading->verify);
    }
    if (packet->status == NB_SOUND) {
        read_body(packet);
    }
    if (reading->dialect == NB_AUTO) {
        nb_read_as(packet, tell_etftp(packet, reading));
    }
}

/* WIRE-12. Sizes are fixed by type and count; nothing here reads after the packet or stays in place. */
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
        message->bytes = packet->layout->resend_list;
        message->list = at + packet->layout->resend_list;
        if (left >= message->bytes && captured >= message->bytes) {
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

uint16_t nb_resend_entry(const struct nb_packet *packet, const struct nb_message *message, unsigned entry)
{
    return tvb_get_ntohs(packet->tvb, message->list + 2 * (int)entry);
}
