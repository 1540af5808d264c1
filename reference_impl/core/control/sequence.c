/* SPDX-License-Identifier: BSD-2-Clause */
/* The control sequence numbers that the data sender has recorded. */
#include "control/sequence.h"

#include "base/bitmap.h"
#include "base/serial.h"

#include <assert.h>

void nb_sequence_init(struct nb_sequence *sequence)
{
    *sequence = (struct nb_sequence){0};
}

static uint32_t window_bit(uint16_t seq)
{
    return seq % NB_SEQUENCE_WINDOW;
}

bool nb_sequence_is_new(const struct nb_sequence *sequence, uint16_t seq)
{
    uint16_t ahead = (uint16_t)(seq - sequence->high);
    return ahead != 0 && ahead < NB_SEQUENCE_WINDOW && !nb_bitmap_test(sequence->beyond, window_bit(seq));
}

bool nb_sequence_is_next(const struct nb_sequence *sequence, uint16_t seq)
{
    return seq == (uint16_t)(sequence->high + 1);
}

void nb_sequence_record(struct nb_sequence *sequence, uint16_t seq)
{
    assert(nb_sequence_is_new(sequence, seq));
    nb_bitmap_set(sequence->beyond, window_bit(seq));
    for (;;) {
        uint16_t next = (uint16_t)(sequence->high + 1);
        if (!nb_bitmap_test(sequence->beyond, window_bit(next)))
            return;
        nb_bitmap_clear(sequence->beyond, window_bit(next));
        sequence->high = next;
    }
}
