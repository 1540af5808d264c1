/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw IPv4 by a packet socket: our packets go straight to the interface's driver, past routing, firewall and queueing
 * disciplines, which saves a third of what sending costs. It is for hosts whose owner knows that none of these is
 * needed, so it is off unless asked for. Receiving stays with the raw socket. */
#include <errno.h>
#include <linux/if_packet.h>
#include <string.h>

#include "io/clock.h"
#include "io/link_state.h"
#include "io/neighbour.h"

/* Routes and neighbours change: what was found is believed for so long. Nothing found: the next packets leave by the
 * raw socket, which makes the kernel ask for the neighbour. */
#define NEIGHBOUR_TRUSTED_US 1000000

int netblt_link_transmit_by_packet_socket(netblt_link *link, netblt_failure *failure)
{
    const int on = 1;
    if (link->encap != NETBLT_ENCAP_IP || link->sockets[0].fd < 0)
        return netblt_fail(failure, NETBLT_FAILURE_UNSUPPORTED, "a packet socket sends raw IPv4 only: use --encap ip");
    link->packet_fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); /* 0: it receives nothing */
    if (link->packet_fd < 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot open a packet socket: %s", strerror(errno));
    (void)setsockopt(link->packet_fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
    netblt_link_enlarge_buffers(link->packet_fd);
    return 0;
}

bool netblt_link_next_hop(netblt_link *link, const netblt_socket *from, const netblt_address *foreign,
                          struct sockaddr_storage *to, socklen_t *length)
{
    netblt_time now;
    netblt_failure ignored;
    netblt_neighbour neighbour;
    if (link->packet_fd < 0 || from->family != NETBLT_FAMILY_IPV4 || from->may_fragment)
        return false;
    now = netblt_clock_now();
    if (now >= link->next_hop_until || !netblt_address_same_host(&link->next_hop_to, foreign)) {
        link->next_hop_to = *foreign;
        link->next_hop_until = now + NEIGHBOUR_TRUSTED_US;
        link->next_hop_known = netblt_neighbour_find(foreign, &neighbour, &ignored) == 0;
        if (link->next_hop_known)
            memcpy(&link->next_hop, &neighbour.name, sizeof neighbour.name);
        else
            link->next_hop_until = now + NEIGHBOUR_TRUSTED_US / 100;
    }
    if (!link->next_hop_known)
        return false;
    memcpy(to, &link->next_hop, sizeof link->next_hop);
    *length = sizeof link->next_hop;
    return true;
}

/* RFC 791: the header's checksum, which a raw socket would fill in. */
void netblt_link_seal_ipv4(uint8_t header[NETBLT_IP_HEADER_BYTES])
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < NETBLT_IP_HEADER_BYTES; i += 2)
        sum += (uint32_t)header[i] << 8 | header[i + 1];
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = ~(sum + (sum >> 16));
    header[10] = (uint8_t)(sum >> 8);
    header[11] = (uint8_t)sum;
}
