/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OPEN and RESPONSE: the terms of the connection. */
#include "connection/take.h"

static uint32_t text_hash(const struct nb_packet *packet)
{
    const int from = packet->layout->client_string;
    const int bytes = MIN(packet->end, packet->captured) - from;
    uint32_t hash = 2166136261U;

    for (int i = 0; i < bytes; i++) {
        const uint8_t c = tvb_get_uint8(packet->tvb, from + i);
        if (c == 0) {
            break; /* AMB-03: an empty string may be absent */
        }
        hash = (hash ^ c) * 16777619U;
    }
    return hash;
}

static struct nb_terms terms_of(const struct nb_event *event)
{
    const struct nb_packet *packet = event->packet;

    return (struct nb_terms){.frame = event->frame,
                             .buffer_size = packet->buffer_size,
                             .transfer_size = packet->transfer_size,
                             .data_packet_size = packet->data_packet_size,
                             .burst_size = packet->burst_size,
                             .burst_interval = packet->burst_interval,
                             .death_timer = packet->death_timer,
                             .flags = packet->open_flags,
                             .max_buffers = packet->max_buffers,
                             .text_hash = text_hash(packet)};
}

static void keep_client_string(struct nb_stream *stream, const struct nb_packet *packet)
{
    const int from = packet->layout->client_string;
    const int bytes = MIN(packet->end, packet->captured) - from;

    if (stream->client_string == NULL && bytes > 0) {
        stream->client_string =
            (char *)tvb_get_string_enc(wmem_file_scope(), packet->tvb, from, bytes, ENC_UTF_8 | ENC_NA);
        nb_memory_take(strlen(stream->client_string) + 1);
    }
}

static void take_open(const struct nb_event *event, const struct nb_terms *terms)
{
    struct nb_stream *stream = event->stream;

    if (stream->active < 0) {
        stream->active = (int8_t)event->end;
    }
    if (stream->open.frame == 0) {
        stream->open = *terms;
    }
    stream->end[event->end].opened = true;
    keep_client_string(stream, event->packet);
}

static void take_response(const struct nb_event *event, const struct nb_terms *terms)
{
    struct nb_stream *stream = event->stream;

    if (stream->response.frame == 0 || (stream->responder == stream->active && stream->active != event->end)) {
        stream->response = *terms;
        stream->responder = (int8_t)event->end;
    }
}

void nb_take_opening(struct nb_event *event)
{
    static struct nb_opened opened;

    opened = (struct nb_opened){.now = terms_of(event), .before = *nb_terms_by(event->stream, event->end)};
    event->opened = &opened;
    if (event->packet->type == NB_OPEN) {
        take_open(event, &opened.now);
    } else {
        take_response(event, &opened.now);
    }
}
