/* SPDX-License-Identifier: BSD-2-Clause */
/* Two endpoints in one program, no socket and no clock:  pair [BYTES [LOSE_EVERY_NTH_PACKET]]
 *
 * Time is a number that this program moves forward, so a transfer over a line with 50 ms of delay takes as long as the
 * computation does, and goes the same way each time. This is how the library itself is tested. */
#include <netblt/netblt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_US 50000
#define PACKETS_MAX 4096 /* under way at once; more are lost */

/* ---- the line: packets wait here until their time has come ---- */

struct packet {
    netblt_time arrives_at;
    int to; /* 0 or 1: which endpoint */
    size_t length;
    uint8_t bytes[2048];
};
static struct packet line[PACKETS_MAX];
static size_t first, count; /* a ring: every packet takes the same time, so they arrive in order */
static unsigned long sent, lose_every;

static void put_on_line(int to, const uint8_t *bytes, size_t length, netblt_time now)
{
    if (++sent % lose_every == 0 || count == PACKETS_MAX || length > sizeof line[0].bytes)
        return;
    struct packet *packet = &line[(first + count++) % PACKETS_MAX];
    packet->arrives_at = now + DELAY_US;
    packet->to = to;
    packet->length = length;
    memcpy(packet->bytes, bytes, length);
}

/* ---- the clients ---- */

static uint8_t *wanted, *got;
static size_t total, delivered;
static int closed_ends;

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    uint64_t start = index * capacity;
    (void)context, (void)connection;
    *data = wanted + start;
    *length = total - start < capacity ? (uint32_t)(total - start) : capacity;
    *last = total - start <= capacity;
    return NETBLT_SEND_BUFFER_READY;
}

/* The receiver's memory is one array, so each buffer lies where it belongs from the start. */
static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)context, (void)connection;
    return index * capacity <= total ? got + index * capacity : NULL;
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    (void)context, (void)connection, (void)index, (void)data, (void)last;
    delivered += length;
}

static void closed(void *context, netblt_connection *connection)
{
    netblt_info info;
    netblt_get_info(connection, &info);
    closed_ends++;
    printf("%-8s closed: %llu packets sent, %llu of them data again\n", (const char *)context,
           (unsigned long long)info.stats.packets_sent, (unsigned long long)info.stats.data_packets_retransmitted);
}

static const netblt_client sender = {
    .size = sizeof(netblt_client), .get_send_buffer = get_send_buffer, .closed = closed};
static const netblt_client receiver = {
    .size = sizeof(netblt_client), .get_receive_buffer = get_receive_buffer, .deliver = deliver, .closed = closed};

static void accept_any(void *context, const netblt_request *request, netblt_answer *answer)
{
    (void)request;
    answer->accept = true;
    answer->client = &receiver;
    answer->context = context;
}

/* ---- time ---- */

static netblt_time earliest(netblt_endpoint *const ends[2])
{
    netblt_time a = netblt_deadline(ends[0]), b = netblt_deadline(ends[1]);
    netblt_time next = a < b ? a : b;
    return count > 0 && line[first].arrives_at < next ? line[first].arrives_at : next;
}

static void step(netblt_endpoint *const ends[2], const netblt_path *path, netblt_time now)
{
    static uint8_t run[65536];
    netblt_output output;
    while (count > 0 && line[first].arrives_at <= now) {
        struct packet *packet = &line[first];
        (void)netblt_input(ends[packet->to], path, packet->bytes, packet->length, packet->length, now);
        first = (first + 1) % PACKETS_MAX;
        count--;
    }
    for (int end = 0; end < 2; end++) {
        netblt_timeout(ends[end], now);
        while (netblt_output_burst(ends[end], run, sizeof run, &output, now) > 0)
            for (size_t at = 0; at < output.length; at += output.segment_bytes)
                put_on_line(1 - end, run + at,
                            output.length - at < output.segment_bytes ? output.length - at : output.segment_bytes, now);
    }
}

int main(int argc, char **argv)
{
    total = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000;
    lose_every = argc > 2 ? strtoul(argv[2], NULL, 0) : 100;
    netblt_config config;
    netblt_config_default(&config);
    netblt_endpoint *const ends[2] = {netblt_endpoint_new(&config), netblt_endpoint_new(&config)};
    netblt_path path = {.local.length = 0}; /* there is only one peer: the address does not matter */
    netblt_params params;
    netblt_params_default(&params);
    netblt_connection *connection;
    wanted = malloc(total + 1);
    got = calloc(total + 1 + params.buffer_size, 1); /* the last buffer is known to be shorter only when it comes */
    for (size_t i = 0; wanted != NULL && i < total; i++)
        wanted[i] = (uint8_t)(i * i >> 7);
    if (wanted == NULL || got == NULL || lose_every < 2 || ends[0] == NULL || ends[1] == NULL ||
        netblt_listen(ends[1], 1, accept_any, "receiver") != NETBLT_OK ||
        netblt_open(ends[0],
                    &(netblt_open_args){.size = sizeof(netblt_open_args),
                                        .path = &path,
                                        .local_port = 40000,
                                        .foreign_port = 1,
                                        .role = NETBLT_SENDER,
                                        .unique_id = 12345,
                                        .params = &params,
                                        .client = &sender,
                                        .context = "sender"},
                    0, &connection) != NETBLT_OK)
        return 2;
    netblt_time now = 0;
    for (step(ends, &path, now); closed_ends < 2; step(ends, &path, now)) {
        netblt_time next = earliest(ends);
        now = next > now ? next : now + 1; /* what was due has been done */
    }
    bool same = delivered == total && memcmp(wanted, got, total) == 0;
    printf("%zu bytes %s after %.3f s of virtual time, every %luth packet lost\n", delivered,
           same ? "arrived whole" : "DIFFER", (double)now / 1e6, lose_every);
    netblt_endpoint_free(ends[0]);
    netblt_endpoint_free(ends[1]);
    free(wanted), free(got);
    return same ? 0 : 1;
}
