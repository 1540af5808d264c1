/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CONTROL packets (RFC 998 section 8, WIRE-12): a list of GO, OK and RESEND messages. */
#include "decode/show-control.h"

#include "decode/fields.h"

/* More packet numbers than this do not fit a line that can be read. */
#define INFO_LIST_ENTRIES 12
/* A CONTROL of 64 KB holds 8,000 messages; the Info column shows the first. */
#define INFO_MESSAGES 8

static const char *message_name(uint8_t type)
{
    return type == NB_GO ? "GO" : type == NB_OK ? "OK" : "RESEND";
}

static void check_zero(const struct nb_packet *packet, packet_info *pinfo, proto_tree *tree, int offset, int bytes)
{
    bool zero = true;

    for (int i = 0; i < bytes; i++) {
        zero = zero && tvb_get_uint8(packet->tvb, offset + i) == 0;
    }
    if (!zero) {
        proto_item *item = proto_tree_add_item(tree, hf_netblt_control_padding, packet->tvb, offset, bytes, ENC_NA);
        expert_add_info(pinfo, item, &ei_netblt_padding);
    }
}

static void dissect_ok(const struct nb_packet *packet, packet_info *pinfo, proto_tree *tree, int at)
{
    proto_tree_add_item(tree, hf_netblt_control_burst_size, packet->tvb, at + 8, 2, ENC_BIG_ENDIAN);
    proto_tree_add_item(tree, hf_netblt_control_burst_interval, packet->tvb, at + 10, 2, ENC_BIG_ENDIAN);
    proto_tree_add_item(tree, hf_netblt_control_timer, packet->tvb, at + 12, 2, ENC_BIG_ENDIAN);
    if (packet->layout->ok_packet_size) {
        proto_tree_add_item(tree, hf_netblt_control_packet_size, packet->tvb, at + packet->layout->ok_packet_size, 2,
                            ENC_BIG_ENDIAN);
    } else {
        check_zero(packet, pinfo, tree, at + 14, 2);
    }
}

static void dissect_resend(const struct nb_packet *packet, packet_info *pinfo, proto_tree *tree,
                           const struct nb_message *message)
{
    const int at = message->offset;
    const int list = message->list;
    const int list_bytes = 2 * message->count;

    proto_tree_add_item(tree, hf_netblt_resend_count, packet->tvb, at + 8, 2, ENC_BIG_ENDIAN);
    if (packet->layout->resend_burst) {
        const int burst = at + packet->layout->resend_burst;
        proto_tree_add_item(tree, hf_netblt_control_burst_size, packet->tvb, burst, 2, ENC_BIG_ENDIAN);
        proto_tree_add_item(tree, hf_netblt_control_burst_interval, packet->tvb, burst + 2, 2, ENC_BIG_ENDIAN);
    }
    check_zero(packet, pinfo, tree, list - 2, 2);
    if (message->count > 0) {
        proto_tree *numbers =
            proto_tree_add_subtree(tree, packet->tvb, list, list_bytes, ett_netblt_resend, NULL, "Missing packets");
        for (unsigned i = 0; i < message->count; i++) {
            proto_tree_add_item(numbers, hf_netblt_resend_packet, packet->tvb, list + 2 * (int)i, 2, ENC_BIG_ENDIAN);
        }
    }
    check_zero(packet, pinfo, tree, list + list_bytes, at + message->bytes - list - list_bytes);
}

/* `#7 GO 5`, `#8 OK 3`, `#9 RESEND 4 {2,9}`: findings name messages by these numbers too. */
static const char *describe(const struct nb_packet *packet, packet_info *pinfo, const struct nb_message *message)
{
    wmem_strbuf_t *text = wmem_strbuf_new(pinfo->pool, "");

    wmem_strbuf_append_printf(text, "#%u %s %u", message->seq, message_name(message->type), message->buffer);
    if (message->type == NB_RESEND) {
        const unsigned shown = MIN(message->count, INFO_LIST_ENTRIES);

        wmem_strbuf_append(text, " {");
        for (unsigned i = 0; i < shown; i++) {
            wmem_strbuf_append_printf(text, i == 0 ? "%u" : ",%u", nb_resend_entry(packet, message, i));
        }
        wmem_strbuf_append_printf(text, shown < message->count ? ",... %u in all}" : "}", message->count);
    }
    return wmem_strbuf_get_str(text);
}

/* The buffer number once more, under a name that states the kind of message: one CONTROL holds several, and a graph or
 * filter wants those of one kind. */
static void add_buffer_of(const struct nb_packet *packet, proto_tree *tree, const struct nb_message *message)
{
    const int hf = message->type == NB_GO   ? hf_netblt_control_go
                   : message->type == NB_OK ? hf_netblt_control_ok
                                            : hf_netblt_control_resend;

    proto_item_set_hidden(proto_tree_add_item(tree, hf, packet->tvb, message->offset + 4, 4, ENC_BIG_ENDIAN));
}

static proto_tree *dissect_message(const struct nb_packet *packet, packet_info *pinfo, proto_tree *tree,
                                   const struct nb_message *message, const char *description)
{
    const int at = message->offset;
    proto_item *item = proto_tree_add_item(tree, hf_netblt_control_message, packet->tvb, at, message->bytes, ENC_NA);
    proto_tree *sub = proto_item_add_subtree(item, ett_netblt_message);

    proto_item_set_text(item, "%s", description);
    proto_tree_add_item(sub, hf_netblt_control_type, packet->tvb, at, 1, ENC_BIG_ENDIAN);
    check_zero(packet, pinfo, sub, at + 1, 1);
    proto_tree_add_item(sub, hf_netblt_control_seq, packet->tvb, at + 2, 2, ENC_BIG_ENDIAN);
    proto_tree_add_item(sub, hf_netblt_control_buffer, packet->tvb, at + 4, 4, ENC_BIG_ENDIAN);
    add_buffer_of(packet, sub, message);
    if (message->type == NB_OK) {
        dissect_ok(packet, pinfo, sub, at);
    } else if (message->type == NB_RESEND) {
        dissect_resend(packet, pinfo, sub, message);
    }
    return sub;
}

static void dissect_rest(const struct nb_packet *packet, packet_info *pinfo, proto_tree *tree, int offset,
                         enum nb_walk reason)
{
    const int bytes = MIN(packet->end, packet->captured) - offset;
    proto_item *item = NULL;

    if (bytes > 0) {
        item = proto_tree_add_item(tree, hf_netblt_undecoded, packet->tvb, offset, bytes, ENC_NA);
    } else {
        item = proto_tree_get_parent(tree);
    }
    switch (reason) {
    case NB_RESIDUE:
        expert_add_info(pinfo, item, &ei_netblt_message_residue);
        break;
    case NB_UNKNOWN_MESSAGE:
        expert_add_info(pinfo, item, &ei_netblt_message_unknown);
        break;
    case NB_OVERRUN:
        expert_add_info(pinfo, item, &ei_netblt_message_overrun);
        break;
    default: /* NB_WALK_CUT: the header shows it already */
        break;
    }
}

void nb_show_control(const struct nb_view *view)
{
    const struct nb_packet *packet = view->packet;
    packet_info *pinfo = view->pinfo;
    proto_tree *tree = view->tree;
    struct nb_message message;
    enum nb_walk walk;
    int offset = NB_HEADER_BYTES;
    unsigned messages = 0;

    while ((walk = nb_next_message(packet, &offset, &message)) == NB_MESSAGE) {
        const char *text = describe(packet, pinfo, &message);

        if (messages < INFO_MESSAGES) {
            col_append_sep_str(pinfo->cinfo, COL_INFO, messages == 0 ? " " : ", ", text);
            proto_item_append_text(view->root, "%s%s", messages == 0 ? " " : ", ", text);
        } else if (messages == INFO_MESSAGES) {
            col_append_str(pinfo->cinfo, COL_INFO, ", ...");
        }
        messages++;
        proto_tree *sub = dissect_message(packet, pinfo, tree, &message, text);
        if (view->known.show_message != NULL) {
            view->known.show_message(view, &message, sub);
        }
    }
    if (walk == NB_END && messages == 0) {
        col_append_str(pinfo->cinfo, COL_INFO, " (empty)");
    } else if (walk != NB_END) {
        dissect_rest(packet, pinfo, tree, offset, walk);
    }
}
