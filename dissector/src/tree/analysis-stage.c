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
static const char *pref_points = "";

/* Interfaces of a file that the preference may name. */
#define MOST_POINTS 64

static struct {
    struct nb_point of[MOST_POINTS];
    unsigned count;
    unsigned whole;
} points;

static enum nb_position position_named(const char *name)
{
    return strcmp(name, "sender") == 0     ? NB_POSITION_SENDER
           : strcmp(name, "receiver") == 0 ? NB_POSITION_RECEIVER
           : strcmp(name, "between") == 0  ? NB_POSITION_BETWEEN
                                           : NB_POSITION_AUTO;
}

static void read_points(void)
{
    char **names = g_strsplit(pref_points, ",", MOST_POINTS);

    for (unsigned i = 0; i < points.count; i++) {
        g_strfreev(points.of[i].hosts);
    }
    points.whole = 0;
    points.count = pref_points[0] == '\0' ? 0 : MIN(g_strv_length(names), MOST_POINTS);
    for (unsigned i = 0; i < points.count; i++) {
        const char *name = g_strstrip(names[i]);
        const enum nb_position position = position_named(name);
        const bool host = strpbrk(name, ".:") != NULL;

        points.of[i] =
            (struct nb_point){.position = position,
                              .hosts = host ? g_strsplit(name, " ", MOST_POINTS) : NULL,
                              .whole = host || position == NB_POSITION_SENDER || position == NB_POSITION_RECEIVER};
        points.whole += points.of[i].whole;
    }
    for (unsigned i = 0; i < points.count; i++) {
        points.of[i].both_ends = points.of[i].whole && points.whole > 1;
    }
    g_strfreev(names);
}

static struct nb_point point_of(const packet_info *pinfo)
{
    const unsigned interface = pinfo->rec != NULL && pinfo->rec->presence_flags & WTAP_HAS_INTERFACE_ID
                                   ? pinfo->rec->rec_header.packet_header.interface_id
                                   : 0;

    return interface < points.count &&
                   (points.of[interface].hosts != NULL || points.of[interface].position != NB_POSITION_AUTO)
               ? points.of[interface]
               : (struct nb_point) {
        .position = (enum nb_position)pref_position
    };
}

static void learn(const struct nb_incoming *incoming, struct nb_known *known)
{
    const uint32_t key = nb_record_key(incoming->occurrence, incoming->idx);
    const struct nb_record *record = nb_analyse(incoming->packet, incoming->carrier, incoming->pinfo, key,
                                                incoming->verify, point_of(incoming->pinfo));

    if (record != NULL) {
        nb_read_as(incoming->packet, (enum nb_dialect)record->dialect);
    }
    *known = nb_known_of(record);
}

static bool is_set(const packet_info *pinfo)
{
    const struct nb_point point = point_of(pinfo);

    return point.hosts != NULL || point.position != NB_POSITION_AUTO;
}

static void show(const struct nb_view *view)
{
    nb_show_conversation(view->packet, view->known.record, view->pinfo, view->tree);
    nb_show_record(view->packet, view->known.record, view->pinfo, view->tree, is_set(view->pinfo));
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
    prefs_register_string_preference(module, "capture_points", "Capture points",
                                     "Where each interface of the file was captured: sender, receiver, between, the "
                                     "address of a host, or nothing; separated by commas, the first interface first. "
                                     "Name an end only if its capture holds every packet that it sent and received.",
                                     &pref_points);
    register_init_routine(read_points);
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
