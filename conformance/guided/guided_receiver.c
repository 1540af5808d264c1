/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data receiver of the reference core, whose client lends a buffer when the followed implementation sends GO. */
#include "guided.h"

#include "base/bitmap.h"
#include "base/bytes.h"
#include "connection/connection.h"
#include "connection/receive_buffers.h"
#include "wire/checksum.h"
#include "wire/wire.h"

#include <netblt/netblt.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_PORT = 1, PEER_PORT = 2, UNIQUE_ID = 1 };
#define VERSION 2

struct guided_receiver {
    netblt_endpoint *endpoint;
    netblt_connection *connection; /* NULL once it has closed */
    uint32_t buffers;              /* lent */
    bool *complete;                /* by buffer */
    bool lends;                    /* the client lends the next buffer that it has to supply */
    bool last_known;
    uint32_t last;
};

static const netblt_path path = {.local = {.length = 4, .bytes = {192, 0, 2, 1}},
                                 .foreign = {.length = 4, .bytes = {192, 0, 2, 2}}};

/* ---- the client ---------------------------------------------------------------------------------------------- */

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    guided_receiver *receiver = context;
    (void)connection;
    if (!receiver->lends || index != receiver->buffers)
        return NULL;
    bool *complete = realloc(receiver->complete, (receiver->buffers + 1) * sizeof *complete);
    if (complete == NULL)
        return NULL;
    receiver->complete = complete;
    complete[receiver->buffers++] = false;
    receiver->lends = false;
    return malloc(capacity);
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    guided_receiver *receiver = context;
    (void)connection;
    (void)length;
    (void)last;
    receiver->complete[index] = true;
    free(data);
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    (void)context;
    (void)connection;
    (void)index;
    free(data);
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)context;
    (void)connection;
    (void)outcome;
}

static void closed(void *context, netblt_connection *connection)
{
    guided_receiver *receiver = context;
    (void)connection;
    receiver->connection = NULL;
}

static const netblt_client client = {
    .size = sizeof(netblt_client),
    .get_receive_buffer = get_receive_buffer,
    .deliver = deliver,
    .discard = discard,
    .finished = finished,
    .closed = closed,
};

/* ---- opening ------------------------------------------------------------------------------------------------- */

/* As many buffers as the followed implementation asks for are outstanding: what it may ask for is not judged here. */
static netblt_params params_of(const guided_terms *terms)
{
    netblt_params params;
    netblt_params_default(&params);
    params.buffer_size = terms->buffer_size;
    params.packet_size = terms->packet_size;
    params.data_checksum = terms->data_checksum;
    params.max_buffers = UINT16_MAX;
    return params;
}

static bool respond(guided_receiver *receiver, const netblt_params *params, uint64_t now_us)
{
    uint8_t packet[NB_OPEN_MAX_BYTES];
    const struct nb_emitter emitter = {VERSION, PEER_PORT, OWN_PORT};
    const struct nb_open_fields fields = {
        .unique_id = UNIQUE_ID,
        .buffer_size = params->buffer_size,
        .packet_size = params->packet_size,
        .burst_size = params->burst_size,
        .burst_interval_ms = params->burst_interval_ms,
        .death_timer_s = params->death_timer_s,
        .data_checksum = params->data_checksum,
        .max_buffers = params->max_buffers,
    };
    size_t length = nb_write_open(packet, &emitter, NB_RESPONSE, &fields);
    netblt_input(receiver->endpoint, &path, packet, length, length, now_us);
    return receiver->connection != NULL && receiver->connection->state == NETBLT_STATE_OPEN;
}

guided_receiver *guided_receiver_new(const guided_terms *terms, uint64_t now_us)
{
    netblt_config config;
    netblt_config_default(&config);
    const netblt_params params = params_of(terms);
    guided_receiver *receiver = calloc(1, sizeof *receiver);
    if (receiver == NULL)
        return NULL;
    receiver->endpoint = netblt_endpoint_new(&config);
    const netblt_open_args args = {.size = sizeof args,
                                   .path = &path,
                                   .local_port = OWN_PORT,
                                   .foreign_port = PEER_PORT,
                                   .role = NETBLT_RECEIVER,
                                   .unique_id = UNIQUE_ID,
                                   .params = &params,
                                   .client = &client,
                                   .context = receiver,
                                   .options = {.any_order = true}};
    if (receiver->endpoint == NULL ||
        netblt_open(receiver->endpoint, &args, now_us, &receiver->connection) != NETBLT_OK ||
        !respond(receiver, &params, now_us)) {
        guided_receiver_free(receiver);
        return NULL;
    }
    return receiver;
}

void guided_receiver_free(guided_receiver *receiver)
{
    if (receiver == NULL)
        return;
    if (receiver->connection != NULL) /* gives the buffers back */
        netblt_abort(receiver->connection, "", 0);
    netblt_endpoint_free(receiver->endpoint);
    free(receiver->complete);
    free(receiver);
}

/* ---- the transfer -------------------------------------------------------------------------------------------- */

bool guided_receiver_go(guided_receiver *receiver, uint64_t now_us)
{
    uint32_t before = receiver->buffers;
    if (receiver->connection == NULL)
        return false;
    receiver->lends = true;
    netblt_resume(receiver->connection, now_us);
    receiver->lends = false;
    return receiver->buffers > before;
}

/* The packet as the peer of this connection would have sent it: its ports, the core's number of the buffer, no
 * acknowledgement. Checksums stay right where they were right, and wrong where they were wrong. */
void guided_receiver_data(guided_receiver *receiver, uint32_t buffer, const uint8_t *bytes, size_t size,
                          uint64_t now_us)
{
    uint8_t *packet = malloc(size);
    if (packet == NULL || size < NETBLT_DATA_HEADER_BYTES || receiver->connection == NULL) {
        free(packet);
        return;
    }
    memcpy(packet, bytes, size);
    nb_put16(packet, 0);
    packet[2] = VERSION;
    nb_put16(packet + 6, PEER_PORT);
    nb_put16(packet + 8, OWN_PORT);
    nb_put32(packet + 12, buffer);
    nb_put16(packet + 16, 0);
    nb_put16(packet, nb_checksum(packet, NETBLT_DATA_HEADER_BYTES));
    netblt_input(receiver->endpoint, &path, packet, size, size, now_us);
    free(packet);
    if (receiver->connection == NULL || !receiver->connection->receiver.last_known)
        return;
    receiver->last_known = true;
    receiver->last = (uint32_t)receiver->connection->receiver.last_index;
}

bool guided_receiver_has(const guided_receiver *receiver, uint32_t buffer)
{
    return buffer < receiver->buffers && receiver->complete[buffer];
}

size_t guided_receiver_missing(const guided_receiver *receiver, uint32_t buffer, uint16_t *packets, size_t capacity)
{
    if (receiver->connection == NULL || guided_receiver_has(receiver, buffer))
        return 0;
    const struct nb_receiver *half = &receiver->connection->receiver;
    if (buffer < half->first || buffer - half->first >= half->buffers.count)
        return 0;
    const struct nb_receive_buffer *found = nb_receiver_buffer(half, (size_t)(buffer - half->first));
    uint32_t known = found->packets != 0 ? found->packets : half->packets_per_buffer;
    size_t count = 0;
    for (uint32_t packet = 0; packet < known && count < capacity; packet++)
        if (!nb_bitmap_test(found->got, packet))
            packets[count++] = (uint16_t)packet;
    return count;
}

bool guided_receiver_last(const guided_receiver *receiver, uint32_t *buffer)
{
    *buffer = receiver->last;
    return receiver->last_known;
}
