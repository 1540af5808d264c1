/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options that are more than a number, a text or a choice. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/option_table.h"
#include "io/resolve.h"

#define RETRY_MAX_S (365u * 24 * 3600)

int option_set_bind(options *parsed, const char *text, netblt_failure *failure)
{
    return netblt_parse_address("--bind", text, &parsed->bind_address, failure);
}

/* ---- --path RATE,RTT ------------------------------------------------------------------------------------------ */

/* Rates have decimal prefixes, as everywhere in networking. Returns what follows, or NULL when there is no number. */
static const char *read_rate(const char *text, double *bits_per_second)
{
    static const char prefixes[] = "kKMG";
    static const double scales[] = {1e3, 1e3, 1e6, 1e9};
    const char *found;
    char *rest;
    *bits_per_second = strtod(text, &rest);
    if (!isdigit((unsigned char)text[0]))
        return NULL;
    found = *rest == '\0' ? NULL : strchr(prefixes, *rest);
    if (found == NULL)
        return rest;
    *bits_per_second *= scales[found - prefixes];
    return rest + 1;
}

static bool read_round_trip(const char *text, double *seconds)
{
    char *rest;
    *seconds = strtod(text, &rest);
    if (!isdigit((unsigned char)text[0]))
        return false;
    if (strcmp(rest, "s") == 0)
        return true;
    *seconds /= 1e3;
    return *rest == '\0' || strcmp(rest, "ms") == 0;
}

/* RATE,RTT or RATE,measure or measure */
static bool read_path(const char *text, path_hint *path)
{
    const char *rest;
    path->measure = strcmp(text, "measure") == 0;
    if (path->measure)
        return true;
    rest = read_rate(text, &path->bits_per_second);
    if (rest == NULL || *rest != ',')
        return false;
    path->measure = strcmp(rest + 1, "measure") == 0;
    return path->measure || read_round_trip(rest + 1, &path->round_trip_s);
}

int option_set_path(options *parsed, const char *text, netblt_failure *failure)
{
    path_hint path = {.given = true};
    bool rate_said = strcmp(text, "measure") != 0;
    if (!read_path(text, &path))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--path %s: give rate and round trip, such as 100M,600ms (bits per second; ms or s), or "
                           "measure for the round trip, such as 100M,measure",
                           text);
    if ((rate_said && path.bits_per_second < 1000) || path.bits_per_second > 1e12 || path.round_trip_s > 3600)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--path %s: out of range; a rate is 1k to 1000G, a round trip at most 3600s", text);
    parsed->path = path;
    return 0;
}

/* ---- --allow PREFIX --------------------------------------------------------------------------------------------- */

/* Splits "ADDRESS/BITS" or "ADDRESS". 0, or -1 with *failure. */
static int parse_prefix(const char *text, netblt_address *address, unsigned *bits, netblt_failure *failure)
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
    if (parse_prefix(text, &prefix.address, &prefix.bits, failure) != 0)
        return -1;
    if (parsed->allow_count == ALLOW_MAX)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--allow: at most %d prefixes", ALLOW_MAX);
    parsed->allow[parsed->allow_count++] = prefix;
    return 0;
}

/* ---- others ----------------------------------------------------------------------------------------------------- */

int option_set_client_string(options *parsed, const char *text, netblt_failure *failure)
{
    if (strlen(text) > NETBLT_STRING_MAX_BYTES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--client-string: %zu bytes are too many; at most %d fit",
                           strlen(text), NETBLT_STRING_MAX_BYTES);
    parsed->client_string = text;
    return 0;
}

int option_set_retry(options *parsed, const char *text, netblt_failure *failure)
{
    unsigned long long seconds;
    char *rest;
    if (strcmp(text, "forever") == 0) {
        parsed->retry_s = (optional_number){.given = true, .value = RETRY_FOREVER};
        return 0;
    }
    seconds = strtoull(text, &rest, 10);
    if (!isdigit((unsigned char)text[0]) || *rest != '\0' || seconds < 1 || seconds > RETRY_MAX_S)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--retry %s: give a number of seconds between 1 and %u, or forever", text, RETRY_MAX_S);
    parsed->retry_s = (optional_number){.given = true, .value = seconds};
    return 0;
}
