/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that wait for the next step of a tree transfer: see reservations.h. */
#include "cli/listen/reservations.h"

#include <stdlib.h>
#include <string.h>

#include "cli/listen/name_locks.h"

struct reservation {
    TAILQ_ENTRY(reservation) place;
    netblt_address host;
    netblt_time until;
    reserved_past past;
    char name[];
};

void reservations_init(reservation_list *all)
{
    *all = (reservation_list){0};
    TAILQ_INIT(&all->queue);
}

static void end(reservation_list *all, struct reservation *one)
{
    TAILQ_REMOVE(&all->queue, one, place);
    all->count--;
    free(one);
}

void reservations_clear(reservation_list *all)
{
    struct reservation *next;
    for (struct reservation *one = TAILQ_FIRST(&all->queue); one != NULL; one = next) {
        next = TAILQ_NEXT(one, place);
        end(all, one);
    }
}

/* Room for one more. */
static void displace(reservation_list *all, const netblt_address *host)
{
    struct reservation *oldest = NULL;
    struct reservation *one;
    unsigned count = 0;
    TAILQ_FOREACH(one, &all->queue, place) {
        if (!netblt_address_same_host(&one->host, host))
            continue;
        oldest = oldest == NULL ? one : oldest;
        count++;
    }
    if (count >= RESERVATIONS_PER_HOST_MAX)
        end(all, oldest);
    else if (all->count >= RESERVATIONS_MAX)
        end(all, TAILQ_FIRST(&all->queue));
}

void reservations_add(reservation_list *all, const netblt_address *host, const char *name, const reserved_past *past,
                      netblt_time until)
{
    size_t length = strlen(name) + 1;
    struct reservation *one = malloc(sizeof *one + length);
    if (one == NULL)
        return;
    displace(all, host);
    *one = (struct reservation){.host = *host, .until = until, .past = *past};
    memcpy(one->name, name, length);
    TAILQ_INSERT_TAIL(&all->queue, one, place);
    all->count++;
}

bool reservations_object(const reservation_list *all, const netblt_address *host, const char *name)
{
    const struct reservation *one;
    TAILQ_FOREACH(one, &all->queue, place)
        if (!netblt_address_same_host(&one->host, host) && names_overlap(one->name, name))
            return true;
    return false;
}

void reservations_take(reservation_list *all, const netblt_address *host, const char *name, reserved_past *past)
{
    struct reservation *next;
    *past = (reserved_past){0};
    for (struct reservation *one = TAILQ_FIRST(&all->queue); one != NULL; one = next) {
        next = TAILQ_NEXT(one, place);
        if (!netblt_address_same_host(&one->host, host) || !names_overlap(one->name, name))
            continue;
        if (strcmp(one->name, name) == 0)
            *past = one->past;
        end(all, one);
    }
}

void reservations_expire(reservation_list *all, netblt_time now)
{
    struct reservation *next;
    for (struct reservation *one = TAILQ_FIRST(&all->queue); one != NULL; one = next) {
        next = TAILQ_NEXT(one, place);
        if (now >= one->until)
            end(all, one);
    }
}
