/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests and figures that the two ends of a measurement exchange. In the client string of OPEN:
 *
 *      perf                 data comes, throw it away
 *      perf size=BYTES      send so many bytes
 *      perf time=S          send for so many seconds
 *      perf figures=ID      send your figures of the transfer with this unique ID (hexadecimal)
 *
 * Figures travel as lines of "name value". */
#ifndef NETBLT_CLI_PERF_WORDS_H
#define NETBLT_CLI_PERF_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options/options.h"

enum perf_wish {
    PERF_WISH_NONE, /* nothing that we understand */
    PERF_WISH_TAKE,
    PERF_WISH_SIZE,
    PERF_WISH_TIME,
    PERF_WISH_FIGURES,
};

#define PERF_WISH_BYTES 64

void perf_wish_write(enum perf_wish wish, uint64_t value, char text[PERF_WISH_BYTES]);
enum perf_wish perf_wish_read(const char *text, uint64_t *value);

/* One end's view of a transfer. */
typedef struct perf_figures {
    bool known;
    uint64_t data_packets; /* sent, or received */
    uint64_t retransmitted;
    uint64_t data_timeouts;
    uint64_t steady_bps; /* stopwatch.h; 0 = too short to measure */
} perf_figures;

#define PERF_FIGURES_BYTES 256

/* Answers the length. */
size_t perf_figures_write(const perf_figures *figures, char text[PERF_FIGURES_BYTES]);
/* `text` ends in NUL. Unknown lines are ignored; figures->known states whether all were there. */
void perf_figures_read(const char *text, perf_figures *figures);

/* What a transfer by time proposes when it follows `before`, which ended at 4 GiB: the pair that the automatic rate had
 * come to, instead of the search for it once more. What the user named stays. */
void perf_next_params(const options *given, const netblt_info *before, netblt_params *params);

#endif
