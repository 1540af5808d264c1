/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/ip_headers.h"

#include <stdbool.h>
#include <string.h>

#include "io/link.h"

#define IPV4_HEADER_BYTES 20
#define IPV6_HEADER_BYTES 40
#define UDP_HEADER_BYTES 8
#define PROTOCOL_UDP 17
#define TIME_TO_LIVE 64
#define DONT_FRAGMENT 0x4000

static void put16(uint8_t *to, size_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

/* One's complement sum of RFC 1071. Only the last piece of a sum may be odd. */
static uint32_t add_up(uint32_t sum, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i + 1 < length; i += 2)
        sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
    if (length % 2 != 0)
        sum += (uint32_t)bytes[length - 1] << 8;
    return (sum & 0xffff) + (sum >> 16);
}

static uint16_t finish_sum(uint32_t sum)
{
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static size_t write_ipv4(const ip_packet *packet, uint8_t protocol, size_t payload_bytes, uint8_t *out)
{
    out[0] = 0x45;
    put16(out + 2, IPV4_HEADER_BYTES + payload_bytes);
    put16(out + 4, packet->identification);
    put16(out + 6, DONT_FRAGMENT);
    out[8] = TIME_TO_LIVE;
    out[9] = protocol;
    memcpy(out + 12, packet->source->bytes, 4);
    memcpy(out + 16, packet->destination->bytes, 4);
    put16(out + 10, finish_sum(add_up(0, out, IPV4_HEADER_BYTES)));
    return IPV4_HEADER_BYTES;
}

static size_t write_ipv6(const ip_packet *packet, uint8_t protocol, size_t payload_bytes, uint8_t *out)
{
    out[0] = 0x60;
    put16(out + 4, payload_bytes);
    out[6] = protocol;
    out[7] = TIME_TO_LIVE;
    memcpy(out + 8, packet->source->bytes, 16);
    memcpy(out + 24, packet->destination->bytes, 16);
    return IPV6_HEADER_BYTES;
}

/* With the checksum over the pseudo header (RFC 768, RFC 8200 8.1), so that nobody calls it wrong. */
static void write_udp(const ip_packet *packet, size_t address_bytes, uint8_t *out)
{
    size_t length = UDP_HEADER_BYTES + packet->length;
    uint8_t tail[4] = {0, PROTOCOL_UDP};
    uint32_t sum;
    uint16_t checksum;

    put16(out, netblt_address_udp_port(packet->source));
    put16(out + 2, netblt_address_udp_port(packet->destination));
    put16(out + 4, length);
    put16(out + 6, 0);
    put16(tail + 2, length);
    sum = add_up(0, packet->source->bytes, address_bytes);
    sum = add_up(sum, packet->destination->bytes, address_bytes);
    sum = add_up(sum, tail, sizeof tail);
    sum = add_up(sum, out, UDP_HEADER_BYTES);
    checksum = finish_sum(add_up(sum, packet->payload, packet->length));
    put16(out + 6, checksum == 0 ? 0xffff : checksum);
}

size_t ip_headers_write(const ip_packet *packet, uint8_t out[IP_HEADERS_MAX_BYTES])
{
    bool is_ipv6 = netblt_address_family(packet->source) == NETBLT_FAMILY_IPV6;
    bool is_udp = netblt_address_udp_port(packet->source) != 0 || netblt_address_udp_port(packet->destination) != 0;
    size_t udp_bytes = is_udp ? UDP_HEADER_BYTES : 0;
    uint8_t protocol = is_udp ? PROTOCOL_UDP : NETBLT_IP_PROTOCOL;
    size_t ip_bytes;

    memset(out, 0, IP_HEADERS_MAX_BYTES);
    if (is_ipv6)
        ip_bytes = write_ipv6(packet, protocol, udp_bytes + packet->length, out);
    else
        ip_bytes = write_ipv4(packet, protocol, udp_bytes + packet->length, out);
    if (is_udp)
        write_udp(packet, is_ipv6 ? 16 : 4, out + ip_bytes);
    return ip_bytes + udp_bytes;
}
