/* SPDX-License-Identifier: BSD-2-Clause */
/* What an end proposes, and to what it restricts a proposal. */
#ifndef NETBLT_CLI_PARAMETERS_H
#define NETBLT_CLI_PARAMETERS_H

#include <netblt/endpoint.h>

#include "cli/options/options.h"
#include "cli/path_memory/known_path.h"
#include "cli/transfer/station.h"

/* What this end proposes: what the user said, else what suits the route and the path. `known`: what earlier transfers
 * have shown of the path; NULL: nothing. 0, or -1 with *failure. */
int parameters_propose(const options *given, const station *net, const known_path *known, uint64_t transfer_size,
                       netblt_params *params, netblt_failure *failure);

/* Whether the path has carried more than the bursts of that proposal: netblt_options.rate_is_known. */
bool parameters_are_known(const station *net, const known_path *known, const netblt_params *params);

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

#endif
