/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data packet sizes that are in force in a connection. */
#include "rules/sizes.h"

enum { SIZES_KEPT = 8 };

struct sizes {
    uint8_t renegotiates; /* ends that set R, a bit for each */
    uint8_t count;        /* sizes that OKs offered, other than that of the RESPONSE */
    bool unknown;         /* there were more of them */
    uint16_t size[SIZES_KEPT];
};

static size_t place;

void nb_sizes_register(void)
{
    place = nb_stream_reserve(sizeof(struct sizes));
}

static struct sizes *sizes_of(const struct nb_stream *stream)
{
    return (struct sizes *)nb_stream_reserved(stream, place);
}

void nb_sizes_flags(const struct nb_event *event)
{
    if (event->packet->open_flags & NB_ETFTP_RENEGOTIATE) {
        sizes_of(event->stream)->renegotiates |= (uint8_t)(1U << event->end);
    }
}

bool nb_sizes_are_open(const struct nb_stream *stream)
{
    enum { BOTH = 3 };

    return stream->dialect == NB_ETFTP && sizes_of(stream)->renegotiates == BOTH;
}

void nb_sizes_offer(const struct nb_event *event, uint16_t size)
{
    struct sizes *sizes = sizes_of(event->stream);

    if (size == 0 || size == event->stream->data_packet_size || !nb_sizes_are_open(event->stream)) {
        return;
    }
    for (unsigned i = 0; i < sizes->count; i++) {
        if (sizes->size[i] == size) {
            return;
        }
    }
    if (sizes->count == SIZES_KEPT) {
        sizes->unknown = true;
    } else {
        sizes->size[sizes->count++] = size;
    }
}

/* Sizes may be in force of which nothing is known. */
static bool may_be_unknown(const struct nb_stream *stream)
{
    return sizes_of(stream)->unknown ||
           (nb_sizes_are_open(stream) && (stream->doubts & (NB_DOUBT_UNSEEN_ACKED | NB_DOUBT_CUT)) != 0);
}

bool nb_sizes_vary(const struct nb_stream *stream)
{
    return sizes_of(stream)->count > 0 || may_be_unknown(stream);
}

int nb_sizes_in_force(const struct nb_stream *stream, int agreed, int length, bool ldata)
{
    const struct sizes *sizes = sizes_of(stream);
    int found = agreed;

    if (length == agreed || (length < agreed && ldata)) {
        return agreed;
    }
    for (unsigned i = 0; i < sizes->count; i++) {
        if (length == sizes->size[i]) {
            return length;
        }
        found = ldata ? MAX(found, sizes->size[i]) : found;
    }
    return may_be_unknown(stream) ? length : found;
}

uint32_t nb_sizes_full_count(const struct nb_stream *stream)
{
    const struct nb_terms *terms = nb_terms_of(stream);

    if (terms == NULL || terms->data_packet_size == 0 || nb_sizes_vary(stream)) {
        return 0;
    }
    return terms->buffer_size / terms->data_packet_size + (terms->buffer_size % terms->data_packet_size != 0);
}
