/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The findings of a packet in its tree: expert items with their fields, and the filter of every rule. */
#include "tree/findings-tree.h"

#include "connection/position.h"
#include "decode/fields.h"
#include "rules/verdicts.h"
#include "tree/fields-analysis.h"

static const struct {
    const char *id;
    const char *slug;
    int severity;
    const char *text;
} events[NB_EVENT_KINDS] = {
#define NB_EVENT_ROW(name, id, slug, severity, text) {id, slug, severity, text},
    NB_EVENT_LIST(NB_EVENT_ROW)
#undef NB_EVENT_ROW
};

static expert_field ei_violation[NB_RULES];
static expert_field ei_suspected[NB_RULES];
static expert_field ei_event[NB_EVENT_KINDS];

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

/* A rule with the same content is found by its filter, and reported once. */
static void add_same(proto_tree *tree, tvbuff_t *tvb, enum nb_rule rule)
{
    if (rule != NB_RULES) {
        proto_item_set_hidden(proto_tree_add_item(tree, ei_violation[rule].hf, tvb, 0, 0, ENC_NA));
    }
}

static const char *id_of(const struct nb_finding *finding)
{
    return finding->verdict == NB_EVENT ? events[finding->rule].id : nb_rule_info(finding->rule)->id;
}

/* `CTRL-04: violation`. Of a violation or suspicion the value of the field holds the reason too, for a column. */
static proto_item *add_title(proto_tree *tree, tvbuff_t *tvb, packet_info *pinfo, const struct nb_finding *finding)
{
    const char *id = id_of(finding);
    proto_item *item;

    if (finding->verdict == NB_EVENT) {
        proto_tree_add_subtree_format(tree, tvb, 0, 0, ett_netblt_finding, &item, "%s: note", id);
    } else {
        const char *verdict = val_to_str_const(finding->verdict, nb_verdict_names, "");
        item = proto_tree_add_string_format(tree, hf_netblt_finding, tvb, 0, 0,
                                            wmem_strdup_printf(pinfo->pool, "%s %s: %s", id, verdict, finding->text),
                                            "%s: %s", id, verdict);
    }
    proto_item_set_generated(item);
    return item;
}

static expert_field *expert_of(const struct nb_finding *finding)
{
    return finding->verdict == NB_EVENT       ? &ei_event[finding->rule]
           : finding->verdict == NB_VIOLATION ? &ei_violation[finding->rule]
                                              : &ei_suspected[finding->rule];
}

static void show(const struct nb_finding *finding, enum nb_dialect dialect, packet_info *pinfo, proto_tree *tree,
                 tvbuff_t *tvb)
{
    proto_item *item = add_title(tree, tvb, pinfo, finding);
    proto_tree *sub = proto_item_add_subtree(item, ett_netblt_finding);

    expert_add_info_format(pinfo, item, expert_of(finding), "%s%s [%s]",
                           finding->verdict == NB_SUSPECTED ? "Suspected: " : "", finding->text, id_of(finding));
    if (finding->verdict != NB_EVENT) {
        add_string(sub, tvb, hf_netblt_analysis_requirement, id_of(finding));
        proto_item_set_generated(proto_tree_add_uint(sub, hf_netblt_analysis_verdict, tvb, 0, 0, finding->verdict));
        add_string(sub, tvb, hf_netblt_analysis_offender, finding->offender);
        add_same(sub, tvb, nb_rule_same((enum nb_rule)finding->rule, dialect));
    }
    add_frame(sub, tvb, hf_netblt_analysis_offending, finding->offending_frame);
    add_frame(sub, tvb, hf_netblt_analysis_request, finding->request_frame);
    add_frame(sub, tvb, hf_netblt_analysis_evidence, finding->evidence_frame);
    add_frame(sub, tvb, hf_netblt_analysis_proof, finding->proof_frame);
}

static void show_findings(const struct nb_record *record, packet_info *pinfo, proto_tree *tree, tvbuff_t *tvb)
{
    const struct nb_finding *list = nb_finding_in(record->notes);

    if (list == NULL) {
        return;
    }
    proto_item *item = proto_tree_add_item(tree, hf_netblt_analysis, tvb, 0, 0, ENC_NA);
    proto_tree *sub = proto_item_add_subtree(item, ett_netblt_analysis);

    proto_item_set_generated(item);
    for (; list != NULL; list = nb_next_finding(list)) {
        show(list, (enum nb_dialect)record->dialect, pinfo, sub, tvb);
    }
}

void nb_show_record(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo,
                    proto_tree *tree, bool position_is_set)
{
    if (record == NULL) {
        return;
    }
    proto_item *item = proto_tree_add_uint(tree, hf_netblt_capture_position, packet->tvb, 0, 0, record->position);
    proto_item_set_generated(item);
    proto_item_append_text(item, position_is_set ? " (set by preference)" : " (inferred, proves nothing)");
    show_findings(record, pinfo, tree, packet->tvb);
}

static ei_register_info row(expert_field *field, const char *slug, int severity, const char *text)
{
    const ei_register_info info = {
        field,
        {wmem_strdup_printf(wmem_epan_scope(), "netblt.analysis.%s", slug), PI_SEQUENCE, severity, text, EXPFILL}};

    return info;
}

/* Violation and suspicion of one rule share a filter name, so that the filter finds both. */
void nb_register_rules(int proto)
{
    static ei_register_info rows[2 * NB_RULES + NB_EVENT_KINDS];
    int count = 0;

    for (unsigned i = 0; i < NB_RULES; i++) {
        const struct nb_rule_info *rule = nb_rule_info(i);
        const char *text = wmem_strdup_printf(wmem_epan_scope(), "%s [%s]", rule->summary, rule->id);

        ei_violation[i] = (expert_field)EI_INIT;
        ei_suspected[i] = (expert_field)EI_INIT;
        rows[count++] =
            row(&ei_violation[i], rule->slug, PI_ERROR, wmem_strdup_printf(wmem_epan_scope(), "Violation: %s", text));
        rows[count++] =
            row(&ei_suspected[i], rule->slug, PI_WARN, wmem_strdup_printf(wmem_epan_scope(), "Suspected: %s", text));
    }
    for (unsigned i = 0; i < NB_EVENT_KINDS; i++) {
        ei_event[i] = (expert_field)EI_INIT;
        rows[count++] = row(&ei_event[i], events[i].slug, events[i].severity,
                            wmem_strdup_printf(wmem_epan_scope(), "%s [%s]", events[i].text, events[i].id));
    }
    expert_register_field_array(expert_register_protocol(proto), rows, count);
}
