/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_SOURCE_INTERNAL_H
#define NETBLT_CLI_SOURCE_INTERNAL_H

#include "cli/source.h"

/* What the next buffer holds. */
enum fill {
    FILL_READY,  /* *length and *last are set */
    FILL_WAIT,   /* more bytes must arrive first */
    FILL_FAILED, /* source.failure says why */
};

struct source {
    const char *name;
    int fd;
    bool is_stream;
    bool beyond_4g;
    uint64_t start;    /* of a file: the place of its first byte that is sent */
    uint64_t size;     /* of a file, from there; 0 for a stream */
    uint64_t supplied; /* bytes that went to the core, the digest not counted */
    buffer_pool pool;
    digest *sum;
    bool ends_in_digest;
    bool content_ended;         /* all bytes but the digest went to the core */
    uint8_t tail[DIGEST_BYTES]; /* the digest, then */
    uint32_t tail_supplied;     /* bytes of it that went to the core */
    netblt_failure failure;
    uint8_t *staged;       /* the buffer being filled; NULL = none */
    uint32_t staged_bytes; /* in it so far */
    bool at_end;           /* a stream has ended */
    bool has_carry;        /* a stream's byte that was read to learn whether there is one */
    uint8_t carry;
};

/* Fails for more than an RFC 998 transfer holds. 0, or -1 with *failure. */
int source_check_size(const source *from, uint64_t bytes, netblt_failure *failure);
enum fill file_source_fill(source *from, uint32_t capacity, uint32_t *length, bool *last);
enum fill stream_source_fill(source *from, uint32_t capacity, uint32_t *length, bool *last);

#endif
