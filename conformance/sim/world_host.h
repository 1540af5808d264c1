/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host: its processor, its timers, and the protocol core. */
#ifndef WORLD_HOST_H
#define WORLD_HOST_H

#include "world_state.h"

int world_host_begin(world *w, struct host *host, unsigned index);
/* Does everything that the host can do now; false when it goes on without end. */
bool world_host_step(struct host *host);
uint64_t world_host_next_ns(struct host *host);
void world_host_free(struct host *host);

#endif
