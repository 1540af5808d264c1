/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two implementations with one flakeway between them, in virtual time. */
#include "pair.h"

#include <string.h>

#include "capture.h"
#include "ipv4.h"

#define NS_PER_US 1000u
#define NETBLT_MAX_BYTES 65515 /* what an IPv4 packet can carry */
/* More than any implementation needs at one moment; an end that goes on has lost its way. */
#define PACKETS_PER_MOMENT_MAX 2000000u
#define ROUNDS_PER_MOMENT_MAX 1000000u
#define IPV4_SOURCE 12

/* One end, with what its IP layer would know. */
typedef struct side {
    iut *iut;
    uint16_t next_identification;
} side;

typedef struct pair {
    side sides[2]; /* by the direction in which they send */
    flakeway *engine;
    const pair_options *options;
    pair_result *result;
    flakeway_capture capture;
    uint64_t now_us;
    uint64_t packets_at_this_moment;
    uint64_t rounds_at_this_moment;
    bool over;
    uint8_t frame[IPV4_HEADER_BYTES + NETBLT_MAX_BYTES];
} pair;

static void stop(pair *p, enum pair_end end)
{
    if (!p->over) {
        p->over = true;
        p->result->end = end;
    }
}

static uint64_t total_packets(const pair *p)
{
    return p->result->packets[0] + p->result->packets[1];
}

/* p->frame holds an IPv4 packet that `from` has sent. */
static void send_frame(pair *p, unsigned from, const uint8_t destination[4], size_t netblt_length)
{
    const flakeway_packet packet = {.bytes = p->frame,
                                    .length = IPV4_HEADER_BYTES + netblt_length,
                                    .netblt_offset = IPV4_HEADER_BYTES,
                                    .netblt_length = netblt_length};
    uint64_t id = 0;
    if (memcmp(destination, iut_local_address(p->sides[1 - from].iut), 4) == 0)
        id = flakeway_offer(p->engine, (enum flakeway_direction)from, &packet, p->now_us);
    else
        flakeway_capture_remark(&p->capture, "no host has the destination address");
    flakeway_capture_entered(&p->capture, (enum flakeway_direction)from, id, p->frame, packet.length,
                             p->now_us * NS_PER_US);
}

/* Sends everything that the end wants to send now. */
static void drain(pair *p, unsigned from)
{
    side *s = &p->sides[from];
    uint8_t destination[4];
    size_t length;
    while (!p->over &&
           (length = iut_output(s->iut, p->now_us, destination, p->frame + IPV4_HEADER_BYTES, NETBLT_MAX_BYTES)) > 0) {
        ipv4_header(p->frame, iut_local_address(s->iut), destination, IPV4_PROTOCOL_NETBLT, s->next_identification++,
                    length);
        p->result->packets[from]++;
        p->result->bytes[from] += length;
        send_frame(p, from, destination, length);
        if (++p->packets_at_this_moment > PACKETS_PER_MOMENT_MAX)
            stop(p, PAIR_SPINNING);
        else if (p->options->limit_packets && total_packets(p) >= p->options->limit_packets)
            stop(p, PAIR_PACKET_LIMIT);
    }
}

/* Corrects the IP header of a packet that was changed on the way, in a copy: the engine's bytes are not ours. */
static const uint8_t *arrived_frame(pair *p, const flakeway_released *released)
{
    if (!released->changed)
        return released->packet.bytes;
    memcpy(p->frame, released->packet.bytes, released->packet.length);
    ipv4_repair(p->frame, IPV4_HEADER_BYTES, released->packet.netblt_length);
    return p->frame;
}

/* Delivers what leaves the flakeway now; an end that got a packet may answer at once. */
static void deliver(pair *p)
{
    flakeway_released released;
    while (!p->over && flakeway_release(p->engine, p->now_us, &released)) {
        unsigned to = 1u - (unsigned)released.direction;
        const uint8_t *frame = arrived_frame(p, &released);
        flakeway_capture_left(&p->capture, released.direction, &released, frame, released.packet.length,
                              p->now_us * NS_PER_US);
        iut_packet(p->sides[to].iut, frame + IPV4_SOURCE, frame + IPV4_HEADER_BYTES, released.packet.netblt_length,
                   p->now_us);
        drain(p, to);
    }
}

static void run_timers(pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        if (iut_deadline(p->sides[i].iut) <= p->now_us)
            iut_advance(p->sides[i].iut, p->now_us);
        drain(p, i);
    }
}

static bool has_closed(const pair *p, unsigned i)
{
    return iut_status(p->sides[i].iut) >= NETBLT_IUT_CLOSED_DONE;
}

/* Notes the moment at which a client learns how the transfer ended. */
static void note_clients(pair *p)
{
    for (unsigned i = 0; i < 2; i++)
        if (p->result->done_us[i] == PAIR_NEVER && iut_status(p->sides[i].iut) >= NETBLT_IUT_DONE)
            p->result->done_us[i] = p->now_us;
}

/* Moves the clock to the next event. */
static void move_clock(pair *p)
{
    uint64_t next_us = flakeway_deadline(p->engine);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t deadline_us = iut_deadline(p->sides[i].iut);
        next_us = deadline_us < next_us ? deadline_us : next_us;
    }
    if (next_us == FLAKEWAY_NEVER) {
        stop(p, PAIR_IDLE);
    } else if (next_us > p->options->limit_us) {
        p->now_us = p->options->limit_us > p->now_us ? p->options->limit_us : p->now_us;
        stop(p, PAIR_TIME_LIMIT);
    } else if (next_us > p->now_us) {
        p->now_us = next_us;
        p->rounds_at_this_moment = 0;
        p->packets_at_this_moment = 0;
    } else if (++p->rounds_at_this_moment > ROUNDS_PER_MOMENT_MAX) {
        stop(p, PAIR_SPINNING);
    }
}

void pair_run(iut *a, iut *b, flakeway *engine, const pair_options *options, pair_result *result)
{
    pair p = {.sides = {{.iut = a}, {.iut = b}},
              .engine = engine,
              .options = options,
              .result = result,
              .now_us = options->start_us};
    *result = (pair_result){.done_us = {PAIR_NEVER, PAIR_NEVER}};
    if (!flakeway_capture_begin(&p.capture, engine, options->capture))
        stop(&p, PAIR_CAPTURE_ERROR);
    drain(&p, 0);
    drain(&p, 1);
    while (!p.over) {
        if (has_closed(&p, 0) && has_closed(&p, 1)) {
            stop(&p, PAIR_CLOSED);
            break;
        }
        move_clock(&p);
        deliver(&p);
        run_timers(&p);
        note_clients(&p);
        if (options->capture && pcapng_error(options->capture))
            stop(&p, PAIR_CAPTURE_ERROR);
    }
    flakeway_capture_end(&p.capture);
    result->end_us = p.now_us;
}
