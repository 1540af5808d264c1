/* SPDX-License-Identifier: BSD-2-Clause */
/* The sockets that carry NETBLT packets. */
#ifndef NETBLT_IO_LINK_H
#define NETBLT_IO_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <netblt/endpoint.h>

#include "io/address.h"
#include "io/failure.h"

/* What carries NETBLT packets, and how they are wrapped on it: one socket of each address family that is wanted. */
enum netblt_encap {
    NETBLT_ENCAP_IP,  /* IPv4 or IPv6 with protocol 30 (WIRE-01) */
    NETBLT_ENCAP_UDP, /* the same packet as the payload of a UDP datagram */
};

#define NETBLT_IP_PROTOCOL 30
#define NETBLT_TYPE_OPEN 0        /* type code (WIRE-03) */
#define NETBLT_IP_HEADER_BYTES 20 /* of IPv4, without options */
#define NETBLT_UDP_PORT_DEFAULT 9980

typedef struct netblt_link netblt_link;

/* Opens the sockets and gives nothing to them yet; needs privileges for ENCAP_IP. NETBLT_FAMILY_ANY opens both
 * families, or the one that this kernel has. NULL with *failure. */
netblt_link *netblt_link_open(enum netblt_encap encap, enum netblt_family family, netblt_failure *failure);
/* Sends raw IPv4 by a packet socket, past routing tables' rules, firewall and queueing (link_packet.c); needs
 * privileges. 0, or -1 with *failure. */
int netblt_link_transmit_by_packet_socket(netblt_link *link, netblt_failure *failure);
/* UDP: each packet leaves by itself from now on, though the kernel could cut up a whole run (link_segmented.c). A
 * token-bucket queueing discipline that takes a run apart may drop some of its packets without a report. */
void netblt_link_transmit_singly(netblt_link *link);
/* Gives the link its address and, for UDP, its port (0 = any free one). An address of one family, even its wildcard,
 * closes the other family's socket; NETBLT_FAMILY_ANY keeps both. 0, or -1 with *failure. */
int netblt_link_bind(netblt_link *link, const netblt_address *address, uint16_t udp_port, netblt_failure *failure);
/* UDP, bound to one address: `foreign`, with its UDP port, is this link's only peer from now on. The kernel then looks
 * for the way to it once instead of for each run, and keeps what others send away. Where it cannot be done, nothing
 * changes. */
void netblt_link_connect(netblt_link *link, const netblt_address *foreign);
/* Makes the sockets those of a user whom this process is about to become: claims on ports count if their user has a
 * raw socket (claim_names.h). Takes CAP_CHOWN. 0, or -1 with *failure. */
int netblt_link_give_to(netblt_link *link, uid_t uid, gid_t gid, netblt_failure *failure);
void netblt_link_close(netblt_link *link);

#define NETBLT_LINK_SOCKETS 2
/* Socket number 0 or 1, -1 when there is none. */
int netblt_link_fd(const netblt_link *link, unsigned i);
/* The socket that packets to `foreign` leave by. */
unsigned netblt_link_socket_for(const netblt_address *foreign);
enum netblt_encap netblt_link_encap(const netblt_link *link);
/* This end of a path: `address` as the core sees it, with our UDP port where there is one. */
netblt_address netblt_link_local(const netblt_link *link, const netblt_address *address);
/* Bytes in front of each NETBLT packet: IP header, UDP header. */
size_t netblt_encap_overhead_bytes(enum netblt_encap encap, enum netblt_family family);

/* Memory that the kernel gives to packets that wait in the link's smallest socket, their own overhead included. */
size_t netblt_link_receive_buffer_bytes(const netblt_link *link);

/* ---- receiving ---------------------------------------------------------------------------------------------- */

/* Packets of one sender: one, or a run of equal-size ones that the kernel coalesced. */
typedef struct netblt_arrival {
    netblt_path path;
    const uint8_t *packets; /* valid until the next netblt_link_receive() */
    size_t length;
    size_t segment_bytes;
    netblt_time at; /* when the kernel got it, not when it was read; 0 = not known */
} netblt_arrival;

#define NETBLT_LINK_BATCH 64 /* packets for one system call; more gains nothing measurable */

/* Takes what has arrived at socket `i`, without waiting. Returns how many; *more is whether there may be more. */
unsigned netblt_link_receive(netblt_link *link, unsigned i, netblt_arrival arrivals[NETBLT_LINK_BATCH], bool *more);

/* Raw IP: asks the kernel to keep packets for other NETBLT ports away, except OPENs if `opens`. It may fail to, and
 * what has arrived before is still there, so each packet's port must be looked at all the same. */
void netblt_link_admit_only(netblt_link *link, const uint16_t *ports, size_t count, bool opens);

/* ---- sending ------------------------------------------------------------------------------------------------ */

enum netblt_sent {
    NETBLT_SENT_ALL,
    NETBLT_SENT_LATER,    /* the socket is full: call again with the rest when it is writable */
    NETBLT_SENT_CONGESTED /* the interface's queue is full: call again with the rest a little later */
};

/* A packet that the network, or this host on its way to it, could not carry. */
typedef struct netblt_network_error {
    netblt_address foreign;
    uint16_t local_port; /* NETBLT port of the packet that caused it; 0 = unknown */
    int error;           /* errno value: ECONNREFUSED, EHOSTUNREACH, ... */
} netblt_network_error;
typedef void netblt_network_error_fn(void *context, const netblt_network_error *error);

/* Bytes of the largest run that leaves in one system call where the kernel segments (UDP). */
#define NETBLT_LINK_RUN_MAX_BYTES 65507

/* Sends packets number *next and up of a run, and moves *next past the last one that needs no more care: sent, or
 * lost for a reason given to `report`. */
enum netblt_sent netblt_link_send(netblt_link *link, const netblt_output *run, const uint8_t *packets, size_t *next,
                                  netblt_network_error_fn *report, void *context);

/* ---- errors from the network -------------------------------------------------------------------------------- */

/* Reads the error queue (ICMP) of socket `i` empty. */
void netblt_link_read_errors(netblt_link *link, unsigned i, netblt_network_error_fn *report, void *context);

#endif
