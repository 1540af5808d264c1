/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLAKEWAY_LINK_H
#define FLAKEWAY_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One direction's line: packets leave one after the other at a bit rate, and wait in a drop-tail queue. */
typedef struct fw_waiting {
    uint64_t exit_ns; /* when its last bit has left */
    size_t bytes;
} fw_waiting;

typedef struct fw_link {
    uint64_t bits_per_s;    /* 0 = unlimited: nothing ever waits */
    uint32_t queue_packets; /* that may wait behind the one being sent; UINT32_MAX = counted in bytes */
    uint64_t queue_bytes;   /* UINT64_MAX = counted in packets */
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
