/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control messages are repeated until they are acknowledged (CTRL-04). How often was each sent, and what did it cost
 * when CONTROL or DATA packets were lost? */
#include "reports/stats-report.h"

#include "decode/netblt.h"

static const char *const type_names[] = {[NB_GO] = "GO", [NB_OK] = "OK", [NB_RESEND] = "RESEND"};

static guint count_messages(struct nb_history *history)
{
    return nb_history_messages(history)->len;
}

static const struct nb_column message_columns[] = {
    {"SEQ", "seq", 0, NB_RIGHT},
    {"MESSAGE", "message", 0, NB_LEFT},
    {"BUFFER", "buffer", 0, NB_RIGHT},
    {"NAMED", "packets_named", 0, NB_RIGHT},
    {"SENT", "times_sent", 0, NB_RIGHT},
    {"AFTER", "sent_after_acknowledgement", 0, NB_RIGHT},
    {"FIRST", "first", 6, NB_RIGHT},
    {"ACKED", "acknowledged", 6, NB_RIGHT},
    {"ACK ms", "acknowledgement_ms", 3, NB_RIGHT},
    {"EXTRA ms", "extra_ms", 3, NB_FINAL},
    {"EFFECT ms", "effect_ms", 3, NB_RIGHT},
    {"CAME", "packets_came", 0, NB_RIGHT},
    {"FIRST#", "first_frame", 0, NB_RIGHT},
    {"ACKED#", "acknowledged_frame", 0, NB_RIGHT},
    {"EFFECT#", "effect_frame", 0, NB_RIGHT},
};

void nb_message_row(const struct nb_stream *stream, const struct nb_message_life *message, struct nb_cell *cells)
{
    const struct nb_effect effect = nb_effect_of(stream, message);
    const nb_moment first = nb_message_first(message);
    struct nb_cell *cell = cells;

    *cell++ = nb_cell_uint((uint16_t)nb_seq_of(stream, message));
    *cell++ = nb_cell_text(message->type < array_length(type_names) ? type_names[message->type] : "?");
    *cell++ = nb_cell_uint(message->buffer);
    *cell++ = effect.known ? nb_cell_uint(effect.named) : nb_cell_none();
    *cell++ = nb_cell_uint(message->sent);
    *cell++ = nb_cell_uint(nb_sent_in_vain(message));
    *cell++ = nb_cell_time(first);
    *cell++ = nb_cell_time(message->acked);
    *cell++ = nb_cell_span(first, message->acked);
    *cell = nb_cell_span(first, message->acked);
    (cell++)->real -= stream->quickest_ack * 1000;
    *cell++ = nb_cell_span(first, effect.moment);
    *cell++ = effect.known ? nb_cell_uint(effect.came) : nb_cell_none();
    *cell++ = nb_cell_frame(first);
    *cell++ = nb_cell_frame(message->acked);
    *cell++ = nb_cell_frame(effect.moment);
}

static void message_row(const struct nb_history *history, guint i, struct nb_cell *cells)
{
    nb_message_row(history->stream, g_ptr_array_index(history->messages, i), cells);
}

const struct nb_table nb_table_messages = {
    "messages", "Control messages", message_columns, array_length(message_columns), count_messages, message_row, NULL};

static guint count_types(struct nb_history *history)
{
    nb_history_messages(history);
    return array_length(type_names);
}

static const struct nb_column type_columns[] = {
    {"MESSAGE", "message", 0, NB_LEFT},
    {"MESSAGES", "messages", 0, NB_RIGHT},
    {"SENT", "sent", 0, NB_RIGHT},
    {"PER MESSAGE", "sent_per_message", 2, NB_RIGHT},
    {"MOST", "most", 0, NB_RIGHT},
    {"AFTER", "sent_after_acknowledgement", 0, NB_RIGHT},
    {"UNACKED", "unacknowledged", 0, NB_RIGHT},
    {"MEAN ACK ms", "mean_acknowledgement_ms", 3, NB_RIGHT},
    {"MOST EXTRA ms", "most_extra_ms", 3, NB_RIGHT},
    {"MEAN EFFECT ms", "mean_effect_ms", 3, NB_RIGHT},
    {"MOST EFFECT ms", "most_effect_ms", 3, NB_RIGHT},
};

struct type_totals {
    uint64_t messages, sent, most, in_vain, acked, with_effect;
    double ack_sum, ack_most, effect_sum, effect_most;
};

static double seconds_between(nb_moment from, nb_moment until)
{
    return nb_seconds(nb_time_of(until)) - nb_seconds(nb_time_of(from));
}

static void add_message(struct type_totals *totals, const struct nb_stream *stream,
                        const struct nb_message_life *message)
{
    const nb_moment first = nb_message_first(message), effect = nb_effect_of(stream, message).moment;

    totals->messages++;
    totals->sent += message->sent;
    totals->most = MAX(totals->most, message->sent);
    totals->in_vain += nb_sent_in_vain(message);
    if (message->acked != 0) {
        const double took = seconds_between(first, message->acked);
        totals->acked++;
        totals->ack_sum += took;
        totals->ack_most = MAX(totals->ack_most, took);
    }
    if (effect != 0) {
        totals->with_effect++;
        totals->effect_sum += seconds_between(first, effect);
        totals->effect_most = MAX(totals->effect_most, seconds_between(first, effect));
    }
}

static struct type_totals totals_of(const struct nb_history *history, guint type)
{
    struct type_totals totals = {0};

    for (guint i = 0; i < history->messages->len; i++) {
        const struct nb_message_life *message = g_ptr_array_index(history->messages, i);
        if (message->type == type) {
            add_message(&totals, history->stream, message);
        }
    }
    return totals;
}

static struct nb_cell ms(bool known, double seconds)
{
    return known ? nb_cell_real(seconds * 1000) : nb_cell_none();
}

static void type_row(const struct nb_history *history, guint i, struct nb_cell *cells)
{
    const struct type_totals totals = totals_of(history, i);
    struct nb_cell *cell = cells;

    *cell++ = nb_cell_text(type_names[i]);
    *cell++ = nb_cell_uint(totals.messages);
    *cell++ = nb_cell_uint(totals.sent);
    *cell++ = totals.messages > 0 ? nb_cell_real((double)totals.sent / (double)totals.messages) : nb_cell_none();
    *cell++ = nb_cell_uint(totals.most);
    *cell++ = nb_cell_uint(totals.in_vain);
    *cell++ = nb_cell_uint(totals.messages - totals.acked);
    *cell++ = ms(totals.acked > 0, totals.ack_sum / (double)MAX(totals.acked, 1));
    *cell++ = ms(totals.acked > 0, totals.ack_most - history->stream->quickest_ack);
    *cell++ = ms(totals.with_effect > 0, totals.effect_sum / (double)MAX(totals.with_effect, 1));
    *cell++ = ms(totals.with_effect > 0, totals.effect_most);
}

static const struct nb_table table_types = {"types",     "By message", type_columns, array_length(type_columns),
                                            count_types, type_row,     NULL};

static const struct nb_table *const tables[] = {&table_types, &nb_table_messages};

const struct nb_report nb_report_redundancy = {
    "redundancy",
    "NETBLT control messages: how often they were sent, and what losses cost",
    "SENT: captured CONTROL packets with the message. AFTER: those of them that\n"
    "follow its captured acknowledgement.\n"
    "ACK: time from its first transmission to its acknowledgement. EXTRA: the part\n"
    "of this time above the shortest of the connection, which is the cost of lost\n"
    "CONTROLs, of lost acknowledgements, and of waiting for the next packet that\n"
    "acknowledges. EFFECT: time from a GO to the first packet of its buffer, from a\n"
    "RESEND to the last of the packets that it named: the cost of lost DATA.\n"
    "CAME: how many of those packets were captured since.\n",
    tables,
    array_length(tables),
};
