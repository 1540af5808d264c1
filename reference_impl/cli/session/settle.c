/* SPDX-License-Identifier: BSD-2-Clause */
/* From one transfer of a session to the next: what its end means, and when the next one may be. */
#include "cli/session/session.h"
#include "io/clock.h"

#define SECOND_US UINT64_C(1000000)
/* Pauses of 20 ms, 40 ms and so on: some 20 s together, as long as a lost end takes to be noticed. */
#define FIRST_PAUSE_US UINT64_C(20000)
#define REFUSALS_MAX 10

void settle_keep(session *all, step *one)
{
    step *before = all->last;
    all->last = one;
    if (before != NULL && before != one && before->settled && before->work.closed)
        step_free(before);
}

bool settle_try_again(session *all, netblt_time now)
{
    const options *given = all->given;
    if (!given->retry_s.given || all->interrupted || !retry_wait(&all->retry, now))
        return false;
    if (!session_files_are_tree(&all->files) && !session_files_can_repeat(&all->files))
        return false; /* a stream cannot be read again */
    all->next.kind = STEP_FIRST;
    all->next.offset = 0;
    all->idle_steps = 0;
    all->is_continued = false;
    return true;
}

void settle_tell(const session *all, const char *reason)
{
    double seconds = (double)(all->retry.try_at - netblt_clock_now()) / 1e6;
    if (all->retry.attempts > 1)
        return; /* once for each loss */
    if (all->given->passive)
        report_note("%s; waiting for the peer to go on", reason);
    else
        report_note("%s; trying again in %.1f s", reason, seconds > 0 ? seconds : 0);
}

/* A peer that is still busy with the transfer before this one, whose last packet was lost or has not been looked at, is
 * not a loss. */
static bool waits_for_step_before(session *all, const step *one, netblt_time now)
{
    if (one->work.outcome != NETBLT_REFUSED || all->totals.transfers == 0 || all->refusals >= REFUSALS_MAX ||
        !retry_is_temporary(&one->work))
        return false;
    all->retry.try_at = now + (FIRST_PAUSE_US << all->refusals++);
    return true;
}

/* The process stays to answer repetitions of the peer's QUIT (QUIT-01). The user learns of its end now. */
static void report_quit(const session *all, const step *one)
{
    summary end;
    if (one->work.outcome != NETBLT_PEER_QUIT || one->work.connection == NULL || all->interrupted)
        return;
    transfer_judge(&one->work, &end);
    report_note("%s; staying some seconds to answer repetitions of its QUIT", end.reason);
}

static void after_failure(session *all, step *one, netblt_time now)
{
    summary end;
    if (waits_for_step_before(all, one, now))
        return;
    if (!retry_is_temporary(&one->work) || !settle_try_again(all, now)) {
        report_quit(all, one);
        all->over = true;
        return;
    }
    transfer_judge(&one->work, &end);
    settle_tell(all, end.reason);
}

/* A peer that does not go on is as good as lost, but for one with a schedule. */
static netblt_time patience(const session *all, const step *one, netblt_time now)
{
    const options *given = all->given;
    uint64_t seconds = options_number_or(given->death_timer_s, 30);
    if (given->retry_s.value == RETRY_FOREVER || step_was_ended_with(one, STEP_LATER))
        return NETBLT_TIME_NEVER;
    return now + (given->retry_s.value > seconds ? given->retry_s.value : seconds) * SECOND_US;
}

void settle_current(session *all)
{
    step *one = all->current;
    netblt_time now = netblt_clock_now();
    enum step_verdict verdict = step_end(one);
    path_notes_settle(all, one);
    all->current = NULL;
    settle_keep(all, one);
    all->continued_until = patience(all, one, now);
    all->done = verdict == STEP_IS_LAST;
    all->refusals = one->work.opened ? 0 : all->refusals;
    all->retry.try_at = now;
    if (verdict == STEP_FAILED)
        after_failure(all, one, now);
    else
        all->over = all->done;
}
