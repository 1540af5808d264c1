/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of packets, states, timers and rates to the observer of an endpoint. */
#include "connection/observe.h"

#include "connection/endpoint_state.h"

static bool observed(const netblt_endpoint *endpoint)
{
    return endpoint->config.event != NULL;
}

static void report(netblt_endpoint *endpoint, netblt_event *event)
{
    event->at = endpoint->now;
    endpoint->config.event(endpoint->config.event_context, event);
}

static void report_packet(netblt_endpoint *endpoint, netblt_connection *connection, enum netblt_event_kind kind,
                          const uint8_t *bytes, size_t length, const char *why)
{
    netblt_event event = {.kind = kind, .connection = connection, .why = why};
    event.packet.bytes = bytes;
    event.packet.length = length;
    report(endpoint, &event);
}

void nb_observe_sent(netblt_endpoint *endpoint, netblt_connection *connection, const uint8_t *packets, size_t length,
                     size_t segment_bytes)
{
    if (!observed(endpoint))
        return;
    for (size_t offset = 0; offset < length; offset += segment_bytes) {
        size_t left = length - offset;
        report_packet(endpoint, connection, NETBLT_EVENT_PACKET_SENT, packets + offset,
                      left < segment_bytes ? left : segment_bytes, NULL);
    }
}

void nb_observe_reply(netblt_endpoint *endpoint, netblt_connection *connection)
{
    const struct nb_reply *reply = nb_replies_last(&endpoint->replies.queue);
    nb_observe_sent(endpoint, connection, reply->packet, reply->length, reply->length);
}

void nb_observe_received(netblt_connection *connection)
{
    netblt_endpoint *endpoint = connection->endpoint;
    if (observed(endpoint))
        report_packet(endpoint, connection, NETBLT_EVENT_PACKET_RECEIVED, endpoint->arrived, endpoint->arrived_bytes,
                      NULL);
}

void nb_observe_dropped(netblt_endpoint *endpoint, netblt_connection *connection, const char *why)
{
    if (observed(endpoint))
        report_packet(endpoint, connection, NETBLT_EVENT_PACKET_DROPPED, endpoint->arrived, endpoint->arrived_bytes,
                      why);
}

void nb_observe_rate(netblt_connection *connection, struct nb_burst burst, netblt_time round_trip_us,
                     uint64_t measured_bps, const char *why)
{
    if (!observed(connection->endpoint))
        return;
    netblt_event event = {.kind = NETBLT_EVENT_RATE, .connection = connection, .why = why};
    event.rate.burst_size = burst.size;
    event.rate.burst_interval_ms = burst.interval_ms;
    event.rate.round_trip_us = round_trip_us;
    event.rate.measured_bps = measured_bps;
    report(connection->endpoint, &event);
}

void nb_observe_buffer_done(netblt_connection *connection, uint64_t index, uint32_t length)
{
    if (!observed(connection->endpoint))
        return;
    netblt_event event = {.kind = NETBLT_EVENT_BUFFER_DONE, .connection = connection};
    event.buffer.index = index;
    event.buffer.length = length;
    report(connection->endpoint, &event);
}

void nb_observe_timer(netblt_connection *connection, enum netblt_event_kind kind, enum netblt_timer which,
                      uint64_t buffer, netblt_time until)
{
    if (!observed(connection->endpoint))
        return;
    netblt_event event = {.kind = kind, .connection = connection};
    event.timer.which = which;
    event.timer.buffer = buffer;
    event.timer.until = until;
    report(connection->endpoint, &event);
}

void nb_set_state(netblt_connection *connection, enum netblt_state state)
{
    bool news = connection->state != state || state == NETBLT_STATE_OPENING;
    connection->state = state;
    if (!news || !observed(connection->endpoint))
        return;
    netblt_event event = {.kind = NETBLT_EVENT_STATE, .connection = connection};
    event.state = (int)state;
    report(connection->endpoint, &event);
}

void nb_set_timer(netblt_connection *connection, enum netblt_timer which, uint64_t buffer, netblt_time *timer,
                  netblt_time at)
{
    bool news = *timer != at;
    *timer = at;
    if (news)
        nb_observe_timer(connection, at == NETBLT_TIME_NEVER ? NETBLT_EVENT_TIMER_CLEARED : NETBLT_EVENT_TIMER_SET,
                         which, buffer, at);
}

void nb_timer_expired(netblt_connection *connection, enum netblt_timer which, uint64_t buffer, netblt_time *timer)
{
    *timer = NETBLT_TIME_NEVER;
    nb_observe_timer(connection, NETBLT_EVENT_TIMER_EXPIRED, which, buffer, NETBLT_TIME_NEVER);
}
