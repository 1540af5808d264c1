/* SPDX-License-Identifier: BSD-2-Clause */
/* Lengths of the control, data, KEEPALIVE, dally and death timers. */
#ifndef NETBLT_CORE_TIMERS_H
#define NETBLT_CORE_TIMERS_H

#include "rate/pacing.h"

#include <netblt/params.h>
#include <netblt/types.h>

/* How long timers run: arithmetic only. Who arms them is the roles' business. */

/* ---- control timer (RFC 998 5.2.1, TIMER-03, AMB-44) ------------------------------------------------------- */

struct nb_control_timer {
    const netblt_profile *profile;
    netblt_time smoothed_us; /* round trip; 0 = not measured */
    netblt_time deviation_us;
    netblt_time value_us; /* what is armed with the next transmission: whole milliseconds, >= 1 ms */
    netblt_time initial_us;
    netblt_time ceiling_us; /* back-off stops here */
    bool guessed;           /* smoothed_us is a guess */
    bool for_unvalidated;   /* it goes on up to ceiling_us, whatever the round trip */
};

/* `death_us` is this end's own death timer, `burst_interval_us` how long a data packet may wait to carry an ack. */
void nb_control_timer_init(struct nb_control_timer *timer, const netblt_profile *profile, netblt_time death_us,
                           netblt_time burst_interval_us);
/* A round trip was measured: from sending a CONTROL to the ack of all its messages. Ends any back-off. */
void nb_control_timer_sample(struct nb_control_timer *timer, netblt_time round_trip_us);
/* What was sent several times was answered `round_trip_us` after the first time. Karn's rule forbids to learn from it;
 * but while nothing is known it is the best guess, and on a path whose round trip exceeds the initial timer it is all
 * that can ever be had. The first true sample replaces it. Returns whether it was taken. */
bool nb_control_timer_guess(struct nb_control_timer *timer, netblt_time round_trip_us);
/* The timer expired. */
void nb_control_timer_back_off(struct nb_control_timer *timer);
/* An unvalidated peer (validation.h) gets retransmissions ever more rarely; once it is validated, the timer is as for
 * any peer. */
void nb_control_timer_for_unvalidated(struct nb_control_timer *timer, bool unvalidated);
/* The value for an OK's field: milliseconds, clamped to 16 bits (CLOSE-07, AMB-17). */
uint16_t nb_control_timer_published_ms(const struct nb_control_timer *timer);

/* ---- data timer (RFC 998 5.2.2, TIMER-09, AMB-45) ---------------------------------------------------------- */

/* The measured mean time between packets of a buffer (R1030-07). A sample is the distance of two packets with adjacent
 * numbers; samples are averaged over whole bursts, because inside a burst there is next to none. */
struct nb_spacing {
    netblt_time sum_us;
    uint32_t count;
    netblt_time mean_us; /* 0 = not measured */
    bool decides;        /* profile: measured_pace_decides */
};

void nb_spacing_sample(struct nb_spacing *spacing, netblt_time distance_us, struct nb_burst burst);

/* Expected time until `packets` packets have arrived: by the negotiated pace or by the measured one, whichever is
 * slower. */
netblt_time nb_transfer_time(uint64_t packets, struct nb_burst burst, const struct nb_spacing *spacing);
/* What `packets` packets add to the time of others that come with them: a share of a burst, not a whole one. */
netblt_time nb_share_of_transfer(uint64_t packets, struct nb_burst burst, const struct nb_spacing *spacing);
/* Tight: the expected time plus a variance. */
netblt_time nb_data_timer_tight(const netblt_profile *profile, netblt_time expected_us);
/* Of a buffer that waits for its first packet since its GO or RESEND was acknowledged: tight, twice that when nothing
 * of it was ever seen (loose), and doubled for each of `repeats` expiries in vain (AMB-35). */
netblt_time nb_data_timer_waiting(const netblt_profile *profile, netblt_time expected_us, bool loose, unsigned repeats);

/* ---- the rest ------------------------------------------------------------------------------------------------ */

/* Time between transmissions that keeps a peer with this death timer alive (TIMER-11). A peer that declared 0 never
 * dies; it gets KEEPALIVEs as if it had declared our own value (AMB-50). */
netblt_time nb_keepalive_interval(const netblt_profile *profile, uint16_t peer_death_s, uint16_t own_death_s);
/* How long a sender dallies after the last OK, from the control timer that OKs published (CLOSE-04, AMB-53). The
 * largest value that the field holds means *at least* so much: then it is this end's own death timer. */
netblt_time nb_dally_time(const netblt_profile *profile, uint16_t control_timer_ms, netblt_time death_us);

netblt_time nb_death_time(uint16_t death_s);

#endif
