/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "world_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The clock: who is next, and the order in which things of one moment happen. */

#define ROUNDS_PER_MOMENT_MAX 1000000u
/* Streams of the seed; links take theirs from 100 on, so that adding a host moves no link's luck. */
enum { STREAM_WORLD = 1, STREAM_HOSTS = 1000, STREAM_CROSS = 2000, SEED_STEP_PER_LINK = 7919 };

int world_fail(world *w, const char *format, ...)
{
    if (!w->failed) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(w->error, sizeof w->error, format, arguments);
        va_end(arguments);
        w->failed = true;
    }
    return -1;
}

const char *world_error(const world *w)
{
    return w->error;
}

size_t world_abi_bytes(void)
{
    return sizeof(world_host) + sizeof(world_flow) + sizeof(world_cross) + sizeof(world_flow_stats) +
           sizeof(world_buffer) + sizeof(world_link_stats) + sizeof(world_host_stats) + sizeof(world_sample);
}

/* ---- setting up ------------------------------------------------------------------------------------------------ */

world *world_new(uint64_t seed)
{
    world *w = calloc(1, sizeof *w);
    if (!w) {
        return NULL;
    }
    w->seed = seed;
    w->capture_link = -1;
    fw_random_seed(&w->random, seed, STREAM_WORLD);
    world_flow_clients(w);
    return w;
}

void world_free(world *w)
{
    if (!w) {
        return;
    }
    world_capture_end(w);
    for (int i = 0; i < w->host_count; i++) {
        world_host_free(&w->hosts[i]);
    }
    for (int i = 0; i < w->link_count; i++) {
        world_link_free(&w->links[i]);
    }
    for (int i = 0; i < w->flow_count; i++) {
        free(w->flows[i].buffers);
    }
    free(w->memory);
    free(w->sink);
    free(w->frame);
    free(w->samples);
    free(w);
}

int world_add_link(world *w, bool shared)
{
    if (w->link_count == WORLD_LINKS_MAX) {
        return world_fail(w, "more than %d links", WORLD_LINKS_MAX);
    }
    struct link *link = &w->links[w->link_count];
    link->engine = flakeway_new(w->seed * SEED_STEP_PER_LINK + (uint64_t)w->link_count);
    link->shared = shared;
    return link->engine ? w->link_count++ : world_fail(w, "no memory for a link");
}

/* Changes are kept in order of their time; those of one moment in the order given. */
static int keep_change(world *w, struct link *link, uint64_t at_us, const char *statement)
{
    struct change *changes = realloc(link->changes, (link->change_count + 1) * sizeof *changes);
    if (!changes) {
        return world_fail(w, "no memory for a change of a link");
    }
    link->changes = changes;
    size_t at = link->change_count++;
    for (; at > 0 && changes[at - 1].at_us > at_us; at--) {
        changes[at] = changes[at - 1];
    }
    changes[at].at_us = at_us;
    snprintf(changes[at].text, sizeof changes[at].text, "%s", statement);
    return 0;
}

int world_set_link(world *w, int link, uint64_t at_us, const char *statement)
{
    flakeway_error error;
    if (link < 0 || link >= w->link_count) {
        return world_fail(w, "there is no link %d", link);
    }
    if (at_us == 0) {
        return flakeway_add(w->links[link].engine, statement, &error) < 0
                   ? world_fail(w, "%s: %s", statement, error.message)
                   : 0;
    }
    flakeway *trial = flakeway_new(0); /* a bad line shall be found now, not in the midst of a run */
    int bad = trial ? flakeway_add(trial, statement, &error) : 0;
    flakeway_free(trial);
    return bad < 0 ? world_fail(w, "%s: %s", statement, error.message)
                   : keep_change(w, &w->links[link], at_us, statement);
}

int world_add_host(world *w, const world_host *host)
{
    if (w->host_count == WORLD_HOSTS_MAX) {
        return world_fail(w, "more than %d hosts", WORLD_HOSTS_MAX);
    }
    w->hosts[w->host_count].settings = *host;
    fw_random_seed(&w->hosts[w->host_count].random, w->seed, STREAM_HOSTS + (uint64_t)w->host_count);
    return w->host_count++;
}

static int check_route(world *w, const world_route *route)
{
    if (route->hops < 1 || route->hops > WORLD_ROUTE_MAX) {
        return world_fail(w, "a route has 1 to %d links", WORLD_ROUTE_MAX);
    }
    for (unsigned i = 0; i < route->hops; i++) {
        if (route->hop[i].link >= w->link_count || route->hop[i].direction >= FLAKEWAY_DIRECTIONS) {
            return world_fail(w, "a route leads over link %u, which does not exist", route->hop[i].link);
        }
    }
    return 0;
}

int world_add_flow(world *w, const world_flow *flow)
{
    if (w->flow_count == WORLD_FLOWS_MAX) {
        return world_fail(w, "more than %d flows", WORLD_FLOWS_MAX);
    }
    if (flow->sender >= w->host_count || flow->receiver >= w->host_count || flow->sender == flow->receiver) {
        return world_fail(w, "flow %d has no two hosts", w->flow_count);
    }
    if (check_route(w, &flow->route) < 0) {
        return -1;
    }
    struct flow *f = &w->flows[w->flow_count];
    f->settings = *flow;
    f->burst_size = flow->burst_size;
    f->burst_interval_ms = flow->burst_interval_ms;
    for (unsigned i = 0; i < 2; i++) {
        f->ends[i] = (struct flow_end){.world = w, .flow = (uint32_t)w->flow_count, .sends = i == 0};
    }
    return w->flow_count++;
}

int world_add_cross(world *w, const world_cross *cross)
{
    if (w->cross_count == WORLD_CROSS_MAX) {
        return world_fail(w, "more than %d kinds of cross traffic", WORLD_CROSS_MAX);
    }
    if (cross->period_ns == 0 || cross->burst_packets == 0 || cross->packet_bytes == 0) {
        return world_fail(w, "cross traffic of nothing");
    }
    if (check_route(w, &cross->route) < 0) {
        return -1;
    }
    struct cross *c = &w->cross[w->cross_count];
    c->settings = *cross;
    c->next_ns = cross->start_us * NS_PER_US;
    fw_random_seed(&c->random, w->seed, STREAM_CROSS + (uint64_t)w->cross_count);
    return w->cross_count++;
}

void world_trace(world *w)
{
    w->tracing = true;
}

void world_sample_add(world *w, const world_sample *sample)
{
    if (!w->tracing) {
        return;
    }
    if (w->sample_count == w->sample_capacity) {
        size_t capacity = w->sample_capacity ? 2 * w->sample_capacity : 4096;
        world_sample *samples = realloc(w->samples, capacity * sizeof *samples);
        if (!samples) {
            w->tracing = false;
            return;
        }
        w->samples = samples;
        w->sample_capacity = capacity;
    }
    w->samples[w->sample_count++] = *sample;
}

const world_sample *world_samples(const world *w, size_t *count)
{
    *count = w->sample_count;
    return w->samples;
}

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
    if (!w->memory || !w->sink || !w->frame) {
        return world_fail(w, "no memory for buffers of %" PRIu32 " bytes", largest);
    }
    for (uint32_t i = 0; i < largest; i++) {
        w->memory[i] = (uint8_t)(i * 7 + (i >> 8) * 13);
    }
    return 0;
}

static int prepare(world *w)
{
    if (w->prepared) {
        return w->failed ? -1 : 0;
    }
    w->prepared = true;
    if (make_memory(w) < 0) {
        return -1;
    }
    for (int i = 0; i < w->host_count; i++) {
        if (world_host_begin(w, &w->hosts[i], (unsigned)i) < 0) {
            return -1;
        }
    }
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
            for (uint32_t packet = 0; packet < cross->settings.burst_packets; packet++) {
                world_link_offer_cross(w, (unsigned)i);
            }
            double distance = cross->settings.random ? fw_exponential(&cross->random) : 1;
            cross->next_ns += (uint64_t)(distance * (double)cross->settings.period_ns) + 1;
            if (cross->settings.stop_us != WORLD_NEVER && cross->next_ns >= cross->settings.stop_us * NS_PER_US) {
                cross->next_ns = WORLD_NEVER;
            }
        }
    }
}

static int open_flows(world *w)
{
    for (int i = 0; i < w->flow_count; i++) {
        struct flow *flow = &w->flows[i];
        if (!flow->opened && flow->settings.start_us * NS_PER_US <= w->now_ns && world_flow_open(w, (unsigned)i) < 0) {
            return -1;
        }
    }
    return 0;
}

static bool hosts_step(world *w)
{
    bool sound = true;
    for (int i = 0; i < w->host_count; i++) {
        sound = world_host_step(&w->hosts[i]) && sound;
    }
    return sound;
}

static uint64_t next_event(world *w)
{
    uint64_t next = WORLD_NEVER;
    for (int i = 0; i < w->link_count; i++) {
        next = earlier(next, world_link_next_ns(&w->links[i]));
    }
    for (int i = 0; i < w->host_count; i++) {
        next = earlier(next, world_host_next_ns(&w->hosts[i]));
    }
    for (int i = 0; i < w->cross_count; i++) {
        next = earlier(next, w->cross[i].next_ns);
    }
    for (int i = 0; i < w->flow_count; i++) {
        if (!w->flows[i].opened) {
            next = earlier(next, w->flows[i].settings.start_us * NS_PER_US);
        }
    }
    return next;
}

static bool is_over(const struct flow *flow)
{
    bool peer_unheard = flow->result != 0 && !flow->was_opened;
    return flow->done_ns[0] != 0 && (flow->done_ns[1] != 0 || peer_unheard);
}

static bool all_over(const world *w)
{
    for (int i = 0; i < w->flow_count; i++) {
        if (!is_over(&w->flows[i])) {
            return false;
        }
    }
    for (int i = 0; i < w->cross_count; i++) {
        if (w->cross[i].next_ns != WORLD_NEVER) {
            return false;
        }
    }
    return true;
}

int world_run(world *w, uint64_t until_us)
{
    uint64_t until_ns = until_us > WORLD_NEVER / NS_PER_US ? WORLD_NEVER : until_us * NS_PER_US;
    if (prepare(w) < 0) {
        return -1;
    }
    for (unsigned rounds = 0;;) {
        for (int i = 0; i < w->link_count; i++) {
            world_link_apply_changes(w, &w->links[i]);
        }
        send_cross_traffic(w);
        for (int i = 0; i < w->link_count; i++) {
            world_link_release(w, i);
        }
        if (open_flows(w) < 0) {
            return -1;
        }
        bool sound = hosts_step(w);
        if (w->failed) {
            return -1;
        }
        if (all_over(w)) {
            return WORLD_DONE;
        }
        uint64_t next = next_event(w);
        rounds = next > w->now_ns ? 0 : rounds + 1;
        if (!sound || rounds > ROUNDS_PER_MOMENT_MAX) {
            return WORLD_SPINNING;
        }
        if (next == WORLD_NEVER) {
            return WORLD_IDLE;
        }
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
