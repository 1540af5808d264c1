/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Wireshark looks up when it loads the shared object. */
#include "wireshark/compat.h"

#include "decode/packet-netblt.h"
#include "reports/reports-stage.h"
#include "tree/analysis-stage.h"

WS_DLL_PUBLIC_DEF const gchar plugin_version[] = NETBLT_PLUGIN_VERSION;
WS_DLL_PUBLIC_DEF const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
WS_DLL_PUBLIC_DEF const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

WS_DLL_PUBLIC void plugin_register(void);

/* Each layer after the one that it needs. */
static void register_layers(void)
{
    proto_register_netblt();
    proto_register_netblt_analysis();
    proto_register_netblt_reports();
}

static void hand_off_layers(void)
{
    proto_reg_handoff_netblt();
    proto_reg_handoff_netblt_reports();
}

void plugin_register(void)
{
    static proto_plugin netblt;

    netblt.register_protoinfo = register_layers;
    netblt.register_handoff = hand_off_layers;
    proto_register_plugin(&netblt);
}

#ifdef NETBLT_HAVE_PLUGIN_DESCRIBE
WS_DLL_PUBLIC uint32_t plugin_describe(void);

uint32_t plugin_describe(void)
{
    return WS_PLUGIN_DESC_DISSECTOR;
}
#endif
