/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_ROUND_TRIP_H
#define NETBLT_CLI_ROUND_TRIP_H

#include "cli/transfer/station.h"

/* --path measure: how far away is the peer? Sets station.round_trip_s, before the transfer is opened, because what is
 * to be sized with it is proposed in its OPEN. An OPEN for a port that nobody waits at makes a passive end answer
 * REFUSED at once; RFC 998 does not oblige it to, so a peer that stays silent costs a bounded time, and nothing is
 * known. 0, or -1 with *station.plan.failure. A signal or an error from the network ends it early; both were told to
 * whom they concern. */
int round_trip_measure(station *net);

#endif
