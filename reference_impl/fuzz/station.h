/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint under test with the models of its connections: every packet and every call goes through here, so that the
 * oracles see it. */
#ifndef NETBLT_FUZZ_STATION_H
#define NETBLT_FUZZ_STATION_H

#include "model.h"

enum {
    STATION_HOSTS_MAX = 3,
    STATION_HELD_MAX = 256, /* buffers that a client lends to the core at a time */
    STATION_CLOSED_MAX = 64,
};

/* A transfer that ended well: a late copy of its OPEN must not start it again. */
struct closed_transfer {
    uint8_t host;
    uint16_t foreign_port;
    uint32_t unique_id;
    netblt_time at;
    uint64_t number; /* of passive connections that ended before */
};

/* What our listener does with an OPEN. */
enum listener_policy {
    POLICY_ACCEPT,
    POLICY_REFUSE,           /* without a reason */
    POLICY_REFUSE_AT_LENGTH, /* with a reason that is too long for most OPENs */
    POLICY_IGNORE,
    POLICY_BAD_LIMITS, /* accepts with limits that the core must refuse */
    POLICY_BAD_CLIENT, /* accepts with a client that cannot play its role */
    POLICIES,
};

struct station {
    /* set before station_start() */
    netblt_config config;
    netblt_params limits; /* of proposals and of the listener */
    netblt_options options;
    bool observed; /* an event callback looks on */
    struct expectations expect;
    uint8_t address; /* last byte of ours */
    uint64_t buffers_to_send;
    unsigned last_buffer_per_256; /* share of a buffer that the last one fills */
    struct model *partner;        /* NULL, or the other end's model when it is ours too */
    void (*sent)(void *context, struct model *model, const uint8_t *packet, size_t size);
    void *context;

    enum listener_policy policy;
    bool memory_was_short; /* fuzz_memory_fails() was called */

    netblt_endpoint *endpoint;
    netblt_time now;
    struct model hosts[STATION_HOSTS_MAX];
    uint8_t stall_every; /* every so manieth request of the core for a buffer is put off; 0 = none */
    uint8_t requests;
    unsigned held;
    unsigned open_connections;
    uint64_t callbacks; /* so far */
    const struct view *arriving;
    struct model *arriving_from;
    struct unvalidated_limits limits_unvalidated;
    struct unvalidated_allowance replies, bytes_sent;
    struct closed_transfer closed[STATION_CLOSED_MAX];
    uint64_t passive_closed, well_closed;
};

enum { STATION_PORT = 1 };

void station_start(struct station *station, netblt_time now);
void station_free(struct station *station);
/* A host that sends to this endpoint. */
void station_add_host(struct station *station, unsigned host, uint8_t address, uint16_t port, uint8_t salt);
netblt_path station_path(const struct station *station, const struct model *model);
/* A packet arrives from a host. */
void station_input(struct station *station, struct model *model, const uint8_t *packet, size_t size);
/* Takes packets until none is left that may leave now and fits `capacity`. */
void station_drain(struct station *station, size_t capacity);
/* Lets time pass up to `at` and runs the timers. */
void station_advance(struct station *station, netblt_time at);
/* Opens actively to a host that has no connection. */
void station_open(struct station *station, struct model *model, enum netblt_role role, uint32_t unique_id);
void station_quit(struct station *station, struct model *model);
void station_abort(struct station *station, struct model *model);
/* A call that the endpoint must refuse, or that must change nothing; `how` says which. */
void station_misuse(struct station *station, struct model *model, unsigned how);
void station_listen(struct station *station);
void station_resume(struct station *station, struct model *model);

#endif
