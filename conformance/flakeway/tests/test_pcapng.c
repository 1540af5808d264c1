/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer's bytes against the format, and its errors. What tshark makes of them: selftest/test_simlib_pcapng.py. */
#include "pcapng.h"

#include <errno.h>

#include "testing.h"

static void a_file_is_these_bytes(void)
{
    /* Put together by hand from the format's description: section header, interface, packet. */
    static const uint8_t expected[] = {
        0x0a, 0x0d, 0x0d, 0x0a, 40,   0,    0,    0,    0x4d, 0x3c, 0x2b, 0x1a, 1,   0,   0, 0, /* section header */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4,    0,    2,    0,    'm', 'e', 0, 0, /* application */
        0,    0,    0,    0,    40,   0,    0,    0,                                            /* end */
        1,    0,    0,    0,    40,   0,    0,    0,    101,  0,    0,    0,    0,   0,   0, 0, /* interface, RAW */
        2,    0,    1,    0,    'L',  0,    0,    0,    9,    0,    1,    0,    9,   0,   0, 0,
        0,    0,    0,    0,    40,   0,    0,    0, /* name, ns */
        6,    0,    0,    0,    68,   0,    0,    0,    0,    0,    0,    0,    2,   0,   0, 0,
        5,    0,    0,    0,    3,    0,    0,    0,    3,    0,    0,    0, /* packet, 2^33+5 ns */
        7,    8,    9,    0,    2,    0,    4,    0,    2,    0,    0,    0,    5,   0,   8, 0,
        77,   0,    0,    0,    0,    0,    0,    0,                                            /* flags, packet ID */
        1,    0,    2,    0,    'o',  'k',  0,    0,    0,    0,    0,    0,    68,  0,   0, 0, /* comment */
    };
    const uint8_t bytes[] = {7, 8, 9};
    size_t length;
    pcapng_writer *writer = pcapng_new(NULL, "me");
    CHECK(pcapng_add_interface(writer, "L", NULL, PCAPNG_LINKTYPE_RAW) == 0);
    const pcapng_packet packet = {.time_ns = (2ull << 32) + 5,
                                  .bytes = bytes,
                                  .length = 3,
                                  .direction = PCAPNG_OUTBOUND,
                                  .packet_id = 77,
                                  .comment = "ok"};
    CHECK(pcapng_write(writer, &packet));
    const uint8_t *written = pcapng_bytes(writer, &length);
    CHECK(length == sizeof expected);
    CHECK(length == sizeof expected && memcmp(written, expected, length) == 0);
    CHECK(pcapng_packets_written(writer) == 1);
    pcapng_free(writer);
}

static void a_packet_of_an_unknown_interface_is_an_error_that_stays(void)
{
    pcapng_writer *writer = pcapng_new(NULL, NULL);
    const pcapng_packet packet = {.interface = 0, .bytes = (const uint8_t *)"x", .length = 1};
    CHECK(!pcapng_write(writer, &packet));
    CHECK(pcapng_error(writer) == EINVAL);
    CHECK(pcapng_add_interface(writer, "L", NULL, PCAPNG_LINKTYPE_RAW) == -1);
    pcapng_free(writer);
}

static void a_full_disk_is_reported(void)
{
    FILE *full = fopen("/dev/full", "wb");
    if (!full)
        return; /* no such device here */
    const uint8_t bytes[1000] = {0};
    const pcapng_packet packet = {.bytes = bytes, .length = sizeof bytes};
    pcapng_writer *writer = pcapng_new(full, NULL);
    bool written = pcapng_add_interface(writer, "L", NULL, PCAPNG_LINKTYPE_RAW) == 0;
    for (unsigned i = 0; i < 100; i++)
        written = pcapng_write(writer, &packet) && written;
    CHECK(!pcapng_flush(writer) && !written);
    CHECK(pcapng_error(writer) == ENOSPC);
    pcapng_free(writer);
    fclose(full);
}

static void a_long_comment_is_cut_between_characters(void)
{
    char *comment = malloc(70001);
    size_t length;
    if (!comment)
        abort();
    for (size_t i = 0; i < 70000; i += 2)
        memcpy(comment + i, "\xc3\xa4", 2); /* a-umlaut */
    memmove(comment + 1, comment, 69999);
    comment[0] = 'x';
    comment[70000] = '\0';
    pcapng_writer *writer = pcapng_new(NULL, NULL);
    CHECK(pcapng_add_interface(writer, "L", NULL, PCAPNG_LINKTYPE_RAW) == 0);
    pcapng_bytes(writer, &length);
    const pcapng_packet packet = {.bytes = (const uint8_t *)"abcd", .length = 4, .comment = comment};
    CHECK(pcapng_write(writer, &packet));
    const uint8_t *option = pcapng_bytes(writer, &(size_t){0}) + length + 28 + 4;
    CHECK(option[0] == 1 && option[1] == 0);
    CHECK((option[2] | option[3] << 8) == 65531); /* x and 32765 characters of two bytes: not even, at most 65532 */
    pcapng_free(writer);
    free(comment);
}

int main(void)
{
    RUN(a_file_is_these_bytes);
    RUN(a_packet_of_an_unknown_interface_is_an_error_that_stays);
    RUN(a_full_disk_is_reported);
    RUN(a_long_comment_is_cut_between_characters);
    return failures != 0;
}
