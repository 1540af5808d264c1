/* SPDX-License-Identifier: BSD-2-Clause */
/* The data receiver's ring of buffers. */
#include "connection/receive_buffers.h"

#include "base/allocator.h"
#include "connection/observe.h"

struct nb_receive_buffer *nb_receiver_buffer(const struct nb_receiver *receiver, size_t i)
{
    return nb_ring_at(&receiver->buffers, i);
}

void nb_receiver_discard(netblt_connection *connection, uint64_t index, uint8_t *memory)
{
    if (connection->client->discard != NULL)
        connection->client->discard(connection->context, connection, index, memory);
}

void nb_receiver_discard_buffer(netblt_connection *connection, uint64_t index, struct nb_receive_buffer *buffer)
{
    uint8_t *memory = buffer->memory;
    buffer->memory = NULL;
    if (memory != NULL)
        nb_receiver_discard(connection, index, memory);
}

void nb_receiver_discard_all(netblt_connection *connection)
{
    struct nb_receiver *receiver = &connection->receiver;
    for (size_t i = 0; i < receiver->buffers.count; i++)
        nb_receiver_discard_buffer(connection, receiver->first + i, nb_receiver_buffer(receiver, i));
}

void nb_receiver_stop_timers(netblt_connection *connection)
{
    struct nb_receiver *receiver = &connection->receiver;
    nb_set_timer(connection, NETBLT_TIMER_CONTROL, NB_NO_BUFFER, &receiver->control_at, NETBLT_TIME_NEVER);
    for (size_t i = 0; i < receiver->buffers.count; i++)
        nb_set_timer(connection, NETBLT_TIMER_DATA, receiver->first + i, &nb_receiver_buffer(receiver, i)->timer_at,
                     NETBLT_TIME_NEVER);
    receiver->data_timer_from = NETBLT_TIME_NEVER;
}

bool nb_receiver_at_boundary(const netblt_connection *connection)
{
    const struct nb_receiver *receiver = &connection->receiver;
    for (size_t i = 0; i < receiver->buffers.count; i++) {
        const struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, i);
        if (buffer->state != NB_RECEIVED && buffer->received > 0 && buffer->packets == 0)
            return false;
    }
    return true;
}

void nb_receiver_free(netblt_connection *connection)
{
    struct nb_receiver *receiver = &connection->receiver;
    for (size_t i = 0; i < receiver->buffers.count; i++)
        nb_release(connection->allocator, nb_receiver_buffer(receiver, i)->got);
    nb_ring_free(&receiver->buffers);
    nb_control_queue_free(&receiver->queue);
}
