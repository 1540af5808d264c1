/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order in which an end emitted its packets, by its IP IDs. */
#include "connection/emission.h"

#include "wireshark/arena.h"

#include <math.h>

#define ID_SPACE 65536.0
/* A host that counts over all its traffic leaves gaps. Beyond this the step is no evidence for a counter at all. */
#define LARGEST_STEP 0x4000
/* Stands for a packet with a bad checksum. */
#define DAMAGED 0

static struct nb_emitted no_order(struct nb_emission *flow)
{
    flow->irregular = true;
    flow->unbroken = false;
    flow->climbing = false;
    return (struct nb_emitted){.arrival = NB_NO_ORDER};
}

static void remember(struct nb_emission *flow, uint64_t number, uint32_t content, uint32_t frame)
{
    flow->window[number % NB_EMISSION_WINDOW] = (struct nb_emitted_packet){.content = content, .frame = frame};
}

/* The chance that a random identification falls within `step` on either side. / */
static double bits_of_step(unsigned step)
{
    static double of_one; /* nearly every step */

    if (of_one == 0) {
        of_one = log2(ID_SPACE / 2.0);
    }
    return step == 1 ? of_one : log2(ID_SPACE / (2.0 * step));
}

static struct nb_emitted note_forward(struct nb_emission *flow, uint16_t step, const struct nb_origin *origin,
                                      uint32_t content)
{
    flow->newest += step;
    flow->newest_id = (uint16_t)(flow->newest_id + step);
    flow->seen = step < NB_EMISSION_WINDOW ? flow->seen << step | 1 : 1;
    flow->forward++;
    flow->unbroken = flow->unbroken && step == 1;
    flow->evidence_bits += origin->inside ? 0 : bits_of_step(step);
    flow->bundled = flow->bundled || origin->inside;
    flow->unchecked = origin->inside;
    remember(flow, flow->newest, content, origin->frame);
    return (struct nb_emitted){.arrival = NB_IN_ORDER, .number = flow->newest, .step = step};
}

static struct nb_emitted note_backward(struct nb_emission *flow, unsigned back, const struct nb_origin *origin,
                                       uint32_t content)
{
    const uint64_t number = flow->newest - back;
    const uint64_t bit = (uint64_t)1 << back;
    const struct nb_emitted_packet *earlier = &flow->window[number % NB_EMISSION_WINDOW];

    flow->unbroken = false;
    flow->climbing = false;
    flow->bundled = flow->bundled || origin->inside;
    if (flow->seen & bit && earlier->content != DAMAGED) {
        if (earlier->content != content) {
            return no_order(flow); /* two packets under one number: not a counter */
        }
        return (struct nb_emitted){.arrival = NB_COPY, .number = number, .copy_of = earlier->frame};
    }
    flow->seen |= bit;
    flow->backward++;
    remember(flow, number, content, origin->frame);
    return (struct nb_emitted){.arrival = NB_LATE, .number = number};
}

static struct nb_emitted note_first(struct nb_emission *flow, const struct nb_origin *origin, uint32_t content)
{
    flow->started = true;
    flow->window = (struct nb_emitted_packet *)nb_arena_new0(NB_EMISSION_WINDOW * sizeof(struct nb_emitted_packet));
    flow->unbroken = true;
    flow->climbing = true;
    flow->newest_id = origin->ip_id;
    flow->newest = NB_FIRST_NUMBER;
    flow->seen = 1;
    remember(flow, flow->newest, content, origin->frame);
    return (struct nb_emitted){.arrival = NB_IN_ORDER, .number = flow->newest};
}

struct nb_emitted nb_emission_note(struct nb_emission *flow, const struct nb_origin *origin, uint32_t content)
{
    if (!origin->ipv4 || flow->irregular) {
        return no_order(flow);
    }
    if (!flow->started) {
        return note_first(flow, origin, content);
    }
    if (origin->ip_id == 0 && flow->newest_id == 0 && flow->forward == 0) {
        return no_order(flow); /* a host that identifies nothing (RFC 6864 4.1): equal packets are no copies */
    }
    const uint16_t ahead = (uint16_t)(origin->ip_id - flow->newest_id);
    const uint16_t back = (uint16_t)(flow->newest_id - origin->ip_id);
    if (ahead > 0 && ahead < LARGEST_STEP) {
        return note_forward(flow, ahead, origin, content);
    }
    if (back < NB_EMISSION_WINDOW) {
        return note_backward(flow, back, origin, content);
    }
    return no_order(flow);
}

bool nb_emission_is_behind(const struct nb_emission *flow, const struct nb_origin *origin)
{
    return origin->ipv4 && flow->started && !flow->irregular &&
           (uint16_t)(flow->newest_id - origin->ip_id) < LARGEST_STEP;
}

void nb_emission_note_damaged(struct nb_emission *flow, const struct nb_origin *origin)
{
    const uint16_t ahead = (uint16_t)(origin->ip_id - flow->newest_id);

    if (origin->ipv4 && flow->started && !flow->irregular && ahead > 0 && ahead < LARGEST_STEP) {
        note_forward(flow, ahead, origin, DAMAGED);
        flow->damaged++;
    }
}

/* A host that is handed several packets as one datagram may put them together whatever their identifications: some were
 * lost between them, others came late. That they are what they are counted as shows when the next datagram goes on
 * where the last one ended, and for all of them as long as that never failed. */
static bool counts_inside(const struct nb_emission *flow)
{
    return !flow->bundled || (flow->unbroken && !flow->unchecked);
}

bool nb_emission_counts(const struct nb_emission *flow, double bits)
{
    /* A counter climbs: reordering makes some packets late, never most of them. */
    return flow->started && !flow->irregular && flow->evidence_bits >= bits && flow->backward * 4 <= flow->forward &&
           counts_inside(flow);
}
