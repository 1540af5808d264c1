/* SPDX-License-Identifier: BSD-2-Clause */
/* Places of `netblt listen`: limits on validated peers, and which of them loses its place to another. */
#include "cli/listen/serve.h"

#include <stdio.h>
#include <string.h>

#include "io/clock.h"

/* Small limits on places would leave one address or network too few to be of use: netblt needs one place for a
 * transfer, and people behind one address translator share it. */
#define PER_ADDRESS_SHARE 4
#define PER_ADDRESS_LEAST 4
#define PER_PREFIX_SHARE 2
#define PER_PREFIX_LEAST 8
/* IPv4 /24 and IPv6 /64: what one customer or one site typically has. */
#define IPV4_PREFIX_BYTES 3
#define IPV6_PREFIX_BYTES 8
#define SECOND_US UINT64_C(1000000)
/* How often progress is measured. */
#define LOOK_US SECOND_US

/* ---- limits ----------------------------------------------------------------------------------------------------- */

/* The narrowest first: who gives a place back in one of them does so in all below. */
enum scope { SCOPE_ADDRESS, SCOPE_PREFIX, SCOPE_ALL, SCOPES };

/* As brief as those of tree.c. */
static const char *const full_reasons[SCOPES] = {
    [SCOPE_ADDRESS] = "too many from your address",
    [SCOPE_PREFIX] = "too many from your network",
    [SCOPE_ALL] = "too many transfers: later",
};

static uint64_t places(const serve *server)
{
    return server->given->max_connections.value;
}

/* An option where 0 stands for no limit, or a share of all places. */
static uint64_t limit_or_share(const serve *server, optional_number given, uint64_t share, uint64_t least)
{
    if (given.given)
        return given.value == 0 ? UINT64_MAX : given.value;
    return places(server) / share > least ? places(server) / share : least;
}

static uint64_t limit_of(const serve *server, enum scope scope)
{
    const options *given = server->given;
    if (scope == SCOPE_ADDRESS)
        return limit_or_share(server, given->max_per_address, PER_ADDRESS_SHARE, PER_ADDRESS_LEAST);
    if (scope == SCOPE_PREFIX)
        return limit_or_share(server, given->max_per_prefix, PER_PREFIX_SHARE, PER_PREFIX_LEAST);
    return places(server);
}

/* Bytes of an address that name its scope. All four lengths differ, so that one tally holds all. */
static size_t scope_bytes(const netblt_address *address, enum scope scope)
{
    bool is_ipv6 = netblt_address_family(address) == NETBLT_FAMILY_IPV6;
    if (scope == SCOPE_ADDRESS)
        return is_ipv6 ? NETBLT_IPV6_BYTES : NETBLT_IPV4_BYTES;
    return is_ipv6 ? IPV6_PREFIX_BYTES : IPV4_PREFIX_BYTES;
}

static bool is_full(const serve *server, const netblt_address *foreign, enum scope scope)
{
    uint64_t taken = scope == SCOPE_ALL ? server->places_taken
                                        : tally_count(&server->peers, foreign->bytes, scope_bytes(foreign, scope));
    return taken >= limit_of(server, scope);
}

/* -1 when memory is short. */
static int take_place(served *one)
{
    serve *server = one->server;
    const uint8_t *address = one->foreign.bytes;
    if (tally_add(&server->peers, address, scope_bytes(&one->foreign, SCOPE_ADDRESS)) != 0)
        return -1;
    if (tally_add(&server->peers, address, scope_bytes(&one->foreign, SCOPE_PREFIX)) != 0) {
        tally_remove(&server->peers, address, scope_bytes(&one->foreign, SCOPE_ADDRESS));
        return -1;
    }
    server->places_taken++;
    one->holds_place = true;
    return 0;
}

void served_give_place_back(served *one)
{
    serve *server = one->server;
    if (!one->holds_place)
        return;
    tally_remove(&server->peers, one->foreign.bytes, scope_bytes(&one->foreign, SCOPE_ADDRESS));
    tally_remove(&server->peers, one->foreign.bytes, scope_bytes(&one->foreign, SCOPE_PREFIX));
    server->places_taken--;
    one->holds_place = false;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

#define NAME_KEY_BYTES (sizeof(dev_t) + sizeof(ino_t) + NETBLT_STRING_MAX_BYTES + 1)

/* The directory and the last part of the name: no other path leads to the same file. Returns the key's length. */
static size_t name_key(const served *one, uint8_t key[NAME_KEY_BYTES])
{
    const char *slash = strrchr(one->name, '/');
    const char *base = slash == NULL ? one->name : slash + 1;
    size_t length = strlen(base) + 1;
    memcpy(key, &one->dir_device, sizeof one->dir_device);
    memcpy(key + sizeof one->dir_device, &one->dir_inode, sizeof one->dir_inode);
    memcpy(key + sizeof one->dir_device + sizeof one->dir_inode, base, length);
    return sizeof one->dir_device + sizeof one->dir_inode + length;
}

static bool is_being_stored(const serve *server, const served *wanted)
{
    uint8_t key[NAME_KEY_BYTES];
    return wanted->work.role == NETBLT_RECEIVER && tally_count(&server->names, key, name_key(wanted, key)) > 0;
}

static int take_name(served *one)
{
    uint8_t key[NAME_KEY_BYTES];
    if (one->work.role != NETBLT_RECEIVER)
        return 0;
    if (tally_add(&one->server->names, key, name_key(one, key)) != 0)
        return -1;
    one->holds_name = true;
    return 0;
}

void served_give_name_back(served *one)
{
    uint8_t key[NAME_KEY_BYTES];
    if (!one->holds_name)
        return;
    tally_remove(&one->server->names, key, name_key(one, key));
    one->holds_name = false;
}

static bool has_same_name(const served *one, const served *other)
{
    uint8_t key[NAME_KEY_BYTES];
    uint8_t other_key[NAME_KEY_BYTES];
    size_t bytes = name_key(one, key);
    return other->holds_name && bytes == name_key(other, other_key) && memcmp(key, other_key, bytes) == 0;
}

/* ---- progress --------------------------------------------------------------------------------------------------- */

/* Data that moves the transfer on: new packets stored; or sent for the first time, or shown to have arrived. A peer
 * that sends nothing but KEEPALIVEs, repeats, or asks for the same packets again and again makes none. */
static uint64_t progress_of(const netblt_info *info)
{
    const netblt_stats *stats = &info->stats;
    return stats->data_packets_settled + stats->data_packets_sent - stats->data_packets_retransmitted;
}

static void measure(served *one, netblt_time now)
{
    netblt_info info;
    uint64_t made;
    netblt_get_info(one->work.connection, &info);
    made = progress_of(&info);
    if (made != one->progress)
        one->progress_at = now;
    one->progress = made;
}

static netblt_time min_progress_us(const serve *server)
{
    uint64_t seconds = server->given->min_progress_s.value;
    return seconds == 0 ? NETBLT_TIME_NEVER : seconds * SECOND_US;
}

static bool is_running(const served *one)
{
    return one->holds_place && one->work.connection != NULL && !one->work.finished;
}

/* What a peer lacks: a place in one of the scopes, or a name. */
struct want {
    const served *one;
    enum scope scope;
    bool name; /* the scope means nothing then */
};

static bool would_help(const struct want *want, const served *other)
{
    const netblt_address *own = &want->one->foreign;
    size_t bytes;
    if (want->name)
        return has_same_name(want->one, other);
    if (want->scope == SCOPE_ALL)
        return true;
    bytes = scope_bytes(own, want->scope);
    return bytes == scope_bytes(&other->foreign, want->scope) && memcmp(own->bytes, other->foreign.bytes, bytes) == 0;
}

/* The one whose place may be taken away: it had made no progress for longest, and for long enough, when that was last
 * measured. NULL when there is none. */
static served *find_idle(const serve *server, const struct want *want, netblt_time now)
{
    netblt_time least = min_progress_us(server);
    served *found = NULL;
    served *other;
    if (least == NETBLT_TIME_NEVER || now - server->slowest_at < least)
        return NULL;
    LIST_FOREACH(other, &server->validated, place)
        if (is_running(other) && now - other->progress_at >= least && would_help(want, other) &&
            (found == NULL || other->progress_at < found->progress_at))
            found = other;
    return found;
}

static void end_idle(served *one, netblt_time now, const char *why)
{
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    snprintf(reason, sizeof reason, "no new data for %u s%s", (unsigned)((now - one->progress_at) / SECOND_US), why);
    netblt_abort(one->work.connection, reason, now);
}

netblt_time serve_watch_progress(serve *server, netblt_time now)
{
    uint64_t idle_s = server->given->max_idle_s.value;
    served *one;
    if (server->places_taken == 0)
        return NETBLT_TIME_NEVER;
    if (now - server->looked_at < LOOK_US)
        return server->looked_at + LOOK_US;
    server->looked_at = now;
    server->slowest_at = now;
    LIST_FOREACH(one, &server->validated, place) {
        if (!is_running(one))
            continue;
        measure(one, now);
        if (one->progress_at < server->slowest_at)
            server->slowest_at = one->progress_at;
        if (idle_s != 0 && now - one->progress_at >= idle_s * SECOND_US)
            end_idle(one, now, "");
    }
    return now + LOOK_US;
}

/* ---- who gets a place ------------------------------------------------------------------------------------------- */

/* NULL, or why not. *victim is who loses its place then, or NULL when nobody has to. */
static const char *find_place(const serve *server, const served *one, served **victim)
{
    netblt_time now = netblt_clock_now();
    struct want want = {.one = one, .name = true};
    *victim = NULL;
    if (is_being_stored(server, one)) {
        *victim = find_idle(server, &want, now);
        if (*victim == NULL)
            return "another transfer is storing it";
    }
    want.name = false;
    for (want.scope = SCOPE_ADDRESS; want.scope < SCOPES; want.scope++) {
        if (!is_full(server, &one->foreign, want.scope) || (*victim != NULL && would_help(&want, *victim)))
            continue;
        *victim = find_idle(server, &want, now);
        if (*victim == NULL)
            return full_reasons[want.scope];
    }
    return NULL;
}

const char *serve_object(const serve *server, const served *one)
{
    served *ignored;
    return find_place(server, one, &ignored);
}

/* Who is found idle may have made progress since that was measured. */
static const char *make_place(served *one)
{
    netblt_time now = netblt_clock_now();
    serve *server = one->server;
    served *victim;
    const char *reason;
    while ((reason = find_place(server, one, &victim)) == NULL && victim != NULL) {
        measure(victim, now);
        if (now - victim->progress_at < min_progress_us(server))
            continue;
        victim->gave_way = true;
        end_idle(victim, now, ", and others wait");
    }
    return reason;
}

static const char *settle_in(served *one)
{
    const char *reason = make_place(one);
    if (reason != NULL)
        return reason;
    if (!served_memory_fits(one))
        return "not enough memory: later";
    if (one->work.role == NETBLT_RECEIVER)
        reason = served_open_sink(one);
    if (reason == NULL && (take_place(one) != 0 || take_name(one) != 0))
        reason = "not enough memory";
    return reason;
}

static void move_to_validated(served *one)
{
    LIST_REMOVE(one, place);
    LIST_INSERT_HEAD(&one->server->validated, one, place);
    served_keep_memory(one);
    one->validated = true;
}

void served_validated(served *one)
{
    netblt_time now = netblt_clock_now();
    const char *reason = settle_in(one);
    if (reason != NULL) {
        served_give_place_back(one);
        one->refused = true;
        netblt_abort(one->work.connection, reason, now);
        return;
    }
    one->progress_at = now;
    move_to_validated(one);
}
