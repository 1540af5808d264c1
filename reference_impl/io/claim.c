/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/claim.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "io/resolve.h"

#define CLAIM_PREFIX "netblt/ip/" /* then PORT/ADDRESS */
#define ANY_TEXT "any"            /* netblt_address_text() of the address of no family */
#define LOCK_NAME "netblt/claiming"
/* Looking and binding takes well under a millisecond: whoever holds the lock longer than this is stuck or hostile,
 * and then the exact name alone must do. */
#define LOCK_PATIENCE_MS 500

/* A datagram socket bound to the abstract `name`, or -1 with errno. */
static int bind_abstract(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    memcpy(address.sun_path + 1, name, length);
    if (bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) != 0) {
        int error = errno;

        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Looking for overlaps and binding must be one step, or two processes could miss each other. */
static int lock_claims(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    for (int waited_ms = 0; waited_ms < LOCK_PATIENCE_MS; waited_ms++) {
        int lock = bind_abstract(LOCK_NAME);

        if (lock >= 0 || errno != EADDRINUSE)
            return lock;
        nanosleep(&pause, NULL);
    }
    return -1;
}

/* A wildcard overlaps with its family, the empty address with everything. */
static bool overlap(const netblt_address *a, const netblt_address *b)
{
    enum netblt_family family = netblt_address_family(a);
    enum netblt_family other = netblt_address_family(b);

    if (family == NETBLT_FAMILY_ANY || other == NETBLT_FAMILY_ANY)
        return true;
    return family == other && (netblt_address_is_any(a) || netblt_address_is_any(b) || netblt_address_same_host(a, b));
}

/* Does this line of /proc/net/unix name a claim that overlaps? */
static bool line_overlaps(char *line, const netblt_address *address, uint16_t port)
{
    char *name = strstr(line, "@" CLAIM_PREFIX);
    char *rest;
    netblt_address other = netblt_address_any(NETBLT_FAMILY_ANY);
    netblt_failure ignored;

    if (name == NULL || strtoul(name + strlen("@" CLAIM_PREFIX), &rest, 10) != port || *rest != '/')
        return false;
    rest[1 + strcspn(rest + 1, " \n")] = '\0';
    if (strcmp(rest + 1, ANY_TEXT) != 0 && netblt_parse_address("claim", rest + 1, &other, &ignored) != 0)
        return false;
    return overlap(address, &other);
}

/* 1 = some claim overlaps, 0 = none, -1 = cannot be read. */
static int find_overlap(const netblt_address *address, uint16_t port)
{
    FILE *names = fopen("/proc/thread-self/net/unix", "re");
    char line[512];
    int found = 0;

    if (names == NULL)
        return -1;
    while (found == 0 && fgets(line, sizeof line, names) != NULL)
        found = line_overlaps(line, address, port) ? 1 : 0;
    fclose(names);
    return found;
}

static int bind_claim(const netblt_address *address, uint16_t port)
{
    netblt_address host = netblt_address_with_port(address, 0);
    char text[NETBLT_ADDRESS_TEXT_BYTES];
    char name[sizeof CLAIM_PREFIX + 6 + NETBLT_ADDRESS_TEXT_BYTES];

    snprintf(name, sizeof name, CLAIM_PREFIX "%u/%s", port, netblt_address_text(&host, text));
    return bind_abstract(name);
}

int netblt_claim_port(const netblt_address *address, uint16_t port, int *claim, netblt_failure *failure)
{
    int lock = lock_claims();
    bool taken = find_overlap(address, port) == 1;

    *claim = taken ? -1 : bind_claim(address, port);
    if (taken || (*claim < 0 && errno == EADDRINUSE))
        netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                    "NETBLT port %u is in use by another process on this host: choose another with --port", port);
    else if (*claim < 0)
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot claim NETBLT port %u: %s", port, strerror(errno));
    if (lock >= 0)
        close(lock);
    return *claim < 0 ? -1 : 0;
}

void netblt_claim_release(int claim)
{
    if (claim >= 0)
        close(claim);
}

bool netblt_claim_exists(const netblt_address *address, uint16_t port)
{
    return find_overlap(address, port) != 0;
}
