/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host: a processor that does one thing at a time, and the real protocol core. */
#include "world_host.h"

#include "world_card.h"
#include "world_flow.h"
#include "world_link.h"

#include <stdlib.h>
#include <string.h>

#define PS_PER_NS 1000
#define LISTEN_PORT 1
#define CONTROL_PACKET_BYTES 548 /* what the core's control packets may need (AMB-33) */
/* Tasks at one moment: an ideal host answers many packets at once, but not so many. */
#define TASKS_PER_MOMENT_MAX 4000000u

/* ---- sending ----------------------------------------------------------------------------------------------------- */

/* The packet leaves the card for the first link of its route. */
static void transmit(struct host *host, const struct waiting *packet)
{
    world *w = host->world;
    struct host *to = &w->hosts[packet->host];
    size_t length = IPV4_HEADER_BYTES + packet->length;
    const struct world_tag tag = {.index = (uint8_t)packet->flow,
                                  .backward = packet->host == w->flows[packet->flow].settings.sender};
    memcpy(w->frame, &tag, TAG_BYTES);
    ipv4_header(w->frame + TAG_BYTES, host->ipv4, to->ipv4, IPV4_PROTOCOL_NETBLT, host->next_identification++,
                packet->length);
    memcpy(w->frame + TAG_BYTES + IPV4_HEADER_BYTES, packet->bytes, packet->length);
    world_link_offer(w, length);
    host->deaf_until_ns = w->now_ns + world_card_time_ns(host, length) + host->settings.card_reenable_ns;
}

/* ---- the processor --------------------------------------------------------------------------------------------- */

/* A number from -range to +range. */
static int64_t jitter(struct host *host, uint64_t range_ns)
{
    uint64_t draw = range_ns ? fw_random_next(&host->random) : 0;
    return range_ns ? (int64_t)(draw % (2 * range_ns + 1)) - (int64_t)range_ns : 0;
}

static uint64_t cost_of(struct host *host, enum task task, const struct waiting *packet)
{
    const world_host *settings = &host->settings;
    bool data = world_flow_is_data(packet->bytes, packet->length);
    uint64_t bytes = world_flow_data_bytes(packet->length);
    uint64_t cost;
    if (task == TASK_RECEIVE) {
        cost = data ? settings->receive_packet_ns + settings->receive_byte_ps * bytes / PS_PER_NS
                    : settings->control_receive_ns;
    } else {
        cost = data ? settings->send_packet_ns + settings->send_byte_ps * bytes / PS_PER_NS : settings->control_send_ns;
        if (data && host->burst_is_new)
            cost += settings->burst_ns;
        host->burst_is_new = host->burst_is_new && !data;
    }
    int64_t varied = (int64_t)cost + (cost ? jitter(host, settings->jitter_ns) : 0);
    return varied > 0 ? (uint64_t)varied : 0;
}

static void begin(struct host *host, enum task task)
{
    host->at_work = world_queue_take(task == TASK_RECEIVE ? &host->in : &host->out);
    uint64_t cost = cost_of(host, task, &host->at_work);
    host->task = task;
    host->busy_until_ns = host->world->now_ns + cost;
    host->stats.cpu_busy_ns += cost;
    if (task == TASK_SEND)
        host->deaf_until_ns = WORLD_NEVER; /* the card's only buffer is being filled */
}

static void complete(struct host *host)
{
    world *w = host->world;
    struct waiting packet = host->at_work;
    host->sent_last = host->task == TASK_SEND;
    if (host->task == TASK_SEND) {
        transmit(host, &packet);
    } else {
        const netblt_path path = {.local = host->address, .foreign = {1, {(uint8_t)(packet.host + 1)}}};
        world_flow_received(w, packet.bytes, packet.length);
        netblt_input(host->endpoint, &path, packet.bytes, packet.length, packet.length, w->now_ns / NS_PER_US);
    }
    host->task = TASK_NONE;
    free(packet.bytes);
}

/* ---- timers ---------------------------------------------------------------------------------------------------- */

/* When the host's clock really wakes it for the core's deadline. What is due when it is first looked at is not late.
 */
static uint64_t wake_at(struct host *host)
{
    const world_host *settings = &host->settings;
    netblt_time deadline = netblt_deadline(host->endpoint);
    if (deadline == host->last_deadline)
        return host->wake_ns;
    host->last_deadline = deadline;
    if (deadline == NETBLT_TIME_NEVER) {
        host->wake_ns = WORLD_NEVER;
    } else if (deadline * NS_PER_US <= host->world->now_ns) {
        host->wake_ns = host->world->now_ns;
    } else {
        uint64_t at = deadline * NS_PER_US + settings->timer_late_ns;
        uint64_t grain = settings->timer_granularity_ns;
        at = grain ? (at + grain - 1) / grain * grain : at;
        host->wake_ns =
            at + (settings->timer_jitter_ns ? fw_random_next(&host->random) % (settings->timer_jitter_ns + 1) : 0);
    }
    return host->wake_ns;
}

/* Lets the core write what may leave now; false = it had nothing. */
static bool ask_core(struct host *host)
{
    static _Thread_local uint8_t packets[NETBLT_PACKET_MAX_BYTES + 1];
    world *w = host->world;
    netblt_time now = w->now_ns / NS_PER_US;
    netblt_output output;
    netblt_timeout(host->endpoint, now);
    if (netblt_output_burst(host->endpoint, packets, host->output_bytes, &output, now) == 0)
        return false;
    for (size_t at = 0; at < output.length; at += output.segment_bytes) {
        size_t left = output.length - at;
        struct waiting waiting = {.length = left < output.segment_bytes ? left : output.segment_bytes,
                                  .host = (uint8_t)(output.path.foreign.bytes[0] - 1)};
        waiting.flow = world_flow_sent(w, packets + at, waiting.length);
        if (waiting.flow != NO_FLOW)
            world_queue_keep(host, &host->out, waiting, packets + at);
    }
    return true;
}

/* The core had nothing to send at its own deadline: it is asked again, but not at this moment. */
static void look_again_later(struct host *host)
{
    if (wake_at(host) <= host->world->now_ns)
        host->wake_ns = host->world->now_ns + NS_PER_US;
}

static bool is_awake(struct host *host)
{
    return host->out.count == 0 && wake_at(host) <= host->world->now_ns;
}

bool world_host_step(struct host *host)
{
    for (unsigned tasks = 0; tasks < TASKS_PER_MOMENT_MAX; tasks++) {
        if (host->task != TASK_NONE) {
            if (host->busy_until_ns > host->world->now_ns)
                return true;
            complete(host);
        }
        if (is_awake(host) && !ask_core(host))
            look_again_later(host);
        bool can_send = host->out.count > 0;
        if (host->in.count > 0 && (host->sent_last || !can_send)) {
            begin(host, TASK_RECEIVE);
        } else if (can_send) {
            begin(host, TASK_SEND);
        } else {
            host->burst_is_new = true;
            return true;
        }
    }
    return false;
}

uint64_t world_host_next_ns(struct host *host)
{
    return host->task != TASK_NONE ? host->busy_until_ns : wake_at(host);
}

/* ---- begin and end --------------------------------------------------------------------------------------------- */

static void make_profile(struct host *host)
{
    const world_host *settings = &host->settings;
    netblt_profile *profile = &host->profile;
    *profile = settings->mit1987 ? netblt_profile_mit1987 : netblt_profile_default;
    if (settings->control_min_us)
        profile->control_min_us = settings->control_min_us;
    if (settings->control_initial_us)
        profile->control_initial_us = settings->control_initial_us;
    if (settings->data_variance_min_us)
        profile->data_variance_min_us = settings->data_variance_min_us;
    if (settings->data_variance_percent != UINT32_MAX)
        profile->data_variance_percent = settings->data_variance_percent;
}

static size_t largest_packet(const world *w, unsigned index)
{
    size_t largest = CONTROL_PACKET_BYTES;
    for (int i = 0; i < w->flow_count; i++) {
        const world_flow *flow = &w->flows[i].settings;
        size_t bytes = ((size_t)flow->packet_size + NETBLT_DATA_HEADER_BYTES + 3) / 4 * 4;
        if ((flow->sender == index || flow->receiver == index) && bytes > largest)
            largest = bytes;
    }
    return largest < NETBLT_PACKET_MAX_BYTES ? largest : NETBLT_PACKET_MAX_BYTES;
}

int world_host_begin(world *w, struct host *host, unsigned index)
{
    netblt_config config;
    netblt_config_default(&config);
    host->world = w;
    make_profile(host);
    config.profile = &host->profile;
    if (!host->settings.validates_peers)
        config.unvalidated_bytes_per_s = 0; /* no host forges its address */
    if (w->tracing) {
        config.event = world_flow_observe;
        config.event_context = w;
    }
    host->endpoint = netblt_endpoint_new(&config);
    host->held_until_ns = calloc(host->settings.card_receive_buffers + 1u, sizeof *host->held_until_ns);
    if (!host->endpoint || !host->held_until_ns)
        return world_fail(w, "no memory for a host");
    host->address = (netblt_address){1, {(uint8_t)(index + 1)}};
    memcpy(host->ipv4, (uint8_t[4]){10, 0, 0, (uint8_t)(index + 1)}, sizeof host->ipv4);
    host->last_deadline = NETBLT_TIME_NEVER;
    host->wake_ns = WORLD_NEVER;
    host->burst_is_new = true;
    host->output_bytes = largest_packet(w, index);
    return world_flow_listen(w, host);
}

void world_host_free(struct host *host)
{
    netblt_endpoint_free(host->endpoint);
    world_queue_free(&host->in);
    world_queue_free(&host->out);
    if (host->task != TASK_NONE)
        free(host->at_work.bytes);
    free(host->held_until_ns);
}

void world_get_host(const world *w, int host, world_host_stats *stats)
{
    *stats = w->hosts[host].stats;
}
