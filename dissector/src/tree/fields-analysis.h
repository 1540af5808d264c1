/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of what the analysis found. */
#ifndef NETBLT_FIELDS_ANALYSIS_H
#define NETBLT_FIELDS_ANALYSIS_H

#include "wireshark/compat.h"

extern int hf_netblt_stream, hf_netblt_capture_position, hf_netblt_role;
extern int hf_netblt_analysis, hf_netblt_finding, hf_netblt_analysis_requirement, hf_netblt_analysis_offender,
    hf_netblt_analysis_verdict, hf_netblt_analysis_copy_of, hf_netblt_analysis_evidence, hf_netblt_analysis_offending,
    hf_netblt_analysis_request, hf_netblt_analysis_proof;

extern int ett_netblt_analysis, ett_netblt_finding;

/* netblt.role: what the emitter does with the data. */
enum nb_role { NB_ROLE_UNKNOWN, NB_ROLE_SENDER, NB_ROLE_RECEIVER };

void nb_register_analysis_fields(int proto);

#endif
