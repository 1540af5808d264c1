/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw IPv4 by a packet socket: our packets go straight to the interface's driver, past routing, firewall and queueing
 * disciplines, which saves a third of what sending costs; by an AF_XDP socket (xdp_ring.h) almost half. It is for hosts
 * whose owner knows that none of these is needed, so it is off by default. Receiving stays with the raw socket.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if_arp.h>
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
    link->ring = netblt_xdp_open();
    if (link->ring != NULL) /* what the driver has not sent yet counts there, too */
        netblt_link_enlarge_buffers(netblt_xdp_fd(link->ring));
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

/* ---- by AF_XDP ------------------------------------------------------------------------------------------------ */

/* The packet socket knows its interface's own address. */
static bool find_own_address(netblt_link *link, int interface)
{
    struct sockaddr_ll name = {.sll_family = AF_PACKET, .sll_ifindex = interface};
    socklen_t length = sizeof name;
    if (bind(link->packet_fd, (struct sockaddr *)&name, sizeof name) != 0 ||
        getsockname(link->packet_fd, (struct sockaddr *)&name, &length) != 0 || name.sll_hatype != ARPHRD_ETHER)
        return false;
    memcpy(link->own_address, name.sll_addr, ETHER_ADDR_LEN);
    return true;
}

static void give_up_ring(netblt_link *link)
{
    netblt_xdp_close(link->ring);
    link->ring = NULL;
}

/* The ring belongs to one interface permanently: where the route changes to another, the packet socket is used. */
static bool is_ring_usable(netblt_link *link, const netblt_output *run)
{
    int interface = link->next_hop.sll_ifindex;
    if (ETHER_HDR_LEN + NETBLT_IP_HEADER_BYTES + run->segment_bytes > NETBLT_XDP_FRAME_BYTES)
        return false;
    if (netblt_xdp_interface(link->ring) == interface)
        return true;
    if (netblt_xdp_interface(link->ring) == 0 && find_own_address(link, interface) &&
        netblt_xdp_bind(link->ring, interface) == 0)
        return true;
    give_up_ring(link);
    return false;
}

static void write_frame(netblt_link *link, const netblt_socket *from, const netblt_path *path, const uint8_t *packet,
                        size_t length, uint8_t *frame)
{
    const struct ether_header header = {.ether_type = htons(ETHERTYPE_IP)};
    memcpy(frame, &header, sizeof header);
    memcpy(frame, link->next_hop.sll_addr, ETHER_ADDR_LEN);
    memcpy(frame + ETHER_ADDR_LEN, link->own_address, ETHER_ADDR_LEN);
    link->ops->wrap(link, from, path, length, frame + ETHER_HDR_LEN);
    netblt_link_seal_ipv4(frame + ETHER_HDR_LEN);
    memcpy(frame + ETHER_HDR_LEN + NETBLT_IP_HEADER_BYTES, packet, length);
    netblt_xdp_add(link->ring, ETHER_HDR_LEN + NETBLT_IP_HEADER_BYTES + length);
}

int netblt_link_send_by_ring(netblt_link *link, const netblt_socket *from, const netblt_output *run,
                             const uint8_t *packets, size_t *next)
{
    struct sockaddr_storage ignored;
    socklen_t length;
    size_t first = *next;
    uint8_t *frame;
    int error;
    if (link->ring == NULL || !netblt_link_next_hop(link, from, &run->path.foreign, &ignored, &length) ||
        !is_ring_usable(link, run))
        return ENOTSUP;
    while (*next < run->count && (frame = netblt_xdp_place(link->ring)) != NULL) {
        size_t offset = *next * run->segment_bytes;
        size_t left = run->length - offset;
        write_frame(link, from, &run->path, packets + offset, left < run->segment_bytes ? left : run->segment_bytes,
                    frame);
        (*next)++;
    }
    link->last_by_packet_socket = true;
    error = netblt_xdp_send(link->ring);
    if (error == 0 || error == EAGAIN || error == EBUSY || error == ENOBUFS)
        return *next > first ? 0 : ENOBUFS;
    give_up_ring(link); /* the interface is down or removed: the next packets show it where errors are reported */
    return *next > first ? 0 : ENOTSUP;
}

/* ---- the header ----------------------------------------------------------------------------------------------- */

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
