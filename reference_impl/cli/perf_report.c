/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/perf.h"
#include "cli/transfer.h"
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
    double seconds;
    double setup_seconds;
    double data_seconds;
    double real_bps;
    double steady_bps; /* the sender's if it is known, else the receiver's */
    bool is_steady;
};

static double seconds_between(netblt_time from, netblt_time to)
{
    return from != 0 && to > from ? (double)(to - from) / 1e6 : 0;
}

static double choose_steady(const struct row *row)
{
    return row->sender->known && row->sender->steady_bps > 0 ? (double)row->sender->steady_bps
                                                             : (double)row->receiver->steady_bps;
}

static bool agree(const struct row *row)
{
    double sent = (double)row->sender->steady_bps;
    double received = (double)row->receiver->steady_bps;
    double apart = sent > received ? sent - received : received - sent;

    return row->sender->known && row->receiver->known && sent > 0 && apart <= STEADY_TOLERANCE * sent;
}

static struct row make_row(const perf_run *run)
{
    const netblt_stats *stats = &run->info.stats;
    bool sends = run->role == NETBLT_SENDER;
    struct row row = {.sender = sends ? &run->own : &run->others, .receiver = sends ? &run->others : &run->own};

    row.loss_known = row.sender->known && row.receiver->known;
    if (row.loss_known && row.sender->data_packets > row.receiver->data_packets)
        row.lost = row.sender->data_packets - row.receiver->data_packets;
    row.seconds = seconds_between(run->started_at, run->finished_at);
    row.setup_seconds = seconds_between(run->started_at, stats->opened_at);
    row.data_seconds = seconds_between(stats->first_data_at, stats->last_buffer_at);
    row.real_bps = row.seconds > 0 ? (double)stats->payload_bytes * 8 / row.seconds : 0;
    row.steady_bps = choose_steady(&row);
    row.is_steady = agree(&row);
    return row;
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

/* "-" for what nobody told us. */
static const char *count_text(bool known, uint64_t value, char text[24])
{
    if (known)
        snprintf(text, 24, "%" PRIu64, value);
    else
        snprintf(text, 24, "-");
    return text;
}

static void print_row(const perf_run *run, const struct row *row)
{
    const netblt_params *params = &run->info.negotiated;
    char bursts[16];
    char lost[24];
    char resent[24];
    char timeouts[24];
    char steady[24] = "-";

    snprintf(bursts, sizeof bursts, "%u/%u", params->burst_size, params->burst_interval_ms);
    if (row->steady_bps > 0)
        snprintf(steady, sizeof steady, "%.2f", row->steady_bps / 1e6);
    printf("%-9s %4u %8u %8" PRIu64 " %6u %6s %6s %6s %8s %8.2f\n", bursts, params->packet_size, params->buffer_size,
           run->info.stats.payload_bytes / 1000, params->max_buffers, count_text(row->loss_known, row->lost, lost),
           count_text(row->sender->known, row->sender->retransmitted, resent),
           count_text(row->receiver->known, row->receiver->data_timeouts, timeouts), steady, row->real_bps / 1e6);
    fflush(stdout);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static void number_or_null(json_writer *json, const char *key, bool known, uint64_t value)
{
    if (known)
        json_number(json, key, value);
    else
        json_null(json, key);
}

static void real_or_null(json_writer *json, const char *key, double value)
{
    if (value > 0)
        json_real(json, key, value);
    else
        json_null(json, key);
}

static void write_transfer(const perf_run *run, const struct row *row, const summary *end, json_writer *json)
{
    const netblt_stats *stats = &run->info.stats;
    const perf_figures *sender = row->sender;
    const perf_figures *receiver = row->receiver;

    json_begin(json, NULL);
    json_number(json, "lane", run->lane);
    json_string(json, "peer", run->peer);
    json_string(json, "result", end->result);
    json_string(json, "reason", end->reason);
    json_string(json, "role", run->role == NETBLT_SENDER ? "sender" : "receiver");
    json_bool(json, "active", run->active);
    json_number(json, "bytes", stats->payload_bytes);
    json_real(json, "seconds", row->seconds);
    json_real(json, "setup_seconds", row->setup_seconds);
    json_real(json, "data_seconds", row->data_seconds);
    json_real(json, "goodput_bps", row->real_bps);
    real_or_null(json, "steady_bps", row->steady_bps);
    real_or_null(json, "sender_steady_bps", (double)sender->steady_bps);
    real_or_null(json, "receiver_steady_bps", (double)receiver->steady_bps);
    json_bool(json, "steady", row->is_steady);
    json_number(json, "packets_sent", stats->packets_sent);
    number_or_null(json, "data_packets_sent", sender->known, sender->data_packets);
    number_or_null(json, "data_packets_received", receiver->known, receiver->data_packets);
    number_or_null(json, "packets_lost", row->loss_known, row->lost);
    number_or_null(json, "packets_retransmitted", sender->known, sender->retransmitted);
    number_or_null(json, "data_timeouts", receiver->known, receiver->data_timeouts);
    json_number(json, "wire_bytes", end->wire_bytes);
    real_or_null(json, "round_trip_seconds", (double)stats->round_trip_us / 1e6);
    json_real(json, "cpu_seconds", run->cpu_s);
    perf_intervals_write(&run->intervals, json);
    summary_write_negotiated(end, json);
    json_end(json);
}

/* ---- each transfer, and all of them ----------------------------------------------------------------------------- */

static enum exit_code judge(const perf *all, const perf_run *run, summary *end)
{
    size_t header_bytes = station_overhead_bytes(all->given, &run->info.path.foreign);

    *end = (summary){.result = netblt_result_name(run->outcome),
                     .role = run->role,
                     .active = run->active,
                     .info = run->info,
                     .was_opened = run->opened};
    end->wire_bytes = run->info.stats.bytes_sent + run->info.stats.packets_sent * header_bytes;
    transfer_explain(run->outcome, run->reason, run->peer, all->given, &run->info, end->reason, sizeof end->reason);
    return transfer_exit_code_of_outcome(run->outcome);
}

static void add_up(perf *all, const perf_run *run, const struct row *row, const summary *end)
{
    struct perf_totals *totals = &all->totals;

    all->ended++;
    totals->transfers++;
    totals->bytes += run->info.stats.payload_bytes;
    totals->lost += row->lost;
    totals->lost_known = totals->lost_known && row->loss_known;
    totals->retransmitted += row->sender->retransmitted;
    totals->retransmitted_known = totals->retransmitted_known && row->sender->known;
    totals->data_timeouts += row->receiver->data_timeouts;
    totals->data_timeouts_known = totals->data_timeouts_known && row->receiver->known;
    totals->wire_bytes += end->wire_bytes;
}

int perf_report_begin(perf *all)
{
    all->totals.lost_known = true;
    all->totals.retransmitted_known = true;
    all->totals.data_timeouts_known = true;
    if (!all->given->json) {
        if (!all->given->quiet || !all->given->passive)
            puts(TABLE_HEAD);
        fflush(stdout);
    } else if (all->given->passive) {
        all->json.to = stdout;
    } else {
        all->json.to = open_memstream(&all->list, &all->list_bytes);
        if (all->json.to == NULL)
            return netblt_fail(&all->failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    }
    return 0;
}

void perf_report_run(perf *all, perf_run *run)
{
    struct row row = make_row(run);
    summary end;
    enum exit_code code = judge(all, run, &end);

    run->reported = true;
    add_up(all, run, &row, &end);
    if (code != EXIT_CODE_DONE && all->code == EXIT_CODE_DONE && run->active)
        all->code = code;
    if (code != EXIT_CODE_DONE)
        station_say(&all->net, "%s", end.reason);
    if (all->given->json) {
        write_transfer(run, &row, &end, &all->json);
        if (all->given->passive) { /* a line for each */
            all->json.has_member = false;
            fputc('\n', all->json.to);
            fflush(all->json.to);
        }
    } else if (run->opened && !(all->given->quiet && all->given->passive)) {
        print_row(run, &row);
    }
}

static void write_totals(const perf *all, json_writer *json)
{
    const struct perf_totals *totals = &all->totals;
    double seconds = seconds_between(all->began_at, netblt_clock_now());

    json_begin(json, "totals");
    json_number(json, "transfers", totals->transfers);
    json_number(json, "bytes", totals->bytes);
    json_real(json, "seconds", seconds);
    json_real(json, "goodput_bps", seconds > 0 ? (double)totals->bytes * 8 / seconds : 0);
    number_or_null(json, "packets_lost", totals->lost_known, totals->lost);
    number_or_null(json, "packets_retransmitted", totals->retransmitted_known, totals->retransmitted);
    number_or_null(json, "data_timeouts", totals->data_timeouts_known, totals->data_timeouts);
    json_number(json, "wire_bytes", totals->wire_bytes);
    json_real(json, "cpu_seconds", perf_cpu_s());
    json_end(json);
}

static void print_json(perf *all, const char *result, const char *reason)
{
    json_writer json = {.to = stdout};

    fflush(all->json.to);
    json_begin(&json, NULL);
    json_string(&json, "result", result);
    json_string(&json, "reason", reason);
    json_string(&json, "role", all->given->role == NETBLT_SENDER ? "sender" : "receiver");
    json_bool(&json, "active", true);
    json_begin_list(&json, "transfers");
    fputs(all->list == NULL ? "" : all->list, stdout);
    json_end_list(&json);
    write_totals(all, &json);
    json_end(&json);
    fputc('\n', stdout);
}

/* Sets what the whole came to. */
static enum exit_code judge_all(const perf *all, const char **result, const char **reason)
{
    *reason = "done";
    *result = "done";
    if (all->failure.kind != NETBLT_FAILURE_NONE) {
        *reason = all->failure.text;
        *result = all->failure.kind == NETBLT_FAILURE_UNREACHABLE ? "unreachable" : "local-error";
        return transfer_exit_code_of(&all->failure);
    }
    if (all->interrupted > 0) {
        *result = "interrupted";
        *reason = "interrupted by the user";
        return EXIT_CODE_INTERRUPTED;
    }
    if (all->code != EXIT_CODE_DONE) {
        *result = all->code == EXIT_CODE_UNREACHABLE ? "unreachable" : "failed";
        *reason = "see the transfers";
    }
    return all->code;
}

enum exit_code perf_report_end(perf *all)
{
    const char *result;
    const char *reason;
    enum exit_code code = judge_all(all, &result, &reason);

    if (all->failure.kind != NETBLT_FAILURE_NONE)
        station_say(&all->net, "%s", reason);
    if (all->given->json && !all->given->passive && all->json.to != NULL) {
        print_json(all, result, reason);
        fclose(all->json.to);
        free(all->list);
    } else if (all->given->json && all->failure.kind != NETBLT_FAILURE_NONE) {
        summary end;

        (void)transfer_judge_failure(all->given, &all->failure, &end);
        summary_print_json(&end, stdout);
    }
    return code;
}
