/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of RESENDs, and whether packets are retransmitted without a request
 * for (RFC 998 5.2, 5.2.3): RESEND-01, 02, 05, 08, DATA-13, CTRL-09, and with
 * them whether a packet out of place may be a retransmission: ORDER-01, ORDER-03.
 *
 * A copy too many is suspected at once, but the RESEND that explains it may
 * have escaped the capture. The judgement waits until the OK of the buffer is
 * acknowledged: every RESEND for it has a lower number, so that each was
 * captured, or the capture is known to have a hole (CTRL-06). This holds on
 * lossy paths and needs no memory afterwards. */
#include "rules/requests.h"

#include "decode/netblt.h"
#include "rules/ends.h"
#include "rules/judge.h"
#include "rules/sizes.h"

/* One bit per packet number. */
enum { NAMED_BYTES = (UINT16_MAX + 1) / 8, STACK_ENTRIES = 64 };

/* RESEND-01: no number twice. True when there is one. */
static bool names_twice(const struct nb_event *event, const struct nb_message *message)
{
    uint8_t *named;
    bool twice = false;

    if (message->count < 2) {
        return false;
    }
    bool ascending = true;
    for (unsigned i = 1; i < message->count && ascending; i++) {
        ascending = nb_resend_entry(event->packet, message, i) > nb_resend_entry(event->packet, message, i - 1);
    }
    if (ascending) {
        return false;
    }
    named = (uint8_t *)wmem_alloc0(NULL, NAMED_BYTES);
    for (unsigned i = 0; i < message->count; i++) {
        const uint16_t packet = nb_resend_entry(event->packet, message, i);
        twice = twice || (named[packet / 8] & 1 << packet % 8) != 0;
        named[packet / 8] |= (uint8_t)(1 << packet % 8);
    }
    wmem_free(NULL, named);
    return twice;
}

/* RESEND-05: an LDATA that never came must be requested; for the length of a short last buffer see AMB-32. */
static void judge_ldata(const struct nb_event *event, const struct nb_message *message, const struct nb_buffer *buffer)
{
    const uint32_t full = nb_sizes_full_count(event->stream);
    int highest = -1;

    for (unsigned i = 0; i < message->count; i++) {
        highest = MAX(highest, (int)nb_resend_entry(event->packet, message, i));
    }
    if (buffer->last >= 0) {
        if (highest > buffer->last) {
            nb_remark(event, NB_NOTES_OUT_OF_RANGE, "RESEND for buffer %u names packet %d, its LDATA is packet %d",
                      message->buffer, highest, buffer->last);
        }
        return;
    }
    if (full == 0 || buffer->life->highest < 0) {
        return;
    }
    if (highest <= buffer->life->highest && (uint32_t)buffer->life->highest + 1 < full && !buffer->last_flagged) {
        const struct nb_charge charge = {.rule = NB_RULE_RESEND_LDATA,
                                         .offender = event->end,
                                         .excuse = "the next one may name the rest (AMB-32), or the LDATA "
                                                   "may have escaped the capture"};
        nb_blame(event, &charge, "RESEND for buffer %u does not name the LDATA, which never arrived", message->buffer);
    } else if (highest > buffer->life->highest) {
        nb_keep(event, NB_RULE_RESEND_LDATA);
    }
}

/* RESEND-01. From a sender that numbers packets beyond the buffer is requested what it left out below (DATA-05). */
static void judge_list(const struct nb_event *event, const struct nb_message *message, const struct nb_buffer *buffer)
{
    const uint32_t full = nb_sizes_full_count(event->stream);
    struct nb_charge charge = {.rule = NB_RULE_RESEND_LIST, .offender = event->end};

    if (message->count == 0) {
        charge.excuse = "it does no harm";
        nb_blame(event, &charge, "RESEND for buffer %u names no packet", message->buffer);
        return;
    }
    if (names_twice(event, message)) {
        nb_blame(event, &charge, "RESEND for buffer %u names a packet twice", message->buffer);
        return;
    }
    for (unsigned i = 0; i < message->count && full > 0; i++) {
        const uint16_t entry = nb_resend_entry(event->packet, message, i);
        if (entry > full && (int)entry > buffer->life->highest) { /* AMB-10: the base may be 1 */
            nb_blame(event, &charge, "RESEND for buffer %u names packet %u, a buffer has %u packets", message->buffer,
                     entry, full);
            return;
        }
    }
    nb_keep(event, NB_RULE_RESEND_LIST);
}

/* RESEND-01: what passed the capture at the receiver's side has arrived there. / */
static bool asks_for_seen(const struct nb_event *event, const struct nb_message *message,
                          const struct nb_buffer *buffer, uint16_t *which)
{
    for (unsigned i = 0; i < message->count; i++) {
        const struct nb_part *part = nb_buffer_known_part(buffer, nb_resend_entry(event->packet, message, i));
        if (part != NULL && (part->flags & NB_PART_GOOD) && part->asked == 0) {
            *which = nb_resend_entry(event->packet, message, i);
            return true;
        }
    }
    return false;
}

static void compare_with_seen(const struct nb_event *event, const struct nb_message *message,
                              const struct nb_buffer *buffer)
{
    uint16_t which;

    if (!event->at_receiver || !asks_for_seen(event, message, buffer, &which)) {
        return;
    }
    const struct nb_charge charge = {.rule = NB_RULE_RESEND_LIST,
                                     .offender = event->end,
                                     .excuse = "it may have been lost beyond the capture point"};
    nb_blame(event, &charge, "RESEND for buffer %u names packet %u, which passed the capture", message->buffer, which);
}

void nb_requests_ask(const struct nb_event *event, const struct nb_message *message, struct nb_buffer *buffer)
{
    judge_list(event, message, buffer);
    judge_ldata(event, message, buffer);
    compare_with_seen(event, message, buffer);
    nb_requests_count(event, message, buffer);
}

void nb_requests_count(const struct nb_event *event, const struct nb_message *message, struct nb_buffer *buffer)
{
    enum { FAR_BEYOND = 1024 };

    for (unsigned i = 0; i < message->count; i++) {
        const uint16_t packet = nb_resend_entry(event->packet, message, i);
        /* Lists may name what a short buffer does not have (AMB-32): no memory for
         * those. */
        struct nb_part *part = (int)packet <= buffer->life->highest + FAR_BEYOND
                                   ? nb_buffer_part(&event->stream->buffers, buffer, packet)
                                   : NULL;
        if (part != NULL) {
            part->asked += part->asked < UINT8_MAX;
        } else if (nb_buffer_counts_requests(buffer, packet)) {
            buffer->not_counted = packet;
        }
    }
}

void nb_requests_ask_again(const struct nb_event *event, const struct nb_message *message)
{
    struct nb_buffer *buffer = nb_buffer_find(&event->stream->buffers, message->buffer);

    for (unsigned i = 0; buffer != NULL && i < message->count; i++) {
        struct nb_part *part = nb_buffer_known_part(buffer, nb_resend_entry(event->packet, message, i));
        if (part != NULL) {
            part->flags |= NB_PART_SAME_ASKED;
        }
    }
}

/* Which rule a copy too many breaks. */
static enum nb_rule rule_of_copy(const struct nb_buffer *buffer, const struct nb_part *part)
{
    if (part->flags & NB_PART_SAME_ASKED) {
        return NB_RULE_CTRL_DUPLICATE;
    }
    if (part->asked > 0) {
        return NB_RULE_DATA_UNREQUESTED;
    }
    return buffer->ask_seq != 0 ? NB_RULE_RESEND_SERVED : NB_RULE_DATA_UNREQUESTED;
}

static void judge_copies(const struct nb_event *event, const struct nb_buffer *buffer, uint32_t packet)
{
    const struct nb_part *part = &buffer->parts[packet];
    const struct nb_emission *flow = &event->stream->end[event->end].flow;
    const enum nb_rule rule = rule_of_copy(buffer, part);
    const char *excuse = nb_emission_counts(flow, NB_EVIDENCE_BITS) || part->apart > part->asked + 1
                             ? NULL
                             : "copies may have been made on the way; the IP IDs do not show it";
    struct nb_charge charge = {.rule = rule,
                               .offender = event->end,
                               .excuse = excuse,
                               .offending_frame = nb_record_at(part->record - 1)->frame,
                               .suspected_key = part->record,
                               .request_frame = buffer->ask_frame,
                               .evidence_frame = nb_frame_of(buffer->life->ok)};

    if (excuse != NULL && part->flags & NB_PART_DOUBLED) {
        return; /* reported when it came */
    }
    const char *what =
        part->flags & NB_PART_UNSEEN
            ? nb_file_printf("packet %u of buffer %u, whose first copy was lost before the capture, was retransmitted "
                             "%u times, %u RESENDs name it",
                             packet, buffer->life->number, part->copies, part->asked)
            : nb_file_printf("packet %u of buffer %u was sent %u times, %u RESENDs name it", packet,
                             buffer->life->number, part->copies, part->asked);
    nb_blame(event, &charge, "%s", what);
    if (rule == NB_RULE_RESEND_SERVED || rule == NB_RULE_CTRL_DUPLICATE) {
        charge.rule = NB_RULE_DATA_UNREQUESTED;
        nb_blame(event, &charge, "%s", what);
    }
}

/* RESEND-08: it was sent for the RESEND too, which RFC 998 does not forbid (5.2: what a RESEND names is retransmitted).
 */
static void judge_early_request(const struct nb_event *event, const struct nb_buffer *buffer, uint32_t packet)
{
    const struct nb_part *part = &buffer->parts[packet];
    const struct nb_charge charge = {.rule = NB_RULE_RESEND_SENSELESS,
                                     .offender = event->end,
                                     .excuse = "RFC 998 does not exclude packets that were not sent yet",
                                     .offending_frame = nb_record_at(part->record - 1)->frame,
                                     .request_frame = buffer->ask_frame};

    nb_blame(event, &charge, "packet %u of buffer %u is sent twice, and was requested before its first transmission",
             packet, buffer->life->number);
}

static void judge_misplaced(const struct nb_event *event, const struct nb_buffer *buffer, enum nb_rule rule,
                            const struct nb_misplaced *misplaced, const char *what)
{
    const struct nb_part *part = misplaced->frame == 0 ? NULL : nb_buffer_known_part(buffer, misplaced->packet);
    const struct nb_standing copies = nb_standing_of(event->stream, NB_RULE_DATA_UNREQUESTED);
    const bool ordered =
        misplaced->proven && nb_emission_counts(&event->stream->end[event->end].flow, NB_EVIDENCE_BITS);
    const struct nb_charge charge = {.rule = rule,
                                     .offender = event->end,
                                     .excuse = !ordered ? "the order of emission is not proven"
                                               : copies.violations + copies.suspicions > 0
                                                   ? "this end retransmits packets without a request"
                                                   : NULL,
                                     .offending_frame = misplaced->frame,
                                     .evidence_frame = misplaced->before_frame};

    if (part == NULL) {
        nb_keep(event, rule);
    } else if (!nb_may_repeat_unasked(event->stream) && !event->stream->queue.cut &&
               nb_buffer_requests(buffer, misplaced->packet) == 0 &&
               nb_buffer_counts_requests(buffer, misplaced->packet)) { /* else it may be a retransmission */
        nb_blame(event, &charge,
                 "packet %u of buffer %u was sent for the first time after frame "
                 "%u, %s",
                 misplaced->packet, buffer->life->number, misplaced->before_frame, what);
    }
}

/* DATA-05, DATA-01: nothing about this buffer can be missing any more. */
static void judge_numbers(const struct nb_event *event, struct nb_buffer *buffer)
{
    struct nb_stream *stream = event->stream;
    const struct nb_terms *terms = nb_terms_by(stream, stream->active == 0);
    struct nb_charge charge = {.rule = NB_RULE_DATA_BEFORE_GO,
                               .offender = event->end,
                               .offending_frame = nb_frame_of(buffer->life->first_data),
                               .suspected_key = buffer->life->first_data,
                               .evidence_frame = nb_frame_of(buffer->life->ok)};

    if (buffer->life->highest < 0) {
        return;
    }
    if (!nb_buffer_has_go(buffer) && nb_shows_first_messages(stream)) {
        nb_blame(event, &charge, "buffer %u was sent without a GO", buffer->life->number);
    }
    if (nb_buffer_is_whole(&stream->buffers, buffer, stream->end[event->end].flow.unbroken)) {
        nb_keep(event, NB_RULE_DATA_NUMBERS);
        nb_buffer_judge_size(event, buffer, nb_is_unbroken(stream, event->end), true);
    } else if (nb_is_unbroken(stream, event->end) && buffer->last >= 0 && stream->active >= 0 &&
               !buffer->last_flagged && buffer->bytes == terms->buffer_size && !nb_sizes_vary(stream) &&
               buffer->life->highest == buffer->last) { /* else reported with the packet beyond it */
        charge = (struct nb_charge){.rule = NB_RULE_DATA_NUMBERS,
                                    .offender = event->end,
                                    .offending_frame = buffer->last_frame,
                                    .forgiven = NB_DOUBTS_OF_LOSS};
        nb_blame(event, &charge, "buffer %u has all its bytes in %u packets with numbers up to %d",
                 buffer->life->number, buffer->distinct, buffer->last);
    }
}

void nb_requests_judge(const struct nb_event *event, struct nb_buffer *buffer)
{
    bool kept = true;

    nb_buffer_judge_end(event, buffer);
    judge_numbers(event, buffer);
    const uint32_t counted = buffer->not_counted == 0 ? buffer->room : MIN(buffer->room, buffer->not_counted);
    /* Where packets may be retransmitted without a request, or CONTROLs are cut, nothing shows why one is. */
    const bool telling = nb_rule_holds(event->stream, NB_RULE_DATA_UNREQUESTED) && !event->stream->queue.cut;
    for (int i = 0; telling && i <= buffer->life->highest && i < (int)counted; i++) {
        const struct nb_part *part = &buffer->parts[i];
        const unsigned emitted = nb_part_emitted(part);
        if (emitted > part->asked + 1U && nb_buffer_counts_requests(buffer, (uint32_t)i) &&
            emitted > nb_buffer_requests(buffer, (uint32_t)i) + 1) {
            judge_copies(event, buffer, (uint32_t)i);
            kept = false;
        } else if (emitted == part->asked + 1U && part->flags & NB_PART_KNOWN_FIRST) {
            judge_early_request(event, buffer, (uint32_t)i);
        }
    }
    if (telling && kept && buffer->life->highest >= 0) {
        nb_keep(event, NB_RULE_DATA_UNREQUESTED);
        if (buffer->ask_seq != 0) {
            nb_keep(event, NB_RULE_RESEND_SERVED);
            nb_keep(event, NB_RULE_CTRL_DUPLICATE);
        }
    }
    judge_misplaced(event, buffer, NB_RULE_ORDER_BUFFERS, &buffer->behind_later, "of a later buffer");
    judge_misplaced(event, buffer, NB_RULE_ORDER_PACKETS, &buffer->behind_higher, "the LDATA of this buffer");
}
