/* SPDX-License-Identifier: BSD-2-Clause */
/* The vectorised checksum against its definition (CKSUM-02), byte by byte. */
#include "check.h"
#include "random.h"
#include "wire/checksum.h"

#include <string.h>

#define ROOM_BYTES 70000
static uint8_t source[ROOM_BYTES];
static uint8_t target[ROOM_BYTES];

/* RFC 998 5.1 in the plainest words: 16-bit big-endian words, end-around carry, negated; AMB-06: a single last byte has
 * a zero byte after it. */
static uint16_t by_definition(const uint8_t *bytes, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++) {
        sum += (i % 2 == 0) ? (uint32_t)bytes[i] << 8 : bytes[i];
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return (uint16_t)~sum;
}

static void expect_all_right(size_t from, size_t to, size_t length)
{
    uint16_t right = by_definition(source + from, length);
    CHECK(nb_checksum(source + from, length) == right);
    CHECK(nb_checksum_matches(source + from, length, right));
    CHECK(!nb_checksum_matches(source + from, length, (uint16_t)(right ^ 0x0100)));
    memset(target, 0xA5, sizeof target);
    CHECK(nb_checksum_copy(target + to, source + from, length) == right);
    CHECK(memcmp(target + to, source + from, length) == 0);
    CHECK(to == 0 || target[to - 1] == 0xA5);
    CHECK(target[to + length] == 0xA5);
    memset(target, 0xA5, sizeof target);
    CHECK(nb_checksum_copy_matches(target + to, source + from, length, right));
    CHECK(memcmp(target + to, source + from, length) == 0);
    CHECK(to == 0 || target[to - 1] == 0xA5);
    CHECK(target[to + length] == 0xA5);
    CHECK(!nb_checksum_copy_matches(target + to, source + from, length, (uint16_t)(right ^ 0x0001)));
}

static void every_short_length_at_every_offset_sums_as_defined(void)
{
    for (size_t length = 0; length <= 200; length++)
        expect_all_right(length % 37, length % 29, length);
    for (size_t offset = 0; offset < 64; offset++)
        expect_all_right(offset, 63 - offset, 129);
}

static void random_lengths_and_offsets_sum_as_defined(struct random *random)
{
    for (int i = 0; i < 300; i++) {
        size_t length = random_below(random, i % 3 == 0 ? 65536 : 3000);
        expect_all_right(random_below(random, 100), random_below(random, 100), length);
    }
}

/* All ones is the value with the most carries: the sum of any number of such words is 0xFFFF again. */
static void no_carry_is_lost_in_the_longest_packet(void)
{
    memset(source, 0xFF, sizeof source);
    CHECK(nb_checksum(source, 65534) == 0);
    CHECK(nb_checksum_copy(target, source, 65534) == 0);
    expect_all_right(1, 0, 65535);
}

static void an_empty_buffer_needs_no_memory(void)
{
    CHECK(nb_checksum(NULL, 0) == 0xFFFF);
    CHECK(nb_checksum_copy(NULL, NULL, 0) == 0xFFFF);
    CHECK(nb_checksum_copy_matches(NULL, NULL, 0, 0xFFFF));
}

static void both_forms_of_zero_are_accepted(void)
{
    memset(source, 0, 100);
    CHECK(nb_checksum_matches(source, 100, 0xFFFF));
    CHECK(nb_checksum_copy_matches(target, source, 100, 0xFFFF));
    source[0] = 0xFF;
    source[1] = 0xFF;
    CHECK(nb_checksum_matches(source, 100, 0x0000) && nb_checksum_matches(source, 100, 0xFFFF));
    CHECK(nb_checksum_copy_matches(target, source, 100, 0x0000));
}

int main(void)
{
    struct random random = {.state = 998};
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (uint8_t)random_next(&random);
    RUN(every_short_length_at_every_offset_sums_as_defined);
    random_lengths_and_offsets_sum_as_defined(&random);
    puts("ok random_lengths_and_offsets_sum_as_defined");
    RUN(no_carry_is_lost_in_the_longest_packet);
    RUN(an_empty_buffer_needs_no_memory);
    RUN(both_forms_of_zero_are_accepted);
    return 0;
}
