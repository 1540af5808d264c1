/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/perf.h"

void perf_next_params(const options *given, const netblt_info *before, netblt_params *params)
{
    bool named = given->burst_size.given || given->burst_interval_ms.given;

    if (given->rate != NETBLT_RATE_AUTO || named || before->burst_size == 0)
        return;
    params->burst_size = before->burst_size;
    params->burst_interval_ms = before->burst_interval_ms;
}
