/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CORE_RECEIVER_H
#define NETBLT_CORE_RECEIVER_H

#include "base/ring.h"
#include "control/control_queue.h"
#include "control/timers.h"
#include "rate_control.h"
#include "wire/wire.h"

#include <netblt/endpoint.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The data receiver's half of a connection (RFC 998 5.2). Functions take the connection whose role is
 * NETBLT_RECEIVER. */

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
    uint32_t packets; /* 0 until the LDATA arrived */
    uint32_t length;  /* bytes, known with the LDATA */
    uint32_t seen;    /* highest packet number in place, plus one */
    uint16_t awaited; /* sequence number of the message that ACK-WAIT waits for */
    bool fresh;       /* a packet arrived while in ACK-WAIT */
    bool more_to_ask; /* the last RESEND did not hold all missing packets (AMB-33) */
    uint32_t ask_from;
    bool asked;           /* a RESEND was queued at least once */
    unsigned repeats;     /* data timer expiries in a row without any packet between (AMB-35) */
    netblt_time timer_at; /* NETBLT_TIME_NEVER when it does not run */
    uint32_t newest;      /* packet that arrived last, plus one, and when: for the spacing */
    netblt_time newest_at;
};

struct nb_receiver {
    struct nb_control_queue queue;
    struct nb_control_timer control_timer;
    netblt_time control_at; /* expiry; NETBLT_TIME_NEVER when no message is un-acked */
    struct nb_rate_control rate;
    struct nb_burst offered; /* in the newest OK */
    struct nb_burst burst;   /* what the sender uses: negotiated, or as its newest NULL-ACK says */
    struct nb_spacing spacing;

    uint32_t base; /* buffer number of index 0 (AMB-09) */
    uint32_t buffer_size;
    uint16_t packet_size;
    uint32_t most_packets; /* in a full buffer */
    uint16_t max_outstanding;
    size_t most_slots; /* in `buffers` */

    struct nb_ring buffers; /* of struct nb_receive_buffer, indices first .. */
    uint64_t first;         /* lowest index that was not delivered */
    size_t outstanding;     /* GO'd and not RECEIVED */
    bool last_known;        /* L was seen */
    uint64_t last_index;
    bool awaits_confirmation;    /* options.confirm_end: the OK of `withheld` waits for netblt_confirm() */
    uint32_t withheld;           /* number of the buffer that was completed last */
    bool client_waits;           /* provide answered NULL */
    netblt_time data_timer_from; /* no data timer expires before */
};

/* `first_round_trip_us`: of OPEN and RESPONSE, 0 if not measured. */
void nb_receiver_start(netblt_connection *connection, netblt_time first_round_trip_us);
void nb_receiver_discard_all(netblt_connection *connection);
void nb_receiver_free(netblt_connection *connection);
/* The data phase is over, or the connection is. */
void nb_receiver_stop_timers(netblt_connection *connection);

void nb_receiver_on_data(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
void nb_receiver_on_null_ack(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
/* Asks the client for memory and queues GOs, has news sent, sees that the transfer is over. */
void nb_receiver_step(netblt_connection *connection);
/* Runs the control timer and the data timers. */
void nb_receiver_timeout(netblt_connection *connection, netblt_time now);
netblt_time nb_receiver_deadline(const netblt_connection *connection);
/* No buffer is half received (QUIT-04). */
bool nb_receiver_at_boundary(const netblt_connection *connection);
/* The CONTROL packet; arms the control timer. */
size_t nb_receiver_write_control(netblt_connection *connection, uint8_t *packet, size_t capacity, netblt_time now);

/* For receiver_data.c and receiver_timers.c. */
struct nb_receive_buffer *nb_receiver_buffer(const struct nb_receiver *receiver, size_t i);
/* `ack` came in the header of a packet: drops messages, moves buffers from ACK-WAIT on, measures the round trip. */
void nb_receiver_on_ack(netblt_connection *connection, uint16_t ack, netblt_time now);
/* Buffer i of the ring got its first packet since it was ACKED: tight timers for it and for all ACKED ones below
 * (TIMER-05, TIMER-06). */
void nb_receiver_arm_tight(netblt_connection *connection, size_t i, netblt_time now);
/* Buffer i is complete: queues OK, gives it to the client. The OK that would complete the transfer waits for
 * nb_receiver_confirm() if the client wants that. */
void nb_receiver_complete(netblt_connection *connection, size_t i, netblt_time now);
/* The client has stored everything (netblt_confirm): queues the withheld OK. */
void nb_receiver_confirm(netblt_connection *connection);
/* L was seen in buffer i: no buffer above it exists (AMB-30). */
void nb_receiver_end_at(netblt_connection *connection, size_t i);
void nb_receiver_out_of_memory(netblt_connection *connection);

#endif
