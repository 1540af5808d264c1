/* SPDX-License-Identifier: BSD-2-Clause */
/* Lengths of the control, data, KEEPALIVE, dally and death timers; profiles of constants. */
#include "control/timers.h"

#define MS_US UINT64_C(1000)
#define SECOND_US UINT64_C(1000000)

const netblt_profile netblt_profile_default = {
    .name = "default",
    /* One second is what TCP waits for a path it knows nothing about (RFC 6298); five attempts, doubled, are 31 s. */
    .open_retry_us = SECOND_US,
    .open_attempts = 5,
    /* Long enough for one geostationary hop and back without a repeat, short enough not to stall a lost first GO. */
    .control_initial_us = 700 * MS_US,
    /* Host scheduling makes shorter round trips too unsteady to act upon. */
    .control_min_us = 10 * MS_US,
    .control_variance_factor = 4, /* Jacobson's factor */
    /* More than the reordering that parallel paths and coalescing receivers cause. */
    .data_variance_min_us = 20 * MS_US,
    .data_variance_percent = 50,
    .dally_min_us = SECOND_US,
    .quit_retry_us = SECOND_US,
    .keepalives_per_death_timer = 4, /* RFC 998's example */
    .catch_up_max_us = MS_US,
};

/* RFC 1030's hosts planned a burst from the actual start of the one before: a late burst is never caught up. A
 * retransmission and the packets that follow it share one burst: otherwise a lossy row with one buffer would lose a
 * burst interval for each retransmission, which the published speeds exclude. Data timers follow the average distance
 * of packets alone (R1030-07). */
const netblt_profile netblt_profile_mit1987 = {
    .name = "mit1987",
    .open_retry_us = SECOND_US,
    .open_attempts = 5,
    .control_initial_us = 700 * MS_US,
    .control_min_us = 10 * MS_US,
    .control_variance_factor = 4,
    .data_variance_min_us = 20 * MS_US,
    .data_variance_percent = 50,
    .dally_min_us = SECOND_US,
    .quit_retry_us = SECOND_US,
    .keepalives_per_death_timer = 4,
    .catch_up_max_us = 0,
    .bursts_survive_idle = true,
    .measured_pace_decides = true,
};

/* An unpublished timer (0 in every OK) gives no value: AMB-53's default. */
#define DALLY_WHEN_UNPUBLISHED_US (2 * SECOND_US)
/* Mild back-off, AMB-44: three halves, up to a quarter of the death timer. By Karn's rule a backed-off value stays
 * until a round trip can be measured again, which on a very lossy path may take long: so the timer exceeds neither 4
 * times its value without back-off nor 5 seconds, whichever is longer. */
#define BACK_OFF_NUMERATOR 3
#define BACK_OFF_DENOMINATOR 2
#define BACK_OFF_CEILING_SHARE 4
#define BACK_OFF_CEILING_FACTOR 4
#define BACK_OFF_CEILING_MIN_US (5 * SECOND_US)
/* A data timer doubles up to so much, and at most so often: a transfer that has lost many retransmissions goes on
 * within a minute once the path is better. */
#define WAITING_MOST_US (60 * SECOND_US)
#define WAITING_DOUBLINGS_MAX 10
/* Distances are averaged over at least this many packets, and over two bursts. */
#define SPACING_SAMPLES_MIN 16
/* A longer gap is an outage, not a pace: it counts as this much, or as this many times the pace known so far. */
#define SPACING_OUTAGE_US (200 * MS_US)
#define SPACING_OUTAGE_FACTOR 8
/* A data packet that carries the first ack may wait for its burst: one interval is allowed for, up to this. */
#define INITIAL_BURST_ALLOWANCE_MAX_US SECOND_US

static netblt_time whole_ms(netblt_time us)
{
    netblt_time ms = (us + MS_US - 1) / MS_US;
    return (ms == 0 ? 1 : ms) * MS_US;
}

void nb_control_timer_init(struct nb_control_timer *timer, const netblt_profile *profile, netblt_time death_us,
                           netblt_time burst_interval_us)
{
    if (burst_interval_us > INITIAL_BURST_ALLOWANCE_MAX_US)
        burst_interval_us = INITIAL_BURST_ALLOWANCE_MAX_US;
    netblt_time initial = whole_ms(profile->control_initial_us + burst_interval_us);
    netblt_time ceiling = whole_ms(death_us / BACK_OFF_CEILING_SHARE);
    *timer = (struct nb_control_timer){
        .profile = profile,
        .value_us = initial,
        .initial_us = initial,
        .ceiling_us = ceiling < initial ? initial : ceiling,
    };
}

static netblt_time control_timer_base(const struct nb_control_timer *timer)
{
    if (timer->smoothed_us == 0)
        return timer->initial_us;
    netblt_time value = timer->smoothed_us + timer->profile->control_variance_factor * timer->deviation_us;
    if (value < timer->profile->control_min_us)
        value = timer->profile->control_min_us;
    return whole_ms(value);
}

void nb_control_timer_sample(struct nb_control_timer *timer, netblt_time round_trip_us)
{
    if (round_trip_us == 0)
        round_trip_us = 1; /* 0 means "not measured" */
    if (timer->smoothed_us == 0 || timer->guessed) {
        timer->guessed = false;
        timer->smoothed_us = round_trip_us;
        timer->deviation_us = round_trip_us / 2;
    } else {
        int64_t error = (int64_t)round_trip_us - (int64_t)timer->smoothed_us;
        int64_t size = error < 0 ? -error : error;
        timer->smoothed_us = (netblt_time)((int64_t)timer->smoothed_us + error / 8);
        timer->deviation_us = (netblt_time)((int64_t)timer->deviation_us + (size - (int64_t)timer->deviation_us) / 4);
    }
    timer->value_us = control_timer_base(timer);
}

bool nb_control_timer_guess(struct nb_control_timer *timer, netblt_time round_trip_us)
{
    if (timer->smoothed_us != 0)
        return false;
    timer->guessed = true;
    timer->smoothed_us = round_trip_us == 0 ? 1 : round_trip_us;
    timer->deviation_us = timer->smoothed_us / 8; /* what lies in it is time enough */
    timer->value_us = control_timer_base(timer);
    return true;
}

static netblt_time back_off_ceiling(const struct nb_control_timer *timer)
{
    if (timer->for_unvalidated)
        return timer->ceiling_us;
    netblt_time ceiling = BACK_OFF_CEILING_FACTOR * control_timer_base(timer);
    if (ceiling < BACK_OFF_CEILING_MIN_US)
        ceiling = BACK_OFF_CEILING_MIN_US;
    return ceiling < timer->ceiling_us ? ceiling : timer->ceiling_us;
}

void nb_control_timer_for_unvalidated(struct nb_control_timer *timer, bool unvalidated)
{
    timer->for_unvalidated = unvalidated;
    if (timer->value_us > back_off_ceiling(timer))
        timer->value_us = back_off_ceiling(timer);
}

void nb_control_timer_back_off(struct nb_control_timer *timer)
{
    netblt_time longer = whole_ms(timer->value_us * BACK_OFF_NUMERATOR / BACK_OFF_DENOMINATOR);
    netblt_time ceiling = back_off_ceiling(timer);
    if (longer > ceiling)
        longer = ceiling;
    if (longer > timer->value_us)
        timer->value_us = longer;
}

uint16_t nb_control_timer_published_ms(const struct nb_control_timer *timer)
{
    netblt_time ms = timer->value_us / MS_US;
    return ms > UINT16_MAX ? UINT16_MAX : (uint16_t)ms;
}

static netblt_time without_outage(const struct nb_spacing *spacing, netblt_time distance_us, struct nb_burst burst)
{
    netblt_time negotiated = (netblt_time)burst.interval_ms * MS_US;
    netblt_time pace = negotiated > spacing->mean_us ? negotiated : spacing->mean_us;
    netblt_time most = SPACING_OUTAGE_FACTOR * pace;
    if (most < SPACING_OUTAGE_US)
        most = SPACING_OUTAGE_US;
    return distance_us < most ? distance_us : most;
}

void nb_spacing_sample(struct nb_spacing *spacing, netblt_time distance_us, struct nb_burst burst)
{
    uint32_t enough = 2 * (uint32_t)burst.size;
    if (enough < SPACING_SAMPLES_MIN)
        enough = SPACING_SAMPLES_MIN;
    spacing->sum_us += without_outage(spacing, distance_us, burst);
    spacing->count++;
    if (spacing->count < enough)
        return;
    netblt_time mean = spacing->sum_us / spacing->count;
    spacing->mean_us = spacing->mean_us == 0 ? mean : (3 * spacing->mean_us + mean) / 4;
    spacing->sum_us = 0;
    spacing->count = 0;
}

/* `negotiated` is the time that the packets take by the negotiated pace. */
static netblt_time by_slower_pace(netblt_time negotiated, uint64_t packets, const struct nb_spacing *spacing)
{
    netblt_time measured = packets * spacing->mean_us;
    if (spacing->decides && spacing->mean_us > 0)
        return measured;
    return negotiated > measured ? negotiated : measured;
}

netblt_time nb_transfer_time(uint64_t packets, struct nb_burst burst, const struct nb_spacing *spacing)
{
    uint64_t bursts = (packets + burst.size - 1) / burst.size;
    netblt_time negotiated = bursts * burst.interval_ms * MS_US;
    return by_slower_pace(negotiated, packets, spacing);
}

netblt_time nb_share_of_transfer(uint64_t packets, struct nb_burst burst, const struct nb_spacing *spacing)
{
    netblt_time negotiated = packets * burst.interval_ms * MS_US / burst.size;
    return by_slower_pace(negotiated, packets, spacing);
}

netblt_time nb_data_timer_tight(const netblt_profile *profile, netblt_time expected_us)
{
    netblt_time variance = expected_us * profile->data_variance_percent / 100;
    if (variance < profile->data_variance_min_us)
        variance = profile->data_variance_min_us;
    return expected_us + variance;
}

netblt_time nb_data_timer_waiting(const netblt_profile *profile, netblt_time expected_us, bool loose, unsigned repeats)
{
    netblt_time first = nb_data_timer_tight(profile, expected_us) << (loose ? 1 : 0);
    netblt_time longer = first << (repeats < WAITING_DOUBLINGS_MAX ? repeats : WAITING_DOUBLINGS_MAX);
    netblt_time most = first > WAITING_MOST_US ? first : WAITING_MOST_US;
    return longer < most ? longer : most;
}

netblt_time nb_keepalive_interval(const netblt_profile *profile, uint16_t peer_death_s, uint16_t own_death_s)
{
    return nb_death_time(peer_death_s == 0 ? own_death_s : peer_death_s) / profile->keepalives_per_death_timer;
}

netblt_time nb_dally_time(const netblt_profile *profile, uint16_t control_timer_ms, netblt_time death_us)
{
    if (control_timer_ms == 0)
        return DALLY_WHEN_UNPUBLISHED_US;
    if (control_timer_ms == UINT16_MAX && death_us > 2 * UINT16_MAX * MS_US)
        return death_us;
    netblt_time twice = 2 * (netblt_time)control_timer_ms * MS_US;
    return twice > profile->dally_min_us ? twice : profile->dally_min_us;
}

netblt_time nb_death_time(uint16_t death_s)
{
    return (netblt_time)death_s * SECOND_US;
}
