/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DATA and LDATA packets (RFC 998 sections 3, 5.2, 5.3.1). Contradictions between two packets of the sender, or between
 * one and the RESPONSE, need no order: DATA-02..05, DATA-09, RESEND-03, NEG-06. DATA-01 needs a receiver's flow
 * without a gap (judge.h) or the whole buffer (analysis-requests.c). Packets that seem out of place are remembered for
 * that, too: a first visible copy may be a repair. */
#include "rules/data.h"

#include "decode/content.h"
#include "decode/netblt.h"
#include "rules/ends.h"
#include "rules/judge.h"
#include "rules/order.h"
#include "rules/outstanding.h"
#include "rules/rate.h"
#include "rules/robust.h"
#include "rules/sizes.h"

/* What is reported once in a connection. */
struct told_once {
    bool own_go; /* data that do not acknowledge their own GO */
    bool mode;
};

static size_t place;

void nb_data_register(void)
{
    place = nb_stream_reserve(sizeof(struct told_once));
}

static struct told_once *told_once(const struct nb_event *event)
{
    return (struct told_once *)nb_stream_reserved(event->stream, place);
}

struct view {
    const struct nb_event *event;
    const struct nb_terms *terms; /* RESPONSE */
    struct nb_buffer *buffer;
    struct nb_part *part;
    uint32_t full; /* packets of a full buffer; 0 unknown */
    int length;    /* data bytes */
    int64_t ack;
    bool last; /* L */
    bool ldata;
    bool known; /* length and content are those that were emitted */
};

static bool is_whole(const struct nb_packet *packet)
{
    return packet->captured >= packet->end && !packet->fragment && packet->end == packet->length;
}

/* AMB-02 (c): some round Length up to a multiple of 4. */
static bool fits_size(int length, int size)
{
    return length == size || (length > size && length - size <= 3 && (length + NB_DATA_HEADER_BYTES) % 4 == 0);
}

/* Data bytes in a full packet of the size that this one has. */
static int size_of(const struct view *view)
{
    const int agreed = view->terms == NULL ? 0 : view->terms->data_packet_size;

    return agreed == 0 ? 0 : nb_sizes_in_force(view->event->stream, agreed, view->length, view->ldata);
}

/* The last packet of a full buffer, but DATA, not LDATA: that is what is wrong with it (DATA-04). */
static bool is_unmarked_end(const struct view *view)
{
    const uint32_t size = view->terms->data_packet_size;

    return view->full > 0 && !view->ldata && view->event->packet->packet + 1U == view->full &&
           view->length == (int)(view->terms->buffer_size - (view->full - 1) * size);
}

/* DATA-03, NEG-06 */
static void judge_packet_size(const struct view *view)
{
    const struct nb_event *event = view->event;
    const int size = size_of(view);
    const int proposed = nb_terms_by(view->event->stream, view->event->stream->active == 1)->data_packet_size;
    struct nb_charge charge = {
        .rule = NB_RULE_DATA_PACKET_SIZE, .offender = event->end, .request_frame = view->terms->frame};

    if (fits_size(view->length, size) || is_unmarked_end(view) ||
        (view->ldata && view->length < size && (view->length > 0 || view->last))) {
        nb_keep(event, NB_RULE_DATA_PACKET_SIZE);
        if (proposed != size) {
            nb_keep(event, NB_RULE_NEG_GOVERNS);
        }
        return;
    }
    if (view->ldata && view->length == 0) {
        charge.rule = NB_RULE_DATA_LDATA;
        charge.excuse = "its end may have been found late (AMB-42)";
        nb_blame(event, &charge, "an LDATA without data ends buffer %u", view->buffer->life->number);
        return;
    }
    if (proposed != size && view->length == proposed) {
        charge.rule = NB_RULE_NEG_GOVERNS;
        nb_blame(event, &charge, "%d bytes as the OPEN proposed, the RESPONSE made it %d", view->length, size);
    }
    charge.rule = NB_RULE_DATA_PACKET_SIZE;
    charge.excuse = nb_sizes_are_open(event->stream) ? "an OK that offers it may have escaped the capture" : NULL;
    nb_blame(event, &charge, "%s of %d bytes, the data packet size is %d%s", view->ldata ? "LDATA" : "DATA",
             view->length, size, view->length + NB_DATA_HEADER_BYTES == size ? " (it counts the header)" : "");
}

/* Of an LDATA and a packet above it the LDATA is wrong, unless it is where a full buffer ends, or another follows.
 */
static bool ended_early(const struct view *view)
{
    const uint32_t behind = (uint32_t)view->buffer->last + 1;

    return view->full > 0 && behind < view->full && (!view->ldata || !view->last) &&
           (uint32_t)view->event->packet->packet <= view->full;
}

/* In a full buffer. AMB-10: the base may be 1. AMB-42: an LDATA without data may follow. */
static uint32_t highest_number(const struct view *view)
{
    const bool empty = view->ldata && view->length == 0;

    return view->full + empty - view->event->stream->buffers.from_zero;
}

/* DATA-04: DATA where a full buffer ends. Before the OK only an LDATA without data can follow. */
static void judge_unmarked_end(const struct view *view)
{
    const bool at_end = !view->event->stream->buffers.from_zero || view->event->packet->packet + 1U == view->full;

    nb_buffer_ends_unmarked(view->event, view->buffer, at_end && view->length >= view->terms->data_packet_size);
}

/* DATA-04, DATA-05, RESEND-03: the type that belongs to a number. */
static void judge_type(const struct view *view)
{
    const struct nb_event *event = view->event;
    struct nb_buffer *buffer = view->buffer;
    const int number = event->packet->packet;
    const bool again = (view->part->flags & NB_PART_SEEN) != 0;
    struct nb_charge charge = {.rule = NB_RULE_DATA_LDATA, .offender = event->end};

    if (again && view->ldata != ((view->part->flags & NB_PART_LDATA) != 0)) {
        charge.request_frame = view->part->frame;
        nb_blame(event, &charge, "packet %d of buffer %u is %s now and was %s before", number, buffer->life->number,
                 view->ldata ? "LDATA" : "DATA", view->ldata ? "DATA" : "LDATA");
        charge.rule = NB_RULE_RESEND_IDENTITY;
        nb_blame(event, &charge, "packet %d of buffer %u has another type when retransmitted", number,
                 buffer->life->number);
    } else if (buffer->last >= 0 && number > buffer->last && !again && ended_early(view)) {
        charge.offending_frame = buffer->last_frame;
        nb_blame(event, &charge, "the LDATA of buffer %u is packet %d, packet %d follows", buffer->life->number,
                 buffer->last, number);
        buffer->last = -1; /* the right one is still to come */
        buffer->last_frame = 0;
        buffer->ended_twice = true;
    } else if (buffer->last >= 0 && (number > buffer->last || (view->ldata && number != buffer->last))) {
        charge.request_frame = buffer->last_frame;
        nb_blame(event, &charge, "packet %d of buffer %u, whose LDATA is packet %d", number, buffer->life->number,
                 buffer->last);
    } else if (view->ldata && number < buffer->life->highest) {
        charge.request_frame = nb_frame_of(nb_first_sent(buffer->life, (uint32_t)buffer->life->highest));
        nb_blame(event, &charge, "LDATA of buffer %u is packet %d, below packet %d", buffer->life->number, number,
                 buffer->life->highest);
    } else if (view->full > 0 && (uint32_t)number > highest_number(view)) {
        charge.rule = NB_RULE_DATA_NUMBERS;
        nb_blame(event, &charge, "packet %d of buffer %u, a full buffer has %u packets", number, buffer->life->number,
                 view->full);
    } else if (view->full > 0 && !view->ldata && (uint32_t)number + 1 >= view->full &&
               (view->event->stream->buffers.from_zero || (uint32_t)number >= view->full)) {
        judge_unmarked_end(view);
    } else {
        nb_keep(event, NB_RULE_DATA_LDATA);
    }
}

/* DATA-09, with the first packet of a buffer. When others of the flagged buffer had L clear it is no last one after
 * all, and what follows is in order. */
static void judge_behind_last(const struct view *view)
{
    struct nb_stream *stream = view->event->stream;
    const struct nb_charge charge = {.rule = NB_RULE_DATA_LAST_FLAG,
                                     .offender = view->event->end,
                                     .offending_frame = stream->last.contested ? stream->last.frame : 0,
                                     .request_frame = stream->last.frame};

    if (view->buffer->distinct > 0) {
        return;
    }
    nb_blame(view->event, &charge, "buffer %u is sent, though buffer %u was flagged as the last",
             view->buffer->life->number, stream->last.buffer);
    if (stream->last.contested) {
        stream->last.known = false;
        stream->last.ok_seq = 0;
    }
}

/* DATA-09 */
static void judge_last_flag(const struct view *view)
{
    const struct nb_event *event = view->event;
    struct nb_stream *stream = view->event->stream;
    struct nb_buffer *buffer = view->buffer;
    struct nb_charge charge = {.rule = NB_RULE_DATA_LAST_FLAG, .offender = event->end};
    const bool beyond =
        stream->last.known && nb_buffer_is_after(&stream->buffers, buffer->life->number, stream->last.buffer);

    if (buffer->distinct > 0 && view->last != buffer->last_flagged) {
        stream->last.contested |= view->last || (stream->last.known && stream->last.buffer == buffer->life->number);
        charge.request_frame = nb_frame_of(buffer->life->first_data);
        nb_blame(event, &charge, "packet %u of buffer %u has L %s, others of the buffer have it %s",
                 event->packet->packet, buffer->life->number, view->last ? "set" : "clear",
                 view->last ? "clear" : "set");
        if ((view->part->flags & NB_PART_SEEN) && view->last != ((view->part->flags & NB_PART_LAST) != 0)) {
            charge.rule = NB_RULE_RESEND_IDENTITY;
            nb_blame(event, &charge, "packet %u of buffer %u has another L flag when retransmitted",
                     event->packet->packet, buffer->life->number);
        }
    } else if (beyond) {
        judge_behind_last(view);
    } else if (view->last && stream->buffers.highest != NULL && stream->highest_data_known &&
               nb_buffer_is_after(&stream->buffers, stream->highest_data, buffer->life->number)) {
        if (buffer->distinct == 0) { /* and not for each of its packets */
            nb_blame(event, &charge, "buffer %u is flagged as the last, buffer %u was sent before",
                     buffer->life->number, stream->highest_data);
        }
    } else {
        nb_keep(event, NB_RULE_DATA_LAST_FLAG);
    }
    if (view->last && !stream->last.known) {
        stream->last.known = true;
        stream->last.buffer = buffer->life->number;
        stream->last.frame = event->frame;
        stream->last.ok_seq = buffer->ok_seq;
    }
}

/* RESEND-03, DATA-13: the same number, the same content. Without good data checksums the network may have changed
 * it. */
static void judge_identity(const struct view *view, uint32_t hash)
{
    const struct nb_event *event = view->event;
    const struct nb_part *part = view->part;
    const bool checked = event->packet->data_checksum == NB_GOOD;
    const bool sure = checked && (part->flags & NB_PART_CHECKED);
    struct nb_charge charge = {.rule = NB_RULE_RESEND_IDENTITY, .offender = event->end, .request_frame = part->frame};

    if (part->length != view->length) {
        nb_blame(event, &charge, "packet %u of buffer %u has %d bytes now and had %u before", event->packet->packet,
                 view->buffer->life->number, view->length, part->length);
    } else if ((part->flags & NB_PART_HASHED) && part->hash != hash &&
               checked == ((part->flags & NB_PART_CHECKED) != 0)) { /* else it is another hash */
        charge.excuse = sure ? NULL : "no data checksum excludes damage on the way";
        nb_blame(event, &charge, "packet %u of buffer %u has other content than in frame %u", event->packet->packet,
                 view->buffer->life->number, part->frame);
        charge.rule = NB_RULE_DATA_UNREQUESTED;
        nb_blame(event, &charge, "packet %u of buffer %u has other content than in frame %u", event->packet->packet,
                 view->buffer->life->number, part->frame);
    } else {
        nb_keep(event, NB_RULE_RESEND_IDENTITY);
    }
}

/* DATA-01 */
static void judge_go(const struct view *view)
{
    const struct nb_event *event = view->event;
    struct nb_buffer *buffer = view->buffer;
    const struct nb_charge charge = {.rule = NB_RULE_DATA_BEFORE_GO,
                                     .offender = event->end,
                                     .forgiven = NB_DOUBTS_OF_LOSS,
                                     .absent = NB_ABSENT_GO,
                                     .absent_number = buffer->life->number,
                                     .unseen = true,
                                     .excuse = "its GO may have escaped the capture"};

    if (nb_buffer_has_go(buffer)) {
        nb_keep(event, NB_RULE_DATA_BEFORE_GO);
        return;
    }
    nb_robust_odd(event, NB_ODD_DATA);
    if (!buffer->go_missing_told && event->stream->open_seen && !view->event->stream->queue.cut) {
        buffer->go_missing_told = true;
        nb_await(event, &charge, 1 - event->end, NB_PACKETS_TO_PROVE, "data of buffer %u before its GO",
                 buffer->life->number);
    }
}

/* ORDER-01, ORDER-03: candidates; nb_requests_judge decides when all RESENDs are known. */
static void judge_place(const struct view *view)
{
    const struct nb_event *event = view->event;
    struct nb_buffer *buffer = view->buffer;
    const bool ordered = event->emitted.arrival != NB_NO_ORDER;
    const uint16_t number = event->packet->packet;
    const struct nb_mark passed = {buffer->passed_frame, buffer->passed_ordered, buffer->passed_number};
    const struct nb_mark ldata = {buffer->last_frame, buffer->last_ordered, buffer->last_number};

    if (buffer->behind_later.frame == 0 && passed.frame != 0 &&
        (event->at_sender || !ordered || event->emitted.number > passed.number)) {
        buffer->behind_later = (struct nb_misplaced){
            .frame = event->frame,
            .before_frame = passed.frame,
            .packet = number,
            .proven = event->at_sender || (ordered && passed.ordered && event->emitted.number > passed.number &&
                                           nb_is_apart(event, passed.frame))};
    }
    if (buffer->behind_higher.frame == 0 && ldata.frame != 0 && number < buffer->last &&
        (event->at_sender || !ordered || event->emitted.number > ldata.number)) {
        buffer->behind_higher = (struct nb_misplaced){
            .frame = event->frame,
            .before_frame = ldata.frame,
            .packet = number,
            .proven = event->at_sender || (ordered && ldata.ordered && event->emitted.number > ldata.number &&
                                           nb_is_apart(event, ldata.frame))};
    }
}

/* This packet goes past lower buffers that the sender has a GO for. Of each the earliest emitted is kept. */
static void pass_lower(const struct view *view)
{
    enum { BUFFERS_AT_MOST = 64 };
    const struct nb_event *event = view->event;
    const bool ordered = event->emitted.arrival != NB_NO_ORDER;
    struct nb_buffer *lower = view->event->stream->buffers.lowest;

    for (int i = 0; i < BUFFERS_AT_MOST && lower != NULL && lower != view->buffer; i++, lower = lower->higher) {
        if (lower->retired || lower->ok_seq != 0 || lower->go_seq == 0 || lower->go_seq > view->ack ||
            !nb_buffer_is_after(&event->stream->buffers, view->buffer->life->number, lower->life->number)) {
            continue;
        }
        if (lower->passed_frame == 0 ||
            (ordered && lower->passed_ordered && event->emitted.number < lower->passed_number)) {
            lower->passed_frame = event->frame;
            lower->passed_ordered = ordered;
            lower->passed_number = event->emitted.number;
        }
    }
}

/* A copy that the network made has the same high-seq. */
static void count_copy(const struct view *view)
{
    struct nb_part *part = view->part;
    const uint16_t ack = view->event->packet->high_seq;

    if (part->copies == 0 || (int16_t)(uint16_t)(ack - part->ack) > 0) {
        part->apart += part->apart < UINT8_MAX;
        part->ack = ack;
    }
    part->copies += part->copies < UINT8_MAX;
}

/* DATA-13, at once: perhaps the RESEND was not captured. nb_requests_judge decides. */
static void suspect_copy(const struct view *view)
{
    const struct nb_event *event = view->event;
    struct nb_part *part = view->part;
    const struct nb_charge charge = {.rule = NB_RULE_DATA_UNREQUESTED,
                                     .offender = event->end,
                                     .request_frame = view->buffer->ask_frame,
                                     .unseen = true,
                                     .excuse = event->emitted.arrival == NB_NO_ORDER && part->apart <= part->asked + 1
                                                   ? "the network may have made the copy"
                                                   : "its RESEND may have escaped the capture"};

    if (part->copies <= nb_buffer_requests(view->buffer, event->packet->packet) + 1 ||
        (part->flags & NB_PART_DOUBLED) || !event->stream->open_seen ||
        !nb_buffer_counts_requests(view->buffer, event->packet->packet)) {
        return;
    }
    part->flags |= NB_PART_DOUBLED;
    part->record = event->moment;
    nb_blame(event, &charge, "packet %u of buffer %u is retransmitted, but no RESEND names it", event->packet->packet,
             view->buffer->life->number);
}

/* RESEND-08: it was requested before it was sent at all, and the sender knew. */
static void note_early_request(const struct view *view)
{
    struct nb_part *part = view->part;

    if (part->asked > 0 && view->ack >= view->buffer->ask_seq &&
        nb_is_unbroken(view->event->stream, view->event->end)) {
        part->flags |= NB_PART_KNOWN_FIRST;
    }
}

/* ORDER-04: with its GO known the next buffer follows in the next burst. Here: it waited for the OK of the one before.
 * / */
static void judge_gap(const struct view *view)
{
    enum { INTERVALS = 3 };
    const double slack_s = 0.1;
    const struct nb_event *event = view->event;
    const struct nb_buffer *buffer = view->buffer;
    const struct nb_buffer *before = buffer->lower;
    const double limit_s = INTERVALS * view->event->stream->agreed.interval / 1000.0 + slack_s;
    const struct nb_charge charge = {.rule = NB_RULE_ORDER_GAP,
                                     .offender = event->end,
                                     .request_frame = nb_frame_of(buffer->life->go),
                                     .excuse = "its client may have been slow, or the first packets lost"};

    if (before == NULL || before->last < 0 || before->ask_seq != 0 ||
        before->life->number + 1 != buffer->life->number || buffer->go_seq == 0 || buffer->go_seq > before->told_ack ||
        view->event->stream->agreed.interval == 0) {
        return;
    }
    if (before->ok_seq != 0 && before->ok_seq <= view->ack && event->now - before->last_when > limit_s) {
        nb_blame(event, &charge, "buffer %u begins %.0f ms after the end of buffer %u, and after its OK",
                 buffer->life->number, (event->now - before->last_when) * 1000.0, before->life->number);
    } else {
        nb_keep(event, NB_RULE_ORDER_GAP);
    }
}

static void begin_buffer(const struct view *view)
{
    const struct nb_event *event = view->event;
    struct nb_buffer *buffer = view->buffer;

    judge_gap(view);
    if (buffer->lower != NULL) {
        nb_buffer_judge_end(event, buffer->lower);
        nb_buffer_judge_size(event, buffer->lower, false, true);
    }
    buffer->last_flagged = view->last;
    nb_outstanding_begin(event, buffer);
    view->event->stream->buffers.started++;
    if (buffer->lower != NULL && buffer->lower->ok_seq == 0 && buffer->lower->last >= 0) {
        nb_keep(event, NB_RULE_DATA_MULTIPLE);
    }
}

/* Without what AMB-02 (c) rounds up. */
static int clipped_length(const struct view *view)
{
    const int size = size_of(view);

    return size > 0 && fits_size(view->length, size) ? size : view->length;
}

/* CTRL-06: who sends data of a buffer has got its GO, and must acknowledge it when nothing below is missing. The first
 * packets may have been made before the acknowledgement was. Data that were captured before their GO may have been sent
 * without it, which is reported as such (DATA-01). */
static void judge_own_go(const struct view *view)
{
    const struct nb_buffer *buffer = view->buffer;
    const struct nb_charge charge = {
        .rule = NB_RULE_CTRL_ACK,
        .offender = view->event->end,
        .request_frame = nb_frame_of(buffer->life->go),
        .excuse = buffer->life->go < buffer->life->first_data ? NULL : "it may not have received the GO (DATA-01)"};

    if (buffer->distinct == NB_PACKETS_TO_PROVE && buffer->go_seq > 0 && buffer->told_ack + 1 == buffer->go_seq &&
        !told_once(view->event)->own_go) {
        told_once(view->event)->own_go = true;
        nb_blame(view->event, &charge, "data of buffer %u acknowledge message %u, not their GO, which is the next one",
                 buffer->life->number, (uint16_t)buffer->told_ack);
    }
}

static void take_first(const struct view *view)
{
    const struct nb_event *event = view->event;
    struct nb_buffer *buffer = view->buffer;
    const int number = event->packet->packet;

    note_early_request(view);
    judge_place(view);
    if (buffer->distinct == 0) {
        begin_buffer(view);
    }
    buffer->distinct++;
    buffer->bytes += (unsigned)clipped_length(view);
    buffer->low_ack = buffer->distinct == 1 ? view->ack : MIN(buffer->low_ack, view->ack);
    buffer->next_ack = buffer->distinct == 1 ? 0 : MAX(buffer->next_ack, MIN(buffer->told_ack, view->ack));
    buffer->told_ack = MAX(buffer->told_ack, view->ack);
    judge_own_go(view);
    buffer->newest_first = MAX(buffer->newest_first, event->emitted.number);
    buffer->firsts_unordered = buffer->firsts_unordered || event->emitted.arrival == NB_NO_ORDER;
    if (view->ldata && buffer->last < 0) {
        buffer->last = number;
        buffer->last_frame = event->frame;
        buffer->last_when = event->now;
        buffer->last_ordered = event->emitted.arrival != NB_NO_ORDER;
        buffer->last_number = event->emitted.number;
    }
    view->part->length = (uint16_t)view->length;
    view->part->flags |= NB_PART_SEEN | (view->ldata ? NB_PART_LDATA : 0) | (view->last ? NB_PART_LAST : 0);
}

static void take_content(const struct view *view, bool again)
{
    const struct nb_event *event = view->event;
    struct nb_part *part = view->part;

    if (!event->sound_data) {
        return;
    }
    if (!(part->flags & NB_PART_GOOD)) { /* or cut by the capture: not known */
        part->flags |= NB_PART_GOOD;
        view->buffer->good++;
    }
    if (!view->known) {
        return;
    }
    const uint32_t hash =
        event->packet->data_checksum == NB_GOOD ? nb_summed_hash(event->packet) : nb_content_hash(event->packet);
    if (again) {
        judge_identity(view, hash);
    }
    if (!(part->flags & NB_PART_HASHED)) {
        part->hash = hash;
        part->flags |= NB_PART_HASHED;
        part->flags |= event->packet->data_checksum == NB_GOOD ? NB_PART_CHECKED : 0;
    }
}

/* Of two copies that the network made one may be damaged. */
void nb_data_copy(const struct nb_event *event)
{
    struct nb_buffer *buffer = nb_buffer_find(&event->stream->buffers, event->packet->buffer);
    struct nb_part *part = buffer == NULL ? NULL : nb_buffer_known_part(buffer, event->packet->packet);

    if (event->sound_data && part != NULL && (part->flags & NB_PART_SEEN) && !(part->flags & NB_PART_GOOD)) {
        part->flags |= NB_PART_GOOD;
        buffer->good++;
    }
}

/* Packet numbers that no honest sender uses would cost memory without end. */
static bool is_plausible(const struct nb_buffer *buffer, uint16_t number)
{
    return number < 1024 + 64 * (buffer->distinct + 1);
}

/* OPEN-12, AMB-08: M states which end sends; which does is seen now. */
static void judge_mode(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const struct nb_charge charge = {
        .rule = NB_RULE_OPEN_MODE, .offender = event->end, .excuse = "M may be read the other way round (AMB-08)"};

    if (told_once(event)->mode || stream->active < 0 || nb_terms_by(stream, stream->active)->frame == 0) {
        return;
    }
    told_once(event)->mode = true;
    if (nb_active_sends(stream->dialect, nb_terms_by(stream, stream->active)->flags) !=
        (stream->active == event->end)) {
        nb_blame(event, &charge, "this end sends, though the OPEN was for %s",
                 nb_mode_name(stream->dialect, nb_terms_by(stream, stream->active)->flags));
    } else {
        nb_keep(event, NB_RULE_OPEN_MODE);
    }
}

/* DATA-14 */
static void judge_fragments(const struct nb_event *event)
{
    const struct nb_charge charge = {
        .rule = NB_RULE_DATA_FRAGMENTS, .offender = event->end, .excuse = "the path may have made fragments of it"};

    if (event->packet->fragment || event->packet->in_fragments) {
        nb_blame(event, &charge, "the packet came in IP fragments");
    } else {
        nb_keep(event, NB_RULE_DATA_FRAGMENTS);
    }
}

/* Data without a GO (DATA-01) show nothing of where the sender is. */
static bool is_expected(const struct nb_buffer *buffer)
{
    return nb_buffer_has_go(buffer) || !buffer->go_missing_told;
}

/* DATA-12: one more buffer is in transfer. */
static void count_buffer(const struct view *view)
{
    if (!view->buffer->counted && view->buffer->ok_seq == 0) {
        view->buffer->counted = true;
        view->event->stream->unaccepted++;
    }
}

static void note_highest(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const uint32_t number = event->packet->buffer;

    if (!stream->highest_data_known || nb_buffer_is_after(&stream->buffers, number, stream->highest_data)) {
        stream->highest_data_known = true;
        stream->highest_data = number;
        stream->highest_data_when = event->now;
    }
}

/* Nothing is remembered of its buffer, or of what comes after so many packets. */
static void pass_over(const struct nb_event *event, int64_t ack)
{
    nb_robust_odd(event, NB_ODD_DATA);
    nb_buffer_goes_on(event, ack);
    nb_order_data(event, ack);
    nb_rate_packet(event, NULL, true);
}

void nb_data_packet(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const struct nb_packet *packet = event->packet;
    const struct nb_terms *terms = nb_terms_of(stream);
    struct view view = {.event = event,
                        .terms = terms,
                        .ack = event->ack.now,
                        .length = packet->length - packet->layout->data,
                        .last = (packet->data_flags & NB_DATA_LAST_BUFFER) != 0,
                        .ldata = packet->type == NB_LDATA,
                        .known = is_whole(packet)};

    judge_mode(event);
    judge_fragments(event);
    if (nb_buffer_is_done(&stream->buffers, packet->buffer)) {
        pass_over(event, event->ack.now);
        return;
    }
    view.buffer = nb_buffer_get(&stream->buffers, packet->buffer);
    if (!view.buffer->retired && is_plausible(view.buffer, packet->packet)) {
        view.part = nb_buffer_part(&event->stream->buffers, view.buffer, packet->packet);
    }
    if (view.part == NULL) {
        view.buffer->overlooked = true;
        pass_over(event, event->ack.now);
        return;
    }
    view.full = nb_sizes_full_count(stream);
    const bool again = (view.part->flags & NB_PART_SEEN) != 0;

    stream->buffers.from_zero |= packet->packet == 0;
    if (terms != NULL) {
        judge_packet_size(&view);
    }
    judge_go(&view);
    judge_type(&view);
    judge_last_flag(&view);
    if (!again) {
        take_first(&view);
    }
    take_content(&view, again);
    count_copy(&view);
    suspect_copy(&view);
    view.part->frame = event->frame;
    if ((view.part->flags & NB_PART_DOUBLED) == 0) {
        view.part->record = event->moment;
    }
    nb_buffer_judge_size(event, view.buffer, false, false);
    if (is_expected(view.buffer)) {
        count_buffer(&view);
        note_highest(event);
        pass_lower(&view);
    }
    nb_order_data(event, event->ack.now);
    nb_rate_packet(event, view.buffer, again);
}
