/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ORDER-02 (RFC 998 5.2): once the sender knows a RESEND for buffer A, the
 * retransmissions of A go out before any further packet of a later buffer.
 *
 * High-seq shows what the sender knew when it emitted a packet. So a packet X
 * of a later buffer whose high-seq covers the RESEND, followed by the packet Y
 * that the RESEND requested, is an inversion that needs no clock. It takes
 * proof that X was emitted before Y, and that Y answers no newer RESEND. */
#include "rules/order.h"

#include "wireshark/memory.h"

#include "decode/netblt.h"
#include "rules/judge.h"

/* RESENDs without a retransmission that are followed up at a time. A receiver has one per buffer. */
#define OPEN_REQUESTS 64
/* How far the identifications of a flow were, and how many of its packets were captured in order. */
struct flow_count {
    uint64_t newest;
    uint32_t captured;
    uint32_t damaged;
};

/* A RESEND with packets that have been sent before and not again since. */
struct request {
    uint32_t buffer;
    int64_t seq;
    uint32_t frame;
    uint16_t *waiting; /* packet numbers */
    unsigned count;
    unsigned room;
    bool passed;          /* a packet of a later buffer was captured that knew this RESEND
                           */
    bool passed_in_order; /* passed_number is valid */
    uint32_t passed_frame;
    uint64_t passed_number;
    bool passed_in_view;  /* no packet of the sender was lost before the capture from the RESEND to passed_frame */
    struct flow_count at; /* of the sender, when the RESEND was captured */
    bool reported;
};

struct requests {
    unsigned count;
    struct request *open[OPEN_REQUESTS];
};

static size_t place;

void nb_order_register(void)
{
    place = nb_stream_reserve(sizeof(struct requests *));
}

/* NULL before the first RESEND. */
static struct requests **requests_of(const struct nb_event *event)
{
    return (struct requests **)nb_stream_reserved(event->stream, place);
}

static void drop_request(struct requests *state, unsigned at)
{
    struct request *request = state->open[at];

    nb_file_free(request->waiting, request->room * sizeof(uint16_t));
    nb_file_free(request, sizeof(*request));
    state->count--;
    memmove(&state->open[at], &state->open[at + 1], (state->count - at) * sizeof(state->open[0]));
}

/* Removes every `packet` from the request; false when it was not in it. */
static bool take_packet(struct request *request, uint16_t packet)
{
    unsigned kept = 0;
    const unsigned before = request->count;

    for (unsigned i = 0; i < before; i++) {
        if (request->waiting[i] != packet) {
            request->waiting[kept++] = request->waiting[i];
        }
    }
    request->count = kept;
    return kept < before;
}

static struct flow_count count_flow(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_emission *flow = &stream->end[stream->sender < 0 ? 0 : stream->sender].flow;

    return (struct flow_count){flow->newest, flow->forward, flow->damaged};
}

/* From the RESEND to this packet of the sender the capture lacks none that the sender emitted. */
static bool lacks_nothing_since(const struct nb_event *event, const struct request *request)
{
    const struct nb_stream *stream = event->stream;
    const struct flow_count now = count_flow(event);

    if (event->at_sender || nb_sees_all_of(stream, event->end)) {
        return true;
    }
    return nb_emission_counts(&stream->end[event->end].flow, NB_EVIDENCE_BITS) && now.damaged == request->at.damaged &&
           now.newest - request->at.newest <= now.captured - request->at.captured;
}

/* `proven`: only a packet that escaped the capture could be the retransmission, and none did. Where packets of the
 * sender were lost before the capture, the retransmission may be one of them: nothing is reported. */
static void report_unseen_repair(const struct nb_event *event, struct request *request, bool proven)
{
    if (!request->passed || request->reported || !request->passed_in_view || nb_may_repeat_unasked(event->stream)) {
        return;
    }
    const struct nb_charge charge = {.rule = NB_RULE_BUFFER_ORDER,
                                     .offender = event->stream->sender,
                                     .unseen = true,
                                     .excuse = proven ? NULL : "the retransmission may have escaped the capture",
                                     .offending_frame = request->passed_frame,
                                     .request_frame = request->frame};

    nb_blame(event, &charge,
             "no retransmission of buffer %u seen since the RESEND in frame %u, though "
             "frame %u of a later buffer acknowledged it",
             request->buffer, request->frame, request->passed_frame);
    request->reported = true;
}

/* One bit per packet number, so that long lists are compared in one walk. */
static void mark_named(uint8_t *named, const struct nb_event *event, const struct nb_message *message)
{
    for (unsigned i = 0; i < message->count; i++) {
        const uint16_t packet = nb_resend_entry(event->packet, message, i);
        named[packet / 8] |= (uint8_t)(1 << packet % 8);
    }
}

/* Removes the named packets from the request; false when none was in it. */
static bool take_named(struct request *request, const uint8_t *named)
{
    unsigned kept = 0;
    const unsigned before = request->count;

    for (unsigned i = 0; i < before; i++) {
        const uint16_t packet = request->waiting[i];
        if ((named[packet / 8] & 1 << packet % 8) == 0) {
            request->waiting[kept++] = packet;
        }
    }
    request->count = kept;
    return kept < before;
}

/* A packet that is requested once more was not retransmitted for every request so far: all of its copies were captured,
 * and they are no more than the requests. */
static bool is_unserved(const struct nb_event *event, const struct request *request, const uint8_t *named)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_buffer *buffer = nb_buffer_find(&stream->buffers, request->buffer);

    if (buffer == NULL || stream->sender < 0 || !nb_is_unbroken(stream, stream->sender)) {
        return false;
    }
    for (unsigned i = 0; i < request->count; i++) {
        const uint16_t packet = request->waiting[i];
        const struct nb_part *part = nb_buffer_known_part(buffer, packet);
        if (part != NULL && (named[packet / 8] & 1 << packet % 8) != 0 && part->copies > 0 &&
            part->copies <= nb_buffer_requests(buffer, packet)) {
            return true;
        }
    }
    return false;
}

/* The newer RESEND takes over what it names: from now on a retransmission may be its answer. */
static void supersede(const struct nb_event *event, const struct nb_message *message)
{
    enum { NAMED_BYTES = (UINT16_MAX + 1) / 8 };
    struct requests *state = *requests_of(event);
    uint8_t *named = NULL;

    for (unsigned i = 0; i < state->count;) {
        struct request *request = state->open[i];
        if (request->buffer == message->buffer) {
            if (named == NULL) {
                named = (uint8_t *)wmem_alloc0(NULL, NAMED_BYTES);
                mark_named(named, event, message);
            }
            const bool proven = request->passed && is_unserved(event, request, named);
            if (take_named(request, named)) {
                report_unseen_repair(event, request, proven);
            }
        }
        if (request->count == 0) {
            drop_request(state, i);
        } else {
            i++;
        }
    }
    wmem_free(NULL, named);
}

/* Packets not sent for the first time yet are no retransmissions. In-order sending puts everything up to the highest
 * number seen in the past; with the LDATA seen, everything up to that. Where all that the sender emits is captured, a
 * packet that was not captured does not exist: packet 0, for a sender that counts from 1 (AMB-10). */
static bool sent_before(const struct nb_event *event, const struct nb_buffer *buffer, uint16_t packet)
{
    if (buffer == NULL || buffer->ok_seq != 0 || packet > (buffer->last >= 0 ? buffer->last : buffer->life->highest)) {
        return false;
    }
    const struct nb_part *part = nb_buffer_known_part(buffer, packet);
    return !nb_sees_all_of(event->stream, event->stream->sender) || part == NULL || part->copies > 0;
}

static void open_request(const struct nb_event *event, const struct nb_message *message, int64_t seq)
{
    struct requests *state = *requests_of(event);
    const struct nb_buffer *buffer = nb_buffer_find(&event->stream->buffers, message->buffer);
    unsigned count = 0;

    supersede(event, message);
    for (unsigned i = 0; i < message->count; i++) {
        count += sent_before(event, buffer, nb_resend_entry(event->packet, message, i));
    }
    if (count == 0) {
        return;
    }
    if (state->count == OPEN_REQUESTS) {
        drop_request(state, 0);
    }
    struct request *request = (struct request *)nb_file_new0(sizeof(struct request));
    request->buffer = message->buffer;
    request->seq = seq;
    request->frame = event->frame;
    request->at = count_flow(event);
    request->waiting = (uint16_t *)nb_file_new(count * sizeof(uint16_t));
    request->room = count;
    for (unsigned i = 0; i < message->count; i++) {
        const uint16_t packet = nb_resend_entry(event->packet, message, i);
        if (sent_before(event, buffer, packet)) {
            request->waiting[request->count++] = packet;
        }
    }
    state->open[state->count++] = request;
}

static void accept_buffer(const struct nb_event *event, uint32_t number)
{
    struct requests *state = *requests_of(event);

    for (unsigned i = 0; i < state->count;) {
        if (state->open[i]->buffer == number) {
            report_unseen_repair(event, state->open[i], false);
            drop_request(state, i);
        } else {
            i++;
        }
    }
}

void nb_order_message(const struct nb_event *event, const struct nb_message *message, int64_t seq)
{
    struct requests **state = requests_of(event);

    if (message->type == NB_OK && *state != NULL) {
        accept_buffer(event, message->buffer);
    } else if (message->type == NB_RESEND) {
        if (*state == NULL) {
            *state = (struct requests *)nb_file_new0(sizeof(struct requests));
        }
        open_request(event, message, seq);
    }
}

static void report_inversion(const struct nb_event *event, struct request *request, const char *excuse)
{
    const struct nb_charge charge = {.rule = NB_RULE_BUFFER_ORDER,
                                     .offender = event->end,
                                     .excuse = excuse,
                                     .offending_frame = request->passed_frame,
                                     .request_frame = request->frame};

    nb_blame(event, &charge,
             "packet %u of buffer %u, RESEND in frame %u, sent after "
             "later-buffer frame %u, which acknowledged it",
             event->packet->packet, request->buffer, request->frame, request->passed_frame);
    request->reported = true;
}

/* It acknowledges no newer RESEND, but may have acted on one whose predecessor is still missing (AMB-36). That happens
 * to queues in several CONTROLs only: each other one holds all that is not acknowledged. The retransmission that was
 * the answer to the older one is missing then. */
static bool may_answer_a_newer_one(const struct nb_event *event)
{
    return event->stream->queue.in_parts && !event->stream->end[event->end].flow.unbroken;
}

static void judge_repair(const struct nb_event *event, struct request *request, int64_t ack)
{
    const bool numbered = event->emitted.arrival != NB_NO_ORDER && request->passed_in_order;
    const bool counted = numbered && nb_is_apart(event, request->passed_frame) &&
                         nb_emission_counts(&event->stream->end[event->end].flow, NB_EVIDENCE_BITS);

    if (!request->passed) {
        nb_keep(event, NB_RULE_BUFFER_ORDER);
        return;
    }
    if (request->reported || ack < request->seq || nb_may_repeat_unasked(event->stream)) {
        return;
    }
    if (!event->at_sender && numbered && event->emitted.number < request->passed_number) {
        return; /* overtaken on the way, proven or not */
    }
    report_inversion(event, request,
                     !event->at_sender && !counted ? "the order of emission is not proven"
                     : may_answer_a_newer_one(event)
                         ? "an earlier retransmission, and the CONTROL with a repeated RESEND, "
                           "may have escaped the capture"
                         : NULL);
}

static void take_repair(const struct nb_event *event, int64_t ack)
{
    struct requests *state = *requests_of(event);

    for (unsigned i = 0; i < state->count;) {
        struct request *request = state->open[i];
        if (request->buffer == event->packet->buffer && take_packet(request, event->packet->packet)) {
            judge_repair(event, request, ack);
        }
        if (request->count == 0) {
            drop_request(state, i);
        } else {
            i++;
        }
    }
}

/* This packet of a later buffer goes past every request that the sender knew. The earliest emitted one is kept. */
static void pass_requests(const struct nb_event *event, int64_t ack)
{
    struct requests *state = *requests_of(event);
    const bool in_order = event->emitted.arrival != NB_NO_ORDER;

    for (unsigned i = 0; i < state->count; i++) {
        struct request *request = state->open[i];
        if (request->seq > ack ||
            !nb_buffer_is_after(&event->stream->buffers, event->packet->buffer, request->buffer)) {
            continue;
        }
        if (!request->passed ||
            (in_order && request->passed_in_order && event->emitted.number < request->passed_number)) {
            request->passed_in_view =
                (request->passed && request->passed_in_view) || lacks_nothing_since(event, request);
            request->passed = true;
            request->passed_in_order = in_order;
            request->passed_frame = event->frame;
            request->passed_number = event->emitted.number;
        }
    }
}

void nb_order_data(const struct nb_event *event, int64_t ack)
{
    if (*requests_of(event) != NULL) {
        take_repair(event, ack);
        pass_requests(event, ack);
    }
}
