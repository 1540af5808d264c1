/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the result of a rule into passed, suspected or violation, and waits for proof. */
#include "rules/judge.h"

#include "wireshark/memory.h"

/* Suspected violations of a connection that wait for proof at a time. */
#define MOST_CLAIMS 16

/* A suspicion that packets to come may turn into a proof. */
struct nb_claim {
    struct nb_charge charge;
    struct nb_finding *suspicion;
    const char *text;
    int8_t watched;
    uint32_t turned_up; /* in which frame what was missing was captured; 0 not yet */
    uint32_t known;     /* packets of the buffer, when the claim was made */
    uint8_t waited_for;
    uint8_t packets;   /* still to come */
    bool answered;     /* what is captured from now on was emitted later than the packet */
    double made_when;  /* s since the first frame */
    struct nb_mark at; /* the packet, in the order of its end */
};

/* A capture may put the directions together out of step: what was missing may have been emitted before, and be captured
 * later. Never by so much. */
#define OUT_OF_STEP_S 1.0

struct claims {
    struct nb_claim *waiting; /* [MOST_CLAIMS]; NULL before the first */
    unsigned count;
};

static size_t place;

void nb_register_judge(void)
{
    place = nb_stream_reserve(sizeof(struct claims));
}

static struct claims *claims_of(const struct nb_event *event)
{
    return (struct claims *)nb_stream_reserved(event->stream, place);
}

void nb_keep(const struct nb_event *event, enum nb_rule rule)
{
    if (nb_rule_holds(event->stream, rule)) {
        nb_standing_keep(event->stream, rule, event->frame);
    }
}

bool nb_may_repeat_unasked(const struct nb_stream *stream)
{
    return !nb_rule_holds(stream, NB_RULE_DATA_UNREQUESTED) &&
           (stream->sender < 0 || !nb_is_unbroken(stream, stream->sender));
}

bool nb_is_unbroken(const struct nb_stream *stream, int end)
{
    const struct nb_emission *flow = &stream->end[end].flow;

    return flow->unbroken && flow->damaged == 0 && stream->end[end].opened_number == NB_FIRST_NUMBER &&
           nb_emission_counts(flow, NB_EVIDENCE_BITS);
}

bool nb_shows_all_of(const struct nb_stream *stream, int end)
{
    return nb_is_unbroken(stream, end) || nb_sees_all_of(stream, end);
}

bool nb_shows_first_messages(const struct nb_stream *stream)
{
    return stream->open_seen && (stream->doubts & NB_DOUBT_BEGINNING) == 0 && !stream->queue.cut;
}

/* As nb_is_unbroken(); what came damaged was captured, too. */
static bool lacks_nothing(const struct nb_stream *stream, int end)
{
    struct nb_emission flow = stream->end[end].flow;

    flow.damaged = 0;
    return flow.unbroken && stream->end[end].opened_number == NB_FIRST_NUMBER &&
           nb_emission_counts(&flow, NB_EVIDENCE_BITS);
}

/* A packet that escaped the capture may have overtaken those that were waited for. So many packets without a single
 * copy, late or missing one show a path and a capture that do no such things; the more the fewer were waited for. */
static bool has_quiet_history(const struct nb_stream *stream, int end, unsigned waited_for)
{
    enum { QUIET = 10, LONG_QUIET = 24 };

    return stream->end[end].flow.forward >= (waited_for >= NB_PACKETS_TO_PROVE ? QUIET : LONG_QUIET);
}

bool nb_proven_after(const struct nb_event *event, const struct nb_mark *mark)
{
    const struct nb_stream *stream = event->stream;

    if (mark->frame == 0) {
        return false;
    }
    if (event->at_sender && event->end == stream->sender) {
        return true; /* the order of the capture is that of emission */
    }
    return mark->ordered && event->emitted.arrival != NB_NO_ORDER && event->emitted.number > mark->number &&
           nb_is_apart(event, mark->frame) && nb_emission_counts(&stream->end[event->end].flow, NB_EVIDENCE_BITS);
}

bool nb_is_apart(const struct nb_event *event, uint32_t frame)
{
    return event->frame != frame;
}

/* DEMUX-04: a late packet of the connection before must not be taken for one of this. */
static bool of_this_connection(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const uint64_t opened = stream->end[event->end].opened_number;

    return !stream->follows_another ||
           (event->emitted.arrival != NB_NO_ORDER && opened != 0 && event->emitted.number >= opened &&
            nb_emission_counts(&stream->end[event->end].flow, NB_EVIDENCE_BITS));
}

/* At the end itself, packets that were never captured were never sent or received. */
static unsigned doubts_not_here(const struct nb_stream *stream, int end)
{
    return nb_sees_all_of(stream, end) ? NB_DOUBTS_OF_LOSS : 0;
}

/* The peer has a capture of its own in the file, which shows what it sent and received. */
static bool is_judged_elsewhere(const struct nb_stream *stream, int end)
{
    return stream->point.both_ends && stream->captured_at == 1 - end;
}

/* Packets that escaped the capture do not excuse the end at which the capture was made. */
static bool excuses_nothing(const struct nb_stream *stream, const struct nb_charge *charge)
{
    return charge->unseen && nb_sees_all_of(stream, charge->offender);
}

/* NULL: nothing speaks against a violation. */
static const char *doubt_of(const struct nb_event *event, unsigned forgiven)
{
    struct nb_stream *stream = event->stream;
    const unsigned doubts = stream->doubts;

    stream->doubts &= ~forgiven;
    const char *why = nb_whole_story(stream) ? NULL : nb_what_is_missing(stream);
    stream->doubts = doubts;
    return why != NULL || of_this_connection(event) ? why : "it may belong to an earlier connection on the same ports";
}

/* Address and role. Before an end has acted, M in the OPEN shows which will send (AMB-08). */
static const char *offender_of(const struct nb_event *event, int end)
{
    struct nb_stream *stream = event->stream;
    const uint8_t type = event->packet->type;
    const int8_t sender = stream->sender;
    /* NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c) */
    int active = stream->active;
    uint16_t flags = active < 0 ? 0 : nb_terms_by(stream, active)->flags;

    if (active < 0 && (type == NB_OPEN || type == NB_RESPONSE)) {
        active = type == NB_OPEN ? event->end : 1 - event->end;
        flags = event->packet->open_flags;
    }
    if (sender < 0 && active >= 0) {
        stream->sender = (int8_t)(nb_active_sends(stream->dialect, flags) ? active : 1 - active);
    }
    const char *text = nb_offender(stream, end);
    stream->sender = sender;
    return text;
}

static struct nb_finding *report(const struct nb_event *event, const struct nb_charge *charge, const char *offender,
                                 enum nb_verdict verdict, const char *text)
{
    struct nb_standing *standing = nb_standing_findings(event->stream, charge->rule);
    const uint32_t broken = charge->offending_frame != 0 ? charge->offending_frame : event->frame;
    const struct nb_finding finding = {.rule = (uint16_t)charge->rule,
                                       .verdict = (uint8_t)verdict,
                                       .offender = offender,
                                       .offending_frame = broken == event->frame ? 0 : broken,
                                       .request_frame = charge->request_frame,
                                       .evidence_frame = charge->evidence_frame,
                                       .text = text};

    if (verdict == NB_VIOLATION && standing->violations++ == 0) {
        standing->first_violation = broken;
        standing->first_proof = event->frame;
    } else if (verdict == NB_SUSPECTED && standing->suspicions++ == 0) {
        standing->first_suspicion = broken;
    }
    return nb_add_finding(event->record, &finding);
}

/* File scope. */
static const char *with_reason(const char *text, const char *why)
{
    return why == NULL ? text : nb_file_printf("%s; uncertain: %s", text, why);
}

/* The suspicion on an earlier frame learns where it was proven. */
static void link_suspicion(const struct nb_event *event, const struct nb_charge *charge)
{
    struct nb_finding *known = charge->suspicion;

    if (known == NULL && charge->suspected_key != 0) {
        known = nb_finding_in(nb_record_at(charge->suspected_key - 1)->notes);
        while (known != NULL && (known->verdict != NB_SUSPECTED || known->rule != (uint16_t)charge->rule)) {
            known = nb_next_finding(known);
        }
    }
    if (known != NULL) {
        known->proof_frame = event->frame;
    }
}

struct nb_finding *nb_blame(const struct nb_event *event, const struct nb_charge *charge, const char *format, ...)
{
    const char *why = charge->excuse;
    va_list arguments;

    if (!nb_rule_holds(event->stream, charge->rule)) {
        return NULL;
    }
    if (excuses_nothing(event->stream, charge)) {
        why = NULL;
    }
    if (why == NULL && !charge->alone) {
        why = doubt_of(event, charge->forgiven | doubts_not_here(event->stream, charge->offender));
    }
    if (why != NULL && is_judged_elsewhere(event->stream, charge->offender)) {
        return NULL;
    }
    va_start(arguments, format);
    const char *text = nb_file_vprintf(format, arguments);
    va_end(arguments);
    if (why == NULL) {
        link_suspicion(event, charge);
    }
    return report(event, charge, offender_of(event, charge->offender), why == NULL ? NB_VIOLATION : NB_SUSPECTED,
                  with_reason(text, why));
}

static uint32_t sound_packets(const struct nb_buffer *buffer)
{
    return buffer == NULL ? 0 : buffer->distinct + buffer->good;
}

/* Captured where the suspected end is, what had come to it is in step with what it emits. */
static bool knows_what_had_come(const struct nb_event *event, int watched)
{
    return watched == event->stream->sender ? event->at_receiver : event->at_sender;
}

void nb_await(const struct nb_event *event, const struct nb_charge *charge, int watched, unsigned packets,
              const char *format, ...)
{
    struct nb_stream *stream = event->stream;
    struct claims *claims = claims_of(event);
    va_list arguments;

    if (!nb_rule_holds(stream, charge->rule)) {
        return;
    }
    const char *offender = offender_of(event, charge->offender);
    va_start(arguments, format);
    const char *text = nb_file_vprintf(format, arguments);
    va_end(arguments);
    struct nb_finding *suspicion =
        is_judged_elsewhere(stream, charge->offender)
            ? NULL
            : report(event, charge, offender, NB_SUSPECTED, with_reason(text, charge->excuse));
    const bool sees_all = excuses_nothing(stream, charge);
    const bool hopeless = packets > 0 && (stream->sender < 0 || !(sees_all || stream->end[watched].flow.unbroken) ||
                                          !of_this_connection(event));
    if (hopeless || claims->count == MOST_CLAIMS) {
        return;
    }
    if (claims->waiting == NULL) {
        claims->waiting = (struct nb_claim *)nb_file_new(MOST_CLAIMS * sizeof(struct nb_claim));
    }
    struct nb_claim *claim = &claims->waiting[claims->count++];
    *claim = (struct nb_claim){.charge = *charge,
                               .suspicion = suspicion,
                               .text = text,
                               .watched = (int8_t)watched,
                               .made_when = event->now,
                               .answered = sees_all || knows_what_had_come(event, watched),
                               .at = nb_mark_of(event),
                               .waited_for = (uint8_t)packets,
                               .packets = (uint8_t)packets};
    if (charge->absent == NB_ABSENT_PACKETS) {
        claim->known = sound_packets(nb_buffer_find(&stream->buffers, (uint32_t)charge->absent_number));
    }
    if (charge->offending_frame == 0) {
        claim->charge.offending_frame = event->frame;
    }
}

/* The watched end has got the packet at stake, or a later one of its emitter, so that everything that it emitted before
 * has been captured by now, however much out of step. */
static bool is_answered(const struct nb_event *event, const struct nb_claim *claim)
{
    const struct nb_stream *stream = event->stream;

    if (claim->watched == stream->sender) {
        return claim->charge.answered_seq != 0 && stream->acked >= claim->charge.answered_seq;
    }
    return claim->at.ordered && stream->arrived >= claim->at.number &&
           nb_emission_counts(&stream->end[1 - claim->watched].flow, NB_EVIDENCE_BITS);
}

/* False as long as it has to wait; *dead when no proof will come. */
static bool is_ripe(const struct nb_event *event, struct nb_claim *claim, bool *dead)
{
    *dead = false;
    if (claim->charge.offending_frame == event->frame) {
        return false;
    }
    if (claim->waited_for == 0) {
        return event->stream->response_seen;
    }
    if (!(excuses_nothing(event->stream, &claim->charge) || event->stream->end[claim->watched].flow.unbroken) ||
        (!claim->answered && claim->turned_up != 0 && claim->turned_up != event->frame)) {
        *dead = true;
        return false;
    }
    if (event->end != claim->watched) {
        return false;
    }
    claim->answered = claim->answered || is_answered(event, claim) || event->now - claim->made_when >= OUT_OF_STEP_S;
    claim->packets -= claim->packets > 0;
    return claim->answered && claim->packets == 0;
}

static bool has_turned_up(const struct nb_stream *stream, const struct nb_claim *claim)
{
    const struct nb_buffer *buffer;

    switch (claim->charge.absent) {
    case NB_ABSENT_GO:
        buffer = nb_buffer_find(&stream->buffers, (uint32_t)claim->charge.absent_number);
        return buffer != NULL && buffer->go_seq != 0;
    case NB_ABSENT_PACKETS:
        buffer = nb_buffer_find(&stream->buffers, (uint32_t)claim->charge.absent_number);
        return buffer != NULL && !buffer->retired && sound_packets(buffer) != claim->known;
    case NB_ABSENT_ACK:
        return stream->acked >= claim->charge.absent_number;
    case NB_ABSENT_LAST:
        return stream->last.known;
    case NB_ABSENT_OK:
        return stream->accepted != (uint32_t)claim->charge.absent_number;
    default:
        return false; /* nb_turned_up */
    }
}

static void note_turned_up(const struct nb_event *event, struct nb_claim *claim)
{
    if (claim->turned_up == 0) {
        claim->turned_up = event->frame;
    }
}

void nb_turned_up(const struct nb_event *event, int64_t seq)
{
    struct claims *claims = claims_of(event);

    for (unsigned i = 0; i < claims->count; i++) {
        struct nb_claim *claim = &claims->waiting[i];
        if (claim->charge.absent == NB_ABSENT_MESSAGE && claim->charge.absent_number == seq) {
            note_turned_up(event, claim);
        }
    }
}

void nb_buffer_leaves(const struct nb_event *event, const struct nb_buffer *buffer)
{
    struct claims *claims = claims_of(event);

    for (unsigned i = 0; i < claims->count; i++) {
        struct nb_claim *claim = &claims->waiting[i];
        if (claim->charge.absent_number == (int64_t)buffer->life->number && has_turned_up(event->stream, claim)) {
            note_turned_up(event, claim);
        }
    }
}

static bool is_proof(const struct nb_stream *stream, const struct nb_claim *claim)
{
    if (excuses_nothing(stream, &claim->charge)) {
        return true;
    }
    return claim->charge.rule == NB_RULE_CKSUM_BAD_HEADER ? lacks_nothing(stream, claim->watched)
                                                          : nb_is_unbroken(stream, claim->watched);
}

static void drop_claim(struct claims *claims, unsigned at)
{
    claims->count--;
    memmove(&claims->waiting[at], &claims->waiting[at + 1], (claims->count - at) * sizeof(claims->waiting[0]));
}

void nb_settle(const struct nb_event *event)
{
    struct claims *claims = claims_of(event);

    for (unsigned i = 0; i < claims->count;) {
        bool dead;
        if (has_turned_up(event->stream, &claims->waiting[i])) {
            note_turned_up(event, &claims->waiting[i]);
        }
        const bool ripe = is_ripe(event, &claims->waiting[i], &dead);
        const struct nb_claim claim = claims->waiting[i];

        if (ripe && claim.waited_for > 0 && !excuses_nothing(event->stream, &claim.charge) &&
            !has_quiet_history(event->stream, claim.watched, claim.waited_for)) {
            i++; /* the flow is too young to decide: more of its packets will */
            continue;
        }

        const unsigned forgiven = claim.charge.forgiven | doubts_not_here(event->stream, claim.charge.offender);
        if (ripe && doubt_of(event, forgiven) == NULL && (claim.waited_for == 0 || is_proof(event->stream, &claim))) {
            report(event, &claim.charge, offender_of(event, claim.charge.offender), NB_VIOLATION, claim.text);
            if (claim.suspicion != NULL) {
                claim.suspicion->proof_frame = event->frame;
            }
        }
        if (ripe || dead) {
            drop_claim(claims, i);
        } else {
            i++;
        }
    }
}

void nb_remark(const struct nb_event *event, enum nb_event_kind kind, const char *format, ...)
{
    static const char *const ids[] = {
#define NB_EVENT_ID(name, id, slug, severity, text) id,
        NB_EVENT_LIST(NB_EVENT_ID)
#undef NB_EVENT_ID
    };
    va_list arguments;

    if (!nb_rule_holds(event->stream, nb_rule_of(ids[kind]))) {
        return;
    }
    va_start(arguments, format);
    const struct nb_finding finding = {
        .rule = (uint16_t)kind, .verdict = NB_EVENT, .text = nb_file_vprintf(format, arguments)};
    va_end(arguments);
    nb_add_finding(event->record, &finding);
}
