/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/stats-history.h"

#include "reports/stats-transfer.h"
#include "rules/findings.h"

static void drop(GArray *array)
{
    if (array != NULL) {
        g_array_free(array, TRUE);
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

    nb_transfer_free(history);
    free_broken(history->broken);
    g_free(history->address[0]);
    g_free(history->address[1]);
    nb_account_close(&history->account);
    g_free(history);
}

struct nb_histories *nb_histories_new(enum nb_keeping keeping)
{
    struct nb_histories *all = g_new0(struct nb_histories, 1);

    all->keeping = keeping;
    all->answers = g_array_new(FALSE, FALSE, sizeof(struct nb_answer));
    all->touched_buffers = g_ptr_array_new();
    all->touched_messages = g_ptr_array_new();
    all->list = g_ptr_array_new_with_free_func(free_history);
    all->by_stream = g_hash_table_new(g_direct_hash, g_direct_equal);
    return all;
}

static void forget_touched(struct nb_histories *all)
{
    g_array_set_size(all->answers, 0);
    g_ptr_array_set_size(all->touched_buffers, 0);
    g_ptr_array_set_size(all->touched_messages, 0);
}

void nb_histories_reset(struct nb_histories *all)
{
    all->newest_frame = 0;
    forget_touched(all);
    g_hash_table_remove_all(all->by_stream);
    g_ptr_array_set_size(all->list, 0);
}

void nb_histories_free(struct nb_histories *all)
{
    g_hash_table_destroy(all->by_stream);
    g_ptr_array_free(all->list, TRUE);
    g_array_free(all->answers, TRUE);
    g_ptr_array_free(all->touched_buffers, TRUE);
    g_ptr_array_free(all->touched_messages, TRUE);
    g_free(all);
}

static struct nb_history *new_history(const struct nb_stream *stream)
{
    struct nb_history *history = g_new0(struct nb_history, 1);

    history->stream = stream;
    history->index = stream->index;
    history->sender = -1;
    history->acked = -1;
    history->quickest_ack = -1;
    for (int end = 0; end < 2; end++) {
        char *text = address_to_str(NULL, &stream->end[end].address);
        history->address[end] = g_strdup(text);
        wmem_free(NULL, text);
    }
    nb_account_open(&history->account, &nb_quota_report, sizeof(*history) + NB_MAP_ENTRY_BYTES);
    return history;
}

static struct nb_history *history_of(struct nb_histories *all, const struct nb_stream *stream)
{
    struct nb_history *history = g_hash_table_lookup(all->by_stream, stream);

    if (history == NULL) {
        history = new_history(stream);
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
    for (const struct nb_finding *finding = record->findings; finding != NULL; finding = finding->next) {
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
    struct nb_now now = {.all = all, .at = {pinfo->num, nstime_to_sec(&pinfo->rel_ts)}};

    if (tap->record == NULL || tap->record->stream == NULL) {
        return NULL;
    }
    if (pinfo->num < all->newest_frame) {
        nb_histories_reset(all);
    }
    forget_touched(all);
    all->newest_frame = pinfo->num;
    struct nb_history *history = now.history = history_of(all, tap->record->stream);
    /* NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c) */
    const int end = tap->record->end;
    nb_account_packet(&history->account);
    history->port[end] = tap->packet.local_port;
    history->port[1 - end] = tap->packet.foreign_port;
    history->packets++;
    nb_mark_first(&history->first, now.at);
    history->last = now.at;
    note_findings(history, tap->record, now.at.frame);
    if (!tap->counts) {
        history->copies += (tap->record->facts & NB_IS_COPY) != 0;
        history->broken_packets += (tap->record->facts & NB_IS_COPY) == 0;
        return history;
    }
    /* NOLINTNEXTLINE(bugprone-signed-char-misuse,cert-str34-c) */
    history->sender = tap->record->sender;
    if (all->keeping != NB_KEEP_NOTHING) {
        nb_transfer_note(&now, &tap->packet, end);
    }
    return history;
}

char *nb_history_limit(const struct nb_history *history)
{
    const uint32_t analysis = history->stream->account.exhausted_frame, report = history->account.exhausted_frame;

    if (analysis == 0 && report == 0) {
        return NULL;
    }
    return g_strdup_printf("no memory is left for it from frame %u on: it is %s only up to there; the preference "
                           "netblt.memory_limit (%u MiB) allows more",
                           analysis != 0 ? analysis : report, analysis != 0 ? "judged" : "reported",
                           nb_memory_limit_mib);
}

char *nb_history_end(const struct nb_history *history, int end)
{
    const bool v6 = strchr(history->address[end], ':') != NULL;

    return g_strdup_printf(v6 ? "[%s]:%u" : "%s:%u", history->address[end], history->port[end]);
}

const struct nb_offer *nb_history_terms(const struct nb_history *history)
{
    return &history->offer[history->offer[1].seen];
}
