/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures steady-state throughput: see stopwatch.h. */
#include "cli/perf/stopwatch.h"

void stopwatch_see(stopwatch *watch, uint32_t number, netblt_time at)
{
    /* Buffer numbers wrap; what lies less than half their space ahead is newer. */
    uint32_t ahead = number - (watch->first + (uint32_t)watch->newest);
    if (!watch->running) {
        *watch = (stopwatch){.running = true, .first = number, .began_at = at};
        watch->at[0] = at;
        return;
    }
    if (ahead == 0 || ahead > INT32_MAX)
        return;
    for (uint32_t i = 0; i < ahead && i < STOPWATCH_LAST; i++) /* those in between were lost or come later */
        watch->at[(watch->newest + ahead - i) % STOPWATCH_LAST] = at;
    watch->newest += ahead;
}

double stopwatch_steady_bps(const stopwatch *watch, uint64_t bytes, uint32_t buffer_size)
{
    uint64_t full = buffer_size == 0 ? 0 : bytes / buffer_size; /* buffers of full size; L is number `full` from 1 */
    netblt_time last_at;
    if (!watch->running || full < 2 || full - 1 > watch->newest || watch->newest - (full - 1) >= STOPWATCH_LAST)
        return 0;
    last_at = watch->at[(full - 1) % STOPWATCH_LAST];
    if (last_at <= watch->began_at)
        return 0;
    return (double)(full - 1) * buffer_size * 8 * 1e6 / (double)(last_at - watch->began_at);
}
