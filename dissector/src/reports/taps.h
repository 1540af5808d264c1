/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What listens to the tap. Each is registered once, in the handoff. */
#ifndef NETBLT_TAPS_H
#define NETBLT_TAPS_H

void nb_register_cli_reports(void);             /* taps-cli.c: tshark -z netblt,... */
void nb_register_findings_report(void);         /* stats-findings.c: tshark -z netblt,findings */
void nb_register_dialogs(void);                 /* taps-dialogs.c: Statistics menu, sharkd */
void nb_register_verdict_dialog(void);          /* taps-verdict.c: Statistics menu, sharkd */
void nb_register_response_times(int proto);     /* stats-response.c */
void nb_register_stats_tree(void);              /* stats-tree.c */
void nb_register_conversation_table(int proto); /* conversations.c */
void nb_register_flow_graph(int proto);         /* flow.c */

#endif
