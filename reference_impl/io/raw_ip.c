/* SPDX-License-Identifier: BSD-2-Clause */
/* NETBLT directly over IPv4, protocol 30 (WIRE-01), on a raw socket with our own IP headers: they cost less than the
 * kernel's, and give each packet an identification of its own. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "io/link_internal.h"

#define IP_VERSION_AND_WORDS 0x45 /* version 4, five words: no options */
#define IP_DONT_FRAGMENT 0x4000
#define IP_TTL_HOPS 64

static int explain_no_socket(netblt_failure *failure)
{
    if (errno == EPERM || errno == EACCES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "no permission for a raw IP socket: run as root, give the program CAP_NET_RAW "
                           "(setcap cap_net_raw+ep netblt), or use --encap udp");
    return netblt_fail(failure,
                       errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT || errno == ESOCKTNOSUPPORT
                           ? NETBLT_FAILURE_UNSUPPORTED
                           : NETBLT_FAILURE_LOCAL,
                       "cannot open a raw IP socket: %s; try --encap udp", strerror(errno));
}

static int raw_open(netblt_failure *failure)
{
    const int on = 1;
    int fd = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETBLT_IP_PROTOCOL);

    if (fd < 0)
        return explain_no_socket(failure);
    if (netblt_link_set_common_options(fd, failure) != 0 ||
        (setsockopt(fd, IPPROTO_IP, IP_HDRINCL, &on, sizeof on) != 0 &&
         netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot set up the socket: %s", strerror(errno)) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int raw_bind(netblt_link *link, struct in_addr address, uint16_t udp_port, netblt_failure *failure)
{
    (void)udp_port;
    return netblt_link_bind_socket(link->fd, address, 0, failure);
}

/* The kernel hands a raw socket the whole IP packet, options included. */
static size_t raw_skip(const uint8_t *datagram, size_t length)
{
    return length < NETBLT_IP_HEADER_BYTES ? length + 1 : (size_t)(datagram[0] & 0x0f) * 4;
}

static void put16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

/* The kernel fills in total length and checksum. */
static size_t raw_wrap(netblt_link *link, const netblt_path *path, size_t length,
                       uint8_t header[NETBLT_IP_HEADER_BYTES])
{
    memset(header, 0, NETBLT_IP_HEADER_BYTES);
    header[0] = IP_VERSION_AND_WORDS;
    put16(header + 2, (uint16_t)(NETBLT_IP_HEADER_BYTES + length));
    if (link->ip_id == 0) /* the kernel would take 0 for "choose one" */
        link->ip_id = 1;
    put16(header + 4, link->ip_id++);
    put16(header + 6, link->may_fragment ? 0 : IP_DONT_FRAGMENT);
    header[8] = IP_TTL_HOPS;
    header[9] = NETBLT_IP_PROTOCOL;
    memcpy(header + 12, path->local.bytes, NETBLT_IPV4_BYTES);
    memcpy(header + 16, path->foreign.bytes, NETBLT_IPV4_BYTES);
    return NETBLT_IP_HEADER_BYTES;
}

const netblt_link_ops netblt_raw_ip_ops = {
    .open = raw_open,
    .bind = raw_bind,
    .skip = raw_skip,
    .wrap = raw_wrap,
    .overhead_bytes = NETBLT_IP_HEADER_BYTES,
};
