/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of netblt listen that need no network: locks on names, held lists of peers, work beside the event loop. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"
#include "cli/listen/held_cache.h"
#include "cli/listen/jobs.h"
#include "cli/listen/name_locks.h"

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

/* ---- held lists ---------------------------------------------------------------------------------------------------
 */

static netblt_address host(uint32_t number)
{
    return netblt_address_of_ipv4((struct in_addr){.s_addr = htonl(number)});
}

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
        CHECK((added[i] = jobs_add(&all, &plan)) != NULL);
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
        CHECK((added[i] = jobs_add(&all, &plan)) != NULL);
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
    a_list_is_found_by_both_hashes();
    the_oldest_lists_give_way();
    an_address_displaces_its_own_lists_only();
    few_run_at_once_and_all_in_the_end();
    a_job_that_is_dropped_stops_and_makes_room();
    a_job_that_waits_is_dropped_at_once();
    puts("listen_parts_test passed");
    return 0;
}
