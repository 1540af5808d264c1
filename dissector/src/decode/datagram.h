/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several NETBLT packets in one UDP datagram: what a capture shows on a host with segmentation offload. */
#ifndef NETBLT_DATAGRAM_H
#define NETBLT_DATAGRAM_H

#include "wireshark/compat.h"

struct nb_datagram {
    unsigned packets; /* at least 1 */
    int *starts;      /* offset of each packet, ascending; NULL when there is only one, at 0 */
    int segment;      /* bytes from packet to packet; 0 when there is only one */
    bool irregular;   /* packets of different sizes: no offload made this */
    bool unseen;      /* the capture ends before the datagram, more packets may have been in it */
};

/* Finds the packets of the datagram. Only bytes that hold up as a packet (type, Length, header checksum) count as one,
 * and broken ones between two that do. `pool` owns the offsets. */
void nb_split_datagram(struct nb_datagram *found, tvbuff_t *tvb, wmem_allocator_t *pool);

/* Offset after packet number `idx`: where the next begins, or the end of the datagram. */
int nb_packet_end(const struct nb_datagram *datagram, const tvbuff_t *tvb, unsigned idx);

#endif
