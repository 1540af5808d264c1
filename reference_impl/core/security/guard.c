/* SPDX-License-Identifier: BSD-2-Clause */
/* The mark of OPEN, the token of RESPONSE, the padding of NULL-ACK, and the proof of ABORT, QUIT and REFUSED: see
 * guard.h. */
#include "security/guard.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_PREFIX " guard="
#define FEATURE_DIGITS 1
#define TOKEN_DIGITS 15
#define TOKEN_BYTES 8 /* in what is hashed */
#define PROOF_DIGITS 8

_Static_assert(sizeof TOKEN_PREFIX - 1 + FEATURE_DIGITS + TOKEN_DIGITS == NB_GUARD_TOKEN_CHARS,
               "length of the token's text");
_Static_assert(sizeof TOKEN_PREFIX - 1 + PROOF_DIGITS == NB_GUARD_PROOF_CHARS, "length of the proof's text");

/* Both ends must compute the same mark, proof and buffer number: a public key, one for each purpose, so
 * that what is seen of one reveals nothing about another. */
static const struct nb_hash_key mark_key = {{UINT64_C(0x6E6574626C742D6D), UINT64_C(0x61726B2076310000)}};
static const struct nb_hash_key proof_key = {{UINT64_C(0x6E6574626C742D70), UINT64_C(0x726F6F6620763100)}};
static const struct nb_hash_key null_ack_key = {{UINT64_C(0x6E6574626C742D61), UINT64_C(0x636B206775763100)}};
static const struct nb_hash_key number_key = {{UINT64_C(0x6E6574626C742D6E), UINT64_C(0x756D626572207631)}};

struct nb_secret nb_secret_read(const uint8_t secret[NETBLT_SECRET_BYTES])
{
    static const uint8_t none[NETBLT_SECRET_BYTES];
    return (struct nb_secret){.known = memcmp(secret, none, sizeof none) != 0, .key = nb_hash_key_read(secret)};
}

/* ---- hashes ---------------------------------------------------------------------------------------------------- */

static size_t put_address(uint8_t *at, const netblt_address *address)
{
    memcpy(at, address->bytes, address->length);
    return address->length;
}

/* Of one connection as this end sees it, for one purpose. */
static uint64_t connection_hash(const struct nb_secret *secret, uint8_t purpose, const netblt_path *path,
                                uint16_t local_port, uint16_t foreign_port, uint32_t unique_id)
{
    uint8_t bytes[1 + 2 * NETBLT_ADDRESS_MAX_BYTES + 8];
    size_t length = 1;
    bytes[0] = purpose;
    length += put_address(bytes + length, &path->local);
    length += put_address(bytes + length, &path->foreign);
    nb_put16(bytes + length, local_port);
    nb_put16(bytes + length + 2, foreign_port);
    nb_put32(bytes + length + 4, unique_id);
    return nb_keyed_hash(&secret->key, bytes, length + 8);
}

uint32_t nb_guard_first_buffer(const struct nb_secret *secret, const netblt_path *path, uint16_t local_port,
                               uint16_t foreign_port, uint32_t unique_id)
{
    return (uint32_t)connection_hash(secret, 'n', path, local_port, foreign_port, unique_id);
}

uint64_t nb_guard_token(const struct nb_secret *secret, const netblt_path *path, uint16_t local_port,
                        uint16_t foreign_port, uint32_t unique_id)
{
    return connection_hash(secret, 't', path, local_port, foreign_port, unique_id) >> 4;
}

static void put_token(uint8_t at[TOKEN_BYTES], uint64_t token)
{
    nb_put32(at, (uint32_t)(token >> 32));
    nb_put32(at + 4, (uint32_t)token);
}

uint32_t nb_guard_first_buffer_of_token(uint64_t token)
{
    uint8_t bytes[TOKEN_BYTES];
    put_token(bytes, token);
    return (uint32_t)nb_keyed_hash(&number_key, bytes, sizeof bytes);
}

uint16_t nb_guard_null_ack(uint64_t token, const struct nb_null_ack_fields *fields)
{
    uint8_t bytes[TOKEN_BYTES + 6];
    put_token(bytes, token);
    nb_put16(bytes + TOKEN_BYTES, fields->high_seq);
    nb_put16(bytes + TOKEN_BYTES + 2, fields->burst_size);
    nb_put16(bytes + TOKEN_BYTES + 4, fields->burst_interval_ms);
    return (uint16_t)nb_keyed_hash(&null_ack_key, bytes, sizeof bytes);
}

static uint16_t mark_of(uint32_t unique_id, uint16_t active_port, uint16_t passive_port, unsigned features)
{
    uint8_t bytes[10];
    nb_put32(bytes, unique_id & 0xFFFF0000u);
    nb_put16(bytes + 4, active_port);
    nb_put16(bytes + 6, passive_port);
    bytes[8] = (uint8_t)features;
    bytes[9] = 0;
    return (uint16_t)nb_keyed_hash(&mark_key, bytes, sizeof bytes);
}

uint32_t nb_guard_mark(uint32_t unique_id, uint16_t active_port, uint16_t passive_port, unsigned features)
{
    return (unique_id & 0xFFFF0000u) | mark_of(unique_id, active_port, passive_port, features);
}

bool nb_guard_is_marked(uint32_t unique_id, uint16_t active_port, uint16_t passive_port, unsigned *features)
{
    for (unsigned tried = 0; tried <= NETBLT_CLIENT_FEATURES; tried++) {
        if (nb_guard_mark(unique_id, active_port, passive_port, tried) != unique_id)
            continue;
        if (features != NULL)
            *features = tried;
        return true;
    }
    return false;
}

static uint32_t proof_of(uint32_t unique_id, enum nb_type type)
{
    uint8_t bytes[5];
    nb_put32(bytes, unique_id);
    bytes[4] = (uint8_t)type;
    return (uint32_t)nb_keyed_hash(&proof_key, bytes, sizeof bytes);
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */

void nb_guard_cut(char *text, size_t length)
{
    if (strlen(text) <= length)
        return;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) /* inside a UTF-8 character */
        length--;
    text[length] = 0;
}

static bool append(char *text, const char *digits)
{
    size_t length = strlen(text);
    size_t room = NETBLT_STRING_MAX_BYTES + 1 - length;
    if (strlen(TOKEN_PREFIX) + strlen(digits) >= room)
        return false;
    snprintf(text + length, room, TOKEN_PREFIX "%s", digits);
    return true;
}

static bool is_hexadecimal(const char *digits)
{
    return digits[strspn(digits, "0123456789abcdef")] == 0;
}

/* Cuts the prefix and `count` digits off the end of `text`. Returns the digits, or NULL. */
static const char *take(char *text, size_t count)
{
    size_t length = strlen(text);
    size_t chars = sizeof TOKEN_PREFIX - 1 + count;
    if (length < chars)
        return NULL;
    char *at = text + length - chars;
    if (strncmp(at, TOKEN_PREFIX, sizeof TOKEN_PREFIX - 1) != 0 || !is_hexadecimal(at + sizeof TOKEN_PREFIX - 1))
        return NULL;
    *at = 0;
    return at + sizeof TOKEN_PREFIX - 1;
}

bool nb_guard_append_token(char *text, uint64_t token, unsigned features)
{
    char digits[FEATURE_DIGITS + TOKEN_DIGITS + 1];
    snprintf(digits, sizeof digits, "%x%015" PRIx64, features & 0xF, token);
    return append(text, digits);
}

bool nb_guard_take_token(char *text, uint64_t *token, unsigned *features)
{
    const char *digits = take(text, FEATURE_DIGITS + TOKEN_DIGITS);
    if (digits == NULL)
        return false;
    char feature[2] = {digits[0], 0};
    *features = (unsigned)strtoul(feature, NULL, 16);
    *token = strtoull(digits + FEATURE_DIGITS, NULL, 16);
    return true;
}

void nb_guard_append_proof(char *reason, uint32_t unique_id, enum nb_type type)
{
    char digits[PROOF_DIGITS + 1];
    snprintf(digits, sizeof digits, "%08" PRIx32, proof_of(unique_id, type));
    nb_guard_cut(reason, NETBLT_STRING_MAX_BYTES - NB_GUARD_PROOF_CHARS);
    append(reason, digits);
}

bool nb_guard_take_proof(char *reason, uint32_t unique_id, enum nb_type type)
{
    const char *digits = take(reason, PROOF_DIGITS);
    return digits != NULL && strtoul(digits, NULL, 16) == proof_of(unique_id, type);
}
