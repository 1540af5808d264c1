/* SPDX-License-Identifier: BSD-2-Clause */
#include "connection/send_buffers.h"

#include "base/bitmap.h"

struct nb_send_buffer *nb_sender_buffer(const netblt_connection *connection, uint64_t index)
{
    const struct nb_sender *sender = &connection->sender;
    if (index < sender->first || index - sender->first >= sender->buffers.count)
        return NULL;
    return nb_ring_at(&sender->buffers, (size_t)(index - sender->first));
}

void nb_sender_pop_sent(netblt_connection *connection)
{
    struct nb_sender *sender = &connection->sender;
    while (sender->buffers.count > 0) {
        struct nb_send_buffer *front = nb_ring_at(&sender->buffers, 0);
        if (!front->sent)
            return;
        nb_release(connection->allocator, front->repairs);
        nb_withheld_free(front->withheld);
        nb_ring_pop_front(&sender->buffers);
        sender->first++;
        if (sender->work_from < sender->first)
            sender->work_from = sender->first;
    }
}

bool nb_send_buffer_has_work(const struct nb_send_buffer *buffer)
{
    return !buffer->sent && (buffer->repairs_queued > 0 || buffer->next_new < buffer->packets);
}

void nb_send_buffer_skip_withheld(struct nb_send_buffer *buffer)
{
    while (buffer->withheld != NULL && buffer->next_new < buffer->packets &&
           nb_withheld_has(buffer->withheld, buffer->next_new))
        buffer->next_new++;
}

void nb_send_buffer_queue_repair(struct nb_send_buffer *buffer, uint32_t packet)
{
    if (packet >= buffer->next_new || nb_bitmap_test(buffer->repairs, packet))
        return;
    nb_bitmap_set(buffer->repairs, packet);
    if (buffer->repairs_queued == 0 || packet < buffer->repairs_from)
        buffer->repairs_from = packet;
    buffer->repairs_queued++;
}

void nb_sender_release(netblt_connection *connection, uint64_t index, const uint8_t *data)
{
    if (connection->client->release != NULL)
        connection->client->release(connection->context, connection, index, data);
}

void nb_sender_release_all(netblt_connection *connection)
{
    struct nb_sender *sender = &connection->sender;
    for (size_t i = 0; i < sender->buffers.count; i++) {
        struct nb_send_buffer *buffer = nb_ring_at(&sender->buffers, i);
        if (buffer->sent)
            continue;
        buffer->sent = true;
        sender->outstanding--;
        nb_sender_release(connection, sender->first + i, buffer->data);
    }
}

/* What was passed over already waits for its RESEND: behind its LDATA nothing is sent for the first time (ORDER-03). */
void nb_sender_release_withheld(netblt_connection *connection)
{
    struct nb_sender *sender = &connection->sender;
    for (size_t i = 0; i < sender->buffers.count; i++) {
        struct nb_send_buffer *buffer = nb_ring_at(&sender->buffers, i);
        if (buffer->withheld == NULL || buffer->sent)
            continue;
        for (uint32_t packet = buffer->next_new; packet < buffer->packets; packet++)
            nb_withheld_sent(buffer->withheld, packet); /* it leaves in its turn */
    }
}

bool nb_sender_at_boundary(const netblt_connection *connection)
{
    const struct nb_sender *sender = &connection->sender;
    for (size_t i = 0; i < sender->buffers.count; i++) {
        const struct nb_send_buffer *buffer = nb_ring_at(&sender->buffers, i);
        bool whole = buffer->next_new == buffer->packets && (buffer->withheld == NULL || buffer->withheld->unsent == 0);
        if (!buffer->sent && buffer->next_new > 0 && !whole)
            return false;
    }
    return true;
}

void nb_sender_free(netblt_connection *connection)
{
    struct nb_sender *sender = &connection->sender;
    while (sender->buffers.count > 0) {
        struct nb_send_buffer *front = nb_ring_at(&sender->buffers, 0);
        nb_release(connection->allocator, front->repairs);
        nb_withheld_free(front->withheld);
        nb_ring_pop_front(&sender->buffers);
    }
    nb_ring_free(&sender->buffers);
}
