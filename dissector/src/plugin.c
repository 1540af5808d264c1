/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Wireshark looks up when it loads the shared object. */
#include "wireshark/compat.h"

#include "packet-netblt.h"

WS_DLL_PUBLIC_DEF const gchar plugin_version[] = NETBLT_PLUGIN_VERSION;
WS_DLL_PUBLIC_DEF const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
WS_DLL_PUBLIC_DEF const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

WS_DLL_PUBLIC void plugin_register(void);

void plugin_register(void)
{
    static proto_plugin netblt;

    netblt.register_protoinfo = netblt_register_protocol;
    netblt.register_handoff = netblt_register_handoff;
    proto_register_plugin(&netblt);
}

#ifdef NETBLT_HAVE_PLUGIN_DESCRIBE
WS_DLL_PUBLIC uint32_t plugin_describe(void);

uint32_t plugin_describe(void)
{
    return WS_PLUGIN_DESC_DISSECTOR;
}
#endif
