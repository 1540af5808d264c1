/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a transfer while data move: as a line for a terminal, and as a JSON object. */
#ifndef NETBLT_CLI_PROGRESS_H
#define NETBLT_CLI_PROGRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netblt/types.h>

/* What there is to show, for one file or for several in one transfer. */
typedef struct progress_view {
    enum netblt_role role;
    const char *name;       /* of the file that moves now, as it is; control characters are replaced when shown */
    const char *peer;       /* NULL: it is not part of the JSON object, because there is only one */
    netblt_time started_at; /* the first OPEN */
    uint64_t bytes;         /* confirmed (sender) or delivered (receiver); of all files together */
    uint64_t total;         /* that these will be at the end; 0 = not known */
    uint64_t retransmitted; /* sender: data packets retransmitted; receiver: RESEND messages sent */

    /* Several files. All zero: there is one. */
    uint64_t file_number; /* of the file that moves now, from 1 */
    uint64_t files;       /* how many there are; 0 = not known yet */
    uint64_t file_bytes;  /* of `bytes`, those of this file */
    uint64_t file_total;  /* this file's size; 0 = not known */
} progress_view;

/* How fast a transfer is, from looks at its bytes. All zero: no look yet. */
typedef struct progress_meter {
    netblt_time sampled_at;
    uint64_t sampled_bytes;
    double bits_per_second; /* of about the last two seconds */
} progress_meter;

/* What passed between two looks. */
typedef struct progress_interval {
    double seconds; /* 0 at the first look */
    uint64_t bytes;
} progress_interval;

/* Takes a look. Bytes that became fewer count as none. */
progress_interval progress_measure(progress_meter *meter, uint64_t bytes, netblt_time now);

/* The time that the rest takes at that rate, in seconds; negative = not known, or longer than 99 hours. */
double progress_seconds_left(const progress_view *view, double bits_per_second);

#define PROGRESS_COLUMNS_MAX 1000
#define PROGRESS_LINE_BYTES (4 * PROGRESS_COLUMNS_MAX)

/* The line for a terminal of `columns`, one cell shorter than that, since some terminals wrap when the last column is
 * filled. On a narrow terminal the less important parts are left out; what room remains is the name's and the bar's:
 * "3/12 name 45% [====>    ] 12.3 MB of 27.2 MB 64.8 Mb/s 0:02 left 7 retransmitted". */
void progress_line(const progress_view *view, double bits_per_second, size_t columns, char line[PROGRESS_LINE_BYTES]);

/* The object of --json-progress (docs/netblt.md). NULL when memory is short. */
json_t *progress_object(const progress_view *view, const progress_meter *meter, const progress_interval *interval);

#endif
