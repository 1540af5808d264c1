/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics > Flow Graph: as the "any" graph, which takes what it shows from the Info column. */
#include "reports/tap.h"

#include "reports/taps.h"

#ifdef NETBLT_IN_TREE
#include <epan/sequence_analysis.h>
#else
/* No Wireshark installs this header. The struct in it changed, these functions did not. */
struct register_analysis;
WS_DLL_PUBLIC struct register_analysis *sequence_analysis_find_by_name(const char *name);
WS_DLL_PUBLIC tap_packet_cb sequence_analysis_get_packet_func(struct register_analysis *analysis);
WS_DLL_PUBLIC void register_seq_analysis(const char *name, const char *ui_name, const int proto_id,
                                         const char *tap_listener, guint tap_flags, tap_packet_cb tap_func);
#endif

void nb_register_flow_graph(int proto)
{
    struct register_analysis *any = sequence_analysis_find_by_name("any");

    if (any != NULL) {
        register_seq_analysis("netblt", "NETBLT Flows", proto, NB_TAP_NAME, TL_REQUIRES_COLUMNS,
                              sequence_analysis_get_packet_func(any));
    }
}
