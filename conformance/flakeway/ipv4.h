/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv4 and UDP headers around NETBLT packets: writing, finding and correcting them. */
#ifndef FLAKEWAY_IPV4_H
#define FLAKEWAY_IPV4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IPV4_HEADER_BYTES 20
#define IPV4_PROTOCOL_UDP 17
#define IPV4_PROTOCOL_NETBLT 30 /* RFC 998 8 */

/* Puts the 20 bytes of an IPv4 header for `payload_length` bytes at `header`: TTL 64, no fragments, checksum set.
 * `payload_length` <= 65515. */
void ipv4_header(uint8_t header[IPV4_HEADER_BYTES], const uint8_t source[4], const uint8_t destination[4],
                 uint8_t protocol, uint16_t identification, size_t payload_length);

/* The Internet checksum over `length` bytes with `start` added: as stored in a header. */
uint16_t ipv4_checksum(const uint8_t *bytes, size_t length, uint32_t start);

/* Where the NETBLT packet lies in an IPv4 packet. */
typedef struct ipv4_view {
    size_t header_bytes;  /* IPv4 header with its options */
    size_t total_bytes;   /* by the header; <= what was given */
    size_t netblt_offset; /* from the IPv4 header */
    size_t netblt_length; /* 0 in a later fragment */
    bool udp;
} ipv4_view;

/* true when `packet` is IPv4 and carries NETBLT: protocol 30, or UDP from or to `udp_port` (0 = no UDP). */
bool ipv4_find_netblt(const uint8_t *packet, size_t length, uint16_t udp_port, ipv4_view *view);

/* Makes lengths and checksums of the headers fit again after the NETBLT packet at `netblt_offset` became
 * `netblt_length` bytes long or changed: a corrupted packet shall be judged by NETBLT's checksum, not vanish at IP's or
 * UDP's. */
void ipv4_repair(uint8_t *packet, size_t netblt_offset, size_t netblt_length);

/* Puts the right UDP checksum into an unfragmented packet whose IP header is sound. A UDP Length that exceeds the
 * packet leaves it as it is. */
void ipv4_set_udp_checksum(uint8_t *packet);

uint16_t ipv4_identification(const uint8_t *packet);
/* The header's checksum is the caller's to repair. */
void ipv4_set_identification(uint8_t *packet, uint16_t identification);

#endif
