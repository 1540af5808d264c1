/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A digest of a packet's data, to compare copies (RESEND-03). */
#include "decode/content.h"

#include "decode/checksum.h"
#include "decode/netblt.h"

uint32_t nb_summed_hash(const struct nb_packet *packet)
{
    enum { SAMPLE_BYTES = 8 };
    const int start = packet->layout->data;
    const int sum = packet->layout->high_seq + 4;
    const int bytes = packet->end - start;
    const uint8_t *p = tvb_get_ptr(packet->tvb, 0, packet->end);
    uint64_t first = 0;
    uint64_t last = 0;

    memcpy(&first, p + start, (size_t)MIN(bytes, SAMPLE_BYTES));
    memcpy(&last, p + packet->end - MIN(bytes, SAMPLE_BYTES), (size_t)MIN(bytes, SAMPLE_BYTES));
    const uint64_t mixed = (first ^ last * 0xD6E8FEB86659FD93U) * 0x9FB21C651E98DF25U;
    return (uint32_t)(mixed >> 32) << 16 | (uint32_t)(p[sum] << 8 | p[sum + 1]);
}

uint32_t nb_content_hash(const struct nb_packet *packet)
{
    const int bytes = packet->end - packet->layout->data;
    const uint8_t *p = tvb_get_ptr(packet->tvb, packet->layout->data, bytes);
    /* Lanes that do not wait for each other: this runs over every byte of the transfer. */
    enum { LANES = 4, LANE_BYTES = 8, ROUND = LANES * LANE_BYTES };
    uint64_t lane[LANES] = {0x9E3779B97F4A7C15U ^ (uint64_t)bytes, 0xC2B2AE3D27D4EB4FU, 0x165667B19E3779F9U,
                            0x85EBCA77C2B2AE63U};
    uint64_t words[LANES];

    for (int i = 0; i < bytes; i += ROUND) {
        if (i + ROUND > bytes) {
            memset(words, 0, sizeof(words));
        }
        memcpy(words, p + i, (size_t)MIN((int)ROUND, bytes - i));
        for (int n = 0; n < LANES; n++) {
            lane[n] = (lane[n] ^ words[n]) * 0x9FB21C651E98DF25U;
            lane[n] ^= lane[n] >> 29;
        }
    }
    const uint64_t all =
        ((lane[0] * 0xD6E8FEB86659FD93U ^ lane[1]) * 0xD6E8FEB86659FD93U ^ lane[2]) * 0xD6E8FEB86659FD93U ^ lane[3];
    return (uint32_t)(all >> 32 ^ all);
}

bool nb_data_checksum_fits(const struct nb_packet *packet)
{
    const struct nb_layout *layout = packet->layout;
    const uint16_t sum = nb_sum(packet->tvb, layout->data, packet->end - layout->data);

    return nb_data_sum_fits(sum, tvb_get_ntohs(packet->tvb, layout->high_seq + 4));
}
