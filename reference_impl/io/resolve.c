/* SPDX-License-Identifier: BSD-2-Clause */
/* Host names and numbers to addresses. */
#include "io/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>

static int look_up(const char *host, int family, int flags, netblt_address *address)
{
    struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_DGRAM, .ai_flags = flags};
    struct addrinfo *found = NULL;
    struct sockaddr_storage first = {0};
    int error = getaddrinfo(host, NULL, &hints, &found);
    if (error != 0)
        return error;
    memcpy(&first, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    *address = netblt_address_of_sockaddr(&first);
    return 0;
}

/* The family of a host that is written as a number; NETBLT_FAMILY_ANY for names, which it does not look up. */
static enum netblt_family family_of_text(const char *host)
{
    netblt_address address;
    if (look_up(host, AF_UNSPEC, AI_NUMERICHOST, &address) != 0)
        return NETBLT_FAMILY_ANY;
    return netblt_address_family(&address);
}

static int explain(const char *host, enum netblt_family family, int error, netblt_failure *failure)
{
    enum netblt_family written = family_of_text(host);
    if (family != NETBLT_FAMILY_ANY && written != NETBLT_FAMILY_ANY && written != family)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is an IPv%d address, but IPv%d is required", host,
                           (int)written, (int)family);
    if (error == EAI_AGAIN)
        return netblt_fail(failure, NETBLT_FAILURE_NAMES,
                           "cannot look up host %s: %s; check the network, or give an address", host,
                           gai_strerror(error));
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "unknown host %s: %s; check the spelling or give an address",
                       host, error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
}

int netblt_resolve(const char *host, enum netblt_family family, netblt_address *address, netblt_failure *failure)
{
    int error = look_up(host, netblt_family_to_socket(family), 0, address);
    if (error != 0)
        return explain(host, family, error, failure);
    /* A transfer has one peer: groups, broadcasts and "any" are none. */
    if (netblt_address_is_any(address) || netblt_address_is_group(address))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is not the address of one host: give the peer's address",
                           host);
    return 0;
}

int netblt_parse_address(const char *option, const char *text, netblt_address *address, netblt_failure *failure)
{
    struct in_addr ipv4;
    if (inet_pton(AF_INET, text, &ipv4) == 1) { /* stricter than getaddrinfo(), which reads 10.1 as 10.0.0.1 */
        *address = netblt_address_of_ipv4(ipv4);
        return 0;
    }
    if (look_up(text, AF_INET6, AI_NUMERICHOST, address) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s %s: not an address such as 10.0.0.1 or 2001:db8::1",
                           option, text);
    return 0;
}
