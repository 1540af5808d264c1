/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registration of the reports, after that of the analysis. */
#ifndef NETBLT_REPORTS_STAGE_H
#define NETBLT_REPORTS_STAGE_H

void proto_register_netblt_reports(void);
void proto_reg_handoff_netblt_reports(void);

#endif
