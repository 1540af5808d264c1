/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics > Service Response Time > NETBLT, tshark -z netblt,srt: how long answers took. */
#include "reports/tap.h"

#include <epan/srt_table.h>

#include "reports/stats-history.h"
#include "reports/taps.h"

static const char *const question_names[NB_QUESTIONS] = {
    [NB_ASKED_OPEN] = "OPEN to RESPONSE",
    [NB_ASKED_GO] = "GO to first packet of the buffer",
    [NB_ASKED_BUFFER] = "GO to OK of the buffer",
    [NB_ASKED_RESEND] = "RESEND to last packet asked for",
    [NB_ASKED_MESSAGE] = "Control message to acknowledgement",
};

static void start(struct register_srt *srt _U_, GArray *tables)
{
    /* Its histories live as long as the table, which never says when it ends; so they are made when needed, once. */
    static struct nb_histories *all;

    if (all == NULL) {
        all = nb_histories_new(NB_KEEP_ALL);
    }
    nb_histories_reset(all);
    srt_stat_table *table = init_srt_table("NETBLT response times", NULL, tables, NB_QUESTIONS, "Answer", NULL, all);
    for (int i = 0; i < NB_QUESTIONS; i++) {
        init_srt_table_row(table, i, question_names[i]);
    }
}

static tap_packet_status take(void *state, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                              tap_flags_t flags _U_)
{
    const srt_data_t *srt = state;
    srt_stat_table *table = g_array_index(srt->srt_array, srt_stat_table *, 0);
    struct nb_histories *all = table->table_specific_data;

    if (nb_histories_note(all, pinfo, data) == NULL || all->answers->len == 0) {
        return TAP_PACKET_DONT_REDRAW;
    }
    for (guint i = 0; i < all->answers->len; i++) {
        const struct nb_answer *answer = &g_array_index(all->answers, struct nb_answer, i);
        const double took = nstime_to_sec(&pinfo->rel_ts) - answer->asked.time;
        const nstime_t delta = {(time_t)took, (int)((took - (double)(time_t)took) * 1e9 + 0.5)};
        nstime_t asked;
        nstime_delta(&asked, &pinfo->abs_ts, &delta);
        add_srt_table_data(table, answer->question, &asked, pinfo);
    }
    return TAP_PACKET_REDRAW;
}

void nb_register_response_times(int proto)
{
    register_srt_table(proto, NB_TAP_NAME, 1, take, start, NULL);
}
