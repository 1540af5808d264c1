/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/qlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <netblt/endpoint.h>

#include "cli/json.h"
#include "cli/qlog_packet.h"
#include "io/clock.h"
#include "io/link.h"

#define RECORD_SEPARATOR 0x1e
#define SCHEMA_VERSION "0.1"

struct qlog {
    const char *path;
    FILE *to;
    netblt_time began_at;
    int error; /* errno of the first write that failed */
};

/* ---- records -------------------------------------------------------------------------------------------------- */

static void begin_record(qlog *log, json_writer *json)
{
    *json = (json_writer){.to = log->to};
    errno = 0;
    fputc(RECORD_SEPARATOR, log->to);
    json_begin(json, NULL);
}

static void end_record(qlog *log, json_writer *json)
{
    json_end(json);
    fputc('\n', log->to);
    if (ferror(log->to) != 0 && log->error == 0)
        log->error = errno != 0 ? errno : EIO;
}

/* qlog's unit. */
static double milliseconds(const qlog *log, netblt_time at)
{
    return at > log->began_at ? (double)(at - log->began_at) / 1e3 : 0;
}

static void write_common_fields(json_writer *json)
{
    struct timespec wall;
    char text[40];
    struct tm utc;

    clock_gettime(CLOCK_REALTIME, &wall);
    gmtime_r(&wall.tv_sec, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + strlen(text), sizeof text - strlen(text), ".%06ldZ", wall.tv_nsec / 1000);
    json_begin(json, "common_fields");
    json_string(json, "time_format", "relative_to_epoch");
    json_begin(json, "reference_time");
    json_string(json, "clock_type", "monotonic");
    json_string(json, "epoch", "unknown");
    json_string(json, "wall_clock_time", text);
    json_end(json);
    json_end(json);
}

static void write_header(qlog *log, const options *given)
{
    json_writer json;

    begin_record(log, &json);
    json_string(&json, "file_schema", "urn:ietf:params:qlog:file:sequential");
    json_string(&json, "serialization_format", "application/qlog+json-seq");
    json_string(&json, "title", "netblt");
    json_begin(&json, "trace");
    json_begin(&json, "vantage_point");
    json_string(&json, "name", "netblt " NETBLT_VERSION_TEXT);
    json_string(&json, "type", given->passive ? "server" : "client");
    json_string(&json, "command", command_names[given->command]);
    json_end(&json);
    json_string(&json, "event_schema", "netblt-" SCHEMA_VERSION);
    json_string(&json, "encapsulation", given->encap == NETBLT_ENCAP_UDP ? "udp" : "ip");
    json_string(&json, "profile", given->profile->name);
    json_string(&json, "rate", given->rate == NETBLT_RATE_AUTO ? "auto" : "fixed");
    write_common_fields(&json);
    json_end(&json);
    end_record(log, &json);
}

/* ---- events --------------------------------------------------------------------------------------------------- */

static const char *const event_names[] = {
    [NETBLT_EVENT_PACKET_SENT] = "transport:packet_sent",
    [NETBLT_EVENT_PACKET_RECEIVED] = "transport:packet_received",
    [NETBLT_EVENT_PACKET_DROPPED] = "transport:packet_dropped",
    [NETBLT_EVENT_STATE] = "transport:state_updated",
    [NETBLT_EVENT_TIMER_SET] = "recovery:timer_updated",
    [NETBLT_EVENT_TIMER_CLEARED] = "recovery:timer_updated",
    [NETBLT_EVENT_TIMER_EXPIRED] = "recovery:timer_updated",
    [NETBLT_EVENT_RATE] = "recovery:rate_updated",
    [NETBLT_EVENT_BUFFER_DONE] = "transport:buffer_done",
};

static const char *const state_names[] = {
    [NETBLT_STATE_OPENING] = "opening",   [NETBLT_STATE_OPEN] = "open",     [NETBLT_STATE_DALLYING] = "dallying",
    [NETBLT_STATE_QUITTING] = "quitting", [NETBLT_STATE_CLOSED] = "closed",
};

static const char *const timer_names[] = {
    [NETBLT_TIMER_OPEN] = "open",   [NETBLT_TIMER_CONTROL] = "control",     [NETBLT_TIMER_DATA] = "data",
    [NETBLT_TIMER_DEATH] = "death", [NETBLT_TIMER_KEEPALIVE] = "keepalive", [NETBLT_TIMER_DALLY] = "dally",
    [NETBLT_TIMER_QUIT] = "quit",
};

#define NAME_IN(names, i) ((size_t)(i) < sizeof(names) / sizeof *(names) ? (names)[i] : NULL)

static void write_timer(const qlog *log, const netblt_event *event, json_writer *json)
{
    json_string(json, "timer_type", NAME_IN(timer_names, event->timer.which));
    if (event->timer.which == NETBLT_TIMER_DATA)
        json_number(json, "buffer", event->timer.buffer);
    json_string(json, "event_type",
                event->kind == NETBLT_EVENT_TIMER_SET       ? "set"
                : event->kind == NETBLT_EVENT_TIMER_CLEARED ? "cancelled"
                                                            : "expired");
    if (event->kind == NETBLT_EVENT_TIMER_SET && event->timer.until != NETBLT_TIME_NEVER)
        json_real(json, "delta", event->timer.until > event->at ? (double)(event->timer.until - event->at) / 1e3 : 0);
    (void)log;
}

static void write_state(const netblt_event *event, json_writer *json)
{
    char text[NETBLT_ADDRESS_TEXT_BYTES];
    netblt_info info;

    json_string(json, "new", NAME_IN(state_names, event->state));
    if (event->connection == NULL)
        return;
    netblt_get_info(event->connection, &info);
    json_string(json, "role", info.role == NETBLT_SENDER ? "sender" : "receiver");
    json_bool(json, "active", info.active);
    json_string(json, "local", netblt_address_text(&info.path.local, text));
    json_string(json, "foreign", netblt_address_text(&info.path.foreign, text));
    json_number(json, "local_port", info.local_port);
    json_number(json, "foreign_port", info.foreign_port);
}

static void write_rate(const netblt_event *event, json_writer *json)
{
    json_number(json, "burst_size", event->rate.burst_size);
    json_number(json, "burst_interval_ms", event->rate.burst_interval_ms);
    if (event->rate.round_trip_us != 0)
        json_real(json, "smoothed_rtt", (double)event->rate.round_trip_us / 1e3);
    if (event->rate.measured_bps != 0)
        json_number(json, "measured_bps", event->rate.measured_bps);
}

static void write_data(const qlog *log, const netblt_event *event, json_writer *json)
{
    switch (event->kind) {
    case NETBLT_EVENT_PACKET_SENT:
    case NETBLT_EVENT_PACKET_RECEIVED:
    case NETBLT_EVENT_PACKET_DROPPED:
        qlog_write_packet(event->packet.bytes, event->packet.length, json);
        break;
    case NETBLT_EVENT_STATE:
        write_state(event, json);
        break;
    case NETBLT_EVENT_RATE:
        write_rate(event, json);
        break;
    case NETBLT_EVENT_BUFFER_DONE:
        json_number(json, "buffer", event->buffer.index);
        json_number(json, "length", event->buffer.length);
        break;
    default:
        write_timer(log, event, json);
        break;
    }
    if (event->why != NULL)
        json_string(json, "trigger", event->why);
}

/* Connections have no number on the wire but this one. */
static void write_group(const netblt_event *event, json_writer *json)
{
    netblt_info info;
    char text[16];

    if (event->connection == NULL)
        return;
    netblt_get_info(event->connection, &info);
    snprintf(text, sizeof text, "%08x", info.unique_id);
    json_string(json, "group_id", text);
}

void qlog_event(qlog *log, const netblt_event *event)
{
    const char *name = NAME_IN(event_names, event->kind);
    json_writer json;

    if (name == NULL || log->error != 0)
        return;
    begin_record(log, &json);
    json_real(&json, "time", milliseconds(log, event->at));
    json_string(&json, "name", name);
    write_group(event, &json);
    json_begin(&json, "data");
    write_data(log, event, &json);
    json_end(&json);
    end_record(log, &json);
}

/* ---- the file ------------------------------------------------------------------------------------------------- */

qlog *qlog_open(const char *path, const options *given, netblt_failure *failure)
{
    qlog *log = calloc(1, sizeof *log);
    FILE *to = log == NULL ? NULL : fopen(path, "we");

    if (to == NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", path, strerror(errno));
        free(log);
        return NULL;
    }
    *log = (qlog){.path = path, .to = to, .began_at = netblt_clock_now()};
    write_header(log, given);
    return log;
}

int qlog_close(qlog *log, netblt_failure *failure)
{
    int result = 0;

    if (log == NULL)
        return 0;
    if (fclose(log->to) != 0 && log->error == 0)
        log->error = errno;
    if (log->error != 0)
        result =
            netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write all of %s: %s", log->path, strerror(log->error));
    free(log);
    return result;
}
