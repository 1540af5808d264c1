/* SPDX-License-Identifier: BSD-2-Clause */
/* The result of a transfer, as text and as JSON: see summary.h. */
#include "cli/transfer/summary.h"

#include <inttypes.h>

#include "cli/report/text.h"

double summary_rate(uint64_t bytes, double seconds)
{
    return seconds > 0 ? (double)bytes * 8 / seconds : 0;
}

json_t *summary_negotiated(const summary *end)
{
    const netblt_params *params = &end->info.negotiated;
    if (!end->was_opened)
        return json_null();
    return json_pack("{s:I, s:I, s:i, s:i, s:i, s:i, s:b, s:o}", "buffer_size", JSON_WHOLE(params->buffer_size),
                     "packet_size", JSON_WHOLE(params->packet_size), "burst_size", (int)params->burst_size,
                     "burst_interval_ms", (int)params->burst_interval_ms, "death_timer_s", (int)params->death_timer_s,
                     "max_buffers", (int)params->max_buffers, "data_checksum", (int)params->data_checksum,
                     "peer_string", json_text(end->info.peer_string));
}

json_t *summary_object(const summary *end)
{
    const netblt_stats *stats = &end->info.stats; /* all zero without a connection */
    return json_pack("{s:s, s:o, s:s, s:b, s:I, s:o, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:o}", "result", end->result,
                     "reason", json_text(end->reason), "role", text_role(end->role), "active", (int)end->active,
                     "bytes", JSON_WHOLE(end->bytes), "sha256", json_text(end->sha256[0] == '\0' ? NULL : end->sha256),
                     "seconds", end->seconds, "goodput_bps", summary_rate(end->bytes, end->seconds), "steady_bps",
                     summary_rate(end->bytes, end->steady_seconds), "packets_sent", JSON_WHOLE(stats->packets_sent),
                     "packets_retransmitted", JSON_WHOLE(stats->data_packets_retransmitted), "data_timeouts",
                     JSON_WHOLE(stats->data_timeouts), "wire_bytes", JSON_WHOLE(end->wire_bytes), "negotiated",
                     summary_negotiated(end));
}

void summary_print_text(const summary *end)
{
    const netblt_stats *stats = &end->info.stats;
    bool sender = end->role == NETBLT_SENDER;
    char printable[256];
    char rate[TEXT_AMOUNT_BYTES];
    fprintf(stderr, "%s %s: %" PRIu64 " bytes in %.3f s (%s)", sender ? "sent" : "received",
            text_printable(end->name, printable, sizeof printable), end->bytes, end->seconds,
            text_rate(summary_rate(end->bytes, end->seconds), rate));
    if (sender)
        fprintf(stderr, ", %" PRIu64 " packets, %" PRIu64 " retransmitted\n", stats->packets_sent,
                stats->data_packets_retransmitted);
    else
        fprintf(stderr, ", %" PRIu64 " packets, %" PRIu64 " RESENDs sent, %" PRIu64 " data timeouts\n",
                stats->packets_received, stats->resends_sent, stats->data_timeouts);
    fprintf(stderr, "sha256 %s\n", end->sha256);
}
