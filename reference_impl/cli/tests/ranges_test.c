/* SPDX-License-Identifier: BSD-2-Clause */
/* Which bytes of a file have come, in any order. */
#include <string.h>

#include "check.h"
#include "cli/tree/ranges.h"
#include "random.h"

#define BYTES 200

/* Ascending, not adjacent, and of the same bytes. */
static void expect_ranges(const byte_ranges *ranges, const bool come[BYTES])
{
    uint64_t at = 0;
    for (size_t i = 0; i < ranges->count; i++) {
        byte_range range = ranges->all[i];
        CHECK(range.from < range.to && range.to <= BYTES && (i == 0 || range.from > at));
        for (; at < range.from; at++)
            CHECK(!come[at]);
        for (; at < range.to; at++)
            CHECK(come[at]);
    }
    for (; at < BYTES; at++)
        CHECK(!come[at]);
}

static void expect_ends(const byte_ranges *ranges, const bool come[BYTES])
{
    for (uint64_t from = 0; from < BYTES; from++) {
        uint64_t end = from;
        while (end < BYTES && come[end])
            end++;
        CHECK_EQUAL(ranges_end(ranges, from), end);
    }
}

static void ranges_hold_what_was_added(void)
{
    struct random random = {1};
    for (unsigned round = 0; round < 500; round++) {
        byte_ranges ranges = {0};
        bool come[BYTES] = {false};
        for (unsigned i = 0; i < 30; i++) {
            uint64_t from = random_below(&random, BYTES);
            uint64_t length = 1 + random_below(&random, BYTES - from < 20 ? BYTES - from : 20);
            CHECK_EQUAL(ranges_add(&ranges, (byte_range){from, from + length}), 0);
            memset(come + from, true, (size_t)length);
            expect_ranges(&ranges, come);
        }
        expect_ends(&ranges, come);
        ranges_clear(&ranges);
        CHECK_EQUAL(ranges.count, 0);
    }
}

int main(void)
{
    RUN(ranges_hold_what_was_added);
    return 0;
}
