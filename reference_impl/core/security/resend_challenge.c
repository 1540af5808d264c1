/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets withheld from an unvalidated receiver: see resend_challenge.h. */
#include "security/resend_challenge.h"

#include "base/bitmap.h"

#define PACKETS_MIN 3 /* below, there is nothing to choose */

/* Draws exactly `count` of the packets 1 .. packets - 1, each set with the same probability (Knuth, The Art of Computer
 * Programming 3.4.2, algorithm S). */
static void choose(struct nb_resend_challenge *challenge, const struct nb_hash_key *key)
{
    uint32_t wanted = challenge->count;
    for (uint32_t packet = 1; wanted > 0; packet++) {
        uint32_t left = challenge->packets - packet;
        if (nb_keyed_hash(key, &packet, sizeof packet) % left >= wanted)
            continue;
        nb_bitmap_set(challenge->chosen, packet);
        wanted--;
    }
}

struct nb_resend_challenge *nb_challenge_new(uint32_t packets, const struct nb_hash_key *key,
                                             const netblt_allocator *allocator)
{
    if (packets < PACKETS_MIN)
        return NULL;
    struct nb_resend_challenge *challenge = nb_allocate_zeroed(allocator, sizeof *challenge);
    if (challenge == NULL)
        return NULL;
    challenge->allocator = allocator;
    challenge->packets = packets;
    challenge->count = (packets - 1) / 2;
    challenge->unnamed = challenge->count;
    challenge->unsent = challenge->count;
    challenge->chosen = nb_bitmap_new(allocator, packets);
    challenge->requests = nb_bitmap_new(allocator, packets);
    if (challenge->chosen == NULL || challenge->requests == NULL) {
        nb_challenge_free(challenge);
        return NULL;
    }
    choose(challenge, key);
    return challenge;
}

void nb_challenge_free(struct nb_resend_challenge *challenge)
{
    if (challenge == NULL)
        return;
    nb_release(challenge->allocator, challenge->chosen);
    nb_release(challenge->allocator, challenge->requests);
    nb_release(challenge->allocator, challenge);
}

bool nb_challenge_omits(const struct nb_resend_challenge *challenge, uint32_t packet)
{
    return nb_bitmap_test(challenge->chosen, packet);
}

bool nb_challenge_sent(struct nb_resend_challenge *challenge, uint32_t packet)
{
    if (!nb_challenge_omits(challenge, packet))
        return false;
    nb_bitmap_clear(challenge->chosen, packet);
    challenge->unsent--;
    return true;
}

void nb_challenge_name(struct nb_resend_challenge *challenge, uint32_t packet)
{
    if (packet == 0 || packet >= challenge->packets || nb_bitmap_test(challenge->requests, packet))
        return;
    nb_bitmap_set(challenge->requests, packet);
    challenge->named++;
    if (nb_bitmap_test(challenge->chosen, packet))
        challenge->unnamed--;
}

double nb_challenge_chance(const struct nb_resend_challenge *challenge)
{
    double chance = 1;
    if (challenge->unnamed > 0)
        return 1;
    for (uint32_t i = 0; i < challenge->count; i++)
        chance *= (double)(challenge->named - i) / (double)(challenge->packets - 1 - i);
    return chance;
}
