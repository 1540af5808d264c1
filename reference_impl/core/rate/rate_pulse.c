/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: probes, short times above the base rate that show whether the path carries more. */
#include "rate/rate_pulse.h"

#include "rate/rate_loss.h"
#include "rate/rate_pair.h"
#include "rate/rate_path.h"

#define SECOND_US 1e6
/* How strongly a flow that met the limit is drawn to half of the link; who has more than the second is alone: trains
 * overrate the link where hosts wake up late. */
#define LEVELLING 9.0
#define ALONE_SHARE 0.85
/* Fairness: what one cycle may add when a pulse found the limit, as a share of the link; the same for all flows. On
 * long paths less, as what is too much queues for a round trip. */
#define ADDITIVE_QUEUE_US 18000.0
#define ADDITIVE_MIN 0.02
#define ADDITIVE_MAX 0.05
/* Who shares the link goes above his base by the same share of the link as everybody else, whatever he has himself: a
 * pulse is the shorter, and by its queue alone would be the bolder, the more he has. So of what pulses win the smaller
 * flow wins more. One at half the link does as it would alone. */
#define SHARED_PULSE 0.25
#define GAIN_MAX 0.25
#define GAIN_MIN 0.08
/* Where packets are so few that even this gain would leave a queue of 40 ms and a quarter of the round trip, a pulse
 * goes less far. */
#define GAIN_LEAST 0.04
#define GAIN_MIN_QUEUE_US 40000
#define GAIN_MIN_QUEUE_SHARE 4
#define PROVEN_SHARE 0.6 /* of what a pulse has shown to be free, at first */
/* A pulse counts as passed when this share of what it offered above the base arrived. */
#define PULSE_PASSED 0.85
#define PULSE_PACKETS_MIN 64
#define PULSE_US_MIN 20000
/* As long as pulses pass they may be larger. */
#define BOLDNESS_GROWTH 1.5
#define BOLDNESS_MAX 4.0
#define TRAINS_BELIEVED_PULSES 2
/* The queue that a pulse may leave: a twelfth of the round trip, 1.5 to 20 ms. */
#define PULSE_QUEUE_SHARE 12
#define PULSE_QUEUE_MIN_US 1500
#define PULSE_QUEUE_MAX_US 20000
#define PASSED_BEFORE_LONGER_BURSTS 16 /* each trial may lose packets */
#define CYCLE_US_MIN 25000
/* The time to the next pulse varies by so many half round trips. */
#define CYCLES_SPREAD 6
/* Each pulse that cost packets doubles the time to the next one, so many times at most. */
#define COSTLY_MAX 5

static uint32_t next_random(struct nb_rate_auto *rate)
{
    rate->random ^= rate->random << 13;
    rate->random ^= rate->random >> 17;
    rate->random ^= rate->random << 5;
    return rate->random;
}

void nb_rate_plan_next_pulse(struct nb_rate_auto *rate, netblt_time now)
{
    netblt_time cycle = nb_clamp_us(rate->round_trip_us / 2, CYCLE_US_MIN, 500000);
    cycle <<= rate->costly;
    rate->next_pulse_at = now + cycle / 2 + next_random(rate) % (CYCLES_SPREAD * cycle);
}

static netblt_time pulse_us(const struct nb_rate_auto *rate)
{
    double packets_us = PULSE_PACKETS_MIN / rate->base * SECOND_US;
    double bursts_us = (double)nb_rate_bursts_measured_us(rate);
    if (packets_us < bursts_us)
        packets_us = bursts_us;
    double buffer_us = rate->buffer_packets / rate->base * SECOND_US; /* faster pairs wait for a new buffer: AMB-43 */
    return (netblt_time)((packets_us > PULSE_US_MIN ? packets_us : PULSE_US_MIN) + buffer_us);
}

/* What the base is of the link that trains show; 1 where they show none. */
static double share_of_link(const struct nb_rate_auto *rate)
{
    double link = nb_rate_credible_train(rate, rate->base);
    return link > 0 ? rate->base / link : 1;
}

static double pulse_gain(const struct nb_rate_auto *rate, netblt_time duration_us)
{
    netblt_time own = nb_rate_own_round_trip(rate), part = own / GAIN_MIN_QUEUE_SHARE;
    netblt_time queue = nb_clamp_us(own / PULSE_QUEUE_SHARE, PULSE_QUEUE_MIN_US, PULSE_QUEUE_MAX_US);
    netblt_time room = GAIN_MIN_QUEUE_US > part ? GAIN_MIN_QUEUE_US : part;
    double least = nb_clamp((double)room / (double)duration_us, GAIN_LEAST, GAIN_MIN);
    double gain = (double)queue / (double)duration_us;
    double share = share_of_link(rate);
    if (share < ALONE_SHARE)
        gain *= SHARED_PULSE / (share * share);
    return nb_clamp(rate->boldness * gain, least, GAIN_MAX);
}

static double additive_share(const struct nb_rate_auto *rate)
{
    return nb_clamp(ADDITIVE_QUEUE_US / (double)(rate->round_trip_us + 1), ADDITIVE_MIN, ADDITIVE_MAX);
}

static double long_path_step(const struct nb_rate_auto *rate, double step, double gain)
{
    double shown = nb_rate_shown_on_long_path(rate, rate->base) - rate->base;
    double pulse = gain * rate->base;
    if (shown > 0)
        return shown;
    return step < pulse ? step : pulse;
}

/* On a long path a pulse that goes beyond the link overflows its queue before anybody hears of it, and each lost packet
 * costs a round trip and a place in the one CONTROL packet: nothing is to be gained there that would be worth it. */
static bool pulse_would_flood_a_long_path(const struct nb_rate_auto *rate)
{
    double link = nb_rate_trains_rate(&rate->trains);
    return nb_rate_path_is_long(rate) && link > 0 && rate->base * (1 + GAIN_MIN) > link;
}

static void pulse_passed(struct nb_rate_auto *rate, double gain)
{
    double link = nb_rate_trains_rate(&rate->trains);
    double proven = PROVEN_SHARE * gain * rate->base;
    double step = proven * (double)(1u << (rate->successes < 5 ? rate->successes : 5));
    double most = rate->base;
    if (nb_rate_credible_train(rate, rate->base) > 0) { /* equal steps for all flows, up to it */
        double room = NB_RATE_BELOW_CAPACITY * link - rate->base;
        step = additive_share(rate) * link * (double)(1u << (rate->successes < 2 ? rate->successes : 2));
        most = room > proven ? room : proven;
    }
    if (nb_rate_path_is_long(rate)) /* an error would last too long: no further than the pulse went, or trains show */
        step = long_path_step(rate, step, gain);
    rate->successes++;
    rate->boldness = nb_clamp(rate->boldness * BOLDNESS_GROWTH, 1, BOLDNESS_MAX);
    if (rate->successes > TRAINS_BELIEVED_PULSES && link < rate->base * (1 + gain))
        rate->trains = (struct nb_rate_trains){0}; /* the link is faster than they say: the host timed them badly */
    if (rate->burst_most < NB_BURST_USUAL_MOST && ++rate->passed % PASSED_BEFORE_LONGER_BURSTS == 0)
        rate->burst_most++;
    nb_rate_set_base(rate, rate->base + (step < most ? step : most), "a pulse passed");
}

/* Where two flows share a link they may hold the limit with any shares: the greater goes down and the smaller one up,
 * at half of the link no more. Neither a flow alone nor one of three is drawn anywhere. */
static double levelling(const struct nb_rate_auto *rate, double arrived)
{
    double link = nb_rate_trains_rate(&rate->trains), least = 1.0 / NB_RATE_MANY_SHARES;
    double share = arrived / link;
    if (link == 0 || share <= least || share >= ALONE_SHARE)
        return 0;
    return LEVELLING * link * (0.5 - share) * (ALONE_SHARE - share) * (share - least);
}

/* Less arrived than was offered: so much can the path carry. */
static void pulse_met_the_limit(struct nb_rate_auto *rate, double arrived)
{
    double link = nb_rate_of_link(rate, arrived);
    double next = NB_RATE_BELOW_CAPACITY * arrived + levelling(rate, arrived);
    rate->successes = 0;
    rate->boldness = 1;
    double most = rate->base + additive_share(rate) * link;
    nb_rate_set_base(rate, nb_clamp(next, NB_RATE_BACK_OFF_SHARE * rate->base, most), "a pulse met the limit");
}

/* What the base carries is known, and one bad moment of the path shall not undo it. */
static void pulse_lost_packets(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                               const struct nb_rate_result *result)
{
    if (!nb_rate_shorten_bursts(rate, offer, result))
        pulse_met_the_limit(rate, nb_rate_carried(rate, result));
}

void nb_rate_judge_pulse(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                         const struct nb_rate_result *result, netblt_time now)
{
    bool costly = nb_rate_lost_too_much(rate, result);
    bool unseen = costly && !nb_rate_a_queue_stands(rate);
    rate->costly = unseen ? rate->costly + (rate->costly < COSTLY_MAX) : rate->costly / 2;
    nb_rate_plan_next_pulse(rate, now);
    if (rate->settling || offer->rate <= rate->base)
        return;
    double gain = offer->rate / rate->base - 1;
    double arrived = result->sent_rate / rate->follows;
    if (costly && nb_rate_many_share_the_link(rate))
        nb_rate_back_off_for_loss(rate, offer, result);
    else if (costly)
        pulse_lost_packets(rate, offer, result);
    else if (arrived >= rate->base * (1 + PULSE_PASSED * gain) &&
             result->arrival_rate >= rate->base_arrives * (1 + NB_RATE_PULSE_ARRIVED * gain))
        pulse_passed(rate, gain);
    else if (nb_rate_path_is_the_limit(rate))
        pulse_met_the_limit(rate, arrived);
}

bool nb_rate_pulse_is_due(const struct nb_rate_auto *rate, netblt_time now)
{
    return rate->state == NB_RATE_CRUISE && !rate->settling && rate->base_measured && rate->epochs.count == 0 &&
           !nb_rate_a_queue_stands(rate) && now >= rate->next_pulse_at && rate->base < nb_rate_most_possible(rate) &&
           !pulse_would_flood_a_long_path(rate);
}

void nb_rate_begin_pulse(struct nb_rate_auto *rate)
{
    rate->phase_us = pulse_us(rate);
    rate->gain = pulse_gain(rate, rate->phase_us);
    rate->base_measured = false;
}
