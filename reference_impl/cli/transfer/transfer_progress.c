/* SPDX-License-Identifier: BSD-2-Clause */
/* How far a transfer is, for the progress line and --json-progress. */
#include "cli/transfer/transfer.h"

progress_view transfer_progress(transfer *work)
{
    const netblt_stats *stats = &work->info.stats;
    if (!work->finished)
        netblt_get_info(work->connection, &work->info);
    return (progress_view){
        .role = work->role,
        .name = work->name,
        .started_at = work->started_at,
        .bytes = stats->payload_bytes,
        .total = work->info.negotiated.transfer_size,
        .retransmitted = work->role == NETBLT_SENDER ? stats->data_packets_retransmitted : stats->resends_sent,
    };
}
