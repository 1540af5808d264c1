/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "link.h"

#include <stdlib.h>

#define NS_PER_US 1000u
#define NS_PER_S 1000000000u

void fw_link_reset(fw_link *link)
{
    link->bits_per_s = 0;
    link->queue_packets = FW_QUEUE_DEFAULT_PACKETS;
    link->queue_bytes = UINT64_MAX;
}

static void forget_what_has_left(fw_link *link, uint64_t now_ns)
{
    while (link->count && link->ring[link->first].exit_ns <= now_ns) {
        link->bytes -= link->ring[link->first].bytes;
        link->first = (link->first + 1) % link->ring_capacity;
        link->count--;
    }
}

/* The packet being sent is not in the queue: a queue of 0 still lets packets through an idle line. */
static bool queue_is_full(const fw_link *link, size_t bytes)
{
    if (link->count == 0) {
        return false;
    }
    uint64_t waiting_bytes = link->bytes - link->ring[link->first].bytes;
    return link->count - 1 >= link->queue_packets || waiting_bytes + bytes > link->queue_bytes;
}

static bool ring_grow(fw_link *link)
{
    size_t capacity = link->ring_capacity ? link->ring_capacity * 2 : 32;
    fw_waiting *ring = malloc(capacity * sizeof *ring);
    if (!ring) {
        return false;
    }
    for (size_t i = 0; i < link->count; i++) {
        ring[i] = link->ring[(link->first + i) % link->ring_capacity];
    }
    free(link->ring);
    link->ring = ring;
    link->ring_capacity = capacity;
    link->first = 0;
    return true;
}

/* Nanoseconds that `bytes` take, rounded up: a line is never faster than its rate. */
static uint64_t sending_time_ns(const fw_link *link, size_t bytes)
{
    return ((uint64_t)bytes * 8 * NS_PER_S + link->bits_per_s - 1) / link->bits_per_s;
}

bool fw_link_admit(fw_link *link, size_t bytes, uint64_t now_us, uint64_t *exit_us)
{
    *exit_us = now_us;
    if (link->bits_per_s == 0) {
        return true;
    }
    uint64_t now_ns = now_us * NS_PER_US;
    forget_what_has_left(link, now_ns);
    if (queue_is_full(link, bytes) || (link->count == link->ring_capacity && !ring_grow(link))) {
        return false;
    }
    uint64_t start_ns = link->free_at_ns > now_ns ? link->free_at_ns : now_ns;
    link->free_at_ns = start_ns + sending_time_ns(link, bytes);
    link->ring[(link->first + link->count) % link->ring_capacity] =
        (fw_waiting){.exit_ns = link->free_at_ns, .bytes = bytes};
    link->count++;
    link->bytes += bytes;
    *exit_us = (link->free_at_ns + NS_PER_US - 1) / NS_PER_US;
    return true;
}

void fw_link_free(fw_link *link)
{
    free(link->ring);
    *link = (fw_link){0};
}
