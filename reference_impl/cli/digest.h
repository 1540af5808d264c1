/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_DIGEST_H
#define NETBLT_CLI_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* SHA-256 of a stream of bytes. */
typedef struct digest digest;

#define DIGEST_TEXT_BYTES 65 /* 64 hexadecimal digits and a NUL */

/* NULL when memory is short or the library has no SHA-256. */
digest *digest_new(void);
void digest_free(digest *sum); /* NULL is allowed */
void digest_add(digest *sum, const uint8_t *bytes, size_t length);
/* Once, at the end. */
void digest_finish(digest *sum, char text[DIGEST_TEXT_BYTES]);

#endif
