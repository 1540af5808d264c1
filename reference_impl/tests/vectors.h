/* SPDX-License-Identifier: BSD-2-Clause */
/* A byte vector of pcaps/vectors as C data, made by vectors_to_c.py. Fields that a type does not have are zero. */
#ifndef NETBLT_TESTS_VECTORS_H
#define NETBLT_TESTS_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vector_message {
    unsigned type, seq;
    uint32_t buffer;
    unsigned burst_size, burst_interval_ms, control_timer_ms, count;
    const uint16_t *packets;
};

struct vector {
    const char *name;
    const char *error; /* "" when valid */
    const char *type;  /* "" when the type is unknown */
    bool rfc998;       /* else another dialect with other layouts */
    bool canonical;    /* an encoder must give the same bytes */
    const char *sum;   /* of the data area: "good", "bad", "unchecked", or "" */
    const uint8_t *octets;
    size_t size;
    const struct vector_message *messages;
    size_t message_count;
    const char *string;
    const uint8_t *data;
    size_t data_length;
    uint32_t checksum, version, type_code, length, local_port, foreign_port, padding;
    uint32_t unique_id, buffer_size, transfer_size, packet_size, burst_size, burst_interval_ms, death_timer_s, write,
        data_checksum_flag, reserved_flags, max_buffers;
    uint32_t buffer, high_seq, packet, data_checksum, last_buffer;
};

extern const struct vector *const vectors[];
extern const size_t vector_count;

#endif
