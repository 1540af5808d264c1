/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines that `netblt perf` prints at regular intervals while data move (--interval). */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/perf/perf.h"
#include "cli/report/report.h"
#include "cli/report/text.h"
#include "io/clock.h"

#define INTERVAL_DEFAULT_S 1
/* Buffers complete as a whole, so that a part of an interval shorter than this share of it has no rate. */
#define RATE_SHARE_MIN 0.1

void perf_lines_begin(perf *all)
{
    const options *given = all->given;
    bool wanted = given->interval_s.given || (isatty(STDOUT_FILENO) == 1 && !given->quiet);
    uint64_t seconds = options_number_or(given->interval_s, INTERVAL_DEFAULT_S);
    all->lines.every_us = wanted && !given->json ? seconds * 1000000 : 0;
}

/* Data of a peer that may not exist are no measurement. */
static bool is_measured(const perf_run *run)
{
    return run->kind == PERF_DATA && run->validated && run->work.opened && !run->reported;
}

/* A transfer besides `but`; with `under_way`, one that is not over. */
static bool is_any_measured(const perf *all, const perf_run *but, bool under_way)
{
    const perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place)
        if (run != but && is_measured(run) && !(under_way && run->work.finished))
            return true;
    return false;
}

/* Adds what a transfer moved since it was last looked at. */
static void look_at(perf_lines *lines, perf_run *run)
{
    const netblt_stats *stats = &run->work.info.stats;
    bool sends = run->work.role == NETBLT_SENDER;
    uint64_t repeated;
    if (!run->work.finished)
        netblt_get_info(run->work.connection, &run->work.info);
    repeated = sends ? stats->data_packets_retransmitted : stats->resends_sent;
    lines->bytes += stats->payload_bytes - run->lined_bytes;
    *(sends ? &lines->retransmitted : &lines->resends) += repeated - run->lined_repeated;
    run->lined_bytes = stats->payload_bytes;
    run->lined_repeated = repeated;
}

/* "  2.00-3.00  s   12.5 MB  100.0 Mb/s  3 retransmitted": sums over all transfers that were under way. */
static void print_line(perf *all, netblt_time until)
{
    perf_lines *lines = &all->lines;
    char bytes[TEXT_AMOUNT_BYTES];
    char rate[TEXT_AMOUNT_BYTES] = "-";
    double seconds = transfer_seconds(lines->from, until);
    if (seconds * 1e6 >= RATE_SHARE_MIN * (double)lines->every_us)
        text_rate(summary_rate(lines->bytes, seconds), rate);
    printf("%6.2f-%-6.2f s %9s %10s", transfer_seconds(lines->origin, lines->from),
           transfer_seconds(lines->origin, until), text_bytes(lines->bytes, bytes), rate);
    if (lines->sends)
        printf("  %" PRIu64 " retransmitted", lines->retransmitted);
    if (lines->receives)
        printf("  %" PRIu64 " RESENDs", lines->resends);
    putchar('\n');
    (void)report_flush(); /* what is wrong with stdout shows at the end */
    lines->from = until;
    lines->bytes = lines->retransmitted = lines->resends = 0;
    all->has_head = false;
}

/* The time of the lines begins with the first OPEN of an active end; at a passive end whenever a transfer begins and
 * there is no other. */
static void start(perf *all, const perf_run *run)
{
    perf_lines *lines = &all->lines;
    if (all->given->passive || lines->origin == 0)
        lines->origin = run->work.started_at;
    lines->from = run->work.started_at;
    lines->next_at = lines->from + lines->every_us;
    lines->running = true;
    lines->sends = lines->receives = false;
}

static void look_at_all(perf *all)
{
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place) {
        if (!is_measured(run))
            continue;
        if (!all->lines.running)
            start(all, run);
        *(run->work.role == NETBLT_SENDER ? &all->lines.sends : &all->lines.receives) = true;
        look_at(&all->lines, run);
    }
}

netblt_time perf_lines_show(perf *all, netblt_time now)
{
    perf_lines *lines = &all->lines;
    if (lines->every_us == 0 || (lines->running && now < lines->next_at))
        return lines->every_us == 0 ? NETBLT_TIME_NEVER : lines->next_at;
    if (!is_any_measured(all, NULL, true))
        return NETBLT_TIME_NEVER;
    look_at_all(all);
    if (now >= lines->next_at) {
        print_line(all, now);
        lines->next_at += lines->every_us;
        if (lines->next_at <= now)
            lines->next_at = now + lines->every_us;
    }
    return lines->next_at;
}

void perf_lines_end_run(perf *all, perf_run *run)
{
    perf_lines *lines = &all->lines;
    if (!lines->running)
        return;
    look_at(lines, run);
    if (is_any_measured(all, run, false))
        return;
    if (lines->bytes > 0 && run->work.finished_at > lines->from)
        print_line(all, run->work.finished_at);
    lines->running = false;
}
