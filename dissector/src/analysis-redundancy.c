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
 * later, says s again; or when the sender's packets that acknowledge less
 * cannot all have been overtaken by it.
 *
 * A judgement takes two steps: the CONTROL is suspected, and the sender's
 * packet that excludes the excuse reports the violation. */
#include "analysis.h"

#include "ack-trail.h"
#include "netblt.h"

/* A packet of this size passes any path and any implementation's limit, unless full DATA packets are smaller still. */
#define PATH_LIMIT_BYTES 512
/* Missing messages named in a text. */
#define NAMED_MESSAGES 6
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
    bool repeated;  /* a CONTROL emitted after this one says the missing message
                       again */
    uint64_t number;
    struct nb_ack_trail trail;
};

/* The CONTROL captured before, for telling a queue in parts (AMB-33). */
struct previous {
    int64_t highest;
    double when;
    unsigned bytes;
    unsigned messages;
    bool starts_queue; /* it, or the first of its parts, begins with the lowest unacknowledged message */
};

struct nb_redundancy {
    struct previous previous;
    unsigned largest_bytes;
    unsigned largest_shared; /* of the CONTROLs with several messages: a single one must be sent, however large */
    unsigned most_messages;  /* in a CONTROL */
    bool told;               /* told_number is valid */
    int64_t unknown_told;    /* a message that was never captured: CONTROLs that lack no other are told once */
    uint64_t told_number;    /* the sender's newest packet of which is known that it
                                acknowledges no more than was captured */
    struct pending pending;
};

struct gap {
    int64_t highest;      /* last message of the packet */
    int64_t last_missing; /* 0: none is missing */
    int64_t unknown;      /* the highest missing message that was never captured; 0: none */
    unsigned known;       /* missing messages that were */
    unsigned bytes;       /* of a packet that held everything from acked + 1 to highest */
    wmem_strbuf_t *names;
    unsigned count;
};

struct nb_redundancy *nb_redundancy_new(void)
{
    return wmem_new0(wmem_file_scope(), struct nb_redundancy);
}

static void find_gap(const struct nb_event *event, const bool *present, int64_t highest, struct gap *gap)
{
    const struct nb_stream *stream = event->stream;

    *gap = (struct gap){.highest = highest, .bytes = NB_HEADER_BYTES};
    for (int64_t seq = stream->acked + 1; seq <= highest; seq++) {
        const struct nb_told *body = nb_told_find(&stream->facts->told, seq);
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
        if (gap->names == NULL) {
            gap->names = wmem_strbuf_new(wmem_file_scope(), NULL);
        }
        if (gap->count < NAMED_MESSAGES) {
            wmem_strbuf_append_printf(gap->names, gap->count == 0 ? "%u" : ", %u", (uint16_t)seq);
        } else if (gap->count == NAMED_MESSAGES) {
            wmem_strbuf_append(gap->names, ", ...");
        }
        gap->count++;
    }
}

unsigned nb_redundancy_capacity(const struct nb_stream *stream)
{
    const unsigned full_data = NB_DATA_HEADER_BYTES + stream->data_packet_size;

    return MAX(stream->redundancy->largest_bytes, MIN(full_data, PATH_LIMIT_BYTES));
}

/* DEMUX-04: a late packet of the connection before must not be taken for one of this. */
static bool of_this_connection(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const uint64_t opened = stream->opened_number[event->end];

    return !stream->follows_another ||
           (event->emitted.arrival != NB_NO_ORDER && opened != 0 && event->emitted.number > opened &&
            nb_emission_counts(&stream->flow[event->end], NB_EVIDENCE_BITS));
}

/* The CONTROL emitted right before this one may be unknown, and hold the part before it: of a queue larger than
 * anything that this end has put into one packet together. */
static bool may_lack_a_part(const struct nb_event *event, const struct gap *gap)
{
    const struct nb_redundancy *state = event->stream->redundancy;
    const bool directly = event->emitted.arrival == NB_IN_ORDER && event->emitted.step == 1;

    return !directly &&
           (gap->bytes > state->largest_shared || gap->highest - event->stream->acked > (int64_t)state->most_messages);
}

/* The excuse that the capture cannot exclude, NULL when only a later sender packet is wanting. */
static const char *excuse(const struct nb_event *event, const struct gap *gap, bool next_part)
{
    const struct nb_stream *stream = event->stream;

    if (!nb_whole_story(stream)) {
        return nb_what_is_missing(stream);
    }
    if (gap->unknown != 0) {
        return wmem_strdup_printf(wmem_file_scope(), "message %u itself was not captured", (uint16_t)gap->unknown);
    }
    if (next_part) {
        return "it may be the next part of a queue that this end sends in small packets";
    }
    if (gap->bytes > nb_redundancy_capacity(stream)) {
        return wmem_strdup_printf(wmem_file_scope(), "the queue of %u bytes may be split (a packet here holds %u)",
                                  gap->bytes, nb_redundancy_capacity(stream));
    }
    if (may_lack_a_part(event, gap)) {
        return "a part of the queue, sent right before it, may have escaped the capture";
    }
    if (!of_this_connection(event)) {
        return "it may belong to an earlier connection on the same ports";
    }
    return NULL;
}

/* Acknowledged by now, and still no proof: one will hardly come. */
static bool is_stuck(const struct pending *pending)
{
    return pending->trail.more != 0 && (pending->holes > 0 || pending->disorder || pending->below == 0);
}

/* What the sender emitted last before the CONTROL was captured acknowledges less than the missing message. An end that
 * only opened the connection so far has acknowledged nothing. */
static void begin_trail(const struct nb_stream *stream, struct nb_ack_trail *trail)
{
    const struct nb_redundancy *state = stream->redundancy;
    const struct nb_emission *flow = &stream->flow[stream->sender < 0 ? 0 : stream->sender];

    if (state->told) {
        nb_ack_trail_note(trail, state->told_number, NB_ACK_LESS);
    } else if (stream->acked == 0 && stream->sender >= 0 && flow->started && flow->unbroken) {
        nb_ack_trail_note(trail, flow->newest, NB_ACK_LESS);
    }
}

static void await_proof(const struct nb_event *event, const struct gap *gap, const struct nb_control *control,
                        struct nb_finding *suspicion)
{
    struct nb_redundancy *state = event->stream->redundancy;

    if (state->pending.active && !is_stuck(&state->pending)) {
        return; /* the earlier one is nearer to its proof */
    }
    state->pending =
        (struct pending){.active = true,
                         .frame = event->frame,
                         .request_frame = nb_told_find(&event->stream->facts->told, gap->last_missing)->frame,
                         .missing = gap->last_missing,
                         .newest_before = control->newest_before,
                         .first = control->first,
                         .offender = event->end,
                         .suspicion = suspicion,
                         .numbered = event->emitted.arrival != NB_NO_ORDER,
                         .number = event->emitted.number};
    begin_trail(event->stream, &state->pending.trail);
}

bool nb_redundancy_continues(const struct nb_event *event, const struct nb_control *control, double within_s)
{
    const struct previous *previous = &event->stream->redundancy->previous;

    return control->first == previous->highest + 1 && event->now - previous->when < within_s;
}

bool nb_redundancy_may_be_part(const struct nb_event *event, const struct nb_control *control)
{
    const struct previous *previous = &event->stream->redundancy->previous;

    return previous->bytes > 0 && control->first == previous->highest + 1 &&
           previous->bytes + event->packet->length - NB_HEADER_BYTES > nb_redundancy_capacity(event->stream);
}

/* It goes on where the CONTROL before it ended, at once, and no CONTROL of this end was ever large enough for more, or
 * held more messages: some count them. */
static bool is_next_part(const struct nb_event *event, const struct nb_control *control)
{
    const double at_once_s = 0.0005; /* one emission after the other */
    const struct nb_redundancy *state = event->stream->redundancy;
    const struct nb_told *first = nb_told_find(&event->stream->facts->told, control->first);

    return state->previous.starts_queue && first != NULL && nb_redundancy_continues(event, control, at_once_s) &&
           (state->previous.bytes + first->bytes >
                MAX(state->largest_shared, control->messages > 1 ? event->packet->length : 0) ||
            state->previous.messages + 1 > MAX(state->most_messages, control->messages));
}

static void judge_control(const struct nb_event *event, const struct gap *gap, const struct nb_control *control,
                          bool next_part)
{
    if (gap->known == 0 && gap->unknown == event->stream->redundancy->unknown_told) {
        return; /* it says no more than the CONTROL before */
    }
    event->stream->redundancy->unknown_told = gap->unknown;
    const char *why = excuse(event, gap, next_part);
    const struct nb_told *body = nb_told_find(&event->stream->facts->told, gap->last_missing);
    const struct nb_charge charge = {.rule = NB_RULE_CTRL_REDUNDANCY,
                                     .offender = event->end,
                                     .request_frame = body == NULL ? 0 : body->frame,
                                     .excuse = why != NULL ? why : "an ack may have been missed, later frames tell"};

    struct nb_finding *told =
        nb_blame(event, &charge, "CONTROL up to message %u leaves out %s, highest ack captured is %u",
                 (uint16_t)gap->highest, wmem_strbuf_get_str(gap->names), (uint16_t)event->stream->acked);
    if (why == NULL) {
        await_proof(event, gap, control, told);
    }
}

/* The receiver says the missing message again, in a CONTROL that it emitted later: it knows no acknowledgement of it.
 * / */
static void notice_repetition(const struct nb_event *event, const bool *present)
{
    const struct nb_stream *stream = event->stream;
    struct pending *pending = &stream->redundancy->pending;

    if (!pending->active || !pending->numbered || pending->missing <= stream->acked ||
        pending->missing > stream->acked + NB_TOLD_WINDOW || event->emitted.arrival == NB_NO_ORDER) {
        return;
    }
    if (present[pending->missing - stream->acked - 1] && event->emitted.number > pending->number) {
        pending->repeated = true;
    }
}

/* Was the part before it overtaken by it? */
static void notice_late_part(const struct nb_event *event, const struct nb_control *control)
{
    struct pending *pending = &event->stream->redundancy->pending;

    if (pending->active && control->highest + 1 == pending->first && pending->numbered &&
        event->emitted.arrival == NB_LATE && event->emitted.number < pending->number) {
        pending->active = false;
    }
}

static void remember_control(const struct nb_event *event, const struct nb_control *control, bool next_part)
{
    struct nb_redundancy *state = event->stream->redundancy;

    state->largest_bytes = MAX(state->largest_bytes, event->packet->length);
    state->largest_shared = MAX(state->largest_shared, control->messages > 1 ? event->packet->length : 0);
    state->most_messages = MAX(state->most_messages, control->messages);
    state->previous = (struct previous){.highest = control->highest,
                                        .when = event->now,
                                        .bytes = event->packet->length,
                                        .messages = control->messages,
                                        .starts_queue = next_part || control->first <= event->stream->acked + 1};
}

void nb_redundancy_control(const struct nb_event *event, const struct nb_control *control)
{
    struct nb_stream *stream = event->stream;
    struct gap gap;

    const bool next_part = is_next_part(event, control);

    notice_repetition(event, control->present);
    notice_late_part(event, control);
    remember_control(event, control, next_part);
    if (!stream->acked_known || control->highest <= stream->acked ||
        control->highest > stream->acked + NB_TOLD_WINDOW) {
        return;
    }
    find_gap(event, control->present, control->highest, &gap);
    if (gap.last_missing != 0) {
        judge_control(event, &gap, control, next_part);
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

/* From the IP IDs that were captured behind the CONTROL, in order, and what is missing among them. */
static bool is_proven_in_order(const struct nb_stream *stream, const struct pending *pending, int64_t ack)
{
    if (pending->disorder) {
        return false;
    }
    /* What acknowledges exactly the missing message came too late; a copy of it
     * may have come in time, in a network that makes copies. In this one no
     * packet of either end was ever lost, late or doubled. */
    return (ack > pending->newest_before && stream->flow[0].unbroken && stream->flow[1].unbroken) ||
           (pending->below >= BELOW_WITH_FEW_HOLES && pending->holes * PACKETS_PER_HOLE <= pending->below) ||
           (pending->below >= BELOW_WITH_HOLES && stream->flow[0].climbing && stream->flow[1].climbing);
}

static bool is_proven(const struct nb_event *event, const struct pending *pending, int64_t ack)
{
    const struct nb_stream *stream = event->stream;

    if (event->at_sender) {
        return pending->below > 0;
    }
    if (!nb_emission_counts(&stream->flow[event->end], NB_EVIDENCE_BITS)) {
        return false;
    }
    if (nb_ack_trail_jumps(&pending->trail)) {
        return true;
    }
    return pending->below > 0 &&
           (is_proven_in_order(stream, pending, ack) ||
            (pending->repeated && nb_emission_counts(&stream->flow[1 - event->end], NB_EVIDENCE_BITS)));
}

/* File scope. */
static const char *describe(const struct pending *pending)
{
    const char *what = wmem_strdup_printf(wmem_file_scope(), "CONTROL in frame %u left out message %u (of frame %u)",
                                          pending->frame, (uint16_t)pending->missing, pending->request_frame);

    if (pending->evidence_frame == 0) {
        return wmem_strdup_printf(wmem_file_scope(),
                                  "%s unacknowledged: by the IP IDs no packet "
                                  "before this one can have acked it",
                                  what);
    }
    return wmem_strdup_printf(wmem_file_scope(), "%s unacknowledged: frame %u, emitted later, still acks less", what,
                              pending->evidence_frame);
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

static enum nb_ack_class classify(int64_t ack, int64_t missing)
{
    return ack < missing ? NB_ACK_LESS : ack == missing ? NB_ACK_EXACT : NB_ACK_MORE;
}

static void weigh_proof(const struct nb_event *event, struct pending *pending, int64_t ack)
{
    const bool in_order = event->at_sender || event->emitted.arrival == NB_IN_ORDER;

    if (!nb_whole_story(event->stream) || (!event->at_sender && event->emitted.arrival == NB_NO_ORDER)) {
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
    } else if (ack == pending->missing && pending->below == 0) {
        pending->active = false; /* a copy of this may have been there in time */
    }
}

/* A packet that acknowledges nothing says nothing new, as long as no other can be missing before it. */
static void remember_told(const struct nb_event *event, bool acknowledges)
{
    struct nb_redundancy *state = event->stream->redundancy;

    if (event->emitted.arrival != NB_IN_ORDER) {
        return;
    }
    if (acknowledges || (state->told && event->emitted.step == 1 && state->told_number + 1 == event->emitted.number)) {
        state->told = true;
        state->told_number = event->emitted.number;
    }
}

void nb_redundancy_acknowledged(const struct nb_event *event, int64_t ack)
{
    struct nb_stream *stream = event->stream;

    if (stream->redundancy->pending.active) {
        weigh_proof(event, &stream->redundancy->pending, ack);
    }
    remember_told(event, true);
}

void nb_redundancy_passed(const struct nb_event *event)
{
    struct pending *pending = &event->stream->redundancy->pending;

    remember_told(event, false);
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
