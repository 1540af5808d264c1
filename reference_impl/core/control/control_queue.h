/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue of control messages and the content of CONTROL packets (RFC 998 5.2.1). */
#ifndef NETBLT_CORE_CONTROL_QUEUE_H
#define NETBLT_CORE_CONTROL_QUEUE_H

#include "base/ring.h"
#include "wire/wire.h"

#include <netblt/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The long-lived control packet of RFC 998 5.2.1: a FIFO of control messages. New messages join at the end,
 * acknowledged ones leave at the front, and every transmission holds all that is in between, as far as one packet can
 * (CTRL-03..05, AMB-33). Sequence numbers start at 1 and step by 1 modulo 2^16 (CTRL-01, AMB-12). */

/* Messages that may be un-acked at a time: below half of the 16-bit range, so that serial comparison is unambiguous. */
enum { NB_CONTROL_QUEUE_MAX_MESSAGES = 0x7000 };

/* A message never changes once it is in the queue (CTRL-02); only an OK's control timer is filled in at transmission
 * (AMB-44). */
struct nb_control_message {
    uint16_t seq;
    uint8_t type;          /* enum nb_message_type */
    uint8_t times_highest; /* CONTROL packets in which it was the highest message, at most 2 */
    uint32_t buffer;
    uint16_t burst_size; /* OK */
    uint16_t burst_interval_ms;
    uint16_t count; /* RESEND */
    uint16_t *packets;
    netblt_time first_highest_at;
    netblt_time highest_at; /* when the newest of these packets left */
};

struct nb_control_queue {
    struct nb_ring messages;
    uint16_t next_seq;
    uint16_t acked;     /* highest acknowledged so far */
    size_t sent;        /* messages at the front that were transmitted at least once */
    size_t limit_bytes; /* of one CONTROL packet, header included */
    size_t bytes;       /* of all messages */
};

/* `limit_bytes` must hold a header and the largest GO or OK. */
void nb_control_queue_init(struct nb_control_queue *queue, size_t limit_bytes, const netblt_allocator *allocator);
void nb_control_queue_free(struct nb_control_queue *queue);

/* Each adds a message and returns its sequence number through *seq; false when memory is short. */
bool nb_control_queue_go(struct nb_control_queue *queue, uint32_t buffer, uint16_t *seq);
bool nb_control_queue_ok(struct nb_control_queue *queue, uint32_t buffer, uint16_t burst_size,
                         uint16_t burst_interval_ms, uint16_t *seq);
/* The list is copied. count >= 1, at most nb_control_queue_resend_room(). */
bool nb_control_queue_resend(struct nb_control_queue *queue, uint32_t buffer, const uint16_t *packets, uint16_t count,
                             uint16_t *seq);
/* Entries that a new RESEND may hold: what is left of the packet, or 0 when that is little. A RESEND that waited in the
 * queue for room would name packets that arrive meanwhile (RESEND-01, AMB-33). */
uint16_t nb_control_queue_resend_room(const struct nb_control_queue *queue);

bool nb_control_queue_is_empty(const struct nb_control_queue *queue);
/* Whether the next packet would hold a message that was never sent. */
bool nb_control_queue_has_news(const struct nb_control_queue *queue);

/* Writes the messages of one CONTROL packet to `body` and returns their bytes. `capacity` is the body's. */
size_t nb_control_queue_write(struct nb_control_queue *queue, uint8_t *body, size_t capacity, uint16_t control_timer_ms,
                              netblt_time now);

/* Whether `ack` is the highest one so far or a higher one, and acknowledges nothing that was never sent. */
bool nb_control_queue_ack_is_current(const struct nb_control_queue *queue, uint16_t ack);

/* Whether `ack` acknowledges something, and nothing that was never sent. */
bool nb_control_queue_ack_is_news(const struct nb_control_queue *queue, uint16_t ack);
/* The oldest message if `ack` covers it, else NULL. Look at it, then nb_control_queue_pop(). */
const struct nb_control_message *nb_control_queue_acked(const struct nb_control_queue *queue, uint16_t ack);
void nb_control_queue_pop(struct nb_control_queue *queue);

#endif
