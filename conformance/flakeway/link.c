/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line of one direction: rate or frames, and a drop-tail queue. */
#include "link.h"

#include <stdlib.h>

#define NS_PER_US 1000u
#define NS_PER_S 1000000000u

void fw_link_reset(fw_link *link)
{
    link->bits_per_s = 0;
    link->queue_packets = FW_QUEUE_DEFAULT_PACKETS;
    link->queue_bytes = link->queue_time_us = UINT64_MAX;
    link->queue_cells = UINT32_MAX;
    link->framing_bytes = link->cell_payload_bytes = link->cell_bytes = 0;
    link->cells_from_bits_per_s = link->frame_us = link->frame_bits = 0;
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
static bool queue_is_full(const fw_link *link, size_t bytes, uint64_t now_ns)
{
    if (link->count == 0)
        return false;
    if (link->queue_time_us != UINT64_MAX && link->free_at_ns - now_ns > link->queue_time_us * NS_PER_US)
        return true;
    uint64_t waiting_bytes = link->bytes - link->ring[link->first].bytes;
    return link->count - 1 >= link->queue_packets || waiting_bytes + bytes > link->queue_bytes;
}

static bool ring_grow(fw_link *link)
{
    size_t capacity = link->ring_capacity ? link->ring_capacity * 2 : 32;
    fw_waiting *ring = malloc(capacity * sizeof *ring);
    if (!ring)
        return false;
    for (size_t i = 0; i < link->count; i++)
        ring[i] = link->ring[(link->first + i) % link->ring_capacity];
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

/* What a packet costs on the line: framing, and cells that are sent whole. */
static size_t line_bytes(const fw_link *link, size_t bytes)
{
    bytes += link->framing_bytes;
    if (link->cell_payload_bytes)
        bytes = (bytes + link->cell_payload_bytes - 1) / link->cell_payload_bytes * link->cell_bytes;
    return bytes;
}

/* When the last bit leaves if the packet is sent now. */
static uint64_t exit_at_rate(const fw_link *link, size_t bytes, uint64_t now_ns)
{
    uint64_t begin_ns = now_ns;
    if (link->cells_from_bits_per_s) { /* the first cell has been here since it came in */
        uint64_t took_ns = (uint64_t)bytes * 8 * NS_PER_S / link->cells_from_bits_per_s;
        begin_ns = now_ns > took_ns ? now_ns - took_ns : 0;
    }
    uint64_t start_ns = link->free_at_ns > begin_ns ? link->free_at_ns : begin_ns;
    uint64_t exit_ns = start_ns + sending_time_ns(link, bytes);
    return exit_ns > now_ns ? exit_ns : now_ns;
}

/* The frame that takes the packet leaves as a whole when its time is over. A packet larger than a frame takes several.
 */
static uint64_t exit_in_frames(fw_link *link, size_t bytes, uint64_t now_ns)
{
    uint64_t period_ns = link->frame_us * NS_PER_US;
    uint64_t next = (now_ns + period_ns - 1) / period_ns;
    uint64_t bits = (uint64_t)bytes * 8;
    if (next > link->frame_number) {
        link->frame_number = next;
        link->frame_used_bits = 0;
    }
    if (link->frame_used_bits && link->frame_used_bits + bits > link->frame_bits) {
        link->frame_number++;
        link->frame_used_bits = 0;
    }
    for (; bits > link->frame_bits; bits -= link->frame_bits)
        link->frame_number++;
    link->frame_used_bits += bits;
    return (link->frame_number + 1) * period_ns;
}

/* A switch's queue of cells: what of everything accepted so far has not left when the packet's last cell is there. */
static bool cells_overflow(const fw_link *link, uint64_t exit_ns, uint64_t now_ns)
{
    if (link->queue_cells == UINT32_MAX || link->cell_bytes == 0 || link->bits_per_s == 0)
        return false;
    double cells = (double)(exit_ns - now_ns) / NS_PER_S * (double)link->bits_per_s / 8 / link->cell_bytes;
    return cells > (double)link->queue_cells + 1; /* one is being sent */
}

bool fw_link_admit(fw_link *link, size_t bytes, uint64_t now_us, uint64_t *exit_us)
{
    *exit_us = now_us;
    if (link->bits_per_s == 0 && link->frame_us == 0)
        return true;
    uint64_t now_ns = now_us * NS_PER_US;
    size_t cost = line_bytes(link, bytes);
    forget_what_has_left(link, now_ns);
    if (queue_is_full(link, cost, now_ns) || (link->count == link->ring_capacity && !ring_grow(link)))
        return false;
    uint64_t exit_ns = link->frame_us ? exit_in_frames(link, cost, now_ns) : exit_at_rate(link, cost, now_ns);
    if (cells_overflow(link, exit_ns, now_ns))
        return false;
    link->free_at_ns = exit_ns;
    link->ring[(link->first + link->count) % link->ring_capacity] =
        (fw_waiting){.exit_ns = link->free_at_ns, .bytes = cost};
    link->count++;
    link->bytes += cost;
    *exit_us = (link->free_at_ns + NS_PER_US - 1) / NS_PER_US;
    return true;
}

void fw_link_free(fw_link *link)
{
    free(link->ring);
    *link = (fw_link){0};
}
