/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends Ethernet frames by an AF_XDP socket. Nothing is received, so no program is loaded into the kernel, and the
 * driver needs no support: the kernel copies each frame (XDP_COPY). */
#include "io/xdp_ring.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* 12 ms at 1 Gb/s: a driver that sends later what it has taken, as real ones do, must not run dry. A power of two. */
#define FRAMES 1024u
#define MEMORY_BYTES ((size_t)FRAMES * NETBLT_XDP_FRAME_BYTES)
/* The kernel takes 32 frames in one call unless it knows this option. */
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9 /* Linux 6.17 */
#endif
#define BUDGET_FRAMES 256

/* One ring that is shared with the kernel: either side moves its own index forward. */
struct ring {
    uint8_t *memory;
    size_t bytes;
    uint32_t *producer;
    uint32_t *consumer;
    void *entries;
};

struct netblt_xdp_ring {
    int fd;
    int interface;
    uint8_t *memory; /* FRAMES frames */
    struct ring transmit;
    struct ring completed;
    uint32_t added;        /* frames given to `transmit` */
    uint32_t reclaimed;    /* ... and back from `completed` */
    uint32_t free[FRAMES]; /* numbers of frames, used as a stack */
    uint32_t free_count;
};

static bool map_ring(int fd, struct ring *ring, off_t which, const struct xdp_ring_offset *offsets, size_t entry_bytes)
{
    void *memory;
    ring->bytes = offsets->desc + FRAMES * entry_bytes;
    memory = mmap(NULL, ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, which);
    if (memory == MAP_FAILED)
        return false;
    ring->memory = memory;
    ring->producer = (uint32_t *)(void *)(ring->memory + offsets->producer);
    ring->consumer = (uint32_t *)(void *)(ring->memory + offsets->consumer);
    ring->entries = ring->memory + offsets->desc;
    return true;
}

static bool set(int fd, int option, int value)
{
    return setsockopt(fd, SOL_XDP, option, &value, sizeof value) == 0;
}

/* The kernel wants a ring for frames to receive into, too. */
static bool set_up(netblt_xdp_ring *ring)
{
    const struct xdp_umem_reg memory = {
        .addr = (uintptr_t)ring->memory, .len = MEMORY_BYTES, .chunk_size = NETBLT_XDP_FRAME_BYTES};
    struct xdp_mmap_offsets offsets;
    socklen_t length = sizeof offsets;
    if (setsockopt(ring->fd, SOL_XDP, XDP_UMEM_REG, &memory, sizeof memory) != 0 ||
        !set(ring->fd, XDP_UMEM_FILL_RING, 1) || !set(ring->fd, XDP_UMEM_COMPLETION_RING, FRAMES) ||
        !set(ring->fd, XDP_TX_RING, FRAMES) ||
        getsockopt(ring->fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0 || length != sizeof offsets)
        return false;
    (void)set(ring->fd, XDP_MAX_TX_SKB_BUDGET, BUDGET_FRAMES);
    return map_ring(ring->fd, &ring->transmit, XDP_PGOFF_TX_RING, &offsets.tx, sizeof(struct xdp_desc)) &&
           map_ring(ring->fd, &ring->completed, XDP_UMEM_PGOFF_COMPLETION_RING, &offsets.cr, sizeof(uint64_t));
}

netblt_xdp_ring *netblt_xdp_open(void)
{
    netblt_xdp_ring *ring = calloc(1, sizeof *ring);
    void *memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == NULL || memory == MAP_FAILED) {
        free(ring);
        if (memory != MAP_FAILED)
            munmap(memory, MEMORY_BYTES);
        return NULL;
    }
    ring->memory = memory;
    ring->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (ring->fd < 0 || !set_up(ring)) {
        netblt_xdp_close(ring);
        return NULL;
    }
    while (ring->free_count < FRAMES) {
        ring->free[ring->free_count] = ring->free_count;
        ring->free_count++;
    }
    return ring;
}

void netblt_xdp_close(netblt_xdp_ring *ring)
{
    if (ring == NULL)
        return;
    if (ring->fd >= 0)
        close(ring->fd);
    if (ring->transmit.memory != NULL)
        munmap(ring->transmit.memory, ring->transmit.bytes);
    if (ring->completed.memory != NULL)
        munmap(ring->completed.memory, ring->completed.bytes);
    munmap(ring->memory, MEMORY_BYTES);
    free(ring);
}

int netblt_xdp_fd(const netblt_xdp_ring *ring)
{
    return ring->fd;
}

int netblt_xdp_bind(netblt_xdp_ring *ring, int interface)
{
    const struct sockaddr_xdp name = {
        .sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY, .sxdp_ifindex = (uint32_t)interface};
    if (bind(ring->fd, (const struct sockaddr *)&name, sizeof name) != 0)
        return errno;
    ring->interface = interface;
    return 0;
}

int netblt_xdp_interface(const netblt_xdp_ring *ring)
{
    return ring->interface;
}

static void reclaim(netblt_xdp_ring *ring)
{
    const uint64_t *places = ring->completed.entries;
    uint32_t end = __atomic_load_n(ring->completed.producer, __ATOMIC_ACQUIRE);
    for (; ring->reclaimed != end && ring->free_count < FRAMES; ring->reclaimed++)
        ring->free[ring->free_count++] = (uint32_t)(places[ring->reclaimed % FRAMES] / NETBLT_XDP_FRAME_BYTES);
    __atomic_store_n(ring->completed.consumer, ring->reclaimed, __ATOMIC_RELEASE);
}

uint8_t *netblt_xdp_place(netblt_xdp_ring *ring)
{
    if (ring->free_count == 0)
        reclaim(ring);
    if (ring->free_count == 0)
        return NULL;
    return ring->memory + (size_t)ring->free[ring->free_count - 1] * NETBLT_XDP_FRAME_BYTES;
}

void netblt_xdp_add(netblt_xdp_ring *ring, size_t length)
{
    struct xdp_desc *entries = ring->transmit.entries;
    uint32_t frame = ring->free[--ring->free_count];
    entries[ring->added++ % FRAMES] =
        (struct xdp_desc){.addr = (uint64_t)frame * NETBLT_XDP_FRAME_BYTES, .len = (uint32_t)length};
}

/* A call takes no more than its budget, and returns EAGAIN when there is more. */
int netblt_xdp_send(netblt_xdp_ring *ring)
{
    uint32_t left;
    __atomic_store_n(ring->transmit.producer, ring->added, __ATOMIC_RELEASE);
    left = ring->added - __atomic_load_n(ring->transmit.consumer, __ATOMIC_ACQUIRE);
    while (left > 0) {
        uint32_t before = left;
        int error = sendto(ring->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 ? errno : 0;
        left = ring->added - __atomic_load_n(ring->transmit.consumer, __ATOMIC_ACQUIRE);
        if (error != 0 && error != EAGAIN && error != EINTR)
            return error;
        if (left == before)
            return EAGAIN;
    }
    return 0;
}
