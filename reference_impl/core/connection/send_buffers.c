/* SPDX-License-Identifier: BSD-2-Clause */
/* The data sender's ring of buffers. */
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
        nb_release(connection->allocator, front->retransmit);
        nb_challenge_free(front->challenge);
        nb_ring_pop_front(&sender->buffers);
        sender->first++;
        if (sender->work_from < sender->first)
            sender->work_from = sender->first;
    }
}

bool nb_send_buffer_has_work(const struct nb_send_buffer *buffer)
{
    return !buffer->sent && (buffer->retransmit_count > 0 || buffer->next_new < buffer->packets);
}

void nb_send_buffer_skip_omitted(struct nb_send_buffer *buffer)
{
    while (buffer->challenge != NULL && buffer->next_new < buffer->packets &&
           nb_challenge_omits(buffer->challenge, buffer->next_new))
        buffer->next_new++;
}

void nb_send_buffer_queue_retransmission(struct nb_send_buffer *buffer, uint32_t packet)
{
    if (packet >= buffer->next_new || nb_bitmap_test(buffer->retransmit, packet))
        return;
    nb_bitmap_set(buffer->retransmit, packet);
    if (buffer->retransmit_count == 0 || packet < buffer->retransmit_from)
        buffer->retransmit_from = packet;
    buffer->retransmit_count++;
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

/* What was passed over already waits for its RESEND: after its LDATA nothing is sent for the first time (ORDER-03). */
void nb_sender_end_challenges(netblt_connection *connection)
{
    struct nb_sender *sender = &connection->sender;
    for (size_t i = 0; i < sender->buffers.count; i++) {
        struct nb_send_buffer *buffer = nb_ring_at(&sender->buffers, i);
        if (buffer->challenge == NULL || buffer->sent)
            continue;
        for (uint32_t packet = buffer->next_new; packet < buffer->packets; packet++)
            nb_challenge_sent(buffer->challenge, packet); /* it leaves in its turn */
    }
}

bool nb_sender_at_boundary(const netblt_connection *connection)
{
    const struct nb_sender *sender = &connection->sender;
    for (size_t i = 0; i < sender->buffers.count; i++) {
        const struct nb_send_buffer *buffer = nb_ring_at(&sender->buffers, i);
        bool omits = buffer->challenge != NULL && buffer->challenge->unsent > 0;
        bool whole = buffer->next_new == buffer->packets && !omits;
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
        nb_release(connection->allocator, front->retransmit);
        nb_challenge_free(front->challenge);
        nb_ring_pop_front(&sender->buffers);
    }
    nb_ring_free(&sender->buffers);
}
