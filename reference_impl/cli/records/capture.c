/* SPDX-License-Identifier: BSD-2-Clause */
/* The capture file of --pcap: see records.h. */
#include "cli/records/records.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/bytes.h"
#include "core/wire/checksum.h"
#include "io/clock.h"
#include "io/link.h"

/* ---- headers -------------------------------------------------------------------------------------------------- */

#define IPV4_HEADER_BYTES 20
#define IPV6_HEADER_BYTES 40
#define UDP_HEADER_BYTES 8
#define PROTOCOL_UDP 17
#define TIME_TO_LIVE 64
#define DONT_FRAGMENT 0x4000

/* Each fills in a header whose bytes are 0. */
static void write_ipv4(uint8_t *out, uint8_t protocol, size_t payload_bytes, uint16_t identification,
                       const netblt_address *source, const netblt_address *destination)
{
    out[0] = 0x45;
    nb_put16(out + 2, (uint16_t)(IPV4_HEADER_BYTES + payload_bytes));
    nb_put16(out + 4, identification);
    nb_put16(out + 6, DONT_FRAGMENT);
    out[8] = TIME_TO_LIVE;
    out[9] = protocol;
    memcpy(out + 12, source->bytes, NETBLT_IPV4_BYTES);
    memcpy(out + 16, destination->bytes, NETBLT_IPV4_BYTES);
    nb_put16(out + 10, nb_checksum(out, IPV4_HEADER_BYTES)); /* the same as that of RFC 998 */
}

static void write_ipv6(uint8_t *out, uint8_t protocol, size_t payload_bytes, const netblt_address *source,
                       const netblt_address *destination)
{
    out[0] = 0x60;
    nb_put16(out + 4, (uint16_t)payload_bytes);
    out[6] = protocol;
    out[7] = TIME_TO_LIVE;
    memcpy(out + 8, source->bytes, NETBLT_IPV6_BYTES);
    memcpy(out + 24, destination->bytes, NETBLT_IPV6_BYTES);
}

/* With the checksum over the pseudo header (RFC 768, RFC 8200 8.1), so that no reader reports it as wrong: its
 * addresses are right before the UDP header, and its other two fields in place of the checksum while it is computed.
 * `length` bytes from `out` on are the header and what follows. */
static void write_udp(uint8_t *out, size_t length, const netblt_address *source, const netblt_address *destination)
{
    bool is_ipv6 = netblt_address_family(source) == NETBLT_FAMILY_IPV6;
    size_t addresses = is_ipv6 ? (size_t)2 * NETBLT_IPV6_BYTES : (size_t)2 * NETBLT_IPV4_BYTES;
    uint16_t checksum;
    nb_put16(out, netblt_address_udp_port(source));
    nb_put16(out + 2, netblt_address_udp_port(destination));
    nb_put16(out + 4, (uint16_t)length);
    nb_put16(out + 6, (uint16_t)(length + PROTOCOL_UDP));
    checksum = nb_checksum(out - addresses, addresses + length);
    nb_put16(out + 6, checksum == 0 ? 0xffff : checksum);
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

/* Puts the packet together, with the headers that belong in front of it. Returns its size. */
static size_t build_packet(capture *file, const netblt_passing *passing, const uint8_t *bytes, size_t length)
{
    const netblt_address *source = passing->sent ? &passing->path->local : &passing->path->foreign;
    const netblt_address *destination = passing->sent ? &passing->path->foreign : &passing->path->local;
    bool is_ipv6 = netblt_address_family(source) == NETBLT_FAMILY_IPV6;
    bool is_udp = netblt_address_udp_port(source) != 0 || netblt_address_udp_port(destination) != 0;
    size_t ip_bytes = is_ipv6 ? IPV6_HEADER_BYTES : IPV4_HEADER_BYTES;
    size_t udp_bytes = is_udp ? UDP_HEADER_BYTES : 0;
    uint8_t protocol = is_udp ? PROTOCOL_UDP : NETBLT_IP_PROTOCOL;
    memset(file->packet, 0, ip_bytes + udp_bytes);
    if (ip_bytes + udp_bytes + length > sizeof file->packet)
        length = sizeof file->packet - ip_bytes - udp_bytes;
    memcpy(file->packet + ip_bytes + udp_bytes, bytes, length);
    if (is_ipv6)
        write_ipv6(file->packet, protocol, udp_bytes + length, source, destination);
    else /* Increasing numbers show in which order packets left, and that none is missing: unknown of what arrived. */
        write_ipv4(file->packet, protocol, udp_bytes + length, passing->sent ? file->next_id++ : 0, source,
                   destination);
    if (is_udp)
        write_udp(file->packet + ip_bytes, udp_bytes + length, source, destination);
    return ip_bytes + udp_bytes + length;
}

static void write_packet(capture *file, const netblt_passing *passing, const uint8_t *bytes, size_t length)
{
    uint64_t at_us = (uint64_t)((int64_t)passing->at + file->epoch_us);
    struct pcap_pkthdr about = {
        .ts = {.tv_sec = (time_t)(at_us / 1000000), .tv_usec = (suseconds_t)(at_us % 1000000 * 1000)}, /* ns */
    };
    about.caplen = about.len = (bpf_u_int32)build_packet(file, passing, bytes, length);
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
