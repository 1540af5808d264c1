/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host's card, and the packets that wait for the processor. */
#include "world_card.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

/* ---- queues ---------------------------------------------------------------------------------------------------- */

static bool push(struct waiting_queue *queue, const struct waiting *waiting)
{
    if (queue->count == queue->capacity) {
        size_t capacity = queue->capacity ? 2 * queue->capacity : 64;
        struct waiting *ring = malloc(capacity * sizeof *ring);
        if (!ring)
            return false;
        for (size_t i = 0; i < queue->count; i++)
            ring[i] = queue->ring[(queue->first + i) % queue->capacity];
        free(queue->ring);
        queue->ring = ring;
        queue->capacity = capacity;
        queue->first = 0;
    }
    queue->ring[(queue->first + queue->count++) % queue->capacity] = *waiting;
    return true;
}

struct waiting world_queue_take(struct waiting_queue *queue)
{
    struct waiting waiting = queue->ring[queue->first];
    queue->first = (queue->first + 1) % queue->capacity;
    queue->count--;
    return waiting;
}

/* Puts a copy of a packet at the end of a queue. */
void world_queue_keep(struct host *host, struct waiting_queue *queue, struct waiting waiting, const uint8_t *bytes)
{
    waiting.bytes = malloc(waiting.length);
    if (waiting.bytes)
        memcpy(waiting.bytes, bytes, waiting.length);
    if (!waiting.bytes || !push(queue, &waiting)) {
        free(waiting.bytes);
        world_fail(host->world, "no memory for packets that wait");
    }
}

void world_queue_free(struct waiting_queue *queue)
{
    while (queue->count)
        free(world_queue_take(queue).bytes);
    free(queue->ring);
}

/* ---- the card -------------------------------------------------------------------------------------------------- */

uint64_t world_card_time_ns(const struct host *host, size_t length)
{
    uint64_t rate = host->settings.card_bits_per_s;
    return rate ? length * 8 * NS_PER_S / rate : 0;
}

/* A packet is lost if the card was deaf at any moment while it came in. */
static bool card_is_deaf(const struct host *host, size_t length)
{
    return host->settings.card_half_duplex &&
           host->world->now_ns <
               host->deaf_until_ns + (host->deaf_until_ns == WORLD_NEVER ? 0 : world_card_time_ns(host, length));
}

/* A free receive buffer of the card, or NULL. */
static uint64_t *free_buffer(struct host *host)
{
    for (uint32_t i = 0; i < host->settings.card_receive_buffers; i++)
        if (host->held_until_ns[i] <= host->world->now_ns)
            return &host->held_until_ns[i];
    return NULL;
}

const char *world_card_arrive(struct host *host, uint8_t from, const uint8_t *netblt, size_t length)
{
    const world_host *settings = &host->settings;
    uint64_t *buffer = settings->card_receive_buffers ? free_buffer(host) : NULL;
    if (card_is_deaf(host, IPV4_HEADER_BYTES + length)) {
        host->stats.card_deaf++;
        return "card: deaf, it was sending";
    }
    if (settings->card_receive_buffers && !buffer) {
        host->stats.card_full++;
        return "card: no free packet buffer";
    }
    if (settings->receive_queue_packets && host->in.count >= settings->receive_queue_packets) {
        host->stats.queue_full++;
        return "host: too many packets wait for the processor";
    }
    if (buffer)
        *buffer = host->world->now_ns + settings->card_hold_ns;
    world_queue_keep(host, &host->in, (struct waiting){.length = length, .host = from}, netblt);
    return NULL;
}
