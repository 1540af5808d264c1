/* SPDX-License-Identifier: BSD-2-Clause */
/* Forged NETBLT packets: parses steps such as "go:seq=1,buffer=0,at=50" and builds the IP packets they describe. */
#ifndef NETBLT_TESTS_FORGE_H
#define NETBLT_TESTS_FORGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FORGE_PACKET_MAX_BYTES = 2048,
    FORGE_DATA_MAX_BYTES = 1456,
    FORGE_TEXT_MAX_BYTES = 256,
};

/* A number that may differ from conversation to conversation. */
struct forge_value {
    enum {
        FORGE_RANGE,  /* first, first + 1, ... last, first, ... by the conversation's index */
        FORGE_RANDOM, /* any of first to last */
    } kind;
    uint32_t first;
    uint32_t last;
};

/* What a step sends. The first twelve have the numbers of RFC 998 8. */
enum forge_kind {
    FORGE_OPEN,
    FORGE_RESPONSE,
    FORGE_KEEPALIVE,
    FORGE_QUIT,
    FORGE_QUITACK,
    FORGE_ABORT,
    FORGE_DATA,
    FORGE_LDATA,
    FORGE_NULL_ACK,
    FORGE_CONTROL, /* not a step of its own: go, ok, resend */
    FORGE_REFUSED,
    FORGE_DONE,
    FORGE_GO,
    FORGE_OK,
    FORGE_RESEND,
    FORGE_UNREACHABLE, /* ICMP destination unreachable that quotes a packet of this conversation */
    FORGE_KINDS,
};

enum forge_direction { FORGE_READ, FORGE_WRITE, FORGE_EITHER };

/* One packet of each conversation. */
struct forge_step {
    enum forge_kind kind;
    uint64_t at_ns; /* after the conversation's begin */
    struct forge_value seq;
    struct forge_value buffer;
    struct forge_value packet;
    struct forge_value code; /* FORGE_UNREACHABLE: ICMP code */
    uint32_t data_bytes;
    uint32_t buffer_size;
    uint32_t packet_size;
    uint16_t max_buffers;
    uint16_t burst_size;
    uint16_t burst_interval_ms;
    uint16_t death_timer_s;
    enum forge_direction direction;
    char text[FORGE_TEXT_MAX_BYTES]; /* client string or reason; '%' stands for the conversation's index */
    uint32_t repeat;                 /* times that the step is sent, `every_ns` apart */
    uint64_t every_ns;
};

/* Addresses and ports of all conversations. IPv4 addresses are in host byte order. */
struct forge_plan {
    uint64_t seed;
    bool udp;
    uint8_t version;
    uint32_t to;
    uint32_t from;
    unsigned from_prefix; /* bits of `from` that are kept; the others are random for each conversation */
    struct forge_value local_port;
    struct forge_value foreign_port;
    struct forge_value udp_from;
    struct forge_value udp_to;
};

/* Reads "7", "3-9", "index", "random" or "random:3-9". False when `text` is none of these or above `most`. */
bool forge_read_value(const char *text, uint32_t most, struct forge_value *value);

/* Reads KIND[:WORD[=VALUE],...]. NULL, or what is wrong with it. `text` is changed. */
const char *forge_read_step(char *text, struct forge_step *step);

/* Writes packet `step` (number `step_number`) of conversation `index` as a whole IP packet. Returns its bytes. */
size_t forge_write(const struct forge_plan *plan, const struct forge_step *step, unsigned step_number, uint64_t index,
                   uint8_t out[FORGE_PACKET_MAX_BYTES]);

#endif
