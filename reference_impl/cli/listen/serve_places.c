/* SPDX-License-Identifier: BSD-2-Clause */
/* Places of `netblt listen`: limits on validated peers, and which of them loses its place to another. */
#include "cli/listen/serve.h"
#include "cli/transfer/reasons.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "io/clock.h"

/* Small limits on places would leave one address or network too few to be of use: netblt needs one place for a
 * transfer, and users of one address translator share it. */
#define PER_ADDRESS_SHARE 4
#define PER_ADDRESS_LEAST 4
#define PER_PREFIX_SHARE 2
#define PER_PREFIX_LEAST 8
/* IPv4 /24 and IPv6 /64: what one customer or one site typically has. */
#define IPV4_PREFIX_BYTES 3
#define IPV6_PREFIX_BYTES 8
#define SECOND_US UINT64_C(1000000)
/* How long a name is kept for the next step where transfers may be without progress for ever. */
#define RESERVED_S 30
/* A transfer without new data for so long, whose host wants to store the same again, was lost: OPENs are retransmitted
 * after one second and after three. */
#define LOST_US (2 * SECOND_US)
/* 100 us each */
#define WAITS_MAX 50
/* How often progress is measured. */
#define LOOK_US SECOND_US

/* ---- limits ----------------------------------------------------------------------------------------------------- */

/* As brief as those of tree.c. */
static const char *const full_reasons[SCOPES] = {
    [SCOPE_NAME] = REASON_STORING,
    [SCOPE_ADDRESS] = REASON_TOO_MANY "from your address",
    [SCOPE_PREFIX] = REASON_TOO_MANY "from your network",
    [SCOPE_ALL] = REASON_TOO_MANY "transfers: later",
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
    return scope != SCOPE_NAME || one->task == TASK_STORE || one->task == TASK_SEND_HELD;
}

static bool is_full(const serve *server, const served *one, enum served_scope scope)
{
    uint8_t key[KEY_MAX_BYTES];
    if (!wants(one, scope))
        return false;
    if (scope == SCOPE_NAME)
        return name_locks_has(&server->names, one->real_name) ||
               reservations_object(&server->reserved, &one->foreign, one->real_name);
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
    if (scope == SCOPE_NAME) {
        reservations_take(&one->server->reserved, &one->foreign, one->real_name, &one->past);
        if (one->past.begun != 0)
            one->work.started_at = one->past.begun;
        return name_locks_add(&one->server->names, one->real_name);
    }
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

static netblt_time min_progress_us(const serve *server)
{
    uint64_t seconds = server->given->min_progress_s.value;
    return seconds == 0 ? NETBLT_TIME_NEVER : seconds * SECOND_US;
}

/* The host that stores under a name has it for its next step, as long as a transfer may be without progress. */
static void reserve_name(served *one)
{
    netblt_time now = netblt_clock_now();
    netblt_time least = min_progress_us(one->server);
    if (!one->went_on) /* another attempt is another transfer */
        one->past = (reserved_past){0};
    else if (one->past.begun == 0)
        one->past.begun = one->work.started_at;
    if (least == NETBLT_TIME_NEVER)
        least = RESERVED_S * SECOND_US;
    reservations_add(&one->server->reserved, &one->foreign, one->real_name, &one->past, now + least);
}

void served_give_name_back(served *one)
{
    if (one->holds[SCOPE_NAME] && one->keeps_name)
        reserve_name(one);
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
    if (one->looking != NULL && one->work.from == NULL) { /* it waits for us */
        one->progress_at = now;
        return;
    }
    netblt_get_info(one->work.connection, &info);
    made = progress_of(&info);
    if (made != one->progress)
        one->progress_at = now;
    one->progress = made;
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
    snprintf(reason, sizeof reason, REASON_NO_DATA "%u s%s", (unsigned)((now - one->progress_at) / SECOND_US), why);
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

/* ---- the same host again --------------------------------------------------------------------------------------- */

/* A peer whose process or host was restarted opens again before its old connection is given up. Its OPENs get no reply
 * until it shows whether the old one still makes progress. */

/* A transfer that keeps the step `one` from its name. */
static served *find_holder(const serve *server, const served *one)
{
    served *other;
    if (one->real_name == NULL || !wants(one, SCOPE_NAME) || !served_is_step(one) ||
        !name_locks_has(&server->names, one->real_name))
        return NULL;
    LIST_FOREACH(other, &server->validated, place)
        if (other->holds[SCOPE_NAME] && names_overlap(one->real_name, other->real_name))
            return other;
    return NULL;
}

/* It has ended, and what it stores on disk is being closed: in a moment the name is free. */
static bool is_ending(const served *holder)
{
    return holder != NULL && holder->work.finished;
}

/* The same, if it is of the same host and can be continued. */
static served *find_earlier(const serve *server, const served *one)
{
    served *other = find_holder(server, one);
    bool is_same = other != NULL && served_is_step(other) && strcmp(one->real_name, other->real_name) == 0 &&
                   netblt_address_same_host(&one->foreign, &other->foreign);
    return is_same ? other : NULL;
}

/* The thread of a sink ends within microseconds as a rule, and the next step comes after a round trip, which in a local
 * network is not longer. Its OPEN would be retransmitted after a second: so this once a few milliseconds are waited. */
static void wait_for_sink(served *holder)
{
    const struct timespec moment = {.tv_nsec = 100000};
    if (holder->was_waited_for || holder->work.to == NULL)
        return;
    holder->was_waited_for = true;
    for (unsigned i = 0; i < WAITS_MAX && !sink_is_at_rest(holder->work.to); i++)
        nanosleep(&moment, NULL);
}

served *serve_find_ended(const serve *server, const served *one)
{
    served *holder = find_holder(server, one);
    if (!is_ending(holder))
        return NULL;
    wait_for_sink(holder);
    return holder->work.to != NULL && sink_is_at_rest(holder->work.to) ? holder : NULL;
}

static bool is_lost(const served *other, netblt_time now)
{
    return other->claimed_at != 0 && now - other->claimed_at >= LOST_US && other->progress == other->claimed_progress;
}

bool serve_lets_wait(serve *server, const served *one)
{
    netblt_time now = netblt_clock_now();
    served *earlier = find_earlier(server, one);
    if (is_ending(find_holder(server, one)))
        return true;
    if (earlier == NULL || earlier->work.connection == NULL)
        return false;
    measure(earlier, now);
    if (earlier->claimed_at == 0) {
        earlier->claimed_at = now;
        earlier->claimed_progress = earlier->progress;
    } else if (now - earlier->claimed_at >= LOST_US) { /* it was not lost, or this one would have its place */
        earlier->claimed_at = 0;
        return false;
    }
    return true;
}

/* ---- who gets a place ------------------------------------------------------------------------------------------- */

/* Whose place `one` may have in this scope. NULL when there is none. */
static served *find_victim(const serve *server, const served *one, enum served_scope scope, netblt_time now)
{
    served *earlier = scope == SCOPE_NAME ? find_earlier(server, one) : NULL;
    if (earlier != NULL && is_running(earlier) && is_lost(earlier, now))
        return earlier;
    return find_idle(server, one, scope, now);
}

/* NULL, or why not. *victim is the connection that loses its place then, or NULL when none has to. */
static const char *find_place(const serve *server, const served *one, served **victim)
{
    netblt_time now = netblt_clock_now();
    *victim = NULL;
    for (enum served_scope scope = SCOPE_NAME; scope < SCOPES; scope++) {
        if (!is_full(server, one, scope) || (*victim != NULL && would_help(one, scope, *victim)))
            continue;
        *victim = find_victim(server, one, scope, now);
        if (*victim == NULL)
            return full_reasons[scope];
    }
    return NULL;
}

const char *serve_object(serve *server, const served *one)
{
    served *ignored;
    reservations_expire(&server->reserved, netblt_clock_now());
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
        if (!is_lost(victim, now) && now - victim->progress_at < min_progress_us(server))
            continue;
        victim->gave_way = true;
        end_idle(victim, now, ", and others wait");
    }
    return reason;
}

static const char *settle_in(served *one)
{
    const char *reason = make_place(one);
    if (reason != NULL && is_ending(find_holder(one->server, one))) {
        one->was_answered = true; /* the peer opens again, and then the name is free */
        return STEP_CHANGED;
    }
    if (reason != NULL)
        return reason;
    if (!buffer_budget_fits(&one->server->buffers, &one->buffers))
        return REASON_NO_MEMORY_NOW;
    if (served_is_step(one))
        reason = served_begin_step(one);
    else if (one->work.role == NETBLT_RECEIVER)
        reason = served_open_sink(one);
    if (reason == NULL && take_place(one) != 0)
        reason = "not enough memory";
    return reason;
}

static void move_to_validated(served *one)
{
    LIST_REMOVE(one, place);
    LIST_INSERT_HEAD(&one->server->validated, one, place);
    buffer_budget_keep(&one->server->buffers, &one->buffers);
    one->validated = true;
}

void served_validated(served *one)
{
    netblt_time now = netblt_clock_now();
    const char *reason = settle_in(one);
    if (reason != NULL) {
        one->refused = !one->was_answered;
        netblt_abort(one->work.connection, reason, now);
        return;
    }
    one->progress_at = now;
    move_to_validated(one);
}
