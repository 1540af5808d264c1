/* SPDX-License-Identifier: BSD-2-Clause */
/* --retry: which ends of a transfer may pass, and when to try again. */
#include <string.h>

#include "cli/session/session.h"
#include "cli/transfer/reasons.h"
#include "io/clock.h"

#define SECOND_US UINT64_C(1000000)
/* The first attempt follows soon, because most losses are short; the longest wait is what a user may lose when the link
 * comes back. */
#define FIRST_WAIT_US (SECOND_US / 2)
#define LONGEST_WAIT_US (16 * SECOND_US)

static bool is_passing_reason(const char *reason)
{
    static const char *const beginnings[] = {REASON_BUSY,       REASON_STORING,       REASON_TOO_MANY,
                                             REASON_NO_DATA,    REASON_NO_MEMORY_NOW, REASON_SHUTTING_DOWN,
                                             REASON_INTERRUPTED};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(reason, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

bool retry_is_temporary(const transfer *work)
{
    if (work->failure.kind != NETBLT_FAILURE_NONE)
        return work->failure.kind == NETBLT_FAILURE_UNREACHABLE;
    switch (work->outcome) {
    case NETBLT_PEER_DEAD:
    case NETBLT_UNREACHABLE:
        return true;
    case NETBLT_REFUSED:
    case NETBLT_PEER_QUIT:
    case NETBLT_PEER_ABORTED:
        return is_passing_reason(work->reason);
    default:
        return false;
    }
}

bool retry_wait(retry_state *retry, netblt_time now)
{
    netblt_time wait = FIRST_WAIT_US;
    if (retry->lost_at == 0)
        *retry = (retry_state){.allowed_s = retry->allowed_s, .lost_at = now};
    for (unsigned i = 0; i < retry->attempts && wait < LONGEST_WAIT_US; i++)
        wait *= 2;
    retry->attempts++;
    retry->try_at = now + wait;
    return retry->allowed_s == RETRY_FOREVER || retry->try_at - retry->lost_at <= retry->allowed_s * SECOND_US;
}

void retry_moves(retry_state *retry)
{
    retry->lost_at = 0;
    retry->try_at = 0;
    retry->attempts = 0;
}
