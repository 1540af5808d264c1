/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of findings of one packet. */
#include "rules/findings.h"

#include "wireshark/memory.h"

const value_string nb_verdict_names[] = {{NB_SUSPECTED, "suspected"}, {NB_VIOLATION, "violation"}, {0, NULL}};

struct nb_finding *nb_add_finding(struct nb_record *record, const struct nb_finding *finding)
{
    struct nb_finding *copy = (struct nb_finding *)nb_file_new(sizeof(struct nb_finding));

    *copy = *finding;
    copy->note = (struct nb_note){.kind = NB_NOTE_FINDING};
    nb_note_add(record, &copy->note);
    return copy;
}
