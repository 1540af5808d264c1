/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tshark -z netblt,summary[,json][,FILTER] and the other reports: to standard output when the file has been read. */
#include "reports/tap.h"

#include <stdio.h>

#include <epan/stat_tap_ui.h>

#include "reports/stats-report.h"
#include "reports/taps.h"

struct listener {
    const struct nb_report *report;
    struct nb_histories *all;
    char *filter; /* NULL: everything */
    void (*write)(const struct nb_report *report, const struct nb_histories *all, const char *filter);
};

static void reset(void *state)
{
    nb_histories_reset(((struct listener *)state)->all);
}

static tap_packet_status take(void *state, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                              tap_flags_t flags _U_)
{
    nb_histories_note(((struct listener *)state)->all, pinfo, data);
    return TAP_PACKET_DONT_REDRAW;
}

static void draw(void *state)
{
    const struct listener *listener = state;

    listener->write(listener->report, listener->all, listener->filter);
    fflush(stdout);
}

static void finish(void *state)
{
    struct listener *listener = state;

    nb_histories_free(listener->all);
    g_free(listener->filter);
    g_free(listener);
}

/* Whether the text begins with ",WORD" and there is nothing more of this part. */
static bool begins_with(const char *rest, const char *word)
{
    const size_t length = strlen(word);

    return *rest == ',' && strncmp(rest + 1, word, length) == 0 &&
           (rest[length + 1] == ',' || rest[length + 1] == '\0');
}

/* What follows "netblt,NAME": nothing, ",json" or ",lines", ",FILTER", or both. NULL when it is none of these. */
static const char *filter_in(const char *rest, struct listener *listener)
{
    listener->write = nb_report_text;
    if (begins_with(rest, "json")) {
        listener->write = nb_report_json;
        rest += strlen(",json");
    } else if (begins_with(rest, "lines")) {
        listener->write = nb_report_lines;
        rest += strlen(",lines");
    }
    return *rest == '\0' ? "" : *rest == ',' ? rest + 1 : NULL;
}

static nb_tap_start_result start(const char *argument, void *user_data)
{
    const struct nb_report *report = user_data;
    struct listener *listener = g_new0(struct listener, 1);
    const char *filter = filter_in(argument + strlen("netblt,") + strlen(report->name), listener);

    if (filter == NULL) {
        fprintf(stderr, "tshark: -z %s: expected -z netblt,%s[,json|,lines][,FILTER]\n", argument, report->name);
        g_free(listener);
        NETBLT_TAP_NOT_STARTED;
    }
    listener->report = report;
    listener->all = nb_histories_new();
    listener->filter = *filter ? g_strdup(filter) : NULL;
    GString *error = register_tap_listener(NB_TAP_NAME, listener, listener->filter, 0, reset, take, draw, finish);
    if (error != NULL) {
        fprintf(stderr, "tshark: -z %s: %s\n", argument, error->str);
        g_string_free(error, TRUE);
        NETBLT_TAP_NOT_STARTED;
    }
    NETBLT_TAP_STARTED;
}

void nb_register_cli_reports(void)
{
    static const struct nb_report *const reports[] = {&nb_report_summary, &nb_report_buffers, &nb_report_redundancy,
                                                      &nb_report_verdict};

    for (size_t i = 0; i < array_length(reports); i++) {
        stat_tap_ui ui = {.group = REGISTER_STAT_GROUP_GENERIC,
                          .title = reports[i]->title,
                          .cli_string = g_strdup_printf("netblt,%s", reports[i]->name),
                          .tap_init_cb = start};
        register_stat_tap_ui(&ui, (void *)reports[i]);
    }
}
