/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How NETBLT packets reach the dissector: over IP protocol 30 and UDP, one or several to a datagram; the preferences of
 * the decoder. What they look like is in show.c. What happened between them is the business of the stages above. */
#include "decode/packet-netblt.h"

#include "wireshark/compat.h"

#include <epan/conversation.h>
#include <epan/dissectors/packet-ip.h>

#include "decode/datagram.h"
#include "decode/fields.h"
#include "decode/show.h"
#include "decode/stage.h"

static dissector_handle_t netblt_handle;
static dissector_handle_t netblt_over_udp;
static nb_pref_bool pref_check_checksum = TRUE;
static gint pref_dialect = NB_AUTO;

/* DATA-14. Wireshark keeps what it put together apart from the frame, under a name. */
static bool came_in_fragments(tvbuff_t *tvb, packet_info *pinfo)
{
    enum { SMALLEST_IP_HEADER = 20 };
    static const char *const names[] = {"Reassembled IPv4", "Reassembled IPv6"};

    if (tvb_raw_offset(tvb) >= SMALLEST_IP_HEADER) {
        return false; /* it lies in the frame itself */
    }
    for (size_t i = 0; i < array_length(names); i++) {
        const tvbuff_t *whole = nb_source_named(pinfo, names[i]);
        if (whole != NULL && whole == tvb_get_ds_tvb(tvb)) {
            return true;
        }
    }
    return false;
}

/* One NETBLT packet. `occurrence` and `idx` distinguish it from others in the frame. */
static void dissect_packet(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const struct nb_carrier *carrier,
                           uint32_t occurrence, uint32_t idx)
{
    const struct nb_reading reading = {.fragment = pinfo->fragmented,
                                       .verify = pref_check_checksum,
                                       .udp = carrier->udp,
                                       .etftp_port =
                                           carrier->udp_source == NB_ETFTP_PORT || carrier->udp_target == NB_ETFTP_PORT,
                                       .dialect = (enum nb_dialect)pref_dialect};
    struct nb_packet packet;
    const struct nb_incoming incoming = {.packet = &packet,
                                         .carrier = carrier,
                                         .pinfo = pinfo,
                                         .occurrence = occurrence,
                                         .idx = idx,
                                         .verify = pref_check_checksum};
    struct nb_view view = {.packet = &packet, .pinfo = pinfo, .verify = pref_check_checksum};

    nb_parse(&packet, tvb, &reading);
    packet.in_fragments = came_in_fragments(tvb, pinfo);
    packet.ipv4 = carrier->ipv4;
    packet.ip_id = carrier->ip_id;
    nb_learn(&incoming, &view.known);
    col_set_str(pinfo->cinfo, COL_PROTOCOL, packet.layout->protocol);
    nb_show_packet(&view, tree);
    nb_show_stages(&view);
}

/* Linux numbers the segments of one datagram upwards from the IP ID of the large one. */
static int dissect_payload(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, struct nb_carrier *carrier)
{
    struct nb_datagram datagram = {.packets = 1};
    const uint32_t occurrence = pinfo->curr_proto_layer_num;
    int start = 0;

    col_clear(pinfo->cinfo, COL_INFO);
    if (carrier->udp && !pinfo->fragmented) {
        nb_split_datagram(&datagram, tvb, pinfo->pool);
    }
    carrier->irregular = datagram.irregular;
    carrier->unseen = datagram.unseen;
    for (unsigned i = 0; i < datagram.packets; i++) {
        const int end = nb_packet_end(&datagram, tvb, i);
        tvbuff_t *one = datagram.packets == 1 ? tvb : tvb_new_subset_length(tvb, start, end - start);

        dissect_packet(one, pinfo, tree, carrier, occurrence, i);
        carrier->ip_id++;
        carrier->inside = true;
        start = end;
    }
    return (int)tvb_reported_length(tvb);
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

/* packet-udp.c hands over nothing, and packet-ip.c keeps no identification for those above UDP. So the IPv4 header is
 * looked up before the datagram in the frame's bytes. */
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
    struct nb_carrier carrier = {
        .udp = true, .udp_source = (uint16_t)pinfo->srcport, .udp_target = (uint16_t)pinfo->destport};

    find_ip_id(tvb, pinfo, &carrier);
    return dissect_payload(tvb, pinfo, tree, &carrier);
}

static bool looks_like_netblt(tvbuff_t *tvb)
{
    static const struct nb_reading strict = {.verify = true, .udp = true};
    struct nb_packet packet;

    nb_parse(&packet, tvb, &strict);
    return packet.status == NB_SOUND && packet.header_checksum == NB_GOOD && packet.version >= NB_VERSION_LOWEST &&
           packet.version <= NB_VERSION_DRAFT && tvb_get_ntohs(tvb, 10) == 0;
}

/* UDP on ports that are not configured: the first packet must be flawless, then the conversation is NETBLT's. */
static nb_heur_result dissect_unasked(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (pinfo->fragmented || !looks_like_netblt(tvb)) {
        return FALSE;
    }
    if (!pinfo->flags.in_error_pkt) {
        conversation_set_dissector(find_or_create_conversation(pinfo), netblt_over_udp);
    }
    dissect_over_udp(tvb, pinfo, tree, data);
    return TRUE;
}

static void register_preferences(void)
{
    static const enum_val_t dialects[] = {{"auto", "Auto-detect", NB_AUTO},
                                          {"rfc998", "RFC 998", NB_RFC998},
                                          {"etftp", "RFC 1986 (ETFTP)", NB_ETFTP},
                                          {"v4", "Version 4 (TACO2), also 5", NB_VERSION4},
                                          {NULL, NULL, -1}};
    module_t *module = prefs_register_protocol(proto_netblt, NULL);

    prefs_register_bool_preference(module, "check_checksum", "Validate checksums",
                                   "Verify packet and data checksums. Without it no finding is more than suspected.",
                                   &pref_check_checksum);
    prefs_register_enum_preference(module, "dialect", "Dialect",
                                   "Which layout packets have. Auto-detect: by version, port, and what makes sense.",
                                   &pref_dialect, dialects, FALSE);
}

void proto_register_netblt(void)
{
    proto_netblt = proto_register_protocol("NETBLT Bulk Data Transfer Protocol", "NETBLT", "netblt");
    netblt_register_fields(proto_netblt);
    register_preferences();
    netblt_handle = register_dissector("netblt", dissect_over_ip, proto_netblt);
}

void proto_reg_handoff_netblt(void)
{
    netblt_over_udp = create_dissector_handle(dissect_over_udp, proto_netblt);
    dissector_add_uint("ip.proto", NB_IP_PROTOCOL, netblt_handle);
    dissector_add_uint_with_preference("udp.port", NB_UDP_PORT, netblt_over_udp);
    dissector_add_uint("udp.port", NB_ETFTP_PORT, netblt_over_udp);
    heur_dissector_add("udp", dissect_unasked, "NETBLT over UDP", "netblt_udp", proto_netblt, HEURISTIC_ENABLE);
}
