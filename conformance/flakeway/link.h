/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line of one direction: rate or frames, and a drop-tail queue. */
#ifndef FLAKEWAY_LINK_H
#define FLAKEWAY_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One direction's line: packets leave one after the other at a bit rate, or in frames, and wait in a drop-tail queue.
 */
typedef struct fw_waiting {
    uint64_t exit_ns; /* when its last bit has left */
    size_t bytes;
} fw_waiting;

typedef struct fw_link {
    uint64_t bits_per_s;         /* 0 = unlimited: nothing ever waits, unless there are frames */
    uint32_t framing_bytes;      /* that the line adds to each packet */
    uint32_t cell_payload_bytes; /* 0 = no cells; a packet is carried by whole ones */
    uint32_t cell_bytes;
    uint64_t cells_from_bits_per_s; /* the rate at which its cells come in; 0 = all at once */
    uint64_t frame_us;              /* 0 = no frames; else a frame leaves at each multiple of this */
    uint64_t frame_bits;            /* that it carries: packets wait for a frame with room for them */
    uint64_t frame_number;          /* the one being filled */
    uint64_t frame_used_bits;
    uint32_t queue_packets; /* that may wait for the one being sent; UINT32_MAX = not counted */
    uint64_t queue_bytes;   /* UINT64_MAX = not counted */
    uint64_t queue_time_us; /* longest wait for the line; UINT64_MAX = any */
    uint32_t queue_cells;   /* UINT32_MAX = not counted */
    uint64_t free_at_ns;    /* when everything accepted so far has left */
    fw_waiting *ring;
    size_t ring_capacity;
    size_t first;
    size_t count; /* being sent and waiting */
    uint64_t bytes;
} fw_link;

#define FW_QUEUE_DEFAULT_PACKETS 1000 /* the customary length of an interface's queue (txqueuelen) */

void fw_link_reset(fw_link *link);
/* Puts a packet on the line: *exit_us is when it has left. false = the queue is full, or memory is short. */
bool fw_link_admit(fw_link *link, size_t bytes, uint64_t now_us, uint64_t *exit_us);
void fw_link_free(fw_link *link);

#endif
