/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics > Conversations and Endpoints, tshark -z conv,netblt and -z endpoints,netblt. A conversation is a stream.
 */
#include "reports/tap.h"

#include <epan/conversation_table.h>

#include "reports/taps.h"

/* What a click on a column of the table filters by. */
static const char *filter_of(conv_filter_type_e filter, const address *end)
{
    switch (filter) {
    case CONV_FT_SRC_PORT:
        return "netblt.local_port";
    case CONV_FT_DST_PORT:
        return "netblt.foreign_port";
    case CONV_FT_ANY_PORT:
        return "netblt.port";
    case CONV_FT_SRC_ADDRESS:
        return end->type == AT_IPv6 ? "ipv6.src" : "ip.src";
    case CONV_FT_DST_ADDRESS:
        return end->type == AT_IPv6 ? "ipv6.dst" : "ip.dst";
    case CONV_FT_ANY_ADDRESS:
        return end->type == AT_IPv6 ? "ipv6.addr" : "ip.addr";
    default:
        return CONV_FILTER_INVALID;
    }
}

static const char *conversation_filter(conv_item_t *item, conv_filter_type_e filter)
{
    return filter_of(filter, &item->src_address);
}

static const char *endpoint_filter(endpoint_item_t *item, conv_filter_type_e filter)
{
    return filter_of(filter, &item->myaddress);
}

static ct_dissector_info_t conversation_info = {conversation_filter};
static et_dissector_info_t endpoint_info = {endpoint_filter};

/* Packets of no stream have no place in the table. */
static bool in_stream(const struct nb_tap *tap)
{
    return nb_stream_of_record(tap->record) != NULL;
}

static tap_packet_status conversation_packet(void *state, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                                             tap_flags_t flags)
{
    const struct nb_tap *tap = data;
    conv_hash_t *table = state;

    if (!in_stream(tap)) {
        return TAP_PACKET_DONT_REDRAW;
    }
    table->flags = flags;
    add_conversation_table_data_with_conv_id(table, &pinfo->src, &pinfo->dst, tap->packet.local_port,
                                             tap->packet.foreign_port, tap->record->stream - 1, 1, tap->packet.end,
                                             &pinfo->rel_ts, &pinfo->abs_ts, &conversation_info, CONVERSATION_NONE);
    return TAP_PACKET_REDRAW;
}

static tap_packet_status endpoint_packet(void *state, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                                         tap_flags_t flags)
{
    const struct nb_tap *tap = data;
    conv_hash_t *table = state;

    if (!in_stream(tap)) {
        return TAP_PACKET_DONT_REDRAW;
    }
    table->flags = flags;
    add_endpoint_table_data(table, &pinfo->src, tap->packet.local_port, TRUE, 1, tap->packet.end, &endpoint_info,
                            ENDPOINT_NONE);
    add_endpoint_table_data(table, &pinfo->dst, tap->packet.foreign_port, FALSE, 1, tap->packet.end, &endpoint_info,
                            ENDPOINT_NONE);
    return TAP_PACKET_REDRAW;
}

void nb_register_conversation_table(int proto)
{
    register_conversation_table(proto, FALSE, conversation_packet, endpoint_packet);
}
