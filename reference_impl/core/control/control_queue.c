/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue of control messages and the content of CONTROL packets (RFC 998 5.2.1). */
#include "control/control_queue.h"

#include "base/allocator.h"
#include "base/serial.h"

#include <assert.h>
#include <string.h>

/* With less room than this many entries a RESEND waits for a later packet. */
#define RESEND_WORTHWHILE_ENTRIES 16

void nb_control_queue_init(struct nb_control_queue *queue, size_t limit_bytes, const netblt_allocator *allocator)
{
    *queue = (struct nb_control_queue){.next_seq = 1, .limit_bytes = limit_bytes};
    nb_ring_init(&queue->messages, sizeof(struct nb_control_message), allocator);
}

void nb_control_queue_free(struct nb_control_queue *queue)
{
    while (queue->messages.count > 0)
        nb_control_queue_pop(queue);
    nb_ring_free(&queue->messages);
}

static struct nb_control_message *message_at(const struct nb_control_queue *queue, size_t i)
{
    return nb_ring_at(&queue->messages, i);
}

static size_t message_bytes(const struct nb_control_message *message)
{
    switch ((enum nb_message_type)message->type) {
    case NB_GO:
        return NB_GO_BYTES;
    case NB_OK:
        return NB_OK_BYTES;
    case NB_RESEND:
        return nb_resend_bytes(message->count);
    }
    return 0;
}

/* CTRL-01: the one place that hands out sequence numbers. */
static struct nb_control_message *add(struct nb_control_queue *queue, enum nb_message_type type, uint32_t buffer)
{
    assert(queue->messages.count < NB_CONTROL_QUEUE_MAX_MESSAGES);
    struct nb_control_message *message = nb_ring_push(&queue->messages);
    if (message == NULL)
        return NULL;
    message->type = (uint8_t)type;
    message->seq = queue->next_seq++;
    message->buffer = buffer;
    return message;
}

bool nb_control_queue_go(struct nb_control_queue *queue, uint32_t buffer, uint16_t *seq)
{
    struct nb_control_message *message = add(queue, NB_GO, buffer);
    if (message == NULL)
        return false;
    queue->bytes += message_bytes(message);
    *seq = message->seq;
    return true;
}

bool nb_control_queue_ok(struct nb_control_queue *queue, uint32_t buffer, uint16_t burst_size,
                         uint16_t burst_interval_ms, uint16_t *seq)
{
    struct nb_control_message *message = add(queue, NB_OK, buffer);
    if (message == NULL)
        return false;
    message->burst_size = burst_size;
    message->burst_interval_ms = burst_interval_ms;
    queue->bytes += message_bytes(message);
    *seq = message->seq;
    return true;
}

bool nb_control_queue_resend(struct nb_control_queue *queue, uint32_t buffer, const uint16_t *packets, uint16_t count,
                             uint16_t *seq)
{
    assert(count > 0);
    uint16_t *list = nb_allocate(queue->messages.allocator, count * sizeof *list);
    if (list == NULL)
        return false;
    memcpy(list, packets, count * sizeof *list);
    struct nb_control_message *message = add(queue, NB_RESEND, buffer);
    if (message == NULL) {
        nb_release(queue->messages.allocator, list);
        return false;
    }
    message->count = count;
    message->packets = list;
    queue->bytes += message_bytes(message);
    *seq = message->seq;
    return true;
}

static size_t entries_in(size_t bytes)
{
    return bytes < NB_RESEND_BYTES ? 0 : (bytes - NB_RESEND_BYTES) / 4 * 2;
}

uint16_t nb_control_queue_resend_room(const struct nb_control_queue *queue)
{
    size_t body = queue->limit_bytes - NETBLT_HEADER_BYTES;
    size_t entries = queue->bytes < body ? entries_in(body - queue->bytes) : 0;
    if (entries < RESEND_WORTHWHILE_ENTRIES && queue->messages.count > 0)
        return 0;
    return entries > UINT16_MAX ? UINT16_MAX : (uint16_t)entries;
}

bool nb_control_queue_is_empty(const struct nb_control_queue *queue)
{
    return queue->messages.count == 0;
}

/* AMB-33: how many messages, from the lowest un-acked on, go into `room` bytes. */
static size_t prefix(const struct nb_control_queue *queue, size_t room)
{
    size_t count = 0;
    while (count < queue->messages.count) {
        size_t bytes = message_bytes(message_at(queue, count));
        if (bytes > room)
            break;
        room -= bytes;
        count++;
    }
    return count;
}

bool nb_control_queue_has_news(const struct nb_control_queue *queue)
{
    if (queue->sent == queue->messages.count)
        return false;
    return prefix(queue, queue->limit_bytes - NETBLT_HEADER_BYTES) > queue->sent;
}

static size_t write_message(uint8_t *out, const struct nb_control_message *message, uint16_t control_timer_ms)
{
    switch ((enum nb_message_type)message->type) {
    case NB_GO:
        return nb_write_go(out, message->seq, message->buffer);
    case NB_OK:
        return nb_write_ok(out, message->seq, message->buffer, message->burst_size, message->burst_interval_ms,
                           control_timer_ms);
    case NB_RESEND:
        return nb_write_resend(out, message->seq, message->buffer, message->packets, message->count);
    }
    return 0;
}

size_t nb_control_queue_write(struct nb_control_queue *queue, uint8_t *body, size_t capacity, uint16_t control_timer_ms,
                              netblt_time now)
{
    size_t limit = queue->limit_bytes - NETBLT_HEADER_BYTES;
    size_t count = prefix(queue, capacity < limit ? capacity : limit);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += write_message(body + bytes, message_at(queue, i), control_timer_ms);
    if (count > 0) {
        struct nb_control_message *highest = message_at(queue, count - 1);
        if (highest->times_highest == 0)
            highest->first_highest_at = now;
        highest->highest_at = now;
        if (highest->times_highest < 2)
            highest->times_highest++;
    }
    if (queue->sent < count)
        queue->sent = count;
    return bytes;
}

bool nb_control_queue_ack_is_current(const struct nb_control_queue *queue, uint16_t ack)
{
    return ack == queue->acked || nb_control_queue_ack_is_news(queue, ack);
}

bool nb_control_queue_ack_is_news(const struct nb_control_queue *queue, uint16_t ack)
{
    return nb_seq_after(ack, queue->acked) && (uint16_t)(ack - queue->acked) <= queue->sent;
}

const struct nb_control_message *nb_control_queue_acked(const struct nb_control_queue *queue, uint16_t ack)
{
    if (queue->messages.count == 0 || nb_seq_after(message_at(queue, 0)->seq, ack))
        return NULL;
    return message_at(queue, 0);
}

void nb_control_queue_pop(struct nb_control_queue *queue)
{
    struct nb_control_message *message = message_at(queue, 0);
    queue->acked = message->seq;
    queue->bytes -= message_bytes(message);
    if (queue->sent > 0)
        queue->sent--;
    nb_release(queue->messages.allocator, message->packets);
    nb_ring_pop_front(&queue->messages);
}
