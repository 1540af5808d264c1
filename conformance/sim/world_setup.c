/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a world of links, hosts, flows and cross traffic. */
#include "world_flow.h"
#include "world_host.h"
#include "world_link.h"

#include <stdlib.h>

/* Streams of the seed; links take theirs from 100 on, so that adding a host moves no link's luck. */
enum { STREAM_WORLD = 1, STREAM_HOSTS = 1000, STREAM_CROSS = 2000, SEED_STEP_PER_LINK = 7919 };

size_t world_abi_bytes(void)
{
    return sizeof(world_host) + sizeof(world_flow) + sizeof(world_cross) + sizeof(world_flow_stats) +
           sizeof(world_buffer) + sizeof(world_link_stats) + sizeof(world_host_stats) + sizeof(world_sample);
}

world *world_new(uint64_t seed)
{
    world *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->seed = seed;
    w->capture_link = -1;
    fw_random_seed(&w->random, seed, STREAM_WORLD);
    world_flow_clients(w);
    return w;
}

void world_free(world *w)
{
    if (!w)
        return;
    world_capture_end(w);
    for (int i = 0; i < w->host_count; i++)
        world_host_free(&w->hosts[i]);
    for (int i = 0; i < w->link_count; i++)
        world_link_free(&w->links[i]);
    for (int i = 0; i < w->flow_count; i++)
        free(w->flows[i].buffers);
    free(w->memory);
    free(w->sink);
    free(w->frame);
    free(w->samples);
    free(w);
}

int world_add_link(world *w, bool shared)
{
    if (w->link_count == WORLD_LINKS_MAX)
        return world_fail(w, "more than %d links", WORLD_LINKS_MAX);
    struct link *link = &w->links[w->link_count];
    link->engine = flakeway_new(w->seed * SEED_STEP_PER_LINK + (uint64_t)w->link_count);
    link->shared = shared;
    return link->engine ? w->link_count++ : world_fail(w, "no memory for a link");
}

/* Changes are kept in order of their time; those of one moment in the order given. */
static int keep_change(world *w, struct link *link, uint64_t at_us, const char *statement)
{
    struct change *changes = realloc(link->changes, (link->change_count + 1) * sizeof *changes);
    if (!changes)
        return world_fail(w, "no memory for a change of a link");
    link->changes = changes;
    size_t at = link->change_count++;
    for (; at > 0 && changes[at - 1].at_us > at_us; at--)
        changes[at] = changes[at - 1];
    changes[at].at_us = at_us;
    snprintf(changes[at].text, sizeof changes[at].text, "%s", statement);
    return 0;
}

int world_set_link(world *w, int link, uint64_t at_us, const char *statement)
{
    flakeway_error error;
    if (link < 0 || link >= w->link_count)
        return world_fail(w, "there is no link %d", link);
    if (at_us == 0)
        return flakeway_add(w->links[link].engine, statement, &error) < 0
                   ? world_fail(w, "%s: %s", statement, error.message)
                   : 0;
    flakeway *trial = flakeway_new(0); /* a bad line shall be found now, not in the midst of a run */
    int bad = trial ? flakeway_add(trial, statement, &error) : 0;
    flakeway_free(trial);
    return bad < 0 ? world_fail(w, "%s: %s", statement, error.message)
                   : keep_change(w, &w->links[link], at_us, statement);
}

int world_add_host(world *w, const world_host *host)
{
    if (w->host_count == WORLD_HOSTS_MAX)
        return world_fail(w, "more than %d hosts", WORLD_HOSTS_MAX);
    w->hosts[w->host_count].settings = *host;
    fw_random_seed(&w->hosts[w->host_count].random, w->seed, STREAM_HOSTS + (uint64_t)w->host_count);
    return w->host_count++;
}

static int check_route(world *w, const world_route *route)
{
    if (route->hops < 1 || route->hops > WORLD_ROUTE_MAX)
        return world_fail(w, "a route has 1 to %d links", WORLD_ROUTE_MAX);
    for (unsigned i = 0; i < route->hops; i++)
        if (route->hop[i].link >= w->link_count || route->hop[i].direction >= FLAKEWAY_DIRECTIONS)
            return world_fail(w, "a route leads over link %u, which does not exist", route->hop[i].link);
    return 0;
}

int world_add_flow(world *w, const world_flow *flow)
{
    if (w->flow_count == WORLD_FLOWS_MAX)
        return world_fail(w, "more than %d flows", WORLD_FLOWS_MAX);
    if (flow->sender >= w->host_count || flow->receiver >= w->host_count || flow->sender == flow->receiver)
        return world_fail(w, "flow %d has no two hosts", w->flow_count);
    if (check_route(w, &flow->route) < 0)
        return -1;
    struct flow *f = &w->flows[w->flow_count];
    f->settings = *flow;
    f->burst_size = flow->burst_size;
    f->burst_interval_ms = flow->burst_interval_ms;
    for (unsigned i = 0; i < 2; i++)
        f->ends[i] = (struct flow_end){.world = w, .flow = (uint32_t)w->flow_count, .sends = i == 0};
    return w->flow_count++;
}

int world_add_cross(world *w, const world_cross *cross)
{
    if (w->cross_count == WORLD_CROSS_MAX)
        return world_fail(w, "more than %d kinds of cross traffic", WORLD_CROSS_MAX);
    if (cross->period_ns == 0 || cross->burst_packets == 0 || cross->packet_bytes == 0)
        return world_fail(w, "cross traffic of nothing");
    if (check_route(w, &cross->route) < 0)
        return -1;
    struct cross *c = &w->cross[w->cross_count];
    c->settings = *cross;
    c->next_ns = cross->start_us * NS_PER_US;
    fw_random_seed(&c->random, w->seed, STREAM_CROSS + (uint64_t)w->cross_count);
    return w->cross_count++;
}
