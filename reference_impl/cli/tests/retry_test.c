/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of --retry: which ends may pass, and when the next attempt is. */
#include <stdio.h>

#include "check.h"
#include "cli/session/session.h"

#define SECOND_US UINT64_C(1000000)

static bool is_temporary(enum netblt_result outcome, const char *reason)
{
    transfer work = {.outcome = outcome};
    snprintf(work.reason, sizeof work.reason, "%s", reason);
    return retry_is_temporary(&work);
}

static void losses_pass_and_errors_do_not(void)
{
    CHECK(is_temporary(NETBLT_PEER_DEAD, ""));
    CHECK(is_temporary(NETBLT_UNREACHABLE, ""));
    CHECK(is_temporary(NETBLT_REFUSED, "busy with another transfer"));
    CHECK(is_temporary(NETBLT_PEER_ABORTED, "busy with another transfer"));
    CHECK(is_temporary(NETBLT_REFUSED, "too many transfers: later"));
    CHECK(is_temporary(NETBLT_PEER_QUIT, "interrupted by the user"));
    CHECK(!is_temporary(NETBLT_REFUSED, "no such file or directory"));
    CHECK(!is_temporary(NETBLT_PEER_ABORTED, "the receiver cannot store the data: No space left on device"));
    CHECK(!is_temporary(NETBLT_PEER_QUIT, "the sender cannot read its data"));
    CHECK(!is_temporary(NETBLT_LOCAL_ABORT, "busy with another transfer"));
    CHECK(!is_temporary(NETBLT_DONE, ""));
}

static void what_failed_here_does_not_pass_but_the_way_to_the_peer(void)
{
    transfer work = {.outcome = NETBLT_PEER_DEAD, .failure = {.kind = NETBLT_FAILURE_LOCAL}};
    CHECK(!retry_is_temporary(&work));
    work.failure.kind = NETBLT_FAILURE_UNSUPPORTED;
    CHECK(!retry_is_temporary(&work));
    work.failure.kind = NETBLT_FAILURE_UNREACHABLE;
    CHECK(retry_is_temporary(&work));
}

static void waits_double_up_to_16_seconds(void)
{
    static const netblt_time waits_us[] = {500000, 1000000, 2000000, 4000000, 8000000, 16000000, 16000000, 16000000};
    retry_state retry = {.allowed_s = RETRY_FOREVER};
    netblt_time now = 77 * SECOND_US;
    for (size_t i = 0; i < sizeof waits_us / sizeof *waits_us; i++) {
        CHECK(retry_wait(&retry, now));
        CHECK_EQUAL(retry.try_at - now, waits_us[i]);
        now = retry.try_at;
    }
    retry_moves(&retry);
    CHECK(retry_wait(&retry, now));
    CHECK_EQUAL(retry.try_at - now, waits_us[0]);
}

static void time_counts_from_the_loss(void)
{
    retry_state retry = {.allowed_s = 10};
    netblt_time lost_at = 5 * SECOND_US;
    CHECK(retry_wait(&retry, lost_at));
    CHECK(retry_wait(&retry, lost_at + 5 * SECOND_US));
    CHECK(!retry_wait(&retry, lost_at + 9 * SECOND_US)); /* the third wait ends after 11 s */
    retry_moves(&retry);
    CHECK(retry_wait(&retry, lost_at + 20 * SECOND_US));
    CHECK_EQUAL(retry.lost_at, lost_at + 20 * SECOND_US);
}

int main(void)
{
    RUN(losses_pass_and_errors_do_not);
    RUN(what_failed_here_does_not_pass_but_the_way_to_the_peer);
    RUN(waits_double_up_to_16_seconds);
    RUN(time_counts_from_the_loss);
    return 0;
}
