/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connecting a UDP socket makes the kernel look the route up and sends nothing; any port will do. */
#define PROBE_PORT 9

static int connect_probe(int fd, struct in_addr peer, struct in_addr bind_address, netblt_failure *failure)
{
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr = bind_address};
    struct sockaddr_in remote = {.sin_family = AF_INET, .sin_port = htons(PROBE_PORT), .sin_addr = peer};
    char text[INET_ADDRSTRLEN];

    if (bind_address.s_addr != htonl(INADDR_ANY) && bind(fd, (struct sockaddr *)&local, sizeof local) != 0) {
        inet_ntop(AF_INET, &bind_address, text, sizeof text);
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--bind %s: %s; give an address of one of this host's interfaces", text, strerror(errno));
    }
    if (connect(fd, (struct sockaddr *)&remote, sizeof remote) != 0) {
        inet_ntop(AF_INET, &peer, text, sizeof text);
        return netblt_fail(failure, NETBLT_FAILURE_UNREACHABLE,
                           "no way to reach %s: %s; check the address and this host's routes", text, strerror(errno));
    }
    return 0;
}

int netblt_route_lookup(struct in_addr peer, struct in_addr bind_address, netblt_route *route, netblt_failure *failure)
{
    struct sockaddr_in source = {0};
    socklen_t length = sizeof source;
    int mtu = 0;
    socklen_t mtu_length = sizeof mtu;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot look up routes: %s", strerror(errno));
    if (connect_probe(fd, peer, bind_address, failure) != 0) {
        close(fd);
        return -1;
    }
    if (getsockname(fd, (struct sockaddr *)&source, &length) != 0 ||
        getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &mtu_length) != 0) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot look up routes: %s", strerror(errno));
        close(fd);
        return -1;
    }
    close(fd);
    route->source = source.sin_addr;
    route->mtu = (uint32_t)mtu;
    return 0;
}
