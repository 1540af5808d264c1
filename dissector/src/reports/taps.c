/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers the listeners of the tap. */
#include "reports/tap.h"

#include "reports/taps.h"

static int netblt_tap = -1;

void nb_register_tap(void)
{
    netblt_tap = register_tap(NB_TAP_NAME);
}

static bool counts(const struct nb_packet *packet, const struct nb_record *record)
{
    return packet->status == NB_SOUND && packet->header_checksum != NB_BAD && record != NULL &&
           (record->facts & NB_IS_COPY) == 0;
}

void nb_tap_packet(packet_info *pinfo, const struct nb_packet *packet, const struct nb_record *record)
{
    if (!have_tap_listener(netblt_tap) || pinfo->flags.in_error_pkt) {
        return;
    }
    struct nb_tap *tap = wmem_new(pinfo->pool, struct nb_tap);
    tap->packet = *packet;
    tap->record = record;
    tap->counts = counts(packet, record);
    copy_address_shallow(&tap->source, &pinfo->net_src);
    copy_address_shallow(&tap->destination, &pinfo->net_dst);
    tap_queue_packet(netblt_tap, pinfo, tap);
}

void nb_register_statistics(int proto)
{
    nb_register_cli_reports();
    nb_register_findings_report();
    nb_register_dialogs();
    nb_register_verdict_dialog();
    nb_register_response_times(proto);
    nb_register_stats_tree();
    nb_register_conversation_table(proto);
    nb_register_flow_graph(proto);
}
