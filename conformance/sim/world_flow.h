/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flows: what clients of the core do, and what is measured. */
#ifndef WORLD_FLOW_H
#define WORLD_FLOW_H

#include "world_state.h"

void world_flow_clients(world *w);
int world_flow_listen(world *w, struct host *host);
int world_flow_open(world *w, unsigned index);
void world_flow_observe(void *context, const netblt_event *event);
/* Reads a packet that a host sends: its flow, and what is to be remembered of it. */
uint32_t world_flow_sent(world *w, const uint8_t *netblt, size_t length);
void world_flow_received(world *w, const uint8_t *netblt, size_t length);
bool world_flow_is_data(const uint8_t *netblt, size_t length);
size_t world_flow_data_bytes(size_t length);

#endif
