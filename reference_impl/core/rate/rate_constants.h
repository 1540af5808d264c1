/* SPDX-License-Identifier: BSD-2-Clause */
/* Constants of the rate control: unit and reason of each. docs/rate-control.md adds what measured it. */
#ifndef NETBLT_CORE_RATE_CONSTANTS_H
#define NETBLT_CORE_RATE_CONSTANTS_H

/* ---- what a measurement needs ------------------------------------------------------------------------------ */

/* Packets. Fewer show no rate. */
#define NB_RATE_PACKETS_MIN 24
/* Packets. Fewer make no least-squares line. */
#define NB_RATE_LINE_PACKETS_MIN 8
/* Packets in a window of the base, or in a probe, at least. */
#define NB_RATE_WINDOW_PACKETS 64
/* Bursts. Fewer show no rate, arrivals farther apart are no pace, and a round trip must hold as many. */
#define NB_RATE_BURSTS_MIN 4
/* Bursts that give an exact rate. */
#define NB_RATE_BURSTS_EXACT 8
/* Samples, back-offs or probes with the same result, standard deviations, and lost packets: fewer can be an accident.
 */
#define NB_RATE_CONVINCING 3
/* Samples over which an average forgets. */
#define NB_RATE_SMOOTHING 8
/* Share that counts as the whole: late hosts disturb a measurement by as much. */
#define NB_RATE_NEARLY_ALL 0.85
/* Microseconds. Hosts that are busy otherwise disturb what takes less. */
#define NB_RATE_BRIEF_US 20000

/* ---- trains ------------------------------------------------------------------------------------------------ */

/* Packets in a train, and trains. Fewer show more of the host's clock than of the link. */
#define NB_RATE_TRAIN_MIN 4
/* Microseconds. A host that reads its packets every 100 us sees no shorter trains. */
#define NB_RATE_TRAIN_MIN_US 500
/* Factor: a packet that comes after so many times the distance of those before it was delayed by itself. */
#define NB_RATE_STRAGGLER_TIMES 8
/* Trains that an average holds. */
#define NB_RATE_TRAINS_REMEMBERED 32
/* Share of what trains show that is used at once: they overrate a shared link. */
#define NB_RATE_TRAIN_SHARE 0.95

/* ---- the path ---------------------------------------------------------------------------------------------- */

/* Microseconds of round trip. Bursts start at least 1 ms apart, so they shape nothing on a shorter path. */
#define NB_RATE_NEAR_US 2000
/* Microseconds of round trip. On a longer path an offer that is too fast would flood for seconds. */
#define NB_RATE_LONG_US 5000000
/* Round trips: one until the data of a GO arrive, one for a retransmission, one for the retransmission of that. */
#define NB_RATE_RECOVERY_ROUND_TRIPS 3
/* Microseconds: the same where the round trip is not known or short. Near paths look for their fastest window over
 * the last one or two of it. */
#define NB_RATE_RECOVERY_US 1000000
/* Microseconds over which the minimum round trip is the path's own. */
#define NB_RATE_SHORTEST_US 10000000
/* Packets a second. A slower flow harms no other, and would not notice that the path becomes better. */
#define NB_RATE_FLOOR 4.0

/* ---- queues ------------------------------------------------------------------------------------------------ */

/* A queue of this part of the round trip, 4 to 20 ms, is one. */
#define NB_RATE_QUEUE_PART 10
#define NB_RATE_QUEUE_MIN_US 4000
#define NB_RATE_QUEUE_MAX_US 20000
/* Part of that queue: below it no queue at all is seen. */
#define NB_RATE_ANY_QUEUE_PART 4
/* Factor: a queue of so many limits was not left by a probe. */
#define NB_RATE_URGENT 6
/* Factor: where round trips vary, a queue must exceed so many times their change from one to the next. */
#define NB_RATE_SCATTER_TIMES 4
/* Share of the capacity that the base takes, so that the queue empties; the second from NB_RATE_FINE_PACKETS on. */
#define NB_RATE_BELOW_CAPACITY 0.985
#define NB_RATE_BELOW_CAPACITY_FINE 0.99
/* Packets in a round trip. From here on half a percent of the rate is a packet a round trip or more, and a queue that
 * one packet more makes longer is far below its limit. */
#define NB_RATE_FINE_PACKETS 200
/* Share of what arrives that remains after a back-off for a queue. */
#define NB_RATE_BACK_OFF_SHARE 0.97

/* ---- loss -------------------------------------------------------------------------------------------------- */

/* Share of packets beyond which loss is no chance. */
#define NB_RATE_LOSS_MARGIN 0.02
/* Share: more is never put down to chance, nor to the timers of the sender. */
#define NB_RATE_CHANCE_MAX 0.3
/* Packets lost in a row, on average, from which on the ends of bursts are lost. */
#define NB_RATE_LOSS_RUN_OF_BURSTS 2.5
/* Packets. Shorter bursts could not express a rate exactly enough. */
#define NB_RATE_BURST_LEAST 8
/* Probes that passed before bursts become one packet longer again: each trial may lose packets. */
#define NB_RATE_PASSED_BEFORE_LONGER 16

/* ---- START ------------------------------------------------------------------------------------------------- */

/* Factors from one offer to the next; the second on short paths, and after silence. */
#define NB_RATE_START_GROWTH 4
#define NB_RATE_START_GROWTH_GENTLE 2
/* Packets a second. Below, a buffer and so a step takes long even on short paths. */
#define NB_RATE_START_GENTLE_FROM 8000

/* ---- probes ------------------------------------------------------------------------------------------------ */

/* Each probe in a row that shows more capacity makes the next one larger by this factor, at most so many times. With
 * 1 + successes instead, the faster of two flows stays ahead for longer. */
#define NB_RATE_PROBE_GROWTH 1.5
#define NB_RATE_LARGER_PROBES 3

/* Shares of the base by which a probe exceeds it: usual bounds, and the least where packets are few. */
#define NB_RATE_GAIN_MAX 0.25
#define NB_RATE_GAIN_MIN 0.08
#define NB_RATE_GAIN_LEAST 0.04
/* Share of what a probe offers above the base that must be seen in arrivals, gaps not counted: a queue that overflows
 * at once shows nowhere else. */
#define NB_RATE_PROBE_ARRIVED 0.33
/* Share of what a probe has shown to be free that the base takes at first. */
#define NB_RATE_PROVEN_SHARE 0.6
/* Shares of the link that one cycle adds: the same for all flows, for fairness. */
#define NB_RATE_ADDITIVE_MIN 0.02
#define NB_RATE_ADDITIVE_MAX 0.05
/* Doublings, of steps and of the time to the next probe, at most. */
#define NB_RATE_DOUBLINGS_MAX 5
/* Half round trips by which the time to the next probe varies. */
#define NB_RATE_CYCLES_SPREAD 6
/* Flows: with less than one part in so many a flow shares the link with many. */
#define NB_RATE_MANY_SHARES 3
/* How strongly a flow that met the limit is drawn to half of the link. */
#define NB_RATE_LEVELLING 9.0

/* ---- offers and buffers ahead ------------------------------------------------------------------------------ */

/* Packets. Within so many, or 2 ms, there is a pair within 2 % of any rate from one packet a millisecond on. */
#define NB_BURST_USUAL_MOST 50
/* Shares of a rate that a pair must reach: as a rule, and where a rough one will do. */
#define NB_RATE_EXACT 0.99
#define NB_RATE_ROUGH 0.9
/* Milliseconds: a sender forgives itself a quarter of the interval, but no more than 1 ms. */
#define NB_RATE_FORGIVING_INTERVAL_MS 4
/* Microseconds for data timers and hosts that wake up late. */
#define NB_RATE_REACTION_US 50000
/* Buffers ahead in any case, with the one that arrives. */
#define NB_RATE_SPARE_BUFFERS 3
/* Buffers that are requested at once of a pair that is known: their GOs leave room for OKs in one CONTROL (AMB-33). */
#define NB_RATE_FIRST_BUFFERS 30
/* The same in packets, where buffers are large: so many may be lost if the path has become slower. */
#define NB_RATE_FIRST_PACKETS 5000

#endif
