/* SPDX-License-Identifier: BSD-2-Clause */
/* What the data receiver's half of a connection remembers (RFC 998 5.2). */
#ifndef NETBLT_CORE_RECEIVER_STATE_H
#define NETBLT_CORE_RECEIVER_STATE_H

#include "base/ring.h"
#include "control/control_queue.h"
#include "control/timers.h"
#include "rate/rate_control.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The states of RFC 998 5.2.2. The data timer runs in ACKED (loose) and RECEIVING (tight), and only there. */
enum nb_receive_state {
    NB_ACK_WAIT,  /* its GO or RESEND is not acknowledged yet */
    NB_ACKED,     /* acknowledged, no packet since */
    NB_RECEIVING, /* a packet arrived since */
    NB_RECEIVED,  /* complete; its OK is queued */
};

struct nb_receive_buffer {
    enum nb_receive_state state;
    uint8_t *memory; /* the client's; NULL when it has it back */
    uint64_t *got;   /* a bit for each packet in place */
    uint32_t received;
    uint32_t packets;          /* 0 until the LDATA arrived */
    uint32_t length;           /* bytes, known with the LDATA */
    uint32_t seen;             /* highest packet number in place, plus one */
    uint16_t awaited;          /* sequence number of the message that ACK-WAIT waits for */
    bool packet_since_request; /* a packet arrived while in ACK-WAIT */
    bool resend_incomplete;    /* the last RESEND did not hold all missing packets (AMB-33) */
    uint32_t resend_from;      /* then: the first missing packet of the next one */
    bool resend_waits;         /* for room in the CONTROL, to ask from resend_from on */
    bool resend_queued;        /* a RESEND was queued at least once */
    unsigned expiries;         /* data timer expiries in a row without any packet between (AMB-35) */
    netblt_time timer_at;      /* NETBLT_TIME_NEVER when it does not run */
    uint32_t latest;           /* packet that arrived last, plus one, and when: for the spacing */
    netblt_time latest_at;
};

struct nb_receiver {
    struct nb_control_queue queue;
    struct nb_control_timer control_timer;
    netblt_time control_at; /* expiry; NETBLT_TIME_NEVER when no message is un-acked */
    struct nb_rate_control rate;
    struct nb_burst offered; /* in the newest OK */
    struct nb_burst burst;   /* what the sender uses: negotiated, or as its newest NULL-ACK states */
    struct nb_spacing spacing;

    uint32_t first_number; /* buffer number of index 0 (AMB-09) */
    uint32_t buffer_size;
    uint16_t packet_size;
    uint32_t packets_per_buffer; /* of a full one */
    uint16_t max_outstanding;
    size_t max_slots; /* in `buffers` */

    struct nb_ring buffers; /* of struct nb_receive_buffer, indices first .. */
    uint64_t first;         /* lowest index that was not delivered */
    size_t resends_waiting; /* requests for which the CONTROL has no room; no GO goes before them */
    size_t outstanding;     /* GO'd and not RECEIVED */
    bool last_known;        /* L was seen */
    uint64_t last_index;
    bool awaits_confirmation;    /* options.confirm_end: the OK of `unconfirmed` waits for netblt_confirm() */
    uint32_t unconfirmed;        /* number of the buffer that was completed last */
    bool client_waits;           /* get_receive_buffer answered NULL */
    netblt_time data_timer_from; /* no data timer expires before */
};

#endif
