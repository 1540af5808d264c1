/* SPDX-License-Identifier: BSD-2-Clause */
/* An adversarial network between two endpoints: see network.h. */
#include "network.h"

#include "fuzz.h"
#include "memory.h"

#include <string.h>

#define DELAY_UNIT_US 2000
#define HEALED_DELAY_MAX_US 100000

static uint32_t next_random(struct network *network)
{
    network->random = network->random * 1664525u + 1013904223u;
    return network->random >> 8;
}

static struct flight *new_flight(int to, const uint8_t *packet, size_t size, netblt_time at)
{
    struct flight *flight = fuzz_malloc(sizeof *flight + size);
    *flight = (struct flight){.at = at, .to = to, .size = size};
    memcpy(flight->packet, packet, size);
    return flight;
}

static void insert(struct network *network, struct flight *flight)
{
    struct flight **link = &network->flights;
    if (network->latest != NULL && network->latest->at <= flight->at)
        link = &network->latest->next;
    while (*link != NULL && (*link)->at <= flight->at)
        link = &(*link)->next;
    flight->next = *link;
    *link = flight;
    if (flight->next == NULL)
        network->latest = flight;
}

static void remember(struct network *network, const struct flight *flight)
{
    unsigned place = network->history_count++;
    if (place >= NETWORK_HISTORY_MAX)
        place = NETWORK_HISTORY_KEPT + (place - NETWORK_HISTORY_KEPT) % (NETWORK_HISTORY_MAX - NETWORK_HISTORY_KEPT);
    free(network->history[place]);
    network->history[place] = new_flight(flight->to, flight->packet, flight->size, 0);
}

void network_free(struct network *network)
{
    for (unsigned i = 0; i < NETWORK_HISTORY_MAX; i++)
        free(network->history[i]);
    while (network->flights != NULL) {
        struct flight *next = network->flights->next;
        free(network->flights);
        network->flights = next;
    }
}

/* When a packet that enters now arrives; NETBLT_TIME_NEVER when it is lost. */
static netblt_time travel(struct network *network, struct network_lane *lane, netblt_time now)
{
    netblt_time at = now;
    if (now < network->cut_until || (lane->loss_permille > 0 && next_random(network) % 1000 < lane->loss_permille))
        return NETBLT_TIME_NEVER;
    if (lane->packet_us > 0) {
        netblt_time from = lane->free_at > now ? lane->free_at : now;
        if (from - now > lane->queue_packets * lane->packet_us)
            return NETBLT_TIME_NEVER;
        at = lane->free_at = from + lane->packet_us;
    }
    at += lane->delay_us;
    return lane->scatter_us == 0 ? at : at + next_random(network) % lane->scatter_us;
}

/* What the pending fault makes of a packet; NULL when it is lost. */
static struct flight *suffer(struct network *network, struct network_lane *lane, struct flight *flight)
{
    switch (lane->fault) {
    case FAULT_DROP:
        free(flight);
        return NULL;
    case FAULT_REPEAT:
        insert(network, new_flight(flight->to, flight->packet, flight->size, flight->at + lane->value * 100u));
        break;
    case FAULT_DAMAGE:
        flight->packet[lane->place % flight->size] ^= lane->value | 1;
        break;
    case FAULT_SHORTEN:
        flight->size -= 1 + lane->place % flight->size;
        break;
    case FAULT_DELAY:
        flight->at += (netblt_time)lane->place * DELAY_UNIT_US;
        break;
    case FAULT_FORGE:
        flight->packet[lane->place % flight->size] ^= lane->value | 1;
        fuzz_repair(flight->packet, flight->size);
        network->forged = true;
        break;
    case FAULT_NONE:
        break;
    }
    return flight;
}

static void note_fault(struct network *network, netblt_time now)
{
    if (now > network->fault_at)
        network->fault_at = now;
}

void network_send(struct network *network, int to, const uint8_t *packet, size_t size, netblt_time now)
{
    struct network_lane *lane = &network->lanes[to];
    netblt_time at = travel(network, lane, now);
    struct flight *flight = new_flight(to, packet, size, at);
    remember(network, flight);
    if (lane->fault_count > 0) {
        lane->fault_count--;
        note_fault(network, now);
        flight = suffer(network, lane, flight);
    }
    if (flight != NULL && at == NETBLT_TIME_NEVER) {
        note_fault(network, now);
        free(flight);
    } else if (flight != NULL) {
        insert(network, flight);
    }
}

void network_replay(struct network *network, unsigned which, netblt_time now)
{
    unsigned count = network->history_count < NETWORK_HISTORY_MAX ? network->history_count : NETWORK_HISTORY_MAX;
    if (count == 0)
        return;
    const struct flight *old = network->history[which % count];
    insert(network, new_flight(old->to, old->packet, old->size, now + network->lanes[old->to].delay_us));
}

struct flight *network_arrival(struct network *network, netblt_time now)
{
    struct flight *flight = network->flights;
    if (flight == NULL || flight->at > now)
        return NULL;
    network->flights = flight->next;
    if (network->flights == NULL)
        network->latest = NULL;
    return flight;
}

netblt_time network_next(const struct network *network)
{
    return network->flights == NULL ? NETBLT_TIME_NEVER : network->flights->at;
}

void network_heal(struct network *network)
{
    network->cut_until = 0;
    for (int i = 0; i < 2; i++) {
        struct network_lane *lane = &network->lanes[i];
        lane->packet_us = lane->scatter_us = 0;
        lane->loss_permille = lane->fault_count = 0;
        if (lane->delay_us > HEALED_DELAY_MAX_US)
            lane->delay_us = HEALED_DELAY_MAX_US;
    }
}
