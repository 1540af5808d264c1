/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The world simulator: flows between hosts over links, in virtual time, with the real protocol core. */
#ifndef WORLD_H
#define WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flows between hosts over links, in virtual time, with the real protocol core in every host: the machine of
 * `netblt-plan`. A link is a flakeway of its own and speaks its language (docs/flakeway.md); a route
 * is a row of links; hosts have a processor that does one thing at a time and a network card that can be deaf.
 *
 *     world_new(), world_add_link(), world_set_link(), world_add_host(), world_add_flow(), world_add_cross()
 *     world_run()      as often as wanted, each time up to a later moment
 *     world_flow_stats(), world_buffers(), world_link_stats(), world_samples()
 *
 * The same calls with the same seed give the same numbers, bit for bit. Functions that can fail answer a negative
 * number or NULL, and world_error() states why. Not thread-safe, but worlds are independent of each other. */
typedef struct world world;

#define WORLD_ROUTE_MAX 4
#define WORLD_FLOWS_MAX 16
#define WORLD_HOSTS_MAX 16
#define WORLD_LINKS_MAX 8
#define WORLD_CROSS_MAX 8
#define WORLD_NEVER UINT64_MAX

/* A machine. All zero = an ideal one: no cost, no delay, and a card that sends and receives at the same time. */
typedef struct world_host {
    bool mit1987;            /* profile: bursts are planned from the actual start of the last one */
    uint32_t control_min_us; /* profile overrides; 0 = that of the profile */
    uint32_t control_initial_us;
    uint32_t data_variance_min_us;
    uint32_t data_variance_percent; /* UINT32_MAX = that of the profile */
    uint64_t send_packet_ns;        /* processor: to build and hand over a DATA packet */
    uint64_t send_byte_ps;          /* and for each of its data bytes, in picoseconds */
    uint64_t receive_packet_ns;     /* to take in a DATA packet */
    uint64_t receive_byte_ps;
    uint64_t control_send_ns; /* any other packet */
    uint64_t control_receive_ns;
    uint64_t burst_ns;              /* before the first packet of each burst */
    uint64_t jitter_ns;             /* every cost varies by up to this, either way */
    uint64_t timer_late_ns;         /* every wake-up comes later by this */
    uint64_t timer_granularity_ns;  /* and at the next multiple of this */
    uint64_t timer_jitter_ns;       /* and later by 0 to this */
    uint32_t receive_queue_packets; /* that may wait for the processor; 0 = any number */
    bool card_half_duplex;          /* one packet buffer for both directions: deaf while it builds or sends */
    uint64_t card_bits_per_s;       /* how long it sends; 0 = no time */
    uint64_t card_reenable_ns;      /* stays deaf so long after it has sent */
    uint32_t card_receive_buffers;  /* 0 = any number */
    uint64_t card_hold_ns;          /* a received packet occupies its buffer so long */
    bool validates_peers;           /* as passive end: one buffer only until the peer is validated (docs/security.md) */
} world_host;

/* A step of a route. */
typedef struct world_hop {
    uint8_t link;
    uint8_t direction; /* 0 = a>b, 1 = b>a */
} world_hop;

typedef struct world_route {
    uint8_t hops; /* 1..WORLD_ROUTE_MAX */
    world_hop hop[WORLD_ROUTE_MAX];
} world_route;

typedef struct world_flow {
    uint8_t sender; /* host */
    uint8_t receiver;
    world_route route; /* sender to receiver; back the same links the other way */
    uint64_t start_us;
    uint64_t bytes; /* 0 = endless */
    uint32_t buffer_size;
    uint16_t packet_size;
    uint16_t burst_size;
    uint16_t burst_interval_ms;
    uint16_t max_buffers;
    uint16_t death_timer_s;
    bool data_checksum;
    bool automatic; /* rate: both ends NETBLT_RATE_AUTO */
    bool in_order;  /* deliver in order, as a client that writes a stream; else by index */
    uint64_t rate_limit_bps;
    uint64_t open_timeout_us; /* 0 = that of the profile */
} world_flow;

/* Traffic without replies: bursts of packets, periodic or at random moments. */
typedef struct world_cross {
    world_route route;
    uint64_t start_us;
    uint64_t stop_us; /* WORLD_NEVER */
    uint32_t packet_bytes;
    uint32_t burst_packets;
    uint64_t period_ns; /* from burst to burst; at random, the mean of exponential distances */
    bool random;
} world_cross;

enum world_end {
    WORLD_TIME = 0, /* the moment was reached */
    WORLD_DONE,     /* every flow is over and there is no cross traffic */
    WORLD_IDLE,     /* nothing will ever happen again, yet a flow is not over */
    WORLD_SPINNING, /* a host asks to be called again and again at one moment */
};

typedef struct world_flow_stats {
    bool opened;
    bool finished; /* at both ends, and well */
    int result;    /* enum netblt_result of the end that failed first; 0 = none has */
    uint64_t started_ns;
    uint64_t sender_done_ns; /* 0 = not yet */
    uint64_t receiver_done_ns;
    uint64_t delivered_bytes;
    uint64_t data_packets_sent;
    uint64_t data_packets_retransmitted;
    uint64_t data_packets_received;
    uint64_t data_packets_duplicate;
    uint64_t data_bytes_sent; /* with NETBLT headers */
    uint64_t data_timeouts;
    uint64_t control_timeouts;
    uint64_t control_packets_sent;
    uint64_t resends_sent;
    uint64_t round_trip_us;
    uint16_t burst_size; /* in force at the sender */
    uint16_t burst_interval_ms;
    uint32_t peak_outstanding; /* buffers, at the sender */
} world_flow_stats;

/* Moments of one buffer; 0 = has not happened. */
typedef struct world_buffer {
    uint64_t first_sent_ns;    /* the first transmission of its packet 0 begins */
    uint64_t first_arrived_ns; /* its first packet has arrived */
    uint64_t done_ns;          /* complete at the receiver */
    uint64_t acked_ns;         /* its OK has arrived */
    uint32_t bytes;
    uint32_t packets_sent; /* the first time */
} world_buffer;

/* Of one direction of a link. */
typedef struct world_link_stats {
    uint64_t offered;
    uint64_t delivered;
    uint64_t lost;  /* by loss or a rule */
    uint64_t queue; /* dropped by a full queue */
    uint64_t cross_offered;
    uint64_t cross_delivered;
} world_link_stats;

typedef struct world_host_stats {
    uint64_t card_deaf;  /* packets that met a deaf card */
    uint64_t card_full;  /* no free buffer in the card */
    uint64_t queue_full; /* too many waited for the processor */
    uint64_t cpu_busy_ns;
} world_host_stats;

enum world_sample_kind {
    WORLD_SENT = 0,    /* DATA, first time */
    WORLD_RESENT,      /* DATA again */
    WORLD_ARRIVED,     /* DATA at the receiver's protocol */
    WORLD_OUTSTANDING, /* value = buffers at the sender */
    WORLD_COMPLETE,    /* buffer, at the receiver */
    WORLD_RATE,        /* value = data bits a second that the sender settled on */
};

typedef struct world_sample {
    uint64_t at_ns;
    uint32_t kind;
    uint32_t flow;
    uint32_t buffer;
    uint32_t packet;
    uint64_t value;
} world_sample;

/* NULL when memory is short. */
world *world_new(uint64_t seed);
void world_free(world *w);
const char *world_error(const world *w);

/* Answers the link's number. `shared`: one medium, both directions use the rate and the queue of a>b. */
int world_add_link(world *w, bool shared);
/* A line of the flakeway's language, in force from `at_us` on (0 = from the start). Checked at once. */
int world_set_link(world *w, int link, uint64_t at_us, const char *statement);
int world_add_host(world *w, const world_host *host);
int world_add_flow(world *w, const world_flow *flow);
int world_add_cross(world *w, const world_cross *cross);
/* Writes what passes link `link` into a pcapng file. Before world_run(). */
int world_capture(world *w, int link, const char *path);
/* Keeps samples. Before world_run(). */
void world_trace(world *w);

/* Up to `until_us`; an enum world_end, or negative. */
int world_run(world *w, uint64_t until_us);
uint64_t world_now_ns(const world *w);

void world_get_flow(const world *w, int flow, world_flow_stats *stats);
const char *world_flow_reason(const world *w, int flow); /* of `result` */
const world_buffer *world_buffers(const world *w, int flow, size_t *count);
void world_get_link(const world *w, int link, int direction, world_link_stats *stats);
void world_get_host(const world *w, int host, world_host_stats *stats);
const world_sample *world_samples(const world *w, size_t *count);
/* sizeof of the structures above, so that a reader with other declarations notices. */
size_t world_abi_bytes(void);

#endif
