/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows NETBLT packets (RFC 998 section 8) field by field. What happened between packets is analysis.c's business. */
#include "packet-netblt.h"

#include "compat.h"

#include <epan/dissectors/packet-ip.h>

#include "analysis.h"
#include "checksum.h"
#include "control.h"
#include "fields.h"
#include "findings.h"
#include "parse.h"
#include "position.h"
#include "stream.h"

int proto_netblt = -1;

static dissector_handle_t netblt_handle;
static nb_pref_bool pref_check_checksum = TRUE;
static gint pref_position = NB_POSITION_AUTO;

/* One field of a fixed layout. */
struct layout {
    const int *hf;
    int offset;
    int bytes;
};

struct view {
    const struct nb_packet *packet;
    packet_info *pinfo;
    proto_tree *tree;
    proto_item *root;
    const struct nb_record *record; /* NULL when the packet belongs to no stream */
};

static bool captured(const struct view *view, int offset, int bytes)
{
    return offset + bytes <= view->packet->captured;
}

static void add_layout(const struct view *view, const struct layout *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (captured(view, fields[i].offset, fields[i].bytes)) {
            proto_tree_add_item(view->tree, *fields[i].hf, view->packet->tvb, fields[i].offset, fields[i].bytes,
                                ENC_BIG_ENDIAN);
        }
    }
}

/* The flag word, its bits, and a complaint about reserved ones (WIRE-09, WIRE-10). */
static void add_flags(const struct view *view, int offset, int *const *bits, uint16_t reserved)
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
static void add_string(const struct view *view, int hf, int offset)
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
static const char *string_at(const struct view *view, int offset)
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

static void info(const struct view *view, const char *text)
{
    col_append_str(view->pinfo->cinfo, COL_INFO, text);
    proto_item_append_text(view->root, "%s", text);
}

/* WIRE-08 */
static void dissect_open(const struct view *view)
{
    static const struct layout before[] = {{&hf_netblt_uid, 12, 4},           {&hf_netblt_buffer_size, 16, 4},
                                           {&hf_netblt_transfer_size, 20, 4}, {&hf_netblt_packet_size, 24, 2},
                                           {&hf_netblt_burst_size, 26, 2},    {&hf_netblt_burst_interval, 28, 2},
                                           {&hf_netblt_death_timer, 30, 2}};
    static const struct layout after[] = {{&hf_netblt_max_buffers, 34, 2}};
    static int *const bits[] = {&hf_netblt_flags_reserved_open, &hf_netblt_flags_data_checksum, &hf_netblt_flags_write,
                                NULL};
    const struct nb_packet *packet = view->packet;
    tvbuff_t *tvb = packet->tvb;

    add_layout(view, before, array_length(before));
    add_flags(view, 32, bits, NB_OPEN_RESERVED);
    add_layout(view, after, array_length(after));
    add_string(view, hf_netblt_client_string, NB_OPEN_BYTES);
    const char *name = string_at(view, NB_OPEN_BYTES);
    info(view, wmem_strdup_printf(
                   view->pinfo->pool, " %u -> %u %s buf %u pkt %u burst %u/%u ms, %u buffers%s%s%s%s uid 0x%08x",
                   packet->local_port, packet->foreign_port, packet->open_flags & NB_OPEN_WRITE ? "WRITE" : "READ",
                   tvb_get_ntohl(tvb, 16), packet->data_packet_size, tvb_get_ntohs(tvb, 26), tvb_get_ntohs(tvb, 28),
                   tvb_get_ntohs(tvb, 34), packet->open_flags & NB_OPEN_DATA_CHECKSUM ? ", data checksummed" : "",
                   *name ? " \"" : "", name, *name ? "\"" : "", packet->uid));
}

/* KEEPALIVE, QUITACK, DONE: the header is all there is (WIRE-06). */
static void dissect_header_only(const struct view *view)
{
    const int bytes = MIN(view->packet->end, view->packet->captured) - NB_HEADER_BYTES;

    if (view->packet->length > NB_HEADER_BYTES) {
        expert_add_info(view->pinfo, view->root, &ei_netblt_length_wrong);
    }
    if (bytes > 0) {
        proto_tree_add_item(view->tree, hf_netblt_undecoded, view->packet->tvb, NB_HEADER_BYTES, bytes, ENC_NA);
    }
}

/* QUIT, ABORT, REFUSED */
static void dissect_reason(const struct view *view)
{
    const char *reason = string_at(view, NB_HEADER_BYTES);

    add_string(view, hf_netblt_reason, NB_HEADER_BYTES);
    if (*reason) {
        info(view, wmem_strdup_printf(view->pinfo->pool, " \"%s\"", reason));
    }
}

/* CKSUM-04, CKSUM-05: only with C=1 in the RESPONSE does the field mean anything. */
static void add_data_checksum(const struct view *view)
{
    const struct nb_packet *packet = view->packet;
    const uint16_t found = tvb_get_ntohs(packet->tvb, 20);
    const bool judged = pref_check_checksum && view->record != NULL && view->record->data_checksummed &&
                        packet->end <= packet->captured && !packet->fragment;

    if (!judged) {
        proto_tree_add_checksum(view->tree, packet->tvb, 20, hf_netblt_data_checksum, hf_netblt_data_checksum_status,
                                NULL, view->pinfo, 0, ENC_BIG_ENDIAN, PROTO_CHECKSUM_NO_FLAGS);
        return;
    }
    const uint16_t sum = nb_sum(packet->tvb, NB_DATA_HEADER_BYTES, packet->end - NB_DATA_HEADER_BYTES);
    const bool good = nb_data_checksum_fits(packet);
    proto_tree_add_checksum(view->tree, packet->tvb, 20, hf_netblt_data_checksum, hf_netblt_data_checksum_status,
                            &ei_netblt_data_checksum_bad, view->pinfo, good ? found : (uint16_t)~sum, ENC_BIG_ENDIAN,
                            PROTO_CHECKSUM_VERIFY);
}

/* DATA and LDATA (WIRE-10) */
static void dissect_data(const struct view *view)
{
    static const struct layout before[] = {
        {&hf_netblt_buffer, 12, 4}, {&hf_netblt_high_seq, 16, 2}, {&hf_netblt_packet, 18, 2}};
    static int *const bits[] = {&hf_netblt_flags_reserved_data, &hf_netblt_flags_last_buffer, NULL};
    const struct nb_packet *packet = view->packet;
    const int bytes = MIN(packet->end, packet->captured) - NB_DATA_HEADER_BYTES;

    add_layout(view, before, array_length(before));
    add_data_checksum(view);
    add_flags(view, 22, bits, NB_DATA_RESERVED);
    if (bytes > 0) {
        proto_tree_add_item(view->tree, hf_netblt_data, packet->tvb, NB_DATA_HEADER_BYTES, bytes, ENC_NA);
    }
    info(view, wmem_strdup_printf(view->pinfo->pool, " buf %u pkt %u ack %u%s", packet->buffer, packet->packet,
                                  packet->high_seq, packet->data_flags & NB_DATA_LAST_BUFFER ? " last buffer" : ""));
}

/* WIRE-11 */
static void dissect_null_ack(const struct view *view)
{
    static const struct layout fields[] = {
        {&hf_netblt_high_seq, 12, 2}, {&hf_netblt_burst_size, 14, 2}, {&hf_netblt_burst_interval, 16, 2}};
    tvbuff_t *tvb = view->packet->tvb;

    add_layout(view, fields, array_length(fields));
    proto_item *item = proto_tree_add_item(view->tree, hf_netblt_padding, tvb, 18, 2, ENC_BIG_ENDIAN);
    if (tvb_get_ntohs(tvb, 18) != 0) {
        expert_add_info(view->pinfo, item, &ei_netblt_padding);
    }
    if (view->packet->length != NB_NULL_ACK_BYTES) {
        expert_add_info(view->pinfo, view->root, &ei_netblt_length_wrong);
    }
    info(view, wmem_strdup_printf(view->pinfo->pool, " ack %u burst %u/%u ms", view->packet->high_seq,
                                  tvb_get_ntohs(tvb, 14), tvb_get_ntohs(tvb, 16)));
}

static void dissect_body(const struct view *view)
{
    switch (view->packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        dissect_open(view);
        break;
    case NB_QUIT:
    case NB_ABORT:
    case NB_REFUSED:
        dissect_reason(view);
        break;
    case NB_DATA:
    case NB_LDATA:
        dissect_data(view);
        break;
    case NB_NULL_ACK:
        dissect_null_ack(view);
        break;
    case NB_CONTROL:
        nb_dissect_control(view->packet, view->pinfo, view->tree, view->root);
        break;
    default:
        dissect_header_only(view);
        break;
    }
}

static void add_header_checksum(const struct view *view)
{
    const struct nb_packet *packet = view->packet;
    tvbuff_t *tvb = packet->tvb;
    proto_item *item;

    if (packet->header_checksum == NB_UNVERIFIED) {
        proto_tree_add_checksum(view->tree, tvb, 0, hf_netblt_checksum, hf_netblt_checksum_status, NULL, view->pinfo, 0,
                                ENC_BIG_ENDIAN, PROTO_CHECKSUM_NO_FLAGS);
        return;
    }
    const uint16_t expected = packet->header_checksum == NB_BAD
                                  ? nb_expected_checksum(packet->header_sum, packet->checksum)
                                  : packet->checksum;
    item =
        proto_tree_add_checksum(view->tree, tvb, 0, hf_netblt_checksum, hf_netblt_checksum_status,
                                &ei_netblt_checksum_bad, view->pinfo, expected, ENC_BIG_ENDIAN, PROTO_CHECKSUM_VERIFY);
    if (packet->header_checksum == NB_COVERS_DATA) {
        proto_item_append_text(item, " (covers data: variant)");
        expert_add_info(view->pinfo, item, &ei_netblt_checksum_variant);
    } else if (packet->header_checksum == NB_BAD) {
        info(view, " [bad checksum]");
    }
}

/* WIRE-02 */
static void dissect_header(const struct view *view)
{
    static const struct layout fields[] = {{&hf_netblt_version, 2, 1},
                                           {&hf_netblt_type, 3, 1},
                                           {&hf_netblt_length, 4, 2},
                                           {&hf_netblt_local_port, 6, 2},
                                           {&hf_netblt_foreign_port, 8, 2}};
    static const struct layout padding[] = {{&hf_netblt_padding, 10, 2}};

    add_header_checksum(view);
    add_layout(view, fields, array_length(fields));
    add_layout(view, padding, array_length(padding));
    if (view->packet->status == NB_SOUND && tvb_get_ntohs(view->packet->tvb, 10) != 0) {
        expert_add_info(view->pinfo, view->root, &ei_netblt_padding);
    }
}

/* Bytes of the IP payload beyond Length: alignment that the emitter added (AMB-02). */
static void add_alignment(const struct view *view)
{
    const struct nb_packet *packet = view->packet;
    const int beyond = packet->reported - packet->end;
    const int shown = MIN(beyond, packet->captured - packet->end);

    if (shown <= 0) {
        return;
    }
    proto_item *item = proto_tree_add_item(view->tree, hf_netblt_alignment, packet->tvb, packet->end, shown, ENC_NA);
    if (beyond > 3) {
        expert_add_info(view->pinfo, item, &ei_netblt_trailing);
    }
}

/* What is wrong with the packet as such; the text goes to the Info column too. */
static void complain(const struct view *view)
{
    const struct nb_packet *packet = view->packet;
    static const struct {
        expert_field *ei;
        const char *text;
    } faults[] = {[NB_SHORT] = {&ei_netblt_short, " [too short for a header]"},
                  [NB_LENGTH_BEYOND] = {&ei_netblt_length_beyond, " [Length beyond the payload]"},
                  [NB_LENGTH_BELOW] = {&ei_netblt_length_below, " [Length below the minimum]"},
                  [NB_UNKNOWN_TYPE] = {&ei_netblt_type_unknown, " [unknown type]"},
                  [NB_OTHER_DIALECT] = {&ei_netblt_dialect, " [other dialect, not decoded]"},
                  [NB_CUT] = {&ei_netblt_cut, " [cut by the capture]"}};

    if (packet->status != NB_SOUND) {
        expert_add_info(view->pinfo, view->root, faults[packet->status].ei);
        info(view, faults[packet->status].text);
        return;
    }
    if (!nb_is_data(packet->type) && packet->length % 4 != 0) {
        expert_add_info(view->pinfo, view->root, &ei_netblt_length_multiple);
    }
    if (packet->captured < packet->end || packet->fragment) {
        expert_add_info(view->pinfo, view->root, &ei_netblt_cut);
    }
}

static void dissect_undecoded(const struct view *view)
{
    const int from = MIN(NB_HEADER_BYTES, view->packet->captured);

    if (view->packet->captured < NB_HEADER_BYTES) {
        if (view->packet->captured > 0) {
            proto_tree_add_item(view->tree, hf_netblt_undecoded, view->packet->tvb, 0, view->packet->captured, ENC_NA);
        }
        return;
    }
    dissect_header(view);
    if (view->packet->captured > from) {
        proto_tree_add_item(view->tree, hf_netblt_undecoded, view->packet->tvb, from, view->packet->captured - from,
                            ENC_NA);
    }
}

static const char *title(const struct view *view)
{
    const struct nb_packet *packet = view->packet;
    const char *name = nb_type_name(packet->type);

    if (packet->captured < NB_HEADER_BYTES) {
        return "NETBLT fragment";
    }
    if (packet->status == NB_OTHER_DIALECT || name == NULL) {
        return wmem_strdup_printf(view->pinfo->pool, "Version %u type %u", packet->version, packet->type);
    }
    return name;
}

/* One NETBLT packet at the start of `tvb`; returns the bytes it took. A datagram may hold several one day, so nothing
 * here may assume that it is alone: `index` is its place in the frame. */
static int dissect_packet(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const struct nb_carrier *carrier,
                          uint32_t idx)
{
    struct nb_packet packet;
    struct view view = {.packet = &packet, .pinfo = pinfo};

    nb_parse(&packet, tvb, pinfo->fragmented, pref_check_checksum);
    packet.ipv4 = carrier->ipv4;
    packet.ip_id = carrier->ip_id;
    view.record = nb_analyse(&packet, carrier, pinfo, idx, pref_check_checksum, pref_position);
    view.root = proto_tree_add_item(tree, proto_netblt, tvb, 0, -1, ENC_NA);
    view.tree = proto_item_add_subtree(view.root, ett_netblt);

    const char *name = title(&view);
    col_append_sep_str(pinfo->cinfo, COL_INFO, " | ", name);
    proto_item_append_text(view.root, ", %s", name);
    if (packet.status == NB_SOUND) {
        dissect_header(&view);
        dissect_body(&view);
        add_alignment(&view);
    } else {
        dissect_undecoded(&view);
    }
    complain(&view);
    nb_show_record(&packet, view.record, pinfo, view.tree, pref_position);
    return packet.reported;
}

static int dissect_payload(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const struct nb_carrier *carrier)
{
    col_set_str(pinfo->cinfo, COL_PROTOCOL, "NETBLT");
    col_clear(pinfo->cinfo, COL_INFO);
    return dissect_packet(tvb, pinfo, tree, carrier, 0);
}

/* ip.proto hands over the IP header; IPv6 shares the table but has no identification. */
static int dissect_over_ip(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    struct nb_carrier carrier = {0};

    if (pinfo->src.type == AT_IPv4 && data != NULL) {
        const ws_ip4 *ip = WS_IP4_PTR(data);
        if (ip != NULL) {
            carrier.ipv4 = true;
            carrier.ip_id = ip->ip_id;
        }
    }
    return dissect_payload(tvb, pinfo, tree, &carrier);
}

/* UDP hands over nothing, so the IPv4 header is looked up before the datagram in the frame's bytes. */
static void find_ip_id(tvbuff_t *tvb, packet_info *pinfo, struct nb_carrier *carrier)
{
    enum { UDP_BYTES = 8, IP_MIN = 20, IP_MAX = 60 };
    tvbuff_t *frame = tvb_get_ds_tvb(tvb);
    const int udp = tvb_raw_offset(tvb) - UDP_BYTES;

    if (pinfo->src.type != AT_IPv4 || pinfo->net_src.type != AT_IPv4) {
        return;
    }
    for (int bytes = IP_MIN; bytes <= IP_MAX && bytes <= udp; bytes += 4) {
        const int ip = udp - bytes;
        if (tvb_get_uint8(frame, ip) == (0x40 | bytes / 4) && tvb_get_uint8(frame, ip + 9) == 17 &&
            tvb_memeql(frame, ip + 12, (const uint8_t *)pinfo->src.data, 4) == 0 &&
            tvb_memeql(frame, ip + 16, (const uint8_t *)pinfo->dst.data, 4) == 0) {
            carrier->ipv4 = true;
            carrier->ip_id = tvb_get_ntohs(frame, ip + 4);
            return;
        }
    }
}

static int dissect_over_udp(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data _U_)
{
    struct nb_carrier carrier = {.udp_source = (uint16_t)pinfo->srcport, .udp_target = (uint16_t)pinfo->destport};

    find_ip_id(tvb, pinfo, &carrier);
    return dissect_payload(tvb, pinfo, tree, &carrier);
}

static void register_preferences(void)
{
    static const enum_val_t positions[] = {{"auto", "Inferred", NB_POSITION_AUTO},
                                           {"sender", "At the sender of the data", NB_POSITION_SENDER},
                                           {"receiver", "At the receiver of the data", NB_POSITION_RECEIVER},
                                           {"between", "Somewhere between", NB_POSITION_BETWEEN},
                                           {NULL, NULL, -1}};
    module_t *module = prefs_register_protocol(proto_netblt, NULL);

    prefs_register_bool_preference(module, "check_checksum", "Validate checksums",
                                   "Verify packet and data checksums. Without it no finding is more than suspected.",
                                   &pref_check_checksum);
    prefs_register_enum_preference(module, "capture_position", "Capture position",
                                   "Where this capture was taken. A capture at the sender proves the order in which "
                                   "packets left it; say so only if it is true.",
                                   &pref_position, positions, FALSE);
}

void netblt_register_protocol(void)
{
    proto_netblt = proto_register_protocol("Bulk Data Transfer Protocol", "NETBLT", "netblt");
    netblt_register_fields(proto_netblt);
    register_preferences();
    nb_register_streams();
    netblt_handle = register_dissector("netblt", dissect_over_ip, proto_netblt);
}

void netblt_register_handoff(void)
{
    dissector_handle_t over_udp = create_dissector_handle(dissect_over_udp, proto_netblt);

    dissector_add_uint("ip.proto", NB_IP_PROTOCOL, netblt_handle);
    dissector_add_uint_with_preference("udp.port", NB_UDP_PORT, over_udp);
}
