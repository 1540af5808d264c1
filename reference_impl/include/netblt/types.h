/* SPDX-License-Identifier: BSD-2-Clause */
/* Basic types of libnetblt: time, addresses, memory, roles and error codes. */
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

/* A moment in microseconds on a clock of the caller. The library never reads a clock. The origin is arbitrary. The
 * clock must not go back: the library uses the latest time that it has seen instead of an earlier one. */
typedef uint64_t netblt_time;
#define NETBLT_TIME_NEVER UINT64_MAX

/* A network address as opaque bytes. The library copies and compares it. A driver stores an IPv4 or IPv6 address, for
 * UDP encapsulation the UDP port after it, and for a link-local address the interface index. */
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

/* Errors of the functions of this library. 0 is success. */
enum netblt_error {
    NETBLT_OK = 0,
    NETBLT_ERR_NO_MEMORY = -1,        /* the allocator returned NULL */
    NETBLT_ERR_INVALID_ARGUMENT = -2, /* a parameter is outside its range */
    NETBLT_ERR_PORT_IN_USE = -3,      /* a listener or a connection with this key exists (DEMUX-01) */
    NETBLT_ERR_WRONG_STATE = -4,      /* the state of the connection does not allow the call */
    NETBLT_ERR_TOO_LONG = -5,         /* a string does not fit its field */
    NETBLT_ERR_MALFORMED = -6,        /* a packet cannot be decoded (ROBUST-01..05) */
    NETBLT_ERR_CHECKSUM = -7,         /* the checksum of a packet is wrong (CKSUM-06) */
    NETBLT_ERR_NO_SPACE = -8,         /* the output buffer is smaller than one packet */
};

/* Returns a constant sentence for an error code, and "unknown error" for any other number. Never NULL. */
NETBLT_API const char *netblt_strerror(int error);
/* Errors: none. */

/* Memory of an endpoint and its connections. Each function is as its namesake in the C library, with the allocator's
 * context as the last argument. NULL from allocate or reallocate means out of memory: the connection that needs it
 * ends, or the call returns NETBLT_ERR_NO_MEMORY. The library never asks for 0 bytes. */
typedef struct netblt_allocator {
    void *(*allocate)(size_t bytes, void *context);
    void *(*reallocate)(void *block, size_t bytes, void *context); /* `block` may be NULL */
    void (*release)(void *block, void *context);                   /* `block` may be NULL */
    void *context;
} netblt_allocator;

/* The direction of the data, seen from one end. */
enum netblt_role {
    NETBLT_SENDER = 0,
    NETBLT_RECEIVER = 1,
};

#ifdef __cplusplus
}
#endif

#endif
