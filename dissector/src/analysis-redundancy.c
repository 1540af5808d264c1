/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CTRL-04 (RFC 998 5.2.1): every CONTROL carries all messages that are not acknowledged yet, from the lowest on, as far
 * as they fit.
 *
 * A CONTROL that leaves out message s looks wrong when the capture holds no acknowledgement of s. The receiver is
 * excused when it got one that was not captured, or when the queue did not fit one packet. Acknowledgements never go
 * back. So let M be the sender's newest packet captured before the CONTROL (it acknowledges less than s), and Z one
 * that acknowledges a message which appeared first in this CONTROL or after it: Z was emitted after the CONTROL. An
 * acknowledgement of s that came in time was emitted between M and Z. When every IP ID between them was captured, and
 * captured after the CONTROL, there was none. A judgement takes two steps: the CONTROL is suspected, and the frame that
 * excludes the excuse reports the violation. */
#include "analysis.h"

#include "netblt.h"

/* Un-acknowledged messages that are remembered and judged; RFC 998 thinks of 50 to 80 in a packet. */
#define WINDOW_MESSAGES 1024
/* The memory for them grows from here by doubling: a capture may hold many connections. */
#define FIRST_SLOTS 32
/* A packet of this size passes any path and any implementation's limit, unless the DATA packets are smaller still. */
#define PATH_LIMIT_BYTES 512
/* Missing messages named in a text. */
#define NAMED_MESSAGES 6
/* Evidence that IP IDs are a counter: chance below one in 2^28 that others look like this. */
#define EVIDENCE_BITS 28.0

/* Without a Z, an acknowledgement missing in the capture would have to overtake all packets that still acknowledge
 * less, and nothing else overtake them. So many, with few holes between them, are taken for proof; more when there are
 * holes everywhere because the host counts over all its traffic. */
enum {
    BELOW_WITH_FEW_HOLES = 8,
    PACKETS_PER_HOLE = 4,
    BELOW_WITH_HOLES = 16,
};

struct body {
    int64_t seq;
    uint32_t frame; /* 0: empty slot */
    uint32_t bytes;
};

struct pending {
    bool active;
    uint32_t frame;         /* the CONTROL */
    uint32_t request_frame; /* where the missing message was captured */
    uint32_t evidence_frame;
    int64_t missing;
    int64_t newest_before; /* newest message captured before the CONTROL */
    const char *offender;
    unsigned below; /* later sender packets that still acknowledge less */
    unsigned holes; /* gaps in the IP IDs among them */
};

struct nb_redundancy {
    struct body *bodies; /* ring, `slots` long: room for all from acked + 1 on */
    unsigned slots;
    unsigned largest_bytes;
    struct pending pending;
};

struct gap {
    int64_t highest;      /* last message of the packet */
    int64_t last_missing; /* 0: none is missing */
    int64_t unknown;      /* a missing message that was never captured; 0: none */
    unsigned bytes;       /* of a packet that held everything from acked + 1 to highest */
    wmem_strbuf_t *names;
    unsigned count;
};

struct nb_redundancy *nb_redundancy_new(void)
{
    return wmem_new0(wmem_file_scope(), struct nb_redundancy);
}

static const struct body *find_body(const struct nb_redundancy *state, int64_t seq)
{
    if (state->slots == 0) {
        return NULL;
    }
    const struct body *body = &state->bodies[(uint64_t)seq % state->slots];
    return body->frame != 0 && body->seq == seq ? body : NULL;
}

bool nb_redundancy_knows(const struct nb_stream *stream, int64_t seq)
{
    return find_body(stream->redundancy, seq) != NULL;
}

/* Makes room for `window` messages that are not acknowledged yet. */
static void make_room(struct nb_redundancy *state, int64_t window)
{
    const unsigned old_slots = state->slots;
    struct body *old = state->bodies;

    if (window <= old_slots) {
        return;
    }
    state->slots = MAX(old_slots, FIRST_SLOTS);
    while (state->slots < window) {
        state->slots *= 2;
    }
    state->bodies = wmem_alloc0_array(wmem_file_scope(), struct body, state->slots);
    for (unsigned i = 0; i < old_slots; i++) {
        if (old[i].frame != 0) {
            state->bodies[(uint64_t)old[i].seq % state->slots] = old[i];
        }
    }
    wmem_free(wmem_file_scope(), old);
}

static void store_body(struct nb_redundancy *state, int64_t acked, int64_t seq, int bytes, uint32_t frame)
{
    make_room(state, seq - acked);
    struct body *body = &state->bodies[(uint64_t)seq % state->slots];
    if (body->frame == 0 || body->seq != seq) {
        *body = (struct body){.seq = seq, .frame = frame, .bytes = (uint32_t)bytes};
    }
}

/* Takes in the messages; the result tells whether the list was sound to its end. Sets `present` relative to acked. */
static bool take_messages(const struct nb_event *event, bool *present, int64_t *highest)
{
    struct nb_stream *stream = event->stream;
    struct nb_redundancy *state = stream->redundancy;
    struct nb_message message;
    enum nb_walk walk;
    int offset = NB_HEADER_BYTES;

    *highest = 0;
    while ((walk = nb_next_message(event->packet, &offset, &message)) == NB_MESSAGE) {
        if (!stream->acked_known && stream->newest == 0) {
            stream->newest = message.seq;
        }
        const int64_t seq = nb_unwrap(stream->acked_known ? stream->acked : stream->newest, message.seq);
        stream->newest = MAX(stream->newest, seq);
        *highest = MAX(*highest, seq);
        if (seq > stream->acked && seq <= stream->acked + WINDOW_MESSAGES) {
            store_body(state, stream->acked, seq, message.bytes, event->frame);
            present[seq - stream->acked - 1] = true;
        }
    }
    return walk == NB_END;
}

static void find_gap(const struct nb_event *event, const bool *present, int64_t highest, struct gap *gap)
{
    const struct nb_stream *stream = event->stream;

    *gap = (struct gap){.highest = highest, .bytes = NB_HEADER_BYTES};
    for (int64_t seq = stream->acked + 1; seq <= highest; seq++) {
        const struct body *body = find_body(stream->redundancy, seq);
        if (body == NULL && (uint16_t)seq == 0) {
            continue; /* AMB-12: some skip 0 when numbers wrap */
        }
        gap->bytes += body == NULL ? 0 : body->bytes;
        if (present[seq - stream->acked - 1]) {
            continue;
        }
        gap->last_missing = seq;
        gap->unknown = body == NULL ? seq : gap->unknown;
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

/* What one packet of this receiver is known to hold. */
static unsigned capacity(const struct nb_stream *stream)
{
    return MAX(stream->redundancy->largest_bytes, MIN(stream->data_packet_size, PATH_LIMIT_BYTES));
}

/* DEMUX-04: a late packet of the connection before must not be taken for one of this. */
static bool of_this_connection(const struct nb_event *event)
{
    return !event->stream->follows_another || (event->emitted.arrival != NB_NO_ORDER &&
                                               nb_emission_counts(&event->stream->flow[event->end], EVIDENCE_BITS));
}

/* The excuse that the capture cannot exclude, NULL when only a later sender packet is wanting. */
static const char *excuse(const struct nb_event *event, const struct gap *gap)
{
    const struct nb_stream *stream = event->stream;

    if (!nb_whole_story(stream)) {
        return nb_what_is_missing(stream);
    }
    if (gap->unknown != 0) {
        return wmem_strdup_printf(wmem_file_scope(), "message %u itself was not captured", (uint16_t)gap->unknown);
    }
    if (gap->bytes > capacity(stream)) {
        return wmem_strdup_printf(wmem_file_scope(), "the queue of %u bytes may be split (a packet here holds %u)",
                                  gap->bytes, capacity(stream));
    }
    if (!of_this_connection(event)) {
        return "it may belong to an earlier connection on the same ports";
    }
    return NULL;
}

static void await_proof(const struct nb_event *event, const struct gap *gap, int64_t newest_before,
                        const char *offender)
{
    struct nb_redundancy *state = event->stream->redundancy;

    if (state->pending.active) {
        return; /* the earlier one is nearer to its proof */
    }
    state->pending = (struct pending){.active = true,
                                      .frame = event->frame,
                                      .request_frame = find_body(state, gap->last_missing)->frame,
                                      .missing = gap->last_missing,
                                      .newest_before = newest_before,
                                      .offender = offender};
}

static void judge_control(const struct nb_event *event, const struct gap *gap, int64_t newest_before)
{
    const char *why = excuse(event, gap);
    const char *offender = nb_offender(event->stream, event->end);
    const struct body *body = find_body(event->stream->redundancy, gap->last_missing);
    const struct nb_finding finding = {
        .rule = NB_RULE_CTRL_REDUNDANCY,
        .verdict = NB_SUSPECTED,
        .offender = offender,
        .request_frame = body == NULL ? 0 : body->frame,
        .text = wmem_strdup_printf(
            wmem_file_scope(), "CONTROL up to message %u leaves out %s, highest ack captured is %u; unsure: %s",
            (uint16_t)gap->highest, wmem_strbuf_get_str(gap->names), (uint16_t)event->stream->acked,
            why != NULL ? why : "an ack may have been missed, later frames tell")};

    nb_add_finding(&event->record->findings, &finding);
    if (why == NULL) {
        await_proof(event, gap, newest_before, offender);
    }
}

static void note_tail(const struct nb_event *event, int64_t highest)
{
    const struct nb_finding finding = {
        .rule = NB_RULE_CTRL_TAIL,
        .verdict = NB_EVENT,
        .offender = "",
        .text = wmem_strdup_printf(wmem_file_scope(),
                                   "CONTROL ends with message %u below %u captured before, perhaps a delayed older one",
                                   (uint16_t)highest, (uint16_t)event->stream->newest)};

    nb_add_finding(&event->record->findings, &finding);
}

void nb_redundancy_control(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    bool present[WINDOW_MESSAGES] = {false};
    const int64_t newest_before = stream->newest;
    struct gap gap;
    int64_t highest;

    if (!take_messages(event, present, &highest)) {
        return;
    }
    stream->redundancy->largest_bytes = MAX(stream->redundancy->largest_bytes, event->packet->length);
    if (!stream->acked_known || highest <= stream->acked || highest > stream->acked + WINDOW_MESSAGES) {
        return;
    }
    find_gap(event, present, highest, &gap);
    if (gap.last_missing != 0) {
        judge_control(event, &gap, newest_before);
    }
    if (highest < stream->newest) {
        note_tail(event, highest);
    }
}

/* A high-seq that covers a message which was never captured: the capture missed a CONTROL (or the sender is wrong, but
 * that cannot be told apart here). */
static void check_acknowledged(struct nb_stream *stream, int64_t ack)
{
    if (ack > stream->acked + WINDOW_MESSAGES) {
        stream->doubts |= NB_DOUBT_UNSEEN_ACKED;
        return;
    }
    for (int64_t seq = stream->acked + 1; seq <= ack; seq++) {
        if (find_body(stream->redundancy, seq) == NULL && (uint16_t)seq != 0) {
            stream->doubts |= NB_DOUBT_UNSEEN_ACKED;
            return;
        }
    }
}

static bool is_proven(const struct nb_event *event, const struct pending *pending, int64_t ack)
{
    const struct nb_stream *stream = event->stream;

    if (pending->below == 0) {
        return false;
    }
    if (event->at_sender) {
        return true;
    }
    if (!nb_emission_counts(&stream->flow[event->end], EVIDENCE_BITS)) {
        return false;
    }
    return (pending->holes == 0 && ack > pending->newest_before) ||
           (pending->below >= BELOW_WITH_FEW_HOLES && pending->holes * PACKETS_PER_HOLE <= pending->below) ||
           (pending->below >= BELOW_WITH_HOLES && stream->flow[0].climbing && stream->flow[1].climbing);
}

static void report_violation(const struct nb_event *event, const struct pending *pending)
{
    const struct nb_finding finding = {
        .rule = NB_RULE_CTRL_REDUNDANCY,
        .verdict = NB_VIOLATION,
        .offender = pending->offender,
        .offending_frame = pending->frame,
        .request_frame = pending->request_frame,
        .evidence_frame = pending->evidence_frame,
        .text = wmem_strdup_printf(
            wmem_file_scope(),
            "CONTROL in frame %u left out message %u (of frame %u) unacknowledged: frame %u, emitted later, still "
            "acks less",
            pending->frame, (uint16_t)pending->missing, pending->request_frame, pending->evidence_frame)};

    nb_add_finding(&event->record->findings, &finding);
}

static void weigh_proof(const struct nb_event *event, struct pending *pending, int64_t ack)
{
    const bool below = ack < pending->missing;
    const bool in_order = event->at_sender || event->emitted.arrival == NB_IN_ORDER;

    if (!nb_whole_story(event->stream) || !event->sound_data || !in_order) {
        pending->active = false;
        return;
    }
    if (below && pending->evidence_frame == 0) {
        pending->evidence_frame = event->frame;
    }
    pending->below += below;
    pending->holes += !event->at_sender && event->emitted.step != 1;
    if (is_proven(event, pending, ack)) {
        report_violation(event, pending);
        pending->active = false;
    } else if (!below && (pending->below == 0 || pending->holes > 0)) {
        pending->active = false; /* this acknowledgement, or one from the hole, may have been there in time */
    }
}

void nb_redundancy_acknowledged(const struct nb_event *event, int64_t ack)
{
    struct nb_stream *stream = event->stream;

    check_acknowledged(stream, ack);
    if (stream->redundancy->pending.active) {
        weigh_proof(event, &stream->redundancy->pending, ack);
    }
}
