/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls the layers above the decoder for each packet. */
#include "decode/stage.h"

enum { STAGES_MAX = 2 }; /* the analysis, the reports */

static const struct nb_stage *stages[STAGES_MAX];
static unsigned count;

void nb_add_stage(const struct nb_stage *stage)
{
    DISSECTOR_ASSERT(count < STAGES_MAX);
    stages[count++] = stage;
}

void nb_learn(const struct nb_incoming *incoming, struct nb_known *known)
{
    for (unsigned i = 0; i < count; i++) {
        if (stages[i]->learn != NULL) {
            stages[i]->learn(incoming, known);
        }
    }
}

void nb_show_stages(const struct nb_view *view)
{
    for (unsigned i = 0; i < count; i++) {
        if (stages[i]->show != NULL) {
            stages[i]->show(view);
        }
    }
}
