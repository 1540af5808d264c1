/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A CONTROL as a whole, as its rules pass it to each other. */
#ifndef NETBLT_RULE_CONTROL_PACKET_H
#define NETBLT_RULE_CONTROL_PACKET_H

#include "connection/event.h"

struct nb_control {
    int64_t first; /* message, 0 when it holds none */
    int64_t highest;
    int64_t newest_before; /* newest message captured before this CONTROL */
    unsigned messages;
    unsigned fresh; /* captured for the first time */
    unsigned gos;   /* of these */
    unsigned oks;
    bool present[NB_MESSAGE_WINDOW]; /* by number - acked - 1 */
};

#endif
