/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics > Service Response Time > NETBLT, tshark -z netblt,srt: how long answers took. */
#include "reports/tap.h"

#include <epan/srt_table.h>

#include "connection/take.h"
#include "reports/stats-history.h"
#include "reports/taps.h"

enum question { ASKED_OPEN, ASKED_GO, ASKED_BUFFER, ASKED_RESEND, ASKED_MESSAGE, QUESTIONS };

static const char *const question_names[QUESTIONS] = {
    [ASKED_OPEN] = "OPEN to RESPONSE",
    [ASKED_GO] = "GO to first packet of the buffer",
    [ASKED_BUFFER] = "GO to OK of the buffer",
    [ASKED_RESEND] = "RESEND to last requested packet",
    [ASKED_MESSAGE] = "Control message to acknowledgement",
};

static void start(struct register_srt *srt _U_, GArray *tables)
{
    srt_stat_table *table = init_srt_table("NETBLT response times", NULL, tables, QUESTIONS, "Answer", NULL, NULL);

    for (int i = 0; i < QUESTIONS; i++) {
        init_srt_table_row(table, i, question_names[i]);
    }
}

/* A packet that answers. */
struct answer {
    srt_stat_table *table;
    packet_info *pinfo;
    const struct nb_record *record;
    unsigned count;
};

static void add(struct answer *answer, enum question question, nb_moment asked)
{
    const int64_t took = answer->record->now_ns - nb_time_of(asked);
    const nstime_t delta = {(time_t)(took / 1000000000), (int)(took % 1000000000)};
    nstime_t when;

    nstime_delta(&when, &answer->pinfo->abs_ts, &delta);
    add_srt_table_data(answer->table, question, &when, answer->pinfo);
    answer->count++;
}

/* RESPONSE and the first packet of a buffer. */
static void add_links(struct answer *answer, uint8_t type)
{
    for (const struct nb_note *note = answer->record->notes; note != NULL; note = note->next) {
        if (note->kind == NB_NOTE_ANSWER_TO && type == NB_RESPONSE) {
            add(answer, ASKED_OPEN, note->other);
        } else if (note->kind == NB_NOTE_STARTS) {
            add(answer, ASKED_GO, note->other);
        }
    }
}

/* OKs that are captured for the first time. */
static void add_buffers(struct answer *answer, const struct nb_stream *stream, const struct nb_packet *packet)
{
    const nb_moment now = nb_moment_of(answer->record);
    struct nb_message message;
    int offset = NB_HEADER_BYTES;

    while (nb_next_message(packet, &offset, &message) == NB_MESSAGE) {
        const struct nb_message_life *life = nb_message_life(answer->record, message.seq);
        const struct nb_buffer_life *buffer = nb_buffer_life_find(&stream->buffers, message.buffer);
        if (message.type == NB_OK && life != NULL && nb_message_first(life) == now && buffer != NULL &&
            buffer->ok == now && buffer->go != 0) {
            add(answer, ASKED_BUFFER, buffer->go);
        }
    }
}

/* RESENDs of which this is the last packet that was missing. */
static void add_requests(struct answer *answer, const struct nb_stream *stream, const struct nb_packet *packet)
{
    const struct nb_buffer_life *buffer = nb_buffer_life_find(&stream->buffers, packet->buffer);
    const struct nb_asked *asked = buffer == NULL || buffer->requests == NULL ? NULL : buffer->requests->newest;

    for (; asked != NULL; asked = asked->older) {
        if (asked->missing == 0 && asked->effect == nb_moment_of(answer->record)) {
            add(answer, ASKED_RESEND, asked->moment);
        }
    }
}

static void add_acknowledged(struct answer *answer, const struct nb_stream *stream)
{
    const nb_moment now = nb_moment_of(answer->record);
    int64_t first, end;

    nb_acknowledged_by(stream, now, &first, &end);
    for (int64_t seq = first; seq < end; seq++) {
        const struct nb_message_life *life = nb_message_find_any(&stream->messages, seq);
        if (life != NULL && life->acked == now) {
            add(answer, ASKED_MESSAGE, nb_message_first(life));
        }
    }
}

static tap_packet_status take(void *state, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                              tap_flags_t flags _U_)
{
    const srt_data_t *srt = state;
    const struct nb_tap *tap = data;
    const struct nb_stream *stream = nb_stream_of_record(tap->record);
    struct answer answer = {
        .table = g_array_index(srt->srt_array, srt_stat_table *, 0), .pinfo = pinfo, .record = tap->record};

    if (stream == NULL || !tap->counts) {
        return TAP_PACKET_DONT_REDRAW;
    }
    add_links(&answer, tap->packet.type);
    if (tap->packet.type == NB_CONTROL) {
        add_buffers(&answer, stream, &tap->packet);
    }
    if (nb_is_data(tap->packet.type)) {
        add_requests(&answer, stream, &tap->packet);
    }
    if (nb_has_high_seq(tap->packet.type)) {
        add_acknowledged(&answer, stream);
    }
    return answer.count > 0 ? TAP_PACKET_REDRAW : TAP_PACKET_DONT_REDRAW;
}

void nb_register_response_times(int proto)
{
    register_srt_table(proto, NB_TAP_NAME, 1, take, start, NULL);
}
