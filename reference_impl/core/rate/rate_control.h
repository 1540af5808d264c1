/* SPDX-License-Identifier: BSD-2-Clause */
/* Rate control of a connection: the table of functions of a controller, and what calls it (RFC 998 4, NEG-08, NEG-09).
 *
 * The receiver decides about the rate: each OK offers a burst size and a burst interval, and each GO asks for a buffer.
 * The sender adopts an offer, or restricts it. A controller is one constant table of functions; the connection knows no
 * controller but by its table. `nb_rate_fixed` keeps what was negotiated, `nb_rate_auto` measures the path. */
#ifndef NETBLT_CORE_RATE_CONTROL_H
#define NETBLT_CORE_RATE_CONTROL_H

#include "rate/auto_state.h"
#include "rate/rate_auto.h"
#include "rate/rate_fixed.h"
#include "rate/rate_interface.h"

#include <netblt/endpoint.h>

/* The memory of one connection's controller. `other` is for a controller that is not in this library. */
union nb_rate_memory {
    struct nb_rate_fixed fixed;
    struct nb_rate_auto automatic;
    double other[32];
};

struct nb_rate_control {
    const struct nb_rate_controller *controller;
    uint32_t buffer_packets; /* in a full buffer */
    uint64_t next_position;  /* of the first packet that was not sent before, counted from the begin of the transfer */
    union nb_rate_memory state;
};

/* The controller that `mode` names. */
const struct nb_rate_controller *nb_rate_controller_of(enum netblt_rate mode);
/* Begins with the negotiated pair. */
void nb_rate_control_begin(struct nb_rate_control *rate, const struct nb_rate_controller *controller,
                           const struct nb_rate_setup *setup);

/* The receiver. */

/* The pair for the OK that gets sequence number `seq` (NEG-08). */
struct nb_burst nb_rate_control_offer(struct nb_rate_control *rate, uint16_t seq, netblt_time now);
/* The pair that the sender uses now, as far as is known: what data timers must expect. */
struct nb_burst nb_rate_control_in_force(const struct nb_rate_control *rate);
/* How many buffers should be outstanding, at most `most`, which was negotiated (DATA-12). */
unsigned nb_rate_control_credit(const struct nb_rate_control *rate, unsigned most);
/* Whether buffer number `next`, counted from the begin of the transfer, may be requested now. */
bool nb_rate_control_window_allows(const struct nb_rate_control *rate, uint64_t next);
/* For an observer: the reasons of the newest offer. */
struct nb_rate_report nb_rate_control_report(const struct nb_rate_control *rate);

/* Whether the controller measures arrivals; without it nb_rate_control_arrival() has no effect. */
bool nb_rate_control_measures(const struct nb_rate_control *rate);
/* A DATA or LDATA packet arrived. `position` counts packets from the begin of the transfer; NB_RATE_REPEAT has
 * none. */
void nb_rate_control_arrival(struct nb_rate_control *rate, enum nb_rate_arrival kind, uint64_t position,
                             netblt_time now);
/* A new high consecutive sequence number arrived. */
void nb_rate_control_acked(struct nb_rate_control *rate, uint16_t ack);
/* NULL-ACK: the sender has nothing to send, or reports the pair that it uses (NEG-09). */
void nb_rate_control_null_ack(struct nb_rate_control *rate, uint16_t ack, struct nb_burst burst);
void nb_rate_control_round_trip(struct nb_rate_control *rate, netblt_time us, netblt_time now);
/* A round trip that may be too long: there is no better one yet. */
void nb_rate_control_round_trip_guess(struct nb_rate_control *rate, netblt_time us);
/* The control timer expired. */
void nb_rate_control_timeout(struct nb_rate_control *rate);

#endif
