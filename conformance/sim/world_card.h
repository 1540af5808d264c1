/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host's card, and the packets that wait for the processor. */
#ifndef WORLD_CARD_H
#define WORLD_CARD_H

#include "world_state.h"

/* Puts a copy of a packet at the end of a queue. */
void world_queue_keep(struct host *host, struct waiting_queue *queue, struct waiting waiting, const uint8_t *bytes);
/* Takes the oldest packet; the queue must not be empty. The caller frees its bytes. */
struct waiting world_queue_take(struct waiting_queue *queue);
void world_queue_free(struct waiting_queue *queue);

/* How long a packet of `length` bytes, IPv4 header included, takes through the card. */
uint64_t world_card_time_ns(const struct host *host, size_t length);
/* A packet reaches the card; returns why it is lost there, or NULL. */
const char *world_card_arrive(struct host *host, uint8_t from, const uint8_t *netblt, size_t length);

#endif
