/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reassembles the data of a transfer from its packets. */
#include "reports/assembly.h"

#include "connection/event.h"
#include "connection/take.h"
#include "decode/content.h"

struct piece {
    uint32_t frame;
    uint32_t bytes;
    uint8_t data[];
};

struct buffer {
    uint32_t number;
    wmem_tree_t *pieces; /* by packet number */
    unsigned count;
    uint32_t bytes;
};

struct transfer {
    wmem_tree_t *buffers; /* by number; those not handed out yet */
    bool started;
    int64_t next;  /* nb_buffer_order */
    bool from_one; /* packets are numbered from 1 */
    bool gap;      /* the capture lacks the buffer before `next` */
    bool by_go;    /* valid: */
    int64_t go;    /* the message that named the buffer that was handed out last, or a later one without news */
};

void nb_assembler_free(struct nb_assembler *assembler)
{
    if (assembler->pool != NULL) {
        wmem_destroy_allocator(assembler->pool);
    }
    memset(assembler, 0, sizeof(*assembler));
}

static struct transfer *transfer_of(struct nb_assembler *assembler, const struct nb_stream *stream)
{
    struct transfer *transfer = (struct transfer *)wmem_map_lookup(assembler->transfers, stream);

    if (transfer == NULL) {
        transfer = wmem_new0(assembler->pool, struct transfer);
        transfer->buffers = wmem_tree_new(assembler->pool);
        wmem_map_insert(assembler->transfers, stream, transfer);
    }
    return transfer;
}

static struct buffer *buffer_of(struct nb_assembler *assembler, struct transfer *transfer, uint32_t number)
{
    struct buffer *buffer = (struct buffer *)wmem_tree_lookup32(transfer->buffers, number);

    if (buffer == NULL) {
        buffer = wmem_new0(assembler->pool, struct buffer);
        buffer->number = number;
        buffer->pieces = wmem_tree_new(assembler->pool);
        wmem_tree_insert32(transfer->buffers, number, buffer);
    }
    return buffer;
}

/* RFC 998 leaves open whether packets count from 0 or 1: a full buffer shows it. */
static void learn_numbering(struct transfer *transfer, const struct nb_stream *stream, const struct nb_packet *packet)
{
    const struct nb_terms *terms = &stream->response;

    if (packet->packet == 0) {
        transfer->from_one = false;
    } else if (packet->type == NB_LDATA && terms->data_packet_size != 0) {
        const uint32_t full =
            terms->buffer_size / terms->data_packet_size + (terms->buffer_size % terms->data_packet_size != 0);
        transfer->from_one = transfer->from_one || packet->packet == full;
    }
}

static void take_data(struct nb_assembler *assembler, struct transfer *transfer, const struct nb_packet *packet,
                      const struct nb_record *record)
{
    const int from = packet->layout->data;
    const uint32_t bytes = (uint32_t)(packet->end - from);

    const struct nb_buffers *buffers = &nb_stream_of_record(record)->buffers;
    if (transfer->started && nb_buffer_order(buffers, packet->buffer) < transfer->next) {
        return; /* handed out already */
    }
    struct buffer *buffer = buffer_of(assembler, transfer, packet->buffer);
    learn_numbering(transfer, nb_stream_of_record(record), packet);
    if (wmem_tree_lookup32(buffer->pieces, packet->packet) != NULL) {
        return;
    }
    struct piece *piece = (struct piece *)wmem_alloc(assembler->pool, sizeof(struct piece) + bytes);
    piece->frame = record->frame;
    piece->bytes = bytes;
    tvb_memcpy(packet->tvb, piece->data, from, bytes);
    wmem_tree_insert32(buffer->pieces, packet->packet, piece);
    buffer->count++;
    buffer->bytes += bytes;
}

/* `buffers`: of the model. */
static bool is_complete(const struct nb_buffers *buffers, const struct transfer *transfer, const struct buffer *buffer)
{
    const struct nb_buffer_life *life = nb_buffer_life_find(buffers, buffer->number);

    return life != NULL && life->ldata != 0 && buffer->count >= life->ldata_number + (transfer->from_one ? 0U : 1U);
}

static nb_walk_result add_piece(const void *key _U_, void *value, void *user)
{
    const struct piece *piece = (const struct piece *)value;
    struct nb_whole *whole = (struct nb_whole *)user;

    memcpy(whole->data + whole->bytes, piece->data, piece->bytes);
    whole->bytes += piece->bytes;
    whole->frames[whole->packets++] = piece->frame;
    return FALSE;
}

static nb_walk_result free_piece(const void *key _U_, void *value, void *pool)
{
    wmem_free((wmem_allocator_t *)pool, value);
    return FALSE;
}

static struct nb_whole *hand_out(struct nb_assembler *assembler, const struct nb_stream *stream,
                                 struct transfer *transfer, wmem_allocator_t *scope, struct buffer *buffer)
{
    const struct nb_buffers *buffers = &stream->buffers;
    const struct nb_messages *messages = &stream->messages;
    const struct nb_buffer_life *life = nb_buffer_life_find(buffers, buffer->number);
    struct nb_whole *whole = wmem_new0(scope, struct nb_whole);

    whole->buffer = buffer->number;
    whole->last = life != NULL && life->last;
    whole->incomplete = transfer->gap || !is_complete(buffers, transfer, buffer);
    transfer->gap = false;
    whole->data = (uint8_t *)wmem_alloc(scope, buffer->bytes + 1);
    whole->frames = (uint32_t *)wmem_alloc(scope, buffer->count * sizeof(uint32_t));
    wmem_tree_foreach(buffer->pieces, add_piece, whole);
    wmem_tree_foreach(buffer->pieces, free_piece, assembler->pool);
    wmem_tree_remove32(transfer->buffers, buffer->number);
    wmem_free(assembler->pool, buffer);
    transfer->next = nb_buffer_order(buffers, whole->buffer) + 1;
    transfer->by_go = life != NULL && life->go_message != 0;
    transfer->go = transfer->by_go ? messages->base + life->go_message - 1 : 0;
    return whole;
}

struct search {
    const struct nb_buffers *buffers; /* of the model */
    struct buffer *found;
};

static nb_walk_result find_lowest(const void *key _U_, void *value, void *user)
{
    struct buffer *buffer = (struct buffer *)value; /* NULL: a removed buffer leaves an empty node */
    struct search *search = (struct search *)user;

    if (buffer != NULL &&
        (search->found == NULL || nb_buffer_is_after(search->buffers, search->found->number, buffer->number))) {
        search->found = buffer;
    }
    return FALSE;
}

static struct buffer *lowest(const struct transfer *transfer, const struct nb_buffers *buffers)
{
    struct search search = {.buffers = buffers};

    wmem_tree_foreach(transfer->buffers, find_lowest, &search);
    return search.found;
}

/* The first buffer is the one that the first GO named; without a GO, the lowest that data came for. */
static bool find_start(struct transfer *transfer, const struct nb_buffers *buffers)
{
    const struct buffer *first = lowest(transfer, buffers);

    if (first == NULL) {
        return false;
    }
    transfer->next = nb_buffer_order(buffers, first->number);
    if (buffers->first_go_known) {
        transfer->next = MIN(transfer->next, nb_buffer_order(buffers, buffers->first_go));
    }
    transfer->started = true;
    return true;
}

/* Over: whatever is still missing will not come. */
static bool is_over(const struct nb_packet *packet)
{
    return packet->type == NB_DONE || packet->type == NB_ABORT || packet->type == NB_QUITACK;
}

static bool is_ok(const struct nb_buffers *buffers, uint32_t number, uint32_t frame)
{
    const struct nb_buffer_life *life = nb_buffer_life_find(buffers, number);

    return life != NULL && life->ok != 0 && nb_frame_of(life->ok) <= frame;
}

/* Numbers increase, by whatever step (RFC 998 8). Where all messages since the GO of the buffer before were captured,
 * the next GO names the next buffer, and no buffer has a number between. */
static void step_by_go(const struct nb_stream *stream, struct transfer *transfer)
{
    const struct nb_message_life *message;

    if (!transfer->by_go || nb_buffer_life_find(&stream->buffers, (uint32_t)transfer->next) != NULL) {
        return;
    }
    while ((message = nb_message_find_any(&stream->messages, transfer->go + 1)) != NULL) {
        const int64_t order = nb_buffer_order(&stream->buffers, message->buffer);
        if (message->type == NB_GO && order >= transfer->next) {
            transfer->next = order;
            return;
        }
        transfer->go++;
    }
}

/* Buffers in order while they are complete. One that is not holds up the others until its OK shows that only the
 * capture missed its packets. */
static struct nb_whole *take_turns(struct nb_assembler *assembler, struct transfer *transfer, wmem_allocator_t *scope,
                                   const struct nb_record *record, bool over)
{
    const struct nb_stream *stream = nb_stream_of_record(record);
    const struct nb_buffers *buffers = &stream->buffers;
    struct nb_whole *first = NULL, **last = &first;

    while (transfer->started || find_start(transfer, buffers)) {
        step_by_go(stream, transfer);
        struct buffer *buffer = (struct buffer *)wmem_tree_lookup32(transfer->buffers, (uint32_t)transfer->next);
        const bool missed = over || is_ok(buffers, (uint32_t)transfer->next, record->frame);
        const bool skipped = buffer == NULL && missed;

        if (skipped) { /* the capture holds nothing of it */
            buffer = lowest(transfer, buffers);
            if (buffer == NULL) {
                break;
            }
            transfer->next = nb_buffer_order(buffers, buffer->number);
            transfer->gap = true;
            transfer->by_go = false;
            continue;
        }
        if (buffer == NULL || !(missed || is_complete(buffers, transfer, buffer))) {
            break;
        }
        *last = hand_out(assembler, stream, transfer, scope, buffer);
        last = &(*last)->next;
    }
    return first;
}

struct nb_whole *nb_assemble(struct nb_assembler *assembler, wmem_allocator_t *scope, const struct nb_packet *packet,
                             const struct nb_record *record)
{
    if (record == NULL || !nb_stream_of_record(record)->conversation.begun || packet->status != NB_SOUND ||
        packet->header_checksum == NB_BAD) {
        return NULL;
    }
    const uint64_t at = (uint64_t)record->frame << 32 | record->key;
    if (assembler->pool != NULL && at <= assembler->newest) {
        nb_assembler_free(assembler);
    }
    if (assembler->pool == NULL) {
        assembler->pool = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
        assembler->transfers = wmem_map_new(assembler->pool, g_direct_hash, g_direct_equal);
    }
    assembler->newest = at;
    struct transfer *transfer = transfer_of(assembler, nb_stream_of_record(record));
    if (nb_is_data(packet->type)) {
        if (packet->captured < packet->end || packet->fragment || record->end != record->sender ||
            (record->data_checksummed && !nb_data_checksum_fits(packet))) {
            return NULL;
        }
        take_data(assembler, transfer, packet, record);
    } else if (packet->type != NB_CONTROL && !is_over(packet)) {
        return NULL;
    }
    return take_turns(assembler, transfer, scope, record, is_over(packet));
}
