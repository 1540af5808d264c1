/* SPDX-License-Identifier: BSD-2-Clause */
/* Address validation of a receiver that knows nothing of it: packets of a buffer that are withheld until RESEND names
 * them.
 *
 * Of a buffer with n packets, half of those after the first are chosen at random and not sent. A receiver that gets the
 * others names the missing ones in RESEND, as for any loss. One that gets nothing must guess: a RESEND that names s of
 * the n - 1 packets, all k withheld ones among them, is right by chance with the probability
 *
 *   C(s, k) / C(n - 1, k)
 *
 * Packets that the network lost make s larger and prove less. Several buffers multiply their probabilities. */
#ifndef NETBLT_CORE_RESEND_CHALLENGE_H
#define NETBLT_CORE_RESEND_CHALLENGE_H

#include "base/keyed_hash.h"

#include <netblt/types.h>
#include <stdbool.h>
#include <stdint.h>

/* One RESEND may name all in several messages; they are taken together. */
struct nb_resend_challenge {
    const netblt_allocator *allocator;
    uint32_t packets;   /* n: of the buffer */
    uint32_t count;     /* k */
    uint32_t unnamed;   /* of the k, not named by any RESEND yet */
    uint32_t unsent;    /* of the k, not sent yet */
    uint32_t named;     /* s: packets that were named, each counted once; the first packet does not count */
    bool counted;       /* nb_challenge_chance() was taken into account */
    uint64_t *chosen;   /* a bit for each packet that is withheld and was not sent yet */
    uint64_t *requests; /* a bit for each packet that was named */
};

/* Chooses; `key` decides which, so it must be secret. NULL when memory is short, or when the buffer has fewer than
 * three packets. */
struct nb_resend_challenge *nb_challenge_new(uint32_t packets, const struct nb_hash_key *key,
                                             const netblt_allocator *allocator);
void nb_challenge_free(struct nb_resend_challenge *challenge); /* NULL is allowed */
bool nb_challenge_omits(const struct nb_resend_challenge *challenge, uint32_t packet);
/* `packet` is sent. Returns whether that is its first transmission. */
bool nb_challenge_sent(struct nb_resend_challenge *challenge, uint32_t packet);
/* A RESEND named `packet`. */
void nb_challenge_name(struct nb_resend_challenge *challenge, uint32_t packet);
/* The probability that a host which saw nothing named what was named: 1 as long as a withheld packet is missing. */
double nb_challenge_chance(const struct nb_resend_challenge *challenge);

#endif
