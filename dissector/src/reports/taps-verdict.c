/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics > NETBLT Verdict: a row for each requirement that a capture can verify, summed up over the connections
 * that the filter chooses. Such a table does not learn when to draw, so a row is made again when a packet changes it.
 */
#include "reports/dialog-table.h"
#include "reports/taps.h"
#include "rules/findings.h"

/* Of one rule in one connection, as it was added to the sum. */
struct counts {
    uint32_t violations, suspicions, observations;
};

/* Of one rule in all connections. Frames are the first ones, 0 when there is none. */
struct sum {
    uint64_t violations, suspicions, observations;
    uint32_t first_violation, first_proof, first_suspicion, first_passed;
    char *offenders[2];
};

static const struct nb_column columns[] = {
    {"REQUIREMENT", NULL, 0, NB_LEFT}, {"VERDICT", NULL, 0, NB_LEFT},       {"VIOLATIONS", NULL, 0, NB_RIGHT},
    {"SUSPECTED", NULL, 0, NB_RIGHT},  {"PASSED", NULL, 0, NB_RIGHT},       {"VIOLATION IN", NULL, 0, NB_RIGHT},
    {"PROVEN IN", NULL, 0, NB_RIGHT},  {"SUSPECTED IN", NULL, 0, NB_RIGHT}, {"PASSED IN", NULL, 0, NB_RIGHT},
    {"BY", NULL, 0, NB_LEFT},          {"WHAT", NULL, 0, NB_LEFT},
};

/* Wireshark keeps one such table. */
static struct {
    struct nb_histories *all;
    GHashTable *counted; /* history -> struct counts [NB_RULES] */
    struct sum sums[NB_RULES];
    stat_tap_table *table;
    stat_tap_table_item items[array_length(columns)];
} verdict;

static void forget(void)
{
    nb_histories_reset(verdict.all);
    g_hash_table_remove_all(verdict.counted);
    for (unsigned rule = 0; rule < NB_RULES; rule++) {
        g_free(verdict.sums[rule].offenders[0]);
        g_free(verdict.sums[rule].offenders[1]);
    }
    memset(verdict.sums, 0, sizeof(verdict.sums));
}

static struct nb_cell frame(uint32_t number)
{
    return number != 0 ? nb_cell_uint(number) : nb_cell_none();
}

static struct nb_cell offenders(const struct sum *sum)
{
    struct nb_cell cell = nb_cell_none();

    if (sum->offenders[0] != NULL) {
        cell.kind = NB_CELL_TEXT;
        cell.text = g_strjoin(", ", sum->offenders[0], sum->offenders[1], NULL);
    }
    return cell;
}

/* The worst of all connections. */
static const char *conclusion(const struct sum *sum)
{
    const struct nb_standing standing = {
        .violations = sum->violations > 0, .suspicions = sum->suspicions > 0, .observations = sum->observations > 0};

    return nb_conclusion_names[nb_conclude(&standing)];
}

static void show(unsigned rule)
{
    const struct sum *sum = &verdict.sums[rule];
    const struct nb_rule_info *info = nb_rule_info(rule);
    struct nb_cell cells[] = {
        nb_cell_text(info->id),          nb_cell_text(conclusion(sum)),
        nb_cell_uint(sum->violations),   nb_cell_uint(sum->suspicions),
        nb_cell_uint(sum->observations), frame(sum->first_violation),
        frame(sum->first_proof),         frame(sum->first_suspicion),
        frame(sum->first_passed),        offenders(sum),
        nb_cell_text(info->summary),
    };

    for (guint i = 0; i < array_length(columns); i++) {
        nb_dialog_set(verdict.table, rule, i, nb_dialog_item(&cells[i], &columns[i]));
    }
    nb_cells_free(cells, array_length(cells));
}

static void make_rows(void)
{
    stat_tap_table_item_type empty[array_length(columns)] = {0};

    for (unsigned rule = 0; rule < NB_RULES; rule++) {
        stat_tap_init_table_row(verdict.table, rule, array_length(columns), empty);
        show(rule);
    }
}

static void take_earlier(uint32_t *first, uint32_t number)
{
    if (number != 0 && (*first == 0 || number < *first)) {
        *first = number;
    }
}

static void add_offender(struct sum *sum, const char *offender)
{
    for (size_t i = 0; offender != NULL && i < array_length(sum->offenders); i++) {
        if (sum->offenders[i] == NULL) {
            sum->offenders[i] = g_strdup(offender);
        }
        if (strcmp(sum->offenders[i], offender) == 0) {
            return;
        }
    }
}

/* Brings the sum of a rule up to date with one connection; returns whether that changes anything. */
static bool add(struct sum *sum, struct counts *counted, const struct nb_history *history, unsigned rule)
{
    const struct nb_standing now = nb_history_standing(history, rule);
    const struct nb_rule_history *found = nb_history_rule(history, rule);

    for (size_t i = 0; found != NULL && i < array_length(found->offenders); i++) {
        add_offender(sum, found->offenders[i]);
    }
    if (now.violations == counted->violations && now.suspicions == counted->suspicions &&
        now.observations == counted->observations) {
        return false;
    }
    sum->violations += now.violations - (uint64_t)counted->violations;
    sum->suspicions += now.suspicions - (uint64_t)counted->suspicions;
    sum->observations += now.observations - (uint64_t)counted->observations;
    *counted = (struct counts){now.violations, now.suspicions, now.observations};
    take_earlier(&sum->first_violation, now.first_violation);
    take_earlier(&sum->first_proof, now.first_proof);
    take_earlier(&sum->first_suspicion, now.first_suspicion);
    take_earlier(&sum->first_passed, now.first_kept);
    return true;
}

static bool has_findings(const struct nb_tap *tap)
{
    return tap->record != NULL && nb_finding_in(tap->record->notes) != NULL;
}

static void reset(stat_tap_table *table)
{
    nb_dialog_empty(table);
    forget();
}

static tap_packet_status take(void *state _U_, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                              tap_flags_t flags _U_)
{
    if (pinfo->num < verdict.all->newest_frame) {
        reset(verdict.table); /* the capture is read again, and the histories restart */
    }
    const struct nb_history *history = nb_histories_note(verdict.all, pinfo, data);
    if (history == NULL) {
        return TAP_PACKET_DONT_REDRAW;
    }
    struct counts *counted = g_hash_table_lookup(verdict.counted, history);
    if (counted == NULL) {
        counted = g_new0(struct counts, NB_RULES);
        g_hash_table_insert(verdict.counted, (gpointer)history, counted);
    }
    if (verdict.table->num_elements == 0) {
        make_rows();
    }
    for (unsigned rule = 0; rule < NB_RULES; rule++) {
        const bool changed = add(&verdict.sums[rule], &counted[rule], history, rule);
        if (changed || (has_findings(data) && nb_history_rule(history, rule) != NULL)) {
            show(rule); /* the offender is known from the packet with the finding on */
        }
    }
    return TAP_PACKET_REDRAW;
}

static void start(stat_tap_table_ui *ui)
{
    stat_tap_table *table = stat_tap_find_table(ui, ui->title);

    if (table != NULL) {
        reset(table);
        return;
    }
    if (verdict.all == NULL) {
        verdict.all = nb_histories_new();
        verdict.counted = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    }
    forget();
    verdict.table = stat_tap_init_table(ui->title, array_length(columns), 0, NULL);
    stat_tap_add_table(ui, verdict.table);
}

void nb_register_verdict_dialog(void)
{
    static tap_param parameters[] = {{PARAM_FILTER, "filter", "Filter", NULL, TRUE}};
    static stat_tap_table_ui ui = {.group = REGISTER_PACKET_STAT_GROUP_UNSORTED,
                                   .title = "NETBLT Verdict",
                                   .tap_name = NB_TAP_NAME,
                                   .cli_string = "netblt,table,verdict",
                                   .stat_tap_init_cb = start,
                                   .packet_func = take,
                                   .stat_tap_reset_table_cb = reset,
                                   .stat_tap_free_table_item_cb = nb_dialog_free_item,
                                   .nfields = array_length(columns),
                                   .fields = verdict.items,
                                   .nparams = array_length(parameters),
                                   .params = parameters};

    for (size_t i = 0; i < array_length(columns); i++) {
        verdict.items[i] = (stat_tap_table_item){
            TABLE_ITEM_STRING, columns[i].style == NB_LEFT ? TAP_ALIGN_LEFT : TAP_ALIGN_RIGHT, columns[i].title, "%s"};
    }
    register_stat_tap_table_ui(&ui);
}
