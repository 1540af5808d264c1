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

/* As brief as those of tree.c. */
static const char *const full_reasons[SCOPES] = {
    [SCOPE_NAME] = "another transfer is storing it",
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

static uint64_t limit_of(const serve *server, enum served_scope scope)
{
    const options *given = server->given;
    switch (scope) {
    case SCOPE_ADDRESS:
        return limit_or_share(server, given->max_per_address, PER_ADDRESS_SHARE, PER_ADDRESS_LEAST);
    case SCOPE_PREFIX:
        return limit_or_share(server, given->max_per_prefix, PER_PREFIX_SHARE, PER_PREFIX_LEAST);
    default:
        return places(server);
    }
}

/* ---- what counts together --------------------------------------------------------------------------------------- */

#define KEY_MAX_BYTES NETBLT_IPV6_BYTES

/* Transfers with the same key count together. All lengths differ, so that one tally holds all. Returns the length. Not
 * for SCOPE_NAME. */
static size_t scope_key(const served *one, enum served_scope scope, uint8_t key[KEY_MAX_BYTES])
{
    bool is_ipv6 = netblt_address_family(&one->foreign) == NETBLT_FAMILY_IPV6;
    size_t bytes = 0;
    if (scope == SCOPE_ADDRESS)
        bytes = is_ipv6 ? NETBLT_IPV6_BYTES : NETBLT_IPV4_BYTES;
    else if (scope == SCOPE_PREFIX)
        bytes = is_ipv6 ? IPV6_PREFIX_BYTES : IPV4_PREFIX_BYTES;
    memcpy(key, one->foreign.bytes, bytes);
    return bytes;
}

static bool wants(const served *one, enum served_scope scope)
{
    return scope != SCOPE_NAME || one->work.role == NETBLT_RECEIVER;
}

static bool is_full(const serve *server, const served *one, enum served_scope scope)
{
    uint8_t key[KEY_MAX_BYTES];
    if (!wants(one, scope))
        return false;
    if (scope == SCOPE_NAME)
        return name_locks_has(&server->names, one->real_name);
    return tally_count(&server->held, key, scope_key(one, scope, key)) >= limit_of(server, scope);
}

/* Whether `other` holds what `one` could have instead. */
static bool would_help(const served *one, enum served_scope scope, const served *other)
{
    uint8_t key[KEY_MAX_BYTES];
    uint8_t other_key[KEY_MAX_BYTES];
    size_t bytes;
    if (!other->holds[scope])
        return false;
    if (scope == SCOPE_NAME)
        return names_overlap(one->real_name, other->real_name);
    bytes = scope_key(one, scope, key);
    return bytes == scope_key(other, scope, other_key) && memcmp(key, other_key, bytes) == 0;
}

static int take_one_place(served *one, enum served_scope scope)
{
    uint8_t key[KEY_MAX_BYTES];
    if (scope == SCOPE_NAME)
        return name_locks_add(&one->server->names, one->real_name);
    return tally_add(&one->server->held, key, scope_key(one, scope, key));
}

/* -1 when memory is short. */
static int take_place(served *one)
{
    for (enum served_scope scope = SCOPE_NAME; scope < SCOPES; scope++) {
        if (!wants(one, scope))
            continue;
        if (take_one_place(one, scope) != 0)
            return -1;
        one->holds[scope] = true;
    }
    return 0;
}

static void give_back(served *one, enum served_scope scope)
{
    uint8_t key[KEY_MAX_BYTES];
    if (one->holds[scope] && scope == SCOPE_NAME)
        name_locks_remove(&one->server->names, one->real_name);
    else if (one->holds[scope])
        tally_remove(&one->server->held, key, scope_key(one, scope, key));
    one->holds[scope] = false;
}

void served_give_place_back(served *one)
{
    for (enum served_scope scope = SCOPE_ADDRESS; scope < SCOPES; scope++)
        give_back(one, scope);
}

void served_give_name_back(served *one)
{
    give_back(one, SCOPE_NAME);
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
    return one->holds[SCOPE_ALL] && one->work.connection != NULL && !one->work.finished;
}

/* The one whose place may be taken away: it had made no progress for longest, and for long enough, when that was last
 * measured. NULL when there is none. */
static served *find_idle(const serve *server, const served *one, enum served_scope scope, netblt_time now)
{
    netblt_time least = min_progress_us(server);
    served *found = NULL;
    served *other;
    if (least == NETBLT_TIME_NEVER || now - server->slowest_at < least)
        return NULL;
    LIST_FOREACH(other, &server->validated, place)
        if (is_running(other) && now - other->progress_at >= least && would_help(one, scope, other) &&
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
    if (LIST_EMPTY(&server->validated))
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
    *victim = NULL;
    for (enum served_scope scope = SCOPE_NAME; scope < SCOPES; scope++) {
        if (!is_full(server, one, scope) || (*victim != NULL && would_help(one, scope, *victim)))
            continue;
        *victim = find_idle(server, one, scope, now);
        if (*victim == NULL)
            return full_reasons[scope];
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
    if (reason == NULL && take_place(one) != 0)
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
        one->refused = true;
        netblt_abort(one->work.connection, reason, now);
        return;
    }
    one->progress_at = now;
    move_to_validated(one);
}
