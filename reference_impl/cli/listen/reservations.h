/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that wait for the next step of a tree transfer: they belong to the host that stored under them last. */
#ifndef NETBLT_CLI_RESERVATIONS_H
#define NETBLT_CLI_RESERVATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "io/address.h"

#include <netblt/types.h>

/* Each blocks other hosts from a name, so there are few: one more displaces the oldest, of the same host if that has
 * its share. */
#define RESERVATIONS_MAX 64
#define RESERVATIONS_PER_HOST_MAX 16

/* What the next step gets of those before. */
typedef struct reserved_past {
    netblt_time begun;    /* of the first; 0: there was none */
    uint64_t moved_bytes; /* of files, by all of them */
} reserved_past;

struct reservation;
typedef struct reservation_list {
    TAILQ_HEAD(reservation_queue, reservation) queue; /* the oldest first */
    unsigned count;
} reservation_list;

void reservations_init(reservation_list *all);
void reservations_clear(reservation_list *all);
/* When memory is short there is none. */
void reservations_add(reservation_list *all, const netblt_address *host, const char *name, const reserved_past *past,
                      netblt_time until);
/* Whether another host has reserved a name that overlaps with `name` (name_locks.h). */
bool reservations_object(const reservation_list *all, const netblt_address *host, const char *name);
/* Ends what this host has reserved of names that overlap with `name`. *past is that of `name` itself. */
void reservations_take(reservation_list *all, const netblt_address *host, const char *name, reserved_past *past);
/* Ends those whose time is over. */
void reservations_expire(reservation_list *all, netblt_time now);

#endif
