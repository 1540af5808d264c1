/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of work on each packet: stream, copies, roles, then one rule after the other. */
#include "rules/analysis.h"

#include "connection/take.h"
#include "decode/content.h"
#include "rules/absence.h"
#include "rules/acks.h"
#include "rules/close.h"
#include "rules/control.h"
#include "rules/data.h"
#include "rules/duty.h"
#include "rules/etftp.h"
#include "rules/judge.h"
#include "rules/messages.h"
#include "rules/opening.h"
#include "rules/order.h"
#include "rules/progress.h"
#include "rules/queue-parts.h"
#include "rules/rate.h"
#include "rules/redundancy.h"
#include "rules/resend-message.h"
#include "rules/robust.h"
#include "rules/sizes.h"
#include "rules/wire.h"

void nb_register_analysis(void)
{
    nb_register_streams();
    nb_register_records();
    nb_register_verdicts();
    nb_register_judge();
    nb_wire_register();
    nb_opening_register();
    nb_control_register();
    nb_messages_register();
    nb_resend_message_register();
    nb_acks_register();
    nb_duty_register();
    nb_data_register();
    nb_rate_register();
    nb_absence_register();
    nb_progress_register();
    nb_close_register();
    nb_queue_parts_register();
    nb_redundancy_register();
    nb_robust_register();
    nb_sizes_register();
    nb_etftp_register();
    nb_order_register();
}

/* FNV-1a by eight bytes over what was captured, at most as much as distinguishes packets of one flow. */
static uint32_t content_hash(const struct nb_packet *packet)
{
    enum { ENOUGH_BYTES = 64 };
    const int bytes = MIN(MIN(packet->captured, packet->end), ENOUGH_BYTES);
    const uint8_t *p = tvb_get_ptr(packet->tvb, 0, bytes);
    uint64_t hash = 14695981039346656037U;

    for (int i = 0; i < bytes; i += (int)sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, p + i, MIN(sizeof(word), (size_t)(bytes - i)));
        hash = (hash ^ word) * 1099511628211U;
    }
    return (uint32_t)(hash >> 32 ^ hash);
}

/* Roles by behaviour (AMB-08): M is only believed as long as neither end has acted. */
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

    if (stream->end[event->end].opened_number == 0) {
        stream->end[event->end].opened_number = event->emitted.number;
        /* DEMUX-04: what it was seen to send before may belong to the connection before. */
        if (stream->follows_another && stream->end[event->end].packets > 0) {
            stream->doubts |= NB_DOUBT_EPOCH;
        }
    }
    if (packet->type == NB_OPEN) {
        stream->open_seen = true;
        nb_reaction_asked(&stream->reaction, 1 - event->end, event->now);
    } else if (!stream->response_seen) {
        stream->response_seen = true;
        stream->data_checksummed = (packet->open_flags & NB_OPEN_DATA_CHECKSUM) != 0;
        stream->data_packet_size = packet->data_packet_size;
        stream->guarded = nb_is_guarded(packet);
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

    if (type == NB_ABORT && event->stream->doubts & NB_DOUBT_EPOCH && event->stream->response_seen) {
        return; /* OPEN-09: it may refuse the other connection on these ports */
    }
    if (type == NB_DONE || type == NB_ABORT || type == NB_QUITACK || type == NB_REFUSED) {
        event->stream->closed = true;
    }
}

static void control_packet(struct nb_event *event)
{
    struct nb_stream *stream = event->stream;

    if (event->end == stream->sender) {
        nb_robust_odd(event, NB_ODD_DIRECTION);
        return;
    }
    nb_control_packet(event);
    nb_reaction_answered(&stream->reaction, event->end, event->now);
    if (stream->newest > event->newest_before) {
        nb_reaction_asked(&stream->reaction, 1 - event->end, event->now);
    }
}

static void sender_packet(struct nb_event *event)
{
    struct nb_stream *stream = event->stream;

    if (event->end != stream->sender) {
        nb_robust_odd(event, NB_ODD_DIRECTION);
        return;
    }
    nb_acks_packet(event);
    nb_redundancy_acknowledged(event);
    if (event->ack.now > event->ack.before) {
        nb_reaction_answered(&stream->reaction, event->end, event->now);
    }
    if (nb_is_data(event->packet->type)) {
        nb_data_packet(event);
    } else {
        nb_acks_null_ack(event);
    }
    if (event->ack.now > event->ack.before) {
        nb_acks_retire(event);
    }
}

/* DEMUX-04: emitted before this end opened the connection, so it belongs to the one before on the same ports. */
static bool is_stray(const struct nb_event *event)
{
    return event->stream->follows_another && event->emitted.arrival == NB_LATE &&
           event->emitted.number < event->stream->end[event->end].opened_number;
}

static bool is_opening(uint8_t type)
{
    return type == NB_OPEN || type == NB_RESPONSE;
}

static bool is_transfer(uint8_t type)
{
    return type == NB_CONTROL || nb_has_high_seq(type);
}

/* DEMUX-04: the next connection on these ports opens with a packet of this end. Here none of its can have escaped. */
static bool goes_straight_on(const struct nb_event *event)
{
    const struct nb_emitted *emitted = &event->emitted;

    return emitted->arrival == NB_LATE || (emitted->arrival == NB_IN_ORDER && emitted->step == 1);
}

/* All buffers are accepted and the sender knows it: messages that are repeated from the first one on, and data, are of
 * another transfer. */
static bool begins_anew(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    struct nb_message message;
    int offset = NB_HEADER_BYTES;

    if (!stream->last.known || stream->final_ok.seq == 0 || !stream->final_ok.acked) {
        return false;
    }
    return nb_is_data(event->packet->type) ||
           (event->packet->type == NB_CONTROL && nb_next_message(event->packet, &offset, &message) == NB_MESSAGE &&
            nb_unwrap(event->stream->acked, message.seq) <= event->stream->acked);
}

/* The connection is over, and the capture may have missed how the next one on these ports was opened. */
static bool may_be_of_the_next(const struct nb_event *event)
{
    const uint8_t type = event->packet->type;

    if (type == NB_RESPONSE) { /* to an OPEN of the peer, with the same ID: no IP ID of this end shows that */
        return event->stream->closed && event->stream->response_seen;
    }
    return type != NB_OPEN && !goes_straight_on(event) && (event->stream->closed || begins_anew(event));
}

/* A passive receiver asks for data as soon as it has answered the OPEN. When that RESPONSE is lost before the capture,
 * its CONTROL comes first, from message 1 on, and the active end sends nothing until another RESPONSE. */
static bool follows_lost_response(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const int8_t active = stream->active;

    return event->packet->type == NB_CONTROL && event->stream->open_seen && active == 1 - event->end &&
           stream->end[active].transfer.frame == 0 && nb_begins_with_message_1(event->packet);
}

static void learn_anyway(struct nb_event *event)
{
    if (event->packet->type == NB_OPEN || event->packet->type == NB_RESPONSE) {
        learn_opening(event);
    } else if (!is_transfer(event->packet->type)) {
        learn_closing(event);
    }
}

/* RFC 998 assigns no version: a version byte does not show that version 4 is spoken, only the layout does. */
static bool is_judged(const struct nb_stream *stream)
{
    return stream->dialect != NB_VERSION4 || stream->reads_as_version4;
}

static void apply_rules(struct nb_event *event)
{
    if (!is_judged(event->stream)) {
        learn_anyway(event);
        return;
    }
    if (is_transfer(event->packet->type) && !(event->stream->open_seen && event->stream->response_seen) &&
        !follows_lost_response(event)) {
        event->stream->doubts |= NB_DOUBT_BEGINNING;
    }
    if (is_opening(event->packet->type)) {
        learn_opening(event);
    } else if (is_transfer(event->packet->type)) {
        nb_opening_transfer(event);
    }
    const double previous[2] = {event->stream->end[0].last_when, event->stream->end[1].last_when};
    event->stream->end[event->end].last_when = event->now;
    nb_robust_packet(event);
    nb_wire_packet(event);
    nb_absence_packet(event, previous);
    nb_progress_packet(event);
    nb_close_packet(event);
    switch (event->packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        nb_opening_packet(event);
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
    if (event->stream->dialect == NB_ETFTP) {
        nb_etftp_packet(event);
    }
    nb_settle(event);
}

static void take_and_judge(struct nb_event *event)
{
    bool copy = event->emitted.arrival == NB_COPY;

    if (!copy && !is_stray(event)) {
        if (may_be_of_the_next(event)) {
            event->stream->doubts |= NB_DOUBT_EPOCH;
        }
        learn_roles(event);
        copy = !nb_take_packet(event);
        if (!copy) {
            apply_rules(event);
        }
    }
    if (copy && nb_is_data(event->packet->type)) {
        nb_data_copy(event);
    }
    event->record->outstanding = (uint16_t)CLAMP(event->stream->buffers.outstanding, 0, 0xFFFF);
}

static bool changes_state(const struct nb_packet *packet, bool verified)
{
    if (packet->status != NB_SOUND) {
        return false;
    }
    return verified ? packet->header_checksum == NB_GOOD || packet->header_checksum == NB_COVERS_DATA : true;
}

/* A record, and its place in the table of frames. */
enum { RECORD_BYTES = sizeof(struct nb_record) + sizeof(uint32_t) };

static bool is_cut(const struct nb_packet *packet)
{
    return packet->fragment || packet->captured < packet->end || packet->status == NB_CUT;
}

static void fill_record(struct nb_event *event, enum nb_position position)
{
    struct nb_record *record = event->record;
    struct nb_stream *stream = event->stream;

    record->stream = stream->index + 1;
    record->end = event->end != 0;
    /* NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c) */
    record->sender = stream->sender;
    record->position = position != NB_POSITION_AUTO ? position : nb_infer_position(&stream->reaction, stream->sender);
    record->data_checksummed = stream->data_checksummed;
    record->dialect = stream->dialect;
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

/* Only OPEN and RESPONSE distinguish RFC 998 from ETFTP; all other packets are what the connection is. */
static void learn_dialect(struct nb_event *event, struct nb_packet *packet)
{
    struct nb_stream *stream = event->stream;

    /* A RESPONSE answers an OPEN in its dialect: one that reads otherwise is damaged, or forged. */
    const bool decides = packet->type == NB_OPEN || (packet->type == NB_RESPONSE && !stream->open_seen);

    if (stream->dialect == NB_AUTO || (packet->dialect_certain && decides)) {
        stream->dialect = packet->dialect;
    }
    nb_read_as(packet, stream->dialect);
    if (is_opening(packet->type) && packet->dialect == NB_VERSION4 && packet->status == NB_SOUND && !is_cut(packet) &&
        packet->header_checksum != NB_BAD && nb_strings_as_version4(packet->tvb, packet->end)) {
        stream->reads_as_version4 = true;
    }
}

/* WIRE-13: a RESPONSE whose ports are those of the OPEN belongs to no connection, but for its unique ID. */
static void judge_ports(const struct nb_event *event, const struct nb_packet *packet, const struct nb_carrier *carrier,
                        packet_info *pinfo)
{
    struct nb_event turned = *event;
    struct nb_packet swapped = *packet;
    struct nb_charge charge = {.rule = NB_RULE_WIRE_DIRECTION, .alone = true};

    if (packet->type != NB_RESPONSE || event->stream->open_seen || packet->local_port == packet->foreign_port) {
        return;
    }
    swapped.local_port = packet->foreign_port;
    swapped.foreign_port = packet->local_port;
    turned.packet = &swapped;
    turned.stream = nb_stream_lookup(&swapped, carrier, pinfo, &turned.end);
    if (turned.stream == NULL || !turned.stream->open_seen || turned.stream->response_seen ||
        turned.stream->uid != packet->uid || turned.stream->active != 1 - turned.end) {
        return;
    }
    charge.offender = turned.end;
    charge.request_frame = nb_terms_by(turned.stream, 1 - turned.end)->frame;
    nb_blame(&turned, &charge, "RESPONSE with the ports as the OPEN has them, not as its own emitter sees them");
}

/* The type code has another meaning than in the other packets of the connection. */
static bool is_of_another_dialect(const struct nb_event *event)
{
    return is_judged(event->stream) &&
           (event->stream->dialect == NB_VERSION4) != (event->packet->dialect == NB_VERSION4);
}

/* Changes no state but for what its IP ID shows: no packet is missing here. */
static void stateless_packet(struct nb_event *event, const struct nb_carrier *carrier, bool verified, bool intact)
{
    const struct nb_origin origin = nb_origin_of(carrier, event->frame);

    nb_emission_note_damaged(&event->stream->end[event->end].flow, &origin);
    if (is_of_another_dialect(event)) {
        if (intact) {
            nb_wire_version(event);
        }
    } else if (is_judged(event->stream)) {
        nb_wire_broken(event, verified);
    }
}

/* DEMUX-04: an OPEN or RESPONSE of which the capture holds the fields and not the whole string. Nothing is believed
 * that cannot be verified, but that another connection begins. */
static bool tells_connections_apart(const struct nb_packet *packet)
{
    return (packet->type == NB_OPEN || packet->type == NB_RESPONSE) && packet->status == NB_SOUND && is_cut(packet) &&
           packet->header_checksum == NB_UNVERIFIED;
}

/* There is no memory for this connection any more: it is followed only so far that the next one is known. */
static void give_up(struct nb_event *event, bool counts)
{
    event->record->facts |= NB_NOT_JUDGED;
    if (counts) {
        learn_anyway(event);
    }
}

/* The end at which the packets of this connection were captured; -1: not known. */
static int8_t captured_at(const struct nb_stream *stream, const struct nb_point *point)
{
    if (point->hosts == NULL) {
        return (int8_t)(stream->sender < 0                        ? -1
                        : point->position == NB_POSITION_SENDER   ? stream->sender
                        : point->position == NB_POSITION_RECEIVER ? 1 - stream->sender
                                                                  : -1);
    }
    for (int8_t end = 0; end < 2; end++) {
        char *address = address_to_str(NULL, &stream->end[end].address);
        const bool here = g_strv_contains((const char *const *)point->hosts, address);

        wmem_free(NULL, address);
        if (here) {
            return end;
        }
    }
    return -1;
}

/* Where the capture was made, by the role of the end that it was made at. */
static enum nb_position position_of(const struct nb_stream *stream)
{
    return stream->point.hosts == NULL                     ? stream->point.position
           : stream->captured_at < 0 || stream->sender < 0 ? NB_POSITION_AUTO
           : stream->captured_at == stream->sender         ? NB_POSITION_SENDER
                                                           : NB_POSITION_RECEIVER;
}

static struct nb_record *first_look(struct nb_packet *packet, const struct nb_carrier *carrier, packet_info *pinfo,
                                    uint32_t key, bool verified, struct nb_point point)
{
    struct nb_event event = {
        .packet = packet,
        .frame = pinfo->num,
        .now_ns = pinfo->rel_ts.secs * (int64_t)1000000000 + pinfo->rel_ts.nsecs,
        .now = nstime_to_sec(&pinfo->rel_ts),
        .over_udp = carrier->udp_source != 0 || carrier->udp_target != 0,
    };
    const bool counts = changes_state(packet, verified);

    if (packet->captured < NB_HEADER_BYTES) {
        return NULL;
    }
    event.stream = counts || tells_connections_apart(packet) ? nb_stream_of(packet, carrier, pinfo, &event.end)
                                                             : nb_stream_lookup(packet, carrier, pinfo, &event.end);
    if (event.stream == NULL && packet->type == NB_OPEN && verified && nb_wire_is_miscomputed(packet)) {
        event.stream = nb_stream_of(packet, carrier, pinfo, &event.end); /* it will never be answered */
    }
    if (event.stream == NULL && verified && nb_wire_is_short_open(packet)) {
        packet->uid = tvb_get_ntohl(packet->tvb, NB_HEADER_BYTES); /* the next OPEN may be whole */
        event.stream = nb_stream_of(packet, carrier, pinfo, &event.end);
    }
    if (event.stream == NULL) {
        return NULL;
    }
    if (!event.stream->placed || point.hosts == NULL) {
        event.stream->captured_at = captured_at(event.stream, &point);
        event.stream->placed = true;
    }
    event.stream->point = point;
    event.at_receiver = position_of(event.stream) == NB_POSITION_RECEIVER;
    event.at_sender = position_of(event.stream) == NB_POSITION_SENDER;
    nb_memory_end();
    event.record = nb_record_add(pinfo->num, key);
    nb_account_packet(&event.stream->account);
    nb_account_take(&event.stream->account, RECORD_BYTES);
    nb_memory_begin(&event.stream->account, pinfo->num);
    event.moment = nb_record_count();
    event.record->now_ns = event.now_ns;
    learn_dialect(&event, packet);
    event.stream->doubts |= (carrier->irregular ? NB_DOUBT_DATAGRAM : 0) | (carrier->unseen ? NB_DOUBT_CUT : 0);
    if (is_cut(packet)) {
        event.stream->doubts |= NB_DOUBT_CUT;
        event.stream->queue.cut = event.stream->queue.cut || packet->type == NB_CONTROL;
    }
    if (!verified) {
        event.stream->doubts |= NB_DOUBT_UNVERIFIED;
    }
    if (!nb_memory_ask(0)) {
        give_up(&event, counts);
    } else if (counts && !is_of_another_dialect(&event)) {
        judge_data(&event, packet);
        event.content = content_hash(packet);
        const struct nb_origin origin = nb_origin_of(carrier, event.frame);
        event.emitted = nb_emission_note(&event.stream->end[event.end].flow, &origin, event.content);
        nb_note_copy(event.record, event.emitted.copy_of);
        take_and_judge(&event);
        judge_ports(&event, packet, carrier, pinfo);
    } else {
        stateless_packet(&event, carrier, verified, counts);
    }
    fill_record(&event, position_of(event.stream));
    nb_memory_end();
    return event.record;
}

const struct nb_record *nb_analyse(struct nb_packet *packet, const struct nb_carrier *carrier, packet_info *pinfo,
                                   uint32_t key, bool verified, struct nb_point point)
{
    if (pinfo->flags.in_error_pkt) {
        return NULL; /* quoted by ICMP: it was sent at some other time */
    }
    if (!PINFO_FD_VISITED(pinfo)) {
        nb_record_begin(pinfo->num, pinfo->fd->file_off);
    }
    const struct nb_record *known = nb_record_find(pinfo->num, key);
    if (known != NULL || PINFO_FD_VISITED(pinfo)) {
        return known;
    }
    return first_look(packet, carrier, pinfo, key, verified, point);
}
