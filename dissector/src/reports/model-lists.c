/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffers and control messages of the model as lists, and what follows from them. */
#include "reports/stats-history.h"

char *nb_stream_end_text(const struct nb_stream *stream, int end)
{
    char *host = address_to_str(NULL, &stream->end[end].address);
    char *text = g_strdup_printf(strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, stream->end[end].port);

    wmem_free(NULL, host);
    return text;
}

nb_moment nb_first_of_type(const struct nb_stream *stream, uint8_t type)
{
    const nb_moment a = stream->conversation.first_of[0][type], b = stream->conversation.first_of[1][type];

    return a == 0 || (b != 0 && b < a) ? b : a;
}

const struct nb_terms *nb_agreed_terms(const struct nb_stream *stream)
{
    return stream->response.frame != 0 ? &stream->response : &stream->open;
}

/* When the buffer appeared: by a GO, data, an OK or a RESEND. */
static nb_moment appeared(const struct nb_buffer_life *life)
{
    const nb_moment all[] = {life->go, life->first_data, life->ok, life->requests == NULL ? 0 : life->requests->first};
    nb_moment first = 0;

    for (size_t i = 0; i < array_length(all); i++) {
        first = first == 0 || (all[i] != 0 && all[i] < first) ? all[i] : first;
    }
    return first;
}

static gint by_appearance(gconstpointer a, gconstpointer b)
{
    const struct nb_buffer_life *one = *(const struct nb_buffer_life *const *)a;
    const struct nb_buffer_life *other = *(const struct nb_buffer_life *const *)b;
    const nb_moment first = appeared(one), second = appeared(other);

    return first != second ? (first < second ? -1 : 1) : (one->number > other->number) - (one->number < other->number);
}

static GPtrArray *emptied(GPtrArray **list)
{
    if (*list == NULL) {
        *list = g_ptr_array_new();
    }
    g_ptr_array_set_size(*list, 0);
    return *list;
}

static void add_life(gpointer key _U_, gpointer value, gpointer list)
{
    g_ptr_array_add(list, value);
}

const GPtrArray *nb_history_buffers(struct nb_history *history)
{
    const struct nb_buffers *buffers = &history->stream->buffers;
    GPtrArray *list = emptied(&history->buffers);

    for (uint32_t i = 0; i < buffers->lives.count; i++) {
        struct nb_buffer_life *life = nb_series_at(&buffers->lives, i, sizeof(struct nb_buffer_life));
        if (life->made && appeared(life) != 0) {
            g_ptr_array_add(list, life);
        }
    }
    if (buffers->far_lives != NULL) {
        wmem_map_foreach(buffers->far_lives, add_life, list);
    }
    g_ptr_array_sort(list, by_appearance);
    return list;
}

static gint by_sending(gconstpointer a, gconstpointer b)
{
    const struct nb_message_life *one = *(const struct nb_message_life *const *)a;
    const struct nb_message_life *other = *(const struct nb_message_life *const *)b;
    const nb_moment first = nb_message_first(one), second = nb_message_first(other);

    return (first > second) - (first < second);
}

const GPtrArray *nb_history_messages(struct nb_history *history)
{
    const struct nb_messages *messages = &history->stream->messages;
    GPtrArray *list = emptied(&history->messages);

    for (uint32_t i = 0; i < messages->lives.count; i++) {
        struct nb_message_life *life = nb_series_at(&messages->lives, i, sizeof(struct nb_message_life));
        if (life->sent > 0) {
            g_ptr_array_add(list, life);
        }
    }
    g_ptr_array_sort(list, by_sending); /* stable: messages of one CONTROL stay in the order of their numbers */
    return list;
}

int64_t nb_seq_of(const struct nb_stream *stream, const struct nb_message_life *message)
{
    return stream->messages.base + nb_series_index(&stream->messages.lives, message, sizeof(struct nb_message_life));
}

static struct nb_effect effect_of_resend(const struct nb_buffer_life *buffer, int64_t seq)
{
    const struct nb_asked *asked = buffer->requests == NULL ? NULL : buffer->requests->newest;

    while (asked != NULL && asked->seq != seq) {
        asked = asked->older;
    }
    if (asked == NULL) {
        return (struct nb_effect){0};
    }
    return (struct nb_effect){.moment = asked->effect,
                              .known = true,
                              .named = asked->count,
                              .came = (uint16_t)(asked->count - asked->missing)};
}

struct nb_effect nb_effect_of(const struct nb_stream *stream, const struct nb_message_life *message)
{
    const struct nb_buffer_life *buffer = nb_buffer_life_find(&stream->buffers, message->buffer);
    const int64_t seq = nb_seq_of(stream, message);

    if (buffer == NULL || message->type == NB_OK) {
        return (struct nb_effect){0};
    }
    if (message->type == NB_RESEND) {
        return effect_of_resend(buffer, seq);
    }
    const bool first = buffer->go_message == (uint32_t)(seq - stream->messages.base) + 1;
    return (struct nb_effect){.moment = first && buffer->first_data > buffer->go ? buffer->first_data : 0};
}

uint32_t nb_sent_in_vain(const struct nb_message_life *message)
{
    const nb_moment *sendings = nb_message_sendings(message);
    uint32_t count = 0;

    while (message->acked != 0 && count < message->sent && sendings[message->sent - 1 - count] > message->acked) {
        count++;
    }
    return count;
}

/* The first message from `seq` on, below `end`, that was captured and acknowledged in this order; `end` when there is
 * none. Gaps and messages that were captured after their acknowledgement are passed over. */
static int64_t next_in_order(const struct nb_messages *messages, int64_t seq, int64_t end)
{
    while (seq < end) {
        const struct nb_message_life *life = nb_message_find_any(messages, seq);
        if (life != NULL && (life->acked != 0 || seq > messages->marked)) {
            break;
        }
        seq++;
    }
    return seq;
}

static bool is_acknowledged_before(const struct nb_messages *messages, int64_t seq, nb_moment moment)
{
    const nb_moment acked = nb_message_find_any(messages, seq)->acked;

    return acked != 0 && acked < moment;
}

/* Acknowledgements ascend with the numbers. */
void nb_acknowledged_by(const struct nb_stream *stream, nb_moment moment, int64_t *first, int64_t *end)
{
    const struct nb_messages *messages = &stream->messages;
    const int64_t behind = messages->base + messages->lives.count;
    int64_t low = messages->base, high = behind;

    while (low < high) { /* towards the first that is not acknowledged before `moment` */
        const int64_t middle = low + (high - low) / 2;
        const int64_t probe = next_in_order(messages, middle, high);
        if (probe < high && is_acknowledged_before(messages, probe, moment)) {
            low = probe + 1;
        } else {
            high = middle;
        }
    }
    *first = *end = low = next_in_order(messages, low, behind);
    while (low < behind && nb_message_find_any(messages, low)->acked == moment && moment != 0) {
        *end = low + 1;
        low = next_in_order(messages, low + 1, behind);
    }
}
