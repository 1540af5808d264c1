/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of what the checksum of RFC 998 does not detect. A 16-bit ones-complement sum does not depend on the order of
 * the words, takes 0x0000 and 0xFFFF for the same number, and lets two changes cancel each other: an application that
 * needs more must check its data. The checksum must detect every single bit, and every burst of less than 16 bits. */
#include "check.h"
#include "peer.h"

#include <string.h>

static uint8_t original[100];

/* Sends buffer 0 with packet 1 changed after it was summed; whether the change came through. */
static bool comes_through(const uint8_t *changed)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.data_checksum = true;
    peer_open(&peer);
    peer_null_ack(&peer, 2);
    for (unsigned number = 0; number < 4; number++) {
        uint8_t data[100];
        memcpy(data, original, sizeof data);
        forge_data(&peer, &packet, number == 3 ? LDATA : DATA, 0, number, 2, false, data, 100, true);
        if (number == 1)
            memcpy(packet.bytes + 24, changed, 100);
        packet.covered = 24;
        peer_send(&peer, &packet);
    }
    bool delivered = peer.deliveries == 1;
    CHECK(!delivered || memcmp(peer.delivered + 100, changed, 100) == 0);
    CHECK_EQUAL(peer_info(&peer)->stats.checksum_errors, delivered ? 0 : 1);
    peer_free(&peer);
    return delivered;
}

static uint8_t *changed_copy(void)
{
    static uint8_t changed[100];
    memcpy(changed, original, sizeof changed);
    return changed;
}

static void swapped_words_are_not_detected(void)
{
    uint8_t *changed = changed_copy();
    memcpy(changed + 10, original + 40, 2);
    memcpy(changed + 40, original + 10, 2);
    CHECK(memcmp(changed, original, 100) != 0);
    CHECK(comes_through(changed));
}

static void zeros_that_become_ones_are_not_detected(void)
{
    uint8_t *changed = changed_copy();
    changed[20] = changed[21] = 0xFF; /* were 0 */
    CHECK(comes_through(changed));
}

static void changes_that_cancel_each_other_are_not_detected(void)
{
    uint8_t *changed = changed_copy();
    changed[31]++;
    changed[33]--;
    CHECK(comes_through(changed));
}

static void swapped_bytes_of_a_word_are_detected(void)
{
    uint8_t *changed = changed_copy();
    changed[10] = original[11];
    changed[11] = original[10];
    CHECK(!comes_through(changed));
}

static void every_single_bit_is_detected(void)
{
    for (unsigned bit = 0; bit < 800; bit++) {
        uint8_t *changed = changed_copy();
        changed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(!comes_through(changed));
    }
}

static void every_burst_of_less_than_16_bits_is_detected(void)
{
    for (unsigned bits = 2; bits < 16; bits++) {
        for (unsigned first = 0; first + bits <= 800; first += 7) {
            uint8_t *changed = changed_copy();
            for (unsigned i = 0; i < bits; i++)
                changed[(first + i) / 8] ^= (uint8_t)(0x80u >> (first + i) % 8);
            CHECK(!comes_through(changed));
        }
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof original; i++)
        original[i] = (uint8_t)(i * 37 + 11);
    original[20] = original[21] = 0;
    RUN(swapped_words_are_not_detected);
    RUN(zeros_that_become_ones_are_not_detected);
    RUN(changes_that_cancel_each_other_are_not_detected);
    RUN(swapped_bytes_of_a_word_are_detected);
    RUN(every_single_bit_is_detected);
    RUN(every_burst_of_less_than_16_bits_is_detected);
    return 0;
}
