/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tshark -z netblt,findings: every finding, and every packet with a bad checksum, as one line of JSON while the capture
 * is read. Programs judge live traffic and captures of any size by it, without the trees of the packets. */
#include "reports/tap.h"

#include <stdio.h>

#include <epan/stat_tap_ui.h>

#include "reports/stats-report.h"
#include "reports/taps.h"
#include "rules/findings.h"

/* "frame": ..., "interface": ..., "time": ... and the opening brace. */
static void begin_line(GString *out, const packet_info *pinfo)
{
    enum { NS_DIGITS = 9 };
    const char *interface = nb_interface_name(pinfo);

    g_string_append_printf(out, "{\"frame\": %u, \"interface\": ", pinfo->num);
    nb_json_string(out, interface == NULL ? "" : interface);
    g_string_append_printf(out, ", \"time\": %" G_GINT64_FORMAT ".%0*d", (gint64)pinfo->abs_ts.secs, NS_DIGITS,
                           pinfo->abs_ts.nsecs);
}

static void add_text(GString *out, const char *key, const char *text)
{
    g_string_append_printf(out, ", \"%s\": ", key);
    nb_json_string(out, text == NULL ? "" : text);
}

static void add_finding(GString *out, const packet_info *pinfo, const struct nb_record *record,
                        const struct nb_finding *finding)
{
    begin_line(out, pinfo);
    g_string_append_printf(out, ", \"stream\": %u", record->stream - 1);
    add_text(out, "requirement", nb_rule_info(finding->rule)->id);
    add_text(out, "verdict", val_to_str_const(finding->verdict, nb_verdict_names, ""));
    add_text(out, "offender", finding->offender);
    add_text(out, "text", finding->text);
    g_string_append_printf(out, ", \"offending_frame\": %u, \"request_frame\": %u, \"evidence_frame\": %u}\n",
                           finding->offending_frame, finding->request_frame, finding->evidence_frame);
}

static void add_address(GString *out, const char *key, const address *where)
{
    char *text = address_to_str(NULL, where);

    add_text(out, key, text);
    wmem_free(NULL, text);
}

/* Which checksum does not fit; IP addresses, for the ports may be what is damaged. */
static void add_damage(GString *out, const packet_info *pinfo, const struct nb_tap *tap)
{
    const bool header = tap->packet.header_checksum == NB_BAD;

    if (!header && tap->packet.data_checksum != NB_BAD) {
        return;
    }
    begin_line(out, pinfo);
    add_text(out, "damaged", header ? "header" : "data");
    add_address(out, "source", &tap->source);
    add_address(out, "destination", &tap->destination);
    g_string_append(out, "}\n");
}

static tap_packet_status take(void *state, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                              tap_flags_t flags _U_)
{
    const struct nb_tap *tap = data;
    GString *out = state;

    g_string_truncate(out, 0);
    for (const struct nb_finding *one = tap->record == NULL ? NULL : nb_finding_in(tap->record->notes); one != NULL;
         one = nb_next_finding(one)) {
        if (one->verdict != NB_EVENT) {
            add_finding(out, pinfo, tap->record, one);
        }
    }
    add_damage(out, pinfo, tap);
    if (out->len > 0) {
        fwrite(out->str, 1, out->len, stdout);
        fflush(stdout); /* a user who watches live traffic waits for it */
    }
    return TAP_PACKET_DONT_REDRAW;
}

static void finish(void *state)
{
    g_string_free(state, TRUE);
}

static nb_tap_start_result start(const char *argument, void *user_data _U_)
{
    const char *rest = argument + strlen("netblt,findings");

    if (*rest != '\0' && *rest != ',') {
        fprintf(stderr, "tshark: -z %s: expected -z netblt,findings[,FILTER]\n", argument);
        NETBLT_TAP_NOT_STARTED;
    }
    GString *out = g_string_new(NULL);
    GString *error =
        register_tap_listener(NB_TAP_NAME, out, *rest == ',' ? rest + 1 : NULL, 0, NULL, take, NULL, finish);
    if (error != NULL) {
        fprintf(stderr, "tshark: -z %s: %s\n", argument, error->str);
        g_string_free(error, TRUE);
        NETBLT_TAP_NOT_STARTED;
    }
    NETBLT_TAP_STARTED;
}

void nb_register_findings_report(void)
{
    static stat_tap_ui ui = {
        .group = REGISTER_STAT_GROUP_GENERIC, .title = NULL, .cli_string = "netblt,findings", .tap_init_cb = start};

    register_stat_tap_ui(&ui, NULL);
}
