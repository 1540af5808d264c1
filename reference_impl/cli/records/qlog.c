/* SPDX-License-Identifier: BSD-2-Clause */
/* The event log of --qlog: see records.h and docs/qlog.md. */
#include "cli/records/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <netblt/endpoint.h>

#include "cli/report/text.h"
#include "core/wire/wire.h"
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

static void write_record(qlog *log, json_t *record)
{
    errno = 0;
    fputc(RECORD_SEPARATOR, log->to);
    json_print(log->to, record);
    fputc('\n', log->to);
    if (ferror(log->to) != 0 && log->error == 0)
        log->error = errno != 0 ? errno : EIO;
}

/* qlog's unit. */
static double milliseconds(netblt_time from, netblt_time to)
{
    return to > from ? (double)(to - from) / 1e3 : 0;
}

static void write_header(qlog *log, const options *given)
{
    struct timespec wall;
    char utc_text[40];
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &wall);
    gmtime_r(&wall.tv_sec, &utc);
    strftime(utc_text, sizeof utc_text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(utc_text + strlen(utc_text), sizeof utc_text - strlen(utc_text), ".%06ldZ", wall.tv_nsec / 1000);
    write_record(log,
                 json_pack("{s:s, s:s, s:s, s:{s:{s:s, s:s, s:s}, s:s, s:s, s:s, s:s, s:{s:s, s:{s:s, s:s, s:s}}}}",
                           "file_schema", "urn:ietf:params:qlog:file:sequential", "serialization_format",
                           "application/qlog+json-seq", "title", "netblt", "trace", "vantage_point", "name",
                           "netblt " NETBLT_VERSION_TEXT, "type", given->passive ? "server" : "client", "command",
                           command_names[given->command], "event_schema", "netblt-" SCHEMA_VERSION, "encapsulation",
                           given->encap == NETBLT_ENCAP_UDP ? "udp" : "ip", "profile", given->profile->name, "rate",
                           given->rate == NETBLT_RATE_AUTO ? "auto" : "fixed", "common_fields", "time_format",
                           "relative_to_epoch", "reference_time", "clock_type", "monotonic", "epoch", "unknown",
                           "wall_clock_time", utc_text));
}

/* ---- packets -------------------------------------------------------------------------------------------------- */

#define PACKETS_LISTED_MAX 64 /* of a RESEND: its whole list may have 65535 */

static const char *const type_names[] = {
    [NB_OPEN] = "OPEN",         [NB_RESPONSE] = "RESPONSE", [NB_KEEPALIVE] = "KEEPALIVE", [NB_QUIT] = "QUIT",
    [NB_QUITACK] = "QUITACK",   [NB_ABORT] = "ABORT",       [NB_DATA] = "DATA",           [NB_LDATA] = "LDATA",
    [NB_NULL_ACK] = "NULL-ACK", [NB_CONTROL] = "CONTROL",   [NB_REFUSED] = "REFUSED",     [NB_DONE] = "DONE",
};

static const char *const fault_names[] = {
    [NB_FAULT_NONE] = NULL,   [NB_FAULT_SHORT] = "short",       [NB_FAULT_LENGTH] = "length",
    [NB_FAULT_TYPE] = "type", [NB_FAULT_CHECKSUM] = "checksum", [NB_FAULT_MESSAGE] = "message",
};

static json_t *text_of(struct nb_text text)
{
    char copy[NETBLT_STRING_MAX_BYTES + 1];
    size_t length = text.length < sizeof copy ? text.length : sizeof copy - 1;
    for (size_t i = 0; i < length; i++)
        copy[i] = (char)text.bytes[i];
    copy[length] = '\0';
    return json_text(copy);
}

static json_t *open_fields(const struct nb_open_fields *open)
{
    return json_pack("{s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:b, s:b, s:i, s:o}", "unique_id",
                     JSON_WHOLE(open->unique_id), "buffer_size", JSON_WHOLE(open->buffer_size), "transfer_size",
                     JSON_WHOLE(open->transfer_size), "packet_size", (int)open->packet_size, "burst_size",
                     (int)open->burst_size, "burst_interval_ms", (int)open->burst_interval_ms, "death_timer_s",
                     (int)open->death_timer_s, "write", (int)open->write, "data_checksum", (int)open->data_checksum,
                     "max_buffers", (int)open->max_buffers, "string", text_of(open->string));
}

static json_t *message_object(const struct nb_message *message)
{
    static const char *const names[] = {[NB_GO] = "GO", [NB_OK] = "OK", [NB_RESEND] = "RESEND"};
    json_t *object = json_pack("{s:s, s:i, s:I}", "type", names[message->type], "seq", (int)message->seq, "buffer",
                               JSON_WHOLE(message->buffer));
    json_t *packets;
    if (message->type == NB_OK) {
        json_object_update_new(object, json_pack("{s:i, s:i, s:i}", "burst_size", (int)message->burst_size,
                                                 "burst_interval_ms", (int)message->burst_interval_ms,
                                                 "control_timer_ms", (int)message->control_timer_ms));
    } else if (message->type == NB_RESEND) {
        packets = json_array();
        for (uint16_t i = 0; i < message->count && i < PACKETS_LISTED_MAX; i++)
            json_array_append_new(packets, json_integer(nb_message_packet(message, i)));
        json_object_set_new(object, "count", json_integer(message->count));
        json_object_set_new(object, "packets", packets);
    }
    return object;
}

static json_t *control_fields(const struct nb_packet *packet)
{
    struct nb_message message;
    enum nb_fault fault = NB_FAULT_NONE;
    size_t offset = 0;
    json_t *messages = json_array();
    while (nb_next_message(packet->control.bytes, packet->control.length, &offset, &message, &fault))
        json_array_append_new(messages, message_object(&message));
    return json_pack("{s:o}", "messages", messages);
}

/* NULL for a type that has none. */
static json_t *body_of(const struct nb_packet *packet)
{
    const struct nb_data_fields *data = &packet->data;
    switch (packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        return open_fields(&packet->open);
    case NB_QUIT:
    case NB_ABORT:
    case NB_REFUSED:
        return json_pack("{s:o}", "reason", text_of(packet->reason));
    case NB_DATA:
    case NB_LDATA:
        return json_pack("{s:I, s:i, s:i, s:i, s:b}", "buffer", JSON_WHOLE(data->buffer), "packet", (int)data->packet,
                         "high_seq", (int)data->high_seq, "data_length", (int)data->length, "last_buffer",
                         (int)data->last_buffer);
    case NB_NULL_ACK:
        return json_pack("{s:i, s:i, s:i}", "high_seq", (int)packet->null_ack.high_seq, "burst_size",
                         (int)packet->null_ack.burst_size, "burst_interval_ms",
                         (int)packet->null_ack.burst_interval_ms);
    case NB_CONTROL:
        return control_fields(packet);
    default:
        return NULL;
    }
}

/* What is in a packet. */
static json_t *packet_data(const uint8_t *bytes, size_t length)
{
    struct nb_packet packet;
    enum nb_fault fault = nb_decode(bytes, length, &packet);
    json_t *object = json_object();
    if (fault != NB_FAULT_NONE)
        json_object_set_new(object, "fault", json_string(fault_names[fault]));
    if (fault != NB_FAULT_NONE && fault != NB_FAULT_CHECKSUM) {
        json_object_set_new(object, "length", json_integer(JSON_WHOLE(length)));
        return object;
    }
    json_object_set_new(object, "header",
                        json_pack("{s:s, s:i, s:i, s:i, s:i}", "packet_type", type_names[packet.type], "version",
                                  (int)packet.version, "length", (int)packet.length, "local_port",
                                  (int)packet.local_port, "foreign_port", (int)packet.foreign_port));
    json_object_update_new(object, body_of(&packet)); /* if it has one */
    return object;
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

static json_t *timer_data(const netblt_event *event)
{
    bool is_set = event->kind == NETBLT_EVENT_TIMER_SET;
    json_t *data = json_pack("{s:s, s:s}", "timer_type", NAME_IN(timer_names, event->timer.which), "event_type",
                             is_set                                      ? "set"
                             : event->kind == NETBLT_EVENT_TIMER_CLEARED ? "cancelled"
                                                                         : "expired");
    if (event->timer.which == NETBLT_TIMER_DATA)
        json_object_set_new(data, "buffer", json_integer(JSON_WHOLE(event->timer.buffer)));
    if (is_set && event->timer.until != NETBLT_TIME_NEVER)
        json_object_set_new(data, "delta", json_real(milliseconds(event->at, event->timer.until)));
    return data;
}

static json_t *state_data(const netblt_event *event)
{
    char local[NETBLT_ADDRESS_TEXT_BYTES];
    char foreign[NETBLT_ADDRESS_TEXT_BYTES];
    const char *name = NAME_IN(state_names, event->state);
    netblt_info info;
    if (event->connection == NULL)
        return json_pack("{s:s}", "new", name);
    netblt_get_info(event->connection, &info);
    return json_pack("{s:s, s:s, s:b, s:s, s:s, s:i, s:i}", "new", name, "role", text_role(info.role), "active",
                     (int)info.active, "local", netblt_address_text(&info.path.local, local), "foreign",
                     netblt_address_text(&info.path.foreign, foreign), "local_port", (int)info.local_port,
                     "foreign_port", (int)info.foreign_port);
}

static json_t *rate_data(const netblt_event *event)
{
    json_t *data = json_pack("{s:i, s:i}", "burst_size", (int)event->rate.burst_size, "burst_interval_ms",
                             (int)event->rate.burst_interval_ms);
    if (event->rate.round_trip_us != 0)
        json_object_set_new(data, "smoothed_rtt", json_real((double)event->rate.round_trip_us / 1e3));
    if (event->rate.measured_bps != 0)
        json_object_set_new(data, "measured_bps", json_integer(JSON_WHOLE(event->rate.measured_bps)));
    return data;
}

static json_t *data_of(const netblt_event *event)
{
    switch (event->kind) {
    case NETBLT_EVENT_PACKET_SENT:
    case NETBLT_EVENT_PACKET_RECEIVED:
    case NETBLT_EVENT_PACKET_DROPPED:
        return packet_data(event->packet.bytes, event->packet.length);
    case NETBLT_EVENT_STATE:
        return state_data(event);
    case NETBLT_EVENT_RATE:
        return rate_data(event);
    case NETBLT_EVENT_BUFFER_DONE:
        return json_pack("{s:I, s:I}", "buffer", JSON_WHOLE(event->buffer.index), "length",
                         JSON_WHOLE(event->buffer.length));
    default:
        return timer_data(event);
    }
}

void qlog_event(qlog *log, const netblt_event *event)
{
    const char *name = NAME_IN(event_names, event->kind);
    json_t *record;
    json_t *data;
    netblt_info info;
    if (name == NULL || log->error != 0)
        return;
    record = json_pack("{s:f, s:s}", "time", milliseconds(log->began_at, event->at), "name", name);
    if (event->connection != NULL) { /* connections have no number on the wire but this one */
        netblt_get_info(event->connection, &info);
        json_object_set_new(record, "group_id", json_sprintf("%08x", info.unique_id));
    }
    data = data_of(event);
    if (event->why != NULL)
        json_object_set_new(data, "trigger", json_text(event->why));
    json_object_set_new(record, "data", data);
    write_record(log, record);
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
