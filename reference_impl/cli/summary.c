/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/summary.h"

#include <inttypes.h>

#include "cli/text.h"

static double rate_of(uint64_t bytes, double seconds)
{
    return seconds > 0 ? (double)bytes * 8 / seconds : 0;
}

void summary_write_negotiated(const summary *end, json_writer *json)
{
    const netblt_params *params = &end->info.negotiated;

    if (!end->was_opened) {
        json_null(json, "negotiated");
        return;
    }
    json_begin(json, "negotiated");
    json_number(json, "buffer_size", params->buffer_size);
    json_number(json, "packet_size", params->packet_size);
    json_number(json, "burst_size", params->burst_size);
    json_number(json, "burst_interval_ms", params->burst_interval_ms);
    json_number(json, "death_timer_s", params->death_timer_s);
    json_number(json, "max_buffers", params->max_buffers);
    json_bool(json, "data_checksum", params->data_checksum);
    json_string(json, "peer_string", end->info.peer_string);
    json_end(json);
}

void summary_write_members(const summary *end, json_writer *json)
{
    const netblt_stats *stats = &end->info.stats; /* all zero without a connection */

    json_string(json, "result", end->result);
    json_string(json, "reason", end->reason);
    json_string(json, "role", end->role == NETBLT_SENDER ? "sender" : "receiver");
    json_bool(json, "active", end->active);
    json_number(json, "bytes", end->bytes);
    json_string(json, "sha256", end->sha256[0] == '\0' ? NULL : end->sha256);
    json_real(json, "seconds", end->seconds);
    json_real(json, "goodput_bps", rate_of(end->bytes, end->seconds));
    json_real(json, "steady_bps", rate_of(end->bytes, end->steady_seconds));
    json_number(json, "packets_sent", stats->packets_sent);
    json_number(json, "packets_retransmitted", stats->data_packets_retransmitted);
    json_number(json, "data_timeouts", stats->data_timeouts);
    json_number(json, "wire_bytes", end->wire_bytes);
    summary_write_negotiated(end, json);
}

void summary_print_json(const summary *end, FILE *to)
{
    json_writer json = {.to = to};

    json_begin(&json, NULL);
    summary_write_members(end, &json);
    json_end(&json);
    fputc('\n', to);
}

void summary_print_text(const summary *end, FILE *to)
{
    const netblt_stats *stats = &end->info.stats;
    char printable[256];
    char rate[TEXT_AMOUNT_BYTES];
    bool sender = end->role == NETBLT_SENDER;

    fprintf(to, "%s %s: %" PRIu64 " bytes in %.3f s (%s)", sender ? "sent" : "received",
            text_printable(end->name, printable, sizeof printable), end->bytes, end->seconds,
            text_rate(rate_of(end->bytes, end->seconds), rate));
    if (sender)
        fprintf(to, ", %" PRIu64 " packets, %" PRIu64 " sent again\n", stats->packets_sent,
                stats->data_packets_retransmitted);
    else
        fprintf(to, ", %" PRIu64 " packets, %" PRIu64 " resends asked for, %" PRIu64 " data timeouts\n",
                stats->packets_received, stats->resends_sent, stats->data_timeouts);
    fprintf(to, "sha256 %s\n", end->sha256);
}
