/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The transferred bytes: reassembled buffers, Follow Stream, Export Objects. */
#include "reports/payload.h"

#include <epan/export_object.h>
#include <epan/follow.h>
#include <epan/tap.h>

#include "connection/stream.h"
#include "decode/fields.h"
#include "reports/assembly.h"

/* What listeners get: the buffers whose turn came with this packet. */
struct delivery {
    const struct nb_packet *packet;
    const struct nb_record *record;
    const struct nb_whole *wholes;
};

static int tap_follow = -1;
static int tap_export = -1;
static struct nb_assembler listening; /* a walk with listeners, from the first frame to the last */
static struct nb_assembler keeping;   /* the first pass, for the tree */
static wmem_map_t *kept;              /* by record */

static int hf_data = -1, hf_length = -1, hf_frame = -1, hf_whole = -1, hf_incomplete = -1;
static int ett_whole = -1;

static void forget(void)
{
    nb_assembler_free(&listening);
    nb_assembler_free(&keeping);
}

/* --- tree ------------------------------------------------------------------------------------------------------- */

static void show_whole(const struct nb_whole *whole, packet_info *pinfo, proto_tree *tree)
{
    tvbuff_t *tvb = tvb_new_real_data(whole->data, whole->bytes, (gint)whole->bytes);
    proto_item *item;
    const char *name = wmem_strdup_printf(pinfo->pool, "Reassembled NETBLT buffer %u", whole->buffer);

    add_new_data_source(pinfo, tvb, name);
    item = proto_tree_add_uint(tree, hf_whole, tvb, 0, (gint)whole->bytes, whole->buffer);
    proto_item_append_text(item, " (%u bytes in %u packets%s)", whole->bytes, whole->packets,
                           whole->incomplete ? ", incomplete" : "");
    proto_item_set_generated(item);
    proto_tree *sub = proto_item_add_subtree(item, ett_whole);
    for (unsigned i = 0; i < whole->packets; i++) {
        proto_item_set_generated(proto_tree_add_uint(sub, hf_frame, tvb, 0, 0, whole->frames[i]));
    }
    proto_item_set_generated(proto_tree_add_uint(sub, hf_length, tvb, 0, 0, whole->bytes));
    proto_item_set_generated(proto_tree_add_boolean(sub, hf_incomplete, tvb, 0, 0, whole->incomplete));
    if (whole->bytes > 0) {
        proto_item_set_generated(proto_tree_add_item(sub, hf_data, tvb, 0, (gint)whole->bytes, ENC_NA));
    }
}

static void show_kept(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo,
                      proto_tree *tree)
{
    if (!PINFO_FD_VISITED(pinfo)) {
        struct nb_whole *wholes = nb_assemble(&keeping, wmem_file_scope(), packet, record);
        if (wholes == NULL) {
            return;
        }
        wmem_map_insert(kept, record, wholes);
    }
    for (const struct nb_whole *whole = (const struct nb_whole *)wmem_map_lookup(kept, record); whole != NULL;
         whole = whole->next) {
        show_whole(whole, pinfo, tree);
    }
}

/* --- follow stream ---------------------------------------------------------------------------------------------- */

static gchar *conversation_filter(epan_dissect_t *edt _U_, packet_info *pinfo, guint *stream, guint *sub_stream)
{
    const struct nb_record *record = nb_record_first(pinfo->num);

    *sub_stream = 0;
    if (record == NULL) {
        return NULL;
    }
    *stream = nb_stream_of_record(record)->index;
    return ws_strdup_printf("netblt.stream eq %u", nb_stream_of_record(record)->index);
}

static gchar *index_filter(guint stream, guint sub_stream _U_)
{
    return ws_strdup_printf("netblt.stream eq %u", stream);
}

static gchar *address_filter(address *source, address *target, int source_port, int target_port)
{
    const char *version = source->type == AT_IPv6 ? "v6" : "";
    char *from = address_to_str(NULL, source);
    char *to = address_to_str(NULL, target);
    gchar *filter = ws_strdup_printf(
        "(ip%s.addr eq %s and ip%s.addr eq %s) and ((netblt.local_port eq %d and netblt.foreign_port eq "
        "%d) or (netblt.local_port eq %d and netblt.foreign_port eq %d))",
        version, from, version, to, source_port, target_port, target_port, source_port);

    wmem_free(NULL, from);
    wmem_free(NULL, to);
    return filter;
}

static gchar *port_to_display(wmem_allocator_t *allocator, guint port)
{
    return wmem_strdup_printf(allocator, "%u", port);
}

/* The window calls the end that opened (or, that sent the first data captured) client. */
static void add_to_window(follow_info_t *window, packet_info *pinfo, const struct delivery *delivery,
                          const struct nb_whole *whole)
{
    const struct nb_stream *stream = nb_stream_of_record(delivery->record);
    const int sender = delivery->record->sender < 0 ? delivery->record->end : delivery->record->sender;
    const bool from_sender = delivery->record->end == sender;
    follow_record_t *record = g_new0(follow_record_t, 1);

    if (window->client_ip.type == AT_NONE) {
        copy_address(&window->client_ip, &stream->end[sender].address);
        copy_address(&window->server_ip, &stream->end[1 - sender].address);
        window->client_port = from_sender ? delivery->packet->local_port : delivery->packet->foreign_port;
        window->server_port = from_sender ? delivery->packet->foreign_port : delivery->packet->local_port;
    }
    record->is_server = FALSE;
    record->packet_num = pinfo->num;
    record->abs_ts = pinfo->abs_ts;
    record->data = g_byte_array_sized_new(whole->bytes);
    if (whole->incomplete) {
        static const char gap[] = "[bytes missing in capture file]";
        g_byte_array_append(record->data, (const guint8 *)gap, sizeof(gap) - 1);
    }
    g_byte_array_append(record->data, whole->data, whole->bytes);
    window->bytes_written[0] += record->data->len;
    window->payload = g_list_prepend(window->payload, record);
}

static tap_packet_status follow(void *tapdata, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                                tap_flags_t flags _U_)
{
    const struct delivery *delivery = (const struct delivery *)data;

    for (const struct nb_whole *whole = delivery->wholes; whole != NULL; whole = whole->next) {
        add_to_window((follow_info_t *)tapdata, pinfo, delivery, whole);
    }
    return TAP_PACKET_DONT_REDRAW;
}

/* --- export objects --------------------------------------------------------------------------------------------- */

/* The part of the client string that is a file name; NULL when it has none. */
static const char *base_name(const char *text)
{
    const char *base = text;

    for (const char *c = text; c != NULL && *c; c++) {
        if (*c == '/' || *c == '\\') {
            base = c + 1;
        }
    }
    return base == NULL || *base == 0 || strcmp(base, ".") == 0 || strcmp(base, "..") == 0 ? NULL : base;
}

/* A transfer that goes on is listed as incomplete from its first buffer on, since nothing shows that a capture ends. */
struct object {
    export_object_entry_t *entry;
    char *name;
    size_t room;
    bool gaps;
};

static GHashTable *objects; /* by stream */

static void forget_objects(void)
{
    if (objects != NULL) {
        g_hash_table_destroy(objects);
        objects = NULL;
    }
}

static void free_object(gpointer data)
{
    struct object *object = (struct object *)data;

    g_free(object->name);
    g_free(object);
}

static struct object *new_object(export_object_list_t *list, packet_info *pinfo, const struct nb_stream *stream)
{
    struct object *object = g_new0(struct object, 1);
    const char *base = base_name(stream->client_string);
    const int sender = stream->sender < 0 ? 0 : stream->sender;
    char *host = address_to_str(NULL, &stream->end[sender].address);

    object->name = base != NULL ? g_strdup(base) : ws_strdup_printf("netblt-stream-%u", stream->index);
    object->entry = g_new0(export_object_entry_t, 1);
    object->entry->pkt_num = pinfo->num;
    object->entry->hostname = g_strdup(host);
    object->entry->content_type = g_strdup("application/octet-stream");
    object->entry->filename = ws_strdup_printf("%s.incomplete", object->name);
    wmem_free(NULL, host);
    list->add_entry(list->gui_data, object->entry);
    return object;
}

static void add_to_object(struct object *object, packet_info *pinfo, const struct nb_whole *whole)
{
    export_object_entry_t *entry = object->entry;

    if (entry->payload_len + whole->bytes > object->room) {
        object->room = MAX(entry->payload_len + whole->bytes, object->room * 2);
        entry->payload_data = (guint8 *)g_realloc(entry->payload_data, object->room);
    }
    if (whole->bytes > 0) {
        memcpy(entry->payload_data + entry->payload_len, whole->data, whole->bytes);
    }
    entry->payload_len += whole->bytes;
    entry->pkt_num = pinfo->num;
    object->gaps = object->gaps || whole->incomplete;
    if (whole->last && !object->gaps) {
        g_free(entry->filename);
        entry->filename = g_strdup(object->name);
    }
}

static tap_packet_status export_transfer(void *tapdata, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                                         tap_flags_t flags _U_)
{
    const struct delivery *delivery = (const struct delivery *)data;
    const struct nb_stream *stream = nb_stream_of_record(delivery->record);

    if (objects == NULL) {
        objects = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_object);
    }
    struct object *object = (struct object *)g_hash_table_lookup(objects, stream);
    if (object == NULL) {
        object = new_object((export_object_list_t *)tapdata, pinfo, stream);
        /* without the opening nothing shows whether the first buffer was captured */
        object->gaps = !(stream->open_seen || stream->response_seen);
        g_hash_table_insert(objects, (gpointer)stream, object);
    }
    for (const struct nb_whole *whole = delivery->wholes; whole != NULL; whole = whole->next) {
        add_to_object(object, pinfo, whole);
    }
    return TAP_PACKET_REDRAW;
}

/* --- all -------------------------------------------------------------------------------------------------------- */

static void deliver(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo)
{
    const struct nb_whole *wholes = nb_assemble(&listening, pinfo->pool, packet, record);

    if (wholes == NULL) {
        return;
    }
    struct delivery *delivery = wmem_new(pinfo->pool, struct delivery);
    *delivery = (struct delivery){.packet = (const struct nb_packet *)wmem_memdup(pinfo->pool, packet, sizeof(*packet)),
                                  .record = record,
                                  .wholes = wholes};
    tap_queue_packet(tap_follow, pinfo, delivery);
    tap_queue_packet(tap_export, pinfo, delivery);
}

void nb_payload(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo, proto_tree *tree,
                bool keep)
{
    if (record == NULL || pinfo->flags.in_error_pkt) {
        return;
    }
    if (have_tap_listener(tap_follow) || have_tap_listener(tap_export)) {
        deliver(packet, record, pinfo);
    }
    if (keep) {
        show_kept(packet, record, pinfo, tree);
    }
}

void nb_register_payload(int proto)
{
    static hf_register_info hf[] = {
        {&hf_whole, {"Reassembled NETBLT buffer", "netblt.reassembled", FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_frame,
         {"Packet in", "netblt.reassembled.frame", FT_FRAMENUM, BASE_NONE, NULL, 0, "In the order of the data", HFILL}},
        {&hf_length, {"Bytes", "netblt.reassembled.length", FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL}},
        {&hf_incomplete,
         {"Incomplete", "netblt.reassembled.incomplete", FT_BOOLEAN, BASE_NONE, NULL, 0,
          "The capture lacks packets of it, or whole buffers before it", HFILL}},
        {&hf_data, {"Data", "netblt.reassembled.data", FT_BYTES, BASE_NONE, NULL, 0, NULL, HFILL}},
    };
    static int *ett[] = {&ett_whole};

    proto_register_field_array(proto, hf, array_length(hf));
    proto_register_subtree_array(ett, array_length(ett));
    kept = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), g_direct_hash, g_direct_equal);
    register_init_routine(forget);
    register_cleanup_routine(forget);
    tap_follow = register_tap("netblt_follow");
    tap_export = register_export_object(proto, export_transfer, forget_objects);
    NETBLT_REGISTER_FOLLOW(proto, "netblt_follow", conversation_filter, index_filter, address_filter, port_to_display,
                           follow);
}
