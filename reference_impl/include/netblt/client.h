/* SPDX-License-Identifier: BSD-2-Clause */
/* The application's half of a connection: callbacks, buffers and options.
 *
 * Buffers. The library transmits from, and stores into, memory of the client (RFC 998 3) and keeps no copy of data. So
 * the client lends its memory to the library:
 *
 *   event                                         send buffer                     receive buffer
 *   the callback get_..._buffer returns memory    lent: do not change or free     lent: do not read, change or free
 *   the peer has acknowledged the buffer          release                         -
 *   all bytes have arrived                        -                               deliver
 *   the buffer is beyond the peer's last buffer   -                               discard
 *   the connection ends: netblt_abort(), QUITACK  release                         discard
 *     after netblt_quit(), ABORT or QUIT of the
 *     peer, death timer, out of memory
 *   netblt_abort() inside the callback that       release, after `finished`       discard, after `finished`
 *     returns the memory                          and before `closed`             and before `closed`
 *   retransmission, data timer, control timer,    still lent                      still lent
 *     netblt_quit() without QUITACK, KEEPALIVE
 *   netblt_endpoint_free()                        returned without a callback     returned without a callback
 *
 * Each lent buffer is returned by exactly one callback. But for that abort inside a callback, no buffer is lent when
 * `finished` is called. */
#ifndef NETBLT_CLIENT_H
#define NETBLT_CLIENT_H

#include <netblt/events.h>
#include <netblt/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a transfer ended. */
enum netblt_result {
    NETBLT_DONE = 0,     /* all data were transferred, and both rules of RFC 998 5.3.1 hold */
    NETBLT_REFUSED,      /* the peer sent REFUSED, or ABORT while opening */
    NETBLT_UNREACHABLE,  /* no reply to any OPEN (OPEN-03) */
    NETBLT_PEER_QUIT,    /* QUIT arrived (QUIT-01) */
    NETBLT_PEER_ABORTED, /* ABORT arrived (ABORT-02) */
    NETBLT_LOCAL_QUIT,   /* netblt_quit() has completed, or the transfer is too long (netblt_options.beyond_4g) */
    NETBLT_LOCAL_ABORT,  /* netblt_abort(), out of memory, or the library found the peer malfunctioning */
    NETBLT_PEER_DEAD,    /* the death timer expired (TIMER-10) */
};

/* Returns a short constant name: "done", "refused", ..., and "unknown" for any other number. Never NULL. */
NETBLT_API const char *netblt_result_name(enum netblt_result result);
/* Errors: none. */

typedef struct netblt_outcome {
    enum netblt_result result;
    const char *reason; /* text of the peer or of this end; never NULL; valid during the callback */
} netblt_outcome;

/* What get_send_buffer returns. */
enum netblt_send_buffer {
    NETBLT_SEND_BUFFER_READY, /* *data, *length and *last are set */
    NETBLT_SEND_BUFFER_WAIT,  /* no data yet: the client calls netblt_resume() later; KEEPALIVEs are sent meanwhile */
};

/* Callbacks of one connection. netblt_open() and an accepted netblt_answer copy the structure. `context` is the
 * connection's context (netblt_connection_get_context()). A sender must have get_send_buffer, a receiver
 * get_receive_buffer; any other callback may be NULL. */
typedef struct netblt_client {
    size_t size; /* sizeof(netblt_client) */
    /* Sender: lends the memory of buffer `index`. Indexes are 0, 1, 2, ..., whatever the peer's numbers are. *length is
     * `capacity` bytes, or less (0 to capacity) if *last is true. A wrong length aborts the connection. */
    enum netblt_send_buffer (*get_send_buffer)(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last);
    /* Sender: returns the memory of buffer `index`. */
    void (*release)(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data);

    /* Receiver: lends memory of `capacity` bytes for buffer `index`. NULL means not now: the client calls
     * netblt_resume() later. */
    uint8_t *(*get_receive_buffer)(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity);
    /* Receiver: returns the memory of buffer `index` with `length` bytes of data. In order of index, unless
     * netblt_options.any_order. */
    void (*deliver)(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last);
    /* Receiver: returns the memory of buffer `index` without data. */
    void (*discard)(void *context, netblt_connection *connection, uint64_t index, uint8_t *data);
    /* Receiver: all buffers of the transfer were delivered. Called once, after the last deliver. See
     * netblt_options.confirm_end. */
    void (*complete)(void *context, netblt_connection *connection);

    /* The connection is open. netblt_get_info() has the negotiated parameters. */
    void (*opened)(void *context, netblt_connection *connection);
    /* Passive end: the peer is validated (docs/security.md). Called at most once, for a receiver before the first
     * deliver. Never called if every peer counts as validated. */
    void (*validated)(void *context, netblt_connection *connection);
    /* The outcome is known. A sender may dally afterwards. Called exactly once. */
    void (*finished)(void *context, netblt_connection *connection, const netblt_outcome *outcome);
    /* The connection ceases to exist when this callback returns. Called exactly once, after finished. */
    void (*closed)(void *context, netblt_connection *connection);
} netblt_client;

/* Rate control. */
enum netblt_rate {
    NETBLT_RATE_FIXED = 0, /* the negotiated burst size and interval, exactly */
    /* The negotiated pair is the start: slow enough for any path. A receiver measures the arrival rate and offers
     * pairs, and has as many buffers outstanding as its rate needs, up to max_buffers; a sender follows any offer
     * (NEG-08). See docs/rate-control.md. */
    NETBLT_RATE_AUTO,
};

/* What the clients of two ends may agree on about their data, which RFC 998 leaves to them. */
enum netblt_client_feature {
    NETBLT_CLIENT_ENDS_IN_HASH = 1 << 0, /* the sender's client appends a hash to the data, the receiver's checks it */
    NETBLT_CLIENT_TREE = 1 << 1,         /* the data are those of a tree transfer (docs/tree-transfer.md) */
    NETBLT_CLIENT_FEATURES = NETBLT_CLIENT_ENDS_IN_HASH | NETBLT_CLIENT_TREE, /* all of them; others are ignored */
};

/* Options of one connection. All zero is the usual choice. */
typedef struct netblt_options {
    bool any_order; /* deliver buffers as they complete, not in order */
    enum netblt_rate rate;
    /* NETBLT_RATE_AUTO: upper bound in data bits per second, headers not counted. The receiver offers no more, the
     * sender follows no more. 0 = no bound. */
    uint64_t rate_limit_bps;
    /* Allow more than 2^32 bytes, where RFC 998 3 ends a transfer. Without it an announced transfer_size beyond 2^32 is
     * refused (netblt_open(): NETBLT_ERR_INVALID_ARGUMENT; passive end: REFUSED), and the first buffer beyond 2^32
     * makes this end QUIT: NETBLT_LOCAL_QUIT here, NETBLT_PEER_QUIT at the peer. That buffer is neither sent,
     * delivered nor acknowledged. */
    bool beyond_4g;
    /* What this client does with its data: NETBLT_CLIENT_... bits. netblt_info.client_features reports which of them
     * the peer's client does, too; only endpoints with a secret exchange this. The library does nothing else with them.
     */
    uint8_t client_features;
    /* Receiver: withhold the OK of the buffer that completes last until netblt_confirm(), so that the sender reports
     * success only for data that the client has stored. KEEPALIVEs are sent meanwhile. netblt_abort() makes the sender
     * fail. */
    bool confirm_end;
    netblt_time open_timeout_us; /* active end: give up opening after this time; 0 = by the profile (OPEN-03) */
    /* NETBLT_RATE_AUTO, receiver that opens: an earlier transfer has shown that the path carries the proposed pair. So
     * it requests a round trip's worth of it at once, and not one buffer alone until that has arrived. */
    bool rate_is_known;
} netblt_options;

#ifdef __cplusplus
}
#endif

#endif
