/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of one connection of `netblt listen`: its line, and all that it holds. */
#include <stdlib.h>

#include "cli/listen/serve.h"

void served_free(served *one)
{
    LIST_REMOVE(one, place);
    if (!one->settled)
        served_note_end(one);
    served_give_place_back(one);
    buffer_budget_return(&one->server->buffers, &one->buffers);
    transfer_close_source(&one->work);
    sink_close(one->work.to);
    served_end_step(one);
    served_give_name_back(one);
    buffer_pool_clear(&one->work.early);
    free(one->real_name);
    free(one);
}

void served_settle(served *one)
{
    transfer *work = &one->work;
    if (!work->finished || work->to == NULL || !sink_is_at_rest(work->to))
        return;
    serve_report(one->server, one);
    one->settled = true;
    served_note_end(one);
    sink_close(work->to);
    work->to = NULL; /* the core has returned all buffers */
    served_end_step(one);
    served_give_name_back(one);
}

void served_end(served *one)
{
    if (!one->settled)
        serve_report(one->server, one);
    served_free(one);
}
