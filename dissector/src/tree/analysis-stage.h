/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registration of the analysis, after that of the decoder. */
#ifndef NETBLT_ANALYSIS_STAGE_H
#define NETBLT_ANALYSIS_STAGE_H

void proto_register_netblt_analysis(void);

#endif
