/* SPDX-License-Identifier: BSD-2-Clause */
/* Oracle of guarded connections: the token of RESPONSE, and what makes an endpoint believe ABORT, QUIT and REFUSED. It
 * uses the hashes of the core (guard.h): a model of its own would show nothing more. */
#ifndef NETBLT_FUZZ_GUARDED_H
#define NETBLT_FUZZ_GUARDED_H

#include "view.h"

#include <netblt/endpoint.h>

bool guarded_has_secret(const netblt_config *config);

/* Of the RESPONSE of a connection. */
struct guarded_token {
    bool known;
    uint64_t token;
    uint32_t first_buffer; /* the number that it stands for */
};

/* Reads it from a RESPONSE. */
struct guarded_token guarded_read_token(const struct view *view);

/* Whether the padding of a NULL-ACK is what it must be: zero in a connection that is not guarded. */
bool guarded_null_ack_is_right(bool guarded, const struct guarded_token *token, const struct view *view);

/* ABORT, QUIT and REFUSED: whether one has arrived, and whether one held the proof. */
struct guarded_end {
    bool arrived, proven;
};

struct guarded_ends {
    struct guarded_end aborted, quit, refused; /* ABORT is a refusal too */
    bool any;
    netblt_time first_at; /* of any of them */
};

void guarded_end_arrives(struct guarded_ends *ends, const struct view *view, uint32_t unique_id, netblt_time now);
/* Whether one of `ends` may be believed now. Without a secret each is; a later packet does not prolong the wait. */
bool guarded_may_believe(const struct guarded_ends *ends, const struct guarded_end *end, bool has_secret, bool guarded,
                         netblt_time now);

#endif
