/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bad network between two hosts: public interface of the flakeway engine. */
#ifndef FLAKEWAY_H
#define FLAKEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bad network between two hosts, A ("left") and B ("right"): one engine for virtual time and for real packets.
 *
 * It owns no socket and no clock and draws all chance from one seed: the same seed, rules, packets and times give the
 * same fate, bit for bit. It knows packets as bytes, plus the header fields that rules match (RFC 998 8).
 *
 *     flakeway_offer()     a packet has arrived from one side
 *     flakeway_release()   call until it returns false: packets that leave on the other side now
 *     flakeway_deadline()  when the next packet leaves
 *
 * Times are microseconds on a clock that the caller owns, never decreasing. Not thread-safe. The language of rules and
 * rates is described in docs/flakeway.md; flakeway_add() is its only parser.
 *
 * What happens to a packet, in this order: the link (rate, then queue: a full queue drops it and no rule sees it);
 * latency and jitter; then the first rule that matches decides, or, if none does, the rates (loss, corruption,
 * reordering, duplication). */

typedef struct flakeway flakeway;

enum flakeway_direction {
    FLAKEWAY_A_TO_B = 0,
    FLAKEWAY_B_TO_A = 1,
};
#define FLAKEWAY_DIRECTIONS 2
#define FLAKEWAY_NEVER UINT64_MAX
#define FLAKEWAY_RULE_TEXT_BYTES 256 /* longest rule, its NUL included */
#define FLAKEWAY_PACKET_MAX_BYTES 65600

enum flakeway_action_kind {
    FLAKEWAY_PASS = 0,
    FLAKEWAY_DROP,
    FLAKEWAY_DELAY,
    FLAKEWAY_DUPLICATE,
    FLAKEWAY_HOLD, /* until `hold_packets` later packets of its direction have passed; swap is 1 */
    FLAKEWAY_CORRUPT,
    FLAKEWAY_TRUNCATE,
    FLAKEWAY_HOOK, /* only in rules: the hook decides */
};

typedef struct flakeway_action {
    enum flakeway_action_kind kind;
    uint64_t delay_us;      /* DELAY */
    uint32_t copies;        /* DUPLICATE: extra copies, >= 1 */
    uint64_t gap_us;        /* DUPLICATE: from one copy to the next */
    uint32_t hold_packets;  /* HOLD: >= 1 */
    bool corrupt_one_bit;   /* CORRUPT: flip bit `first`, else a random bit of bytes first..last */
    uint32_t corrupt_first; /* bit or byte of the NETBLT packet; bit 0 = most significant bit of byte 0 */
    uint32_t corrupt_last;
    uint32_t truncate_bytes; /* TRUNCATE: bytes of the NETBLT packet that stay */
} flakeway_action;

/* A packet as its driver sees it: a NETBLT packet, perhaps after IP or Ethernet headers that the engine carries and
 * never looks at. */
typedef struct flakeway_packet {
    const uint8_t *bytes;
    size_t length;        /* <= FLAKEWAY_PACKET_MAX_BYTES */
    size_t netblt_offset; /* where the NETBLT packet begins in `bytes` */
    size_t netblt_length; /* IP payload bytes; 0 = no NETBLT header here (a later fragment): only rates apply to it */
    size_t link_bytes;    /* what it costs on the link; 0 = length */
} flakeway_packet;

typedef struct flakeway_released {
    uint64_t id;   /* what flakeway_offer() gave it */
    uint32_t copy; /* 0 = the packet itself, 1.. = copies by duplication */
    enum flakeway_direction direction;
    bool changed; /* corrupted or truncated: the driver may have outer headers to correct */
    uint64_t offered_us;
    uint64_t release_us;
    flakeway_packet packet; /* bytes are valid until the next call of the engine */
} flakeway_released;

/* One decision about one packet; a packet can have several (corrupted and duplicated). Packets that just pass have
 * none, unless a `pass` rule took them. */
typedef struct flakeway_event {
    uint64_t id;
    uint64_t now_us;
    enum flakeway_direction direction;
    enum flakeway_action_kind action;
    uint32_t rule;    /* the rule's ID; 0 = a rate or the queue */
    const char *text; /* of the rule or rate as it was given; valid during the callback */
} flakeway_event;
typedef void flakeway_trace_fn(void *context, const flakeway_event *event);

/* Decides for `hook` rules what no rule can express. `action` comes zeroed (PASS). false = not mine: the next rule is
 * asked. It must not call the engine, but for flakeway_parse_action(). */
typedef bool flakeway_hook_fn(void *context, uint32_t rule, enum flakeway_direction direction, const uint8_t *netblt,
                              size_t netblt_length, uint64_t now_us, flakeway_action *action);

typedef struct flakeway_stats {
    uint64_t seen;
    uint64_t delivered; /* released, copies included */
    uint64_t dropped_by_rule;
    uint64_t dropped_by_loss;
    uint64_t dropped_by_queue; /* link queue full, or no memory */
    uint64_t duplicated;       /* extra copies made */
    uint64_t reordered;        /* held, swapped, or delayed by the reorder rate */
    uint64_t delayed;          /* by rules */
    uint64_t corrupted;
    uint64_t truncated;
} flakeway_stats;

/* NULL when memory is short. */
flakeway *flakeway_new(uint64_t seed);
void flakeway_free(flakeway *engine); /* NULL is allowed */
uint64_t flakeway_seed(const flakeway *engine);

/* What was wrong with a text: one sentence, and the offending word's place in it (columns count from 1). */
typedef struct flakeway_error {
    unsigned column;
    char message[384];
} flakeway_error;

/* Adds a rule at the end of the list, or sets a rate. Answers the rule's ID (1, 2, ...; never used again), 0 for a
 * rate, -1 with *error filled (error may be NULL) for a text that cannot be understood. */
int flakeway_add(flakeway *engine, const char *text, flakeway_error *error);
/* As flakeway_add() for every line of `text`; empty lines and what follows # are skipped. Returns 0, or the number of
 * the first bad line (from 1), nothing of the text being in force then. */
int flakeway_add_lines(flakeway *engine, const char *text, flakeway_error *error);
/* false = no such rule. A packet that the rule holds leaves at `now_us`. */
bool flakeway_remove(flakeway *engine, int rule, uint64_t now_us);
/* Forgets all rules and rates. Held packets leave at `now_us`; packets on their way stay on their way. */
void flakeway_clear(flakeway *engine, uint64_t now_us);
/* The text of a rule as it was given; NULL = no such rule. Valid until the rule goes. */
const char *flakeway_rule_text(const flakeway *engine, int rule);
/* How often the rule decided. */
uint64_t flakeway_rule_hits(const flakeway *engine, int rule);
/* The action part of a rule alone ("drop", "delay 5ms"): for hooks. 0 or -1. */
int flakeway_parse_action(const char *text, flakeway_action *action, flakeway_error *error);

void flakeway_set_trace(flakeway *engine, flakeway_trace_fn *trace, void *context);
/* Who listens now, with its context: for a driver that listens for a while and passes on what it hears. */
flakeway_trace_fn *flakeway_get_trace(const flakeway *engine, void **context);
void flakeway_set_hook(flakeway *engine, flakeway_hook_fn *hook, void *context);

/* Takes a packet; its bytes are copied. Answers its ID (1, 2, ...). Trace callbacks run inside. */
uint64_t flakeway_offer(flakeway *engine, enum flakeway_direction direction, const flakeway_packet *packet,
                        uint64_t now_us);
/* The next packet whose time has come, in order of release time, then of arrival; false = none. */
bool flakeway_release(flakeway *engine, uint64_t now_us, flakeway_released *released);
/* When flakeway_release() is wanted; FLAKEWAY_NEVER = nothing is on its way (packets may still be held). */
uint64_t flakeway_deadline(const flakeway *engine);
/* Packets on their way or held. */
size_t flakeway_queued(const flakeway *engine);
const flakeway_stats *flakeway_get_stats(const flakeway *engine, enum flakeway_direction direction);

/* "dropped by rule 2 (drop nth=2 OK)", "duplicated by duplicate 1%". Always ends `out` with a NUL. */
void flakeway_describe(const flakeway_event *event, char *out, size_t capacity);

#endif
