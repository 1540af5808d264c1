/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint: one NETBLT host with any number of connections on any number of ports.
 *
 * An endpoint has no socket, clock, thread or source of randomness. The program passes in packets and the time, and
 * gets packets and one deadline:
 *
 *     netblt_input()         a packet, or a run of equal-size packets, has arrived
 *     netblt_output_burst()  call it until it returns 0: packets that may be sent now
 *     netblt_deadline()      wait at most until this time ...
 *     netblt_timeout()       ... and then call this
 *
 * Not thread-safe: one thread at a time may use an endpoint. Callbacks run inside the functions below and those of
 * connection.h that have a `now`. A callback may call the functions of connection.h, and no other function that takes
 * this endpoint. */
#ifndef NETBLT_ENDPOINT_H
#define NETBLT_ENDPOINT_H

#include <netblt/client.h>
#include <netblt/connection.h>
#include <netblt/events.h>
#include <netblt/params.h>
#include <netblt/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void netblt_log_fn(void *context, const char *line);

typedef struct netblt_config {
    size_t size;                   /* netblt_config_default() sets it */
    uint8_t version;               /* version byte of active connections; a passive end uses that of OPEN (AMB-01) */
    uint64_t refused_versions;     /* bit v set = drop packets of version v, v < 64; default: 4 and 5 */
    const netblt_profile *profile; /* must outlive the endpoint */
    uint32_t first_buffer;         /* number of a receiver's first buffer, without a secret (AMB-09) */
    /* 16 secret random bytes, different for each endpoint. All zero = no secret: an attacker who cannot see the packets
     * of this end can then guess their fields (docs/security.md). */
    uint8_t secret[NETBLT_SECRET_BYTES];
    /* Limit for packets to unvalidated peers (docs/security.md); default 65536; 0 = every peer counts as validated. */
    uint32_t unvalidated_bytes_per_s;
    uint32_t unvalidated_connections; /* default 4096, 0 = no limit; one more ends one of them */
    netblt_log_fn *log;               /* may be NULL */
    void *log_context;
    netblt_event_fn *event; /* gets all events (events.h); may be NULL */
    void *event_context;
    void *context;                     /* the application's pointer: netblt_endpoint_get_context() */
    const netblt_allocator *allocator; /* copied; NULL = malloc, realloc and free */
} netblt_config;

/* Sets version 2, refused versions 4 and 5, the default profile, no secret, buffers from 0, the limits above, no
 * callbacks, and `size`. The macro passes the size of the program's structure. */
NETBLT_API void netblt_config_default_sized(netblt_config *config, size_t size);
/* Errors: none. */
#define netblt_config_default(config) netblt_config_default_sized((config), sizeof(netblt_config))

/* Makes an endpoint. `config` is copied. Returns NULL on an error. */
NETBLT_API netblt_endpoint *netblt_endpoint_new(const netblt_config *config);
/* Errors: NULL (out of memory, config->size, or an incomplete allocator). */

/* Frees the endpoint and its connections. Sends nothing and calls no callback: see client.h for lent buffers. NULL is
 * allowed. */
NETBLT_API void netblt_endpoint_free(netblt_endpoint *endpoint);
/* Errors: none. */

/* Returns the application's pointer of an endpoint: netblt_config.context. */
NETBLT_API void *netblt_endpoint_get_context(const netblt_endpoint *endpoint);
/* Errors: none. */

/* Replaces that pointer. */
NETBLT_API void netblt_endpoint_set_context(netblt_endpoint *endpoint, void *context);
/* Errors: none. */

/* ---- opening ---------------------------------------------------------------------------------------------- */

/* Arguments of netblt_open(). What the pointers refer to is copied. */
typedef struct netblt_open_args {
    size_t size; /* sizeof(netblt_open_args) */
    const netblt_path *path;
    uint16_t local_port;
    uint16_t foreign_port;
    enum netblt_role role; /* of this end */
    /* Fresh random bits for each connection (OPEN-04). With a secret the library replaces the low 16 bits
     * (docs/security.md). */
    uint32_t unique_id;
    const netblt_params *params; /* the proposal */
    const netblt_client *client;
    void *context;          /* for the callbacks; may be NULL */
    netblt_options options; /* the last member: it may grow */
} netblt_open_args;

/* Opens a connection actively (RFC 998 5.1). On success *connection is valid until `closed` returns. On an error it is
 * not changed. */
NETBLT_API int netblt_open(netblt_endpoint *endpoint, const netblt_open_args *args, netblt_time now,
                           netblt_connection **connection);
/* Errors: NETBLT_ERR_INVALID_ARGUMENT (a `size`, a parameter: see netblt_params_check(), a client without the callback
 * of its role, or transfer_size beyond 2^32 without beyond_4g), NETBLT_ERR_PORT_IN_USE, NETBLT_ERR_NO_MEMORY. */

/* An OPEN for a port with a listener. */
typedef struct netblt_request {
    netblt_path path;
    uint16_t local_port;
    uint16_t foreign_port;
    enum netblt_role role; /* the role of this end if it accepts */
    netblt_params proposed;
    uint8_t client_features; /* NETBLT_CLIENT_... of the peer's client; 0 without a secret */
} netblt_request;

/* The listener's decision. */
typedef struct netblt_answer {
    bool accept;
    bool silent;                              /* if not accepted: send no REFUSED; the peer repeats its OPEN */
    char reason[NETBLT_STRING_MAX_BYTES + 1]; /* if not accepted */
    netblt_params limits;                     /* if accepted: limits of this end, and the client_string of RESPONSE */
    const netblt_client *client;              /* copied */
    void *context;
    netblt_options options; /* the last member: it may grow */
} netblt_answer;

/* Decides on an OPEN: fills *answer. All members of it are zero but `limits`, which hold the whole proposal. */
typedef void netblt_accept_fn(void *context, const netblt_request *request, netblt_answer *answer);

/* Accepts connections on a port. One listener serves any number of connections (DEMUX-02). */
NETBLT_API int netblt_listen(netblt_endpoint *endpoint, uint16_t port, netblt_accept_fn *accept, void *context);
/* Errors: NETBLT_ERR_PORT_IN_USE (the port has a listener), NETBLT_ERR_NO_MEMORY. */

/* Removes the listener of a port, if there is one. Its connections continue. */
NETBLT_API void netblt_unlisten(netblt_endpoint *endpoint, uint16_t port);
/* Errors: none. */

/* ---- packets and time ------------------------------------------------------------------------------------- */

/* Processes `length` bytes that arrived on `path`: packets of `segment_bytes` each, the last may be shorter. For one
 * packet segment_bytes is length. Bytes after a packet's Length are ignored (AMB-02). The memory is not used
 * after the call. Of several errors the last one is returned; the other packets were processed. */
NETBLT_API int netblt_input(netblt_endpoint *endpoint, const netblt_path *path, const uint8_t *packets, size_t length,
                            size_t segment_bytes, netblt_time now);
/* Errors: NETBLT_ERR_MALFORMED (no byte, wrong Length, unknown type, or refused version), NETBLT_ERR_CHECKSUM. */

typedef struct netblt_output {
    netblt_path path;
    size_t segment_bytes; /* size of each packet; the last of the run may be shorter */
    size_t count;         /* packets in the run */
    size_t length;        /* bytes written */
    int error;            /* 0, or NETBLT_ERR_NO_SPACE: nothing was written, and a waiting packet does not fit */
    size_t needed;        /* NETBLT_ERR_NO_SPACE: the capacity that the smallest waiting packet needs */
} netblt_output;

/* Writes packets for one path that may be sent now, equal in size and contiguous, so that one segmented system call
 * sends them. Returns the bytes written; 0 if nothing may be sent now or nothing fits. `capacity` must hold the largest
 * negotiated packet (NETBLT_PACKET_MAX_BYTES always suffices); smaller packets than that are still written. */
NETBLT_API size_t netblt_output_burst(netblt_endpoint *endpoint, uint8_t *packets, size_t capacity,
                                      netblt_output *output, netblt_time now);
/* Errors: in output->error: NETBLT_ERR_NO_SPACE. */

/* Returns the time at which netblt_timeout() or netblt_output_burst() has work; NETBLT_TIME_NEVER for never. */
NETBLT_API netblt_time netblt_deadline(const netblt_endpoint *endpoint);
/* Errors: none. */

/* Runs all timers that have expired. Early and repeated calls do no harm. */
NETBLT_API void netblt_timeout(netblt_endpoint *endpoint, netblt_time now);
/* Errors: none. */

/* The network reports (by ICMP) that packets do not reach `foreign`: connections with unvalidated peers at that address
 * end; if local_port is not 0, only those of that port. Connections with validated peers ignore the report, because it
 * is easily forged. */
NETBLT_API void netblt_unreachable(netblt_endpoint *endpoint, const netblt_address *foreign, uint16_t local_port,
                                   netblt_time now);
/* Errors: none. */

#ifdef __cplusplus
}
#endif

#endif
