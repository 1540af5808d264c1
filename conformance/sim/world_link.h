/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets between hosts. */
#ifndef WORLD_LINK_H
#define WORLD_LINK_H

#include "world_state.h"

void world_link_apply_changes(world *w, struct link *link);
uint64_t world_link_next_ns(const struct link *link);
/* An IPv4 packet of `length` bytes after its tag in w->frame sets out, or goes on to the tag's hop. */
void world_link_offer(world *w, size_t length);
/* A packet of cross traffic. */
void world_link_offer_cross(world *w, unsigned index);
void world_link_release(world *w, int link);
void world_link_free(struct link *link);
int world_capture_begin(world *w);
void world_capture_end(world *w);

#endif
