/* SPDX-License-Identifier: BSD-2-Clause */
/* What the data sender's half of a connection remembers (RFC 998 5.2). */
#ifndef NETBLT_CORE_SENDER_STATE_H
#define NETBLT_CORE_SENDER_STATE_H

#include "base/ring.h"
#include "control/go_queue.h"
#include "control/sequence.h"
#include "rate/pacing.h"
#include "rate/rate_interface.h"
#include "security/resend_challenge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer between the client's get_send_buffer and its OK: SENDING, in RFC 998 5.2.2. Packets below next_new were sent
 * at least once; a bit in `retransmit` means that a RESEND named the packet and that it was not sent since. */
struct nb_send_buffer {
    const uint8_t *data;
    uint32_t length;
    uint32_t number;  /* that of its GO */
    uint32_t packets; /* >= 1: an empty buffer is one empty LDATA (AMB-41) */
    uint32_t next_new;
    uint32_t settled;          /* packets that the peer has shown to have: netblt_stats.data_packets_settled */
    uint64_t *retransmit;      /* NULL until the first RESEND */
    uint32_t retransmit_count; /* bits that are set */
    uint32_t retransmit_from;  /* no bit is set below */
    bool last;
    bool sent;                             /* got its OK: SENT; waits only for lower buffers to leave the ring */
    struct nb_resend_challenge *challenge; /* of an unvalidated peer; NULL = every packet is sent */
};

struct nb_sender {
    struct nb_sequence sequence;
    struct nb_pacing pacing;
    const struct nb_rate_controller *rate_controller;
    struct nb_burst own_limit; /* the fastest pair that this end accepts in an OK (NEG-09) */
    uint16_t packet_size;
    uint32_t buffer_size;

    struct nb_go_queue gos; /* numbers for the buffers that the client has to supply next */
    struct nb_ring buffers; /* of struct nb_send_buffer, indices first .. */
    uint64_t first;
    uint64_t work_from; /* no buffer below has anything to send */
    size_t outstanding; /* in the ring and not SENT */
    size_t max_outstanding;
    size_t max_slots; /* in the ring */
    bool last_known;
    uint64_t last_index;
    bool client_waits; /* get_send_buffer answered WAIT */

    bool ack_owed;    /* a CONTROL arrived since an ack last left (CTRL-10) */
    bool report_owed; /* an offer was restricted (NEG-09) */
    bool ok_seen;
    uint16_t newest_ok;             /* sequence number of the newest OK (CTRL-11) */
    uint16_t peer_control_timer_ms; /* as the newest OK published it */
};

#endif
