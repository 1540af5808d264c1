/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection: its state and counters, and the functions that an application calls for it.
 *
 * A netblt_connection pointer is valid from netblt_open(), or the first callback of a passive end, until `closed`
 * returns (client.h). */
#ifndef NETBLT_CONNECTION_H
#define NETBLT_CONNECTION_H

#include <netblt/events.h>
#include <netblt/params.h>
#include <netblt/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The client returned NETBLT_SEND_BUFFER_WAIT or NULL before and has a buffer now. */
NETBLT_API void netblt_resume(netblt_connection *connection, netblt_time now);
/* Errors: none. */

/* Receiver with netblt_options.confirm_end, from `complete` on: the data are stored, and the last OK may be sent.
 * `finished` reports NETBLT_DONE when the sender has acknowledged that OK. */
NETBLT_API int netblt_confirm(netblt_connection *connection, netblt_time now);
/* Errors: NETBLT_ERR_WRONG_STATE (not complete, already confirmed, ending, or not such a receiver). */

/* Sends QUIT (RFC 998 5.3.2) at a buffer boundary, or after one death interval at the latest (QUIT-04, AMB-56).
 * `reason` has at most NETBLT_STRING_MAX_BYTES bytes. */
NETBLT_API int netblt_quit(netblt_connection *connection, const char *reason, netblt_time now);
/* Errors: NETBLT_ERR_TOO_LONG, NETBLT_ERR_WRONG_STATE (neither opening nor open, finished, or quit already called). */

/* Sends ABORT (RFC 998 5.3.3) and closes the connection. `reason` has at most NETBLT_STRING_MAX_BYTES bytes. */
NETBLT_API int netblt_abort(netblt_connection *connection, const char *reason, netblt_time now);
/* Errors: NETBLT_ERR_TOO_LONG, NETBLT_ERR_WRONG_STATE (finished or closed). */

/* Returns the application's pointer that the callbacks get. */
NETBLT_API void *netblt_connection_get_context(const netblt_connection *connection);
/* Errors: none. */

/* Replaces that pointer. The next callback gets the new one. */
NETBLT_API void netblt_connection_set_context(netblt_connection *connection, void *context);
/* Errors: none. */

/* Returns the endpoint of a connection. */
NETBLT_API netblt_endpoint *netblt_connection_get_endpoint(const netblt_connection *connection);
/* Errors: none. */

enum netblt_state {
    NETBLT_STATE_OPENING,
    NETBLT_STATE_OPEN,
    NETBLT_STATE_DALLYING, /* sender after success, or QUITACK sent */
    NETBLT_STATE_QUITTING,
    NETBLT_STATE_CLOSED,
};

/* Counters since the connection began. Packets and bytes count whole NETBLT packets, without IP or UDP headers. This
 * structure never grows: new counters become members of netblt_info. */
typedef struct netblt_stats {
    uint64_t packets_sent;
    uint64_t packets_received;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t data_packets_sent; /* DATA and LDATA, retransmissions included */
    uint64_t data_packets_retransmitted;
    uint64_t data_packets_received;
    uint64_t data_packets_duplicate; /* received again, or not usable */
    /* Packets that advanced the transfer, each counted once. Receiver: stored. Sender: the peer has reported them, by
     * an OK for their buffer or a RESEND that does not list them. */
    uint64_t data_packets_settled;
    uint64_t control_packets_sent;
    uint64_t control_packets_received;
    uint64_t control_timeouts;
    uint64_t data_timeouts; /* data timers that expired (RFC 1030's DTMOS) */
    uint64_t resends_sent;  /* RESEND messages, each counted once */
    uint64_t checksum_errors;
    uint64_t malformed;
    uint64_t payload_bytes; /* sender: in acknowledged buffers; receiver: in delivered buffers */
    netblt_time opened_at;
    netblt_time first_data_at;    /* first DATA sent or received; 0 = none */
    netblt_time last_buffer_at;   /* last OK received (sender), last buffer completed (receiver); 0 = none */
    netblt_time round_trip_us;    /* smoothed; 0 = not measured */
    netblt_time control_timer_us; /* receiver: as published in OK */
} netblt_stats;

typedef struct netblt_info {
    size_t size; /* bytes that netblt_get_info() has written */
    enum netblt_state state;
    enum netblt_role role;
    bool active;
    bool unvalidated;        /* passive end: the peer is not validated yet (docs/security.md) */
    bool guarded;            /* both ends are of this implementation and recognize forged packets (docs/security.md) */
    uint8_t client_features; /* NETBLT_CLIENT_... that both clients have set in netblt_options.client_features */
    netblt_path path;
    uint16_t local_port;
    uint16_t foreign_port;
    uint32_t unique_id;
    netblt_params negotiated; /* death_timer_s is this end's own value */
    /* The current burst pair (RATE-05). Sender: set by the newest OK; receiver: the pair at which DATA should arrive.
     */
    uint16_t burst_size;
    uint16_t burst_interval_ms;
    uint16_t peer_death_timer_s;
    char peer_string[NETBLT_STRING_MAX_BYTES + 1];
    netblt_stats stats;
} netblt_info;

/* Fills *info, of which the program's part has `size` bytes. Bytes beyond what the library knows become zero. */
NETBLT_API void netblt_get_info_sized(const netblt_connection *connection, netblt_info *info, size_t size);
/* Errors: none. */
#define netblt_get_info(connection, info) netblt_get_info_sized((connection), (info), sizeof(netblt_info))

#ifdef __cplusplus
}
#endif

#endif
