/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CORE_SENDER_H
#define NETBLT_CORE_SENDER_H

#include "base/ring.h"
#include "control/go_queue.h"
#include "control/sequence.h"
#include "pacing.h"
#include "security/withheld.h"
#include "wire/wire.h"

#include <netblt/endpoint.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The data sender's half of a connection (RFC 998 5.2). Functions take the connection whose role is NETBLT_SENDER. */

/* A buffer between the client's supply and its OK: SENDING, in RFC 998 5.2.2. Packets below next_new were sent at least
 * once; a bit in `repairs` says that a RESEND named the packet and that it was not sent since. */
struct nb_send_buffer {
    const uint8_t *data;
    uint32_t length;
    uint32_t number;  /* that of its GO */
    uint32_t packets; /* >= 1: an empty buffer is one empty LDATA (AMB-41) */
    uint32_t next_new;
    uint32_t settled;  /* packets that the peer has shown to have: netblt_stats.data_packets_settled */
    uint64_t *repairs; /* NULL until the first RESEND */
    uint32_t repairs_queued;
    uint32_t repairs_from; /* no bit is set below */
    bool last;
    bool sent;                    /* got its OK: SENT; waits only for lower buffers to leave the ring */
    struct nb_withheld *withheld; /* from an unvalidated peer; NULL = nothing */
};

struct nb_sender {
    struct nb_sequence sequence;
    struct nb_pacing pacing;
    struct nb_burst own_limit; /* the fastest pair that this end accepts in an OK (NEG-09) */
    uint16_t packet_size;
    uint32_t buffer_size;

    struct nb_go_queue gos; /* numbers for the buffers that the client is asked for next */
    struct nb_ring buffers; /* of struct nb_send_buffer, indices first .. */
    uint64_t first;
    uint64_t work_from; /* no buffer below has anything to send */
    size_t outstanding; /* in the ring and not SENT */
    size_t max_outstanding;
    size_t most_slots; /* in the ring */
    bool last_known;
    uint64_t last_index;
    bool client_waits; /* supply answered WAIT */

    bool ack_owed;    /* a CONTROL arrived since an ack last left (CTRL-10) */
    bool report_owed; /* an offer was restricted (NEG-09) */
    bool ok_seen;
    uint16_t newest_ok;             /* sequence number of the newest OK (CTRL-11) */
    uint16_t peer_control_timer_ms; /* as the newest OK published it */
};

/* The connection has opened. */
void nb_sender_start(netblt_connection *connection);
/* Gives the client its memory back; `connection` may be at any point of its life after start. */
void nb_sender_release_all(netblt_connection *connection);
void nb_sender_free(netblt_connection *connection);

void nb_sender_on_control(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
/* Everything that may follow from the events since the last step: asks the client for buffers, decides about NULL-ACK,
 * sees that the transfer is over. */
void nb_sender_step(netblt_connection *connection, netblt_time now);
/* No buffer is half sent: a QUIT may go out (QUIT-04). */
bool nb_sender_at_boundary(const netblt_connection *connection);

/* When the next DATA may leave; NETBLT_TIME_NEVER when there is none to send. */
netblt_time nb_sender_next_data(const netblt_connection *connection, netblt_time now);
/* Writes one run of DATA and LDATA packets that may leave now. */
size_t nb_sender_write_data(netblt_connection *connection, uint8_t *packets, size_t capacity, netblt_output *output,
                            netblt_time now);
/* The peer has been validated: nothing more is withheld from it (withheld.h). */
void nb_sender_release_withheld(netblt_connection *connection);
size_t nb_sender_write_null_ack(netblt_connection *connection, uint8_t *packet);

/* For sender_control.c and sender_output.c. */
struct nb_send_buffer *nb_sender_buffer(const netblt_connection *connection,
                                        uint64_t index); /* NULL: not in the ring */
void nb_sender_pop_sent(netblt_connection *connection);
bool nb_send_buffer_has_work(const struct nb_send_buffer *buffer);
/* Moves next_new past packets that are withheld. */
void nb_send_buffer_skip_withheld(struct nb_send_buffer *buffer);
/* Queues a packet below next_new to be sent, again or, if it was withheld, for the first time. */
void nb_send_buffer_queue_repair(struct nb_send_buffer *buffer, uint32_t packet);

#endif
