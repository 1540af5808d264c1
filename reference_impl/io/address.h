/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of IPv4 and IPv6: as the core keeps them, as sockets use them, as text. */
#ifndef NETBLT_IO_ADDRESS_H
#define NETBLT_IO_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <netblt/types.h>

/* How addresses look inside netblt_address, which the core only copies and compares. All parts are in network byte
 * order, and the length distinguishes them:
 *
 *      0           no address: any, of any family
 *      4  [ 6]     IPv4 address [, UDP port]
 *     16  [18]     IPv6 address [, UDP port]
 *     22           IPv6 link-local address, UDP port or 0, index of the interface that it is valid on */
enum netblt_family {
    NETBLT_FAMILY_ANY = 0,
    NETBLT_FAMILY_IPV4 = 4,
    NETBLT_FAMILY_IPV6 = 6,
};

#define NETBLT_IPV4_BYTES 4
#define NETBLT_IPV6_BYTES 16

enum netblt_family netblt_address_family(const netblt_address *address);
/* AF_INET or AF_INET6; AF_UNSPEC for any. */
int netblt_family_to_socket(enum netblt_family family);

/* The wildcard of a family; of NETBLT_FAMILY_ANY, that of both. */
netblt_address netblt_address_any(enum netblt_family family);
bool netblt_address_is_any(const netblt_address *address);
/* A broadcast of IPv4 or a group: not the address of one host. */
bool netblt_address_is_group(const netblt_address *address);

netblt_address netblt_address_of_ipv4(struct in_addr ipv4);
/* `interface` counts for link-local addresses only. */
netblt_address netblt_address_of_ipv6(const struct in6_addr *ipv6, uint32_t interface);
/* Without the port. Other families than ours give the empty address. */
netblt_address netblt_address_of_sockaddr(const struct sockaddr_storage *from);

/* The same host with another UDP port, in host byte order; 0 leaves it out (raw IP). */
netblt_address netblt_address_with_port(const netblt_address *address, uint16_t udp_port);
/* 0 when there is none. */
uint16_t netblt_address_udp_port(const netblt_address *address);
/* Index of the interface of a link-local address, else 0. */
uint32_t netblt_address_interface(const netblt_address *address);
/* Bytes written; 0 for the address of no family. */
socklen_t netblt_address_to_sockaddr(const netblt_address *address, struct sockaddr_storage *to);

/* The port of an IPv4 or IPv6 address, in host byte order. */
uint16_t netblt_sockaddr_port(const struct sockaddr_storage *from);

/* Compares hosts, not ports. */
bool netblt_address_same_host(const netblt_address *a, const netblt_address *b);

/* "10.0.0.1", "10.0.0.1:9980", "fe80::1%eth0", "[2001:db8::1]:9980", "any" */
#define NETBLT_ADDRESS_TEXT_BYTES (INET6_ADDRSTRLEN + 16 + 9) /* zone, brackets and port */
const char *netblt_address_text(const netblt_address *address, char text[NETBLT_ADDRESS_TEXT_BYTES]);

#endif
