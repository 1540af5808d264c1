/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: probes, short times above the base rate that show whether the path carries more. */
#include "rate/rate_probe.h"

#include <float.h>

#include "rate/rate_loss.h"
#include "rate/rate_pair.h"
#include "rate/rate_path.h"

static uint32_t next_random(struct nb_rate_auto *rate)
{
    rate->random ^= rate->random << 13;
    rate->random ^= rate->random >> 17;
    rate->random ^= rate->random << 5;
    return rate->random;
}

void nb_rate_plan_next_probe(struct nb_rate_auto *rate, netblt_time now)
{
    netblt_time cycle = nb_clamp_us(rate->round_trip_us / 2, NB_RATE_BRIEF_US, NB_RATE_RECOVERY_US);
    cycle <<= rate->costly;
    rate->next_probe_at = now + cycle / 2 + next_random(rate) % (NB_RATE_CYCLES_SPREAD * cycle);
}

static netblt_time probe_us(const struct nb_rate_auto *rate)
{
    double packets_us = NB_RATE_WINDOW_PACKETS / rate->base * NB_US_PER_S;
    double bursts_us = (double)nb_rate_bursts_measured_us(rate);
    if (packets_us < bursts_us)
        packets_us = bursts_us;
    double buffer_us = rate->buffer_packets / rate->base * NB_US_PER_S; /* faster pairs wait for a new buffer: AMB-43 */
    return (netblt_time)((packets_us > NB_RATE_BRIEF_US ? packets_us : NB_RATE_BRIEF_US) + buffer_us);
}

/* What the base is of the link that trains show; 1 where they show none. */
static double share_of_link(const struct nb_rate_auto *rate)
{
    double link = nb_rate_credible_train(rate, rate->base);
    return link > 0 ? rate->base / link : 1;
}

static double probe_gain(const struct nb_rate_auto *rate, netblt_time duration_us)
{
    netblt_time own = nb_rate_own_round_trip(rate);
    netblt_time queue = nb_clamp_us(own / NB_RATE_QUEUE_PART, NB_RATE_NEAR_US / 2, NB_RATE_QUEUE_MAX_US);
    /* A probe goes less far than usual where packets are so few that it would leave a queue of a quarter of the round
     * trip and twice the most that counts as one. */
    double room = nb_clamp(NB_RATE_GAIN_MAX * (double)own, 2.0 * NB_RATE_QUEUE_MAX_US, DBL_MAX);
    double least = nb_clamp(room / (double)duration_us, NB_RATE_GAIN_LEAST, NB_RATE_GAIN_MIN);
    double gain = (double)queue / (double)duration_us;
    double share = share_of_link(rate);
    /* All flows exceed their bases by the same share of the link, so the smaller one gains more from its probes. By the
     * queue alone the larger one would probe more strongly, as its probes are shorter. At half of the link: as alone.
     */
    if (share < NB_RATE_NEARLY_ALL)
        gain /= (2 * share) * (2 * share);
    for (unsigned i = 0; i < rate->successes && i < NB_RATE_LARGER_PROBES; i++)
        gain *= NB_RATE_PROBE_GROWTH;
    return nb_clamp(gain, least, NB_RATE_GAIN_MAX);
}

/* Less on long paths, as what is too much queues for a round trip. */
static double additive_share(const struct nb_rate_auto *rate)
{
    return nb_clamp((double)NB_RATE_QUEUE_MAX_US / (double)(rate->round_trip_us + 1), NB_RATE_ADDITIVE_MIN,
                    NB_RATE_ADDITIVE_MAX);
}

static double long_path_step(const struct nb_rate_auto *rate, double step, double gain)
{
    double shown = nb_rate_shown_on_long_path(rate, rate->base) - rate->base;
    double probe = gain * rate->base;
    if (shown > 0)
        return shown;
    return step < probe ? step : probe;
}

/* On a long path a probe that goes beyond the link overflows its queue before either end knows, and each lost packet
 * costs a round trip and a place in the one CONTROL packet: nothing is to be gained there that would be worth it. */
static bool probe_would_flood_a_long_path(const struct nb_rate_auto *rate)
{
    double link = nb_rate_trains_rate(&rate->trains);
    return nb_rate_path_is_long(rate) && link > 0 && rate->base * (1 + NB_RATE_GAIN_MIN) > link;
}

static void probe_passed(struct nb_rate_auto *rate, double gain)
{
    double link = nb_rate_trains_rate(&rate->trains);
    double doublings =
        (double)(1u << (rate->successes < NB_RATE_DOUBLINGS_MAX ? rate->successes : NB_RATE_DOUBLINGS_MAX));
    double proven = NB_RATE_PROVEN_SHARE * gain * rate->base;
    double step = proven * doublings;
    double most = rate->base;
    if (nb_rate_credible_train(rate, rate->base) > 0) { /* equal steps for all flows, up to it */
        double room = nb_rate_below_capacity(rate) * link - rate->base;
        step = additive_share(rate) * link * doublings;
        most = room > proven ? room : proven;
    }
    if (nb_rate_path_is_long(rate)) /* an error would last too long: no further than the probe went, or trains show */
        step = long_path_step(rate, step, gain);
    rate->successes++;
    rate->met_again = 0;
    if (rate->successes >= NB_RATE_CONVINCING && link < rate->base * (1 + gain))
        rate->trains = (struct nb_rate_trains){0}; /* the link is faster than they show: the host timed them badly */
    if (rate->burst_most < NB_BURST_USUAL_MOST && ++rate->passed % NB_RATE_PASSED_BEFORE_LONGER == 0)
        rate->burst_most++;
    nb_rate_set_base(rate, rate->base + (step < most ? step : most), "a probe passed");
}

/* Where two flows share a link they may hold the limit with any shares: the greater goes down and the smaller one up,
 * at half of the link no more. Neither a flow alone nor one of three is drawn anywhere. */
static double levelling(const struct nb_rate_auto *rate, double arrived)
{
    double link = nb_rate_trains_rate(&rate->trains), least = 1.0 / NB_RATE_MANY_SHARES;
    double share = arrived / link;
    if (link == 0 || share <= least || share >= NB_RATE_NEARLY_ALL)
        return 0;
    return NB_RATE_LEVELLING * link * (0.5 - share) * (NB_RATE_NEARLY_ALL - share) * (share - least);
}

/* For is_alone() in rate_path.c. */
static void note_limit(struct nb_rate_auto *rate, double arrived)
{
    double change = arrived > rate->met ? arrived - rate->met : rate->met - arrived;
    rate->met_again = change <= NB_RATE_LOSS_MARGIN * arrived ? rate->met_again + 1 : 0;
    rate->met = arrived;
}

/* Less arrived than was offered: so much can the path carry. */
static void probe_met_the_limit(struct nb_rate_auto *rate, double arrived)
{
    note_limit(rate, arrived);
    double link = nb_rate_of_link(rate, arrived);
    double next = nb_rate_below_capacity(rate) * arrived + levelling(rate, arrived);
    rate->successes = 0;
    double most = rate->base + additive_share(rate) * link;
    nb_rate_set_base(rate, nb_clamp(next, NB_RATE_BACK_OFF_SHARE * rate->base, most), "a probe met the limit");
}

/* What the base carries is known, and one bad moment of the path shall not undo it. */
static void probe_lost_packets(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                               const struct nb_rate_result *result)
{
    if (!nb_rate_shorten_bursts(rate, offer, result))
        probe_met_the_limit(rate, nb_rate_carried(rate, result));
}

void nb_rate_judge_probe(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                         const struct nb_rate_result *result, netblt_time now)
{
    bool costly = nb_rate_lost_too_much(rate, result);
    bool unseen = costly && !nb_rate_a_queue_stands(rate);
    rate->costly = unseen ? rate->costly + (rate->costly < NB_RATE_DOUBLINGS_MAX) : rate->costly / 2;
    nb_rate_plan_next_probe(rate, now);
    if (rate->settling || offer->rate <= rate->base)
        return;
    double gain = offer->rate / rate->base - 1;
    double arrived = result->sent_rate / rate->sender_share;
    if (costly && nb_rate_many_share_the_link(rate))
        nb_rate_back_off_for_loss(rate, offer, result);
    else if (costly)
        probe_lost_packets(rate, offer, result);
    else if (arrived >= rate->base * (1 + NB_RATE_NEARLY_ALL * gain) &&
             result->arrival_rate >= rate->base_arrives * (1 + NB_RATE_PROBE_ARRIVED * gain))
        probe_passed(rate, gain);
    else if (nb_rate_path_is_the_limit(rate) || nb_rate_below_capacity(rate) * arrived > rate->base)
        probe_met_the_limit(rate, arrived);
}

bool nb_rate_probe_is_due(const struct nb_rate_auto *rate, netblt_time now)
{
    return rate->state == NB_RATE_CRUISE && !rate->settling && rate->base_measured && rate->epochs.count == 0 &&
           !nb_rate_a_queue_stands(rate) && now >= rate->next_probe_at && rate->base < nb_rate_most_possible(rate) &&
           !probe_would_flood_a_long_path(rate);
}

void nb_rate_begin_probe(struct nb_rate_auto *rate)
{
    rate->phase_us = probe_us(rate);
    rate->gain = probe_gain(rate, rate->phase_us);
    rate->base_measured = false;
}
