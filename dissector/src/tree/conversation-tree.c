/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The conversation as a packet sees it, as generated fields. */
#include "tree/conversation-tree.h"

#include "connection/take.h"
#include "tree/conversation-fields.h"
#include "tree/fields-analysis.h"

#define NS_PER_SECOND 1000000000

struct place {
    packet_info *pinfo;
    proto_tree *tree;
    tvbuff_t *tvb;
};

static proto_item *generated(proto_item *item)
{
    proto_item_set_generated(item);
    return item;
}

static void add_uint(const struct place *place, int hf, uint32_t value)
{
    generated(proto_tree_add_uint(place->tree, hf, place->tvb, 0, 0, value));
}

static void add_frame(const struct place *place, int hf, uint32_t frame)
{
    if (frame != 0) {
        add_uint(place, hf, frame);
    }
}

static void add_time(const struct place *place, int hf, int64_t ns)
{
    const nstime_t since = {.secs = (time_t)(ns / NS_PER_SECOND), .nsecs = (int)(ns % NS_PER_SECOND)};

    generated(proto_tree_add_time(place->tree, hf, place->tvb, 0, 0, &since));
}

static const char *describe_completeness(unsigned bits, packet_info *pinfo)
{
    const bool opened = (bits & (NB_SEEN_OPEN | NB_SEEN_RESPONSE)) == (NB_SEEN_OPEN | NB_SEEN_RESPONSE);
    const char *data = !(bits & NB_SEEN_DATA) ? "no data" : !(bits & NB_SEEN_LAST) ? "part of the data" : "data";
    const char *end = bits & NB_SEEN_DONE ? "DONE" : bits & NB_SEEN_BREAK ? "broken off" : "end not captured";

    if (opened && (bits & NB_SEEN_LAST) && (bits & NB_SEEN_DONE)) {
        return "Complete";
    }
    return wmem_strdup_printf(pinfo->pool, "Incomplete: %s, %s, %s",
                              opened                    ? "opened"
                              : bits & NB_SEEN_OPEN     ? "OPEN without RESPONSE"
                              : bits & NB_SEEN_RESPONSE ? "RESPONSE without OPEN"
                                                        : "opening not captured",
                              data, end);
}

/* From the RESPONSE on. */
static void show_terms(const struct place *place, const struct nb_stream *stream, uint32_t frame)
{
    const struct nb_terms *terms = &stream->response;

    if (terms->frame == 0 || terms->frame > frame) {
        return;
    }
    add_uint(place, hf_nb_agreed_buffer_size, terms->buffer_size);
    add_uint(place, hf_nb_agreed_transfer_size, terms->transfer_size);
    add_uint(place, hf_nb_agreed_packet_size, terms->data_packet_size);
    add_uint(place, hf_nb_agreed_burst_size, terms->burst_size);
    add_uint(place, hf_nb_agreed_burst_interval, terms->burst_interval);
    add_uint(place, hf_nb_agreed_death_timer, terms->death_timer);
    add_uint(place, hf_nb_agreed_max_buffers, terms->max_buffers);
    generated(proto_tree_add_boolean(place->tree, hf_nb_agreed_data_checksum, place->tvb, 0, 0,
                                     (terms->flags & NB_OPEN_DATA_CHECKSUM) != 0));
    if (stream->client_string != NULL && *stream->client_string) {
        generated(
            proto_tree_add_string(place->tree, hf_nb_agreed_client_string, place->tvb, 0, 0, stream->client_string));
    }
}

static void show_stream(const struct place *place, const struct nb_record *record)
{
    const struct nb_stream *stream = nb_stream_of_record(record);
    const struct nb_conversation *conversation = &stream->conversation;
    const enum nb_role role = record->sender < 0                   ? NB_ROLE_UNKNOWN
                              : record->sender == (int)record->end ? NB_ROLE_SENDER
                                                                   : NB_ROLE_RECEIVER;
    proto_item *item = generated(proto_tree_add_uint(place->tree, hf_netblt_stream, place->tvb, 0, 0, stream->index));
    const struct place inside = {
        .pinfo = place->pinfo, .tvb = place->tvb, .tree = proto_item_add_subtree(item, ett_nb_stream)};

    add_uint(&inside, hf_netblt_role, role);
    if (stream->uid_known) {
        add_uint(&inside, hf_nb_stream_uid, stream->uid);
    }
    if (!conversation->begun) {
        return;
    }
    generated(proto_tree_add_uint_format_value(
        inside.tree, hf_nb_completeness, place->tvb, 0, 0, conversation->completeness, "%s (%u)",
        describe_completeness(conversation->completeness, place->pinfo), conversation->completeness));
    show_terms(&inside, stream, record->frame);
}

/* A note and how long after the other packet this one was captured. */
static void show_note(const struct place *place, const struct nb_record *record, const struct nb_note *note)
{
    static const struct {
        int *frame, *time;
    } fields[] = {
        [NB_NOTE_FIRST_SENT] = {&hf_nb_first_sent, &hf_nb_since_first_sent},
        [NB_NOTE_FIRST_DATA_SENT] = {&hf_nb_first_sent, NULL},
        [NB_NOTE_SENT_AGAIN] = {&hf_nb_sent_again, NULL},
        [NB_NOTE_ASKED_BY] = {&hf_nb_asked_by, &hf_nb_repair_time},
        [NB_NOTE_REPAIRED_BY] = {&hf_nb_repaired_by, NULL},
        [NB_NOTE_ANSWER_TO] = {&hf_nb_answer_to, &hf_nb_answer_time},
        [NB_NOTE_ANSWERED_BY] = {&hf_nb_answered_by, NULL},
        [NB_NOTE_STARTS] = {&hf_nb_go_frame, &hf_nb_go_time},
        [NB_NOTE_ACKNOWLEDGES] = {&hf_nb_acknowledges, &hf_nb_ack_time},
        [NB_NOTE_COPY_OF] = {&hf_netblt_analysis_copy_of, NULL},
        [NB_NOTE_BURST_GAP] = {&hf_nb_burst_before, &hf_nb_burst_gap},
    };

    if (note->kind == NB_NOTE_FINDING) {
        return;
    }
    add_frame(place, *fields[note->kind].frame, nb_frame_of(note->other));
    if (fields[note->kind].time != NULL) {
        add_time(place, *fields[note->kind].time, record->now_ns - nb_time_of(note->other));
    }
}

static void show_facts(const struct place *place, const struct nb_record *record)
{
    if (record->burst != 0) {
        add_uint(place, hf_nb_burst, record->burst);
        add_uint(place, hf_nb_burst_position, record->burst_position);
    }
    add_uint(place, hf_nb_outstanding, record->outstanding);
    for (const struct nb_note *note = record->notes; note != NULL; note = note->next) {
        show_note(place, record, note);
    }
}

void nb_show_conversation(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo,
                          proto_tree *tree)
{
    const struct place place = {.pinfo = pinfo, .tree = tree, .tvb = packet->tvb};

    if (record != NULL && tree != NULL) {
        show_stream(&place, record);
        show_facts(&place, record);
    }
}

void nb_tell_events(const struct nb_record *record, packet_info *pinfo, proto_item *root)
{
    if (record == NULL) {
        return;
    }
    if (record->facts & NB_IS_COPY) {
        expert_add_info(pinfo, root, &ei_nb_duplicate);
    }
    if (record->facts & NB_RETRANSMISSION) {
        expert_add_info(pinfo, root, &ei_nb_retransmission);
    }
    if (record->facts & NB_OUT_OF_ORDER) {
        expert_add_info(pinfo, root, &ei_nb_out_of_order);
    }
}

/* GO: when its data began. OK: how long the buffer took. Retransmissions for a RESEND are in the notes of the packet.
 */
static void show_buffer_life(const struct place *place, const struct nb_stream *stream,
                             const struct nb_message *message)
{
    const struct nb_buffer_life *buffer = nb_buffer_life_find(&stream->buffers, message->buffer);

    if (buffer == NULL) {
        return;
    }
    if (message->type == NB_GO) {
        add_frame(place, hf_nb_first_data, nb_frame_of(buffer->first_data));
        add_frame(place, hf_nb_ok_frame, nb_frame_of(buffer->ok));
    } else if (message->type == NB_OK && buffer->go != 0) {
        add_frame(place, hf_nb_go_frame, nb_frame_of(buffer->go));
        add_time(place, hf_nb_buffer_time, nb_time_of(buffer->ok) - nb_time_of(buffer->go));
    }
}

static void show_message_life(const struct nb_view *view, const struct nb_message *message, proto_tree *tree)
{
    const struct nb_record *record = view->known.record;
    packet_info *pinfo = view->pinfo;
    const struct nb_message_life *life = tree == NULL ? NULL : nb_message_life(record, message->seq);
    const struct place place = {.pinfo = pinfo, .tree = tree, .tvb = view->packet->tvb};
    uint32_t nth = 0;

    if (life == NULL || life->type != message->type || life->buffer != message->buffer) {
        return;
    }
    const nb_moment *sendings = nb_message_sendings(life);
    /* Ascending, and most are among the first few. */
    while (nth < life->sent && nb_frame_of(sendings[nth]) < pinfo->num) {
        nth++;
    }
    if (nth == life->sent || nb_frame_of(sendings[nth]) != pinfo->num) {
        return;
    }
    if (nth > 0) {
        add_frame(&place, hf_nb_message_first, nb_frame_of(sendings[0]));
    }
    add_uint(&place, hf_nb_message_nth, nth + 1);
    add_uint(&place, hf_nb_message_sent, life->sent);
    if (life->acked != 0) {
        add_frame(&place, hf_nb_message_acked, nb_frame_of(life->acked));
        add_time(&place, hf_nb_message_ack_time, nb_time_of(life->acked) - nb_time_of(sendings[0]));
    }
    show_buffer_life(&place, nb_stream_of_record(record), message);
}

struct nb_known nb_known_of(const struct nb_record *record)
{
    if (record == NULL) {
        return (struct nb_known){0};
    }
    const struct nb_stream *stream = nb_stream_of_record(record);

    return (struct nb_known){.record = record,
                             .data_checksummed = record->data_checksummed,
                             .data_spoilt = (record->facts & NB_DATA_SPOILT) != 0,
                             .guarded = stream != NULL && stream->guarded,
                             .show_message = show_message_life};
}
