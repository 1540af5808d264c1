/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows one packet: its tree, its part of the Info column, its format errors. */
#include "decode/show.h"

#include "decode/checksum.h"
#include "decode/fields.h"
#include "decode/show-body.h"

static void add_header_checksum(const struct nb_view *view)
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
        nb_info(view, " [bad checksum]");
    }
}

/* The type as RFC 998 numbers it; the code of the packet too where that is another one, or none that is known. */
static void add_type(const struct nb_view *view)
{
    const struct nb_packet *packet = view->packet;
    const bool known = packet->status != NB_UNKNOWN_TYPE;

    if (known) {
        proto_tree_add_uint(view->tree, hf_netblt_type, packet->tvb, 3, 1, packet->type);
    }
    proto_item *code = proto_tree_add_item(view->tree, hf_netblt_type_code, packet->tvb, 3, 1, ENC_BIG_ENDIAN);
    if (!known) {
        proto_item_append_text(code, " (unknown)");
    } else if (packet->type == packet->type_code) {
        proto_item_set_hidden(code);
    }
}

/* WIRE-02 */
static void show_header(const struct nb_view *view)
{
    const struct nb_packet *packet = view->packet;
    tvbuff_t *tvb = packet->tvb;
    proto_item *item;

    if (view->tree == NULL && packet->header_checksum == NB_GOOD && tvb_get_ntohs(tvb, 10) == 0) {
        return; /* no tree is built, and there is nothing to report */
    }
    add_header_checksum(view);
    proto_tree_add_item(view->tree, hf_netblt_version, tvb, 2, 1, ENC_BIG_ENDIAN);
    if (view->tree != NULL) {
        item = proto_tree_add_uint(view->tree, hf_netblt_dialect, tvb, 0, 0, packet->dialect);
        proto_item_set_generated(item);
    }
    add_type(view);
    proto_tree_add_item(view->tree, hf_netblt_length, tvb, 4, 2, ENC_BIG_ENDIAN);
    proto_tree_add_item(view->tree, hf_netblt_local_port, tvb, 6, 2, ENC_BIG_ENDIAN);
    proto_tree_add_item(view->tree, hf_netblt_foreign_port, tvb, 8, 2, ENC_BIG_ENDIAN);
    proto_item_set_hidden(proto_tree_add_item(view->tree, hf_netblt_port, tvb, 6, 2, ENC_BIG_ENDIAN));
    proto_item_set_hidden(proto_tree_add_item(view->tree, hf_netblt_port, tvb, 8, 2, ENC_BIG_ENDIAN));
    item = proto_tree_add_item(view->tree, hf_netblt_padding, tvb, 10, 2, ENC_BIG_ENDIAN);
    if (packet->status == NB_SOUND && tvb_get_ntohs(tvb, 10) != 0) {
        expert_add_info(view->pinfo, item, &ei_netblt_padding);
    }
}

/* Bytes of the payload beyond Length: alignment that the emitter added (AMB-02). */
static void add_alignment(const struct nb_view *view)
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
static void complain(const struct nb_view *view)
{
    const struct nb_packet *packet = view->packet;
    static const struct {
        expert_field *ei;
        const char *text;
    } faults[] = {[NB_SHORT] = {&ei_netblt_short, " [too short for a header]"},
                  [NB_LENGTH_BEYOND] = {&ei_netblt_length_beyond, " [Length beyond the payload]"},
                  [NB_LENGTH_BELOW] = {&ei_netblt_length_below, " [Length below the minimum]"},
                  [NB_UNKNOWN_TYPE] = {&ei_netblt_type_unknown, " [unknown type]"},
                  [NB_CUT] = {&ei_netblt_cut, " [cut by the capture]"}};

    if (packet->status != NB_SOUND) {
        expert_add_info(view->pinfo, view->root, faults[packet->status].ei);
        nb_info(view, faults[packet->status].text);
        return;
    }
    if (!nb_is_data(packet->type) && packet->length % 4 != 0) {
        expert_add_info(view->pinfo, view->root, &ei_netblt_length_multiple);
    }
    if (packet->captured < packet->end || packet->fragment) {
        expert_add_info(view->pinfo, view->root, &ei_netblt_cut);
    }
}

static void show_undecoded(const struct nb_view *view)
{
    const int captured = view->packet->captured;
    const int from = captured < NB_HEADER_BYTES ? 0 : NB_HEADER_BYTES;

    if (from > 0) {
        show_header(view);
    }
    if (captured > from) {
        proto_tree_add_item(view->tree, hf_netblt_undecoded, view->packet->tvb, from, captured - from, ENC_NA);
    }
}

static const char *title(const struct nb_view *view)
{
    const struct nb_packet *packet = view->packet;

    if (packet->captured < NB_HEADER_BYTES) {
        return "NETBLT fragment";
    }
    if (packet->status == NB_UNKNOWN_TYPE) {
        return wmem_strdup_printf(view->pinfo->pool, "Version %u type %u", packet->version, packet->type_code);
    }
    return nb_type_name(packet->type);
}

void nb_show_packet(struct nb_view *view, proto_tree *parent)
{
    const struct nb_packet *packet = view->packet;
    const char *name = title(view);

    view->root = proto_tree_add_item(parent, proto_netblt, packet->tvb, 0, -1, ENC_NA);
    view->tree = proto_item_add_subtree(view->root, ett_netblt);
    col_append_sep_str(view->pinfo->cinfo, COL_INFO, " | ", name);
    proto_item_append_text(view->root, ", %s", name);
    if (packet->status == NB_SOUND) {
        show_header(view);
        nb_show_body(view);
        add_alignment(view);
    } else {
        show_undecoded(view);
    }
    complain(view);
}
