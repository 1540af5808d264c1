/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reference core with the interface of netblt_iut.h: the client is memory, the network is the caller. */
#include <netblt/netblt.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netblt_iut.h"

#define STAGE_BYTES 65536 /* holds one packet of any size, or a run of smaller ones */
#define REASON_BYTES 320  /* a result's name and the longest reason that a packet carries */

/* Memory that the core is filling. */
typedef struct block {
    struct block *next;
    struct block *previous;
    uint8_t bytes[];
} block;

struct netblt_iut {
    netblt_iut_params params;
    netblt_endpoint *endpoint;
    netblt_connection *connection; /* NULL before the first OPEN has come, and after closing */
    bool accepted;                 /* passive: this end's one transfer has begun */
    enum netblt_iut_status status;
    netblt_time now_us;
    char reason[REASON_BYTES];
    char peer_string[NETBLT_STRING_MAX_BYTES + 1];

    uint8_t *data; /* sender: what to send */
    size_t length;
    bool stalled; /* the client has to supply a buffer, and withholds it */

    block *blocks; /* receiver: lent to the core */
    uint8_t *delivered;
    size_t delivered_length;
    size_t delivered_capacity;

    netblt_output staged; /* a run of packets that the core has given and the caller has not taken yet */
    size_t staged_taken;
    uint8_t stage[STAGE_BYTES];
};

/* ---- the client ------------------------------------------------------------------------------------------- */

static bool withholds(netblt_iut *iut, uint64_t index)
{
    if (index >= iut->params.client_stall_from && iut->now_us < iut->params.client_stall_until_us) {
        iut->stalled = true;
        return true;
    }
    return false;
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    netblt_iut *iut = context;
    (void)connection;
    if (withholds(iut, index))
        return NETBLT_SEND_BUFFER_WAIT;
    uint64_t offset = index * capacity;
    uint64_t left = offset < iut->length ? iut->length - offset : 0;
    *data = iut->data + (iut->length - left);
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = left <= capacity;
    return NETBLT_SEND_BUFFER_READY;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    netblt_iut *iut = context;
    (void)connection;
    if (withholds(iut, index))
        return NULL;
    block *b = malloc(sizeof *b + capacity);
    if (!b)
        return NULL;
    b->previous = NULL;
    b->next = iut->blocks;
    if (b->next)
        b->next->previous = b;
    iut->blocks = b;
    return b->bytes;
}

static void free_block(netblt_iut *iut, uint8_t *bytes)
{
    block *b = (block *)(void *)(bytes - offsetof(block, bytes));
    if (b->next)
        b->next->previous = b->previous;
    *(b->previous ? &b->previous->next : &iut->blocks) = b->next;
    free(b);
}

static bool append(netblt_iut *iut, const uint8_t *bytes, size_t length)
{
    if (iut->delivered_length + length > iut->delivered_capacity) {
        size_t capacity = 2 * (iut->delivered_length + length);
        uint8_t *larger = realloc(iut->delivered, capacity);
        if (!larger)
            return false;
        iut->delivered = larger;
        iut->delivered_capacity = capacity;
    }
    if (length)
        memcpy(iut->delivered + iut->delivered_length, bytes, length);
    iut->delivered_length += length;
    return true;
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    netblt_iut *iut = context;
    (void)index;
    (void)last;
    if (!append(iut, data, length))
        netblt_abort(connection, "the client has no memory", iut->now_us);
    free_block(iut, data);
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    (void)connection;
    (void)index;
    free_block(context, data);
}

static void opened(void *context, netblt_connection *connection)
{
    netblt_iut *iut = context;
    netblt_info info;
    netblt_get_info(connection, &info);
    iut->connection = connection; /* a passive end hears of its connection here first */
    iut->status = NETBLT_IUT_OPEN;
    snprintf(iut->peer_string, sizeof iut->peer_string, "%s", info.peer_string);
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    netblt_iut *iut = context;
    if (connection != iut->connection)
        return;            /* the one before it, on the same ports */
    iut->accepted = false; /* another peer, or the same one again, may open now */
    iut->status = outcome->result == NETBLT_DONE ? NETBLT_IUT_DONE : NETBLT_IUT_FAILED;
    snprintf(iut->reason, sizeof iut->reason, "%s%s%s", netblt_result_name(outcome->result),
             outcome->reason[0] ? ": " : "", outcome->reason);
}

static void closed(void *context, netblt_connection *connection)
{
    netblt_iut *iut = context;
    if (connection != iut->connection)
        return;
    iut->connection = NULL;
    iut->status = iut->status == NETBLT_IUT_DONE ? NETBLT_IUT_CLOSED_DONE : NETBLT_IUT_CLOSED_FAILED;
}

static const netblt_client client = {
    .size = sizeof(netblt_client),
    .get_send_buffer = get_send_buffer,
    .get_receive_buffer = get_receive_buffer,
    .deliver = deliver,
    .discard = discard,
    .opened = opened,
    .finished = finished,
    .closed = closed,
};

/* ---- starting --------------------------------------------------------------------------------------------- */

static void fill_params(const netblt_iut_params *from, netblt_params *to)
{
    netblt_params_default(to);
    to->buffer_size = from->buffer_size;
    to->packet_size = from->packet_size;
    to->burst_size = from->burst_size;
    to->burst_interval_ms = from->burst_interval_ms;
    to->death_timer_s = from->death_timer_s;
    to->max_buffers = from->max_buffers;
    to->data_checksum = from->data_checksum != 0;
    snprintf(to->client_string, sizeof to->client_string, "%s", from->client_string);
}

static enum netblt_role role_of(const netblt_iut_params *params)
{
    return params->sender ? NETBLT_SENDER : NETBLT_RECEIVER;
}

static void answer_open(void *context, const netblt_request *request, netblt_answer *answer)
{
    netblt_iut *iut = context;
    if (iut->accepted) {
        snprintf(answer->reason, sizeof answer->reason, "busy with another transfer");
        return;
    }
    if (request->role != role_of(&iut->params)) {
        snprintf(answer->reason, sizeof answer->reason, "this end only %s", iut->params.sender ? "sends" : "receives");
        return;
    }
    iut->accepted = true;
    iut->delivered_length = 0;
    snprintf(iut->peer_string, sizeof iut->peer_string, "%s", request->proposed.client_string);
    fill_params(&iut->params, &answer->limits);
    answer->accept = true;
    answer->client = &client;
    answer->context = iut;
}

static netblt_address ipv4_address(const uint8_t bytes[4])
{
    netblt_address address = {.length = 4};
    memcpy(address.bytes, bytes, 4);
    return address;
}

/* The seed's 32 bits of a connection's unique ID, spread so that neighbouring seeds look unlike (OPEN-04). */
static uint32_t unique_id(uint64_t seed)
{
    uint64_t z = seed + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

static bool refuse(char *error, size_t capacity, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, capacity, format, arguments);
    va_end(arguments);
    return false;
}

static bool begin(netblt_iut *iut, char *error, size_t capacity)
{
    const netblt_iut_params *from = &iut->params;
    netblt_params params;
    const char *what = "";
    int problem;
    fill_params(from, &params);
    if (netblt_params_check(&params, &what) != NETBLT_OK)
        return refuse(error, capacity, "the parameter %s cannot be used", what);
    if (from->active) {
        const netblt_path path = {.local = ipv4_address(from->local_address),
                                  .foreign = ipv4_address(from->foreign_address)};
        params.transfer_size = from->sender ? iut->length : 0;
        problem = netblt_open(iut->endpoint,
                              &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                  .path = &path,
                                                  .local_port = from->local_port,
                                                  .foreign_port = from->foreign_port,
                                                  .role = role_of(from),
                                                  .unique_id = unique_id(from->seed),
                                                  .params = &params,
                                                  .client = &client,
                                                  .context = iut},
                              iut->now_us, &iut->connection);
    } else {
        problem = netblt_listen(iut->endpoint, from->local_port, answer_open, iut);
    }
    return problem == NETBLT_OK ||
           refuse(error, capacity, "%s: %s", from->active ? "cannot open" : "cannot listen", netblt_strerror(problem));
}

static netblt_endpoint *new_endpoint(const netblt_iut_params *params)
{
    netblt_config config;
    netblt_config_default(&config);
    config.version = params->version_byte;
    if (params->version_byte < 64)
        config.refused_versions &= ~(1ull << params->version_byte); /* an end takes what it sends itself */
    return netblt_endpoint_new(&config);
}

uint32_t netblt_iut_abi_version(void)
{
    return NETBLT_IUT_ABI_VERSION;
}

netblt_iut *netblt_iut_start(const netblt_iut_params *params, const uint8_t *data, size_t length, uint64_t now_us,
                             char *error, size_t error_capacity)
{
    netblt_iut *iut = calloc(1, sizeof *iut);
    uint8_t *copy = malloc(length ? length : 1);
    netblt_endpoint *endpoint = new_endpoint(params);
    if (!iut || !copy || !endpoint) {
        free(iut);
        free(copy);
        netblt_endpoint_free(endpoint);
        refuse(error, error_capacity, "no memory");
        return NULL;
    }
    if (length)
        memcpy(copy, data, length);
    iut->params = *params;
    iut->params.client_string[sizeof iut->params.client_string - 1] = '\0';
    iut->data = copy;
    iut->length = length;
    iut->endpoint = endpoint;
    iut->now_us = now_us;
    if (!begin(iut, error, error_capacity)) {
        netblt_iut_free(iut);
        return NULL;
    }
    return iut;
}

void netblt_iut_free(netblt_iut *iut)
{
    if (!iut)
        return;
    netblt_endpoint_free(iut->endpoint);
    while (iut->blocks) {
        block *b = iut->blocks;
        iut->blocks = b->next;
        free(b);
    }
    free(iut->delivered);
    free(iut->data);
    free(iut);
}

/* ---- packets and time ------------------------------------------------------------------------------------- */

void netblt_iut_packet(netblt_iut *iut, const uint8_t source[4], const uint8_t *packet, size_t length, uint64_t now_us)
{
    const netblt_path path = {.local = ipv4_address(iut->params.local_address), .foreign = ipv4_address(source)};
    iut->now_us = now_us;
    netblt_input(iut->endpoint, &path, packet, length, length, now_us);
}

void netblt_iut_advance(netblt_iut *iut, uint64_t now_us)
{
    iut->now_us = now_us;
    if (iut->stalled && now_us >= iut->params.client_stall_until_us) {
        iut->stalled = false;
        if (iut->connection)
            netblt_resume(iut->connection, now_us);
    }
    netblt_timeout(iut->endpoint, now_us);
}

size_t netblt_iut_output(netblt_iut *iut, uint64_t now_us, uint8_t destination[4], uint8_t *packet, size_t capacity)
{
    iut->now_us = now_us;
    if (iut->staged_taken == iut->staged.length) {
        iut->staged_taken = 0;
        iut->staged.length = netblt_output_burst(iut->endpoint, iut->stage, sizeof iut->stage, &iut->staged, now_us);
    }
    size_t left = iut->staged.length - iut->staged_taken;
    size_t length = left < iut->staged.segment_bytes ? left : iut->staged.segment_bytes;
    if (left == 0 || length > capacity)
        return 0;
    memcpy(packet, iut->stage + iut->staged_taken, length);
    memcpy(destination, iut->staged.path.foreign.bytes, 4);
    iut->staged_taken += length;
    return length;
}

uint64_t netblt_iut_deadline(const netblt_iut *iut)
{
    netblt_time deadline = netblt_deadline(iut->endpoint);
    if (iut->staged_taken < iut->staged.length)
        return iut->now_us;
    if (iut->stalled && iut->params.client_stall_until_us < deadline)
        return iut->params.client_stall_until_us;
    return deadline;
}

/* ---- questions -------------------------------------------------------------------------------------------- */

int netblt_iut_get_status(const netblt_iut *iut)
{
    return iut->status;
}

const char *netblt_iut_reason(const netblt_iut *iut)
{
    return iut->reason;
}

const uint8_t *netblt_iut_delivered(const netblt_iut *iut, size_t *length)
{
    *length = iut->delivered_length;
    return iut->delivered;
}

const char *netblt_iut_peer_string(const netblt_iut *iut)
{
    return iut->peer_string;
}

int netblt_iut_stop(netblt_iut *iut, int abort, const char *reason, uint64_t now_us)
{
    iut->now_us = now_us;
    if (!iut->connection)
        return -1;
    int problem = abort ? netblt_abort(iut->connection, reason, now_us) : netblt_quit(iut->connection, reason, now_us);
    return problem == NETBLT_OK ? 0 : -1;
}
