/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes of buffers and bursts for a path of known, assumed or unknown rate and round trip. */
#ifndef NETBLT_CLI_PATH_SIZES_H
#define NETBLT_CLI_PATH_SIZES_H

#include "cli/options/options.h"
#include "cli/path_memory/known_path.h"

#define PATH_BUFFER_MIN_BYTES (64 * 1024)
/* The RESEND count has 16 bits (AMB-17). */
#define PATH_BUFFER_PACKETS_MAX 65535u

typedef struct path_buffers {
    uint32_t buffer_size;
    uint16_t max_buffers;
} path_buffers;

/* At least three bandwidth-delay products and two buffers more, in buffers of 64 to 256 KiB and whole packets: one
 * product is on its way, one is being retransmitted, one waits for its OK to arrive. Where more than forty buffers of
 * 256 KiB would be under way in each product, they are a fortieth of it, but at most 65,535 packets. */
path_buffers path_sizes_buffers(const path_hint *path, uint16_t packet_size);

/* Makes buffers smaller, and as many more, for a transfer of so many bytes (0 = not known) over a path of which nothing
 * is known: the first OK changes the rate, and comes earlier with small buffers. */
void path_sizes_suit_transfer(path_buffers *buffers, uint64_t transfer_bytes, uint16_t packet_size);

typedef struct path_bursts {
    uint16_t size;
    uint16_t interval_ms;
} path_bursts;

/* Bursts whose packets, `wire_bytes` each with all headers, come as close to the path's rate as whole packets and whole
 * milliseconds can, from below. Where the round trip is long and the bursts stay small, their interval is 4 ms or more,
 * so that a host which wakes up late by 1 ms can keep the rate (RATE-04). */
path_bursts path_sizes_bursts(const path_hint *path, uint32_t wire_bytes);

/* Without --path: 100 Mb/s by satellite, or 1 Gb/s across a continent. 23 MB for a transfer are nothing today. */
extern const path_hint path_sizes_assumed;

/* What the automatic rate begins with when the path is not known: 37 Mb/s with 1456-byte packets, and until the first
 * OK no more than one buffer. So many packets in a row show the rate of links up to 1 Gb/s in one buffer. A link of 1
 * Mb/s loses most of the first buffer, and gets it in less time than at the pace of a slower pair. */
extern const path_bursts path_sizes_first_bursts;

/* What the automatic rate begins with on a path that earlier transfers have measured: a share of that rate. The path
 * may have become slower. One that was measured too briefly is not begun more slowly than one that is not known.
 * `role`: of the end that opens. */
path_bursts path_sizes_known_bursts(const known_path *path, enum netblt_role role, uint32_t wire_bytes);
/* Whether the path has carried enough more than `bursts` that they need not be tried with one buffer first. */
bool path_sizes_carries(const known_path *path, path_bursts bursts, uint32_t wire_bytes);
/* Buffers for such a path and a transfer of so many bytes (0 = not known). Never fewer bytes are outstanding than on a
 * path that is not known: it may have become faster. */
path_buffers path_sizes_known_buffers(const known_path *path, uint64_t transfer_bytes, uint16_t packet_size);

#endif
