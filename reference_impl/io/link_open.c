/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens, binds and closes the sockets of a link. */
#include "io/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/entropy.h"
#include "io/inbox.h"
#include "io/link_state.h"

static const enum netblt_family families[NETBLT_LINK_SOCKETS] = {NETBLT_FAMILY_IPV4, NETBLT_FAMILY_IPV6};

static const netblt_link_ops *ops_of(enum netblt_encap encap)
{
    return encap == NETBLT_ENCAP_IP ? &netblt_raw_ip_ops : &netblt_udp_ops;
}

/* ---- opening -------------------------------------------------------------------------------------------------- */

static int open_socket(netblt_link *link, unsigned i, netblt_failure *failure)
{
    netblt_socket *opened = &link->sockets[i];
    opened->fd = link->ops->open(families[i], failure);
    if (opened->fd < 0)
        return -1;
    if (!netblt_link_can_segment(opened->fd))
        opened->unsegmented_from_bytes = 0;
    return netblt_link_set_common_options(opened->fd, families[i], failure);
}

/* A kernel without one family still has the other; anything else that fails is the user's to know. */
static int open_sockets(netblt_link *link, enum netblt_family family, netblt_failure *failure)
{
    unsigned opened = 0;
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++) {
        if (family != NETBLT_FAMILY_ANY && family != families[i])
            continue;
        if (open_socket(link, i, failure) == 0)
            opened++;
        else if (failure->kind != NETBLT_FAILURE_UNSUPPORTED || link->sockets[i].fd >= 0)
            return -1;
    }
    if (opened == 0)
        return -1;
    failure->kind = NETBLT_FAILURE_NONE;
    return 0;
}

netblt_link *netblt_link_open(enum netblt_encap encap, enum netblt_family family, netblt_failure *failure)
{
    netblt_link *link = calloc(1, sizeof *link);
    struct netblt_inbox *inbox = netblt_inbox_new(ops_of(encap)->batch);
    if (link == NULL || inbox == NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory for the socket's buffers");
        free(link);
        netblt_inbox_free(inbox);
        return NULL;
    }
    *link = (netblt_link){
        .encap = encap, .ops = ops_of(encap), .ip_id = (uint16_t)netblt_random_u32(), .inbox = inbox, .packet_fd = -1};
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++)
        link->sockets[i] = (netblt_socket){.fd = -1, .family = families[i], .unsegmented_from_bytes = SIZE_MAX};
    if (open_sockets(link, family, failure) != 0) {
        netblt_link_close(link);
        return NULL;
    }
    return link;
}

static void close_socket(netblt_socket *closed)
{
    if (closed->fd >= 0)
        close(closed->fd);
    closed->fd = -1;
}

void netblt_link_close(netblt_link *link)
{
    if (link == NULL)
        return;
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++)
        close_socket(&link->sockets[i]);
    if (link->packet_fd >= 0)
        close(link->packet_fd);
    netblt_xdp_close(link->ring);
    netblt_inbox_free(link->inbox);
    free(link);
}

/* ---- binding -------------------------------------------------------------------------------------------------- */

static int explain_bind(const netblt_address *address, uint16_t udp_port, netblt_failure *failure)
{
    char text[NETBLT_ADDRESS_TEXT_BYTES];
    if (errno == EADDRINUSE)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "UDP port %u is in use by another process on this host: choose another with --udp-port",
                           udp_port);
    if (errno == EACCES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "no permission for UDP port %u: choose one above 1023 with --udp-port", udp_port);
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--bind %s: %s; give an address of one of this host's interfaces",
                       netblt_address_text(address, text), strerror(errno));
}

static int bind_socket(netblt_link *link, netblt_socket *bound, const netblt_address *address, uint16_t udp_port,
                       netblt_failure *failure)
{
    bool is_udp = link->encap == NETBLT_ENCAP_UDP;
    netblt_address any = netblt_address_any(bound->family);
    netblt_address host = netblt_address_is_any(address) ? any : *address;
    netblt_address wanted = netblt_address_with_port(&host, is_udp ? udp_port : 0);
    struct sockaddr_storage name;
    socklen_t length = netblt_address_to_sockaddr(&wanted, &name);
    if (bind(bound->fd, (struct sockaddr *)&name, length) != 0)
        return explain_bind(&host, udp_port, failure);
    bound->has_address = !netblt_address_is_any(&host);
    if (!is_udp)
        return 0;
    if (getsockname(bound->fd, (struct sockaddr *)&name, &length) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot read the UDP port: %s", strerror(errno));
    link->udp_port = netblt_sockaddr_port(&name);
    return 0;
}

int netblt_link_bind(netblt_link *link, const netblt_address *address, uint16_t udp_port, netblt_failure *failure)
{
    enum netblt_family family = netblt_address_family(address);
    char text[NETBLT_ADDRESS_TEXT_BYTES];
    bool bound = false;
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++) {
        netblt_socket *at = &link->sockets[i];
        if (family != NETBLT_FAMILY_ANY && family != at->family)
            close_socket(at);
        if (at->fd < 0)
            continue;
        /* both families share one port, even if it was any free one for the first */
        if (bind_socket(link, at, address, link->udp_port != 0 ? link->udp_port : udp_port, failure) != 0)
            return -1;
        bound = true;
    }
    if (!bound)
        return netblt_fail(failure, NETBLT_FAILURE_UNSUPPORTED, "%s: this host does not speak IPv%d",
                           netblt_address_text(address, text), (int)family);
    return 0;
}

void netblt_link_connect(netblt_link *link, const netblt_address *foreign)
{
    netblt_socket *at = &link->sockets[netblt_link_socket_for(foreign)];
    struct sockaddr_storage name;
    socklen_t length = netblt_address_to_sockaddr(foreign, &name);
    if (link->encap == NETBLT_ENCAP_UDP && at->has_address && connect(at->fd, (struct sockaddr *)&name, length) == 0)
        at->connected_to = *foreign;
}

int netblt_link_give_to(netblt_link *link, uid_t uid, gid_t gid, netblt_failure *failure)
{
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++)
        if (link->sockets[i].fd >= 0 && fchown(link->sockets[i].fd, uid, gid) != 0)
            return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot give the socket to another user: %s",
                               strerror(errno));
    return 0;
}

size_t netblt_encap_overhead_bytes(enum netblt_encap encap, enum netblt_family family)
{
    return ops_of(encap)->header_bytes + (family == NETBLT_FAMILY_IPV6 ? IPV6_HEADER_BYTES : NETBLT_IP_HEADER_BYTES);
}
