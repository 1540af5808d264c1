/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/stats-transfer.h"

#include "decode/netblt.h"

static void free_buffer(gpointer data)
{
    struct nb_buffer_history *buffer = data;

    g_free(buffer->seen);
    if (buffer->requests != NULL) {
        g_array_free(buffer->requests, TRUE);
    }
    g_free(buffer);
}

static void free_message(gpointer data)
{
    struct nb_message_history *message = data;

    g_free(message->names);
    g_free(message);
}

void nb_transfer_free(struct nb_history *history)
{
    if (history->buffers == NULL) {
        return;
    }
    g_hash_table_destroy(history->buffer_by_number);
    g_hash_table_destroy(history->message_by_seq);
    g_ptr_array_free(history->unacknowledged, TRUE);
    g_ptr_array_free(history->unrepaired, TRUE);
    g_ptr_array_free(history->buffers, TRUE);
    g_ptr_array_free(history->messages, TRUE);
}

/* Most connections of a flood have neither. */
static void make_lists(struct nb_history *history)
{
    enum { BYTES = 1024 };

    if (history->buffers != NULL) {
        return;
    }
    nb_account_take(&history->account, BYTES);
    history->buffers = g_ptr_array_new_with_free_func(free_buffer);
    history->buffer_by_number = g_hash_table_new(g_direct_hash, g_direct_equal);
    history->messages = g_ptr_array_new_with_free_func(free_message);
    history->message_by_seq = g_hash_table_new(g_int64_hash, g_int64_equal);
    history->unacknowledged = g_ptr_array_new();
    history->unrepaired = g_ptr_array_new();
}

static bool ask(const struct nb_now *now, size_t bytes)
{
    if (!nb_account_ask(&now->history->account, bytes, now->at.frame)) {
        now->history->totals.cut = true;
        return false;
    }
    nb_account_take(&now->history->account, bytes);
    return true;
}

static struct nb_buffer_history *find_buffer(const struct nb_history *history, uint32_t number)
{
    return g_hash_table_lookup(history->buffer_by_number, GUINT_TO_POINTER(number));
}

/* NULL when there is no memory. */
static struct nb_buffer_history *buffer_of(const struct nb_now *now, uint32_t number)
{
    struct nb_history *history = now->history;
    struct nb_buffer_history *buffer = find_buffer(history, number);

    if (buffer == NULL && ask(now, sizeof(struct nb_buffer_history) + NB_MAP_ENTRY_BYTES)) {
        buffer = g_new0(struct nb_buffer_history, 1);
        buffer->row = history->buffers->len;
        buffer->number = number;
        g_hash_table_insert(history->buffer_by_number, GUINT_TO_POINTER(number), buffer);
        g_ptr_array_add(history->buffers, buffer);
    }
    if (buffer != NULL) {
        g_ptr_array_add(now->all->touched_buffers, buffer);
    }
    return buffer;
}

/* NULL when there is no memory. */
static uint8_t *seen_slot(const struct nb_now *now, struct nb_buffer_history *buffer, uint16_t number)
{
    enum { FIRST_ROOM = 16 };

    if (number >= buffer->room) {
        uint32_t room = MAX(buffer->room, FIRST_ROOM);
        while (room <= number) {
            room *= 2;
        }
        if (!ask(now, room - buffer->room)) {
            return NULL;
        }
        buffer->seen = g_realloc(buffer->seen, room);
        memset(buffer->seen + buffer->room, 0, room - buffer->room);
        buffer->room = room;
    }
    return &buffer->seen[number];
}

static void answer(const struct nb_now *now, enum nb_question question, struct nb_moment asked)
{
    const struct nb_answer given = {question, asked};

    if (asked.frame != 0) {
        g_array_append_val(now->all->answers, given);
    }
}

static void note_opening(const struct nb_now *now, const struct nb_packet *packet)
{
    struct nb_history *history = now->history;
    struct nb_offer *offer = &history->offer[packet->type == NB_RESPONSE];

    if (packet->type == NB_RESPONSE && history->response.frame == 0) {
        answer(now, NB_ASKED_OPEN, history->open);
    }
    nb_mark_first(packet->type == NB_RESPONSE ? &history->response : &history->open, now->at);
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

/* A packet that the message names has come. Those that are still missing stay in front. */
static void take_repair(const struct nb_now *now, struct nb_message_history *message, uint16_t number)
{
    for (unsigned n = 0; n < message->missing; n++) {
        if (message->names[n] == number) {
            message->names[n] = message->names[message->missing - 1];
            message->names[message->missing - 1] = number;
            message->missing--;
            message->came++;
            message->effect = now->at;
            g_ptr_array_add(now->all->touched_messages, message);
            return;
        }
    }
}

/* A packet that a RESEND named has come. */
static void note_repair(const struct nb_now *now, uint32_t buffer, uint16_t number)
{
    GPtrArray *unrepaired = now->history->unrepaired;

    for (guint i = unrepaired->len; i-- > 0;) {
        struct nb_message_history *message = g_ptr_array_index(unrepaired, i);
        if (message->buffer != buffer) {
            continue;
        }
        take_repair(now, message, number);
        if (message->missing == 0) {
            answer(now, NB_ASKED_RESEND, message->first);
            g_ptr_array_remove_index_fast(unrepaired, i);
        }
    }
}

/* A receiver that has not seen the LDATA of a short buffer asks for numbers beyond it (AMB-32); those were never lost.
 */
static void count_losses(struct nb_history *history, struct nb_buffer_history *buffer)
{
    uint32_t lost = 0;

    for (guint i = 0; buffer->requests != NULL && i < buffer->requests->len; i++) {
        lost += buffer->ldata.frame == 0 || g_array_index(buffer->requests, uint16_t, i) <= buffer->ldata_number;
    }
    history->totals.lost += lost;
    history->totals.lost -= buffer->lost;
    buffer->lost = lost;
}

/* The same when the list grew by these, and the LDATA is what it was. */
static void count_loss(struct nb_history *history, struct nb_buffer_history *buffer, uint16_t number)
{
    const bool lost = buffer->ldata.frame == 0 || number <= buffer->ldata_number;

    history->totals.lost += lost;
    buffer->lost += lost;
}

static void note_started(const struct nb_now *now, struct nb_buffer_history *buffer)
{
    struct nb_totals *totals = &now->history->totals;

    buffer->first_data = now->at;
    answer(now, NB_ASKED_GO, buffer->go);
    if (buffer->go_message != NULL) {
        buffer->go_message->effect = now->at;
        g_ptr_array_add(now->all->touched_messages, buffer->go_message);
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

static void count_data(const struct nb_now *now, struct nb_buffer_history *buffer, const struct nb_packet *packet,
                       uint8_t *slot)
{
    struct nb_totals *totals = &now->history->totals;

    buffer->transmissions++;
    totals->transmissions++;
    buffer->retransmitted += *slot != 0;
    totals->retransmitted += *slot != 0;
    if (!(*slot & NB_SEEN)) {
        const uint64_t bytes = (uint64_t)(packet->end - packet->layout->data);
        buffer->packets++;
        buffer->bytes += bytes;
        totals->bytes += bytes;
        now->history->last_data = now->at;
    }
    *slot |= NB_SEEN;
}

static void note_data(const struct nb_now *now, const struct nb_packet *packet)
{
    struct nb_buffer_history *buffer = buffer_of(now, packet->buffer);
    uint8_t *slot = buffer == NULL ? NULL : seen_slot(now, buffer, packet->packet);

    if (slot == NULL) {
        return;
    }
    const bool complete = is_complete(buffer);
    if (buffer->first_data.frame == 0) {
        note_started(now, buffer);
    }
    if (packet->packet == 0) {
        nb_mark_first(&buffer->packet_zero, now->at);
    }
    if (packet->type == NB_LDATA && buffer->ldata.frame == 0) {
        buffer->ldata = now->at;
        buffer->ldata_number = packet->packet;
        count_losses(now->history, buffer);
    }
    buffer->last_of_transfer = buffer->last_of_transfer || (packet->data_flags & NB_DATA_LAST_BUFFER) != 0;
    count_data(now, buffer, packet, slot);
    now->history->totals.complete += (uint32_t)is_complete(buffer) - (uint32_t)complete;
    note_repair(now, packet->buffer, packet->packet);
}

static void wait_for(GPtrArray *waiting, struct nb_message_history *message)
{
    if (waiting->len == NB_WAITING_MOST) {
        g_ptr_array_remove_index(waiting, 0);
    }
    g_ptr_array_add(waiting, message);
}

static void name_packet(const struct nb_now *now, struct nb_buffer_history *buffer, uint16_t number)
{
    uint8_t *slot = seen_slot(now, buffer, number);

    if (slot == NULL) {
        return;
    }
    if (buffer->requests == NULL) {
        buffer->requests = g_array_new(FALSE, FALSE, sizeof(uint16_t));
    }
    *slot |= NB_ASKED;
    g_array_append_val(buffer->requests, number);
    count_loss(now->history, buffer, number);
}

static void note_resend(const struct nb_now *now, const struct nb_packet *packet, const struct nb_message *wire,
                        struct nb_message_history *message)
{
    /* In the list of requests twice, as such lists grow, and in the message's own. */
    const size_t bytes = wire->count * (3 * sizeof(uint16_t));
    struct nb_buffer_history *buffer = ask(now, bytes) ? buffer_of(now, wire->buffer) : NULL;

    if (buffer == NULL) {
        return;
    }
    nb_mark_first(&buffer->first_resend, now->at);
    buffer->last_resend = now->at;
    buffer->resends++;
    now->history->totals.resends++;
    message->named = message->missing = wire->count;
    message->names = g_new(uint16_t, wire->count + 1U);
    for (unsigned i = 0; i < wire->count; i++) {
        message->names[i] = nb_resend_entry(packet, wire, i);
        name_packet(now, buffer, message->names[i]);
    }
    if (wire->count > 0) {
        wait_for(now->history->unrepaired, message);
    }
}

static void note_go(const struct nb_now *now, const struct nb_message *wire, struct nb_message_history *message)
{
    struct nb_buffer_history *buffer = buffer_of(now, wire->buffer);

    if (buffer != NULL && buffer->go.frame == 0) {
        buffer->go = now->at;
        buffer->go_message = message;
    }
}

static void note_ok(const struct nb_now *now, const struct nb_packet *packet, const struct nb_message *wire)
{
    struct nb_buffer_history *buffer = buffer_of(now, wire->buffer);

    if (buffer != NULL && buffer->ok.frame == 0) {
        buffer->ok = now->at;
        answer(now, NB_ASKED_BUFFER, buffer->go);
    }
    now->history->burst_size = tvb_get_ntohs(packet->tvb, wire->offset + 8);
    now->history->burst_interval_ms = tvb_get_ntohs(packet->tvb, wire->offset + 10);
}

static struct nb_message_history *new_message(const struct nb_now *now, const struct nb_message *wire, int64_t seq)
{
    struct nb_history *history = now->history;
    struct nb_message_history *message = g_new0(struct nb_message_history, 1);

    message->row = history->messages->len;
    message->seq = seq;
    message->type = wire->type;
    message->buffer = wire->buffer;
    message->first = now->at;
    g_hash_table_insert(history->message_by_seq, &message->seq, message);
    g_ptr_array_add(history->messages, message);
    wait_for(history->unacknowledged, message);
    return message;
}

static void note_new_message(const struct nb_now *now, const struct nb_packet *packet, const struct nb_message *wire,
                             struct nb_message_history *message)
{
    if (wire->type == NB_GO) {
        note_go(now, wire, message);
    } else if (wire->type == NB_OK) {
        note_ok(now, packet, wire);
    } else if (wire->type == NB_RESEND) {
        note_resend(now, packet, wire, message);
    }
}

static void note_message(const struct nb_now *now, const struct nb_packet *packet, const struct nb_message *wire)
{
    struct nb_history *history = now->history;
    const int64_t seq = nb_unwrap(MAX(history->acked, 0), wire->seq);
    struct nb_message_history *message = g_hash_table_lookup(history->message_by_seq, &seq);

    history->newest = MAX(history->newest, seq);
    if (message == NULL && now->all->keeping < NB_KEEP_ALL && wire->type != NB_RESEND) {
        return; /* totals need to know only which RESENDs were counted */
    }
    if (message == NULL) {
        if (!ask(now, sizeof(struct nb_message_history) + NB_MAP_ENTRY_BYTES)) {
            return;
        }
        message = new_message(now, wire, seq);
        note_new_message(now, packet, wire, message);
    }
    message->times_sent++;
    if (message->acked.frame != 0) {
        message->sent_in_vain++;
    } else {
        message->last = now->at;
    }
    g_ptr_array_add(now->all->touched_messages, message);
}

static void note_control(const struct nb_now *now, const struct nb_packet *packet)
{
    struct nb_message wire;
    int offset = NB_HEADER_BYTES;

    now->history->control_packets++;
    while (now->history->account.exhausted_frame == 0 && nb_next_message(packet, &offset, &wire) == NB_MESSAGE) {
        note_message(now, packet, &wire);
    }
}

static void note_acknowledgement(const struct nb_now *now, uint16_t high_seq)
{
    struct nb_history *history = now->history;
    const int64_t acked =
        history->acked < 0 ? nb_unwrap(history->newest, high_seq) : nb_unwrap(history->acked, high_seq);

    if (acked <= history->acked) {
        return;
    }
    history->acked = acked;
    for (guint i = history->unacknowledged->len; i-- > 0;) {
        struct nb_message_history *message = g_ptr_array_index(history->unacknowledged, i);
        if (message->seq <= acked) {
            const double took = now->at.time - message->first.time;
            message->acked = now->at;
            answer(now, NB_ASKED_MESSAGE, message->first);
            history->quickest_ack = history->quickest_ack < 0 ? took : MIN(took, history->quickest_ack);
            g_ptr_array_add(now->all->touched_messages, message);
            g_ptr_array_remove_index_fast(history->unacknowledged, i);
        }
    }
}

static void note_transfer(const struct nb_now *now, const struct nb_packet *packet, int end)
{
    struct nb_history *history = now->history;

    make_lists(history);
    if (packet->type == NB_CONTROL) {
        if (history->sender != end) {
            note_control(now, packet);
        }
    } else if (history->sender < 0 || history->sender == end) {
        note_acknowledgement(now, packet->high_seq);
        if (nb_is_data(packet->type) && history->account.exhausted_frame == 0) {
            note_data(now, packet);
        }
    }
}

void nb_transfer_note(const struct nb_now *now, const struct nb_packet *packet, int end)
{
    switch (packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        note_opening(now, packet);
        break;
    case NB_CONTROL:
    case NB_DATA:
    case NB_LDATA:
    case NB_NULL_ACK:
        note_transfer(now, packet, end);
        break;
    case NB_DONE:
        nb_mark_first(&now->history->done, now->at);
        break;
    default:
        break;
    }
}
