/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings.h"

#include "fields.h"

static const struct {
    const char *requirement;
    expert_field *violation;
    expert_field *suspected;
    expert_field *event;
} rules[] = {
    [NB_RULE_CTRL_REDUNDANCY] = {"CTRL-04", &ei_netblt_ctrl_redundancy, &ei_netblt_ctrl_redundancy_suspected, NULL},
    [NB_RULE_CTRL_TAIL] = {"CTRL-04", NULL, NULL, &ei_netblt_ctrl_tail},
    [NB_RULE_BUFFER_ORDER] = {"ORDER-02", &ei_netblt_buffer_order, &ei_netblt_buffer_order_suspected, NULL},
};

static const char *const verdict_names[] = {
    [NB_EVENT] = "event", [NB_SUSPECTED] = "suspected", [NB_VIOLATION] = "violation"};

void nb_add_finding(struct nb_finding **list, const struct nb_finding *finding)
{
    struct nb_finding *copy = wmem_new(wmem_file_scope(), struct nb_finding);

    *copy = *finding;
    copy->next = NULL;
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = copy;
}

static void add_string(proto_tree *tree, tvbuff_t *tvb, int hf, const char *text)
{
    proto_item_set_generated(proto_tree_add_string(tree, hf, tvb, 0, 0, text));
}

static void add_frame(proto_tree *tree, tvbuff_t *tvb, int hf, uint32_t frame)
{
    if (frame != 0) {
        proto_item_set_generated(proto_tree_add_uint(tree, hf, tvb, 0, 0, frame));
    }
}

static expert_field *expert_of(const struct nb_finding *finding)
{
    switch (finding->verdict) {
    case NB_VIOLATION:
        return rules[finding->rule].violation;
    case NB_SUSPECTED:
        return rules[finding->rule].suspected;
    default:
        return rules[finding->rule].event;
    }
}

static void show(const struct nb_finding *finding, packet_info *pinfo, proto_tree *tree, tvbuff_t *tvb)
{
    const char *id = rules[finding->rule].requirement;
    const char *text = wmem_strdup_printf(pinfo->pool, "%s%s [%s]",
                                          finding->verdict == NB_SUSPECTED ? "Suspected: " : "", finding->text, id);
    proto_item *item;
    proto_tree *sub = proto_tree_add_subtree_format(tree, tvb, 0, 0, ett_netblt_finding, &item, "%s: %s", id,
                                                    verdict_names[finding->verdict]);

    proto_item_set_generated(item);
    expert_add_info_format(pinfo, item, expert_of(finding), "%s", text);
    if (finding->verdict != NB_EVENT) {
        add_string(sub, tvb, hf_netblt_analysis_requirement, id);
        add_string(sub, tvb, hf_netblt_analysis_verdict, verdict_names[finding->verdict]);
        add_string(sub, tvb, hf_netblt_analysis_offender, finding->offender);
    }
    add_frame(sub, tvb, hf_netblt_analysis_offending, finding->offending_frame);
    add_frame(sub, tvb, hf_netblt_analysis_request, finding->request_frame);
    add_frame(sub, tvb, hf_netblt_analysis_evidence, finding->evidence_frame);
}

void nb_show_findings(const struct nb_finding *list, packet_info *pinfo, proto_tree *tree, tvbuff_t *tvb)
{
    if (list == NULL) {
        return;
    }
    proto_item *item = proto_tree_add_item(tree, hf_netblt_analysis, tvb, 0, 0, ENC_NA);
    proto_tree *sub = proto_item_add_subtree(item, ett_netblt_analysis);

    proto_item_set_generated(item);
    for (; list != NULL; list = list->next) {
        show(list, pinfo, sub, tvb);
    }
}
