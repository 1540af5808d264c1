/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends Ethernet frames by an AF_XDP socket: frames lie in memory that the kernel shares, and go straight to the
 * interface's driver. */
#ifndef NETBLT_IO_XDP_RING_H
#define NETBLT_IO_XDP_RING_H

#include <stddef.h>
#include <stdint.h>

/* Room for one frame, with its Ethernet header. */
#define NETBLT_XDP_FRAME_BYTES 2048

typedef struct netblt_xdp_ring netblt_xdp_ring;

/* Needs CAP_NET_RAW, and 2 MiB that may be locked into memory. NULL: this kernel or this process cannot. */
netblt_xdp_ring *netblt_xdp_open(void);
void netblt_xdp_close(netblt_xdp_ring *ring);

/* For options of sockets. */
int netblt_xdp_fd(const netblt_xdp_ring *ring);

/* Chooses the interface that frames leave by, once. 0 or errno: EBUSY when another program has its first queue. */
int netblt_xdp_bind(netblt_xdp_ring *ring, int interface);
/* 0 = none yet. */
int netblt_xdp_interface(const netblt_xdp_ring *ring);

/* Where the next frame has to be written; NULL: all frames are on their way. */
uint8_t *netblt_xdp_place(netblt_xdp_ring *ring);
/* The frame at that place has `length` bytes. */
void netblt_xdp_add(netblt_xdp_ring *ring, size_t length);
/* Gives the kernel all frames that were added. 0 or errno; frames that it did not take then leave with the next ones.
 */
int netblt_xdp_send(netblt_xdp_ring *ring);

#endif
