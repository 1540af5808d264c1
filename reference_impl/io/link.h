/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_IO_LINK_H
#define NETBLT_IO_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netblt/endpoint.h>

#include "io/ipv4.h"

/* One socket that carries NETBLT packets, and how they are wrapped on it. */
enum netblt_encap {
    NETBLT_ENCAP_IP,  /* IPv4 protocol 30 (WIRE-01) */
    NETBLT_ENCAP_UDP, /* the same packet as the payload of a UDP datagram */
};

#define NETBLT_IP_PROTOCOL 30
#define NETBLT_IP_HEADER_BYTES 20
#define NETBLT_UDP_HEADER_BYTES 8
#define NETBLT_UDP_PORT_DEFAULT 9980

typedef struct netblt_link netblt_link;

/* Opens the socket and gives nothing to it yet; needs privileges for ENCAP_IP. NULL with *failure. */
netblt_link *netblt_link_open(enum netblt_encap encap, netblt_failure *failure);
/* Gives the socket its address (INADDR_ANY = all) and, for UDP, its port (0 = any free one). 0, or -1 with *failure. */
int netblt_link_bind(netblt_link *link, struct in_addr address, uint16_t udp_port, netblt_failure *failure);
void netblt_link_close(netblt_link *link);

int netblt_link_fd(const netblt_link *link);
enum netblt_encap netblt_link_encap(const netblt_link *link);
/* This end of a path: `address` as the core sees it, with our UDP port where there is one. */
netblt_address netblt_link_local(const netblt_link *link, struct in_addr address);
/* Bytes in front of each NETBLT packet: IP header, UDP header. */
size_t netblt_encap_overhead_bytes(enum netblt_encap encap);

/* ---- receiving ---------------------------------------------------------------------------------------------- */

/* Packets of one sender: one, or a run of equal-size ones that the kernel coalesced. */
typedef struct netblt_arrival {
    netblt_path path;
    const uint8_t *packets; /* valid until the next netblt_link_receive() */
    size_t length;
    size_t segment_bytes;
} netblt_arrival;

#define NETBLT_LINK_BATCH 32 /* packets for one system call; more gains nothing measurable */

/* Takes what has arrived, without waiting. Answers how many; 0 = nothing left. Call until 0. */
unsigned netblt_link_receive(netblt_link *link, netblt_arrival arrivals[NETBLT_LINK_BATCH], bool *more);

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

/* Sends packets number *next and up of a run, and moves *next behind the last one that needs no more care: sent, or
 * lost for a reason given to `report`. */
enum netblt_sent netblt_link_send(netblt_link *link, const netblt_output *run, const uint8_t *packets, size_t *next,
                                  netblt_network_error_fn *report, void *context);

/* ---- errors from the network -------------------------------------------------------------------------------- */

/* Reads the socket's error queue (ICMP) empty. */
void netblt_link_read_errors(netblt_link *link, netblt_network_error_fn *report, void *context);

#endif
