/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wrapping, finding and correcting NETBLT in IPv4. */
#include "ipv4.h"

#include "testing.h"

static const uint8_t source[4] = {192, 168, 0, 1};
static const uint8_t destination[4] = {192, 168, 0, 199};

static void the_headers_checksum_is_the_textbooks(void)
{
    /* A header that is worked through in many places: checksum b861. Its TTL 64 and flags are ours, but for DF. */
    uint8_t header[20];
    ipv4_header(header, source, destination, 17, 0, 95);
    CHECK(header[10] == 0xf8 && header[11] == 0x61); /* b861 + 4000 without the DF bit */
    header[6] = 0x40;
    header[10] = header[11] = 0;
    CHECK(ipv4_checksum(header, 20, 0) == 0xb861);
}

static test_packet wrapped(uint8_t protocol, const uint8_t *payload, size_t length)
{
    test_packet packet = {.length = 20 + length};
    ipv4_header(packet.bytes, source, destination, protocol, 7, length);
    if (length)
        memcpy(packet.bytes + 20, payload, length);
    return packet;
}

static void protocol_30_is_netblt_and_other_protocols_are_not(void)
{
    const uint8_t payload[12] = {0};
    ipv4_view view;
    test_packet packet = wrapped(30, payload, 12);
    CHECK(ipv4_find_netblt(packet.bytes, packet.length + 6, 9980, &view)); /* padding of a short frame after it */
    CHECK(view.netblt_offset == 20 && view.netblt_length == 12 && view.total_bytes == 32);
    packet = wrapped(1, payload, 12);
    CHECK(!ipv4_find_netblt(packet.bytes, packet.length, 9980, &view));
}

static void udp_is_netblt_when_either_port_is_its_port(void)
{
    uint8_t payload[20] = {0x26, 0xfc, 0x10, 0x00, 0, 20}; /* 9980 to 4096 */
    ipv4_view view;
    test_packet packet = wrapped(17, payload, 20);
    CHECK(ipv4_find_netblt(packet.bytes, packet.length, 9980, &view));
    CHECK(view.udp && view.netblt_offset == 28 && view.netblt_length == 12);
    CHECK(ipv4_find_netblt(packet.bytes, packet.length, 4096, &view));
    CHECK(!ipv4_find_netblt(packet.bytes, packet.length, 9981, &view));
    CHECK(!ipv4_find_netblt(packet.bytes, packet.length, 0, &view));
}

static void fragments_and_broken_headers_are_told_apart(void)
{
    const uint8_t payload[12] = {0};
    ipv4_view view;
    test_packet packet = wrapped(30, payload, 12);
    packet.bytes[7] = 1; /* fragment offset 8 */
    CHECK(ipv4_find_netblt(packet.bytes, packet.length, 0, &view) && view.netblt_length == 0);
    packet.bytes[7] = 0;
    for (size_t length = 0; length < packet.length; length++)
        CHECK(!ipv4_find_netblt(packet.bytes, length, 0, &view));
    packet.bytes[0] = 0x44;
    CHECK(!ipv4_find_netblt(packet.bytes, packet.length, 0, &view));
    packet.bytes[0] = 0x65;
    CHECK(!ipv4_find_netblt(packet.bytes, packet.length, 0, &view));
}

static void a_repaired_packet_has_sound_lengths_and_checksums(void)
{
    uint8_t payload[61] = {0x26, 0xfc, 0x10, 0x00, 0, 61, 0x12, 0x34, 9, 9, 9};
    test_packet packet = wrapped(17, payload, 61);
    ipv4_repair(packet.bytes, 28, 33);
    CHECK(packet.bytes[2] == 0 && packet.bytes[3] == 61);
    CHECK(packet.bytes[24] == 0 && packet.bytes[25] == 41);
    CHECK(ipv4_checksum(packet.bytes, 20, 0) == 0);
    /* the sum over pseudo-header, UDP header and data is 0 with the right checksum in place */
    uint32_t pseudo = 0xc0a8 + 0x0001 + 0xc0a8 + 0x00c7 + 17 + 41;
    CHECK(ipv4_checksum(packet.bytes + 20, 41, pseudo) == 0);
    packet.bytes[26] = packet.bytes[27] = 0; /* a sender that gave none gets none */
    ipv4_repair(packet.bytes, 28, 33);
    CHECK(packet.bytes[26] == 0 && packet.bytes[27] == 0);
}

static void a_udp_checksum_that_comes_out_as_zero_is_sent_as_ffff(void)
{
    uint8_t payload[10] = {0x26, 0xfc, 0x10, 0x00, 0, 10};
    test_packet packet = wrapped(17, payload, 10);
    ipv4_set_udp_checksum(packet.bytes);
    memcpy(packet.bytes + 28, packet.bytes + 26, 2); /* the data makes up for everything else */
    ipv4_set_udp_checksum(packet.bytes);
    CHECK(packet.bytes[26] == 0xff && packet.bytes[27] == 0xff); /* RFC 768: 0 means "no checksum" */
}

static void a_udp_length_beyond_the_packet_is_not_followed(void)
{
    static const uint16_t lengths[] = {0, 7, 11, 65535};
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t payload[10] = {0x26, 0xfc, 0x10, 0x00, (uint8_t)(lengths[i] >> 8), (uint8_t)lengths[i], 0x12, 0x34};
        test_packet packet = wrapped(17, payload, 10);
        ipv4_set_udp_checksum(packet.bytes);
        CHECK(packet.bytes[26] == 0x12 && packet.bytes[27] == 0x34); /* unchanged */
    }
}

/* A length that lies: too short for the header, or more than the packet holds. Only a first fragment may state more. */
static void a_datagram_whose_length_lies_is_no_netblt(void)
{
    static const uint16_t lies[] = {0, 7, 21, 65535};
    ipv4_view view;
    for (unsigned i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        uint8_t payload[20] = {0x26, 0xfc, 0x10, 0x00, (uint8_t)(lies[i] >> 8), (uint8_t)lies[i]};
        test_packet packet = wrapped(17, payload, 20);
        CHECK(!ipv4_find_netblt(packet.bytes, packet.length, 9980, &view));
    }
    uint8_t payload[20] = {0x26, 0xfc, 0x10, 0x00, 0, 60};
    test_packet packet = wrapped(17, payload, 20);
    packet.bytes[6] = 0x20; /* more fragments */
    CHECK(ipv4_find_netblt(packet.bytes, packet.length, 9980, &view) && view.netblt_length == 12);
    payload[5] = 16; /* bytes after the datagram are none of it */
    packet = wrapped(17, payload, 20);
    CHECK(ipv4_find_netblt(packet.bytes, packet.length, 9980, &view) && view.netblt_length == 8);
}

int main(void)
{
    RUN(the_headers_checksum_is_the_textbooks);
    RUN(protocol_30_is_netblt_and_other_protocols_are_not);
    RUN(udp_is_netblt_when_either_port_is_its_port);
    RUN(fragments_and_broken_headers_are_told_apart);
    RUN(a_repaired_packet_has_sound_lengths_and_checksums);
    RUN(a_udp_checksum_that_comes_out_as_zero_is_sent_as_ffff);
    RUN(a_udp_length_beyond_the_packet_is_not_followed);
    RUN(a_datagram_whose_length_lies_is_no_netblt);
    return failures != 0;
}
