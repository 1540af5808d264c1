/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CORE_RATE_CONTROL_H
#define NETBLT_CORE_RATE_CONTROL_H

#include "pacing.h"
#include "rate_window.h"

#include <netblt/endpoint.h>

/* The receiver's side of rate control: what each OK offers (NEG-08), and how many buffers are asked for ahead. Every
 * rate decision of a receiver is taken here. docs/rate-control.md describes the model.
 *
 * An OK with sequence number s is in force in every DATA packet whose high consecutive sequence number has reached s
 * (for a faster pair: from the next new buffer on, AMB-43). So each offer marks an epoch of arriving data exactly, and
 * what arrived in it can be held against what was offered: no clock and no field is shared with the sender. */

/* What an offer is for. */
enum nb_rate_phase {
    NB_RATE_BASE,  /* the rate that was found */
    NB_RATE_UP,    /* a short pulse above it: does more arrive? */
    NB_RATE_DOWN,  /* as long below it: the queue that the pulse may have left drains */
    NB_RATE_DRAIN, /* below it after a back-off */
};

struct nb_rate_offer {
    uint16_t seq; /* of the OK that made it first */
    enum nb_rate_phase phase;
    struct nb_burst burst;
    double rate; /* packets a second */
};

enum { NB_RATE_OFFERS_MAX = 16 };

/* Offers under way to the sender, and the one that arriving data was sent under. */
struct nb_rate_epochs {
    struct nb_rate_offer sent[NB_RATE_OFFERS_MAX]; /* not in force yet, oldest first */
    unsigned count;
    struct nb_rate_offer in_force;
    uint16_t acked;
};

enum nb_rate_state {
    NB_RATE_START,  /* each round trip several times faster, until trains or a queue show the limit */
    NB_RATE_CRUISE, /* at the rate that was found, with pulses */
};

/* A back-off for loss on trial: did the lower rate help? */
struct nb_rate_trial {
    double base;                   /* before it; 0 = none is on trial */
    double loss;                   /* the share that caused it */
    double arrived;                /* packets a second then */
    double packets, lost, seconds; /* since */
};

/* Nothing came in. */
struct nb_rate_stall {
    netblt_time from, to;
};
enum { NB_RATE_STALLS = 4 };

struct nb_rate_control {
    enum netblt_rate mode;
    struct nb_burst negotiated;
    double limit;           /* this end's own; packets a second */
    struct nb_burst capped; /* what the sender restricts our offers to; size 0 = it does not */
    bool leads;             /* something faster than was negotiated was in force: the sender follows our offers */
    uint32_t buffer_packets;
    uint32_t random;

    enum nb_rate_state state;
    struct nb_rate_epochs epochs;
    struct nb_rate_offer offered; /* the newest */
    netblt_time offered_at;       /* when its phase began */
    netblt_time phase_us;         /* how long it is to last; BASE: unlimited */

    double best; /* START: packets a second that arrived in any window of this offer; what came in all of them */
    double best_packets, best_lost;
    double base; /* packets a second */
    struct nb_rate_trial trial;
    double loss;        /* share of packets lost whatever the rate */
    double follows;     /* share of an offer that the sender's timers achieve */
    double gain;        /* of the pulse that runs, as a share of base */
    bool loss_seen;     /* in the newest window of the base: more than chance explains */
    unsigned unmoved;   /* DOWN phases in a row in which as much arrived as before */
    unsigned successes; /* pulses in a row after which as much arrived as was offered */
    double boldness;    /* of the next pulse: 1 or more */
    unsigned doubts;    /* START: windows in a row in which less arrived than was offered */
    unsigned growth;    /* START: factor from one offer to the next */
    uint16_t burst_most;
    unsigned passed; /* pulses */
    unsigned costly; /* pulses that a queue dropped, lately: the next ones come later */

    struct nb_rate_window window; /* of the epoch in force */
    struct nb_rate_window ahead;  /* of repairs that arrive while a faster offer waits for a new buffer */
    struct nb_rate_trains trains;
    bool window_is_whole; /* the sender was not idle since it began */
    bool base_measured;   /* a window was completed since the base in force began */
    double base_arrives;  /* packets a second in the newest window of a base, gaps not counted */
    double arrived;       /* the newest complete window's rate, gaps counted */
    struct nb_peak peak;  /* of such rates, lately */
    netblt_time next_pulse_at;

    struct nb_minimum shortest; /* round trips: the path's own */
    struct nb_minimum recent;
    netblt_time round_trip_us; /* smoothed; 0 = not known */
    netblt_time newest_round_trip_us;
    double newest_step_us; /* from the one before to that one */
    double scatter_us;     /* of round trips that turn at each sample; a queue goes one way for longer */
    bool round_trip_guessed;
    bool settling;          /* a back-off is under way: no other before it is in force */
    uint16_t settles_after; /* the newest offer from before it */
    unsigned back_offs;     /* in a row without a shorter queue */
    netblt_time queue_us;   /* that caused the first of them */

    struct nb_rate_stall stalls[NB_RATE_STALLS]; /* the newest, as a ring */
    unsigned stall_count;

    uint64_t next_position; /* of a packet that was never sent before */
    netblt_time last_at;    /* newest arrival; 0 = none */
    bool timed_out;         /* a control timer expired since */
    const char *why;        /* of the newest decision, for the observer */
};

/* `limit_rate`: packets a second beyond which this end does not offer. `seed` varies the pulses of flows that share a
 * path. */
void nb_rate_control_init(struct nb_rate_control *rate, enum netblt_rate mode, struct nb_burst negotiated,
                          uint32_t buffer_packets, double limit_rate, uint32_t seed);
/* The pair for the OK that gets sequence number `seq`. Fixed parameters stay exactly fixed: the negotiated pair. */
struct nb_burst nb_rate_control_offer(struct nb_rate_control *rate, uint16_t seq, netblt_time now);
/* The pair that the sender now uses, as far as is known: what data timers must expect. */
struct nb_burst nb_rate_control_in_force(const struct nb_rate_control *rate);
/* Buffers that should be outstanding: as many as keep the sender busy while lost packets are repaired. `most` is what
 * was negotiated; a fixed rate asks for all of them. */
unsigned nb_rate_control_credit(const struct nb_rate_control *rate, unsigned most);
/* Whether buffer number `next`, counted from the beginning of the transfer, may be asked for by what is under way. */
bool nb_rate_control_window_allows(const struct nb_rate_control *rate, uint64_t next);
/* For the observer: data bits a second behind the newest decision. */
double nb_rate_control_measured(const struct nb_rate_control *rate);

/* A new high consecutive sequence number arrived. */
void nb_rate_control_acked(struct nb_rate_control *rate, uint16_t ack);
/* NULL-ACK: the sender has nothing to send, or reports the pair that it uses (NEG-09). */
void nb_rate_control_null_ack(struct nb_rate_control *rate, uint16_t ack, struct nb_burst burst);
void nb_rate_control_round_trip(struct nb_rate_control *rate, netblt_time us, netblt_time now);
/* Nothing better is known yet. */
void nb_rate_control_round_trip_guess(struct nb_rate_control *rate, netblt_time us);
/* The control timer expired. */
void nb_rate_control_timeout(struct nb_rate_control *rate);

/* Where a DATA packet stands among those that the sender had sent. */
enum nb_rate_arrival {
    NB_RATE_FRESH,  /* first transmission; `position` counts packets from the beginning of the transfer */
    NB_RATE_LATE,   /* counted as a gap before: reordered */
    NB_RATE_REPEAT, /* a repair, or a duplicate */
};
void nb_rate_control_arrival(struct nb_rate_control *rate, enum nb_rate_arrival kind, uint64_t position,
                             netblt_time now);

/* The sender's side (NEG-09): the offer, restricted to what this end can do. A size of 0 keeps the current one
 * (AMB-11). *restricted tells whether the answer differs from the offer, so that a NULL-ACK must report it. */
struct nb_burst nb_rate_control_restrict(struct nb_burst offer, struct nb_burst current, struct nb_burst own_limit,
                                         bool *restricted);
/* The same for an automatic sender, which follows any offer up to `limit_rate` packets a second. */
struct nb_burst nb_rate_control_follow(struct nb_burst offer, struct nb_burst current, double limit_rate,
                                       bool *restricted);

#endif
