/* SPDX-License-Identifier: BSD-2-Clause */
/* What an end proposes, and to what it restricts a proposal. */
#ifndef NETBLT_CLI_PARAMETERS_H
#define NETBLT_CLI_PARAMETERS_H

#include <netblt/endpoint.h>

#include "cli/options/options.h"
#include "cli/transfer/station.h"

/* What this end proposes: what the user said, else what suits the route and the path. 0, or -1 with *failure. */
int parameters_propose(const options *given, const station *net, uint64_t transfer_size, netblt_params *params,
                       netblt_failure *failure);

/* What this passive end can do as `role`: *limits comes with the peer's proposal and leaves more restrictive where the
 * user, the route or memory want it so. `transfer_size` counts when we send. */
void parameters_limit(const options *given, enum netblt_role role, const netblt_path *path, uint64_t transfer_size,
                      netblt_params *limits);
/* Keeps all buffers of a connection within `bytes`. */
void parameters_limit_memory(uint64_t bytes, netblt_params *limits);
/* Of a receiver: without pacing (burst interval 0), all buffers that are under way may lie in its socket at once, and
 * `socket_bytes` is what that holds (netblt_link_receive_buffer_bytes()). Where it is too small for them, they become
 * small ones of 64 KiB, and fewer. */
void parameters_limit_unpaced(size_t socket_bytes, netblt_params *limits);

/* The core takes the first buffer of an unvalidated peer, or several small ones of 128 KiB together. When all of them
 * have `taken` too much, another one gets buffers that are no larger than those that netblt proposes by itself. */
void parameters_limit_first_buffer(uint64_t taken, netblt_params *limits);

/* ---- how a way of given rate and round trip is kept full */

typedef struct path_buffers {
    uint32_t buffer_size;
    uint16_t max_buffers;
} path_buffers;

/* At least three bandwidth-delay products and two buffers more, in buffers of 64 to 256 KiB and whole packets: one
 * product is on its way, one is being repaired, one waits for its OK to arrive. Where more than forty buffers of
 * 256 KiB would be under way in each product, they are a fortieth of it, but at most 65,535 packets. */
path_buffers path_sizes_buffers(const path_hint *path, uint16_t packet_size);

typedef struct path_bursts {
    uint16_t size;
    uint16_t interval_ms;
} path_bursts;

/* Bursts whose packets, `wire_bytes` each with all headers, come as close to the path's rate as whole packets and whole
 * milliseconds can, from below. Where the round trip is long and the bursts stay small, their interval is 4 ms or more,
 * so that a host which wakes up late by 1 ms can keep the rate (RATE-04). */
path_bursts path_sizes_bursts(const path_hint *path, uint32_t wire_bytes);

#endif
