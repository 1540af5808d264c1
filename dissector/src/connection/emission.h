/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In which order did one end emit its packets? A capture shows the order of arrival at the capture point. The IPv4
 * identification shows the order of emission when the host counts: it then climbs, modulo 2^16, through the whole
 * flow. Constant, zero and random identifications and IPv6 prove nothing. */
#ifndef NETBLT_EMISSION_H
#define NETBLT_EMISSION_H

#include "wireshark/compat.h"

/* Packets that reordering may reach back, for distinguishing a late packet from a host that does not count. */
#define NB_EMISSION_WINDOW 64

/* Number of the first packet of a flow: high enough that no late packet falls below zero. */
#define NB_FIRST_NUMBER ((uint64_t)1 << 20)

enum nb_arrival {
    NB_IN_ORDER, /* emitted after everything seen before (if the host counts) */
    NB_LATE,     /* overtaken by packets seen before */
    NB_COPY,     /* same identification and content as an earlier packet: made on the
                    way or by the capture */
    NB_NO_ORDER, /* this flow's identifications prove nothing */
};

struct nb_emission {
    bool started;
    bool irregular; /* not a counter, permanently */
    bool unbroken;  /* every step so far was +1: no packet of the flow is missing */
    bool climbing;  /* no packet came late or twice so far */
    bool bundled;   /* datagrams with several packets were seen: only the first has an identification that is known */
    bool unchecked; /* the newest packet is such a later one: whether it was counted right shows with the next */
    uint16_t newest_id;
    uint32_t forward; /* steps */
    uint32_t backward;
    uint32_t damaged;     /* packets with a bad checksum: what they said is not known */
    double evidence_bits; /* -log2 of the chance that random identifications look like this */
    uint64_t newest;      /* unwrapped number of the newest packet */
    uint64_t seen;        /* bit i: number newest - i was seen */
    struct nb_emitted_packet {
        uint32_t content; /* hash */
        uint32_t frame;
    } * window; /* [NB_EMISSION_WINDOW], by number; NULL before the first packet */
};

struct nb_emitted {
    enum nb_arrival arrival;
    uint64_t number;  /* unwrapped identification; comparable inside a flow; 0 with NB_NO_ORDER */
    uint64_t step;    /* NB_IN_ORDER: from the newest before; 1 means none is missing between */
    uint32_t copy_of; /* NB_COPY: frame number */
};

/* Where a packet came from. */
struct nb_origin {
    bool ipv4;   /* false: no identification */
    bool inside; /* not the first of its datagram: the identification is counted on from the first one's */
    uint16_t ip_id;
    uint32_t frame;
};

/* Takes note of a packet. `content` is a hash of it. */
struct nb_emitted nb_emission_note(struct nb_emission *flow, const struct nb_origin *origin, uint32_t content);

/* By its identification the packet was emitted before the newest of the flow, or is it. False when nothing shows it. */
bool nb_emission_is_behind(const struct nb_emission *flow, const struct nb_origin *origin);

/* Takes note of a packet with a bad checksum: only that the flow lacks no packet here. A sound copy of it may
 * follow. */
void nb_emission_note_damaged(struct nb_emission *flow, const struct nb_origin *origin);

/* True when the identifications of the flow are a counter, so that numbers show the order of emission. `bits` is the
 * evidence that is required. */
bool nb_emission_counts(const struct nb_emission *flow, double bits);

#endif
