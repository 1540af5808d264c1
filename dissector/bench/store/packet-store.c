/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures ways to keep what is known of packets and connections: the plugin's own, and Wireshark's. A dissector for IP
 * protocol 30 that parses each packet and keeps something of it in the way that the preference names, and no more. */
#include "wireshark/compat.h"

#include <epan/conversation.h>
#include <epan/reassemble.h>

#include "connection/record.h"
#include "connection/stream.h"
#include "wireshark/arena.h"
#include "wireshark/memory.h"

enum way {
    WAY_NOTHING,    /* parses only: what the others are compared with */
    WAY_RECORD,     /* a record by frame: record.c */
    WAY_PROTO_DATA, /* a record by frame: p_add_proto_data */
    WAY_STREAM,     /* the packet's connection: stream.c */
    WAY_FULL,       /* the packet's connection: find_conversation_full, with the key that stream.c has */
    WAY_ENDPOINTS,  /* the packet's connection: find_conversation, which knows addresses and ports only */
    WAY_REASSEMBLE, /* the data of each buffer: fragment_add_seq_check */
};

WS_DLL_PUBLIC_DEF const gchar plugin_version[] = "1";
WS_DLL_PUBLIC_DEF const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
WS_DLL_PUBLIC_DEF const int plugin_want_minor = WIRESHARK_VERSION_MINOR;
WS_DLL_PUBLIC void plugin_register(void);

static int proto_store = -1;
static guint way = WAY_NOTHING;
static reassembly_table buffers;

static void keep_record(const packet_info *pinfo)
{
    if (!PINFO_FD_VISITED(pinfo)) {
        nb_record_begin(pinfo->num, pinfo->fd->file_off);
        nb_record_add(pinfo->num, 0);
    }
    if (nb_record_find(pinfo->num, 0) == NULL) {
        g_error("the record of frame %u is gone", pinfo->num);
    }
}

static void keep_proto_data(packet_info *pinfo)
{
    if (!PINFO_FD_VISITED(pinfo)) {
        p_add_proto_data(wmem_file_scope(), pinfo, proto_store, 0, wmem_new0(wmem_file_scope(), struct nb_record));
    }
    if (p_get_proto_data(wmem_file_scope(), pinfo, proto_store, 0) == NULL) {
        g_error("the record of frame %u is gone", pinfo->num);
    }
}

static void find_stream(const struct nb_packet *packet, packet_info *pinfo)
{
    const struct nb_carrier carrier = {0};
    int end;

    nb_stream_of(packet, &carrier, pinfo, &end);
    nb_memory_end();
}

static void keep_state(conversation_t *conversation)
{
    if (conversation_get_proto_data(conversation, proto_store) == NULL) {
        conversation_add_proto_data(conversation, proto_store, wmem_new0(wmem_file_scope(), struct nb_stream));
    }
}

/* The same key as stream.c has: captures with several interfaces hold connections several times. */
static void find_by_full_key(const struct nb_packet *packet, packet_info *pinfo)
{
    const bool turned = cmp_address(&pinfo->src, &pinfo->dst) > 0;
    const bool tagged = pinfo->rec->presence_flags & WTAP_HAS_INTERFACE_ID;
    conversation_element_t key[] = {
        {.type = CE_ADDRESS, .addr_val = turned ? pinfo->dst : pinfo->src},
        {.type = CE_PORT, .port_val = turned ? packet->foreign_port : packet->local_port},
        {.type = CE_ADDRESS, .addr_val = turned ? pinfo->src : pinfo->dst},
        {.type = CE_PORT, .port_val = turned ? packet->local_port : packet->foreign_port},
        {.type = CE_UINT, .uint_val = tagged ? pinfo->rec->rec_header.packet_header.interface_id + 1 : 0},
        {.type = CE_CONVERSATION_TYPE, .conversation_type_val = CONVERSATION_NONE},
    };
    conversation_t *found = find_conversation_full(pinfo->num, key);

    if (found == NULL) {
        found = conversation_new_full(pinfo->num, key);
    }
    keep_state(found);
}

static void find_by_endpoints(const struct nb_packet *packet, packet_info *pinfo)
{
    const uint32_t from = packet->local_port, to = packet->foreign_port;
    conversation_t *found = find_conversation(pinfo->num, &pinfo->src, &pinfo->dst, CONVERSATION_NONE, from, to, 0);

    if (found == NULL) {
        found = conversation_new(pinfo->num, &pinfo->src, &pinfo->dst, CONVERSATION_NONE, from, to, 0);
    }
    keep_state(found);
}

/* Buffers of one connection: the table distinguishes connections by addresses, and not by ports. */
static void reassemble(const struct nb_packet *packet, packet_info *pinfo)
{
    if (nb_is_data(packet->type)) {
        const int at = packet->layout->data;

        fragment_add_seq_check(&buffers, packet->tvb, at, pinfo, packet->buffer, NULL, packet->packet,
                               (guint32)(packet->end - at), packet->type == NB_DATA);
    }
}

static int dissect_store(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree _U_, void *data _U_)
{
    static const struct nb_reading reading = {.verify = true};
    struct nb_packet packet;

    nb_parse(&packet, tvb, &reading);
    if (packet.status != NB_SOUND) {
        return (int)tvb_captured_length(tvb);
    }
    switch ((enum way)way) {
    case WAY_RECORD:
        keep_record(pinfo);
        break;
    case WAY_PROTO_DATA:
        keep_proto_data(pinfo);
        break;
    case WAY_STREAM:
        find_stream(&packet, pinfo);
        break;
    case WAY_FULL:
        find_by_full_key(&packet, pinfo);
        break;
    case WAY_ENDPOINTS:
        find_by_endpoints(&packet, pinfo);
        break;
    case WAY_REASSEMBLE:
        reassemble(&packet, pinfo);
        break;
    case WAY_NOTHING:
        break;
    }
    return (int)tvb_captured_length(tvb);
}

static void register_store(void)
{
    proto_store = proto_register_protocol("Ways to keep state", "Store", "store");
    prefs_register_uint_preference(prefs_register_protocol(proto_store, NULL), "way", "Way", "enum way", 10, &way);
    reassembly_table_register(&buffers, &addresses_reassembly_table_functions);
    nb_register_memory();
    nb_register_arena();
    nb_register_records();
    nb_register_streams();
}

static void hand_off_store(void)
{
    dissector_add_uint("ip.proto", NB_IP_PROTOCOL, create_dissector_handle(dissect_store, proto_store));
}

void plugin_register(void)
{
    static const proto_plugin store = {.register_protoinfo = register_store, .register_handoff = hand_off_store};

    proto_register_plugin(&store);
}

#ifdef NETBLT_HAVE_PLUGIN_DESCRIBE
WS_DLL_PUBLIC uint32_t plugin_describe(void);

uint32_t plugin_describe(void)
{
    return WS_PLUGIN_DESC_DISSECTOR;
}
#endif
