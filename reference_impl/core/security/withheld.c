/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets withheld from an unvalidated receiver: see withheld.h. */
#include "security/withheld.h"

#include "base/bitmap.h"

#define PACKETS_MIN 3 /* below, there is nothing to choose */

/* Draws exactly `count` of the packets 1 .. packets - 1, each set with the same probability (Knuth, The Art of Computer
 * Programming 3.4.2, algorithm S). */
static void choose(struct nb_withheld *withheld, const struct nb_hash_key *key)
{
    uint32_t wanted = withheld->count;
    for (uint32_t packet = 1; wanted > 0; packet++) {
        uint32_t left = withheld->packets - packet;
        if (nb_keyed_hash(key, &packet, sizeof packet) % left >= wanted)
            continue;
        nb_bitmap_set(withheld->chosen, packet);
        wanted--;
    }
}

struct nb_withheld *nb_withheld_choose(uint32_t packets, const struct nb_hash_key *key,
                                       const netblt_allocator *allocator)
{
    if (packets < PACKETS_MIN)
        return NULL;
    struct nb_withheld *withheld = nb_allocate_zeroed(allocator, sizeof *withheld);
    if (withheld == NULL)
        return NULL;
    withheld->allocator = allocator;
    withheld->packets = packets;
    withheld->count = (packets - 1) / 2;
    withheld->unnamed = withheld->count;
    withheld->unsent = withheld->count;
    withheld->chosen = nb_bitmap_new(allocator, packets);
    withheld->requests = nb_bitmap_new(allocator, packets);
    if (withheld->chosen == NULL || withheld->requests == NULL) {
        nb_withheld_free(withheld);
        return NULL;
    }
    choose(withheld, key);
    return withheld;
}

void nb_withheld_free(struct nb_withheld *withheld)
{
    if (withheld == NULL)
        return;
    nb_release(withheld->allocator, withheld->chosen);
    nb_release(withheld->allocator, withheld->requests);
    nb_release(withheld->allocator, withheld);
}

bool nb_withheld_has(const struct nb_withheld *withheld, uint32_t packet)
{
    return nb_bitmap_test(withheld->chosen, packet);
}

bool nb_withheld_sent(struct nb_withheld *withheld, uint32_t packet)
{
    if (!nb_withheld_has(withheld, packet))
        return false;
    nb_bitmap_clear(withheld->chosen, packet);
    withheld->unsent--;
    return true;
}

void nb_withheld_name(struct nb_withheld *withheld, uint32_t packet)
{
    if (packet == 0 || packet >= withheld->packets || nb_bitmap_test(withheld->requests, packet))
        return;
    nb_bitmap_set(withheld->requests, packet);
    withheld->named++;
    if (nb_bitmap_test(withheld->chosen, packet))
        withheld->unnamed--;
}

double nb_withheld_chance(const struct nb_withheld *withheld)
{
    double chance = 1;
    if (withheld->unnamed > 0)
        return 1;
    for (uint32_t i = 0; i < withheld->count; i++)
        chance *= (double)(withheld->named - i) / (double)(withheld->packets - 1 - i);
    return chance;
}
