/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What follows the header, type by type (RFC 998 section 8). Where each field lies is the dialect's business. */
#include "decode/show-body.h"

#include "decode/checksum.h"
#include "decode/fields.h"
#include "decode/show-control.h"

static bool captured(const struct nb_view *view, int offset, int bytes)
{
    return offset + bytes <= view->packet->captured;
}

static proto_item *add(const struct nb_view *view, int hf, int offset, int bytes)
{
    return captured(view, offset, bytes)
               ? proto_tree_add_item(view->tree, hf, view->packet->tvb, offset, bytes, ENC_BIG_ENDIAN)
               : NULL;
}

/* A 16-bit field that should be zero. */
static void add_padding(const struct nb_view *view, int offset)
{
    proto_item *item = add(view, hf_netblt_padding, offset, 2);

    if (captured(view, offset, 2) && tvb_get_ntohs(view->packet->tvb, offset) != 0) {
        expert_add_info(view->pinfo, item, &ei_netblt_padding);
    }
}

/* Two netblt commands put a hash there. */
static void add_guard(const struct nb_view *view, int offset)
{
    proto_item_append_text(add(view, hf_netblt_padding, offset, 2), " (hash of a guarded connection)");
}

/* The flag word, its bits, and a complaint about reserved ones (WIRE-09, WIRE-10). */
static void add_flags(const struct nb_view *view, int offset, int *const *bits, uint16_t reserved)
{
    if (!captured(view, offset, 2)) {
        return;
    }
    proto_item *item = proto_tree_add_bitmask(view->tree, view->packet->tvb, offset, hf_netblt_flags, ett_netblt_flags,
                                              bits, ENC_BIG_ENDIAN);
    if (tvb_get_ntohs(view->packet->tvb, offset) & reserved) {
        expert_add_info(view->pinfo, item, &ei_netblt_reserved);
    }
}

/* WIRE-07: text, at least one NUL, NULs up to a multiple of 4. An absent field is tolerated (AMB-03). */
static void add_string(const struct nb_view *view, int hf, int offset)
{
    tvbuff_t *tvb = view->packet->tvb;
    const int end = MIN(view->packet->end, view->packet->captured);
    const bool whole = view->packet->end <= view->packet->captured && !view->packet->fragment;

    if (end <= offset) {
        return;
    }
    proto_item *item = proto_tree_add_item(view->tree, hf, tvb, offset, end - offset, ENC_UTF_8 | ENC_NA);
    bool ended = false;
    for (int i = offset; i < end; i++) {
        const bool zero = tvb_get_uint8(tvb, i) == 0;
        if (ended && !zero) {
            expert_add_info(view->pinfo, item, &ei_netblt_string_tail);
            return;
        }
        ended = ended || zero;
    }
    if (!ended && whole) {
        expert_add_info(view->pinfo, item, &ei_netblt_string_unterminated);
    }
}

/* The string for the Info column: printable ASCII only, up to the NUL. */
static const char *string_at(const struct nb_view *view, int offset)
{
    const int end = MIN(view->packet->end, view->packet->captured);
    wmem_strbuf_t *text = wmem_strbuf_new(view->pinfo->pool, "");

    for (int i = offset; i < end; i++) {
        const uint8_t c = tvb_get_uint8(view->packet->tvb, i);
        if (c == 0) {
            break;
        }
        wmem_strbuf_append_c(text, g_ascii_isprint(c) ? (char)c : '.');
    }
    return wmem_strbuf_get_str(text);
}

static void add_open_fields(const struct nb_view *view)
{
    static int *const plain_bits[] = {&hf_netblt_flags_reserved_open, &hf_netblt_flags_data_checksum,
                                      &hf_netblt_flags_write, NULL};
    static int *const etftp_bits[] = {&hf_netblt_flags_reserved_etftp, &hf_netblt_flags_renegotiate,
                                      &hf_netblt_flags_binary,         &hf_netblt_flags_data_checksum,
                                      &hf_netblt_flags_write_etftp,    NULL};
    const struct nb_layout *layout = view->packet->layout;
    const int sizes = layout->data_packet_size;

    add(view, hf_netblt_uid, 12, 4);
    add(view, hf_netblt_buffer_size, 16, 4);
    if (layout->transfer_size) {
        add(view, hf_netblt_transfer_size, layout->transfer_size, 4);
    }
    add(view, hf_netblt_packet_size, sizes, 2);
    add(view, hf_netblt_burst_size, sizes + 2, 2);
    add(view, hf_netblt_burst_interval, sizes + 4, 2);
    add(view, hf_netblt_death_timer, sizes + 6, 2);
    add_flags(view, sizes + 8, view->packet->dialect == NB_ETFTP ? etftp_bits : plain_bits, layout->open_reserved);
    add(view, hf_netblt_max_buffers, sizes + 10, 2);
    if (layout->radio_delay) {
        add(view, hf_netblt_radio_delay, layout->radio_delay, 2);
        add_padding(view, layout->radio_delay + 2);
    }
    add_string(view, hf_netblt_client_string, layout->client_string);
}

/* WIRE-08 */
static void show_open(const struct nb_view *view)
{
    const struct nb_packet *packet = view->packet;

    add_open_fields(view);
    const char *name = string_at(view, packet->layout->client_string);
    nb_info(view, wmem_strdup_printf(
                      view->pinfo->pool, " %u -> %u %s buf %u pkt %u burst %u/%u ms, %u buffers%s%s%s%s uid 0x%08x",
                      packet->local_port, packet->foreign_port, nb_mode_name(packet->dialect, packet->open_flags),
                      packet->buffer_size, packet->data_packet_size, packet->burst_size, packet->burst_interval,
                      packet->max_buffers, packet->open_flags & NB_OPEN_DATA_CHECKSUM ? ", data checksummed" : "",
                      *name ? " \"" : "", name, *name ? "\"" : "", packet->uid));
}

/* KEEPALIVE, QUITACK, DONE: the header is all there is (WIRE-06). */
static void show_header_only(const struct nb_view *view)
{
    const int bytes = MIN(view->packet->end, view->packet->captured) - NB_HEADER_BYTES;

    if (view->packet->length > NB_HEADER_BYTES) {
        expert_add_info(view->pinfo, view->root, &ei_netblt_length_wrong);
    }
    if (bytes > 0) {
        proto_tree_add_item(view->tree, hf_netblt_undecoded, view->packet->tvb, NB_HEADER_BYTES, bytes, ENC_NA);
    }
}

/* QUIT, ABORT, REFUSED; MESSAGE of version 5 */
static void show_reason(const struct nb_view *view)
{
    const char *reason = string_at(view, NB_HEADER_BYTES);

    add_string(view, hf_netblt_reason, NB_HEADER_BYTES);
    if (*reason) {
        nb_info(view, wmem_strdup_printf(view->pinfo->pool, " \"%s\"", reason));
    }
}

/* CKSUM-04, CKSUM-05: only with C=1 in the RESPONSE does the field mean anything. */
static void add_data_checksum(const struct nb_view *view)
{
    const struct nb_packet *packet = view->packet;
    const int at = packet->layout->high_seq + 4;
    const bool judged =
        view->verify && view->known.data_checksummed && packet->end <= packet->captured && !packet->fragment;

    if (!judged) {
        proto_tree_add_checksum(view->tree, packet->tvb, at, hf_netblt_data_checksum, hf_netblt_data_checksum_status,
                                NULL, view->pinfo, 0, ENC_BIG_ENDIAN, PROTO_CHECKSUM_NO_FLAGS);
        return;
    }
    const uint16_t found = tvb_get_ntohs(packet->tvb, at);
    if (packet->data_checksum == NB_GOOD) {
        proto_tree_add_checksum(view->tree, packet->tvb, at, hf_netblt_data_checksum, hf_netblt_data_checksum_status,
                                &ei_netblt_data_checksum_bad, view->pinfo, found, ENC_BIG_ENDIAN,
                                PROTO_CHECKSUM_VERIFY);
        return;
    }
    const uint16_t sum = nb_sum(packet->tvb, packet->layout->data, packet->end - packet->layout->data);
    const bool good = nb_data_sum_fits(sum, found);
    proto_tree_add_checksum(view->tree, packet->tvb, at, hf_netblt_data_checksum, hf_netblt_data_checksum_status,
                            &ei_netblt_data_checksum_bad, view->pinfo, good ? found : (uint16_t)~sum, ENC_BIG_ENDIAN,
                            PROTO_CHECKSUM_VERIFY);
}

/* No tree is built, and nothing is wrong that an expert item would report. */
static bool nobody_looks(const struct nb_view *view)
{
    return view->tree == NULL && view->known.record != NULL && !view->known.data_spoilt &&
           !(view->packet->data_flags & NB_DATA_RESERVED);
}

static char *put_text(char *at, const char *text)
{
    while (*text != 0) {
        *at++ = *text++;
    }
    return at;
}

static char *put_number(char *at, uint32_t number)
{
    char digits[10];
    unsigned count = 0;

    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        *at++ = digits[--count];
    }
    return at;
}

/* " buf 3 pkt 7 ack 12": nearly every packet has this line, and formats cost more than all else about it. */
static void data_info(const struct nb_packet *packet, char *text)
{
    text = put_number(put_text(text, " buf "), packet->buffer);
    text = put_number(put_text(text, " pkt "), packet->packet);
    text = put_number(put_text(text, " ack "), packet->high_seq);
    text = put_text(text, packet->data_flags & NB_DATA_LAST_BUFFER ? " last buffer" : "");
    *text = 0;
}

/* DATA and LDATA (WIRE-10) */
static void show_data(const struct nb_view *view)
{
    static int *const bits[] = {&hf_netblt_flags_reserved_data, &hf_netblt_flags_last_buffer, NULL};
    const struct nb_packet *packet = view->packet;
    const struct nb_layout *layout = packet->layout;
    const int bytes = MIN(packet->end, packet->captured) - layout->data;
    char info[64];

    data_info(packet, info);
    col_append_str(view->pinfo->cinfo, COL_INFO, info);
    if (nobody_looks(view)) {
        return;
    }
    add(view, hf_netblt_buffer, 12, 4);
    if (layout->last_touched) {
        add(view, hf_netblt_last_touched, layout->last_touched, 4);
    }
    add(view, hf_netblt_high_seq, layout->high_seq, 2);
    add(view, hf_netblt_packet, layout->high_seq + 2, 2);
    add_data_checksum(view);
    add_flags(view, layout->high_seq + 6, bits, NB_DATA_RESERVED);
    if (layout->data_burst) {
        add(view, hf_netblt_burst_size, layout->data_burst, 2);
        add(view, hf_netblt_burst_interval, layout->data_burst + 2, 2);
    }
    if (bytes > 0) {
        proto_tree_add_item(view->tree, hf_netblt_data, packet->tvb, layout->data, bytes, ENC_NA);
    }
    proto_item_append_text(view->root, "%s", info);
}

/* WIRE-11 */
static void show_null_ack(const struct nb_view *view)
{
    static int *const bits[] = {&hf_netblt_flags_reserved_data, &hf_netblt_flags_last_buffer, NULL};
    const struct nb_packet *packet = view->packet;
    const struct nb_layout *layout = packet->layout;
    const int high = layout->null_ack_high_seq;

    if (layout->null_ack_touched) {
        add(view, hf_netblt_last_touched, layout->null_ack_touched, 4);
    }
    add(view, hf_netblt_high_seq, high, 2);
    add(view, hf_netblt_burst_size, high + 2, 2);
    add(view, hf_netblt_burst_interval, high + 4, 2);
    if (layout->null_ack_packet_size) {
        add(view, hf_netblt_packet_size, layout->null_ack_packet_size, 2);
    } else if (layout->null_ack_flags) {
        add_flags(view, layout->null_ack_flags, bits, NB_DATA_RESERVED);
    } else if (view->known.guarded) {
        add_guard(view, high + 6);
    } else {
        add_padding(view, high + 6);
    }
    if (packet->length != layout->null_ack) {
        expert_add_info(view->pinfo, view->root, &ei_netblt_length_wrong);
    }
    const char *size =
        layout->null_ack_packet_size ? wmem_strdup_printf(view->pinfo->pool, " pkt %u", packet->data_packet_size) : "";
    nb_info(view, wmem_strdup_printf(view->pinfo->pool, " ack %u%s burst %u/%u ms", packet->high_seq, size,
                                     packet->burst_size, packet->burst_interval));
}

void nb_show_body(const struct nb_view *view)
{
    switch (view->packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        show_open(view);
        break;
    case NB_QUIT:
    case NB_ABORT:
    case NB_REFUSED:
    case NB_TEXT_MESSAGE:
        show_reason(view);
        break;
    case NB_DATA:
    case NB_LDATA:
        show_data(view);
        break;
    case NB_NULL_ACK:
        show_null_ack(view);
        break;
    case NB_CONTROL:
        nb_show_control(view);
        break;
    default:
        show_header_only(view);
        break;
    }
}
