/* SPDX-License-Identifier: BSD-2-Clause */
/* Two endpoints and a bad link between them, in virtual time: one whole transfer. */
#ifndef NETBLT_TESTS_PAIR_H
#define NETBLT_TESTS_PAIR_H

#include <netblt/netblt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pair_faults {
    unsigned loss_permille;
    unsigned duplicate_permille;
    unsigned corrupt_permille; /* one bit of the packet flips */
    unsigned burst_permille;   /* several bits flip, all within 15 that follow one another */
    netblt_time delay_us;
    netblt_time jitter_us; /* extra delay, drawn for each packet: this reorders */
};

struct pair_case {
    uint64_t seed;
    bool active_sends;
    netblt_params active;  /* the proposal */
    netblt_params passive; /* the limits */
    uint64_t size;         /* bytes to transfer */
    bool end_is_late;      /* the sender learns of the end only when it needs the buffer after it */
    bool any_order;
    bool auto_rate;   /* at both ends */
    bool confirm_end; /* the receiving client confirms so long after all is there: sooner no success */
    netblt_time confirm_after_us;
    bool abort_at_end; /* it aborts instead: success at neither end */
    bool flakeway;     /* the link is the suite's bad network, which must have been built in: pair_has_flakeway() */
    unsigned client_buffers; /* memory of the receiving client, in buffers; 0 = as many as needed */
    unsigned stall_permille; /* how often a client answers "not now" */
    bool secretless; /* both ends: they know nothing of guarded connections, and buffers start at first_buffer */
    uint32_t first_buffer;
    struct pair_faults faults[2]; /* [0] active to passive, [1] back */
    netblt_time limit_us;         /* virtual time within which all must be over */
    /* Sees each packet as it enters the link; may be NULL. */
    void (*watch)(void *context, int from_end, const uint8_t *packet, size_t length, netblt_time now);
    void *watch_context;
    /* Called at each end when it has opened; may be NULL. */
    void (*opened)(void *context, netblt_connection *connection);
    void *opened_context;
    /* Gets the events of the two endpoints ([0] the active one); may be NULL. */
    netblt_event_fn *observe;
    void *observe_context[2];
};

struct pair_result {
    netblt_stats sender;
    netblt_stats receiver;
    netblt_params negotiated;
    netblt_time ended_at;
};

void pair_case_default(struct pair_case *c);
bool pair_has_flakeway(void);

/* Runs until both ends have closed and checks what every transfer must fulfil: NETBLT_DONE (abort_at_end: anything
 * else) and `closed` once at both ends, equal bytes, all memory given back, no timer left. Ends the program otherwise,
 * naming the seed. */
void pair_run(const struct pair_case *c, struct pair_result *result);

#endif
