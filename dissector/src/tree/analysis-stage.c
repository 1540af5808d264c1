/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The analysis as a stage after the decoder: checks each packet, then shows what is known of it; its preferences. */
#include "tree/analysis-stage.h"

#include "connection/position.h"
#include "connection/record.h"
#include "decode/fields.h"
#include "decode/stage.h"
#include "rules/analysis.h"
#include "tree/conversation-fields.h"
#include "tree/conversation-tree.h"
#include "tree/fields-analysis.h"
#include "tree/findings-tree.h"
#include "wireshark/arena.h"
#include "wireshark/memory.h"

static gint pref_position = NB_POSITION_AUTO;

static void learn(const struct nb_incoming *incoming, struct nb_known *known)
{
    const uint32_t key = nb_record_key(incoming->occurrence, incoming->idx);
    const struct nb_record *record =
        nb_analyse(incoming->packet, incoming->carrier, incoming->pinfo, key, incoming->verify, pref_position);

    if (record != NULL) {
        nb_read_as(incoming->packet, (enum nb_dialect)record->dialect);
    }
    *known = nb_known_of(record);
}

static void show(const struct nb_view *view)
{
    nb_show_conversation(view->packet, view->known.record, view->pinfo, view->tree);
    nb_show_record(view->packet, view->known.record, view->pinfo, view->tree, pref_position);
    nb_tell_events(view->known.record, view->pinfo, view->root);
}

static void register_preferences(void)
{
    static const enum_val_t positions[] = {{"auto", "Inferred", NB_POSITION_AUTO},
                                           {"sender", "At the sender of the data", NB_POSITION_SENDER},
                                           {"receiver", "At the receiver of the data", NB_POSITION_RECEIVER},
                                           {"between", "Somewhere between", NB_POSITION_BETWEEN},
                                           {NULL, NULL, -1}};
    module_t *module = prefs_find_module("netblt");

    prefs_register_uint_preference(
        module, "memory_limit", "Memory limit (MiB)",
        "Memory for the analysis and the reports of a file together, in addition to 200 bytes "
        "for each packet and 20 KB for each connection. A connection that needs more is "
        "not checked any further.",
        10, &nb_memory_limit_mib);
    prefs_register_enum_preference(module, "capture_position", "Capture position",
                                   "Where this capture was taken. A capture at the sender proves the order in which "
                                   "packets left it. Set this only if that is where the capture was made.",
                                   &pref_position, positions, FALSE);
}

void proto_register_netblt_analysis(void)
{
    static const struct nb_stage stage = {.learn = learn, .show = show};

    nb_register_analysis_fields(proto_netblt);
    nb_register_rules(proto_netblt);
    nb_register_conversation_fields(proto_netblt);
    register_preferences();
    nb_register_memory();
    nb_register_arena();
    nb_register_analysis();
    nb_add_stage(&stage);
}
