/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reports as a stage after the analysis: the payload, and the data of the tap for the statistics. */
#include "reports/reports-stage.h"

#include "decode/fields.h"
#include "decode/stage.h"
#include "reports/payload.h"
#include "reports/tap.h"

static nb_pref_bool pref_reassemble = FALSE;

static void show(const struct nb_view *view)
{
    nb_payload(view->packet, view->known.record, view->pinfo, view->tree, pref_reassemble);
    nb_tap_packet(view->pinfo, view->packet, view->known.record);
}

void proto_register_netblt_reports(void)
{
    static const struct nb_stage stage = {.show = show};

    prefs_register_bool_preference(prefs_find_module("netblt"), "reassemble", "Reassemble buffers",
                                   "Show each buffer whole, in the order of the transfer, with the packet that "
                                   "completes it. Takes memory for all the data. Follow stream and export objects need "
                                   "no such setting.",
                                   &pref_reassemble);
    nb_register_payload(proto_netblt);
    nb_register_tap();
    nb_add_stage(&stage);
}

void proto_reg_handoff_netblt_reports(void)
{
    nb_register_statistics(proto_netblt);
}
