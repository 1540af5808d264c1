/* SPDX-License-Identifier: BSD-2-Clause */
/* Oracle of guarded connections: see guarded.h. */
#include "guarded.h"

#include "security/guard.h"

#include <string.h>

#define DOUBT_MIN_US 500000 /* an unproven ABORT, QUIT or REFUSED waits at least so long */

bool guarded_has_secret(const netblt_config *config)
{
    static const uint8_t none[NETBLT_SECRET_BYTES];
    return memcmp(config->secret, none, sizeof none) != 0;
}

static void copy_text(char text[NETBLT_STRING_MAX_BYTES + 1], const struct view *view)
{
    size_t length = 0;
    while (length < view->text_length && length < NETBLT_STRING_MAX_BYTES && view->text[length] != 0)
        length++;
    memcpy(text, view->text, length);
    text[length] = 0;
}

struct guarded_token guarded_read_token(const struct view *view)
{
    char text[NETBLT_STRING_MAX_BYTES + 1];
    uint64_t token = 0;
    unsigned features;
    copy_text(text, view);
    bool known = nb_guard_take_token(text, &token, &features);
    return (struct guarded_token){known, token, nb_guard_first_buffer_of_token(token)};
}

bool guarded_null_ack_is_right(bool guarded, const struct guarded_token *token, const struct view *view)
{
    struct nb_null_ack_fields fields = {(uint16_t)view->high_seq, (uint16_t)view->burst_size,
                                        (uint16_t)view->burst_interval_ms, 0};
    return view->padding == (guarded ? nb_guard_null_ack(token->token, &fields) : 0);
}

static void note(struct guarded_end *end, bool proven)
{
    end->arrived = true;
    end->proven |= proven;
}

void guarded_end_arrives(struct guarded_ends *ends, const struct view *view, uint32_t unique_id, netblt_time now)
{
    char text[NETBLT_STRING_MAX_BYTES + 1];
    copy_text(text, view);
    bool proven = nb_guard_take_proof(text, unique_id, (enum nb_type)view->type);
    if (!ends->any)
        ends->first_at = now;
    ends->any = true;
    note(view->type == QUIT ? &ends->quit : &ends->refused, proven);
    if (view->type == ABORT)
        note(&ends->aborted, proven);
}

bool guarded_may_believe(const struct guarded_ends *ends, const struct guarded_end *end, bool has_secret, bool guarded,
                         netblt_time now)
{
    if (!end->arrived)
        return false;
    return !has_secret || end->proven || (!guarded && now >= ends->first_at + DOUBT_MIN_US);
}
