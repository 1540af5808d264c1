/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a world holds: links, hosts, flows, cross traffic, and what is measured. */
#ifndef WORLD_STATE_H
#define WORLD_STATE_H

#include "flakeway.h"
#include "ipv4.h"
#include "pcapng.h"
#include "random.h"
#include "world.h"

#include <netblt/netblt.h>
#include <stdio.h>

#define NS_PER_US UINT64_C(1000)
#define FIRST_PORT 40000 /* of flow 0's sender: a packet shows its flow by this port */
#define NO_FLOW UINT32_MAX

/* What precedes the IPv4 header while a packet travels: which way it goes, and how far it has come. */
struct world_tag {
    uint8_t hop;
    uint8_t backward; /* along the flow's route the other way */
    uint8_t is_cross;
    uint8_t index; /* of the flow or of the cross traffic */
};
#define TAG_BYTES sizeof(struct world_tag)

struct change {
    uint64_t at_us;
    char text[FLAKEWAY_RULE_TEXT_BYTES];
};

struct link {
    flakeway *engine;
    bool shared;
    struct change *changes; /* by time */
    size_t change_count;
    size_t changes_done;
    uint64_t cross_offered[FLAKEWAY_DIRECTIONS];
    uint64_t cross_delivered[FLAKEWAY_DIRECTIONS];
};

/* A packet that waits for a host's processor, in or out. */
struct waiting {
    size_t length;
    uint8_t host;  /* out: to whom; in: from whom */
    uint32_t flow; /* out */
    uint8_t *bytes;
};

struct waiting_queue {
    struct waiting *ring;
    size_t capacity;
    size_t first;
    size_t count;
};

enum task {
    TASK_NONE = 0,
    TASK_RECEIVE,
    TASK_SEND,
};

struct host {
    world *world;
    world_host settings;
    netblt_profile profile;
    netblt_endpoint *endpoint;
    netblt_address address;
    uint8_t ipv4[4];
    uint16_t next_identification;
    fw_random random;
    enum task task;
    struct waiting at_work;
    uint64_t busy_until_ns;
    bool sent_last;    /* the processor's last task: it takes turns */
    bool burst_is_new; /* the next DATA packet begins a burst */
    netblt_time last_deadline;
    uint64_t wake_ns;
    struct waiting_queue in;
    struct waiting_queue out;
    uint64_t deaf_until_ns;  /* WORLD_NEVER while a packet is being built */
    uint64_t *held_until_ns; /* the card's receive buffers */
    size_t output_bytes;     /* the largest packet that it ever sends */
    world_host_stats stats;
};

struct flow_end {
    world *world;
    uint32_t flow;
    bool sends;
    netblt_connection *connection;
    netblt_info info; /* as of `closed` */
};

struct flow {
    world_flow settings;
    struct flow_end ends[2]; /* [0] sends */
    bool opened;
    bool was_opened;
    int result;
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    uint64_t started_ns;
    uint64_t done_ns[2];
    uint64_t delivered;
    uint64_t data_bytes_sent;
    uint32_t outstanding;
    uint32_t peak_outstanding;
    uint16_t burst_size;
    uint16_t burst_interval_ms;
    world_buffer *buffers;
    size_t buffer_count;
    size_t buffer_capacity;
};

struct cross {
    world_cross settings;
    fw_random random;
    uint64_t next_ns;
};

struct world {
    uint64_t seed;
    uint64_t now_ns;
    fw_random random;
    bool prepared;
    bool failed;
    char error[256];
    struct link links[WORLD_LINKS_MAX];
    int link_count;
    struct host hosts[WORLD_HOSTS_MAX];
    int host_count;
    struct flow flows[WORLD_FLOWS_MAX];
    int flow_count;
    struct cross cross[WORLD_CROSS_MAX];
    int cross_count;
    netblt_client active_client;
    netblt_client passive_client;
    uint8_t *memory; /* that every buffer is sent from */
    uint8_t *sink;   /* and received into */
    uint8_t *frame;
    bool tracing;
    world_sample *samples;
    size_t sample_count;
    size_t sample_capacity;
    int capture_link; /* -1 = none */
    FILE *capture_file;
    pcapng_writer *writer;
    char remark[1024];
};

/* Remembers the first failure; returns -1. */
int world_fail(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Keeps a sample while the world is traced. */
void world_sample_add(world *w, const world_sample *sample);

#endif
