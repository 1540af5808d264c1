/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the analysis has to say about a packet, and how it is shown. Findings are made on the first pass and kept, so
 * that every later look at the frame shows the same. */
#ifndef NETBLT_FINDINGS_H
#define NETBLT_FINDINGS_H

#include "compat.h"

enum nb_rule { NB_RULE_CTRL_REDUNDANCY, NB_RULE_CTRL_TAIL, NB_RULE_BUFFER_ORDER };

/* What it takes: VIOLATION no loss, reordering, duplication, corruption or capture position explains the packets;
 * SUSPECTED something might; EVENT worth knowing, blames nobody. */
enum nb_verdict { NB_EVENT, NB_SUSPECTED, NB_VIOLATION };

struct nb_finding {
    struct nb_finding *next;
    enum nb_rule rule;
    enum nb_verdict verdict;
    const char *text;         /* one sentence with the reason, without the requirement ID */
    const char *offender;     /* "10.0.0.1 receiver" */
    uint32_t offending_frame; /* 0 when it is the frame itself */
    uint32_t request_frame;   /* where the message at stake was captured; 0 when none */
    uint32_t evidence_frame;  /* what else proves it; 0 when none */
};

/* Adds a copy of *finding (file scope) to the end of *list. Its strings must be in file scope. */
void nb_add_finding(struct nb_finding **list, const struct nb_finding *finding);

/* Shows the findings under `tree` as expert items with their fields. */
void nb_show_findings(const struct nb_finding *list, packet_info *pinfo, proto_tree *tree, tvbuff_t *tvb);

#endif
