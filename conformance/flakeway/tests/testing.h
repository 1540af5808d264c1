/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the flakeway share. */
#ifndef FLAKEWAY_TESTING_H
#define FLAKEWAY_TESTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flakeway.h"

#define A_TO_B FLAKEWAY_A_TO_B
#define B_TO_A FLAKEWAY_B_TO_A

/* A test is a function whose name is a sentence. */
#define RUN(test)                                                                                                      \
    do {                                                                                                               \
        current_test = #test;                                                                                          \
        test();                                                                                                        \
    } while (0)

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__, current_test, #condition);                  \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

#define CHECK_TEXT(actual, expected) check_text(actual, expected, __FILE__, __LINE__)

extern const char *current_test;
extern int failures;

void check_text(const char *actual, const char *expected, const char *file, int line);

/* Packets, built by hand from RFC 998's figures; the same memory is used for each. */
typedef struct test_packet {
    uint8_t bytes[2048];
    size_t length;
} test_packet;
test_packet simple_packet(uint8_t type, size_t length);
test_packet data_packet(uint8_t type, uint32_t buffer, uint16_t number, size_t payload);
test_packet control_packet(void);
void add_go(test_packet *packet, uint16_t sequence, uint32_t buffer);
void add_ok(test_packet *packet, uint16_t sequence, uint32_t buffer);
void add_resend(test_packet *packet, uint16_t sequence, uint32_t buffer, unsigned count, const uint16_t *numbers);

/* An engine with rules; every text must be understood. */
flakeway *engine_with(uint64_t seed, const char *first, const char *second);
uint64_t offer(flakeway *engine, enum flakeway_direction direction, const test_packet *packet, uint64_t now_us);
/* Offers packets from A to B, said as "bytes@microseconds" with spaces between. */
void offer_all(flakeway *engine, const char *packets);
/* Releases everything, however late, and writes "id@time" of each, with spaces between, to a buffer that it answers;
 * copies as "id+copy@time". */
const char *released_text(flakeway *engine);
/* What is offered under these rules, and what is released of it. */
#define CHECK_PATH(first, second, offered, expected)                                                                   \
    do {                                                                                                               \
        flakeway *engine_of_path = engine_with(1, first, second);                                                      \
        offer_all(engine_of_path, offered);                                                                            \
        CHECK_TEXT(released_text(engine_of_path), expected);                                                           \
        flakeway_free(engine_of_path);                                                                                 \
    } while (0)

#endif
