/* SPDX-License-Identifier: BSD-2-Clause */
/* An adversarial network between two endpoints under test, in virtual time: a bottleneck with a queue, loss by chance,
 * and faults for the next packets. */
#ifndef NETBLT_FUZZ_NETWORK_H
#define NETBLT_FUZZ_NETWORK_H

#include <netblt/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NETWORK_HISTORY_MAX = 64, NETWORK_HISTORY_KEPT = 8 };

enum network_fault {
    FAULT_NONE,
    FAULT_DROP,
    FAULT_REPEAT,  /* a second copy */
    FAULT_DAMAGE,  /* one byte is changed: a checksum shows it */
    FAULT_SHORTEN, /* the end is missing */
    FAULT_DELAY,
    FAULT_FORGE, /* a byte is changed and the header checksum computed again */
};

struct flight {
    struct flight *next;
    netblt_time at;
    int to;
    size_t size;
    uint8_t packet[];
};

/* Towards one end. */
struct network_lane {
    netblt_time delay_us;
    netblt_time packet_us; /* the bottleneck carries a packet in so long; 0 = at once */
    unsigned queue_packets;
    unsigned loss_permille;
    netblt_time scatter_us; /* of the delay, by chance; packets overtake each other */
    netblt_time free_at;    /* the bottleneck */
    enum network_fault fault;
    unsigned fault_count; /* packets that it will still hit */
    uint8_t place, value; /* what and how: see network_fault */
};

struct network {
    struct network_lane lanes[2];                /* by the end that receives */
    struct flight *flights;                      /* by time */
    struct flight *latest;                       /* the last of them */
    struct flight *history[NETWORK_HISTORY_MAX]; /* packets to repeat: the first ones, then the newest */
    unsigned history_count;
    uint32_t random;
    netblt_time cut_until; /* nothing passes */
    netblt_time fault_at;  /* when a packet was last lost, delayed or changed; may lie ahead */
    bool forged;           /* a packet was changed so that no end can detect it */
};

void network_free(struct network *network);
/* A packet leaves for end `to`. */
void network_send(struct network *network, int to, const uint8_t *packet, size_t size, netblt_time now);
/* A copy of an old packet is on its way once more. */
void network_replay(struct network *network, unsigned which, netblt_time now);
/* The packet that arrives next, if one does so by now; the caller frees it. */
struct flight *network_arrival(struct network *network, netblt_time now);
netblt_time network_next(const struct network *network);
/* No fault any more: no loss, no limit, no chance, no long delay. */
void network_heal(struct network *network);

#endif
