/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One row per connection in the columns of RFC 1030's appendices. PSZ is the data in a packet in bytes, BFSZ that of a
 * buffer, XFSZ that of the transfer in units of 1000 bytes. */
#include "reports/stats-report.h"

enum { BITS_PER_BYTE = 8 };
static const double BITS_PER_MEGABIT = 1e6;

static guint one(struct nb_history *history _U_)
{
    return 1;
}

/* How many buffers there are from the first to the last one of which a packet was captured. Their numbers increase by
 * whatever step (RFC 998 8): the GOs count them, and the numbers do where GOs were not captured. */
static uint64_t buffers_sent(const struct nb_stream *stream)
{
    const struct nb_totals *totals = &stream->buffers.totals;
    const struct nb_buffer_life *first = totals->lowest, *last = totals->highest;
    const uint64_t by_number = (uint64_t)last->number - first->number + 1;
    uint64_t count = 1;

    if (first->go_message == 0 || last->go_message < first->go_message) {
        return by_number;
    }
    for (uint32_t at = first->go_message; at < last->go_message; at++) { /* number at + 1 */
        const struct nb_message_life *message = nb_message_find_any(&stream->messages, stream->messages.base + at);
        if (message == NULL) {
            return by_number;
        }
        const struct nb_buffer_life *named = nb_buffer_life_find(&stream->buffers, message->buffer);
        count += message->type == NB_GO && named != NULL && named->go_message == at + 1;
    }
    return count;
}

/* Packets that must have been sent were never captured: all buffers up to the last one that was sent are full of
 * packets. After it a receiver may GO what never comes. */
static bool has_holes(const struct nb_stream *stream)
{
    const struct nb_totals *totals = &stream->buffers.totals;

    return stream->account.exhausted_frame != 0 || (totals->started > 0 && totals->complete != buffers_sent(stream));
}

/* RFC 1030 section 3: user's bits by the time from start to finish; here OPEN (else the first packet) to the DONE (else
 * the last packet). */
static struct nb_cell real_speed(const struct nb_history *history)
{
    const struct nb_totals *totals = &history->stream->buffers.totals;
    const nb_moment open = nb_first_of_type(history->stream, NB_OPEN);
    const nb_moment done = nb_first_of_type(history->stream, NB_DONE);
    const double from = open != 0 ? nb_seconds(nb_time_of(open)) : history->first_s;
    const double until = done != 0 ? nb_seconds(nb_time_of(done)) : history->last_s;
    struct nb_cell cell = nb_cell_unknown();

    if (until > from && totals->bytes > 0) {
        cell = nb_cell_real((double)totals->bytes * BITS_PER_BYTE / (until - from) / BITS_PER_MEGABIT);
        cell.estimate = open == 0 || done == 0 || has_holes(history->stream);
    }
    return cell;
}

/* When packet 0 of a buffer was first sent; of its first packet captured when that one is missing. */
static double started(const struct nb_buffer_life *buffer)
{
    const nb_moment zero = nb_first_sent(buffer, 0);

    return nb_seconds(nb_time_of(zero != 0 ? zero : buffer->first_data));
}

/* The bits of the full buffers but the last of these, by the time from the first transmission of their first packet to
 * that of the last one's. Setup and the recovery at the end drop out; retransmissions cost time and carry nothing. */
static struct nb_cell steady_speed(const struct nb_history *history)
{
    const struct nb_totals *totals = &history->stream->buffers.totals;
    const uint32_t full = nb_agreed_terms(history->stream)->buffer_size;
    const struct nb_buffer_life *first = totals->lowest, *last = totals->highest;
    uint64_t bytes = totals->bytes;

    if (first == NULL) {
        return nb_cell_unknown();
    }
    bytes -= last->bytes;
    if (totals->below_highest != NULL && (full != 0 ? last->bytes < full : last->last)) {
        last = totals->below_highest;
        bytes -= last->bytes;
    }
    const double seconds = started(last) - started(first);
    if (last == first || seconds <= 0) {
        return nb_cell_unknown();
    }
    struct nb_cell cell = nb_cell_real((double)bytes * BITS_PER_BYTE / seconds / BITS_PER_MEGABIT);
    cell.estimate = nb_first_sent(first, 0) == 0 || nb_first_sent(last, 0) == 0 || has_holes(history->stream);
    return cell;
}

static struct nb_cell agreed(const struct nb_terms *terms, uint64_t value)
{
    return terms->frame != 0 ? nb_cell_uint(value) : nb_cell_unknown();
}

static struct nb_cell pace(const struct nb_history *history)
{
    const struct nb_terms *terms = nb_agreed_terms(history->stream);
    struct nb_cell cell = nb_cell_unknown();

    if (terms->frame != 0) {
        cell.kind = NB_CELL_TEXT;
        cell.text = g_strdup_printf("%u/%u", terms->burst_size, terms->burst_interval);
    }
    return cell;
}

static struct nb_cell end_of(const struct nb_history *history, int end)
{
    return (struct nb_cell){.kind = NB_CELL_TEXT, .text = nb_stream_end_text(history->stream, end)};
}

static const struct nb_column columns[] = {
    {"STREAM", NULL, 0, NB_RIGHT},
    {"SENDER", NULL, 0, NB_LEFT},
    {"RECEIVER", NULL, 0, NB_LEFT},
    {"BS/BI", "bs_bi", 0, NB_RIGHT},
    {"PSZ", "psz", 0, NB_RIGHT},
    {"BFSZ", "bfsz", 0, NB_RIGHT},
    {"XFSZ", "xfsz", 3, NB_RIGHT},
    {"NBUFS", "nbufs", 0, NB_RIGHT},
    {"#LOSS", "loss", 0, NB_RIGHT},
    {"#RXM", "rxm", 0, NB_RIGHT},
    {"DTMOS", "dtmos", 0, NB_RIGHT},
    {"REAL", "real_mbps", 4, NB_RIGHT},
    {"STEADY", "steady_mbps", 4, NB_RIGHT},
    {"SECONDS", "seconds", 6, NB_RIGHT},
    {"BUFFERS", "buffers", 0, NB_RIGHT},
    {"END", "end", 0, NB_LEFT},
};

static const char *how_it_ended(const struct nb_history *history)
{
    if (nb_first_of_type(history->stream, NB_DONE) != 0) {
        return "DONE";
    }
    return history->stream->closed ? "closed" : "open";
}

static void row(const struct nb_history *history, guint i _U_, struct nb_cell *cells)
{
    const struct nb_terms *terms = nb_agreed_terms(history->stream);
    const struct nb_totals *totals = &history->stream->buffers.totals;
    const int sender = history->stream->sender >= 0 ? history->stream->sender : 0;
    struct nb_cell *cell = cells;

    *cell++ = nb_cell_uint(history->stream->index);
    *cell++ = nb_cell_estimate(end_of(history, sender));
    *cell++ = end_of(history, 1 - sender);
    cells[1].estimate = history->stream->sender < 0;
    *cell++ = pace(history);
    *cell++ = agreed(terms, terms->data_packet_size);
    *cell++ = agreed(terms, terms->buffer_size);
    *cell = nb_cell_real((double)totals->bytes / 1000);
    (cell++)->estimate = has_holes(history->stream);
    *cell++ = agreed(terms, terms->max_buffers);
    *cell++ = nb_cell_estimate(nb_cell_uint(totals->lost));
    *cell = nb_cell_uint(totals->retransmitted);
    (cell++)->estimate = has_holes(history->stream) || totals->lost > totals->retransmitted;
    *cell++ = nb_cell_estimate(nb_cell_uint(totals->resends));
    *cell++ = real_speed(history);
    *cell++ = steady_speed(history);
    *cell++ = nb_cell_real(history->last_s - history->first_s);
    *cell++ = nb_cell_uint(totals->started);
    *cell++ = nb_cell_text(how_it_ended(history));
}

const struct nb_table nb_table_summary = {NULL, NULL, columns, array_length(columns), one, row, NULL};

static const struct nb_table *const tables[] = {&nb_table_summary};

const struct nb_report nb_report_summary = {
    "summary",
    "NETBLT connections, in the columns of RFC 1030",
    "BS/BI: packets per burst / burst interval in ms. PSZ, BFSZ: bytes. NBUFS: as\n"
    "agreed by OPEN and RESPONSE. XFSZ: 1000 bytes that were captured, each packet\n"
    "once. #RXM: DATA packets captured or requested before.\n"
    "REAL, STEADY: megabits per second, from OPEN to DONE, and between the first\n"
    "packets of the first and last full buffer.\n"
    "~ inferred: #LOSS counts packets that RESENDs name, DTMOS different RESENDs\n"
    "(each takes a data timeout). ? cannot be known from this capture.\n",
    tables,
    array_length(tables),
};
