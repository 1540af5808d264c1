/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cli/report/text.h"
#include "cli/transfer/transfer.h"

enum exit_code transfer_exit_code_of(const netblt_failure *failure)
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

/* Puts the outcome of the protocol into words that say who ended it and what to do. */
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
        return started ? EXIT_CODE_FAILED : transfer_exit_code_of(&work->failure);
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
    size_t header_bytes = station_overhead_bytes(work->net->given, &work->info.path.foreign);
    enum exit_code code;
    *end = (summary){.role = work->role, .active = work->active, .name = work->name};
    code = judge(work, end);
    if (code != EXIT_CODE_DONE)
        tell_what_is_stored(work, end);
    end->info = work->info;
    end->was_opened = work->opened;
    end->bytes = stats->payload_bytes;
    if (work->info.ends_in_hash && work->outcome == NETBLT_DONE)
        end->bytes -= DIGEST_BYTES;
    end->seconds = transfer_seconds(work->started_at, work->finished_at);
    end->steady_seconds = transfer_seconds(stats->first_data_at, stats->last_buffer_at);
    end->wire_bytes = stats->bytes_sent + stats->packets_sent * header_bytes;
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
    return transfer_exit_code_of(failure);
}
