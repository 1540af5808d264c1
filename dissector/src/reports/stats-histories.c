/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connections of a listener: which packets and findings of them it saw. */
#include "reports/stats-history.h"

#include "rules/findings.h"

static void drop(GArray *array)
{
    if (array != NULL) {
        g_array_free(array, TRUE);
    }
}

static void drop_list(GPtrArray *array)
{
    if (array != NULL) {
        g_ptr_array_free(array, TRUE);
    }
}

static void free_broken(GArray *broken)
{
    for (guint i = 0; broken != NULL && i < broken->len; i++) {
        drop(g_array_index(broken, struct nb_rule_history, i).violations);
        drop(g_array_index(broken, struct nb_rule_history, i).suspicions);
    }
    drop(broken);
}

static void free_history(gpointer data)
{
    struct nb_history *history = data;

    free_broken(history->broken);
    drop_list(history->buffers);
    drop_list(history->messages);
    nb_account_close(&history->account);
    g_free(history);
}

struct nb_histories *nb_histories_new(void)
{
    struct nb_histories *all = g_new0(struct nb_histories, 1);

    all->list = g_ptr_array_new_with_free_func(free_history);
    all->by_stream = g_hash_table_new(g_direct_hash, g_direct_equal);
    return all;
}

void nb_histories_reset(struct nb_histories *all)
{
    all->newest_frame = 0;
    g_hash_table_remove_all(all->by_stream);
    g_ptr_array_set_size(all->list, 0);
}

void nb_histories_free(struct nb_histories *all)
{
    g_hash_table_destroy(all->by_stream);
    g_ptr_array_free(all->list, TRUE);
    g_free(all);
}

static struct nb_history *history_of(struct nb_histories *all, const struct nb_stream *stream)
{
    struct nb_history *history = g_hash_table_lookup(all->by_stream, stream);

    if (history == NULL) {
        history = g_new0(struct nb_history, 1);
        history->stream = stream;
        nb_account_open(&history->account, &nb_quota_report, sizeof(*history) + NB_MAP_ENTRY_BYTES);
        g_hash_table_insert(all->by_stream, (gpointer)stream, history);
        g_ptr_array_add(all->list, history);
    }
    return history;
}

static void note_offender(const char **offenders, const char *who)
{
    for (int i = 0; i < 2 && who != NULL; i++) {
        if (offenders[i] == NULL || strcmp(offenders[i], who) == 0) {
            offenders[i] = who;
            return;
        }
    }
}

const struct nb_rule_history *nb_history_rule(const struct nb_history *history, unsigned rule)
{
    for (guint i = 0; history->broken != NULL && i < history->broken->len; i++) {
        if (g_array_index(history->broken, struct nb_rule_history, i).rule == rule) {
            return &g_array_index(history->broken, struct nb_rule_history, i);
        }
    }
    return NULL;
}

static struct nb_rule_history *broken_rule(struct nb_history *history, unsigned rule)
{
    const struct nb_rule_history one = {.rule = rule};
    struct nb_rule_history *found = (struct nb_rule_history *)nb_history_rule(history, rule);

    if (found != NULL) {
        return found;
    }
    if (history->broken == NULL) {
        history->broken = g_array_new(FALSE, FALSE, sizeof(struct nb_rule_history));
    }
    nb_account_take(&history->account, sizeof(one));
    g_array_append_val(history->broken, one);
    return &g_array_index(history->broken, struct nb_rule_history, history->broken->len - 1);
}

static void note_frame(struct nb_history *history, GArray **frames, uint32_t frame)
{
    if (*frames == NULL) {
        *frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    }
    if ((*frames)->len == 0 || g_array_index(*frames, uint32_t, (*frames)->len - 1) != frame) {
        nb_account_take(&history->account, sizeof(frame));
        g_array_append_val(*frames, frame);
    }
}

/* The frame that breaks the rule, which may be an earlier one than the frame that proves it. */
static void note_findings(struct nb_history *history, const struct nb_record *record, uint32_t frame)
{
    for (const struct nb_finding *finding = nb_finding_in(record->notes); finding != NULL;
         finding = nb_next_finding(finding)) {
        if (finding->verdict == NB_EVENT || finding->rule >= NB_RULES) {
            continue;
        }
        struct nb_rule_history *rule = broken_rule(history, finding->rule);
        const bool violation = finding->verdict == NB_VIOLATION;
        note_offender(rule->offenders, finding->offender);
        note_frame(history, violation ? &rule->violations : &rule->suspicions,
                   violation && finding->offending_frame != 0 ? finding->offending_frame : frame);
    }
}

struct nb_history *nb_histories_note(struct nb_histories *all, const packet_info *pinfo, const struct nb_tap *tap)
{
    const struct nb_stream *stream = nb_stream_of_record(tap->record);

    if (stream == NULL) {
        return NULL;
    }
    if (pinfo->num < all->newest_frame) {
        nb_histories_reset(all);
    }
    all->newest_frame = pinfo->num;
    struct nb_history *history = history_of(all, stream);
    const double now_s = nstime_to_sec(&pinfo->rel_ts);
    nb_account_packet(&history->account);
    if (history->packets++ == 0) {
        history->first_s = now_s;
    }
    history->last_s = now_s;
    if (!tap->counts) {
        history->copies += (tap->record->facts & NB_IS_COPY) != 0;
        history->broken_packets += (tap->record->facts & NB_IS_COPY) == 0;
    }
    note_findings(history, tap->record, pinfo->num);
    return history;
}

char *nb_history_limit(const struct nb_history *history)
{
    const uint32_t frame = history->stream->account.exhausted_frame;

    if (frame == 0) {
        return NULL;
    }
    return g_strdup_printf("no memory is left for it from frame %u on: it is checked only up to there; the preference "
                           "netblt.memory_limit (%u MiB) allows more",
                           frame, nb_memory_limit_mib);
}
