/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of work on each packet: stream, copies, roles, then one rule after the other. */
#include "analysis.h"

#include "checksum.h"
#include "fields.h"

bool nb_data_checksum_fits(const struct nb_packet *packet)
{
    const uint16_t sum = nb_sum(packet->tvb, NB_DATA_HEADER_BYTES, packet->end - NB_DATA_HEADER_BYTES);
    const uint16_t field = tvb_get_ntohs(packet->tvb, 20);

    /* As everywhere: the complement, both zeros alike. */
    return (uint16_t)(sum ^ field) == 0xFFFF || (sum % 0xFFFF == 0 && field % 0xFFFF == 0);
}

void nb_rules_init(struct nb_stream *stream)
{
    stream->redundancy = nb_redundancy_new();
    stream->order = nb_order_new();
}

/* FNV-1a over the captured bytes, at most as many as tell packets of one flow apart. */
static uint32_t content_hash(const struct nb_packet *packet)
{
    enum { ENOUGH_BYTES = 64 };
    const int bytes = MIN(MIN(packet->captured, packet->end), ENOUGH_BYTES);
    const uint8_t *p = tvb_get_ptr(packet->tvb, 0, bytes);
    uint32_t hash = 2166136261U;

    for (int i = 0; i < bytes; i++) {
        hash = (hash ^ p[i]) * 16777619U;
    }
    return hash;
}

/* Roles by behaviour (AMB-08): M is only believed as long as nobody has acted. */
static void learn_roles(struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const uint8_t type = event->packet->type;
    int sender = -1;

    if (nb_has_high_seq(type)) {
        sender = event->end;
    } else if (type == NB_CONTROL || type == NB_DONE) {
        sender = 1 - event->end;
    } else {
        return;
    }
    if (stream->sender < 0) {
        stream->sender = (int8_t)sender;
    } else if (stream->sender != sender) {
        stream->doubts |= NB_DOUBT_ROLES;
    }
}

static void learn_opening(struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const struct nb_packet *packet = event->packet;

    if (stream->opened_number[event->end] == 0) {
        stream->opened_number[event->end] = event->emitted.number;
    }
    if (packet->type == NB_OPEN) {
        stream->open_seen = true;
        nb_reaction_asked(&stream->reaction, 1 - event->end, event->now);
    } else if (!stream->response_seen) {
        stream->response_seen = true;
        stream->data_checksummed = (packet->open_flags & NB_OPEN_DATA_CHECKSUM) != 0;
        stream->data_packet_size = packet->data_packet_size;
        if (!stream->acked_known && stream->open_seen) {
            stream->acked_known = true; /* CTRL-01: numbers start at 1, so 0 is acknowledged from the start */
        }
        nb_reaction_answered(&stream->reaction, event->end, event->now);
        nb_reaction_asked(&stream->reaction, 1 - event->end, event->now);
    }
}

static void learn_closing(struct nb_event *event)
{
    const uint8_t type = event->packet->type;

    if (type == NB_DONE || type == NB_ABORT || type == NB_QUITACK || type == NB_REFUSED) {
        event->stream->closed = true;
    }
}

static void control_packet(struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const int64_t newest = stream->newest;

    if (event->end == stream->sender) {
        return; /* ROBUST-08: wrong way */
    }
    nb_order_control(event);
    nb_redundancy_control(event);
    nb_reaction_answered(&stream->reaction, event->end, event->now);
    if (stream->newest > newest) {
        nb_reaction_asked(&stream->reaction, 1 - event->end, event->now);
    }
}

static void sender_packet(struct nb_event *event)
{
    struct nb_stream *stream = event->stream;

    if (event->end != stream->sender) {
        return;
    }
    if (!stream->acked_known) {
        stream->acked_known = true; /* mid-stream: begin with what this end acknowledges now */
        stream->acked = event->packet->high_seq;
        stream->newest = MAX(stream->newest, stream->acked);
    }
    const int64_t ack = nb_unwrap(stream->acked, event->packet->high_seq);
    nb_redundancy_acknowledged(event, ack);
    if (ack > stream->acked) {
        stream->acked = ack;
        nb_reaction_answered(&stream->reaction, event->end, event->now);
    }
    if (nb_is_data(event->packet->type)) {
        nb_order_data(event, ack);
    }
}

/* DEMUX-04: emitted before this end opened the connection, so it belongs to the one before on the same ports. */
static bool is_stray(const struct nb_event *event)
{
    return event->stream->follows_another && event->emitted.arrival == NB_LATE &&
           event->emitted.number < event->stream->opened_number[event->end];
}

static void apply_rules(struct nb_event *event)
{
    if (is_stray(event)) {
        return;
    }
    learn_roles(event);
    switch (event->packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        learn_opening(event);
        break;
    case NB_CONTROL:
        control_packet(event);
        break;
    case NB_DATA:
    case NB_LDATA:
    case NB_NULL_ACK:
        sender_packet(event);
        break;
    default:
        learn_closing(event);
        break;
    }
    if (event->end == event->stream->sender && !nb_has_high_seq(event->packet->type)) {
        nb_redundancy_passed(event);
    }
}

static bool changes_state(const struct nb_packet *packet, bool verified)
{
    if (packet->status != NB_SOUND) {
        return false;
    }
    return verified ? packet->header_checksum == NB_GOOD || packet->header_checksum == NB_COVERS_DATA : true;
}

static bool is_cut(const struct nb_packet *packet)
{
    return packet->fragment || packet->captured < packet->end || packet->status == NB_CUT;
}

static void fill_record(struct nb_event *event, uint8_t position)
{
    struct nb_record *record = event->record;
    const struct nb_stream *stream = event->stream;

    record->stream = stream;
    record->end = (int8_t)event->end;
    record->sender = stream->sender;
    record->position =
        position != NB_POSITION_AUTO ? position : (uint8_t)nb_infer_position(&stream->reaction, stream->sender);
    record->data_checksummed = stream->data_checksummed;
}

static void judge_data(struct nb_event *event, struct nb_packet *packet)
{
    event->sound_data = true;
    if (!nb_is_data(packet->type) || !event->stream->data_checksummed || is_cut(packet)) {
        return;
    }
    packet->data_checksum = nb_data_checksum_fits(packet) ? NB_GOOD : NB_BAD;
    event->sound_data = packet->data_checksum == NB_GOOD;
}

static struct nb_record *first_look(struct nb_packet *packet, const struct nb_carrier *carrier, packet_info *pinfo,
                                    bool verified, int position)
{
    struct nb_event event = {.packet = packet,
                             .frame = pinfo->num,
                             .now = nstime_to_sec(&pinfo->rel_ts),
                             .at_sender = position == NB_POSITION_SENDER};
    const bool counts = changes_state(packet, verified);

    if (packet->captured < NB_HEADER_BYTES || packet->status == NB_OTHER_DIALECT) {
        return NULL;
    }
    event.stream = counts ? nb_stream_of(packet, carrier, pinfo, &event.end)
                          : nb_stream_lookup(packet, carrier, pinfo, &event.end);
    if (event.stream == NULL) {
        return NULL;
    }
    event.record = wmem_new0(wmem_file_scope(), struct nb_record);
    if (is_cut(packet)) {
        event.stream->doubts |= NB_DOUBT_CUT;
    }
    if (!verified) {
        event.stream->doubts |= NB_DOUBT_UNVERIFIED;
    }
    if (counts) {
        judge_data(&event, packet);
        event.emitted = nb_emission_note(&event.stream->flow[event.end], carrier->ipv4, carrier->ip_id,
                                         content_hash(packet), event.frame);
        event.record->copy_of = event.emitted.copy_of;
        if (event.emitted.arrival != NB_COPY) {
            apply_rules(&event);
        }
    }
    fill_record(&event, (uint8_t)position);
    return event.record;
}

const struct nb_record *nb_analyse(struct nb_packet *packet, const struct nb_carrier *carrier, packet_info *pinfo,
                                   uint32_t index, bool verified, int position)
{
    if (pinfo->flags.in_error_pkt) {
        return NULL; /* quoted by ICMP: it was sent at some other time */
    }
    if (PINFO_FD_VISITED(pinfo)) {
        return (const struct nb_record *)p_get_proto_data(wmem_file_scope(), pinfo, proto_netblt, index);
    }
    struct nb_record *record = first_look(packet, carrier, pinfo, verified, position);
    if (record != NULL) {
        p_add_proto_data(wmem_file_scope(), pinfo, proto_netblt, index, record);
    }
    return record;
}

void nb_show_record(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo,
                    proto_tree *tree, int position)
{
    if (record == NULL) {
        return;
    }
    const char *role = record->sender < 0 ? "unknown" : record->sender == record->end ? "sender" : "receiver";
    proto_item *item = proto_tree_add_uint(tree, hf_netblt_stream, packet->tvb, 0, 0, record->stream->index);
    proto_item_set_generated(item);
    item = proto_tree_add_string(tree, hf_netblt_role, packet->tvb, 0, 0, role);
    proto_item_set_generated(item);
    item =
        proto_tree_add_string(tree, hf_netblt_capture_position, packet->tvb, 0, 0, nb_position_name(record->position));
    proto_item_set_generated(item);
    proto_item_append_text(item, position != NB_POSITION_AUTO ? " (set by preference)" : " (inferred, proves nothing)");
    if (record->copy_of != 0) {
        item = proto_tree_add_uint(tree, hf_netblt_analysis_copy_of, packet->tvb, 0, 0, record->copy_of);
        proto_item_set_generated(item);
        expert_add_info(pinfo, item, &ei_netblt_copy);
    }
    nb_show_findings(record->findings, pinfo, tree, packet->tvb);
}
