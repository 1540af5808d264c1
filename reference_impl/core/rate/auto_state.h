/* SPDX-License-Identifier: BSD-2-Clause */
/* State of the automatic rate controller. */
#ifndef NETBLT_CORE_AUTO_STATE_H
#define NETBLT_CORE_AUTO_STATE_H

#include "rate/rate_interface.h"
#include "rate/rate_window.h"

/* The automatic rate controller: it measures what arrives, and offers what the path carries. docs/rate-control.md
 * describes the model.
 *
 * An OK with sequence number s is in force in every DATA packet whose high consecutive sequence number has reached s
 * (for a faster pair: from the next new buffer on, AMB-43). So each offer marks an epoch of arriving data exactly, and
 * what arrived in it can be compared with what was offered: no clock and no field is shared with the sender. */

/* What an offer is for. */
enum nb_rate_phase {
    NB_RATE_BASE,  /* the rate that was found */
    NB_RATE_UP,    /* a short probe above it: does more arrive? */
    NB_RATE_DOWN,  /* as long below it: the queue that the probe may have left drains */
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

enum nb_rate_stage {
    NB_RATE_START,  /* each round trip several times faster, until trains or a queue show the limit */
    NB_RATE_CRUISE, /* at the rate that was found, with probes */
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

struct nb_rate_auto {
    struct nb_burst negotiated;
    bool negotiated_is_known; /* netblt_options.rate_is_known */
    double limit;             /* this end's own; packets a second */
    struct nb_burst capped;   /* what the sender restricts our offers to; size 0 = it does not */
    bool sender_adopts;       /* something faster than was negotiated was in force: the sender follows our offers */
    uint32_t buffer_packets;
    uint32_t random;

    enum nb_rate_stage state;
    struct nb_rate_epochs epochs;
    struct nb_rate_offer offered; /* the newest */
    netblt_time offered_at;       /* when its phase began */
    netblt_time phase_us;         /* how long it is to last; BASE: unlimited */

    double best; /* START: packets a second that arrived in any window of this offer; what came in all of them */
    double best_packets, best_lost;
    double requested; /* packets that a RESEND had to request, since the begin */
    double base;      /* packets a second */
    struct nb_rate_trial trial;
    double loss;         /* share of packets lost whatever the rate */
    double sender_share; /* share of an offer that the sender's timers achieve */
    double gain;         /* of the probe that runs, as a share of base */
    bool loss_seen;      /* in the newest window of the base: more than chance explains */
    unsigned unmoved;    /* DOWN phases in a row in which as much arrived as before */
    unsigned successes;  /* probes in a row after which as much arrived as was offered */
    double met;          /* what arrived of the newest probe that met the limit; packets a second */
    unsigned met_again;  /* probes in a row that met the same limit */
    bool doubted;        /* START: less arrived than was offered in the window before */
    unsigned growth;     /* START: factor from one offer to the next */
    uint16_t burst_most;
    unsigned passed; /* probes */
    unsigned costly; /* probes that a queue dropped, lately: the next ones come later */

    struct nb_rate_window window; /* of the epoch in force */
    struct nb_rate_window ahead;  /* of retransmissions that arrive while a faster offer waits for a new buffer */
    struct nb_rate_trains trains;
    bool window_is_whole; /* the sender was not idle since it began */
    bool base_measured;   /* a window was completed since the base in force began */
    double base_arrives;  /* packets a second in the newest window of a base, gaps not counted */
    double arrived;       /* the newest complete window's rate, gaps counted */
    struct nb_peak peak;  /* of such rates, lately */
    netblt_time next_probe_at;

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

    netblt_time last_at; /* newest arrival; 0 = none */
    bool timed_out;      /* a control timer expired since */
    const char *why;     /* of the newest decision, for the observer */
};

#endif
