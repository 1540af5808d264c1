/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/option_values.h"
#include "io/resolve.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "io/resolve.h"

int option_set_encap(options *parsed, const char *text, netblt_failure *failure)
{
    if (strcmp(text, "ip") == 0)
        parsed->encap = NETBLT_ENCAP_IP;
    else if (strcmp(text, "udp") == 0)
        parsed->encap = NETBLT_ENCAP_UDP;
    else
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--encap %s: give ip (raw IP protocol 30) or udp", text);
    return 0;
}

int option_set_transmit(options *parsed, const char *text, netblt_failure *failure)
{
    if (strcmp(text, "socket") != 0 && strcmp(text, "af_packet") != 0 && strcmp(text, "single") != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--transmit %s: give socket, single or af_packet", text);
    parsed->packet_socket = strcmp(text, "af_packet") == 0;
    parsed->sends_singly = strcmp(text, "single") == 0;
    return 0;
}

int option_set_bind(options *parsed, const char *text, netblt_failure *failure)
{
    return netblt_parse_address("--bind", text, &parsed->bind_address, failure);
}

int option_set_sync(options *parsed, const char *text, netblt_failure *failure)
{
    (void)text;
    (void)failure;
    parsed->sync = SYNC_ALWAYS;
    return 0;
}

int option_set_no_sync(options *parsed, const char *text, netblt_failure *failure)
{
    (void)text;
    (void)failure;
    parsed->sync = SYNC_NEVER;
    return 0;
}

int option_set_ipv4(options *parsed, const char *text, netblt_failure *failure)
{
    (void)text;
    (void)failure;
    parsed->family = NETBLT_FAMILY_IPV4;
    return 0;
}

int option_set_ipv6(options *parsed, const char *text, netblt_failure *failure)
{
    (void)text;
    (void)failure;
    parsed->family = NETBLT_FAMILY_IPV6;
    return 0;
}

/* ---- --path RATE,RTT ------------------------------------------------------------------------------------------ */

/* Rates have decimal prefixes, as everywhere in networking. NULL when there is no number. */
static const char *read_rate(const char *text, double *bits_per_second)
{
    char *rest;
    double scale = 1;

    *bits_per_second = strtod(text, &rest);
    if (!isdigit((unsigned char)text[0]) || rest == text)
        return NULL;
    switch (*rest) {
    case 'k':
    case 'K':
        scale = 1e3;
        break;
    case 'M':
        scale = 1e6;
        break;
    case 'G':
        scale = 1e9;
        break;
    default:
        break;
    }
    *bits_per_second *= scale;
    return scale > 1 ? rest + 1 : rest;
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

/* ---- words ---------------------------------------------------------------------------------------------------- */

int option_set_rate(options *parsed, const char *text, netblt_failure *failure)
{
    if (strcmp(text, "auto") == 0)
        parsed->rate = NETBLT_RATE_AUTO;
    else if (strcmp(text, "fixed") == 0)
        parsed->rate = NETBLT_RATE_FIXED;
    else
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--rate %s: give auto or fixed", text);
    parsed->rate_given = true;
    return 0;
}

int option_set_sandbox(options *parsed, const char *text, netblt_failure *failure)
{
    static const char *const words[] = {[SANDBOX_AUTO] = "auto", [SANDBOX_REQUIRE] = "require", [SANDBOX_OFF] = "off"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) == 0) {
            parsed->sandbox = (enum sandbox)i;
            return 0;
        }
    }
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--sandbox %s: give auto, require or off", text);
}

int option_set_profile(options *parsed, const char *text, netblt_failure *failure)
{
    static const netblt_profile *const profiles[] = {&netblt_profile_default, &netblt_profile_mit1987};

    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        if (strcmp(text, profiles[i]->name) == 0) {
            parsed->profile = profiles[i];
            return 0;
        }
    }
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--profile %s: give default or mit1987", text);
}

int option_set_client_string(options *parsed, const char *text, netblt_failure *failure)
{
    if (strlen(text) > NETBLT_STRING_MAX_BYTES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--client-string: %zu bytes are too many; at most %d fit",
                           strlen(text), NETBLT_STRING_MAX_BYTES);
    parsed->client_string = text;
    return 0;
}

int option_set_reverse(options *parsed, const char *text, netblt_failure *failure)
{
    (void)text;
    (void)failure;
    parsed->reverse = true;
    parsed->role = NETBLT_RECEIVER;
    return 0;
}

int option_refuse_resume(options *parsed, const char *text, netblt_failure *failure)
{
    (void)parsed;
    (void)text;
    return netblt_fail(failure, NETBLT_FAILURE_UNSUPPORTED,
                       "resuming is not supported: NETBLT (RFC 998) cannot say where a file was left; send all of it");
}
