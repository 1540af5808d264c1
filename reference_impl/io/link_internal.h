/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_IO_LINK_INTERNAL_H
#define NETBLT_IO_LINK_INTERNAL_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "io/link.h"

/* Room for the largest datagram that IPv4 can carry, and some bytes so that neighbours do not share cache sets. */
#define LINK_SLOT_BYTES (65536 + 192)

/* What differs between the encapsulations. */
typedef struct netblt_link_ops {
    int (*open)(netblt_failure *failure); /* fd, or -1 */
    int (*bind)(netblt_link *link, struct in_addr address, uint16_t udp_port, netblt_failure *failure);
    /* Bytes of a received datagram before the NETBLT packet; more than `length` = not usable. */
    size_t (*skip)(const uint8_t *datagram, size_t length);
    /* Writes the header that goes in front of a packet of `length` bytes, and answers its size; 0 = the kernel's job.
     */
    size_t (*wrap)(netblt_link *link, const netblt_path *path, size_t length, uint8_t header[NETBLT_IP_HEADER_BYTES]);
    size_t overhead_bytes;
} netblt_link_ops;

extern const netblt_link_ops netblt_raw_ip_ops;
extern const netblt_link_ops netblt_udp_ops;

struct netblt_link {
    enum netblt_encap encap;
    const netblt_link_ops *ops;
    int fd;
    uint16_t udp_port;      /* ours; 0 for raw IP */
    uint16_t ip_id;         /* raw IP: identification of the next packet, climbing so that captures can tell copies
                               from retransmissions */
    bool may_fragment;      /* the path's MTU fell below our packets: better in pieces than not at all */
    uint8_t *receive_slots; /* NETBLT_LINK_BATCH of LINK_SLOT_BYTES */
};

/* Options that both kinds of socket want. 0, or -1 with *failure. */
int netblt_link_set_common_options(int fd, netblt_failure *failure);
/* bind(2) with a clear message. */
int netblt_link_bind_socket(int fd, struct in_addr address, uint16_t udp_port, netblt_failure *failure);
/* A packet did not fit the path: let it travel in pieces from now on. False when that was already so. */
bool netblt_link_allow_fragments(netblt_link *link);

#endif
