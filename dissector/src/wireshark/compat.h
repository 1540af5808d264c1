/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between Wireshark 4.0, 4.2, 4.4 and 4.6, in one place. Include this before any other Wireshark header.
 */
#ifndef NETBLT_COMPAT_H
#define NETBLT_COMPAT_H

#ifndef NETBLT_IN_TREE
/* Makes WS_DLL_PUBLIC mean "export": the plugin entry points below must be visible, all else is hidden. */
#ifndef WS_BUILD_DLL
#define WS_BUILD_DLL
#endif
#endif
#include <wireshark.h>
#include <ws_version.h>

#include <epan/epan.h>
#include <epan/expert.h>
#include <epan/packet.h>
#include <epan/prefs.h>
#include <epan/proto_data.h>
#include <epan/tfs.h> /* 4.6 no longer brings it along */
#include <epan/to_str.h>
#include <wiretap/wtap.h> /* 4.0 brings it along by itself, 4.2 does not */

#define NETBLT_WIRESHARK_AT_LEAST(major, minor)                                                                        \
    (WIRESHARK_VERSION_MAJOR > (major) || (WIRESHARK_VERSION_MAJOR == (major) && WIRESHARK_VERSION_MINOR >= (minor)))

/* The variable of a boolean preference: 4 bytes before 4.4, 1 byte from then on. Never cast between them. */
#if NETBLT_WIRESHARK_AT_LEAST(4, 4)
typedef bool nb_pref_bool;
typedef bool nb_heur_result;
#else
typedef gboolean nb_pref_bool;
typedef gboolean nb_heur_result;
#endif

/* What a callback that walks a tree returns. */
#if NETBLT_WIRESHARK_AT_LEAST(4, 2)
typedef bool nb_walk_result;
#else
typedef gboolean nb_walk_result;
#endif

/* 4.2 asks for two more functions, which return how many streams there are. */
#if NETBLT_WIRESHARK_AT_LEAST(4, 2)
#define NETBLT_REGISTER_FOLLOW(proto, tap, conversation, number, address, port, handler)                               \
    register_follow_stream(proto, tap, conversation, number, address, port, handler, nb_stream_count, NULL)
#else
#define NETBLT_REGISTER_FOLLOW(proto, tap, conversation, number, address, port, handler)                               \
    register_follow_stream(proto, tap, conversation, number, address, port, handler)
#endif

#ifndef NETBLT_IN_TREE
/* From 4.4 on a plugin states what it is; <wsutil/plugins.h> is not installed before. */
#if NETBLT_WIRESHARK_AT_LEAST(4, 4)
#include <wsutil/plugins.h>
#define NETBLT_HAVE_PLUGIN_DESCRIBE 1
#endif
#endif

/* The older names are deprecated from 4.4 on, the newer ones unknown before. */
#if !NETBLT_WIRESHARK_AT_LEAST(4, 4)
#define tvb_get_uint8 tvb_get_guint8
#define tvb_find_uint8 tvb_find_guint8
#endif

/* What a -z statistic's start function returns: whether it could start, from 4.6 on. */
#if NETBLT_WIRESHARK_AT_LEAST(4, 6)
typedef bool nb_tap_start_result;
#define NETBLT_TAP_STARTED return true
#define NETBLT_TAP_NOT_STARTED return false
#else
typedef void nb_tap_start_result;
#define NETBLT_TAP_STARTED return
#define NETBLT_TAP_NOT_STARTED exit(1)
#endif

/* The bytes of the data source with this name; NULL when the frame has none. */
static inline const tvbuff_t *nb_source_named(packet_info *pinfo, const char *name)
{
#if NETBLT_WIRESHARK_AT_LEAST(4, 6)
    const struct data_source *source = get_data_source_by_name(pinfo, name);

    return source == NULL ? NULL : get_data_source_tvb(source);
#else
    return get_data_source_tvb_by_name(pinfo, name);
#endif
}

/* The name of the interface that captured the frame; NULL when the file does not state it. */
static inline const char *nb_interface_name(const packet_info *pinfo)
{
    if (pinfo->rec == NULL || !(pinfo->rec->presence_flags & WTAP_HAS_INTERFACE_ID)) {
        return NULL;
    }
#if NETBLT_WIRESHARK_AT_LEAST(4, 4)
    return epan_get_interface_name(pinfo->epan, pinfo->rec->rec_header.packet_header.interface_id,
                                   pinfo->rec->presence_flags & WTAP_HAS_SECTION_NUMBER ? pinfo->rec->section_number
                                                                                        : 0);
#else
    return epan_get_interface_name(pinfo->epan, pinfo->rec->rec_header.packet_header.interface_id);
#endif
}

/* Between the parts of the name of a statistics tree in the menu. */
#ifndef STATS_TREE_MENU_SEPARATOR
#define STATS_TREE_MENU_SEPARATOR "/"
#endif

/* wmem_packet_scope() was removed in 4.6; pinfo->pool is there in all. */

#endif
