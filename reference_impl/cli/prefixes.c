/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/prefixes.h"

#include <stdlib.h>
#include <string.h>

#include "cli/option_values.h"
#include "io/resolve.h"

/* Splits "ADDRESS/BITS" or "ADDRESS". 0, or -1 with *failure. */
static int parse(const char *text, netblt_address *address, unsigned *bits, netblt_failure *failure)
{
    char copy[64];
    const char *slash = strchr(text, '/');
    size_t length = slash == NULL ? strlen(text) : (size_t)(slash - text);
    unsigned most;
    char *rest;

    if (length >= sizeof copy)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--allow %s: give a prefix such as 10.0.0.0/8", text);
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (netblt_parse_address("--allow", copy, address, failure) != 0)
        return -1;
    most = netblt_address_family(address) == NETBLT_FAMILY_IPV6 ? 128 : 32;
    *bits = most;
    if (slash != NULL)
        *bits = (unsigned)strtoul(slash + 1, &rest, 10);
    if (slash != NULL && (slash[1] < '0' || slash[1] > '9' || *rest != '\0' || *bits > most))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--allow %s: a prefix has at most %u bits", text, most);
    return 0;
}

int option_add_allow(options *parsed, const char *text, netblt_failure *failure)
{
    address_prefix prefix;

    if (parse(text, &prefix.address, &prefix.bits, failure) != 0)
        return -1;
    if (parsed->allow_count == ALLOW_MAX)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--allow: at most %d prefixes", ALLOW_MAX);
    parsed->allow[parsed->allow_count++] = prefix;
    return 0;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned rest = bits % 8;

    return memcmp(a, b, bits / 8) == 0 && (rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0);
}

bool prefixes_allow(const options *given, const netblt_address *peer)
{
    for (size_t i = 0; i < given->allow_count; i++) {
        const address_prefix *prefix = &given->allow[i];

        if (netblt_address_family(&prefix->address) == netblt_address_family(peer) &&
            same_bits(prefix->address.bytes, peer->bytes, prefix->bits))
            return true;
    }
    return given->allow_count == 0;
}
