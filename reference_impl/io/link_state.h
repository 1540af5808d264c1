/* SPDX-License-Identifier: BSD-2-Clause */
/* What a link remembers, and what its parts share. */
#ifndef NETBLT_IO_LINK_STATE_H
#define NETBLT_IO_LINK_STATE_H

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

#include "io/link.h"
#include "io/xdp_ring.h"

#define IP_VERSION_AND_WORDS 0x45 /* first byte of our IPv4 headers: version 4, five words, no options */
#define IPV6_HEADER_BYTES 40
#define UDP_HEADER_BYTES 8

/* Room for IP_PKTINFO or IPV6_PKTINFO, and beside it for UDP_SEGMENT or UDP_GRO, and SO_TIMESTAMPNS. */
#define LINK_CONTROL_BYTES                                                                                             \
    (CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct timespec)))

/* The socket of one address family. */
typedef struct netblt_socket {
    int fd; /* -1 = none */
    enum netblt_family family;
    bool has_address;            /* bound to one address of ours, which all packets then carry */
    bool may_fragment;           /* the path's MTU fell below our packets: better in pieces than not at all */
    netblt_address connected_to; /* the only peer; empty = none */
    /* Packets of this size and more leave one by one, smaller ones in segmented sends. SIZE_MAX: all of them do (so
     * far); 0: none, because this kernel or a device cannot. */
    size_t unsegmented_from_bytes;
    int segment_bytes; /* of all that leaves by a connected socket, as UDP_SEGMENT was set last; 0 = not cut */
} netblt_socket;

/* What differs between the encapsulations. */
typedef struct netblt_link_ops {
    int (*open)(enum netblt_family family, netblt_failure *failure); /* fd, or -1 with *failure */
    /* Bytes of a received datagram before the NETBLT packet; more than `length` = not usable. */
    size_t (*skip)(enum netblt_family family, const uint8_t *datagram, size_t length);
    /* Writes the header that goes in front of a packet of `length` bytes, and returns its size; 0 = the kernel's job.
     */
    size_t (*wrap)(netblt_link *link, const netblt_socket *from, const netblt_path *path, size_t length,
                   uint8_t header[NETBLT_IP_HEADER_BYTES]);
    size_t header_bytes; /* after the IP header */
    unsigned batch;      /* datagrams to take in one system call */
} netblt_link_ops;

extern const netblt_link_ops netblt_raw_ip_ops;
extern const netblt_link_ops netblt_udp_ops;

struct netblt_inbox;

struct netblt_link {
    enum netblt_encap encap;
    const netblt_link_ops *ops;
    netblt_socket sockets[NETBLT_LINK_SOCKETS]; /* IPv4, IPv6 */
    uint16_t udp_port;                          /* ours; 0 for raw IP */
    uint16_t ip_id; /* raw IPv4: identification of the next packet, climbing so that captures distinguish copies from
                       retransmissions */
    struct netblt_inbox *inbox;

    /* Sending by a packet socket, see link_packet.c. */
    int packet_fd;                       /* -1 = not requested */
    netblt_xdp_ring *ring;               /* faster than packet_fd; NULL = this kernel or this process cannot */
    uint8_t own_address[ETHER_ADDR_LEN]; /* of the ring's interface */
    bool last_by_packet_socket;          /* the newest packet was given to packet_fd or ring */
    bool next_hop_known;
    netblt_address next_hop_to;
    netblt_time next_hop_until; /* believed until then, known or not */
    struct sockaddr_ll next_hop;
};

/* Options that every socket wants. 0, or -1 with *failure. */
int netblt_link_set_common_options(int fd, enum netblt_family family, netblt_failure *failure);
/* As large as this process may make them. */
void netblt_link_enlarge_buffers(int fd);
/* A packet did not fit the path: let it travel in pieces from now on. False when that was already so. */
bool netblt_link_allow_fragments(netblt_socket *from);

/* Writes one item of control data; `control` has room for CMSG_SPACE(length). Returns the bytes used. */
size_t netblt_link_put_control(uint8_t *control, int level, int type, const void *value, size_t length);
/* Puts the source address, which the peer knows, into `control`; returns the bytes used, 0 if it goes without saying.
 */
size_t netblt_link_choose_source(const netblt_socket *from, const netblt_path *path,
                                 uint8_t control[LINK_CONTROL_BYTES]);
/* Whether the kernel knows UDP_SEGMENT on this socket. One that does not would ignore it, and send one huge datagram.
 */
bool netblt_link_can_segment(int fd);
/* What is not to be cut must not meet with the UDP_SEGMENT of the run before. */
void netblt_link_forget_segments(netblt_socket *from);
/* UDP: sends as many packets of the run from *next on as one segmented send carries, and moves *next. Returns what is
 * to be done: 0 = sent, ENOTSUP = send them one by one, else errno of a failed send. */
int netblt_link_send_segmented(netblt_socket *from, const netblt_output *run, const uint8_t *packets, size_t *next);
/* Where the packet socket has to send packets for `foreign`. False when they have to leave by `from`. */
bool netblt_link_next_hop(netblt_link *link, const netblt_socket *from, const netblt_address *foreign,
                          struct sockaddr_storage *to, socklen_t *length);
/* Sends packets of the run from *next on by the ring, past the packet socket, and moves *next. Returns what is to be
 * done: 0 = sent, ENOTSUP = send them otherwise, ENOBUFS = try again later. */
int netblt_link_send_by_ring(netblt_link *link, const netblt_socket *from, const netblt_output *run,
                             const uint8_t *packets, size_t *next);
/* Fills in the checksum, which must be zero, of a header that is otherwise complete. */
void netblt_link_seal_ipv4(uint8_t header[NETBLT_IP_HEADER_BYTES]);

#endif
