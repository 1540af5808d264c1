/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/digest.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

struct digest {
    EVP_MD_CTX *context;
};

digest *digest_new(void)
{
    digest *sum = calloc(1, sizeof *sum);

    if (sum == NULL)
        return NULL;
    sum->context = EVP_MD_CTX_new();
    if (sum->context == NULL || EVP_DigestInit_ex(sum->context, EVP_sha256(), NULL) != 1) {
        digest_free(sum);
        return NULL;
    }
    return sum;
}

void digest_free(digest *sum)
{
    if (sum == NULL)
        return;
    EVP_MD_CTX_free(sum->context);
    free(sum);
}

void digest_add(digest *sum, const uint8_t *bytes, size_t length)
{
    EVP_DigestUpdate(sum->context, bytes, length);
}

void digest_finish(digest *sum, char text[DIGEST_TEXT_BYTES])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned length = 0;

    EVP_DigestFinal_ex(sum->context, bytes, &length);
    for (unsigned i = 0; i < length && 2 * i + 2 < DIGEST_TEXT_BYTES; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", bytes[i]);
}
