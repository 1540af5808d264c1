/* SPDX-License-Identifier: BSD-2-Clause */
/* The local address and the MTU of the way to a peer. */
#include "io/route.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Connecting a UDP socket makes the kernel look the route up and sends nothing; any port will do. */
#define PROBE_PORT 9

static int connect_probe(int fd, const netblt_address *peer, const netblt_address *wanted, netblt_failure *failure)
{
    netblt_address probed = netblt_address_with_port(peer, PROBE_PORT);
    struct sockaddr_storage local;
    struct sockaddr_storage remote;
    socklen_t local_length = netblt_address_to_sockaddr(wanted, &local);
    socklen_t remote_length = netblt_address_to_sockaddr(&probed, &remote);
    char text[NETBLT_ADDRESS_TEXT_BYTES];
    if (!netblt_address_is_any(wanted) && bind(fd, (struct sockaddr *)&local, local_length) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--bind %s: %s; give an address of one of this host's interfaces",
                           netblt_address_text(wanted, text), strerror(errno));
    if (connect(fd, (struct sockaddr *)&remote, remote_length) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_UNREACHABLE,
                           "no way to reach %s: %s; check the address and this host's routes",
                           netblt_address_text(peer, text), strerror(errno));
    return 0;
}

static int read_route(int fd, enum netblt_family family, netblt_route *route, netblt_failure *failure)
{
    struct sockaddr_storage source = {0};
    socklen_t length = sizeof source;
    int mtu = 0;
    socklen_t mtu_length = sizeof mtu;
    bool is_ipv6 = family == NETBLT_FAMILY_IPV6;
    if (getsockname(fd, (struct sockaddr *)&source, &length) != 0 ||
        getsockopt(fd, is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, is_ipv6 ? IPV6_MTU : IP_MTU, &mtu, &mtu_length) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot look up routes: %s", strerror(errno));
    route->source = netblt_address_of_sockaddr(&source);
    route->mtu = (uint32_t)mtu;
    return 0;
}

int netblt_route_lookup(const netblt_address *peer, const netblt_address *wanted, netblt_route *route,
                        netblt_failure *failure)
{
    enum netblt_family family = netblt_address_family(peer);
    enum netblt_family wanted_family = netblt_address_family(wanted);
    char text[NETBLT_ADDRESS_TEXT_BYTES];
    int result;
    int fd;
    if (wanted_family != NETBLT_FAMILY_ANY && wanted_family != family)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--bind %s: the peer has an IPv%d address",
                           netblt_address_text(wanted, text), (int)family);
    fd = socket(netblt_family_to_socket(family), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return netblt_fail(failure, errno == EAFNOSUPPORT ? NETBLT_FAILURE_UNSUPPORTED : NETBLT_FAILURE_LOCAL,
                           "cannot look up routes: %s", strerror(errno));
    result = connect_probe(fd, peer, wanted, failure);
    if (result == 0)
        result = read_route(fd, family, route, failure);
    close(fd);
    return result;
}
