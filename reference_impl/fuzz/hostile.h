/* SPDX-License-Identifier: BSD-2-Clause */
/* A scripted hostile peer: makes packets from the input of a fuzz target, most of them nearly right. */
#ifndef NETBLT_FUZZ_HOSTILE_H
#define NETBLT_FUZZ_HOSTILE_H

#include "bytes.h"
#include "station.h"

struct hostile {
    struct station *station;
    struct model *model;
    uint16_t port;
    uint32_t unique_id;
    uint16_t seq;      /* of our next control message */
    uint16_t seen_seq; /* highest in its CONTROLs */
    bool any_go_seen;
    uint32_t seen_go;
    uint64_t token;        /* if the connection is guarded */
    uint32_t first_buffer; /* the number that it stands for */
    bool gives_token;      /* in RESPONSE */
    uint8_t damage;        /* 0, or which byte of the next packet is changed after its checksum was made */
};

/* A new connection: sequence numbers restart. */
void hostile_begin(struct hostile *hostile);
void hostile_open(struct hostile *hostile, struct bytes *in, unsigned type);
void hostile_control(struct hostile *hostile, struct bytes *in);
void hostile_data(struct hostile *hostile, struct bytes *in);
void hostile_null_ack(struct hostile *hostile, struct bytes *in);
void hostile_reason(struct hostile *hostile, unsigned type, uint8_t how);
/* KEEPALIVE, QUITACK, REFUSED or DONE. */
void hostile_bare(struct hostile *hostile, uint8_t how);
/* Another unique ID than the one that an endpoint remembers, with or without a mark; or a token. */
void hostile_becomes_another(struct hostile *hostile, uint8_t how);
void hostile_raw(struct hostile *hostile, struct bytes *in);
/* The endpoint has sent a packet. */
void hostile_learn(struct hostile *hostile, const uint8_t *packet, size_t size);

#endif
