/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/capture.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/ip_headers.h"
#include "io/clock.h"

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
    size_t headers = ip_headers_write(&packet, file->packet);
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
