/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffers and control messages of a history (stats-history.h): what each packet of the transfer adds to them. */
#ifndef NETBLT_STATS_TRANSFER_H
#define NETBLT_STATS_TRANSFER_H

#include "reports/stats-history.h"

/* A packet that is being noted. */
struct nb_now {
    struct nb_histories *all;
    struct nb_history *history;
    struct nb_moment at;
};

static inline void nb_mark_first(struct nb_moment *moment, struct nb_moment now)
{
    if (moment->frame == 0) {
        *moment = now;
    }
}

/* Takes note of a packet that counts. `end`: its emitter. */
void nb_transfer_note(const struct nb_now *now, const struct nb_packet *packet, int end);

/* Frees the buffers and messages. */
void nb_transfer_free(struct nb_history *history);

#endif
