/* SPDX-License-Identifier: BSD-2-Clause */
/* What the transfers of a session show of the path, for the next one (path_memory.h). */
#include "cli/session/session.h"

#include "io/address.h"
#include "io/clock.h"

void path_notes_buffer(step *one, netblt_connection *connection)
{
    netblt_info info;
    if (one->all->paths.directory < 0)
        return;
    netblt_get_info(connection, &info);
    netblt_time round_trip_us = info.stats.round_trip_us;
    carried_add(&one->carried, info.stats.payload_bytes - one->carried.bytes, netblt_clock_now());
    if (one->shortest_round_trip_us == 0) /* a sender knows that of OPEN and RESPONSE only */
        one->shortest_round_trip_us = info.stats.opened_at - one->work.started_at;
    if (round_trip_us != 0 && round_trip_us < one->shortest_round_trip_us)
        one->shortest_round_trip_us = round_trip_us;
}

/* Bits per second on the wire; 0: not paced. */
static double pair_rate(unsigned size, unsigned interval_ms, double wire_bytes)
{
    return interval_ms == 0 ? 0 : 8e3 * size * wire_bytes / interval_ms;
}

/* No OK changed the pair that was agreed: neither end has measured the path. Else each transfer with a receiver whose
 * rate is fixed would begin with a part of the rate of the one before. */
static bool keeps_to_what_was_agreed(const netblt_info *info)
{
    return info->burst_size == info->negotiated.burst_size &&
           info->burst_interval_ms == info->negotiated.burst_interval_ms;
}

/* A transfer that ends with a slower pair than it began with has shown that the path carries no more, however short it
 * was. A faster pair than what arrived may be one that was not tried. False: nothing was shown. */
static bool measured(const step *one, known_path *path)
{
    const netblt_info *info = &one->work.info;
    const netblt_params *agreed = &info->negotiated;
    carried_rate carried = carried_get(&one->carried, one->shortest_round_trip_us);
    double wire_bytes =
        agreed->packet_size + NETBLT_DATA_HEADER_BYTES +
        (double)netblt_encap_overhead_bytes(one->all->given->encap, netblt_address_family(&info->path.foreign));
    double began = pair_rate(agreed->burst_size, agreed->burst_interval_ms, wire_bytes);
    double ended = pair_rate(info->burst_size, info->burst_interval_ms, wire_bytes);
    bool is_slower = ended > 0 && (began == 0 || ended < began);
    *path = (known_path){.bits_per_second = 8 * carried.bytes_per_s * wire_bytes / agreed->packet_size,
                         .round_trip_s = (double)one->shortest_round_trip_us / 1e6,
                         .is_least = (carried.is_least && !is_slower) || keeps_to_what_was_agreed(info)};
    if (ended > 0 && ((is_slower && path->bits_per_second <= 0) || path->bits_per_second > ended))
        path->bits_per_second = ended;
    return path->bits_per_second > 0;
}

/* A list of what is held goes the other way. */
static bool goes_the_usual_way(const session *all, const step *one)
{
    return one->work.role == all->given->role;
}

/* The sender of another implementation may keep to the pair that was agreed, whatever OKs offer, and be slower than the
 * path by itself: what arrives is its rate and not that of the path. */
static bool shows_the_path(const step *one)
{
    return one->work.info.guarded || one->work.role == NETBLT_SENDER;
}

void path_notes_settle(session *all, const step *one)
{
    known_path path;
    if (!goes_the_usual_way(all, one) || !one->work.opened)
        return;
    if (one->work.outcome == NETBLT_PEER_DEAD || !shows_the_path(one))
        path_memory_distrust(&all->paths);
    else if (one->work.outcome == NETBLT_DONE && measured(one, &path))
        path_memory_note(&all->paths, &path);
}

const known_path *path_notes_for(const session *all, const step *one)
{
    return goes_the_usual_way(all, one) ? path_memory_for(&all->paths, all->given) : NULL;
}
