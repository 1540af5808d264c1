/* SPDX-License-Identifier: GPL-2.0-or-later */
/* With offload the host hands the kernel, or the kernel the host, one large datagram: packets of one size, only the
 * last may be shorter. The size is the first packet's Length, or that rounded up to 4 when alignment padding is sent
 * (AMB-02 a), or more when zeros fill the segment. */
#include "decode/datagram.h"

#include "decode/netblt.h"
#include "decode/parse.h"

struct walk {
    tvbuff_t *tvb;
    wmem_allocator_t *pool;
    struct nb_datagram *found;
    unsigned room;
    int proven; /* up to here a packet is known to begin at each multiple of the segment */
};

static bool holds_packet(tvbuff_t *tvb, int offset)
{
    static const struct nb_reading strict = {.verify = true, .udp = true};
    struct nb_packet packet;

    if (offset + NB_HEADER_BYTES > (int)tvb_captured_length(tvb)) {
        return false;
    }
    nb_parse(&packet, tvb_new_subset_remaining(tvb, offset), &strict);
    return packet.status == NB_SOUND && (packet.header_checksum == NB_GOOD || packet.header_checksum == NB_COVERS_DATA);
}

/* The packet after one that takes start..from-1, over nothing but zeros; 0 when there is none. */
static int find_packet(tvbuff_t *tvb, int start, int from)
{
    enum { ALIGNMENT = 4, ZERO_CHECKSUM_BYTES = 2 };
    const int captured = (int)tvb_captured_length(tvb);
    const int aligned = start + (from - start + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    int text = from;

    while (text < captured && tvb_get_uint8(tvb, text) == 0) {
        text++;
    }
    /* The checksum of a packet may itself begin with zeros. */
    const int candidates[] = {from, aligned, text - ZERO_CHECKSUM_BYTES, text - 1, text};
    for (size_t i = 0; i < array_length(candidates); i++) {
        if (candidates[i] >= from && candidates[i] <= text && holds_packet(tvb, candidates[i])) {
            return candidates[i];
        }
    }
    return 0;
}

/* A broken packet between sound ones is still a packet; a broken one at the end cannot be distinguished from garbage.
 */
static bool packet_follows(struct walk *walk, int offset)
{
    const int captured = (int)tvb_captured_length(walk->tvb);
    const int segment = walk->found->segment;

    if (offset < walk->proven) {
        return true;
    }
    for (int at = offset; at + NB_HEADER_BYTES <= captured; at += segment) {
        if (holds_packet(walk->tvb, at)) {
            walk->proven = at + 1;
            return true;
        }
    }
    return false;
}

/* Where the packet after the one at `offset` begins; 0 when there is none. */
static int next_packet(struct walk *walk, int offset)
{
    struct nb_datagram *found = walk->found;
    const int left = (int)tvb_reported_length(walk->tvb) - offset;

    if (left < 2 * NB_HEADER_BYTES || offset + NB_HEADER_BYTES > (int)tvb_captured_length(walk->tvb)) {
        return 0;
    }
    if (found->segment > 0 && !found->irregular && left >= found->segment + NB_HEADER_BYTES &&
        packet_follows(walk, offset + found->segment)) {
        return offset + found->segment;
    }
    const int length = tvb_get_ntohs(walk->tvb, offset + 4);
    if (length < NB_HEADER_BYTES || length + NB_HEADER_BYTES > left) {
        found->irregular = found->irregular || (found->segment > 0 && length > found->segment);
        return 0;
    }
    const int next = find_packet(walk->tvb, offset, offset + length);
    if (next > 0) {
        found->irregular = found->irregular || found->segment > 0;
        found->segment = next - offset;
    }
    return next;
}

static void add_start(struct walk *walk, int start)
{
    enum { ROOM_AT_FIRST = 32 };
    struct nb_datagram *found = walk->found;

    if (found->packets + 1 > walk->room) {
        walk->room = MAX(ROOM_AT_FIRST, walk->room * 2);
        found->starts = (int *)wmem_realloc(walk->pool, found->starts, walk->room * sizeof(int));
        found->starts[0] = 0;
    }
    found->starts[found->packets++] = start;
}

void nb_split_datagram(struct nb_datagram *found, tvbuff_t *tvb, wmem_allocator_t *pool)
{
    enum { ALIGNMENT_AT_MOST = 3 };
    struct walk walk = {.tvb = tvb, .pool = pool, .found = found};
    const int total = (int)tvb_reported_length(tvb);
    int at = 0;

    memset(found, 0, sizeof(*found));
    found->packets = 1;
    if (total < 2 * NB_HEADER_BYTES || tvb_captured_length(tvb) < NB_HEADER_BYTES ||
        tvb_get_ntohs(tvb, 4) + ALIGNMENT_AT_MOST >= total) {
        return; /* nearly always */
    }
    while ((at = next_packet(&walk, at)) > 0) {
        add_start(&walk, at);
    }
    found->unseen = (int)tvb_captured_length(tvb) < total;
}

int nb_packet_end(const struct nb_datagram *datagram, const tvbuff_t *tvb, unsigned idx)
{
    return idx + 1 < datagram->packets ? datagram->starts[idx + 1] : (int)tvb_reported_length(tvb);
}
