/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock: who is next, and the order in which things of one moment happen. */
#include "world_flow.h"
#include "world_host.h"
#include "world_link.h"

#include <inttypes.h>
#include <stdlib.h>

#define ROUNDS_PER_MOMENT_MAX 1000000u

/* Memory for the largest buffer and the largest packet; contents that no two packets share by chance. */
static int make_memory(world *w)
{
    uint32_t largest = 1;
    for (int i = 0; i < w->flow_count; i++) {
        uint32_t bytes = w->flows[i].settings.buffer_size;
        largest = bytes > largest ? bytes : largest;
    }
    w->memory = malloc(largest);
    w->sink = malloc(largest);
    w->frame = malloc(TAG_BYTES + IPV4_HEADER_BYTES + NETBLT_PACKET_MAX_BYTES + 1);
    if (!w->memory || !w->sink || !w->frame)
        return world_fail(w, "no memory for buffers of %" PRIu32 " bytes", largest);
    for (uint32_t i = 0; i < largest; i++)
        w->memory[i] = (uint8_t)(i * 7 + (i >> 8) * 13);
    return 0;
}

static int prepare(world *w)
{
    if (w->prepared)
        return w->failed ? -1 : 0;
    w->prepared = true;
    if (make_memory(w) < 0)
        return -1;
    for (int i = 0; i < w->host_count; i++)
        if (world_host_begin(w, &w->hosts[i], (unsigned)i) < 0)
            return -1;
    return world_capture_begin(w);
}

/* ---- time ------------------------------------------------------------------------------------------------------ */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void send_cross_traffic(world *w)
{
    for (int i = 0; i < w->cross_count; i++) {
        struct cross *cross = &w->cross[i];
        while (cross->next_ns <= w->now_ns) {
            for (uint32_t packet = 0; packet < cross->settings.burst_packets; packet++)
                world_link_offer_cross(w, (unsigned)i);
            double distance = cross->settings.random ? fw_exponential(&cross->random) : 1;
            cross->next_ns += (uint64_t)(distance * (double)cross->settings.period_ns) + 1;
            if (cross->settings.stop_us != WORLD_NEVER && cross->next_ns >= cross->settings.stop_us * NS_PER_US)
                cross->next_ns = WORLD_NEVER;
        }
    }
}

static int open_flows(world *w)
{
    for (int i = 0; i < w->flow_count; i++) {
        struct flow *flow = &w->flows[i];
        if (!flow->opened && flow->settings.start_us * NS_PER_US <= w->now_ns && world_flow_open(w, (unsigned)i) < 0)
            return -1;
    }
    return 0;
}

static bool hosts_step(world *w)
{
    bool sound = true;
    for (int i = 0; i < w->host_count; i++)
        sound = world_host_step(&w->hosts[i]) && sound;
    return sound;
}

static uint64_t next_event(world *w)
{
    uint64_t next = WORLD_NEVER;
    for (int i = 0; i < w->link_count; i++)
        next = earlier(next, world_link_next_ns(&w->links[i]));
    for (int i = 0; i < w->host_count; i++)
        next = earlier(next, world_host_next_ns(&w->hosts[i]));
    for (int i = 0; i < w->cross_count; i++)
        next = earlier(next, w->cross[i].next_ns);
    for (int i = 0; i < w->flow_count; i++)
        if (!w->flows[i].opened)
            next = earlier(next, w->flows[i].settings.start_us * NS_PER_US);
    return next;
}

static bool is_over(const struct flow *flow)
{
    bool peer_unheard = flow->result != 0 && !flow->was_opened;
    return flow->done_ns[0] != 0 && (flow->done_ns[1] != 0 || peer_unheard);
}

static bool all_over(const world *w)
{
    for (int i = 0; i < w->flow_count; i++)
        if (!is_over(&w->flows[i]))
            return false;
    for (int i = 0; i < w->cross_count; i++)
        if (w->cross[i].next_ns != WORLD_NEVER)
            return false;
    return true;
}

int world_run(world *w, uint64_t until_us)
{
    uint64_t until_ns = until_us > WORLD_NEVER / NS_PER_US ? WORLD_NEVER : until_us * NS_PER_US;
    if (prepare(w) < 0)
        return -1;
    for (unsigned rounds = 0;;) {
        for (int i = 0; i < w->link_count; i++)
            world_link_apply_changes(w, &w->links[i]);
        send_cross_traffic(w);
        for (int i = 0; i < w->link_count; i++)
            world_link_release(w, i);
        if (open_flows(w) < 0)
            return -1;
        bool sound = hosts_step(w);
        if (w->failed)
            return -1;
        if (all_over(w))
            return WORLD_DONE;
        uint64_t next = next_event(w);
        rounds = next > w->now_ns ? 0 : rounds + 1;
        if (!sound || rounds > ROUNDS_PER_MOMENT_MAX)
            return WORLD_SPINNING;
        if (next == WORLD_NEVER)
            return WORLD_IDLE;
        if (next > until_ns) {
            w->now_ns = until_ns > w->now_ns ? until_ns : w->now_ns;
            return WORLD_TIME;
        }
        w->now_ns = next > w->now_ns ? next : w->now_ns;
    }
}

uint64_t world_now_ns(const world *w)
{
    return w->now_ns;
}
