/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_PROGRESS_H
#define NETBLT_CLI_PROGRESS_H

#include <stdbool.h>

#include <netblt/types.h>

/* One line on a terminal that is drawn over and over; nothing at all when stderr is no terminal. */
typedef struct progress {
    bool shown;
    bool drawn; /* the line is on the screen now */
    netblt_time next_at;
    netblt_time sampled_at;
    uint64_t sampled_bytes;
    double bits_per_second; /* smoothed */
} progress;

/* What the line tells. */
typedef struct progress_view {
    const char *name;
    uint64_t bytes;
    uint64_t total;  /* 0 = not known */
    uint64_t resent; /* packets sent again (sender) or asked for again (receiver) */
    const char *resent_word;
} progress_view;

void progress_init(progress *bar, bool quiet);
/* When to draw next; NEVER when nothing is shown. */
netblt_time progress_next(const progress *bar);
/* Draws if it is time. */
void progress_update(progress *bar, const progress_view *view, netblt_time now);
/* Makes way for another line. */
void progress_clear(progress *bar);

/* Writes the line for `columns` columns, without its end, into `line`; for tests and for progress_update(). */
#define PROGRESS_LINE_BYTES 512
void progress_format(const progress *bar, const progress_view *view, unsigned columns, char line[PROGRESS_LINE_BYTES]);

#endif
