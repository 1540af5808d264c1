/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/ipv4.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

netblt_address netblt_ipv4_address(struct in_addr address, uint16_t udp_port)
{
    netblt_address packed = {.length = udp_port == 0 ? NETBLT_IPV4_BYTES : NETBLT_IPV4_UDP_BYTES};
    uint16_t network_port = htons(udp_port);

    memcpy(packed.bytes, &address, NETBLT_IPV4_BYTES);
    memcpy(packed.bytes + NETBLT_IPV4_BYTES, &network_port, sizeof network_port);
    return packed;
}

struct in_addr netblt_ipv4_of(const netblt_address *address)
{
    struct in_addr ipv4;

    memcpy(&ipv4, address->bytes, sizeof ipv4);
    return ipv4;
}

uint16_t netblt_ipv4_udp_port_of(const netblt_address *address)
{
    uint16_t network_port;

    if (address->length < NETBLT_IPV4_UDP_BYTES)
        return 0;
    memcpy(&network_port, address->bytes + NETBLT_IPV4_BYTES, sizeof network_port);
    return ntohs(network_port);
}

struct sockaddr_in netblt_ipv4_sockaddr(const netblt_address *address)
{
    struct sockaddr_in socket_address = {.sin_family = AF_INET,
                                         .sin_port = htons(netblt_ipv4_udp_port_of(address)),
                                         .sin_addr = netblt_ipv4_of(address)};

    return socket_address;
}

const char *netblt_ipv4_text(const netblt_address *address, char text[NETBLT_IPV4_TEXT_BYTES])
{
    struct in_addr ipv4 = netblt_ipv4_of(address);
    uint16_t udp_port = netblt_ipv4_udp_port_of(address);
    size_t used;

    inet_ntop(AF_INET, &ipv4, text, INET_ADDRSTRLEN);
    used = strlen(text);
    if (udp_port != 0)
        snprintf(text + used, NETBLT_IPV4_TEXT_BYTES - used, ":%u", udp_port);
    return text;
}

/* A transfer has one peer: groups, broadcasts and "any" are nobody. */
static int require_unicast(const char *host, struct in_addr address, netblt_failure *failure)
{
    in_addr_t value = ntohl(address.s_addr);

    if (value == INADDR_ANY || value == INADDR_BROADCAST || IN_MULTICAST(value))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is not the address of one host: give the peer's address",
                           host);
    return 0;
}

int netblt_ipv4_resolve(const char *host, struct in_addr *address, netblt_failure *failure)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    char without_zone[INET6_ADDRSTRLEN]; /* fe80::1%eth0 */
    struct in6_addr ipv6;
    int error;

    snprintf(without_zone, sizeof without_zone, "%.*s", (int)strcspn(host, "%"), host);
    if (inet_pton(AF_INET6, without_zone, &ipv6) == 1)
        return netblt_fail(failure, NETBLT_FAILURE_UNSUPPORTED, "%s is an IPv6 address: this version speaks IPv4 only",
                           host);
    error = getaddrinfo(host, NULL, &hints, &found);
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "unknown host %s: %s; check the spelling or give an IPv4 address", host,
                           error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
    *address = ((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr;
    freeaddrinfo(found);
    return require_unicast(host, *address, failure);
}

int netblt_ipv4_parse(const char *option, const char *text, struct in_addr *address, netblt_failure *failure)
{
    if (inet_pton(AF_INET, text, address) != 1)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s %s: not an IPv4 address such as 10.0.0.1", option, text);
    return 0;
}
