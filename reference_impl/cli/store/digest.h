/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 of a stream of bytes, which may end in the SHA-256 that they should have. */
#ifndef NETBLT_CLI_DIGEST_H
#define NETBLT_CLI_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/failure.h"

/* Two netblt commands end the data of a transfer with their SHA-256 (NETBLT_CLIENT_ENDS_IN_HASH): DIGEST_BYTES bytes
 * that are not part of the file. */
typedef struct digest digest;

#define DIGEST_BYTES 32
#define DIGEST_TEXT_BYTES 65 /* 64 hexadecimal digits and a NUL */

/* NULL with *failure when memory is short or the library has no SHA-256. */
digest *digest_new(netblt_failure *failure);
void digest_free(digest *sum); /* NULL is allowed */
/* Whether the last DIGEST_BYTES bytes that will be added are the digest of all others (default: no). Before the first
 * byte is added. */
void digest_expect(digest *sum, bool expected);
bool digest_is_expected(const digest *sum);
/* From now on `pass` gets all bytes that are added, in order, but those of an expected digest. */
typedef void digest_pass_fn(void *context, const uint8_t *bytes, size_t length);
void digest_pass_on(digest *sum, digest_pass_fn *pass, void *context);
void digest_add(digest *sum, const uint8_t *bytes, size_t length);
/* Everything was added. Whether the digest is the expected one, if one was expected. */
bool digest_agrees(digest *sum);
/* Everything was added: the digest as bytes, or as text. */
void digest_finish(digest *sum, uint8_t bytes[DIGEST_BYTES]);
void digest_finish_text(digest *sum, char text[DIGEST_TEXT_BYTES]);

#endif
