/* SPDX-License-Identifier: BSD-2-Clause */
/* The result of a transfer: who ended it and why, the exit code, text and JSON. */
#include <inttypes.h>
#include <string.h>

#include "cli/report/text.h"
#include "cli/transfer/transfer.h"

static enum exit_code exit_code_of_failure(const netblt_failure *failure)
{
    switch (failure->kind) {
    case NETBLT_FAILURE_UNREACHABLE:
        return EXIT_CODE_UNREACHABLE;
    case NETBLT_FAILURE_UNSUPPORTED:
        return EXIT_CODE_UNSUPPORTED;
    default:
        return EXIT_CODE_LOCAL;
    }
}

static const char *failure_result(enum netblt_failure_kind kind)
{
    return kind == NETBLT_FAILURE_UNREACHABLE   ? netblt_result_name(NETBLT_UNREACHABLE)
           : kind == NETBLT_FAILURE_UNSUPPORTED ? "not-supported"
                                                : "local-error";
}

/* Writes the outcome of the protocol as text: which end ended it, and what to do. */
static void explain(const transfer *work, char *text, size_t capacity)
{
    const char *peer = work->peer;
    char words[NETBLT_STRING_MAX_BYTES + 1];
    text_printable(work->reason, words, sizeof words);
    switch (work->outcome) {
    case NETBLT_DONE:
        snprintf(text, capacity, "done");
        break;
    case NETBLT_REFUSED:
        snprintf(text, capacity, "%s refused: %s", peer, words);
        break;
    case NETBLT_UNREACHABLE:
        snprintf(text, capacity, "%s does not answer on port %u: is netblt waiting there with --passive?", peer,
                 (uint16_t)work->net->given->port.value);
        break;
    case NETBLT_PEER_QUIT:
        snprintf(text, capacity, "%s stopped the transfer: %s", peer, words);
        break;
    case NETBLT_PEER_ABORTED:
        snprintf(text, capacity, "%s aborted the transfer: %s", peer, words);
        break;
    case NETBLT_LOCAL_QUIT:
    case NETBLT_LOCAL_ABORT:
        snprintf(text, capacity, "%s", words);
        break;
    case NETBLT_PEER_DEAD:
        snprintf(text, capacity, "%s has been silent for %u s: gave it up", peer, work->info.negotiated.death_timer_s);
        break;
    }
}

static enum exit_code exit_code_of_outcome(enum netblt_result result)
{
    if (result == NETBLT_DONE)
        return EXIT_CODE_DONE;
    return result == NETBLT_REFUSED || result == NETBLT_UNREACHABLE ? EXIT_CODE_UNREACHABLE : EXIT_CODE_FAILED;
}

/* A transfer that fails at its very end may have given the file its name: the user should know. */
static void tell_what_is_stored(const transfer *work, summary *end)
{
    size_t length = strlen(end->reason);
    if (work->to != NULL && sink_is_stored(work->to))
        snprintf(end->reason + length, sizeof end->reason - length, "; %s holds the new data", work->name);
}

/* Sets result and reason, answers the exit code. What happened outside the protocol explains more than its outcome. */
static enum exit_code judge(const transfer *work, summary *end)
{
    bool started = work->opened || work->finished;
    bool complete = work->finished && work->outcome == NETBLT_DONE;
    if (work->failure.kind != NETBLT_FAILURE_NONE) {
        end->result = failure_result(work->failure.kind);
        snprintf(end->reason, sizeof end->reason, "%s", work->failure.text);
        return started && work->failure.kind != NETBLT_FAILURE_UNSUPPORTED ? EXIT_CODE_FAILED
                                                                           : exit_code_of_failure(&work->failure);
    }
    if (work->interrupted && !complete) {
        end->result = work->finished && work->opened ? netblt_result_name(work->outcome) : "interrupted";
        snprintf(end->reason, sizeof end->reason, "interrupted by the user");
        return EXIT_CODE_INTERRUPTED;
    }
    end->result = netblt_result_name(work->outcome);
    explain(work, end->reason, sizeof end->reason);
    return exit_code_of_outcome(work->outcome);
}

double transfer_seconds(netblt_time from, netblt_time to)
{
    return from != 0 && to > from ? (double)(to - from) / 1e6 : 0;
}

enum exit_code transfer_judge(const transfer *work, summary *end)
{
    const netblt_stats *stats = &work->info.stats;
    size_t header_bytes =
        netblt_encap_overhead_bytes(work->net->given->encap, netblt_address_family(&work->info.path.foreign));
    enum exit_code code;
    *end = (summary){
        .role = work->role, .active = !work->net->given->passive, .name = work->name, .transfers = work->opened};
    code = judge(work, end);
    if (code != EXIT_CODE_DONE)
        tell_what_is_stored(work, end);
    end->info = work->info;
    end->was_opened = work->opened;
    end->bytes = stats->payload_bytes;
    if (transfer_ends_in_hash(work) && work->outcome == NETBLT_DONE)
        end->bytes -= DIGEST_BYTES;
    end->seconds = transfer_seconds(work->started_at, work->finished_at);
    end->steady_seconds = transfer_seconds(stats->first_data_at, stats->last_buffer_at);
    end->wire_bytes = stats->bytes_sent + stats->packets_sent * header_bytes;
    if (transfer_is_tree(work)) /* its sums are those of its files */
        return code;
    if (code == EXIT_CODE_DONE && work->from != NULL)
        source_digest(work->from, end->sha256);
    else if (code == EXIT_CODE_DONE && work->to != NULL)
        sink_digest(work->to, end->sha256);
    return code;
}

enum exit_code transfer_judge_failure(const options *given, const netblt_failure *failure, summary *end)
{
    *end = (summary){.result = failure_result(failure->kind), .role = given->role, .active = !given->passive};
    snprintf(end->reason, sizeof end->reason, "%s", failure->text);
    return exit_code_of_failure(failure);
}

/* ---- text and JSON ------------------------------------------------------------------------------------------------
 */

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
    return json_pack("{s:s, s:o, s:s, s:b, s:I, s:o, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:b, "
                     "s:I, s:o}",
                     "result", end->result, "reason", json_text(end->reason), "role", text_role(end->role), "active",
                     (int)end->active, "bytes", JSON_WHOLE(end->bytes), "sha256",
                     json_text(end->sha256[0] == '\0' ? NULL : end->sha256), "seconds", end->seconds, "goodput_bps",
                     summary_rate(end->bytes, end->seconds), "steady_bps",
                     summary_rate(end->bytes, end->steady_seconds), "packets_sent", JSON_WHOLE(stats->packets_sent),
                     "packets_retransmitted", JSON_WHOLE(stats->data_packets_retransmitted), "packets_duplicate",
                     JSON_WHOLE(stats->data_packets_duplicate), "data_timeouts", JSON_WHOLE(stats->data_timeouts),
                     "wire_bytes", JSON_WHOLE(end->wire_bytes), "negotiated", summary_negotiated(end), "blake3",
                     json_text(end->blake3[0] == '\0' ? NULL : end->blake3), "files",
                     json_known(end->is_tree, end->files), "bytes_held", json_known(end->is_tree, end->bytes_held),
                     "resumed", (int)end->resumed, "transfers", JSON_WHOLE(end->transfers), "sums",
                     end->sums != NULL ? end->sums : json_null());
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
    if (end->is_tree && (end->files != 1 || end->bytes_held > 0))
        fprintf(stderr, "%" PRIu32 " files, %s were there already\n", end->files, text_bytes(end->bytes_held, rate));
    if (end->sha256[0] != '\0')
        fprintf(stderr, "sha256 %s\n", end->sha256);
    if (end->blake3[0] != '\0')
        fprintf(stderr, "blake3 %s\n", end->blake3);
}

enum exit_code transfer_report_failure(const options *given, const netblt_failure *failure)
{
    summary end;
    enum exit_code code = transfer_judge_failure(given, failure, &end);
    report_error("%s", end.reason);
    if (given->json)
        report_object(summary_object(&end));
    return code;
}
