/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a simulated world. */
#include "world_state.h"

#include <stdarg.h>
#include <stdlib.h>

int world_fail(world *w, const char *format, ...)
{
    if (!w->failed) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(w->error, sizeof w->error, format, arguments);
        va_end(arguments);
        w->failed = true;
    }
    return -1;
}

const char *world_error(const world *w)
{
    return w->error;
}

void world_trace(world *w)
{
    w->tracing = true;
}

void world_sample_add(world *w, const world_sample *sample)
{
    if (!w->tracing)
        return;
    if (w->sample_count == w->sample_capacity) {
        size_t capacity = w->sample_capacity ? 2 * w->sample_capacity : 4096;
        world_sample *samples = realloc(w->samples, capacity * sizeof *samples);
        if (!samples) {
            w->tracing = false;
            return;
        }
        w->samples = samples;
        w->sample_capacity = capacity;
    }
    w->samples[w->sample_count++] = *sample;
}

const world_sample *world_samples(const world *w, size_t *count)
{
    *count = w->sample_count;
    return w->samples;
}
