/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls the rate controller of a connection, and counts the packets of its transfer. */
#include "rate/rate_control.h"

const struct nb_rate_controller *nb_rate_controller_of(enum netblt_rate mode)
{
    return mode == NETBLT_RATE_AUTO ? &nb_rate_auto : &nb_rate_fixed;
}

void nb_rate_control_begin(struct nb_rate_control *rate, const struct nb_rate_controller *controller,
                           const struct nb_rate_setup *setup)
{
    *rate = (struct nb_rate_control){.controller = controller, .buffer_packets = setup->buffer_packets};
    controller->begin(&rate->state, setup);
}

struct nb_burst nb_rate_control_offer(struct nb_rate_control *rate, uint16_t seq, netblt_time now)
{
    return rate->controller->offer(&rate->state, seq, now);
}

struct nb_burst nb_rate_control_in_force(const struct nb_rate_control *rate)
{
    return rate->controller->in_force(&rate->state);
}

unsigned nb_rate_control_credit(const struct nb_rate_control *rate, unsigned most)
{
    return rate->controller->credit == NULL ? most : rate->controller->credit(&rate->state, most);
}

bool nb_rate_control_window_allows(const struct nb_rate_control *rate, uint64_t next)
{
    if (rate->controller->window_allows == NULL)
        return true;
    return rate->controller->window_allows(&rate->state, rate->next_position / rate->buffer_packets, next);
}

struct nb_rate_report nb_rate_control_report(const struct nb_rate_control *rate)
{
    if (rate->controller->report == NULL)
        return (struct nb_rate_report){0};
    return rate->controller->report(&rate->state);
}

bool nb_rate_control_measures(const struct nb_rate_control *rate)
{
    return rate->controller->arrival != NULL;
}

void nb_rate_control_arrival(struct nb_rate_control *rate, enum nb_rate_arrival kind, uint64_t position,
                             netblt_time now)
{
    if (!nb_rate_control_measures(rate))
        return;
    struct nb_rate_packet packet = {.kind = kind};
    if (kind == NB_RATE_FRESH || kind == NB_RATE_REQUESTED) {
        packet.gap = (uint32_t)(position - rate->next_position);
        uint64_t before = rate->next_position == 0 ? UINT64_MAX : (rate->next_position - 1) / rate->buffer_packets;
        packet.new_buffer = position / rate->buffer_packets != before;
        rate->next_position = position + 1;
    }
    rate->controller->arrival(&rate->state, &packet, now);
}

void nb_rate_control_acked(struct nb_rate_control *rate, uint16_t ack)
{
    if (rate->controller->acked != NULL)
        rate->controller->acked(&rate->state, ack);
}

void nb_rate_control_null_ack(struct nb_rate_control *rate, uint16_t ack, struct nb_burst burst)
{
    if (rate->controller->null_ack != NULL)
        rate->controller->null_ack(&rate->state, ack, burst);
}

void nb_rate_control_round_trip(struct nb_rate_control *rate, netblt_time us, netblt_time now)
{
    if (rate->controller->round_trip != NULL)
        rate->controller->round_trip(&rate->state, us, now);
}

void nb_rate_control_round_trip_guess(struct nb_rate_control *rate, netblt_time us)
{
    if (rate->controller->round_trip_guess != NULL)
        rate->controller->round_trip_guess(&rate->state, us);
}

void nb_rate_control_timeout(struct nb_rate_control *rate)
{
    if (rate->controller->timeout != NULL)
        rate->controller->timeout(&rate->state);
}
