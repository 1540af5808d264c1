/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_IO_IPV4_H
#define NETBLT_IO_IPV4_H

#include <netinet/in.h>

#include <netblt/types.h>

#include "io/failure.h"

/* How addresses look inside netblt_address, which the core only copies and compares: 4 bytes of IPv4 address, and for
 * UDP encapsulation 2 bytes of UDP port behind it, both in network byte order. */
#define NETBLT_IPV4_BYTES 4
#define NETBLT_IPV4_UDP_BYTES 6

/* `udp_port` in host byte order; 0 leaves it out (raw IP). */
netblt_address netblt_ipv4_address(struct in_addr address, uint16_t udp_port);
struct in_addr netblt_ipv4_of(const netblt_address *address);
/* The UDP port in host byte order, 0 when there is none. */
uint16_t netblt_ipv4_udp_port_of(const netblt_address *address);
struct sockaddr_in netblt_ipv4_sockaddr(const netblt_address *address);

/* "10.0.0.1" or "10.0.0.1:9980" */
#define NETBLT_IPV4_TEXT_BYTES (INET_ADDRSTRLEN + 6)
const char *netblt_ipv4_text(const netblt_address *address, char text[NETBLT_IPV4_TEXT_BYTES]);

/* A number such as 10.0.0.1 or a name. 0, or -1 with *failure (local: name unknown, or not an address of one host). */
int netblt_ipv4_resolve(const char *host, struct in_addr *address, netblt_failure *failure);
/* A number only. 0, or -1 with *failure, which names `option`. */
int netblt_ipv4_parse(const char *option, const char *text, struct in_addr *address, netblt_failure *failure);

#endif
