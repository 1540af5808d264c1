/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats-history.h"

#include "findings.h"
#include "netblt.h"

static void free_buffer(gpointer data)
{
    struct nb_buffer_history *buffer = data;

    g_byte_array_free(buffer->seen, TRUE);
    g_array_free(buffer->requests, TRUE);
    g_free(buffer);
}

static void free_message(gpointer data)
{
    struct nb_message_history *message = data;

    g_free(message->names);
    g_free(message);
}

static void drop(GArray *array)
{
    if (array != NULL) {
        g_array_free(array, TRUE);
    }
}

static void free_history(gpointer data)
{
    struct nb_history *history = data;

    g_hash_table_destroy(history->buffer_by_number);
    g_hash_table_destroy(history->message_by_seq);
    g_ptr_array_free(history->unacknowledged, TRUE);
    g_ptr_array_free(history->unrepaired, TRUE);
    for (unsigned rule = 0; rule < NB_RULES; rule++) {
        drop(history->violations[rule]);
        drop(history->suspicions[rule]);
    }
    g_array_free(history->answers, TRUE);
    g_ptr_array_free(history->touched_buffers, TRUE);
    g_ptr_array_free(history->touched_messages, TRUE);
    g_ptr_array_free(history->buffers, TRUE);
    g_ptr_array_free(history->messages, TRUE);
    g_free(history->address[0]);
    g_free(history->address[1]);
    g_free(history);
}

struct nb_histories *nb_histories_new(void)
{
    struct nb_histories *all = g_new0(struct nb_histories, 1);

    all->list = g_ptr_array_new_with_free_func(free_history);
    all->by_stream = g_hash_table_new(g_direct_hash, g_direct_equal);
    return all;
}

void nb_histories_reset(struct nb_histories *all)
{
    all->newest_frame = 0;
    g_hash_table_remove_all(all->by_stream);
    g_ptr_array_set_size(all->list, 0);
}

void nb_histories_free(struct nb_histories *all)
{
    g_hash_table_destroy(all->by_stream);
    g_ptr_array_free(all->list, TRUE);
    g_free(all);
}

static struct nb_history *new_history(const struct nb_stream *stream)
{
    struct nb_history *history = g_new0(struct nb_history, 1);

    history->stream = stream;
    history->index = stream->index;
    history->sender = -1;
    history->acked = -1;
    history->quickest_ack = -1;
    for (int end = 0; end < 2; end++) {
        char *text = address_to_str(NULL, &stream->ends[end]);
        history->address[end] = g_strdup(text);
        wmem_free(NULL, text);
    }
    history->buffers = g_ptr_array_new_with_free_func(free_buffer);
    history->buffer_by_number = g_hash_table_new(g_direct_hash, g_direct_equal);
    history->messages = g_ptr_array_new_with_free_func(free_message);
    history->message_by_seq = g_hash_table_new(g_int64_hash, g_int64_equal);
    history->unacknowledged = g_ptr_array_new();
    history->unrepaired = g_ptr_array_new();
    history->answers = g_array_new(FALSE, FALSE, sizeof(struct nb_answer));
    history->touched_buffers = g_ptr_array_new();
    history->touched_messages = g_ptr_array_new();
    return history;
}

static struct nb_history *history_of(struct nb_histories *all, const struct nb_stream *stream)
{
    struct nb_history *history = g_hash_table_lookup(all->by_stream, stream);

    if (history == NULL) {
        history = new_history(stream);
        g_hash_table_insert(all->by_stream, (gpointer)stream, history);
        g_ptr_array_add(all->list, history);
    }
    return history;
}

static struct nb_buffer_history *buffer_of(struct nb_history *history, uint32_t number)
{
    struct nb_buffer_history *buffer = g_hash_table_lookup(history->buffer_by_number, GUINT_TO_POINTER(number));

    if (buffer == NULL) {
        buffer = g_new0(struct nb_buffer_history, 1);
        buffer->row = history->buffers->len;
        buffer->number = number;
        buffer->seen = g_byte_array_new();
        buffer->requests = g_array_new(FALSE, FALSE, sizeof(uint16_t));
        g_hash_table_insert(history->buffer_by_number, GUINT_TO_POINTER(number), buffer);
        g_ptr_array_add(history->buffers, buffer);
    }
    g_ptr_array_add(history->touched_buffers, buffer);
    return buffer;
}

static uint8_t *seen_slot(struct nb_buffer_history *buffer, uint16_t number)
{
    const guint before = buffer->seen->len;

    if (number >= before) {
        g_byte_array_set_size(buffer->seen, number + 1U);
        memset(buffer->seen->data + before, 0, number + 1U - before);
    }
    return &buffer->seen->data[number];
}

static void mark_first(struct nb_moment *moment, struct nb_moment now)
{
    if (moment->frame == 0) {
        *moment = now;
    }
}

static void answer(struct nb_history *history, enum nb_question question, struct nb_moment asked)
{
    const struct nb_answer given = {question, asked};

    if (asked.frame != 0) {
        g_array_append_val(history->answers, given);
    }
}

static void note_opening(struct nb_history *history, const struct nb_packet *packet, struct nb_moment now)
{
    struct nb_offer *offer = &history->offer[packet->type == NB_RESPONSE];

    if (packet->type == NB_RESPONSE && history->response.frame == 0) {
        answer(history, NB_ASKED_OPEN, history->open);
    }
    mark_first(packet->type == NB_RESPONSE ? &history->response : &history->open, now);
    offer->seen = true;
    offer->uid = packet->uid;
    offer->buffer_size = packet->buffer_size;
    offer->transfer_size = packet->transfer_size;
    offer->packet_size = packet->data_packet_size;
    offer->burst_size = packet->burst_size;
    offer->burst_interval_ms = packet->burst_interval;
    offer->death_timer_s = packet->death_timer;
    offer->flags = packet->open_flags;
    offer->max_buffers = packet->max_buffers;
}

/* A packet that a RESEND named has come. */
static void note_repair(struct nb_history *history, uint32_t buffer, uint16_t number, struct nb_moment now)
{
    for (guint i = history->unrepaired->len; i-- > 0;) {
        struct nb_message_history *message = g_ptr_array_index(history->unrepaired, i);
        if (message->buffer != buffer) {
            continue;
        }
        for (unsigned n = 0; n < message->missing; n++) {
            if (message->names[n] != number) {
                continue;
            }
            /* Those that are still missing stay in front. */
            message->names[n] = message->names[message->missing - 1];
            message->names[message->missing - 1] = number;
            message->missing--;
            message->came++;
            message->effect = now;
            g_ptr_array_add(history->touched_messages, message);
            break;
        }
        if (message->missing == 0) {
            answer(history, NB_ASKED_RESEND, message->first);
            g_ptr_array_remove_index_fast(history->unrepaired, i);
        }
    }
}

/* A receiver that has not seen the LDATA of a short buffer asks for numbers beyond it (AMB-32); those were never lost.
 */
static void count_losses(struct nb_history *history, struct nb_buffer_history *buffer)
{
    uint32_t lost = 0;

    for (guint i = 0; i < buffer->requests->len; i++) {
        lost += buffer->ldata.frame == 0 || g_array_index(buffer->requests, uint16_t, i) <= buffer->ldata_number;
    }
    history->totals.lost += lost;
    history->totals.lost -= buffer->lost;
    buffer->lost = lost;
}

static void note_started(struct nb_history *history, struct nb_buffer_history *buffer, struct nb_moment now)
{
    struct nb_totals *totals = &history->totals;

    buffer->first_data = now;
    answer(history, NB_ASKED_GO, buffer->go);
    if (buffer->go_message != NULL) {
        buffer->go_message->effect = now;
        g_ptr_array_add(history->touched_messages, buffer->go_message);
    }
    totals->started++;
    if (totals->lowest == NULL || buffer->number < totals->lowest->number) {
        totals->lowest = buffer;
    }
    if (totals->highest == NULL || buffer->number > totals->highest->number) {
        totals->below_highest = totals->highest;
        totals->highest = buffer;
    } else if (totals->below_highest == NULL || buffer->number > totals->below_highest->number) {
        totals->below_highest = buffer;
    }
}

static bool is_complete(const struct nb_buffer_history *buffer)
{
    return buffer->ldata.frame != 0 && buffer->packets == buffer->ldata_number + 1U;
}

static void count_data(struct nb_history *history, struct nb_buffer_history *buffer, const struct nb_packet *packet,
                       struct nb_moment now)
{
    uint8_t *slot = seen_slot(buffer, packet->packet);

    buffer->transmissions++;
    history->totals.transmissions++;
    buffer->retransmitted += *slot != 0;
    history->totals.retransmitted += *slot != 0;
    if (!(*slot & NB_SEEN)) {
        const uint64_t bytes = (uint64_t)(packet->end - packet->layout->data);
        buffer->packets++;
        buffer->bytes += bytes;
        history->totals.bytes += bytes;
        history->last_data = now;
    }
    *slot |= NB_SEEN;
}

static void note_data(struct nb_history *history, const struct nb_packet *packet, struct nb_moment now)
{
    struct nb_buffer_history *buffer = buffer_of(history, packet->buffer);
    const bool complete = is_complete(buffer);

    if (buffer->first_data.frame == 0) {
        note_started(history, buffer, now);
    }
    if (packet->packet == 0) {
        mark_first(&buffer->packet_zero, now);
    }
    if (packet->type == NB_LDATA && buffer->ldata.frame == 0) {
        buffer->ldata = now;
        buffer->ldata_number = packet->packet;
        count_losses(history, buffer);
    }
    buffer->last_of_transfer = buffer->last_of_transfer || (packet->data_flags & NB_DATA_LAST_BUFFER) != 0;
    count_data(history, buffer, packet, now);
    history->totals.complete += (uint32_t)is_complete(buffer) - (uint32_t)complete;
    note_repair(history, packet->buffer, packet->packet, now);
}

static void note_resend(struct nb_history *history, const struct nb_packet *packet, const struct nb_message *wire,
                        struct nb_message_history *message, struct nb_moment now)
{
    struct nb_buffer_history *buffer = buffer_of(history, wire->buffer);

    mark_first(&buffer->first_resend, now);
    buffer->last_resend = now;
    buffer->resends++;
    history->totals.resends++;
    message->named = message->missing = wire->count;
    message->names = g_new(uint16_t, wire->count + 1U);
    for (unsigned i = 0; i < wire->count; i++) {
        const uint16_t number = nb_resend_entry(packet, wire, i);
        message->names[i] = number;
        *seen_slot(buffer, number) |= NB_ASKED;
        g_array_append_val(buffer->requests, number);
    }
    count_losses(history, buffer);
    if (wire->count > 0) {
        g_ptr_array_add(history->unrepaired, message);
    }
}

static void note_new_message(struct nb_history *history, const struct nb_packet *packet, const struct nb_message *wire,
                             struct nb_message_history *message, struct nb_moment now)
{
    if (wire->type == NB_GO) {
        struct nb_buffer_history *buffer = buffer_of(history, wire->buffer);
        if (buffer->go.frame == 0) {
            buffer->go = now;
            buffer->go_message = message;
        }
    } else if (wire->type == NB_OK) {
        struct nb_buffer_history *buffer = buffer_of(history, wire->buffer);
        if (buffer->ok.frame == 0) {
            buffer->ok = now;
            answer(history, NB_ASKED_BUFFER, buffer->go);
        }
        history->burst_size = tvb_get_ntohs(packet->tvb, wire->offset + 8);
        history->burst_interval_ms = tvb_get_ntohs(packet->tvb, wire->offset + 10);
    } else if (wire->type == NB_RESEND) {
        note_resend(history, packet, wire, message, now);
    }
}

static void note_message(struct nb_history *history, const struct nb_packet *packet, const struct nb_message *wire,
                         struct nb_moment now)
{
    const int64_t seq = nb_unwrap(MAX(history->acked, 0), wire->seq);
    struct nb_message_history *message = g_hash_table_lookup(history->message_by_seq, &seq);

    if (message == NULL) {
        message = g_new0(struct nb_message_history, 1);
        message->row = history->messages->len;
        message->seq = seq;
        message->type = wire->type;
        message->buffer = wire->buffer;
        message->first = now;
        g_hash_table_insert(history->message_by_seq, &message->seq, message);
        g_ptr_array_add(history->messages, message);
        g_ptr_array_add(history->unacknowledged, message);
        history->newest = MAX(history->newest, seq);
        note_new_message(history, packet, wire, message, now);
    }
    message->times_sent++;
    if (message->acked.frame != 0) {
        message->sent_in_vain++;
    } else {
        message->last = now;
    }
    g_ptr_array_add(history->touched_messages, message);
}

static void note_control(struct nb_history *history, const struct nb_packet *packet, struct nb_moment now)
{
    struct nb_message wire;
    int offset = NB_HEADER_BYTES;

    history->control_packets++;
    while (nb_next_message(packet, &offset, &wire) == NB_MESSAGE) {
        note_message(history, packet, &wire, now);
    }
}

static void note_acknowledgement(struct nb_history *history, uint16_t high_seq, struct nb_moment now)
{
    const int64_t acked =
        history->acked < 0 ? nb_unwrap(history->newest, high_seq) : nb_unwrap(history->acked, high_seq);

    if (acked <= history->acked) {
        return;
    }
    history->acked = acked;
    for (guint i = history->unacknowledged->len; i-- > 0;) {
        struct nb_message_history *message = g_ptr_array_index(history->unacknowledged, i);
        if (message->seq <= acked) {
            const double took = now.time - message->first.time;
            message->acked = now;
            answer(history, NB_ASKED_MESSAGE, message->first);
            history->quickest_ack = history->quickest_ack < 0 ? took : MIN(took, history->quickest_ack);
            g_ptr_array_add(history->touched_messages, message);
            g_ptr_array_remove_index_fast(history->unacknowledged, i);
        }
    }
}

static void note_type(struct nb_history *history, const struct nb_packet *packet, int end, struct nb_moment now)
{
    const bool by_sender = history->sender < 0 || history->sender == end;

    switch (packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        note_opening(history, packet, now);
        break;
    case NB_CONTROL:
        if (history->sender != end) {
            note_control(history, packet, now);
        }
        break;
    case NB_DATA:
    case NB_LDATA:
    case NB_NULL_ACK:
        if (by_sender) {
            note_acknowledgement(history, packet->high_seq, now);
        }
        if (by_sender && nb_is_data(packet->type)) {
            note_data(history, packet, now);
        }
        break;
    case NB_DONE:
        mark_first(&history->done, now);
        break;
    default:
        break;
    }
}

static void note_offender(const char **offenders, const char *who)
{
    for (int i = 0; i < 2 && who != NULL; i++) {
        if (offenders[i] == NULL || strcmp(offenders[i], who) == 0) {
            offenders[i] = who;
            return;
        }
    }
}

/* The frame that breaks the rule, which may be an earlier one than the frame that proves it. */
static void note_findings(struct nb_history *history, const struct nb_record *record, uint32_t frame)
{
    for (const struct nb_finding *finding = record->findings; finding != NULL; finding = finding->next) {
        if (finding->verdict == NB_EVENT || finding->rule >= NB_RULES) {
            continue;
        }
        note_offender(history->offenders[finding->rule], finding->offender);
        const bool violation = finding->verdict == NB_VIOLATION;
        GArray **frames = &(violation ? history->violations : history->suspicions)[finding->rule];
        const uint32_t where = violation && finding->offending_frame != 0 ? finding->offending_frame : frame;
        if (*frames == NULL) {
            *frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        }
        if ((*frames)->len == 0 || g_array_index(*frames, uint32_t, (*frames)->len - 1) != where) {
            g_array_append_val(*frames, where);
        }
    }
}

struct nb_history *nb_histories_note(struct nb_histories *all, const packet_info *pinfo, const struct nb_tap *tap)
{
    const struct nb_moment now = {pinfo->num, nstime_to_sec(&pinfo->rel_ts)};

    if (tap->record == NULL || tap->record->stream == NULL) {
        return NULL;
    }
    if (pinfo->num < all->newest_frame) {
        nb_histories_reset(all);
    }
    all->newest_frame = pinfo->num;
    struct nb_history *history = history_of(all, tap->record->stream);
    /* NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c) */
    const int end = tap->record->end;
    g_array_set_size(history->answers, 0);
    g_ptr_array_set_size(history->touched_buffers, 0);
    g_ptr_array_set_size(history->touched_messages, 0);
    history->port[end] = tap->packet.local_port;
    history->port[1 - end] = tap->packet.foreign_port;
    history->packets++;
    mark_first(&history->first, now);
    history->last = now;
    note_findings(history, tap->record, now.frame);
    if (!tap->counts) {
        history->copies += (tap->record->facts & NB_IS_COPY) != 0;
        history->broken += (tap->record->facts & NB_IS_COPY) == 0;
        return history;
    }
    /* NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c) */
    history->sender = tap->record->sender;
    note_type(history, &tap->packet, end, now);
    return history;
}

char *nb_history_end(const struct nb_history *history, int end)
{
    const bool v6 = strchr(history->address[end], ':') != NULL;

    return g_strdup_printf(v6 ? "[%s]:%u" : "%s:%u", history->address[end], history->port[end]);
}

const struct nb_offer *nb_history_terms(const struct nb_history *history)
{
    return &history->offer[history->offer[1].seen];
}
