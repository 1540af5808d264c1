/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_TYPES_H
#define NETBLT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NETBLT_API __attribute__((visibility("default")))
#else
#define NETBLT_API
#endif

/* A moment in microseconds on a clock that the caller owns. The core never reads a clock: any monotonic origin will do.
 */
typedef uint64_t netblt_time;
#define NETBLT_TIME_NEVER UINT64_MAX

/* A network address as opaque bytes. The core only copies and compares it: a driver puts an IPv4 or IPv6 address
 * there, for UDP encapsulation with the UDP port behind it, for link-local addresses with the interface too. */
#define NETBLT_ADDRESS_MAX_BYTES 22
typedef struct netblt_address {
    uint8_t length;
    uint8_t bytes[NETBLT_ADDRESS_MAX_BYTES];
} netblt_address;

/* The two addresses of a packet, seen from this end. */
typedef struct netblt_path {
    netblt_address local;
    netblt_address foreign;
} netblt_path;

/* What a function of this library answers when it cannot do what was asked. 0 is success. */
enum netblt_error {
    NETBLT_OK = 0,
    NETBLT_ERR_NO_MEMORY = -1,
    NETBLT_ERR_INVALID_ARGUMENT = -2, /* a parameter is zero or outside its range */
    NETBLT_ERR_PORT_IN_USE = -3,      /* a listener or a connection with this key exists (DEMUX-01) */
    NETBLT_ERR_WRONG_STATE = -4,      /* the connection is closing, closed, or not there yet */
    NETBLT_ERR_TOO_LONG = -5,         /* a string does not fit its field */
    NETBLT_ERR_MALFORMED = -6,        /* a packet cannot be read (ROBUST-01..05) */
    NETBLT_ERR_CHECKSUM = -7,         /* a packet's checksum is wrong (CKSUM-06) */
    NETBLT_ERR_NO_SPACE = -8,         /* the output buffer is smaller than one packet */
};

/* A constant sentence for an error code; "unknown error" for anything else. Never NULL. */
NETBLT_API const char *netblt_strerror(int error);

/* Which way the data flows, seen from one end. */
enum netblt_role {
    NETBLT_SENDER = 0,
    NETBLT_RECEIVER = 1,
};

#ifdef __cplusplus
}
#endif

#endif
