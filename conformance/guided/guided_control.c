/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control queue of the reference core, and the numbers that its sender has received, driven from outside. */
#include "guided.h"

#include "base/allocator.h"
#include "base/serial.h"
#include "control/control_queue.h"
#include "control/sequence.h"

#include <stdlib.h>

struct guided_queue {
    struct nb_control_queue queue;
};

struct guided_sequence {
    struct nb_sequence sequence;
};

guided_queue *guided_queue_new(void)
{
    guided_queue *queue = calloc(1, sizeof *queue);
    if (queue != NULL)
        nb_control_queue_init(&queue->queue, NETBLT_PACKET_MAX_BYTES, &nb_allocator_default);
    return queue;
}

void guided_queue_free(guided_queue *queue)
{
    if (queue == NULL)
        return;
    nb_control_queue_free(&queue->queue);
    free(queue);
}

uint16_t guided_queue_next(const guided_queue *queue)
{
    return queue->queue.next_seq;
}

uint16_t guided_queue_first(const guided_queue *queue)
{
    return (uint16_t)(queue->queue.next_seq - queue->queue.messages.count);
}

bool guided_queue_add(guided_queue *queue, const guided_message *message, const uint16_t *packets)
{
    uint16_t seq;
    if (queue->queue.messages.count >= NB_CONTROL_QUEUE_MAX_MESSAGES)
        return false;
    switch ((enum nb_message_type)message->type) {
    case NB_GO:
        return nb_control_queue_go(&queue->queue, message->buffer, &seq);
    case NB_OK:
        return nb_control_queue_ok(&queue->queue, message->buffer, message->burst_size, message->burst_interval_ms,
                                   &seq);
    case NB_RESEND:
        return message->count > 0 &&
               nb_control_queue_resend(&queue->queue, message->buffer, packets, message->count, &seq);
    }
    return false;
}

void guided_queue_restart(guided_queue *queue, uint16_t next)
{
    nb_control_queue_free(&queue->queue);
    nb_control_queue_init(&queue->queue, NETBLT_PACKET_MAX_BYTES, &nb_allocator_default);
    queue->queue.next_seq = next;
    queue->queue.acked = (uint16_t)(next - 1);
}

void guided_queue_ack(guided_queue *queue, uint16_t ack)
{
    while (nb_control_queue_acked(&queue->queue, ack) != NULL)
        nb_control_queue_pop(&queue->queue);
}

size_t guided_queue_write(guided_queue *queue, uint16_t control_timer_ms, uint8_t *out)
{
    return nb_control_queue_write(&queue->queue, out, NETBLT_PACKET_MAX_BYTES - NETBLT_HEADER_BYTES, control_timer_ms,
                                  0);
}

guided_sequence *guided_sequence_new(void)
{
    guided_sequence *sequence = calloc(1, sizeof *sequence);
    if (sequence != NULL)
        nb_sequence_init(&sequence->sequence);
    return sequence;
}

void guided_sequence_free(guided_sequence *sequence)
{
    free(sequence);
}

void guided_sequence_record(guided_sequence *sequence, uint16_t seq)
{
    if (nb_sequence_is_new(&sequence->sequence, seq))
        nb_sequence_record(&sequence->sequence, seq);
}

uint16_t guided_sequence_high(const guided_sequence *sequence)
{
    return sequence->sequence.high;
}
