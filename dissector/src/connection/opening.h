/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the first OPEN and the first RESPONSE of a connection say. */
#ifndef NETBLT_CONNECTION_OPENING_H
#define NETBLT_CONNECTION_OPENING_H

#include "connection/event.h"

/* An OPEN or RESPONSE, beside what its end said before. */
struct nb_opened {
    struct nb_terms now;
    struct nb_terms before; /* frame 0: it is the first */
};

/* Takes an OPEN or RESPONSE into the model. */
struct nb_opened nb_take_opening(const struct nb_event *event);

#endif
