/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims on NETBLT ports as names of abstract Unix sockets: see claim.h. */
#include "io/claim.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/claim_names.h"
#include "io/entropy.h"
#include "io/resolve.h"

#define CLAIM_PREFIX "netblt/ip/" /* then PORT/ADDRESS/RANDOM */
#define ANY_TEXT "any"            /* netblt_address_text() of the address of no family */

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

/* A wildcard overlaps with its family, the empty address with everything. */
static bool overlap(const netblt_address *a, const netblt_address *b)
{
    enum netblt_family family = netblt_address_family(a);
    enum netblt_family other = netblt_address_family(b);
    if (family == NETBLT_FAMILY_ANY || other == NETBLT_FAMILY_ANY)
        return true;
    return family == other && (netblt_address_is_any(a) || netblt_address_is_any(b) || netblt_address_same_host(a, b));
}

/* What is looked for among the names. */
struct search {
    const netblt_address *address;
    uint16_t port;
    const char *own; /* our own name, which does not count; NULL: all count */
};

/* Is this name a claim that overlaps, of a user who may claim? */
static bool name_overlaps(void *context, const char *name, uid_t owner)
{
    const struct search *search = context;
    netblt_address other = netblt_address_any(NETBLT_FAMILY_ANY);
    char text[NETBLT_ADDRESS_TEXT_BYTES] = "";
    netblt_failure ignored;
    char *rest;
    size_t length;
    if (strncmp(name, CLAIM_PREFIX, strlen(CLAIM_PREFIX)) != 0 ||
        (search->own != NULL && strcmp(name, search->own) == 0) ||
        strtoul(name + strlen(CLAIM_PREFIX), &rest, 10) != search->port || *rest != '/')
        return false;
    length = strcspn(rest + 1, "/");
    if (length >= sizeof text)
        return false;
    memcpy(text, rest + 1, length);
    if (strcmp(text, ANY_TEXT) != 0 && netblt_parse_address("claim", text, &other, &ignored) != 0)
        return false;
    return overlap(search->address, &other) && netblt_may_claim(owner);
}

int netblt_claim_port(const netblt_address *address, uint16_t port, int *claim, netblt_failure *failure)
{
    netblt_address host = netblt_address_with_port(address, 0);
    char text[NETBLT_ADDRESS_TEXT_BYTES];
    char name[sizeof CLAIM_PREFIX + sizeof "65535//ffffffffffffffff" + NETBLT_ADDRESS_TEXT_BYTES];
    const struct search others = {address, port, name};
    /* No process can foresee the end of the name, so none can bind it before us. */
    snprintf(name, sizeof name, CLAIM_PREFIX "%u/%s/%08x%08x", port, netblt_address_text(&host, text),
             netblt_random_u32(), netblt_random_u32());
    *claim = bind_abstract(name);
    if (*claim < 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot claim NETBLT port %u: %s", port, strerror(errno));
    /* First bind, then look: of two processes that claim at one moment, at least one sees the other. */
    if (netblt_visit_names(name_overlaps, (void *)&others) == 1) {
        netblt_claim_release(*claim);
        *claim = -1;
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "NETBLT port %u is in use by another process on this host: choose another with --port",
                           port);
    }
    return 0;
}

void netblt_claim_release(int claim)
{
    if (claim >= 0)
        close(claim);
}

bool netblt_claim_exists(const netblt_address *address, uint16_t port)
{
    const struct search all = {address, port, NULL};
    return netblt_visit_names(name_overlaps, (void *)&all) != 0;
}
