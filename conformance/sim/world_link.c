/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets between hosts: each link is a flakeway, each packet carries how far along its route it is. */
#include "world_link.h"

#include "capture.h"
#include "world_card.h"

#include <stdlib.h>
#include <string.h>

enum { LEFT = 0, RIGHT = 1 };

void world_link_free(struct link *link)
{
    flakeway_free(link->engine);
    free(link->changes);
}

void world_link_apply_changes(world *w, struct link *link)
{
    while (link->changes_done < link->change_count && link->changes[link->changes_done].at_us * NS_PER_US <= w->now_ns)
        flakeway_add(link->engine, link->changes[link->changes_done++].text, NULL); /* it was tried before */
}

uint64_t world_link_next_ns(const struct link *link)
{
    uint64_t at_us = flakeway_deadline(link->engine);
    if (link->changes_done < link->change_count && link->changes[link->changes_done].at_us < at_us)
        at_us = link->changes[link->changes_done].at_us;
    return at_us == FLAKEWAY_NEVER ? WORLD_NEVER : at_us * NS_PER_US;
}

/* ---- routes ---------------------------------------------------------------------------------------------------- */

static const world_route *route_of(const world *w, const struct world_tag *tag)
{
    return tag->is_cross ? &w->cross[tag->index].settings.route : &w->flows[tag->index].settings.route;
}

static world_hop hop_of(const world *w, const struct world_tag *tag)
{
    const world_route *route = route_of(w, tag);
    world_hop hop = route->hop[tag->backward ? route->hops - 1 - tag->hop : tag->hop];
    hop.direction ^= tag->backward;
    return hop;
}

static const char *reach_host(world *w, const struct world_tag *tag, const flakeway_released *released)
{
    const world_flow *flow = &w->flows[tag->index].settings;
    struct host *host = &w->hosts[tag->backward ? flow->sender : flow->receiver];
    return world_card_arrive(host, tag->backward ? flow->receiver : flow->sender,
                             released->packet.bytes + released->packet.netblt_offset, released->packet.netblt_length);
}

/* ---- capture --------------------------------------------------------------------------------------------------- */

static void hear(void *context, const flakeway_event *event)
{
    world *w = context;
    char text[FLAKEWAY_RULE_TEXT_BYTES + 64];
    flakeway_describe(event, text, sizeof text);
    flakeway_add_remark(w->remark, sizeof w->remark, text);
}

int world_capture(world *w, int link, const char *path)
{
    if (link < 0 || link >= w->link_count)
        return world_fail(w, "there is no link %d to capture", link);
    w->capture_file = fopen(path, "wb");
    if (!w->capture_file)
        return world_fail(w, "%s: cannot be written", path);
    w->capture_link = link;
    return 0;
}

int world_capture_begin(world *w)
{
    if (w->capture_link < 0)
        return 0;
    w->writer = pcapng_new(w->capture_file, "netblt-plan");
    if (!w->writer)
        return world_fail(w, "no memory for the capture");
    pcapng_add_interface(w->writer, "left", "side A of the link", PCAPNG_LINKTYPE_RAW);
    pcapng_add_interface(w->writer, "right", "side B of the link", PCAPNG_LINKTYPE_RAW);
    flakeway_set_trace(w->links[w->capture_link].engine, hear, w);
    return 0;
}

void world_capture_end(world *w)
{
    if (w->writer) {
        pcapng_flush(w->writer);
        pcapng_free(w->writer);
    }
    if (w->capture_file)
        fclose(w->capture_file);
    w->writer = NULL;
    w->capture_file = NULL;
}

static void capture(world *w, unsigned side, enum pcapng_direction direction, const uint8_t *ipv4, size_t length,
                    uint64_t id, const char *comment)
{
    const pcapng_packet packet = {.interface = side,
                                  .time_ns = w->now_ns,
                                  .bytes = ipv4,
                                  .length = length,
                                  .direction = direction,
                                  .packet_id = id,
                                  .comment = comment};
    pcapng_write(w->writer, &packet);
    if (pcapng_error(w->writer))
        world_fail(w, "the capture could not be written");
}

/* ---- in and out ------------------------------------------------------------------------------------------------ */

static enum flakeway_direction engine_direction(const struct link *link, world_hop hop)
{
    return link->shared ? FLAKEWAY_A_TO_B : (enum flakeway_direction)hop.direction;
}

void world_link_offer(world *w, size_t length)
{
    struct world_tag tag;
    memcpy(&tag, w->frame, TAG_BYTES);
    world_hop hop = hop_of(w, &tag);
    struct link *link = &w->links[hop.link];
    const flakeway_packet packet = {.bytes = w->frame,
                                    .length = TAG_BYTES + length,
                                    .netblt_offset = TAG_BYTES + IPV4_HEADER_BYTES,
                                    .netblt_length = length - IPV4_HEADER_BYTES,
                                    .link_bytes = length};
    w->remark[0] = '\0';
    uint64_t id = flakeway_offer(link->engine, engine_direction(link, hop), &packet, w->now_ns / NS_PER_US);
    if (w->writer && hop.link == w->capture_link)
        capture(w, hop.direction == 0 ? LEFT : RIGHT, PCAPNG_INBOUND, w->frame + TAG_BYTES, length, id, w->remark);
}

static void offer_cross(world *w, const struct world_tag *tag)
{
    world_hop hop = hop_of(w, tag);
    struct link *link = &w->links[hop.link];
    const flakeway_packet packet = {
        .bytes = (const uint8_t *)tag, .length = TAG_BYTES, .link_bytes = w->cross[tag->index].settings.packet_bytes};
    link->cross_offered[hop.direction]++;
    flakeway_offer(link->engine, engine_direction(link, hop), &packet, w->now_ns / NS_PER_US);
}

void world_link_offer_cross(world *w, unsigned index)
{
    const struct world_tag tag = {.is_cross = 1, .index = (uint8_t)index};
    offer_cross(w, &tag);
}

/* A packet has come to the end of its route. */
static void deliver(world *w, const struct world_tag *tag, world_hop hop, const flakeway_released *released)
{
    const uint8_t *ipv4 = released->packet.bytes + TAG_BYTES;
    const char *lost = reach_host(w, tag, released);
    if (!w->writer || hop.link != w->capture_link)
        return;
    size_t length = released->packet.length - TAG_BYTES;
    char comment[128] = "";
    if (released->changed) {
        memcpy(w->frame, ipv4, length);
        ipv4_repair(w->frame, IPV4_HEADER_BYTES, released->packet.netblt_length);
        ipv4 = w->frame;
    }
    snprintf(comment, sizeof comment, "%s%s%s", released->changed ? "flakeway: changed on the way" : "",
             released->changed && lost ? "; " : "", lost ? lost : "");
    capture(w, hop.direction == 0 ? RIGHT : LEFT, PCAPNG_OUTBOUND, ipv4, length, released->id, comment);
}

void world_link_release(world *w, int number)
{
    struct link *link = &w->links[number];
    flakeway_released released;
    while (flakeway_release(link->engine, w->now_ns / NS_PER_US, &released)) {
        struct world_tag tag;
        memcpy(&tag, released.packet.bytes, TAG_BYTES);
        world_hop hop = hop_of(w, &tag);
        bool arrived = ++tag.hop == route_of(w, &tag)->hops;
        if (tag.is_cross) {
            link->cross_delivered[hop.direction]++;
            if (!arrived)
                offer_cross(w, &tag);
        } else if (arrived) {
            tag.hop--;
            deliver(w, &tag, hop, &released);
        } else {
            size_t length = released.packet.length - TAG_BYTES;
            memcpy(w->frame + TAG_BYTES, released.packet.bytes + TAG_BYTES, length);
            memcpy(w->frame, &tag, TAG_BYTES);
            world_link_offer(w, length);
        }
    }
}

void world_get_link(const world *w, int number, int direction, world_link_stats *stats)
{
    const struct link *link = &w->links[number];
    const flakeway_stats *engine =
        flakeway_get_stats(link->engine, link->shared ? FLAKEWAY_A_TO_B : (enum flakeway_direction)direction);
    *stats = (world_link_stats){.offered = engine->seen,
                                .delivered = engine->delivered,
                                .lost = engine->dropped_by_loss + engine->dropped_by_rule,
                                .queue = engine->dropped_by_queue,
                                .cross_offered = link->cross_offered[direction],
                                .cross_delivered = link->cross_delivered[direction]};
}
