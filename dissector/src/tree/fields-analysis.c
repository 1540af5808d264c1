/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of the findings. */
#include "tree/fields-analysis.h"

#include "connection/position.h"
#include "rules/findings.h"

int hf_netblt_stream = -1, hf_netblt_capture_position = -1, hf_netblt_role = -1;
int hf_netblt_analysis = -1, hf_netblt_finding = -1, hf_netblt_analysis_requirement = -1,
    hf_netblt_analysis_offender = -1, hf_netblt_analysis_verdict = -1, hf_netblt_analysis_copy_of = -1,
    hf_netblt_analysis_evidence = -1, hf_netblt_analysis_offending = -1, hf_netblt_analysis_request = -1,
    hf_netblt_analysis_proof = -1;

int ett_netblt_analysis = -1, ett_netblt_finding = -1;

static const value_string role_names[] = {
    {NB_ROLE_UNKNOWN, "unknown"}, {NB_ROLE_SENDER, "sender"}, {NB_ROLE_RECEIVER, "receiver"}, {0, NULL}};

void nb_register_analysis_fields(int proto)
{
    static int *ett[] = {&ett_netblt_analysis, &ett_netblt_finding};
    static hf_register_info hf[] = {
        {&hf_netblt_stream,
         {"Stream", "netblt.stream", FT_UINT32, BASE_DEC, NULL, 0, "Connection in this capture, from 0", HFILL}},
        {&hf_netblt_role, {"Emitter's role", "netblt.role", FT_UINT8, BASE_NONE, VALS(role_names), 0, NULL, HFILL}},
        {&hf_netblt_capture_position,
         {"Capture position", "netblt.capture_position", FT_UINT8, BASE_NONE, VALS(nb_position_names), 0,
          "Where on the path this was captured: sender, receiver, between or unknown", HFILL}},
        {&hf_netblt_analysis, {"Analysis", "netblt.analysis.flags", FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_netblt_finding,
         {"Finding", "netblt.finding", FT_STRING, BASE_NONE, NULL, 0, "Requirement, verdict and reason in one line",
          HFILL}},
        {&hf_netblt_analysis_requirement,
         {"Requirement", "netblt.analysis.requirement", FT_STRING, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_netblt_analysis_offender,
         {"Offender", "netblt.analysis.offender", FT_STRING, BASE_NONE, NULL, 0, "Address and role", HFILL}},
        {&hf_netblt_analysis_verdict,
         {"Verdict", "netblt.analysis.verdict", FT_UINT8, BASE_NONE, VALS(nb_verdict_names), 0,
          "violation or suspected", HFILL}},
        {&hf_netblt_analysis_offending,
         {"Offending packet", "netblt.analysis.offending_frame", FT_FRAMENUM, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_netblt_analysis_request,
         {"Message at stake captured in", "netblt.analysis.request_frame", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_REQUEST), 0, NULL, HFILL}},
        {&hf_netblt_analysis_evidence,
         {"Proved by", "netblt.analysis.evidence_frame", FT_FRAMENUM, BASE_NONE, NULL, 0, NULL, HFILL}},
        {&hf_netblt_analysis_proof,
         {"Proven in", "netblt.analysis.proof_frame", FT_FRAMENUM, BASE_NONE, NULL, 0,
          "The later frame that leaves no other explanation; known on a second pass", HFILL}},
        {&hf_netblt_analysis_copy_of,
         {"Copy of", "netblt.analysis.copy_of", FT_FRAMENUM, BASE_NONE, FRAMENUM_TYPE(FT_FRAMENUM_RETRANS_PREV), 0,
          "Same IP ID and content as this earlier frame", HFILL}},
    };

    proto_register_field_array(proto, hf, array_length(hf));
    proto_register_subtree_array(ett, array_length(ett));
}
