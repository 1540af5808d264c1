/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of netblt listen that need no network: names that may be stored, locks and reservations of them, memory for
 * buffers and for lists, held lists of peers, work beside the event loop. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"
#include "cli/listen/buffer_budget.h"
#include "cli/listen/entry_rules.h"
#include "cli/listen/held_cache.h"
#include "cli/listen/jobs.h"
#include "cli/listen/list_memory.h"
#include "cli/listen/name_locks.h"
#include "cli/listen/reservations.h"

/* ---- names ------------------------------------------------------------------------------------------------------ */

static void names_overlap_when_one_lies_in_the_other(void)
{
    static const char *const pairs[][2] = {{"a", "a"}, {"a", "a/b"}, {"a", "a/b/c"},
                                           {"", "a"},  {"", ""},     {"a/b", "a/b/c"}};
    static const char *const apart[][2] = {{"a", "b"}, {"a", "ab"}, {"a/b", "a/c"}, {"a/b", "a/bc"}, {"a/b", "b"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        CHECK(names_overlap(pairs[i][0], pairs[i][1]) && names_overlap(pairs[i][1], pairs[i][0]));
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        CHECK(!names_overlap(apart[i][0], apart[i][1]) && !names_overlap(apart[i][1], apart[i][0]));
}

/* Each set of names that do not overlap, and one more: the locks and the rule agree. */
static void locks_find_what_overlaps(void)
{
    static const char *const names[] = {"", "a", "a/b", "a/b/c", "a/c", "ab", "b/c", "b"};
    enum { NAMES = sizeof names / sizeof *names };
    for (unsigned set = 0; set < 1u << NAMES; set++) {
        name_locks locks = {0};
        bool held[NAMES] = {false};
        for (unsigned i = 0; i < NAMES; i++) {
            bool expected = false;
            for (unsigned j = 0; j < NAMES; j++)
                expected |= held[j] && names_overlap(names[i], names[j]);
            CHECK(name_locks_has(&locks, names[i]) == expected);
            if ((set >> i & 1) == 0 || expected)
                continue;
            CHECK(name_locks_add(&locks, names[i]) == 0);
            held[i] = true;
        }
        for (unsigned i = 0; i < NAMES; i++)
            if (held[i])
                name_locks_remove(&locks, names[i]);
        CHECK(locks.names.root == NULL && locks.ancestors.root == NULL);
    }
}

/* ---- entries of manifests -----------------------------------------------------------------------------------------
 */

static bool may_store(const char *path, const char *target)
{
    char path_copy[100];
    char target_copy[100];
    manifest_entry entry = {.kind = target == NULL ? ENTRY_FILE : ENTRY_LINK, .path = path_copy};
    snprintf(path_copy, sizeof path_copy, "%s", path);
    snprintf(target_copy, sizeof target_copy, "%s", target == NULL ? "" : target);
    entry.target = target == NULL ? NULL : target_copy;
    return entry_check(&entry) == NULL;
}

static void names_that_receivers_use_and_control_characters_are_not_stored(void)
{
    static const char *const good[] = {"a", "a/b", ".netblt", "a/x.netblt-1", ".netbl-t", "gr\u00fcn"};
    static const char *const bad[] = {".netblt-1", "a/.netblt-partial-0", ".netblt-x/y", "a\nb", "a/\x1b[m", "\x7f",
                                      "\xc2\x80"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(may_store(good[i], NULL));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!may_store(bad[i], NULL));
}

static void links_stay_in_the_top_directory_of_their_transfer(void)
{
    static const char *const good[][2] = {
        {"l", "x"},           {"t/l", "x"},     {"t/l", "x/y"},      {"t/a/l", "../x"},   {"t/a/l", ".."},
        {"t/a/b/l", "../.."}, {"t/a/l", "..x"}, {"t/a/l", "../..x"}, {"t/a/l", "..//b/"}, {"t/l", "..."}};
    static const char *const bad[][2] = {{"l", ".."},         {"l", "../x"},         {"l", "/x"},
                                         {"l", "/"},          {"t/l", ".."},         {"t/l", "../x"},
                                         {"t/a/l", "../.."},  {"t/a/l", "../../x"},  {"t/l", "x/.."},
                                         {"t/a/l", "x/../y"}, {"t/a/l", "../b/.."},  {"t/l", "x//.."},
                                         {"t/l", "a\nb"},     {"t/a/l", "..//../x"}, {"t/l", "x/../../../etc"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(may_store(good[i][0], good[i][1]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!may_store(bad[i][0], bad[i][1]));
}

/* ---- reservations -------------------------------------------------------------------------------------------------
 */

static netblt_address host(uint32_t number)
{
    return netblt_address_of_ipv4((struct in_addr){.s_addr = htonl(number)});
}

static void a_reserved_name_is_its_hosts(void)
{
    const netblt_address one = host(1);
    const netblt_address other = host(2);
    const reserved_past past = {.begun = 7, .moved_bytes = 9};
    reserved_past found;
    reservation_list all;
    reservations_init(&all);
    reservations_add(&all, &one, "a/b", &past, 100);
    CHECK(!reservations_object(&all, &one, "a/b") && !reservations_object(&all, &other, "a/c"));
    CHECK(reservations_object(&all, &other, "a/b") && reservations_object(&all, &other, "a") &&
          reservations_object(&all, &other, "a/b/c"));
    reservations_take(&all, &one, "a/b", &found);
    CHECK(found.begun == 7 && found.moved_bytes == 9);
    CHECK(!reservations_object(&all, &other, "a/b") && all.count == 0);
    reservations_take(&all, &one, "a/b", &found);
    CHECK(found.begun == 0 && found.moved_bytes == 0);
    reservations_clear(&all);
}

static void a_reservation_ends_and_few_are_kept(void)
{
    enum { HOSTS = RESERVATIONS_MAX };
    const reserved_past past = {0};
    reservation_list all;
    char name[16];
    reservations_init(&all);
    for (uint32_t i = 0; i < HOSTS; i++) {
        const netblt_address one = host(i + 1);
        snprintf(name, sizeof name, "host%u", i);
        reservations_add(&all, &one, name, &past, 100 + i);
    }
    for (uint32_t i = 0; i < RESERVATIONS_PER_HOST_MAX + 2; i++) {
        const netblt_address one = host(1000);
        snprintf(name, sizeof name, "name%u", i);
        reservations_add(&all, &one, name, &past, 1000);
    }
    CHECK(all.count == RESERVATIONS_MAX);
    {
        const netblt_address other = host(2000);
        CHECK(!reservations_object(&all, &other, "name1") && reservations_object(&all, &other, "name2"));
        CHECK(!reservations_object(&all, &other, "host0") && reservations_object(&all, &other, "host63"));
        reservations_expire(&all, 100 + HOSTS - 1);
        CHECK(!reservations_object(&all, &other, "host63") && reservations_object(&all, &other, "name2"));
    }
    CHECK(all.count == RESERVATIONS_PER_HOST_MAX);
    reservations_clear(&all);
    CHECK(all.count == 0);
}

/* ---- memory for lists ---------------------------------------------------------------------------------------------
 */

static void a_claim_takes_a_quarter_of_what_others_leave_and_the_least_always(void)
{
    enum { CLAIMS = 200 };
    list_memory memory = {.most_bytes = 100 * LIST_MEMORY_LEAST_BYTES};
    list_claim claims[CLAIMS];
    for (unsigned i = 0; i < CLAIMS; i++)
        claims[i] = (list_claim){.memory = &memory};
    CHECK(!list_claim_more(&claims[0], 25 * LIST_MEMORY_LEAST_BYTES + 1));
    CHECK(list_claim_more(&claims[0], 20 * LIST_MEMORY_LEAST_BYTES));
    CHECK(list_claim_more(&claims[0], 5 * LIST_MEMORY_LEAST_BYTES) && !list_claim_more(&claims[0], 1));
    CHECK(list_claim_more(&claims[1], 75 * LIST_MEMORY_LEAST_BYTES / 4) && !list_claim_more(&claims[1], 1));
    CHECK(!list_claim_more(&claims[1], UINT64_MAX) && !list_claim_more(&claims[1], UINT64_MAX - claims[1].bytes));
    for (unsigned i = 2; i < CLAIMS; i++)
        while (list_claim_more(&claims[i], LIST_MEMORY_LEAST_BYTES))
            ;
    for (unsigned i = 2; i < CLAIMS; i++)
        CHECK(claims[i].bytes >= LIST_MEMORY_LEAST_BYTES);
    CHECK(memory.used_bytes <= memory.most_bytes + CLAIMS * LIST_MEMORY_LEAST_BYTES);
    for (unsigned i = 0; i < CLAIMS; i++)
        list_claim_return(&claims[i]);
    CHECK(memory.used_bytes == 0);
}

/* ---- memory for buffers ------------------------------------------------------------------------------------------
 */

#define MIB (UINT64_C(1) << 20)

static buffer_claim claim_of(uint64_t promised_bytes)
{
    return (buffer_claim){.first_bytes = MIB, .promised_bytes = promised_bytes, .beside_bytes = 2 * MIB};
}

static void a_transfer_may_have_a_quarter_of_what_others_leave_and_the_least_always(void)
{
    buffer_budget all = {0};
    buffer_claim one = claim_of(buffer_budget_share(&all));
    CHECK(one.promised_bytes == 256 * MIB);
    buffer_budget_promise(&all, &one);
    CHECK(buffer_budget_share(&all) == 192 * MIB);
    buffer_budget_keep(&all, &one);
    CHECK(buffer_budget_share(&all) == (1024 - 256 - 2) * MIB / 4);
    all.kept_bytes = 1024 * MIB;
    CHECK(buffer_budget_share(&all) == MIB);
}

/* Forged OPENs cost nothing, and what is promised to them may be anything. */
static void unvalidated_peers_leave_half_of_it_to_others(void)
{
    buffer_budget all = {0};
    buffer_claim forged = claim_of(1024 * MIB);
    for (unsigned i = 0; i < 1000; i++)
        buffer_budget_promise(&all, &forged);
    CHECK(buffer_budget_share(&all) == 128 * MIB);
    CHECK(all.unvalidated_first_bytes == 1000 * MIB && all.kept_bytes == 0);
}

static void promises_are_kept_up_to_the_greatest_sum_and_small_ones_always(void)
{
    buffer_budget all = {.kept_bytes = BUFFER_BUDGET_MAX_BYTES - 12 * MIB};
    buffer_claim fits = claim_of(10 * MIB);
    buffer_claim more = claim_of(10 * MIB + 1);
    buffer_claim least = claim_of(BUFFER_BUDGET_LEAST_BYTES);
    CHECK(buffer_budget_fits(&all, &fits) && !buffer_budget_fits(&all, &more));
    all.kept_bytes = BUFFER_BUDGET_MAX_BYTES;
    CHECK(!buffer_budget_fits(&all, &fits) && buffer_budget_fits(&all, &least));
}

static void what_is_returned_leaves_nothing_behind(void)
{
    buffer_budget all = {0};
    buffer_claim kept = claim_of(64 * MIB);
    buffer_claim never = claim_of(32 * MIB);
    buffer_budget_promise(&all, &kept);
    buffer_budget_promise(&all, &never);
    buffer_budget_keep(&all, &kept);
    buffer_budget_return(&all, &never);
    CHECK(all.kept_bytes == 66 * MIB && all.unvalidated_promised_bytes == 0 && all.unvalidated_first_bytes == 0);
    buffer_budget_return(&all, &kept);
    CHECK(all.kept_bytes == 0);
}

/* ---- held lists ---------------------------------------------------------------------------------------------------
 */

static held_key key(uint8_t number)
{
    return (held_key){.manifest = {number}, .held = {1, number}};
}

static int keep(held_cache *cache, uint32_t peer, uint8_t number, size_t length)
{
    const netblt_address address = host(peer);
    const held_key named = key(number);
    uint8_t *bytes = malloc(length);
    CHECK(bytes != NULL);
    memset(bytes, number, length);
    return held_cache_keep(cache, &address, &named, bytes, length);
}

static bool has(held_cache *cache, uint8_t number, size_t length)
{
    const held_key named = key(number);
    size_t found_length = 0;
    const uint8_t *found = held_cache_find(cache, &named, &found_length);
    CHECK(found == NULL || (found_length == length && found[0] == number && found[length - 1] == number));
    return found != NULL;
}

static void a_list_is_found_by_both_hashes(void)
{
    held_cache cache;
    held_key other = key(1);
    size_t length;
    held_cache_init(&cache, 100, 100);
    CHECK(keep(&cache, 1, 1, 30) == 0);
    CHECK(has(&cache, 1, 30) && !has(&cache, 2, 30));
    other.manifest[7] = 9;
    CHECK(held_cache_find(&cache, &other, &length) == NULL);
    CHECK(keep(&cache, 2, 1, 40) == 0); /* replaces it */
    CHECK(cache.bytes == 40 && has(&cache, 1, 40));
    held_cache_clear(&cache);
    CHECK(cache.bytes == 0);
}

static void the_oldest_lists_give_way(void)
{
    held_cache cache;
    held_cache_init(&cache, 100, 60);
    for (uint8_t i = 1; i <= 3; i++)
        CHECK(keep(&cache, i, i, 30) == 0);
    CHECK(has(&cache, 1, 30)); /* used, so 2 is the oldest now */
    CHECK(keep(&cache, 4, 4, 30) == 0);
    CHECK(has(&cache, 1, 30) && !has(&cache, 2, 30) && has(&cache, 3, 30) && has(&cache, 4, 30));
    held_cache_clear(&cache);
}

static void an_address_displaces_its_own_lists_only(void)
{
    held_cache cache;
    held_cache_init(&cache, 100, 60);
    CHECK(keep(&cache, 1, 1, 30) == 0);
    for (uint8_t i = 2; i < 200; i++)
        CHECK(keep(&cache, 2, i, 30) == 0);
    CHECK(cache.bytes == 90);
    CHECK(has(&cache, 1, 30) && has(&cache, 198, 30) && has(&cache, 199, 30) && !has(&cache, 197, 30));
    CHECK(keep(&cache, 3, 200, 61) == EFBIG);
    CHECK(cache.bytes == 90);
    held_cache_clear(&cache);
}

/* ---- jobs ----------------------------------------------------------------------------------------------------------
 */

/* What the tests count. */
static atomic_uint begun, freed;
static atomic_bool may_end;

static void run_until_allowed(void *context, const atomic_bool *stop)
{
    (void)context;
    begun++;
    while (!may_end && !*stop)
        usleep(100);
}

static void count_free(void *context)
{
    (void)context;
    freed++;
}

static const job_plan plan = {.run = run_until_allowed, .free = count_free};

static job *add_job(jobs *all)
{
    job *one = jobs_add(all, &plan);
    CHECK(one != NULL);
    return one;
}

static void begin_counting(jobs *all)
{
    begun = 0;
    freed = 0;
    may_end = false;
    jobs_init(all, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

static void wait_for_news(const jobs *all)
{
    uint64_t news;
    struct pollfd waited = {.fd = all->wake_fd, .events = POLLIN};
    CHECK(poll(&waited, 1, 10000) == 1);
    CHECK(read(all->wake_fd, &news, sizeof news) == sizeof news);
}

static bool ended(const job *one)
{
    bool ran = false;
    bool is = job_has_ended(one, &ran);
    CHECK(!is || ran);
    return is;
}

static void few_run_at_once_and_all_in_the_end(void)
{
    enum { JOBS = 3 * JOBS_AT_ONCE };
    jobs all;
    job *added[JOBS];
    unsigned done = 0;
    begin_counting(&all);
    for (unsigned i = 0; i < JOBS; i++)
        added[i] = add_job(&all);
    usleep(20000);
    jobs_tend(&all);
    CHECK(begun <= JOBS_AT_ONCE);
    may_end = true;
    while (done < JOBS) {
        wait_for_news(&all);
        jobs_tend(&all);
        done = 0;
        for (unsigned i = 0; i < JOBS; i++)
            done += ended(added[i]);
    }
    CHECK(freed == 0); /* their results may still be read */
    for (unsigned i = 0; i < JOBS; i++)
        job_drop(&all, added[i]);
    jobs_tend(&all);
    CHECK(begun == JOBS && freed == JOBS && all.running == 0);
    close(all.wake_fd);
}

static void a_job_that_is_dropped_stops_and_makes_room(void)
{
    jobs all;
    job *added[JOBS_AT_ONCE + 1];
    begin_counting(&all);
    for (unsigned i = 0; i <= JOBS_AT_ONCE; i++)
        added[i] = add_job(&all);
    while (begun < JOBS_AT_ONCE)
        usleep(100);
    job_drop(&all, added[0]);
    wait_for_news(&all);
    jobs_tend(&all);
    CHECK(freed == 1);
    while (begun < JOBS_AT_ONCE + 1)
        usleep(100);
    jobs_clear(&all);
    CHECK(freed == JOBS_AT_ONCE + 1);
    close(all.wake_fd);
}

static void a_job_that_waits_is_dropped_at_once(void)
{
    jobs all;
    job *last = NULL;
    begin_counting(&all);
    for (unsigned i = 0; i <= JOBS_AT_ONCE; i++)
        last = jobs_add(&all, &plan);
    job_drop(&all, last);
    CHECK(freed == 1);
    job_drop(&all, NULL);
    jobs_clear(&all);
    CHECK(begun <= JOBS_AT_ONCE && freed == JOBS_AT_ONCE + 1);
    close(all.wake_fd);
}

int main(void)
{
    names_overlap_when_one_lies_in_the_other();
    locks_find_what_overlaps();
    names_that_receivers_use_and_control_characters_are_not_stored();
    links_stay_in_the_top_directory_of_their_transfer();
    a_reserved_name_is_its_hosts();
    a_reservation_ends_and_few_are_kept();
    a_transfer_may_have_a_quarter_of_what_others_leave_and_the_least_always();
    unvalidated_peers_leave_half_of_it_to_others();
    promises_are_kept_up_to_the_greatest_sum_and_small_ones_always();
    what_is_returned_leaves_nothing_behind();
    a_claim_takes_a_quarter_of_what_others_leave_and_the_least_always();
    a_list_is_found_by_both_hashes();
    the_oldest_lists_give_way();
    an_address_displaces_its_own_lists_only();
    few_run_at_once_and_all_in_the_end();
    a_job_that_is_dropped_stops_and_makes_room();
    a_job_that_waits_is_dropped_at_once();
    puts("listen_parts_test passed");
    return 0;
}
