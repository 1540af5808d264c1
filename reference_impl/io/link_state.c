/* SPDX-License-Identifier: BSD-2-Clause */
/* What a link is: its sockets, its encapsulation, its address. */
#include "io/link_state.h"

int netblt_link_fd(const netblt_link *link, unsigned i)
{
    return link->sockets[i].fd;
}

unsigned netblt_link_socket_for(const netblt_address *foreign)
{
    return netblt_address_family(foreign) == NETBLT_FAMILY_IPV6 ? 1 : 0;
}

enum netblt_encap netblt_link_encap(const netblt_link *link)
{
    return link->encap;
}

netblt_address netblt_link_local(const netblt_link *link, const netblt_address *address)
{
    return netblt_address_with_port(address, link->udp_port);
}

size_t netblt_link_receive_buffer_bytes(const netblt_link *link)
{
    size_t smallest = SIZE_MAX;
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++) {
        int bytes;
        socklen_t length = sizeof bytes;
        if (link->sockets[i].fd >= 0 && getsockopt(link->sockets[i].fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length) == 0 &&
            (size_t)bytes < smallest)
            smallest = (size_t)bytes;
    }
    return smallest;
}
