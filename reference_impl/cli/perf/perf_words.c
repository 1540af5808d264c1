/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests and figures that the two ends of a measurement exchange, and what the active end proposes next. */
#include "cli/perf/perf_words.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct wish_word {
    const char *text;
    bool has_value;
    int base;
} wish_words[] = {
    [PERF_WISH_TAKE] = {"perf", false, 10},
    [PERF_WISH_SIZE] = {"perf size=", true, 10},
    [PERF_WISH_TIME] = {"perf time=", true, 10},
    [PERF_WISH_FIGURES] = {"perf figures=", true, 16},
};

void perf_wish_write(enum perf_wish wish, uint64_t value, char text[PERF_WISH_BYTES])
{
    const struct wish_word *word = &wish_words[wish];
    if (!word->has_value)
        snprintf(text, PERF_WISH_BYTES, "%s", word->text);
    else if (word->base == 16)
        snprintf(text, PERF_WISH_BYTES, "%s%" PRIx64, word->text, value);
    else
        snprintf(text, PERF_WISH_BYTES, "%s%" PRIu64, word->text, value);
}

enum perf_wish perf_wish_read(const char *text, uint64_t *value)
{
    for (int wish = PERF_WISH_FIGURES; wish > PERF_WISH_NONE; wish--) {
        const struct wish_word *word = &wish_words[wish];
        size_t length = strlen(word->text);
        char *rest;
        if (strncmp(text, word->text, length) != 0)
            continue;
        text += length;
        if (!word->has_value)
            return *text == '\0' ? (enum perf_wish)wish : PERF_WISH_NONE;
        if (!isxdigit((unsigned char)*text))
            return PERF_WISH_NONE;
        *value = strtoull(text, &rest, word->base);
        return *rest == '\0' ? (enum perf_wish)wish : PERF_WISH_NONE;
    }
    return PERF_WISH_NONE;
}

size_t perf_figures_write(const perf_figures *figures, char text[PERF_FIGURES_BYTES])
{
    int used = snprintf(text, PERF_FIGURES_BYTES,
                        "data_packets %" PRIu64 "\nretransmitted %" PRIu64 "\ndata_timeouts %" PRIu64
                        "\nsteady_bps %" PRIu64 "\n",
                        figures->data_packets, figures->retransmitted, figures->data_timeouts, figures->steady_bps);
    return used < 0 ? 0 : used < PERF_FIGURES_BYTES ? (size_t)used : PERF_FIGURES_BYTES - 1;
}

/* The number after `name` at the beginning of a line. */
static bool read_line(const char *text, const char *name, uint64_t *value)
{
    size_t length = strlen(name);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, name, length) == 0 && line[length] == ' ' && isdigit((unsigned char)line[length + 1])) {
            *value = strtoull(line + length + 1, NULL, 10);
            return true;
        }
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return false;
}

void perf_figures_read(const char *text, perf_figures *figures)
{
    *figures = (perf_figures){.known = false};
    figures->known = read_line(text, "data_packets", &figures->data_packets) &&
                     read_line(text, "retransmitted", &figures->retransmitted) &&
                     read_line(text, "data_timeouts", &figures->data_timeouts) &&
                     read_line(text, "steady_bps", &figures->steady_bps);
}

void perf_next_params(const options *given, const netblt_info *before, netblt_params *params)
{
    if (given->rate != NETBLT_RATE_AUTO || before->burst_size == 0) /* or bursts are named: option_words_check() */
        return;
    params->burst_size = before->burst_size;
    params->burst_interval_ms = before->burst_interval_ms;
}
