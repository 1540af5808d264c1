/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics > NETBLT Packet Counter, tshark -z netblt,tree: packets by type, control messages, repetitions. */
#include "reports/tap.h"

#include <epan/stats_tree.h>

#include "decode/netblt.h"
#include "reports/taps.h"

static int by_type, by_message, by_reception;

static void start(stats_tree *tree)
{
    by_type = stats_tree_create_pivot(tree, "Packets", 0);
    by_message = stats_tree_create_pivot(tree, "Control messages", 0);
    by_reception = stats_tree_create_pivot(tree, "Reception", 0);
}

static const char *reception(const struct nb_tap *tap)
{
    if (tap->packet.status != NB_SOUND) {
        return "not decodable";
    }
    if (tap->packet.header_checksum == NB_BAD) {
        return "bad checksum";
    }
    return tap->counts ? "sound" : "copy made on the way or by the capture";
}

static void count_messages(stats_tree *tree, const struct nb_packet *packet)
{
    static const char *const names[] = {[NB_GO] = "GO", [NB_OK] = "OK", [NB_RESEND] = "RESEND"};
    struct nb_message message;
    int offset = NB_HEADER_BYTES;

    while (nb_next_message(packet, &offset, &message) == NB_MESSAGE) {
        stats_tree_tick_pivot(tree, by_message, message.type < array_length(names) ? names[message.type] : "unknown");
    }
}

static tap_packet_status take(stats_tree *tree, packet_info *pinfo _U_, epan_dissect_t *edt _U_, const void *data,
                              tap_flags_t flags _U_)
{
    const struct nb_tap *tap = data;
    const char *type = nb_type_name(tap->packet.type);

    stats_tree_tick_pivot(tree, by_type, type != NULL && tap->packet.status == NB_SOUND ? type : "other");
    stats_tree_tick_pivot(tree, by_reception, reception(tap));
    if (tap->packet.status == NB_SOUND && tap->packet.type == NB_CONTROL) {
        count_messages(tree, &tap->packet);
    }
    return TAP_PACKET_REDRAW;
}

void nb_register_stats_tree(void)
{
    stats_tree_register_plugin(NB_TAP_NAME, "netblt", "NETBLT Packet Counter", 0, take, start, NULL);
}
