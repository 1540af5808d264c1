/* SPDX-License-Identifier: BSD-2-Clause */
/* Corrects the checksum of a packet that a fuzz target has made. */
#include "fuzz.h"

/* A checksum of its own: the one under test must not correct itself. */
void fuzz_repair(uint8_t *packet, size_t size)
{
    if (size < 12)
        return;
    size_t length = (size_t)packet[4] << 8 | packet[5];
    size_t covered = packet[3] == 6 || packet[3] == 7 ? 24 : length;
    if (length > size || covered > length)
        return;
    packet[0] = packet[1] = 0;
    uint32_t sum = 0;
    for (size_t i = 0; i < covered; i++)
        sum += i % 2 == 0 ? (uint32_t)packet[i] << 8 : packet[i];
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    packet[0] = (uint8_t)(~sum >> 8);
    packet[1] = (uint8_t)~sum;
}
