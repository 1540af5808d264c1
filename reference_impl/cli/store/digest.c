/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 of a stream of bytes: see digest.h. */
#include "cli/store/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/hex.h"

struct digest {
    EVP_MD_CTX *context;
    bool expected;
    bool finished;
    uint8_t held[DIGEST_BYTES]; /* the newest bytes, when they may be the expected digest */
    size_t held_bytes;
    uint8_t value[EVP_MAX_MD_SIZE]; /* once finished */
    digest_pass_fn *pass;
    void *pass_context;
};

digest *digest_new(netblt_failure *failure)
{
    digest *sum = calloc(1, sizeof *sum);
    if (sum != NULL)
        sum->context = EVP_MD_CTX_new();
    if (sum != NULL && sum->context != NULL && EVP_DigestInit_ex(sum->context, EVP_sha256(), NULL) == 1)
        return sum;
    digest_free(sum);
    netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot compute SHA-256: not enough memory, or OpenSSL forbids it");
    return NULL;
}

void digest_free(digest *sum)
{
    if (sum == NULL)
        return;
    EVP_MD_CTX_free(sum->context);
    free(sum);
}

void digest_expect(digest *sum, bool expected)
{
    sum->expected = expected;
}

bool digest_is_expected(const digest *sum)
{
    return sum->expected;
}

void digest_pass_on(digest *sum, digest_pass_fn *pass, void *context)
{
    sum->pass = pass;
    sum->pass_context = context;
}

static void hash(digest *sum, const uint8_t *bytes, size_t length)
{
    EVP_DigestUpdate(sum->context, bytes, length);
    if (sum->pass != NULL && length > 0)
        sum->pass(sum->pass_context, bytes, length);
}

/* Of the held and the new bytes, the newest DIGEST_BYTES are held and the others hashed. */
static void add_and_hold(digest *sum, const uint8_t *bytes, size_t length)
{
    size_t hashed = sum->held_bytes + length > DIGEST_BYTES ? sum->held_bytes + length - DIGEST_BYTES : 0;
    size_t of_held = hashed < sum->held_bytes ? hashed : sum->held_bytes;
    size_t of_new = hashed - of_held;
    hash(sum, sum->held, of_held);
    hash(sum, bytes, of_new);
    memmove(sum->held, sum->held + of_held, sum->held_bytes - of_held);
    sum->held_bytes -= of_held;
    memcpy(sum->held + sum->held_bytes, bytes + of_new, length - of_new);
    sum->held_bytes += length - of_new;
}

void digest_add(digest *sum, const uint8_t *bytes, size_t length)
{
    if (sum->expected)
        add_and_hold(sum, bytes, length);
    else
        hash(sum, bytes, length);
}

void digest_finish(digest *sum, uint8_t bytes[DIGEST_BYTES])
{
    if (!sum->finished)
        EVP_DigestFinal_ex(sum->context, sum->value, NULL);
    sum->finished = true;
    memcpy(bytes, sum->value, DIGEST_BYTES);
}

void digest_finish_text(digest *sum, char text[DIGEST_TEXT_BYTES])
{
    uint8_t bytes[DIGEST_BYTES];
    digest_finish(sum, bytes);
    hex_text(bytes, DIGEST_BYTES, text);
}

bool digest_agrees(digest *sum)
{
    uint8_t bytes[DIGEST_BYTES];
    if (!sum->expected)
        return true;
    digest_finish(sum, bytes);
    return sum->held_bytes == DIGEST_BYTES && memcmp(bytes, sum->held, DIGEST_BYTES) == 0;
}
