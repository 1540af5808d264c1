/* SPDX-License-Identifier: BSD-2-Clause */
/* All public headers of libnetblt. A program includes this file only.
 *
 * Structures and versions. A program that was compiled with an older header works with a newer library of the same
 * soname. Structures grow at their end only, and the library knows which part of a structure the program has:
 *
 *   structure             who makes it   grows   how the library knows its size
 *   netblt_config         program        yes     `size`, which netblt_config_default() sets
 *   netblt_open_args      program        yes     `size`, which the program sets to sizeof(netblt_open_args)
 *   netblt_client         program        yes     `size`, which the program sets to sizeof(netblt_client)
 *   netblt_info           program        yes     netblt_get_info() is a macro that passes the size
 *   netblt_options        program        yes     it is the last member of netblt_open_args and of netblt_answer
 *   netblt_request, netblt_answer, netblt_outcome, netblt_event
 *                         library        yes     the program uses the part that it knows
 *   netblt_address, netblt_path, netblt_params, netblt_profile, netblt_stats, netblt_output, netblt_allocator
 *                         both           never   programs copy them or embed them in other structures
 *
 * Fields beyond `size` have their default. If `size` exceeds what the library knows, the bytes beyond must be zero.
 * A size in the structure was preferred to a version number in the name of a function, because a program can be linked
 * from parts that were compiled with different headers, and because other languages cannot use macros. */
#ifndef NETBLT_NETBLT_H
#define NETBLT_NETBLT_H

#include <netblt/client.h>
#include <netblt/connection.h>
#include <netblt/endpoint.h>
#include <netblt/events.h>
#include <netblt/params.h>
#include <netblt/types.h>
#include <netblt/version.h>

#endif
