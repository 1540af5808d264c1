/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Setup (RFC 998 section 4 and 5.1): OPEN and RESPONSE against each other and against their copies. One packet against
 * another of the same connection needs neither order nor a complete capture. */
#include "rules/opening.h"

#include "rules/judge.h"
#include "rules/rate.h"

struct opening {
    uint32_t openings[2];    /* OPENs or RESPONSEs, by end */
    unsigned strays;         /* RESPONSEs with another unique ID while this one was opening, */
    uint32_t stray_openings; /* and its OPENs up to the newest of them */
    unsigned unopened;       /* packets of the transfer without the RESPONSE */
};

static size_t place;

void nb_opening_register(void)
{
    place = nb_stream_reserve(sizeof(struct opening));
}

static struct opening *opening_of(const struct nb_stream *stream)
{
    return (struct opening *)nb_stream_reserved(stream, place);
}

/* NULL when all that the two ends agree upon is equal, else the name of the first field that differs. */
static const char *difference(const struct nb_terms *a, const struct nb_terms *b)
{
    return a->buffer_size != b->buffer_size             ? "buffer size"
           : a->data_packet_size != b->data_packet_size ? "data packet size"
           : a->burst_size != b->burst_size             ? "burst size"
           : a->burst_interval != b->burst_interval     ? "burst interval"
           : a->death_timer != b->death_timer           ? "death timer"
           : a->flags != b->flags                       ? "flags"
           : a->max_buffers != b->max_buffers           ? "number of outstanding buffers"
                                                        : NULL;
}

/* RFC 998 leaves the transfer size and the string to the clients (5.1, 8), and does not require the same in each copy.
 */
static void note_client_fields(const struct nb_event *event, const struct nb_terms *first, const struct nb_terms *again)
{
    const char *what = first->transfer_size != again->transfer_size ? "transfer size"
                       : first->text_hash != again->text_hash       ? "client string"
                                                                    : NULL;

    if (what != NULL) {
        nb_remark(event, NB_NOTES_CLIENT_FIELDS, "%s with another %s than in frame %u",
                  nb_type_name(event->packet->type), what, first->frame);
    }
}

/* NEG-01..05 */
static void judge_term(const struct nb_event *event, enum nb_rule rule, bool looser, const char *name,
                       uint32_t proposed, uint32_t answered)
{
    const struct nb_charge charge = {
        .rule = rule, .offender = event->end, .request_frame = nb_terms_by(event->stream, 1 - event->end)->frame};

    if (looser) {
        nb_blame(event, &charge, "RESPONSE makes the %s %u, the OPEN proposed %u", name, answered, proposed);
    } else {
        nb_keep(event, rule);
    }
}

/* NEG-07, AMB-24 */
static void judge_flags(const struct nb_event *event, const struct nb_terms *proposed, const struct nb_terms *answered)
{
    struct nb_charge charge = {.rule = NB_RULE_NEG_FLAGS, .offender = event->end, .request_frame = proposed->frame};
    const uint16_t changed = proposed->flags ^ answered->flags;

    if (changed & NB_OPEN_WRITE) {
        nb_blame(event, &charge, "RESPONSE turns the mode into %s",
                 nb_mode_name(event->stream->dialect, answered->flags));
    } else if (changed & proposed->flags & NB_OPEN_DATA_CHECKSUM) {
        charge.excuse = "RFC 998 leaves the direction open (AMB-24)";
        nb_blame(event, &charge, "RESPONSE drops the data checksums that the OPEN requested");
    } else {
        nb_keep(event, NB_RULE_NEG_FLAGS);
    }
}

static void judge_negotiation(const struct nb_event *event, const struct nb_terms *proposed,
                              const struct nb_terms *answered)
{
    struct nb_charge unusable = {
        .rule = NB_RULE_NEG_UNUSABLE, .offender = event->end, .request_frame = proposed->frame};
    const bool zero_proposed =
        proposed->buffer_size == 0 || proposed->data_packet_size == 0 || proposed->max_buffers == 0;

    if (answered->buffer_size == 0 || answered->data_packet_size == 0 || answered->max_buffers == 0) {
        nb_blame(event, &unusable, "RESPONSE accepts a %s of 0",
                 answered->buffer_size == 0        ? "buffer size"
                 : answered->data_packet_size == 0 ? "data packet size"
                                                   : "number of outstanding buffers");
    } else if (zero_proposed) {
        unusable.excuse = "it may be meant as a correction of the proposal";
        nb_blame(event, &unusable, "RESPONSE answers an OPEN that proposes nothing usable");
        return;
    } else {
        nb_keep(event, NB_RULE_NEG_UNUSABLE);
    }
    judge_term(event, NB_RULE_NEG_BUFFER_SIZE, answered->buffer_size > proposed->buffer_size, "buffer size",
               proposed->buffer_size, answered->buffer_size);
    judge_term(event, NB_RULE_NEG_PACKET_SIZE, answered->data_packet_size > proposed->data_packet_size,
               "data packet size", proposed->data_packet_size, answered->data_packet_size);
    judge_term(event, NB_RULE_NEG_BURST_SIZE, answered->burst_size > proposed->burst_size && proposed->burst_size != 0,
               "burst size", proposed->burst_size, answered->burst_size);
    judge_term(event, NB_RULE_NEG_BURST_INTERVAL, answered->burst_interval < proposed->burst_interval, "burst interval",
               proposed->burst_interval, answered->burst_interval);
    judge_term(event, NB_RULE_NEG_MAX_BUFFERS, answered->max_buffers > proposed->max_buffers,
               "number of outstanding buffers", proposed->max_buffers, answered->max_buffers);
    judge_flags(event, proposed, answered);
}

/* OPEN-03, 04, 05, 06: another OPEN with this unique ID. */
static void judge_open_again(const struct nb_event *event, const struct nb_terms *first, const struct nb_terms *again)
{
    enum { OPENS_WITHOUT_END = 64 };
    const struct nb_stream *stream = event->stream;
    const struct nb_end *side = &stream->end[event->end];
    const char *what = difference(first, again);
    struct nb_charge charge = {.rule = NB_RULE_OPEN_SAME, .offender = event->end, .request_frame = first->frame};

    note_client_fields(event, first, again);
    if (what != NULL && !stream->response_seen) {
        charge.excuse = "the RESPONSE is still to come";
        nb_await(event, &charge, event->end, 0, "the OPEN has another %s than in frame %u", what, first->frame);
        charge.excuse = NULL;
    } else if (what != NULL) {
        nb_blame(event, &charge, "the OPEN has another %s than in frame %u", what, first->frame);
    } else {
        nb_keep(event, NB_RULE_OPEN_SAME);
    }
    charge.rule = NB_RULE_OPEN_STOPS;
    charge.request_frame = side->transfer.frame;
    if (nb_proven_after(event, &side->transfer)) {
        nb_blame(event, &charge, "OPEN after frame %u, in which this end takes part in the transfer",
                 side->transfer.frame);
    } else if (stream->response_seen) {
        nb_remark(event, NB_NOTES_OPEN_LATE, "OPEN after the RESPONSE, which may have been lost");
    } else if (stream->closed) {
        nb_remark(event, NB_NOTES_OPEN_REFUSED, "OPEN after it was declined, which may have been lost");
    } else {
        nb_remark(event, NB_NOTES_OPEN_AGAIN, "OPEN is repeated, first in frame %u", first->frame);
    }
    charge.rule = NB_RULE_ABORT_OPENING;
    charge.request_frame = stream->end[1 - event->end].abort.frame;
    charge.excuse = "the ABORT may have been lost beyond the capture point";
    if (charge.request_frame != 0 && !stream->response_seen) {
        nb_blame(event, &charge, "OPEN again, though frame %u aborted the attempt", charge.request_frame);
    }
    charge.rule = NB_RULE_OPEN_RETRY;
    charge.excuse = "the limit is not known";
    if (opening_of(stream)->openings[event->end] == OPENS_WITHOUT_END) {
        nb_blame(event, &charge, "%d OPENs with one unique ID", OPENS_WITHOUT_END);
    } else {
        nb_keep(event, NB_RULE_OPEN_RETRY);
    }
}

/* OPEN-09: this end has taken part in the connection before a moment ago, and not all of its buffers have their OK. */
static bool is_alive(const struct nb_stream *stream, int end, double now)
{
    const double without_timer_s = 10;
    const struct nb_end *side = &stream->end[end];
    const double timer_s =
        nb_terms_by(stream, end)->death_timer == 0 ? without_timer_s : nb_terms_by(stream, end)->death_timer;

    return stream->open_seen && stream->response_seen && !stream->closed && side->transfer.frame != 0 &&
           now - side->last_when < timer_s && !(stream->last.known && stream->last.ok_seq != 0);
}

/* OPEN-13, OPEN-14: a request for a new connection. */
static void judge_request(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_stream *same = stream->same_uid;
    struct nb_charge charge = {.rule = NB_RULE_OPEN_PORT,
                               .offender = event->end,
                               .excuse = "the connection before may have ended, and its end escaped the capture"};

    if (stream->older != NULL && is_alive(stream->older, event->end, event->now)) {
        charge.request_frame = nb_terms_by(stream->older, event->end)->frame;
        nb_blame(event, &charge, "OPEN for a second connection on the ports of one that is open");
    } else if (stream->older != NULL) {
        nb_keep(event, NB_RULE_OPEN_PORT);
    }
    charge.rule = NB_RULE_OPEN_UNIQUE;
    if (same != NULL) {
        charge.request_frame = nb_terms_by(same, same->active == 1)->frame;
        charge.excuse = same == stream->older ? "after a clean end the same ID does no harm (AMB-66)"
                                              : "RFC 998 does not specify among which connections it is unique";
        nb_blame(event, &charge, "OPEN with unique ID 0x%08x, which frame %u used for connection %u", stream->uid,
                 charge.request_frame, same->index);
    } else if (stream->older != NULL) {
        nb_keep(event, NB_RULE_OPEN_UNIQUE);
    }
}

static void take_open(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;

    opening_of(stream)->openings[event->end]++;
    if (stream->active != event->end) {
        return; /* both ends open at once: AMB-27 */
    }
    if (event->opened->before.frame == 0) {
        judge_request(event);
        if (stream->follows_another) {
            nb_keep(event, NB_RULE_DEMUX_REUSE);
        }
    } else {
        judge_open_again(event, &event->opened->before, &event->opened->now);
    }
}

/* They differ in nothing but the pair that each OK may renegotiate. */
static bool is_only_pair(const struct nb_terms *first, const struct nb_terms *again)
{
    struct nb_terms same = *again;

    same.burst_size = first->burst_size;
    same.burst_interval = first->burst_interval;
    return difference(first, &same) == NULL;
}

/* OPEN-07 */
static void judge_response_again(const struct nb_event *event, const struct nb_terms *first,
                                 const struct nb_terms *again)
{
    const struct nb_stream *stream = event->stream;
    const char *what = difference(first, again);
    /* An OK may have escaped the capture. */
    const bool renegotiable = stream->queue.oks > 0 || stream->end[event->end].transfer.frame != 0;
    const struct nb_charge charge = {
        .rule = NB_RULE_OPEN_AGAIN,
        .offender = event->end,
        .request_frame = first->frame,
        .excuse = renegotiable && is_only_pair(first, again) ? "an OK may have renegotiated the pair (AMB-63)" : NULL};

    note_client_fields(event, first, again);
    if (what != NULL) {
        nb_blame(event, &charge, "the RESPONSE has another %s than in frame %u", what, first->frame);
    } else {
        nb_keep(event, NB_RULE_OPEN_AGAIN);
        nb_keep(event, NB_RULE_OPEN_RESPONSE_AGAIN);
        nb_remark(event, NB_NOTES_RESPONSE_AGAIN, "RESPONSE is repeated, first in frame %u", first->frame);
    }
}

/* The connection that waits for its RESPONSE on these ports; NULL: none. Other strays may have come between. */
static const struct nb_stream *find_waiting(const struct nb_event *event)
{
    enum { STRAYS_AT_MOST = 64 };
    const struct nb_stream *asked = event->stream->older;

    for (int i = 0; i < STRAYS_AT_MOST && asked != NULL && !asked->open_seen; i++) {
        asked = asked->older;
    }
    return asked != NULL && asked->open_seen && !asked->response_seen && asked->active == 1 - event->end ? asked : NULL;
}

/* OPEN-02: a RESPONSE begins a connection of its own when no OPEN had this unique ID. One may answer an OPEN that
 * was not captured; when each OPEN gets one the emitter does not echo the ID. */
static void judge_stray_response(const struct nb_event *event)
{
    enum { STRAYS_TO_PROVE = 3 };
    const struct nb_stream *asked = find_waiting(event);
    struct nb_charge charge = {.rule = NB_RULE_OPEN_UID,
                               .offender = event->end,
                               .excuse = "it may answer an OPEN that was not captured",
                               .request_frame = asked == NULL ? 0 : nb_terms_by(asked, 1 - event->end)->frame};

    if (asked != NULL) {
        struct opening *opening = opening_of(asked);
        const uint32_t openings = opening->openings[1 - event->end];

        if (openings > opening->stray_openings) {
            opening->strays++; /* each of them answers an OPEN of its own */
        }
        opening->stray_openings = openings;
        if (opening->strays >= STRAYS_TO_PROVE && openings >= STRAYS_TO_PROVE) {
            charge.excuse = NULL;
            charge.alone = true;
        }
        nb_blame(event, &charge, "RESPONSE with unique ID 0x%08x, the OPEN has 0x%08x", event->stream->uid, asked->uid);
    }
}

/* OPEN-09 */
static void judge_second_connection(const struct nb_event *event)
{
    const struct nb_stream *older = event->stream->older;
    const struct nb_charge charge = {.rule = NB_RULE_OPEN_FOREIGN,
                                     .offender = event->end,
                                     .request_frame = nb_terms_by(event->stream, 1 - event->end)->frame,
                                     .excuse = "the connection may have ended, and its end escaped the capture"};

    if (older != NULL && is_alive(older, event->end, event->now)) {
        nb_blame(event, &charge, "RESPONSE, not ABORT, to an OPEN with another unique ID on the ports of a connection");
    }
}

/* OPEN-01, OPEN-10: who takes part in the transfer has sent, or got, the RESPONSE to this OPEN. */
void nb_opening_transfer(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_stream *asked = stream->older;
    struct nb_charge charge = {.offender = event->end, .excuse = "the RESPONSE may have escaped the capture"};

    if (stream->open_seen && !stream->response_seen && stream->active == event->end &&
        stream->end[1 - event->end].transfer.frame != 0 && ++opening_of(stream)->unopened == NB_PACKETS_TO_PROVE) {
        charge.rule = NB_RULE_OPEN_HANDSHAKE;
        charge.offender = 1 - event->end;
        charge.request_frame = nb_terms_by(stream, event->end)->frame;
        nb_blame(event, &charge, "both ends take part in the transfer, and no RESPONSE to the OPEN was captured");
    }
    if (!stream->open_seen && stream->response_seen && asked != NULL && asked->open_seen && !asked->response_seen &&
        asked->active == event->end && nb_terms_by(stream, 1 - event->end)->frame != 0 &&
        opening_of(stream)->unopened++ == 0) {
        charge.rule = NB_RULE_OPEN_STALE;
        charge.request_frame = nb_terms_by(stream, 1 - event->end)->frame;
        nb_blame(event, &charge,
                 "takes part in the transfer, and only a RESPONSE with unique ID 0x%08x was captured, "
                 "the OPEN has 0x%08x",
                 stream->uid, asked->uid);
    }
}

/* OPEN-01: the passive end answers. Where both ends open at once with one ID (AMB-27), each of them does. */
static void judge_own_answer(const struct nb_event *event)
{
    const struct nb_stream *stream = event->stream;
    const struct nb_charge charge = {.rule = NB_RULE_OPEN_HANDSHAKE,
                                     .offender = event->end,
                                     .request_frame = nb_terms_by(stream, event->end)->frame,
                                     .excuse = "it may answer an OPEN of the peer that escaped the capture"};

    if (!stream->end[1 - event->end].opened) {
        nb_blame(event, &charge, "RESPONSE from the end that opened the connection");
    }
}

static void take_response(const struct nb_event *event)
{
    struct nb_stream *stream = event->stream;
    const struct nb_terms *proposed = nb_terms_by(stream, 1 - event->end);

    opening_of(stream)->openings[event->end]++;
    if (stream->active == event->end) {
        judge_own_answer(event);
        return;
    }
    if (proposed->frame == 0) {
        judge_stray_response(event);
        return;
    }
    if (event->opened->before.frame != 0) {
        judge_response_again(event, &event->opened->before, &event->opened->now);
        return;
    }
    judge_second_connection(event);
    nb_keep(event, NB_RULE_OPEN_HANDSHAKE);
    nb_keep(event, NB_RULE_OPEN_UID);
    nb_keep(event, NB_RULE_DEMUX_KEY);
    judge_negotiation(event, proposed, &event->opened->now);
    stream->agreed = (struct nb_pace){event->opened->now.burst_size, event->opened->now.burst_interval};
    nb_rate_offer(event, stream->agreed);
}

void nb_opening_packet(const struct nb_event *event)
{
    if (event->packet->type == NB_OPEN) {
        take_open(event);
    } else {
        take_response(event);
    }
}
