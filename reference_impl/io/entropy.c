/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers of the kernel. */
#include "io/entropy.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* A unique ID must only differ from those of earlier connections on the same ports: time and process id do for that
 * when the kernel has no random source. */
static uint32_t weak_random_u32(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint32_t)now.tv_nsec * 2654435761u) ^ (uint32_t)now.tv_sec ^ ((uint32_t)getpid() << 16);
}

static bool fill(void *bytes, size_t length)
{
    ssize_t got;
    do {
        got = getrandom(bytes, length, 0); /* up to 256 bytes come whole */
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)length;
}

uint32_t netblt_random_u32(void)
{
    uint32_t value;
    return fill(&value, sizeof value) ? value : weak_random_u32();
}

bool netblt_random_secret(uint8_t secret[NETBLT_SECRET_BYTES])
{
    return fill(secret, NETBLT_SECRET_BYTES);
}
