/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv4 and UDP headers around NETBLT packets: writing, finding and correcting them. */
#include "ipv4.h"

#include <string.h>

#define VERSION_4_HEADER_5 0x45
#define DEFAULT_TTL 64
#define FRAGMENT_OFFSET_MASK 0x1fff
#define MORE_FRAGMENTS 0x2000
#define UDP_HEADER_BYTES 8

/* Offsets in the IPv4 header (RFC 791 3.1) and in the UDP header after it (RFC 768). */
#define IP_TOTAL_LENGTH 2
#define IP_IDENTIFICATION 4
#define IP_FRAGMENT 6
#define IP_TTL 8
#define IP_PROTOCOL 9
#define IP_CHECKSUM 10
#define IP_SOURCE 12
#define IP_DESTINATION 16
#define UDP_SOURCE_PORT 0
#define UDP_DESTINATION_PORT 2
#define UDP_LENGTH 4
#define UDP_CHECKSUM 6

static uint16_t read16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static void write16(uint8_t *bytes, size_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

uint16_t ipv4_checksum(const uint8_t *bytes, size_t length, uint32_t start)
{
    uint64_t sum = start;
    for (size_t i = 0; i + 1 < length; i += 2)
        sum += read16(bytes + i);
    if (length % 2)
        sum += (uint64_t)bytes[length - 1] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static void set_header_checksum(uint8_t *header, size_t header_bytes)
{
    write16(header + IP_CHECKSUM, 0);
    write16(header + IP_CHECKSUM, ipv4_checksum(header, header_bytes, 0));
}

void ipv4_header(uint8_t header[IPV4_HEADER_BYTES], const uint8_t source[4], const uint8_t destination[4],
                 uint8_t protocol, uint16_t identification, size_t payload_length)
{
    memset(header, 0, IPV4_HEADER_BYTES);
    header[0] = VERSION_4_HEADER_5;
    write16(header + IP_TOTAL_LENGTH, IPV4_HEADER_BYTES + payload_length);
    write16(header + IP_IDENTIFICATION, identification);
    header[IP_TTL] = DEFAULT_TTL;
    header[IP_PROTOCOL] = protocol;
    memcpy(header + IP_SOURCE, source, 4);
    memcpy(header + IP_DESTINATION, destination, 4);
    set_header_checksum(header, IPV4_HEADER_BYTES);
}

static bool find_in_udp(const uint8_t *packet, uint16_t udp_port, ipv4_view *view)
{
    const uint8_t *udp = packet + view->header_bytes;
    size_t available = view->total_bytes - view->header_bytes;
    if (udp_port == 0 || available < UDP_HEADER_BYTES ||
        (read16(udp + UDP_SOURCE_PORT) != udp_port && read16(udp + UDP_DESTINATION_PORT) != udp_port))
        return false;
    size_t udp_length = read16(udp + UDP_LENGTH);
    bool first_fragment = (read16(packet + IP_FRAGMENT) & MORE_FRAGMENTS) != 0;
    if (udp_length < UDP_HEADER_BYTES || (udp_length > available && !first_fragment))
        return false; /* its receiver drops such a datagram: no rule matches it, and no correction makes it a valid one
                       */
    view->udp = true;
    view->netblt_offset = view->header_bytes + UDP_HEADER_BYTES;
    view->netblt_length = (udp_length < available ? udp_length : available) - UDP_HEADER_BYTES;
    return true;
}

bool ipv4_find_netblt(const uint8_t *packet, size_t length, uint16_t udp_port, ipv4_view *view)
{
    *view = (ipv4_view){0};
    if (length < IPV4_HEADER_BYTES || packet[0] >> 4 != 4)
        return false;
    view->header_bytes = (size_t)(packet[0] & 0xf) * 4;
    view->total_bytes = read16(packet + IP_TOTAL_LENGTH);
    if (view->header_bytes < IPV4_HEADER_BYTES || view->total_bytes < view->header_bytes || view->total_bytes > length)
        return false;
    bool later_fragment = (read16(packet + IP_FRAGMENT) & FRAGMENT_OFFSET_MASK) != 0;
    if (packet[IP_PROTOCOL] == IPV4_PROTOCOL_UDP)
        return !later_fragment && find_in_udp(packet, udp_port, view);
    view->netblt_offset = view->header_bytes;
    view->netblt_length = later_fragment ? 0 : view->total_bytes - view->header_bytes;
    return packet[IP_PROTOCOL] == IPV4_PROTOCOL_NETBLT;
}

/* UDP's checksum over the pseudo-header, the header and the data (RFC 768); never 0, which would mean "none". */
void ipv4_set_udp_checksum(uint8_t *packet)
{
    uint8_t *udp = packet + (size_t)(packet[0] & 0xf) * 4;
    size_t udp_length = read16(udp + UDP_LENGTH);
    size_t available = read16(packet + IP_TOTAL_LENGTH) - (size_t)(packet[0] & 0xf) * 4;
    if (udp_length < UDP_HEADER_BYTES || udp_length > available)
        return; /* the receiver drops it anyway */
    uint32_t pseudo = IPV4_PROTOCOL_UDP + (uint32_t)udp_length;
    for (size_t i = IP_SOURCE; i < IP_SOURCE + 8; i += 2)
        pseudo += read16(packet + i);
    write16(udp + UDP_CHECKSUM, 0);
    uint16_t checksum = ipv4_checksum(udp, udp_length, pseudo);
    write16(udp + UDP_CHECKSUM, checksum ? checksum : 0xffff);
}

void ipv4_repair(uint8_t *packet, size_t netblt_offset, size_t netblt_length)
{
    size_t header_bytes = (size_t)(packet[0] & 0xf) * 4;
    bool fragment = (read16(packet + IP_FRAGMENT) & (FRAGMENT_OFFSET_MASK | MORE_FRAGMENTS)) != 0;
    write16(packet + IP_TOTAL_LENGTH, netblt_offset + netblt_length);
    set_header_checksum(packet, header_bytes);
    if (packet[IP_PROTOCOL] == IPV4_PROTOCOL_UDP) {
        uint8_t *udp = packet + header_bytes;
        size_t udp_length = UDP_HEADER_BYTES + netblt_length;
        bool had_checksum = read16(udp + UDP_CHECKSUM) != 0;
        write16(udp + UDP_LENGTH, udp_length);
        if (had_checksum && !fragment)
            ipv4_set_udp_checksum(packet);
    }
}

void ipv4_set_identification(uint8_t *packet, uint16_t identification)
{
    write16(packet + IP_IDENTIFICATION, identification);
}

uint16_t ipv4_identification(const uint8_t *packet)
{
    return read16(packet + IP_IDENTIFICATION);
}
