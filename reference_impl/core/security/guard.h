/* SPDX-License-Identifier: BSD-2-Clause */
/* What two ends of this implementation agree on beside RFC 998, to recognize forged packets: guarded connections.
 *
 * Only OPEN and RESPONSE carry an ID in RFC 998; ABORT, QUIT and REFUSED carry none, and buffer numbers and sequence
 * numbers start at known values. Two ends of this implementation close that gap with fields that RFC 998 leaves free,
 * so that a foreign peer sees nothing unusual:
 *   - the low 16 bits of the unique ID of OPEN are a hash of the other 16, of the ports and of the active client's
 *     features (the mark). A passive end recognizes by it that the active end knows what follows;
 *   - RESPONSE to such an OPEN ends its client string in " guard=", a digit for the features of both clients and a
 * random 60-bit token;
 *   - the receiver's first buffer number is a function of the token;
 *   - the padding of NULL-ACK is a hash of the token and of its fields;
 *   - the reasons of ABORT, QUIT and REFUSED end in " guard=" and a hash of the unique ID, the proof.
 * docs/security.md gives the probabilities with which an attacker guesses them. */
#ifndef NETBLT_CORE_GUARD_H
#define NETBLT_CORE_GUARD_H

#include "base/keyed_hash.h"
#include "wire/wire.h"

#include <netblt/endpoint.h>

/* What is random on one endpoint: netblt_config.secret. */
struct nb_secret {
    bool known; /* without it nothing here is used */
    struct nb_hash_key key;
};

struct nb_secret nb_secret_read(const uint8_t secret[NETBLT_SECRET_BYTES]);

/* The number of the first buffer that a receiver requests where there is no token: not predictable for a host that does
 * not know the secret. */
uint32_t nb_guard_first_buffer(const struct nb_secret *secret, const netblt_path *path, uint16_t local_port,
                               uint16_t foreign_port, uint32_t unique_id);

/* What the clients of both ends do beside RFC 998: NETBLT_CLIENT_... bits. Each bit more doubles the number of right
 * marks, and with it the chance that a foreign unique ID has one. */
static inline unsigned nb_guard_features(const netblt_options *options)
{
    return options->client_features & (unsigned)NETBLT_CLIENT_FEATURES;
}

/* `unique_id` with the mark in its low 16 bits. */
uint32_t nb_guard_mark(uint32_t unique_id, uint16_t active_port, uint16_t passive_port, unsigned features);
/* Whether `unique_id` has a mark, and whose features it states; `features` may be NULL. */
bool nb_guard_is_marked(uint32_t unique_id, uint16_t active_port, uint16_t passive_port, unsigned *features);

/* The token of a connection that a passive end accepts: 60 bits. */
uint64_t nb_guard_token(const struct nb_secret *secret, const netblt_path *path, uint16_t local_port,
                        uint16_t foreign_port, uint32_t unique_id);
uint32_t nb_guard_first_buffer_of_token(uint64_t token);

/* The padding of a NULL-ACK with these fields; fields->padding is not read. */
uint16_t nb_guard_null_ack(uint64_t token, const struct nb_null_ack_fields *fields);

/* Characters that the token adds to a client string, and the proof to a reason. */
#define NB_GUARD_TOKEN_CHARS 23
#define NB_GUARD_PROOF_CHARS 15

/* Appends the token to `text`, which holds NETBLT_STRING_MAX_BYTES + 1 bytes. False, and nothing is changed, when there
 * is no room. */
bool nb_guard_append_token(char *text, uint64_t token, unsigned features);
/* Removes the token from the end of `text`. False when there is none. */
bool nb_guard_take_token(char *text, uint64_t *token, unsigned *features);
/* Appends the proof to a reason for a packet of type `type`; of a reason that leaves no room the end is cut. */
void nb_guard_append_proof(char *reason, uint32_t unique_id, enum nb_type type);
/* Removes a proof from the end of `reason`. True when there was one and it is right. */
bool nb_guard_take_proof(char *reason, uint32_t unique_id, enum nb_type type);

/* Cuts `text` to `length` bytes, or fewer so that no UTF-8 character is left in half. */
void nb_guard_cut(char *text, size_t length);

#endif
