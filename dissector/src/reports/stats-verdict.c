/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of each connection for each requirement that a capture can verify (verdicts.h). The analysis judges the
 * whole file; a filter chooses connections, by any of their packets. */
#include "reports/stats-report.h"

#include "rules/verdicts.h"

const char *const nb_conclusion_names[] = {[NB_NOT_OBSERVED] = "not observable",
                                           [NB_WAS_HELD] = "passed",
                                           [NB_WAS_SUSPECTED] = "suspected",
                                           [NB_WAS_VIOLATED] = "violation"};

static const char *const reaches[] = {
    [NB_REACH_VIOLATION] = "violation", [NB_REACH_SUSPECTED] = "suspected", [NB_REACH_OBSERVED] = "observed"};

static guint count_rules(struct nb_history *history _U_)
{
    return NB_RULES;
}

static const struct nb_column rule_columns[] = {
    {"REQUIREMENT", "requirement", 0, NB_LEFT},
    {"VERDICT", "verdict", 0, NB_LEFT},
    {"VIOLATIONS", "violations", 0, NB_RIGHT},
    {"SUSPECTED", "suspicions", 0, NB_RIGHT},
    {"PASSED", "observations", 0, NB_RIGHT},
    {"VIOLATION IN", "violation_frames", 0, NB_LEFT},
    {"PROVEN IN", "proof_frame", 0, NB_RIGHT},
    {"SUSPECTED IN", "suspicion_frames", 0, NB_LEFT},
    {"PASSED IN", "first_passed_frame", 0, NB_RIGHT},
    {"BY", "offender", 0, NB_LEFT},
    {"WHAT", "summary", 0, NB_CONSTANT},
    {NULL, "filter", 0, NB_CONSTANT},
    {NULL, "reach", 0, NB_CONSTANT},
};

/* Frames with findings of the rule that this listener saw; the first one of the whole file when it saw none. */
static struct nb_cell frames(const struct nb_history *history, guint rule, bool violations, uint32_t first)
{
    const struct nb_rule_history *broken = nb_history_rule(history, rule);
    const GArray *found = broken == NULL ? NULL : violations ? broken->violations : broken->suspicions;
    GString *text = g_string_new(NULL);

    for (guint i = 0; found != NULL && i < found->len; i++) {
        g_string_append_printf(text, i > 0 ? " %u" : "%u", g_array_index(found, uint32_t, i));
    }
    if (text->len == 0 && first != 0) {
        g_string_append_printf(text, "%u", first);
    }
    struct nb_cell cell = text->len > 0 ? (struct nb_cell){.kind = NB_CELL_LIST, .text = text->str} : nb_cell_none();
    g_string_free(text, text->len == 0);
    return cell;
}

static struct nb_cell frame(uint32_t number)
{
    return number != 0 ? nb_cell_uint(number) : nb_cell_none();
}

static struct nb_cell offenders(const struct nb_history *history, guint rule)
{
    const struct nb_rule_history *broken = nb_history_rule(history, rule);
    struct nb_cell cell = nb_cell_none();

    if (broken != NULL && broken->offenders[0] != NULL) {
        cell.kind = NB_CELL_TEXT;
        cell.text = g_strjoin(", ", broken->offenders[0], broken->offenders[1], NULL);
    }
    return cell;
}

/* A packet can break a rule of a connection that it does not name: a RESPONSE whose ports were not swapped. Then both
 * connections report it, that of the packet because it shows the finding. */
struct nb_standing nb_history_standing(const struct nb_history *history, guint rule)
{
    struct nb_standing standing = nb_standing_of(history->stream, rule);
    const struct nb_rule_history *broken = nb_history_rule(history, rule);

    if (broken != NULL && broken->violations != NULL) {
        standing.violations = MAX(standing.violations, broken->violations->len);
    }
    if (broken != NULL && broken->suspicions != NULL) {
        standing.suspicions = MAX(standing.suspicions, broken->suspicions->len);
    }
    return standing;
}

static void rule_row(const struct nb_history *history, guint i, struct nb_cell *cells)
{
    const struct nb_rule_info *info = nb_rule_info(i);
    const struct nb_standing standing = nb_history_standing(history, i);
    struct nb_cell *cell = cells;

    *cell++ = nb_cell_text(info->id);
    *cell++ = nb_cell_text(nb_conclusion_names[nb_conclude(&standing)]);
    *cell++ = nb_cell_uint(standing.violations);
    *cell++ = nb_cell_uint(standing.suspicions);
    *cell++ = nb_cell_uint(standing.observations);
    *cell++ = frames(history, i, true, standing.first_violation);
    *cell++ = frame(standing.first_proof);
    *cell++ = frames(history, i, false, standing.first_suspicion);
    *cell++ = frame(standing.first_kept);
    *cell++ = offenders(history, i);
    *cell++ = nb_cell_text(info->summary);
    cell->kind = NB_CELL_TEXT;
    cell->text = g_strdup_printf("netblt.analysis.%s", info->slug);
    *++cell = nb_cell_text(reaches[info->reach]);
}

/* The rule was put to the test. */
static bool was_tested(const struct nb_history *history, guint rule)
{
    const struct nb_standing standing = nb_history_standing(history, rule);

    return nb_conclude(&standing) != NB_NOT_OBSERVED;
}

static const struct nb_table table_rules = {"requirements", NULL,     rule_columns, array_length(rule_columns),
                                            count_rules,    rule_row, was_tested};

static guint one(struct nb_history *history _U_)
{
    return 1;
}

static const struct nb_column total_columns[] = {
    {"VIOLATIONS", "violations", 0, NB_RIGHT}, {"SUSPECTED", "suspected", 0, NB_RIGHT},
    {"PASSED", "passed", 0, NB_RIGHT},         {"NOT OBSERVABLE", "not_observable", 0, NB_RIGHT},
    {"DIALECT", "dialect", 0, NB_LEFT},
};

static void total_row(const struct nb_history *history, guint i _U_, struct nb_cell *cells)
{
    const enum nb_dialect dialect = history->stream->dialect;
    uint64_t count[NB_CONCLUSIONS] = {0};

    for (unsigned rule = 0; rule < NB_RULES; rule++) {
        const struct nb_standing standing = nb_history_standing(history, rule);
        count[nb_conclude(&standing)]++;
    }
    cells[0] = nb_cell_uint(count[NB_WAS_VIOLATED]);
    cells[1] = nb_cell_uint(count[NB_WAS_SUSPECTED]);
    cells[2] = nb_cell_uint(count[NB_WAS_HELD]);
    cells[3] = nb_cell_uint(count[NB_NOT_OBSERVED]);
    cells[4] = dialect == NB_AUTO ? nb_cell_none() : nb_cell_text(val_to_str_const(dialect, nb_dialect_names, "?"));
}

static const struct nb_table table_totals = {"totals", NULL,      total_columns, array_length(total_columns),
                                             one,      total_row, NULL};

static const struct nb_table *const tables[] = {&table_totals, &table_rules};

const struct nb_report nb_report_verdict = {
    "verdict",
    "NETBLT requirements as far as a capture can verify them",
    "violation: no loss, reordering, duplication or corruption, in the network or\n"
    "in the capture, explains these frames. suspected: one of these may.\n"
    "passed: tested, and no packet contradicts it.\n"
    "not observable: never tested in this capture.\n"
    "VIOLATION IN: frames with a violation. PROVEN IN: the frame that completed the\n"
    "first proof. Filter: netblt.analysis.flags.\n"
    "DIALECT: in RFC 1986 and version 4 only the rules of RFC 998 that hold there\n"
    "are checked.\n",
    tables,
    array_length(tables),
};
