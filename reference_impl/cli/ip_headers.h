/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_IP_HEADERS_H
#define NETBLT_CLI_IP_HEADERS_H

#include <netblt/types.h>

/* IPv6 and UDP headers. */
#define IP_HEADERS_MAX_BYTES 48

typedef struct ip_packet {
    const netblt_address *source;
    const netblt_address *destination;
    uint16_t identification; /* IPv4 only */
    const uint8_t *payload;  /* the NETBLT packet */
    size_t length;
} ip_packet;

/* Writes the IP header, and the UDP header where addresses have ports, that belong in front of `packet`. Answers their
 * size. */
size_t ip_headers_write(const ip_packet *packet, uint8_t out[IP_HEADERS_MAX_BYTES]);

#endif
