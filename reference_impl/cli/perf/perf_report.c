/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables and JSON of `netblt perf`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/perf/perf.h"
#include "cli/report/report.h"
#include "cli/report/text.h"
#include "cli/transfer/transfer.h"
#include "io/clock.h"

/* SPEED is what RFC 1030 lists: steady-state throughput; R-SPEED is its "real throughput", of the whole transfer with
 * set-up and the end. Megabits per second; XFSZ in units of 1000 bytes. */
#define TABLE_HEAD "BS/BI      PSZ     BFSZ     XFSZ  NBUFS  #LOSS   #RXM  DTMOS    SPEED  R-SPEED"

/* Steady-state throughput is believed when both ends saw it; above a link's rate only the sender does. */
#define STEADY_TOLERANCE 0.02

/* What both ends know of a transfer, put together. */
struct row {
    const perf_figures *sender; /* .known */
    const perf_figures *receiver;
    bool loss_known;
    uint64_t lost;
    double real_bps;
    double steady_bps; /* the sender's if it is known, else the receiver's */
    bool is_steady;
};

static struct row make_row(const perf_run *run, const summary *end)
{
    bool sends = run->work.role == NETBLT_SENDER;
    const perf_figures *sender = sends ? &run->own : &run->others;
    const perf_figures *receiver = sends ? &run->others : &run->own;
    double sent_bps = (double)sender->steady_bps; /* 0 when not known */
    double received_bps = (double)receiver->steady_bps;
    double apart = sent_bps > received_bps ? sent_bps - received_bps : received_bps - sent_bps;
    bool both_known = sender->known && receiver->known;
    bool lost = both_known && sender->data_packets > receiver->data_packets;
    return (struct row){
        .sender = sender,
        .receiver = receiver,
        .loss_known = both_known,
        .lost = lost ? sender->data_packets - receiver->data_packets : 0,
        .real_bps = summary_rate(run->work.info.stats.payload_bytes, end->seconds),
        .steady_bps = sent_bps > 0 ? sent_bps : received_bps,
        .is_steady = both_known && sent_bps > 0 && apart <= STEADY_TOLERANCE * sent_bps,
    };
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

/* "-" for what is not known. */
static const char *count_text(bool known, uint64_t value, char text[24])
{
    if (known)
        snprintf(text, 24, "%" PRIu64, value);
    else
        snprintf(text, 24, "-");
    return text;
}

static void print_head(perf *all)
{
    puts(TABLE_HEAD);
    all->has_head = true;
}

static void print_row(const perf_run *run, const struct row *row)
{
    const netblt_params *params = &run->work.info.negotiated;
    char bursts[16];
    char lost[24];
    char resent[24];
    char timeouts[24];
    char steady[24] = "-";
    snprintf(bursts, sizeof bursts, "%u/%u", params->burst_size, params->burst_interval_ms);
    if (row->steady_bps > 0)
        snprintf(steady, sizeof steady, "%.2f", row->steady_bps / 1e6);
    printf("%-9s %4u %8u %8" PRIu64 " %6u %6s %6s %6s %8s %8.2f\n", bursts, params->packet_size, params->buffer_size,
           run->work.info.stats.payload_bytes / 1000, params->max_buffers, count_text(row->loss_known, row->lost, lost),
           count_text(row->sender->known, row->sender->retransmitted, resent),
           count_text(row->receiver->known, row->receiver->data_timeouts, timeouts), steady, row->real_bps / 1e6);
    fflush(stdout);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static json_t *transfer_object(const perf_run *run, const struct row *row, const summary *end)
{
    const netblt_stats *stats = &run->work.info.stats;
    const perf_figures *sender = row->sender;
    const perf_figures *receiver = row->receiver;
    json_t *object = json_pack(
        "{s:i, s:s, s:s, s:o, s:s, s:b, s:I, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:b, s:I, s:o, s:o, s:o, s:o, s:o, "
        "s:I, s:o, s:f}",
        "lane", (int)run->lane, "peer", run->peer, "result", end->result, "reason", json_text(end->reason), "role",
        text_role(end->role), "active", (int)end->active, "bytes", JSON_WHOLE(stats->payload_bytes), "seconds",
        end->seconds, "setup_seconds", transfer_seconds(run->work.started_at, stats->opened_at), "data_seconds",
        end->steady_seconds, "goodput_bps", row->real_bps, "steady_bps", json_positive(row->steady_bps),
        "sender_steady_bps", json_positive((double)sender->steady_bps), "receiver_steady_bps",
        json_positive((double)receiver->steady_bps), "steady", (int)row->is_steady, "packets_sent",
        JSON_WHOLE(stats->packets_sent), "data_packets_sent", json_known(sender->known, sender->data_packets),
        "data_packets_received", json_known(receiver->known, receiver->data_packets), "packets_lost",
        json_known(row->loss_known, row->lost), "packets_retransmitted",
        json_known(sender->known, sender->retransmitted), "data_timeouts",
        json_known(receiver->known, receiver->data_timeouts), "wire_bytes", JSON_WHOLE(end->wire_bytes),
        "round_trip_seconds", json_positive((double)stats->round_trip_us / 1e6), "cpu_seconds", run->cpu_s);
    if (run->intervals != NULL) {
        json_object_set_new(object, "first_us", json_integer(JSON_WHOLE(run->first_at)));
        json_object_set_new(object, "last_us", json_integer(JSON_WHOLE(run->last_at)));
        json_object_set_new(object, "interval_ms", json_integer(PERF_INTERVAL_US / 1000));
        json_object_set(object, "intervals", run->intervals);
    }
    json_object_set_new(object, "negotiated", summary_negotiated(end));
    return object;
}

/* ---- each transfer, and all of them ----------------------------------------------------------------------------- */

static void add_up(perf *all, const perf_run *run, const struct row *row, const summary *end)
{
    struct perf_totals *totals = &all->totals;
    all->ended++;
    totals->bytes += run->work.info.stats.payload_bytes;
    totals->lost += row->lost;
    totals->lost_unknown |= !row->loss_known;
    totals->retransmitted += row->sender->retransmitted;
    totals->retransmitted_unknown |= !row->sender->known;
    totals->data_timeouts += row->receiver->data_timeouts;
    totals->data_timeouts_unknown |= !row->receiver->known;
    totals->wire_bytes += end->wire_bytes;
}

void perf_report_begin(perf *all)
{
    perf_lines_begin(all);
    if (all->given->json && !all->given->passive)
        all->transfers = json_array();
    else if (!all->given->json && (!all->given->quiet || !all->given->passive) && all->lines.every_us == 0)
        print_head(all);
    (void)report_flush(); /* what is wrong with stdout shows at the end */
}

void perf_report_run(perf *all, perf_run *run)
{
    summary end;
    enum exit_code code = transfer_judge(&run->work, &end);
    struct row row = make_row(run, &end);
    perf_lines_end_run(all, run);
    run->reported = true;
    add_up(all, run, &row, &end);
    if (code != EXIT_CODE_DONE && all->code == EXIT_CODE_DONE && !all->given->passive)
        all->code = code;
    if (code != EXIT_CODE_DONE)
        report_error("%s", end.reason);
    if (all->transfers != NULL) {
        json_array_append_new(all->transfers, transfer_object(run, &row, &end));
    } else if (all->given->json) {
        report_object(transfer_object(run, &row, &end));
    } else if (run->work.opened && !(all->given->quiet && all->given->passive)) {
        if (!all->has_head)
            print_head(all);
        print_row(run, &row);
    }
}

static json_t *totals_object(const perf *all)
{
    const struct perf_totals *totals = &all->totals;
    double seconds = transfer_seconds(all->began_at, netblt_clock_now());
    return json_pack("{s:I, s:I, s:f, s:f, s:o, s:o, s:o, s:I, s:f}", "transfers", JSON_WHOLE(all->ended), "bytes",
                     JSON_WHOLE(totals->bytes), "seconds", seconds, "goodput_bps", summary_rate(totals->bytes, seconds),
                     "packets_lost", json_known(!totals->lost_unknown, totals->lost), "packets_retransmitted",
                     json_known(!totals->retransmitted_unknown, totals->retransmitted), "data_timeouts",
                     json_known(!totals->data_timeouts_unknown, totals->data_timeouts), "wire_bytes",
                     JSON_WHOLE(totals->wire_bytes), "cpu_seconds", perf_cpu_s());
}

/* The whole, when nothing failed outside of the transfers. Sets result and reason. */
static enum exit_code judge_all(const perf *all, const char **result, const char **reason)
{
    if (all->net.interrupts.count > 0) {
        *result = "interrupted";
        *reason = "interrupted by the user";
        return EXIT_CODE_INTERRUPTED;
    }
    *result = all->code == EXIT_CODE_DONE ? "done" : all->code == EXIT_CODE_UNREACHABLE ? "unreachable" : "failed";
    *reason = all->code == EXIT_CODE_DONE ? "done" : "see the transfers";
    return all->code;
}

enum exit_code perf_report_end(perf *all)
{
    bool failed = all->failure.kind != NETBLT_FAILURE_NONE;
    summary end = {.result = NULL};
    const char *result;
    const char *reason;
    enum exit_code code = judge_all(all, &result, &reason);
    if (failed && all->transfers == NULL)
        return transfer_report_failure(all->given, &all->failure);
    if (failed) {
        code = transfer_judge_failure(all->given, &all->failure, &end);
        result = end.result;
        reason = end.reason;
        report_error("%s", reason);
    }
    if (all->transfers != NULL)
        report_object(json_pack("{s:s, s:o, s:s, s:b, s:o, s:o}", "result", result, "reason", json_text(reason), "role",
                                text_role(all->given->role), "active", 1, "transfers", all->transfers, "totals",
                                totals_object(all)));
    return code;
}
