/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_ENDPOINT_H
#define NETBLT_ENDPOINT_H

#include <netblt/events.h>
#include <netblt/params.h>
#include <netblt/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One NETBLT host: any number of connections behind any number of ports. It owns no socket, no clock, no thread
 * and no randomness. Everything comes in as (bytes, path, time) and goes out as (bytes, path) and one deadline:
 *
 *     netblt_input()         a packet, or a run of equal-size packets, has arrived
 *     netblt_output_burst()  call until it answers 0: packets that may leave now
 *     netblt_deadline()      sleep at most until then ...
 *     netblt_timeout()       ... and call this when it has come
 *
 * Not thread-safe. Callbacks run inside netblt_input(), netblt_timeout(), netblt_output_burst(), netblt_resume(),
 * netblt_confirm(), netblt_quit() and netblt_abort(); they may call netblt_get_info(), netblt_resume(),
 * netblt_confirm(), netblt_quit() and netblt_abort(), and nothing else of this endpoint. */
typedef struct netblt_endpoint netblt_endpoint;

typedef void netblt_log_fn(void *context, const char *line);

typedef struct netblt_config {
    uint8_t version;               /* version byte of connections that we open; else that of the OPEN (AMB-01) */
    uint64_t refused_versions;     /* bit v set = drop packets with version v, v < 64; default: 4 and 5 */
    const netblt_profile *profile; /* must outlive the endpoint */
    uint32_t first_buffer;         /* number of the first buffer that we GO for as receiver without a secret (AMB-09) */
    /* 16 random bytes that nobody else knows, and that no other endpoint has. All zero = no secret: an attacker who
     * cannot see our packets can then guess what they hold. See docs/security.md. */
    uint8_t secret[NETBLT_SECRET_BYTES];
    uint32_t unvalidated_bytes_per_s; /* default 65536; 0 = every peer counts as validated; see below */
    uint32_t unvalidated_connections; /* default 4096, 0 = no limit; one more ends one of them */
    netblt_log_fn *log;               /* may be NULL */
    void *log_context;
    netblt_event_fn *event; /* hears of everything that happens (events.h); may be NULL */
    void *event_context;
} netblt_config;

/* RFC 998 does not validate who sent an OPEN, so a passive end treats its peer as unvalidated until it has named
 * something that it can only know from our packets: the number of our buffer in DATA (we receive), the buffer number
 * that RESPONSE has given it, or the packets that were withheld from it, in RESEND (we send). An attacker who does not
 * see our packets guesses each with a probability of at most 2^-16 (docs/security.md).
 *
 * All unvalidated peers together are sent at most three times the bytes that they have sent, and beyond that
 * unvalidated_bytes_per_s at once and half of it in each second, IP and UDP headers included: in two seconds or more
 * not above unvalidated_bytes_per_s on average. DATA waits for its turn; other packets that exceed the limit are not
 * sent, as if the network had lost them. An unvalidated peer gets one GO (we receive), or buffers of one second's limit
 * (we send; the first may be larger). The death timer that we use and declare to an unvalidated peer is at most 30
 * times its own. */

/* Version 2, versions 4 and 5 refused, profile default, no secret and buffers from 0, no log. */
NETBLT_API void netblt_config_default(netblt_config *config);

/* NULL when memory is short. `config` is copied. */
NETBLT_API netblt_endpoint *netblt_endpoint_new(const netblt_config *config);
/* Frees everything at once, says nothing to any peer; `closed` is not called. NULL is allowed. */
NETBLT_API void netblt_endpoint_free(netblt_endpoint *endpoint);

/* ---- clients ---------------------------------------------------------------------------------------------- */

/* How a transfer ended. */
enum netblt_result {
    NETBLT_DONE = 0,     /* every byte is where it should be, and both rules of RFC 998 5.3.1 hold */
    NETBLT_REFUSED,      /* the peer answered REFUSED, or ABORT while opening */
    NETBLT_UNREACHABLE,  /* no answer to any OPEN (OPEN-03) */
    NETBLT_PEER_QUIT,    /* QUIT arrived (QUIT-01) */
    NETBLT_PEER_ABORTED, /* ABORT arrived (ABORT-02) */
    NETBLT_LOCAL_QUIT,   /* netblt_quit() was called and is over, or the transfer is too long (beyond_4g) */
    NETBLT_LOCAL_ABORT,  /* netblt_abort(), or the core found the peer malfunctioning */
    NETBLT_PEER_DEAD,    /* the death timer expired (TIMER-10) */
};
NETBLT_API const char *netblt_result_name(enum netblt_result result); /* "done", "refused", ... */

typedef struct netblt_outcome {
    enum netblt_result result;
    const char *reason; /* the peer's or our own words; never NULL; valid during the callback */
} netblt_outcome;

/* What a sending client answers when it is asked for the next buffer. */
enum netblt_send_buffer {
    NETBLT_SEND_BUFFER_READY, /* *data and *length are set, *last says whether this is the last buffer */
    NETBLT_SEND_BUFFER_WAIT,  /* nothing yet: netblt_resume() will be called; KEEPALIVEs go out meanwhile */
};

/* The client's half of a connection. The core keeps pointers into the client's memory and no copy of it: memory
 * given to the core belongs to the core until the callback that gives it back. Unused callbacks may be NULL. */
typedef struct netblt_client {
    /* Sender: buffer number `index` (0, 1, 2, ... whatever the peer calls it) is wanted. A buffer that is not the last
     * must fill `capacity` bytes exactly. length 0 is legal for the last buffer only. */
    enum netblt_send_buffer (*get_send_buffer)(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last);
    /* Sender: buffer `index` got its OK, or the connection ended; the memory is the client's again. */
    void (*release)(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data);

    /* Receiver: memory of `capacity` bytes for buffer `index`, or NULL for "not now" (then netblt_resume()). */
    uint8_t *(*get_receive_buffer)(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity);
    /* Receiver: buffer `index` is complete with `length` bytes; the memory is the client's again. Called once for each
     * buffer: in order of index, unless netblt_options.any_order. */
    void (*deliver)(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last);
    /* Receiver: buffer `index` will not be delivered (past the last buffer, or the connection ended). */
    void (*discard)(void *context, netblt_connection *connection, uint64_t index, uint8_t *data);
    /* Receiver: all buffers of the transfer were delivered. Called once, after the last deliver. See
     * netblt_options.confirm_end. */
    void (*complete)(void *context, netblt_connection *connection);

    /* The connection is open and its parameters are settled: see netblt_get_info(). */
    void (*opened)(void *context, netblt_connection *connection);
    /* Passive end: the peer is validated (netblt_config.unvalidated_bytes_per_s). Called once at most, before the first
     * deliver when this end receives; never when every peer counts as validated. */
    void (*validated)(void *context, netblt_connection *connection);
    /* The outcome is known. A sender may still dally afterwards. Called exactly once. */
    void (*finished)(void *context, netblt_connection *connection, const netblt_outcome *outcome);
    /* Nothing more will happen; the pointer is invalid when this returns. Called exactly once, after finished. */
    void (*closed)(void *context, netblt_connection *connection);
} netblt_client;

/* Who decides how fast data is sent. */
enum netblt_rate {
    NETBLT_RATE_FIXED = 0, /* the negotiated burst size and interval, exactly */
    /* The negotiated pair is the start: slow enough for any path. A receiver measures and offers, and has as many
     * buffers outstanding as its rate needs, up to max_buffers; a sender follows any offer (NEG-08).
     * docs/rate-control.md. */
    NETBLT_RATE_AUTO,
};

/* All zero is the usual choice. */
typedef struct netblt_options {
    bool any_order; /* deliver buffers as they complete, not in order: a client that places them by index */
    enum netblt_rate rate;
    /* NETBLT_RATE_AUTO: data bits a second, headers not counted, beyond which this end neither offers (receiver) nor
     * follows (sender); 0 = no bound of its own. */
    uint64_t rate_limit_bps;
    /* Allow more than 2^32 bytes, where RFC 998 3 ends a transfer. Without it an announced transfer_size beyond is
     * refused at once (netblt_open: NETBLT_ERR_INVALID_ARGUMENT; passive end: REFUSED), and the first buffer that
     * reaches beyond, supplied or received, makes this end QUIT: NETBLT_LOCAL_QUIT here, NETBLT_PEER_QUIT there. That
     * buffer is neither sent, delivered nor OK'd. */
    bool beyond_4g;
    /* This client ends its data with a hash of them, or expects that of its peer. netblt_info.ends_in_hash tells
     * whether the peer's client does too; only endpoints with a secret can find out. The core neither adds nor checks a
     * hash. */
    bool ends_in_hash;
    /* Receiver: withhold the OK of the buffer that completes last until netblt_confirm(), so that the sender reports
     * success only for data that the client has stored. KEEPALIVEs go out meanwhile; netblt_abort() makes the sender
     * fail. */
    bool confirm_end;
    netblt_time open_timeout_us; /* active: give up opening after this long; 0 = as the profile says (OPEN-03) */
} netblt_options;

/* ---- opening ---------------------------------------------------------------------------------------------- */

/* Opens actively (RFC 998 5.1). `role` is this end's. `unique_id` must be fresh random bits (OPEN-04): the core draws
 * none; with a secret it replaces the low 16 bits (docs/security.md). `client` must outlive the connection; `options`
 * may be NULL. On success *connection is valid until `closed`. NETBLT_ERR_INVALID_ARGUMENT, NETBLT_ERR_PORT_IN_USE,
 * NETBLT_ERR_NO_MEMORY. */
NETBLT_API int netblt_open(netblt_endpoint *endpoint, const netblt_path *path, uint16_t local_port,
                           uint16_t foreign_port, enum netblt_role role, const netblt_params *params,
                           uint32_t unique_id, const netblt_client *client, void *context,
                           const netblt_options *options, netblt_time now, netblt_connection **connection);

/* An OPEN for a port that is listened to. */
typedef struct netblt_request {
    netblt_path path;
    uint16_t local_port;
    uint16_t foreign_port;
    enum netblt_role role; /* the role that this end would play */
    netblt_params proposed;
} netblt_request;

/* The listener's answer. */
typedef struct netblt_answer {
    bool accept;
    char reason[NETBLT_STRING_MAX_BYTES + 1]; /* when refused */
    netblt_params limits;                     /* when accepted: what this end can do; client_string is sent back */
    const netblt_client *client;
    void *context;
    netblt_options options;
    bool silent; /* when not accepted: no REFUSED either, as if the OPEN had been lost; it will come again */
} netblt_answer;

/* Fills *answer, which comes zeroed but for `limits`, which hold the proposal as it would be accepted whole. */
typedef void netblt_accept_fn(void *context, const netblt_request *request, netblt_answer *answer);

/* NETBLT_ERR_PORT_IN_USE when the port has a listener. One listener serves any number of connections (DEMUX-02). */
NETBLT_API int netblt_listen(netblt_endpoint *endpoint, uint16_t port, netblt_accept_fn *accept, void *context);
/* Connections that it accepted go on. */
NETBLT_API void netblt_unlisten(netblt_endpoint *endpoint, uint16_t port);

/* ---- packets and time ------------------------------------------------------------------------------------- */

/* Takes `length` bytes that arrived on `path`: packets of `segment_bytes` each, the last may be shorter (one packet:
 * segment_bytes = length). Bytes behind a packet's Length field are ignored (AMB-02). The memory is not kept.
 * Answers 0, or the error of the last packet that could not be used; the others were used all the same. */
NETBLT_API int netblt_input(netblt_endpoint *endpoint, const netblt_path *path, const uint8_t *packets, size_t length,
                            size_t segment_bytes, netblt_time now);

typedef struct netblt_output {
    netblt_path path;
    size_t segment_bytes; /* each packet's size; the last of the run may be shorter */
    size_t count;         /* packets in the run */
    size_t length;        /* bytes written */
    int error;            /* 0, or NETBLT_ERR_NO_SPACE: nothing was written, and a packet waits that does not fit */
    size_t needed;        /* NETBLT_ERR_NO_SPACE: the capacity that the smallest waiting packet needs */
} netblt_output;

/* Writes packets for one path that may leave now, equal in size and contiguous, so that one segmented system call
 * sends them. Answers the bytes written; 0 when nothing may leave now, or when nothing fits: output->error tells.
 * `capacity` must hold the largest packet that was negotiated (NETBLT_PACKET_MAX_BYTES always suffices); smaller
 * packets than that are still sent. */
NETBLT_API size_t netblt_output_burst(netblt_endpoint *endpoint, uint8_t *packets, size_t capacity,
                                      netblt_output *output, netblt_time now);

/* The moment at which netblt_timeout() or netblt_output_burst() has something to do; NETBLT_TIME_NEVER for never. */
NETBLT_API netblt_time netblt_deadline(const netblt_endpoint *endpoint);

/* Runs every timer that is due. Calling it early or often does no harm. */
NETBLT_API void netblt_timeout(netblt_endpoint *endpoint, netblt_time now);

/* The network reports (by ICMP) that nobody at `foreign` takes our packets: connections with unvalidated peers there
 * end, those of `local_port` only if it is not 0. Validated peers are not concerned: such a report is easily forged. */
NETBLT_API void netblt_unreachable(netblt_endpoint *endpoint, const netblt_address *foreign, uint16_t local_port,
                                   netblt_time now);

/* ---- one connection --------------------------------------------------------------------------------------- */

/* The client answered WAIT or NULL before and has something now. */
NETBLT_API void netblt_resume(netblt_connection *connection, netblt_time now);
/* Receiver with netblt_options.confirm_end, from `complete` on: the data are stored, the sender may know. Success is
 * still to come: `finished` reports NETBLT_DONE when the sender has acknowledged it. NETBLT_ERR_WRONG_STATE when
 * nothing awaits confirmation: not complete yet, already confirmed, or the transfer is ending. */
NETBLT_API int netblt_confirm(netblt_connection *connection, netblt_time now);
/* Client QUIT (RFC 998 5.3.2): waits for a buffer boundary, at most one death interval (QUIT-04, AMB-56).
 * NETBLT_ERR_WRONG_STATE, NETBLT_ERR_TOO_LONG. */
NETBLT_API int netblt_quit(netblt_connection *connection, const char *reason, netblt_time now);
/* ABORT (RFC 998 5.3.3): one packet, then closed. NETBLT_ERR_WRONG_STATE, NETBLT_ERR_TOO_LONG. */
NETBLT_API int netblt_abort(netblt_connection *connection, const char *reason, netblt_time now);

enum netblt_state {
    NETBLT_STATE_OPENING,
    NETBLT_STATE_OPEN,
    NETBLT_STATE_DALLYING, /* sender after success, or QUITACK sent */
    NETBLT_STATE_QUITTING,
    NETBLT_STATE_CLOSED,
};

/* Counters since the connection began. Packets and bytes count whole NETBLT packets, without IP or UDP headers. */
typedef struct netblt_stats {
    uint64_t packets_sent;
    uint64_t packets_received;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t data_packets_sent; /* DATA and LDATA, repeats included */
    uint64_t data_packets_retransmitted;
    uint64_t data_packets_received;
    uint64_t data_packets_duplicate; /* received again, or of no use */
    /* Packets that moved the transfer on, each once. Receiver: stored. Sender: the peer has shown that it has them, by
     * an OK for their buffer or a RESEND that leaves them out. */
    uint64_t data_packets_settled;
    uint64_t control_packets_sent;
    uint64_t control_packets_received;
    uint64_t control_timeouts;
    uint64_t data_timeouts; /* data timers that expired (RFC 1030's DTMOS) */
    uint64_t resends_sent;  /* RESEND messages, each counted once */
    uint64_t checksum_errors;
    uint64_t malformed;
    uint64_t payload_bytes; /* sender: in buffers OK'd; receiver: in buffers delivered */
    netblt_time opened_at;
    netblt_time first_data_at;    /* first DATA sent or received; 0 = none */
    netblt_time last_buffer_at;   /* last OK received (sender), last buffer completed (receiver); 0 = none */
    netblt_time round_trip_us;    /* smoothed; 0 = not measured */
    netblt_time control_timer_us; /* receiver: as published in OK */
} netblt_stats;

typedef struct netblt_info {
    enum netblt_state state;
    enum netblt_role role;
    bool active;
    bool unvalidated;  /* passive: packets may not reach the peer; see netblt_config.unvalidated_bytes_per_s */
    bool guarded;      /* both ends are of this implementation and recognize forged packets (netblt_config.secret) */
    bool ends_in_hash; /* both clients set netblt_options.ends_in_hash */
    netblt_path path;
    uint16_t local_port;
    uint16_t foreign_port;
    uint32_t unique_id;
    netblt_params negotiated; /* death_timer_s is our own value */
    /* The pair of now (RATE-05). Sender: settled by the newest OK; receiver: what its DATA should come with. */
    uint16_t burst_size;
    uint16_t burst_interval_ms;
    uint16_t peer_death_timer_s;
    char peer_string[NETBLT_STRING_MAX_BYTES + 1];
    netblt_stats stats;
} netblt_info;

NETBLT_API void netblt_get_info(const netblt_connection *connection, netblt_info *info);

#ifdef __cplusplus
}
#endif

#endif
