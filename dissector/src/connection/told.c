/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "connection/told.h"

#include "wireshark/arena.h"
#include "wireshark/memory.h"

/* The ring grows from here by doubling: a capture may hold many connections. */
#define FIRST_ROOM 16

struct nb_told *nb_told_find(const struct nb_told_log *log, int64_t seq)
{
    if (log->room == 0) {
        return NULL;
    }
    struct nb_told *told = &log->slots[(uint64_t)seq % log->room];
    return told->frame != 0 && told->seq == seq ? told : NULL;
}

static void make_room(struct nb_told_log *log, int64_t window)
{
    const uint32_t old_room = log->room;
    struct nb_told *old = log->slots;

    if (window <= old_room) {
        return;
    }
    uint32_t room = MAX(old_room, FIRST_ROOM);
    while (room < window) {
        room *= 2;
    }
    if (!nb_memory_ask(room * sizeof(struct nb_told))) {
        if (old_room > 0) {
            return;
        }
        room = FIRST_ROOM;
    }
    log->room = room;
    log->slots = (struct nb_told *)nb_arena_new0(log->room * sizeof(struct nb_told));
    for (uint32_t i = 0; i < old_room; i++) {
        if (old[i].frame != 0) {
            log->slots[(uint64_t)old[i].seq % log->room] = old[i];
        }
    }
}

struct nb_told *nb_told_place(struct nb_told_log *log, int64_t seq, int64_t window)
{
    make_room(log, MIN(window, NB_TOLD_WINDOW));
    struct nb_told *told = &log->slots[(uint64_t)seq % log->room];
    if (told->frame == 0 || told->seq != seq) {
        *told = (struct nb_told){.seq = seq};
    }
    return told;
}
