/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between Wireshark 4.0, 4.2, 4.4 and 4.6, in one place. Include this before any other Wireshark header.
 */
#ifndef NETBLT_COMPAT_H
#define NETBLT_COMPAT_H

/* Makes WS_DLL_PUBLIC mean "export": the plugin entry points below must be visible, all else is hidden. */
#ifndef WS_BUILD_DLL
#define WS_BUILD_DLL
#endif
#include <wireshark.h>
#include <ws_version.h>

#include <epan/expert.h>
#include <epan/packet.h>
#include <epan/prefs.h>
#include <epan/proto_data.h>
#include <epan/to_str.h>
#include <wiretap/wtap.h> /* 4.0 brings it along by itself, 4.2 does not */

#define NETBLT_WIRESHARK_AT_LEAST(major, minor)                                                                        \
    (WIRESHARK_VERSION_MAJOR > (major) || (WIRESHARK_VERSION_MAJOR == (major) && WIRESHARK_VERSION_MINOR >= (minor)))

/* The variable behind a boolean preference: 4 bytes before 4.4, 1 byte from then on. Never cast between them. */
#if NETBLT_WIRESHARK_AT_LEAST(4, 4)
typedef bool nb_pref_bool;
#else
typedef gboolean nb_pref_bool;
#endif

/* From 4.4 on a plugin says what it is; <wsutil/plugins.h> is not installed before. */
#if NETBLT_WIRESHARK_AT_LEAST(4, 4)
#include <wsutil/plugins.h>
#define NETBLT_HAVE_PLUGIN_DESCRIBE 1
#endif

/* The older name is deprecated from 4.4 on, the newer one unknown before. */
#if !NETBLT_WIRESHARK_AT_LEAST(4, 4)
#define tvb_get_uint8 tvb_get_guint8
#endif

/* wmem_packet_scope() is gone in 4.6; pinfo->pool is there in all. */

#endif
