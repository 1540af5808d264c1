/* SPDX-License-Identifier: BSD-2-Clause */
/* The capture file of --pcap: see capture.h. */
#include "cli/records/capture.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/clock.h"
#include "io/link.h"

/* ---- headers -------------------------------------------------------------------------------------------------- */

#define IPV4_HEADER_BYTES 20
#define IPV6_HEADER_BYTES 40
#define UDP_HEADER_BYTES 8
#define PROTOCOL_UDP 17
#define TIME_TO_LIVE 64
#define DONT_FRAGMENT 0x4000

/* IPv6 and UDP headers. */
#define IP_HEADERS_MAX_BYTES 48

typedef struct ip_packet {
    const netblt_address *source;
    const netblt_address *destination;
    uint16_t identification; /* IPv4 only */
    const uint8_t *payload;  /* the NETBLT packet */
    size_t length;
} ip_packet;

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

/* Writes the IP header, and the UDP header where addresses have ports, that belong in front of `packet`. Answers their
 * size. */
static size_t write_headers(const ip_packet *packet, uint8_t out[IP_HEADERS_MAX_BYTES])
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

/* ---- the file ------------------------------------------------------------------------------------------------- */

#define SNAPSHOT_BYTES 262144 /* more than any packet: nothing is cut off */

struct capture {
    const char *path;
    pcap_t *handle;
    pcap_dumper_t *dumper;
    int64_t epoch_us;      /* wall clock minus netblt_clock_now() when the capture began */
    uint16_t next_id;      /* of sent packets */
    int error;             /* errno of the first that could not be written */
    uint8_t packet[65536]; /* the one being put together */
};

/* A capture has one clock that never steps: the wall clock counts only where it began. */
static int64_t find_epoch(void)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    return (int64_t)wall.tv_sec * 1000000 + wall.tv_nsec / 1000 - (int64_t)netblt_clock_now();
}

capture *capture_open(const char *path, netblt_failure *failure)
{
    capture *file = calloc(1, sizeof *file);
    FILE *stream = file == NULL ? NULL : fopen(path, "wbe");
    netblt_failure ignored;
    if (stream == NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", path, strerror(errno));
        free(file);
        return NULL;
    }
    file->path = path;
    file->epoch_us = find_epoch();
    file->handle = pcap_open_dead_with_tstamp_precision(DLT_RAW, SNAPSHOT_BYTES, PCAP_TSTAMP_PRECISION_NANO);
    if (file->handle != NULL)
        file->dumper = pcap_dump_fopen(file->handle, stream);
    if (file->dumper == NULL) {
        fclose(stream);
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: not enough memory", path);
        capture_close(file, &ignored);
        return NULL;
    }
    return file;
}

static void write_packet(capture *file, const netblt_passing *passing, const uint8_t *bytes, size_t length)
{
    ip_packet packet = {
        .source = passing->sent ? &passing->path->local : &passing->path->foreign,
        .destination = passing->sent ? &passing->path->foreign : &passing->path->local,
        /* Numbers that climb tell in which order packets left, and that none is missing: unknown of what arrived. */
        .identification = passing->sent ? file->next_id++ : 0,
        .payload = bytes,
        .length = length,
    };
    size_t headers = write_headers(&packet, file->packet);
    uint64_t at_us = (uint64_t)((int64_t)passing->at + file->epoch_us);
    struct pcap_pkthdr about = {
        .ts = {.tv_sec = (time_t)(at_us / 1000000), .tv_usec = (suseconds_t)(at_us % 1000000 * 1000)}, /* ns */
    };
    if (headers + length > sizeof file->packet)
        length = sizeof file->packet - headers;
    memcpy(file->packet + headers, bytes, length);
    about.caplen = about.len = (bpf_u_int32)(headers + length);
    pcap_dump((u_char *)file->dumper, &about, file->packet);
}

void capture_write(capture *file, const netblt_passing *passing)
{
    FILE *stream = pcap_dump_file(file->dumper);
    for (size_t offset = 0; offset < passing->length && file->error == 0; offset += passing->segment_bytes) {
        size_t left = passing->length - offset;
        errno = 0;
        write_packet(file, passing, passing->packets + offset,
                     left < passing->segment_bytes ? left : passing->segment_bytes);
        if (ferror(stream) != 0)
            file->error = errno != 0 ? errno : EIO;
    }
}

int capture_close(capture *file, netblt_failure *failure)
{
    int result = 0;
    if (file == NULL)
        return 0;
    if (file->dumper != NULL) {
        if (pcap_dump_flush(file->dumper) != 0 && file->error == 0)
            file->error = errno;
        pcap_dump_close(file->dumper);
    }
    if (file->handle != NULL)
        pcap_close(file->handle);
    if (file->error != 0)
        result =
            netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write all of %s: %s", file->path, strerror(file->error));
    free(file);
    return result;
}
