/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept for each NETBLT packet of the file. Made on the first pass, only read afterwards. */
#ifndef NETBLT_RECORD_H
#define NETBLT_RECORD_H

#include "wireshark/compat.h"

struct nb_stream;
struct nb_finding;
struct nb_note;

/* Bits of nb_record.facts. */
enum nb_fact {
    NB_RETRANSMISSION = 1 << 0, /* sent before, or asked for by a RESEND */
    NB_OUT_OF_ORDER = 1 << 1,   /* overtaken by packets captured before */
    NB_BURST_START = 1 << 2,
    NB_DATA_SPOILT = 1 << 3, /* bad data checksum */
    NB_IS_COPY = 1 << 4,     /* of a packet that was captured before */
    NB_NOT_JUDGED = 1 << 5,  /* there was no memory for more of its connection */
};

/* Small, since captures have millions: whatever few packets have goes into notes or findings. */
struct nb_record {
    struct nb_stream *stream; /* NULL when the packet belongs to none */
    struct nb_finding *findings;
    struct nb_note *notes; /* conversation.h */
    uint32_t frame;
    uint32_t key;   /* which packet of the frame: nb_record_key */
    uint32_t burst; /* from 1; 0 when the packet is in no burst */
    union {
        uint16_t burst_position; /* from 1; CONTROLs have none */
        uint16_t epoch;          /* CONTROL: how often the sequence numbers had wrapped */
    };
    uint16_t outstanding;  /* buffers GO'd and not OK'd after this packet */
    uint16_t facts;        /* enum nb_fact */
    int8_t end;            /* which end emitted it: 0 or 1 */
    int8_t sender;         /* as known at this packet */
    uint8_t position;      /* enum nb_position, as inferred up to here */
    uint8_t dialect;       /* enum nb_dialect */
    bool data_checksummed; /* as negotiated up to here */
};

/* A frame may hold several NETBLT packets: several payloads (tunnels: occurrence, from 0) and several packets in one
 * UDP datagram (idx, from 0). */
static inline uint32_t nb_record_key(uint32_t occurrence, uint32_t idx)
{
    return occurrence << 16 | idx;
}

/* To be called once when the protocol is registered. */
void nb_register_records(void);

/* A frame is looked at for the first time. A read filter (tshark -2 -R) gives the number of a frame that it drops to
 * the next one, and the second pass comes with the numbers of those that are left: what was kept of the dropped one
 * under this number is found no more. */
void nb_record_begin(uint32_t frame, int64_t offset);

/* A zeroed record (file scope). Frames must come in ascending order. */
struct nb_record *nb_record_add(uint32_t frame, uint32_t key);

/* NULL when there is none. Constant time for the packets of a frame in their order. */
struct nb_record *nb_record_find(uint32_t frame, uint32_t key);

/* The first record of the frame; NULL when it has none. */
struct nb_record *nb_record_first(uint32_t frame);

/* Number of records so far. nb_record_at(0 .. count-1) gives them in capture order. */
uint32_t nb_record_count(void);
struct nb_record *nb_record_at(uint32_t ordinal);

#endif
