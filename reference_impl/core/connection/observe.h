/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of packets, states, timers and rates to the observer of an endpoint. */
#ifndef NETBLT_CORE_OBSERVE_H
#define NETBLT_CORE_OBSERVE_H

#include "connection/connection.h"

/* Reports to the observer of an endpoint (events.h). Without an observer, each of these is a test of a pointer. Setting
 * a timer and reporting it are one call, so that every running timer is reported. */

/* A timer that is not one of a buffer. */
#define NB_NO_BUFFER 0

/* Packets of one run, `segment_bytes` each, the last may be shorter; `connection` may be NULL. */
void nb_observe_sent(netblt_endpoint *endpoint, netblt_connection *connection, const uint8_t *packets, size_t length,
                     size_t segment_bytes);
/* The reply that was queued last. It leaves before anything else does. */
void nb_observe_reply(netblt_endpoint *endpoint, netblt_connection *connection);
/* The packet that is being taken in. */
void nb_observe_received(netblt_connection *connection);
void nb_observe_dropped(netblt_endpoint *endpoint, netblt_connection *connection, const char *why);
void nb_observe_rate(netblt_connection *connection, struct nb_burst burst, netblt_time round_trip_us,
                     uint64_t measured_bps, const char *why);
void nb_observe_buffer_done(netblt_connection *connection, uint64_t index, uint32_t length);
/* KEEPALIVE and death timer, which every packet moves: reported when they begin to run and when they end. */
void nb_observe_timer(netblt_connection *connection, enum netblt_event_kind kind, enum netblt_timer which,
                      uint64_t buffer, netblt_time until);

/* The new state of a connection. */
void nb_set_state(netblt_connection *connection, enum netblt_state state);
/* Sets, moves, or (NETBLT_TIME_NEVER) stops a timer. */
void nb_set_timer(netblt_connection *connection, enum netblt_timer which, uint64_t buffer, netblt_time *timer,
                  netblt_time at);
/* The timer has come due and no longer runs. */
void nb_timer_expired(netblt_connection *connection, enum netblt_timer which, uint64_t buffer, netblt_time *timer);

#endif
