/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fetch.h"

#include "analysis.h"
#include "conversation.h"

static const struct nb_stream *turn; /* only compared, never looked at */

void nb_fetch_turn(const struct nb_stream *stream)
{
    turn = stream;
}

bool nb_fetch_for(const struct nb_stream *stream, const struct nb_packet *packet)
{
    const bool data = nb_is_data(packet->type);
    const int64_t seq = data ? stream->acked : stream->newest;

    if (stream != turn) {
        return false;
    }
    turn = NULL;
    const struct nb_buffer *buffer = data ? nb_buffer_find(&stream->facts->buffers, packet->buffer) : NULL;

    nb_fetch(buffer, sizeof(*buffer));
    if (data) {
        const struct nb_buffer_life *life = nb_buffer_life_place(stream->conversation, packet->buffer);
        nb_fetch(life, sizeof(*life));
    } else {
        nb_buffers_fetch(&stream->facts->buffers);
    }
    nb_redundancy_fetch(stream->redundancy);
    nb_emission_fetch(&stream->flow[0]);
    nb_emission_fetch(&stream->flow[1]);
    nb_told_fetch(&stream->facts->told, seq);
    nb_conversation_fetch(stream->conversation, seq);
    return true;
}

void nb_fetch_more_for(const struct nb_stream *stream, const struct nb_packet *packet)
{
    if (!nb_is_data(packet->type)) {
        return;
    }
    const struct nb_buffer *buffer = nb_buffer_find(&stream->facts->buffers, packet->buffer);
    const struct nb_buffer_life *life = nb_buffer_life_place(stream->conversation, packet->buffer);

    nb_fetch(buffer == NULL ? NULL : nb_buffer_known_part(buffer, packet->packet), sizeof(struct nb_part));
    if (life != NULL && packet->packet >= life->base && (uint32_t)(packet->packet - life->base) < life->room) {
        nb_fetch(&life->first_sent[packet->packet - life->base], sizeof(uint32_t));
    }
}
