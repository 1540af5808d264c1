/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DATA and LDATA packets (RFC 998 sections 3, 5.2, 5.3.1) among the others. DATA-01 needs a receiver's flow without a
 * gap (judge.h) or the whole buffer (requests.c). Packets that seem out of place are remembered for that, too: a first
 * visible copy may be a repair. */
#include "rules/data.h"

#include "decode/content.h"
#include "decode/netblt.h"
#include "rules/data-shape.h"
#include "rules/ends.h"
#include "rules/judge.h"
#include "rules/order.h"
#include "rules/outstanding.h"
#include "rules/rate.h"
#include "rules/robust.h"
#include "rules/sizes.h"
#include "rules/wire.h"

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

static bool is_whole(const struct nb_packet *packet)
{
    return packet->captured >= packet->end && !packet->fragment && packet->end == packet->length;
}

/* It acknowledges what was captured with a bad checksum only. The GO may be in there: acting on that is CKSUM-06. */
static bool knows_damaged(const struct nb_data_view *view)
{
    const struct nb_damaged *known = nb_wire_damaged(view->event->stream);

    return known->seq != 0 && view->ack > known->above && view->ack <= known->seq;
}

/* DATA-01 */
static void judge_go(const struct nb_data_view *view)
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
    if (!buffer->go_missing_told && !knows_damaged(view) && event->stream->open_seen &&
        !view->event->stream->queue.cut) {
        buffer->go_missing_told = true;
        nb_await(event, &charge, 1 - event->end, NB_PACKETS_TO_PROVE, "data of buffer %u before its GO",
                 buffer->life->number);
    }
}

/* It was emitted after this mark, and must have been emitted before for the first time. */
static bool is_behind(const struct nb_event *event, const struct nb_mark *mark)
{
    return event->at_sender || (event->emitted.arrival != NB_NO_ORDER && mark->ordered &&
                                event->emitted.number > mark->number && nb_is_apart(event, mark->frame));
}

/* Where packets of this end are missing, a packet out of place that serves a RESEND was sent before, and its first copy
 * was lost: ORDER-01 and ORDER-03 allow no first copy here. */
static bool is_first_unseen(const struct nb_data_view *view)
{
    const struct nb_event *event = view->event;
    const struct nb_buffer *buffer = view->buffer;

    return !event->at_sender && view->part->asked > 0 && view->ack >= buffer->ask_seq &&
           !nb_is_unbroken(event->stream, event->end);
}

/* ORDER-01, ORDER-03: candidates; nb_requests_judge decides when all RESENDs are known. */
static void judge_place(const struct nb_data_view *view)
{
    const struct nb_event *event = view->event;
    struct nb_buffer *buffer = view->buffer;
    const bool ordered = event->emitted.arrival != NB_NO_ORDER;
    const uint16_t number = event->packet->packet;
    const struct nb_mark passed = {buffer->passed_frame, buffer->passed_ordered, buffer->passed_number};
    const struct nb_mark ldata = {buffer->last_frame, buffer->last_ordered, buffer->last_number};
    const bool behind_later = passed.frame != 0 && is_behind(event, &passed);
    const bool ended = ldata.frame != 0 && !buffer->last_asked && number < buffer->last;
    const bool behind_higher = ended && is_behind(event, &ldata);

    if (buffer->behind_later.frame == 0 && passed.frame != 0 &&
        (event->at_sender || !ordered || event->emitted.number > passed.number)) {
        buffer->behind_later = (struct nb_misplaced){
            .frame = event->frame, .before_frame = passed.frame, .packet = number, .proven = behind_later};
    }
    if (buffer->behind_higher.frame == 0 && ended &&
        (event->at_sender || !ordered || event->emitted.number > ldata.number)) {
        buffer->behind_higher = (struct nb_misplaced){
            .frame = event->frame, .before_frame = ldata.frame, .packet = number, .proven = behind_higher};
    }
    if ((behind_later || behind_higher) && is_first_unseen(view)) {
        view->part->flags |= NB_PART_UNSEEN;
    }
}

/* This packet goes past lower buffers that the sender has a GO for. Of each the earliest emitted is kept. */
static void pass_lower(const struct nb_data_view *view)
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
static void count_copy(const struct nb_data_view *view)
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
static void suspect_copy(const struct nb_data_view *view)
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

    if (nb_part_emitted(part) <= nb_buffer_requests(view->buffer, event->packet->packet) + 1 ||
        (part->flags & NB_PART_DOUBLED) || !event->stream->open_seen || event->stream->queue.cut ||
        !nb_buffer_counts_requests(view->buffer, event->packet->packet)) {
        return;
    }
    part->flags |= NB_PART_DOUBLED;
    part->record = event->moment;
    nb_blame(event, &charge, "packet %u of buffer %u is retransmitted, but no RESEND names it", event->packet->packet,
             view->buffer->life->number);
}

/* RESEND-08: it was requested before it was sent at all, and the sender knew. */
static void note_early_request(const struct nb_data_view *view)
{
    struct nb_part *part = view->part;

    if (part->asked > 0 && view->ack >= view->buffer->ask_seq &&
        nb_is_unbroken(view->event->stream, view->event->end)) {
        part->flags |= NB_PART_KNOWN_FIRST;
    }
}

/* ORDER-04: with its GO known the next buffer follows in the next burst. Here: it waited for the OK of the one before.
 * / */
static void judge_gap(const struct nb_data_view *view)
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

static void begin_buffer(const struct nb_data_view *view)
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

/* CTRL-06: who sends data of a buffer has got its GO, and must acknowledge it when nothing below is missing. The first
 * packets may have been made before the acknowledgement was. Data that were captured before their GO may have been sent
 * without it, which is reported as such (DATA-01). */
static void judge_own_go(const struct nb_data_view *view)
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

static void take_first(const struct nb_data_view *view)
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
    buffer->bytes += (unsigned)nb_data_clipped_length(view);
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
        buffer->last_asked = view->part->asked > 0;
    }
    view->part->length = (uint16_t)view->length;
    view->part->flags |= NB_PART_SEEN | (view->ldata ? NB_PART_LDATA : 0) | (view->last ? NB_PART_LAST : 0);
}

static void take_content(const struct nb_data_view *view, bool again)
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
        nb_data_judge_identity(view, hash);
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
static void count_buffer(const struct nb_data_view *view)
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
    struct nb_data_view view = {.event = event,
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
        nb_data_judge_packet_size(&view);
    }
    judge_go(&view);
    nb_data_judge_type(&view);
    nb_data_judge_last_flag(&view);
    if (!again) {
        take_first(&view);
    } else if (event->emitted.arrival != NB_IN_ORDER) {
        view.part->flags &= (uint16_t)~NB_PART_UNSEEN; /* it may be the first copy, which was late */
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
