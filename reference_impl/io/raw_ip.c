/* SPDX-License-Identifier: BSD-2-Clause */
/* NETBLT directly over IP, protocol 30 (WIRE-01), on raw sockets. Over IPv4 with our own IP headers: they cost less
 * than the kernel's, and give each packet an identification of its own. Over IPv6, which has neither identification nor
 * header checksum, the kernel writes them. NETBLT's checksum knows no pseudo-header, so it is the same over both. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "io/link_state.h"

#define IP_DONT_FRAGMENT 0x4000
#define IP_TTL_HOPS 64
/* Packets come one by one: more than this gains nothing measurable. */
#define RAW_BATCH 64
_Static_assert(RAW_BATCH <= NETBLT_LINK_BATCH, "arrivals have room for a batch");

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

static int raw_open(enum netblt_family family, netblt_failure *failure)
{
    const int on = 1;
    int fd = socket(netblt_family_to_socket(family), SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETBLT_IP_PROTOCOL);
    if (fd < 0)
        return explain_no_socket(failure);
    if (family == NETBLT_FAMILY_IPV4 && setsockopt(fd, IPPROTO_IP, IP_HDRINCL, &on, sizeof on) != 0) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot set up the socket: %s", strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

/* The kernel hands an IPv4 raw socket the whole IP packet, options included, and an IPv6 one what follows the
 * headers. */
static size_t raw_skip(enum netblt_family family, const uint8_t *datagram, size_t length)
{
    if (family == NETBLT_FAMILY_IPV6)
        return 0;
    return length < NETBLT_IP_HEADER_BYTES ? length + 1 : (size_t)(datagram[0] & 0x0f) * 4;
}

static void put16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

/* The kernel fills in total length and checksum. Once packets must be cut in pieces, it writes the whole header. */
static size_t raw_wrap(netblt_link *link, const netblt_socket *from, const netblt_path *path, size_t length,
                       uint8_t header[NETBLT_IP_HEADER_BYTES])
{
    if (from->family == NETBLT_FAMILY_IPV6 || from->may_fragment)
        return 0;
    memset(header, 0, NETBLT_IP_HEADER_BYTES);
    header[0] = IP_VERSION_AND_WORDS;
    put16(header + 2, (uint16_t)(NETBLT_IP_HEADER_BYTES + length));
    if (link->ip_id == 0) /* the kernel would take 0 for "choose one" */
        link->ip_id = 1;
    put16(header + 4, link->ip_id++);
    put16(header + 6, IP_DONT_FRAGMENT);
    header[8] = IP_TTL_HOPS;
    header[9] = NETBLT_IP_PROTOCOL;
    memcpy(header + 12, path->local.bytes, NETBLT_IPV4_BYTES);
    memcpy(header + 16, path->foreign.bytes, NETBLT_IPV4_BYTES);
    return NETBLT_IP_HEADER_BYTES;
}

const netblt_link_ops netblt_raw_ip_ops = {
    .open = raw_open,
    .skip = raw_skip,
    .wrap = raw_wrap,
    .header_bytes = 0,
    .batch = RAW_BATCH,
};
