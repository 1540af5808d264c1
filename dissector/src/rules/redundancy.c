/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CTRL-04 (RFC 998 5.2.1): every CONTROL carries all messages that are not
 * acknowledged yet, from the lowest on, as far as they fit.
 *
 * A CONTROL that leaves out message s looks wrong when the capture holds no
 * acknowledgement of s. The receiver is excused when it got one that was not
 * captured, or when the queue did not fit one packet. But s + 1 is in it, so
 * that it knew of nothing above s (CTRL-05): only an acknowledgement of s and
 * no further excuses it. There was none when the sender's acknowledgements jump
 * over s (ack-trail.h); or when the receiver itself, in a CONTROL emitted
 * later, repeats s; or when the sender's packets that acknowledge less
 * cannot all have been overtaken by it.
 *
 * A judgement takes two steps: the CONTROL is suspected, and the sender's
 * packet that excludes the excuse reports the violation. */
#include "rules/redundancy.h"

#include "decode/netblt.h"
#include "rules/ack-trail.h"
#include "rules/judge.h"
#include "rules/queue-parts.h"
#include "wireshark/memory.h"

/* Missing messages named in a text. */
#define NAMED_MESSAGES 6
#define NAMED_BYTES (NAMED_MESSAGES * sizeof("65535, ") + sizeof(", ..."))
/* With neither, an acknowledgement missing in the capture would have to overtake all packets that still acknowledge
 * less, and nothing else overtake them. So many, with few holes between them, are taken for proof; more when there are
 * holes everywhere because the host counts over all its traffic. */
enum {
    BELOW_WITH_FEW_HOLES = 8,
    PACKETS_PER_HOLE = 4,
    BELOW_WITH_HOLES = 16,
};

struct pending {
    bool active;
    uint32_t frame;         /* the CONTROL */
    uint32_t request_frame; /* where the missing message was captured */
    uint32_t evidence_frame;
    int64_t missing;
    int64_t newest_before; /* newest message captured before the CONTROL */
    int offender;
    struct nb_finding *suspicion;
    unsigned below; /* later sender packets that still acknowledge less */
    unsigned holes; /* gaps in the IP IDs among them */
    bool disorder;  /* a packet came late, or with damaged data: only a jump or a
                       repetition is proof from here on */
    bool numbered;  /* `number` is valid */
    int64_t first;  /* message in it */
    bool repeated;  /* a CONTROL emitted after this one has the missing message
                       again */
    uint64_t number;
    bool uncaptured; /* the missing message was not captured yet */
    int64_t lowest;  /* message that was not acknowledged */
    int64_t highest; /* message in it */
    double when;
    bool before_part;          /* another part of its queue may follow it at once, with lower messages */
    bool here;                 /* captured at its end: no acknowledgement can have been missed */
    struct nb_queue_size part; /* it may be the next part of a queue in parts, unless a CONTROL of this end is that
                                  large and holds so many messages; zeros: it is no part */
    struct nb_ack_trail trail;
};

struct redundancy {
    bool emitted_known;       /* emitted_number is valid */
    int64_t unknown_reported; /* a message that was never captured: CONTROLs that lack no other are reported once */
    uint64_t emitted_number;  /* the sender's newest packet of which is known that it acknowledges no more than was
                              captured */
    struct pending pending;
};

struct gap {
    int64_t highest;      /* last message of the packet */
    int64_t last_missing; /* 0: none is missing */
    int64_t unknown;      /* the highest missing message that was never captured; 0: none */
    unsigned known;       /* missing messages that were */
    unsigned bytes;       /* of a packet that held everything from acked + 1 to highest */
    char names[NAMED_BYTES];
    unsigned count;
};

static size_t place;

void nb_redundancy_register(void)
{
    place = nb_stream_reserve(sizeof(struct redundancy));
}

static struct redundancy *state_of(const struct nb_stream *stream)
{
    return (struct redundancy *)nb_stream_reserved(stream, place);
}

static void find_gap(const struct nb_event *event, const bool *present, int64_t highest, struct gap *gap)
{
    const struct nb_stream *stream = event->stream;

    *gap = (struct gap){.highest = highest, .bytes = NB_HEADER_BYTES};
    for (int64_t seq = stream->acked + 1; seq <= highest; seq++) {
        const struct nb_message_life *body = nb_message_find(&stream->messages, seq);
        if (body == NULL && (uint16_t)seq == 0) {
            continue; /* AMB-12: some skip 0 when numbers wrap */
        }
        gap->bytes += body == NULL ? 0 : body->bytes;
        if (present[seq - stream->acked - 1]) {
            continue;
        }
        gap->last_missing = seq;
        gap->unknown = body == NULL ? seq : gap->unknown;
        gap->known += body != NULL;
        const size_t named = strlen(gap->names);
        if (gap->count < NAMED_MESSAGES) {
            snprintf(gap->names + named, NAMED_BYTES - named, gap->count == 0 ? "%u" : ", %u", (uint16_t)seq);
        } else if (gap->count == NAMED_MESSAGES) {
            snprintf(gap->names + named, NAMED_BYTES - named, ", ...");
        }
        gap->count++;
    }
}

/* DEMUX-04: a late packet of the connection before must not be taken for one of this. */
static bool of_this_connection(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const uint64_t opened = stream->end[event->end].opened_number;

    return !stream->follows_another ||
           (event->emitted.arrival != NB_NO_ORDER && opened != 0 && event->emitted.number > opened &&
            nb_emission_counts(&stream->end[event->end].flow, NB_EVIDENCE_BITS));
}

/* The excuse that the capture cannot exclude, NULL when only a later sender packet is wanting. */
static const char *excuse(const struct nb_event *event, const struct gap *gap, enum nb_queue_part_kind part)
{
    const struct nb_stream *stream = event->stream;

    if (!nb_whole_story(stream)) {
        return nb_what_is_missing(stream);
    }
    if (gap->bytes > nb_queue_capacity(stream)) {
        return nb_file_printf("the queue of %u bytes may be split (a packet here holds %u)", gap->bytes,
                              nb_queue_capacity(stream));
    }
    if (part == NB_LONE_PART) {
        return "a part of the queue, sent right before it, may have escaped the capture";
    }
    if (part == NB_SPREAD_PART) {
        return "the rest of the queue was sent right before it";
    }
    if (!of_this_connection(event)) {
        return "it may belong to an earlier connection on the same ports";
    }
    if (gap->unknown != 0) {
        return nb_file_printf("message %u itself was not captured", (uint16_t)gap->unknown);
    }
    return NULL;
}

/* Every acknowledgement that this end got before the CONTROL was captured. */
static bool shows_all_it_knew(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;

    return event->emitted.arrival != NB_LATE &&
           (nb_sees_all_of(stream, event->end) ||
            (event->at_receiver && stream->sender >= 0 && nb_is_unbroken(stream, stream->sender)));
}

/* No CONTROL has shown yet that the queue would have fitted one packet. */
static bool may_be_part(const struct nb_stream *stream)
{
    return !nb_queue_held(stream, &state_of(stream)->pending.part);
}

/* Acknowledged by now, and still no proof: one will hardly come. */
static bool is_stuck(const struct nb_stream *stream)
{
    const struct pending *pending = &state_of(stream)->pending;

    return may_be_part(stream) ||
           (pending->trail.more != 0 && (pending->holes > 0 || pending->disorder || pending->below == 0));
}

/* What the sender emitted last before the CONTROL was captured acknowledges less than the missing message. An end that
 * only opened the connection so far has acknowledged nothing. */
static void begin_trail(const struct nb_stream *stream, struct nb_ack_trail *trail)
{
    const struct redundancy *state = state_of(stream);
    const struct nb_emission *flow = &stream->end[stream->sender < 0 ? 0 : stream->sender].flow;

    if (state->emitted_known) {
        nb_ack_trail_note(trail, state->emitted_number, NB_ACK_LESS);
    } else if (stream->acked == 0 && stream->sender >= 0 && flow->started && flow->unbroken) {
        nb_ack_trail_note(trail, flow->newest, NB_ACK_LESS);
    }
}

/* 0: it was not captured. */
static uint32_t frame_of_message(const struct nb_stream *stream, int64_t seq)
{
    const struct nb_message_life *life = nb_message_find(&stream->messages, seq);

    return life == NULL ? 0 : nb_message_frame(life);
}

static void await_proof(const struct nb_event *event, const struct gap *gap, const struct nb_control *control,
                        enum nb_queue_part_kind part, struct nb_finding *suspicion)
{
    struct redundancy *state = state_of(event->stream);

    if (state->pending.active && (part == NB_NEXT_PART || !is_stuck(event->stream))) {
        return; /* the earlier one is nearer to its proof */
    }
    state->pending = (struct pending){
        .active = true,
        .frame = event->frame,
        .request_frame = frame_of_message(event->stream, gap->last_missing),
        .missing = gap->last_missing,
        .newest_before = control->newest_before,
        .first = control->first,
        .uncaptured = gap->unknown != 0,
        .lowest = event->stream->acked + 1,
        .highest = control->highest,
        .when = event->now,
        .before_part = nb_queue_is_beyond_one_packet(event->stream, event->stream->acked + 1, control->highest),
        .here = shows_all_it_knew(event),
        .offender = event->end,
        .suspicion = suspicion,
        .numbered = event->emitted.arrival != NB_NO_ORDER,
        .number = event->emitted.number};
    if (part == NB_NEXT_PART) {
        state->pending.part = nb_queue_with_next(event, control);
    }
    begin_trail(event->stream, &state->pending.trail);
}

/* All that this end knew was captured, and all its messages would have fitted one packet. */
static bool is_proven_here(const struct nb_event *event, const struct nb_control *control, enum nb_queue_part_kind part)
{
    return part == NB_NO_PART && shows_all_it_knew(event) &&
           !nb_queue_is_beyond_one_packet(event->stream, event->stream->acked + 1, control->highest);
}

/* That the missing message was not captured is its only excuse: it will show itself (CTRL-01). */
static bool lacks_only_itself(const struct nb_event *event, const struct gap *gap, enum nb_queue_part_kind part)
{
    struct gap captured = *gap;

    captured.unknown = 0;
    return part == NB_NO_PART && excuse(event, &captured, part) == NULL;
}

static void judge_control(const struct nb_event *event, const struct gap *gap, const struct nb_control *control,
                          enum nb_queue_part_kind part)
{
    if (gap->known == 0 && gap->unknown == state_of(event->stream)->unknown_reported) {
        return; /* it has no more than the CONTROL before */
    }
    state_of(event->stream)->unknown_reported = gap->unknown;
    const char *why = excuse(event, gap, part);
    const bool proven = why == NULL && is_proven_here(event, control, part);
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_REDUNDANCY,
                                     .offender = event->end,
                                     .request_frame = frame_of_message(event->stream, gap->last_missing),
                                     .excuse = why != NULL ? why
                                               : proven    ? NULL
                                               : part == NB_NEXT_PART
                                                   ? "it may be the next part of a queue that this end "
                                                     "sends in small packets"
                                                   : "an ack may have been missed; later frames decide"};
    const bool uncaptured = why != NULL && gap->unknown == gap->last_missing && lacks_only_itself(event, gap, part);

    struct nb_finding *suspicion =
        nb_blame(event, &charge, "CONTROL up to message %u leaves out %s, highest ack captured is %u",
                 (uint16_t)gap->highest, gap->names, (uint16_t)event->stream->acked);
    if ((why == NULL && !proven) || uncaptured) {
        await_proof(event, gap, control, part, suspicion);
    }
}

/* The receiver repeats the missing message, in a CONTROL that it emitted later: it knows no acknowledgement of it.
 * / */
static void notice_repetition(const struct nb_event *event, const bool *present)
{
    const struct nb_stream *stream = event->stream;
    struct pending *pending = &state_of(stream)->pending;

    if (!pending->active || !pending->numbered || pending->missing <= stream->acked ||
        pending->missing > stream->acked + NB_MESSAGE_WINDOW || event->emitted.arrival == NB_NO_ORDER) {
        return;
    }
    if (present[pending->missing - stream->acked - 1] && event->emitted.number > pending->number) {
        pending->repeated = true;
    }
}

/* Another part of its queue may still come. */
static bool may_be_followed(const struct nb_event *event, const struct pending *pending)
{
    return pending->before_part && event->now - pending->when < nb_queue_parts_within_s(event, NB_PARTS_SOON_S);
}

static bool holds(const struct nb_event *event, const struct nb_control *control, int64_t seq)
{
    const int64_t at = seq - event->stream->acked - 1;

    return at >= 0 && at < NB_MESSAGE_WINDOW && control->present[at];
}

/* Was the part before it overtaken by it, or does this end send the parts of a queue from the last to the first
 * (AMB-33)?
 */
static void notice_other_part(const struct nb_event *event, const struct nb_control *control)
{
    struct pending *pending = &state_of(event->stream)->pending;
    const bool below = control->highest + 1 == pending->first;
    const bool other = below || (holds(event, control, pending->missing) && !holds(event, control, pending->highest));

    if (!pending->active) {
        return;
    }
    const bool overtaken =
        below && pending->numbered && event->emitted.arrival == NB_LATE && event->emitted.number < pending->number;
    const bool reversed = other && may_be_followed(event, pending);
    if (overtaken || reversed) {
        pending->active = false;
    } else if (event->emitted.arrival != NB_LATE) {
        pending->before_part = false;
    }
}

/* The message that was missing shows itself: in a CONTROL with all of the suspected one, it would have had room there.
 * By itself it may be the part of a queue that was sent after the others. */
static void notice_uncaptured(const struct nb_event *event, const struct nb_control *control)
{
    const struct nb_stream *stream = event->stream;
    struct pending *pending = &state_of(stream)->pending;

    if (!pending->active || !pending->uncaptured || frame_of_message(stream, pending->missing) == 0) {
        return;
    }
    pending->request_frame = frame_of_message(stream, pending->missing);
    pending->uncaptured = false;
    pending->active = holds(event, control, pending->missing) && holds(event, control, pending->highest) &&
                      event->emitted.arrival != NB_LATE && nb_shows_all_of(stream, event->end) &&
                      nb_queue_bytes(stream, pending->lowest, pending->highest) <= nb_queue_capacity(stream);
}

/* File scope. */
static const char *describe(const struct pending *pending)
{
    const char *what = nb_file_printf("CONTROL in frame %u left out message %u (of frame %u)", pending->frame,
                                      (uint16_t)pending->missing, pending->request_frame);

    if (pending->here) {
        return nb_file_printf("%s, and nothing that this end had received acknowledges it", what);
    }
    if (pending->evidence_frame == 0) {
        return nb_file_printf("%s unacknowledged: by the IP IDs no packet "
                              "before this one can have acked it",
                              what);
    }
    return nb_file_printf("%s unacknowledged: frame %u, emitted later, still acks less", what, pending->evidence_frame);
}

static void report_violation(const struct nb_event *event, const struct pending *pending)
{
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_REDUNDANCY,
                                     .offender = pending->offender,
                                     .offending_frame = pending->frame,
                                     .request_frame = pending->request_frame,
                                     .evidence_frame = pending->evidence_frame,
                                     .suspicion = pending->suspicion};

    nb_blame(event, &charge, "%s", describe(pending));
}

/* Captured at its end, it needs no packet of the sender, but perhaps another CONTROL. */
static void judge_pending_here(const struct nb_event *event)
{
    struct redundancy *state = state_of(event->stream);
    struct pending *pending = &state->pending;

    if (pending->active && pending->here && !pending->uncaptured && !pending->before_part &&
        !may_be_part(event->stream) && nb_whole_story(event->stream)) {
        report_violation(event, pending);
        pending->active = false;
    }
}

static void judge_queue(const struct nb_event *event, const struct nb_control *control, enum nb_queue_part_kind part)
{
    const struct nb_stream *stream = event->stream;
    struct gap gap;

    if (!stream->acked_known || control->highest <= stream->acked ||
        control->highest > stream->acked + NB_MESSAGE_WINDOW) {
        return;
    }
    find_gap(event, control->present, control->highest, &gap);
    if (gap.last_missing != 0) {
        judge_control(event, &gap, control, part);
    } else {
        nb_keep(event, NB_RULE_CTRL_REDUNDANCY);
    }
    if (control->highest < stream->newest) {
        nb_remark(event, NB_NOTES_CTRL_TAIL,
                  "CONTROL ends with message %u below %u captured before, perhaps "
                  "a delayed older one",
                  (uint16_t)control->highest, (uint16_t)stream->newest);
    }
}

void nb_redundancy_control(const struct nb_event *event, const struct nb_control *control)
{
    nb_queue_note_size(event, control);
    const enum nb_queue_part_kind part = nb_queue_part(event, control);
    notice_repetition(event, control->present);
    notice_uncaptured(event, control);
    notice_other_part(event, control);
    judge_pending_here(event);
    judge_queue(event, control, part);
    nb_queue_remember(event, control, part);
}

/* From the IP IDs that were captured after the CONTROL, in order, and what is missing among them. */
static bool is_proven_in_order(const struct nb_stream *stream, const struct pending *pending, int64_t ack)
{
    if (pending->disorder) {
        return false;
    }
    /* What acknowledges exactly the missing message came too late; a copy of it
     * may have come in time, in a network that makes copies. In this one no
     * packet of either end was ever lost, late or doubled. */
    return (ack > pending->newest_before && stream->end[0].flow.unbroken && stream->end[1].flow.unbroken) ||
           (pending->below >= BELOW_WITH_FEW_HOLES && pending->holes * PACKETS_PER_HOLE <= pending->below) ||
           (pending->below >= BELOW_WITH_HOLES && stream->end[0].flow.climbing && stream->end[1].flow.climbing);
}

static bool is_proven(const struct nb_event *event, const struct pending *pending, int64_t ack)
{
    const struct nb_stream *stream = event->stream;

    if (may_be_part(stream) || pending->uncaptured || may_be_followed(event, pending)) {
        return false;
    }
    if (pending->here) {
        return true;
    }
    if (!nb_rule_holds(stream, NB_RULE_CTRL_ACK) && !nb_is_unbroken(stream, event->end)) {
        return false; /* it may acknowledge less than before (R1986-14) */
    }
    if (event->at_sender) {
        return pending->below > 0;
    }
    if (!nb_emission_counts(&stream->end[event->end].flow, NB_EVIDENCE_BITS)) {
        return false;
    }
    if (nb_ack_trail_jumps(&pending->trail)) {
        return true;
    }
    return pending->below > 0 &&
           (is_proven_in_order(stream, pending, ack) ||
            (pending->repeated && nb_emission_counts(&stream->end[1 - event->end].flow, NB_EVIDENCE_BITS)));
}

static enum nb_ack_class classify(int64_t ack, int64_t missing)
{
    return ack < missing ? NB_ACK_LESS : ack == missing ? NB_ACK_EXACT : NB_ACK_MORE;
}

static void weigh_proof(const struct nb_event *event, struct pending *pending, int64_t ack)
{
    const bool in_order = event->at_sender || event->emitted.arrival == NB_IN_ORDER;

    if (!nb_whole_story(event->stream) ||
        (!event->at_sender && !pending->here && event->emitted.arrival == NB_NO_ORDER)) {
        pending->active = false;
        return;
    }
    nb_ack_trail_note(&pending->trail, event->emitted.number, classify(ack, pending->missing));
    if (in_order && event->sound_data) {
        if (ack < pending->missing && pending->evidence_frame == 0) {
            pending->evidence_frame = event->frame;
        }
        pending->below += ack < pending->missing;
        pending->holes += !event->at_sender && event->emitted.step != 1;
    } else {
        pending->disorder = true;
    }
    if (is_proven(event, pending, ack)) {
        report_violation(event, pending);
        pending->active = false;
    } else if (ack == pending->missing && pending->below == 0 && !pending->here) {
        pending->active = false; /* a copy of this may have been there in time */
    }
}

/* A packet that acknowledges nothing shows nothing new, as long as no other can be missing before it. */
static void remember_emitted(const struct nb_event *event, bool acknowledges)
{
    struct redundancy *state = state_of(event->stream);

    if (event->emitted.arrival != NB_IN_ORDER) {
        return;
    }
    if (acknowledges ||
        (state->emitted_known && event->emitted.step == 1 && state->emitted_number + 1 == event->emitted.number)) {
        state->emitted_known = true;
        state->emitted_number = event->emitted.number;
    }
}

void nb_redundancy_acknowledged(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;

    if (state_of(stream)->pending.active) {
        weigh_proof(event, &state_of(stream)->pending, event->ack.now);
    }
    remember_emitted(event, true);
}

void nb_redundancy_passed(const struct nb_event *event)
{
    struct pending *pending = &state_of(event->stream)->pending;

    remember_emitted(event, false);
    if (!pending->active || event->emitted.arrival == NB_NO_ORDER) {
        return;
    }
    nb_ack_trail_note(&pending->trail, event->emitted.number, NB_ACK_NONE);
    if (event->emitted.arrival == NB_IN_ORDER) {
        pending->holes += event->emitted.step != 1;
    } else {
        pending->disorder = true;
    }
}
