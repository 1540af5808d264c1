/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of IPv4 and IPv6: as the core keeps them, as sockets use them, as text. */
#include "io/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#define PORT_BYTES 2
#define INTERFACE_BYTES 4
#define LINK_LOCAL_BYTES (NETBLT_IPV6_BYTES + PORT_BYTES + INTERFACE_BYTES)
_Static_assert(LINK_LOCAL_BYTES <= NETBLT_ADDRESS_MAX_BYTES, "the core's address has room for ours");

enum netblt_family netblt_address_family(const netblt_address *address)
{
    if (address->length >= NETBLT_IPV6_BYTES)
        return NETBLT_FAMILY_IPV6;
    return address->length >= NETBLT_IPV4_BYTES ? NETBLT_FAMILY_IPV4 : NETBLT_FAMILY_ANY;
}

int netblt_family_to_socket(enum netblt_family family)
{
    return family == NETBLT_FAMILY_IPV4 ? AF_INET : family == NETBLT_FAMILY_IPV6 ? AF_INET6 : AF_UNSPEC;
}

/* Bytes of the address proper. */
static uint8_t host_bytes(enum netblt_family family)
{
    return family == NETBLT_FAMILY_IPV4 ? NETBLT_IPV4_BYTES : family == NETBLT_FAMILY_IPV6 ? NETBLT_IPV6_BYTES : 0;
}

netblt_address netblt_address_any(enum netblt_family family)
{
    return (netblt_address){.length = host_bytes(family)};
}

bool netblt_address_is_any(const netblt_address *address)
{
    uint8_t length = host_bytes(netblt_address_family(address));
    for (uint8_t i = 0; i < length; i++)
        if (address->bytes[i] != 0)
            return false;
    return true;
}

bool netblt_address_is_group(const netblt_address *address)
{
    static const uint8_t broadcast[NETBLT_IPV4_BYTES] = {255, 255, 255, 255};
    switch (netblt_address_family(address)) {
    case NETBLT_FAMILY_IPV4:
        return (address->bytes[0] & 0xF0) == 0xE0 || memcmp(address->bytes, broadcast, sizeof broadcast) == 0;
    case NETBLT_FAMILY_IPV6:
        return address->bytes[0] == 0xFF;
    default:
        return false;
    }
}

netblt_address netblt_address_of_ipv4(struct in_addr ipv4)
{
    netblt_address address = {.length = NETBLT_IPV4_BYTES};
    memcpy(address.bytes, &ipv4, NETBLT_IPV4_BYTES);
    return address;
}

netblt_address netblt_address_of_ipv6(const struct in6_addr *ipv6, uint32_t interface)
{
    netblt_address address = {.length = NETBLT_IPV6_BYTES};
    memcpy(address.bytes, ipv6, NETBLT_IPV6_BYTES);
    if (IN6_IS_ADDR_LINKLOCAL(ipv6) && interface != 0) {
        uint32_t network_order = htonl(interface);
        address.length = LINK_LOCAL_BYTES;
        memcpy(address.bytes + NETBLT_IPV6_BYTES + PORT_BYTES, &network_order, INTERFACE_BYTES);
    }
    return address;
}

netblt_address netblt_address_of_sockaddr(const struct sockaddr_storage *from)
{
    if (from->ss_family == AF_INET)
        return netblt_address_of_ipv4(((const struct sockaddr_in *)(const void *)from)->sin_addr);
    if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *ipv6 = (const void *)from;
        return netblt_address_of_ipv6(&ipv6->sin6_addr, ipv6->sin6_scope_id);
    }
    return netblt_address_any(NETBLT_FAMILY_ANY);
}

netblt_address netblt_address_with_port(const netblt_address *address, uint16_t udp_port)
{
    netblt_address changed = *address;
    uint8_t host = host_bytes(netblt_address_family(address));
    uint16_t network_order = htons(udp_port);
    if (host == 0)
        return changed;
    if (changed.length != LINK_LOCAL_BYTES)
        changed.length = udp_port == 0 ? host : (uint8_t)(host + PORT_BYTES);
    memcpy(changed.bytes + host, &network_order, PORT_BYTES);
    return changed;
}

uint16_t netblt_address_udp_port(const netblt_address *address)
{
    uint8_t host = host_bytes(netblt_address_family(address));
    uint16_t network_order;
    if (host == 0 || address->length < host + PORT_BYTES)
        return 0;
    memcpy(&network_order, address->bytes + host, PORT_BYTES);
    return ntohs(network_order);
}

uint32_t netblt_address_interface(const netblt_address *address)
{
    uint32_t network_order;
    if (address->length != LINK_LOCAL_BYTES)
        return 0;
    memcpy(&network_order, address->bytes + NETBLT_IPV6_BYTES + PORT_BYTES, INTERFACE_BYTES);
    return ntohl(network_order);
}

socklen_t netblt_address_to_sockaddr(const netblt_address *address, struct sockaddr_storage *to)
{
    uint16_t port = htons(netblt_address_udp_port(address));
    memset(to, 0, sizeof *to);
    if (netblt_address_family(address) == NETBLT_FAMILY_IPV4) {
        struct sockaddr_in *ipv4 = (void *)to;
        ipv4->sin_family = AF_INET;
        ipv4->sin_port = port;
        memcpy(&ipv4->sin_addr, address->bytes, NETBLT_IPV4_BYTES);
        return sizeof *ipv4;
    }
    if (netblt_address_family(address) == NETBLT_FAMILY_IPV6) {
        struct sockaddr_in6 *ipv6 = (void *)to;
        ipv6->sin6_family = AF_INET6;
        ipv6->sin6_port = port;
        ipv6->sin6_scope_id = netblt_address_interface(address);
        memcpy(&ipv6->sin6_addr, address->bytes, NETBLT_IPV6_BYTES);
        return sizeof *ipv6;
    }
    return 0;
}

uint16_t netblt_sockaddr_port(const struct sockaddr_storage *from)
{
    return ntohs(from->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)(const void *)from)->sin6_port
                                             : ((const struct sockaddr_in *)(const void *)from)->sin_port);
}

bool netblt_address_same_host(const netblt_address *a, const netblt_address *b)
{
    enum netblt_family family = netblt_address_family(a);
    return family == netblt_address_family(b) && memcmp(a->bytes, b->bytes, host_bytes(family)) == 0 &&
           netblt_address_interface(a) == netblt_address_interface(b);
}

static void write_zone(uint32_t interface, char zone[IF_NAMESIZE + 1])
{
    zone[0] = '\0';
    if (interface == 0)
        return;
    zone[0] = '%';
    if (if_indextoname(interface, zone + 1) == NULL)
        snprintf(zone + 1, IF_NAMESIZE, "%u", interface);
}

const char *netblt_address_text(const netblt_address *address, char text[NETBLT_ADDRESS_TEXT_BYTES])
{
    char host[INET6_ADDRSTRLEN];
    char zone[IF_NAMESIZE + 1];
    enum netblt_family family = netblt_address_family(address);
    uint16_t port = netblt_address_udp_port(address);
    if (family == NETBLT_FAMILY_ANY) {
        snprintf(text, NETBLT_ADDRESS_TEXT_BYTES, "any");
        return text;
    }
    inet_ntop(netblt_family_to_socket(family), address->bytes, host, sizeof host);
    write_zone(netblt_address_interface(address), zone);
    if (port == 0)
        snprintf(text, NETBLT_ADDRESS_TEXT_BYTES, "%s%s", host, zone);
    else
        snprintf(text, NETBLT_ADDRESS_TEXT_BYTES, family == NETBLT_FAMILY_IPV6 ? "[%s%s]:%u" : "%s%s:%u", host, zone,
                 port);
    return text;
}
