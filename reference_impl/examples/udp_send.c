/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends one file over UDP, with one socket and one poll loop:  udp_send FILE ADDRESS [UDP_PORT]
 *
 * The peer is `udp_receive` or `netblt recv FILE --passive --encap udp`. The library does the protocol; a program
 * gives it packets that arrived and the time, and carries away the packets that it writes. That is the loop in main().
 */
#define _GNU_SOURCE /* ppoll */
#include <arpa/inet.h>
#include <netblt/netblt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#define LOCAL_PORT 40000 /* NETBLT ports: the passive end's is 1 unless it has an option for another */
#define FOREIGN_PORT 1
#define UDP_PAYLOAD_BYTES 1472 /* Ethernet's 1500 without IPv4 and UDP headers */

struct transfer {
    uint8_t *bytes; /* the whole file: the library sends straight from here */
    size_t length;
    bool closed;
    enum netblt_result result;
};

static netblt_time now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (netblt_time)now.tv_sec * 1000000 + (netblt_time)now.tv_nsec / 1000;
}

/* ---- what the library asks of a sending client ---- */

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    struct transfer *transfer = context;
    uint64_t start = index * capacity; /* every buffer but the last is full */
    uint64_t left = transfer->length - start;
    (void)connection;
    *data = transfer->bytes + start;
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = left <= capacity;
    return NETBLT_SEND_BUFFER_READY;
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    ((struct transfer *)context)->result = outcome->result;
    fprintf(stderr, "%s: %s\n", netblt_result_name(outcome->result), outcome->reason);
}

static void closed(void *context, netblt_connection *connection)
{
    (void)connection;
    ((struct transfer *)context)->closed = true;
}

/* ---- getting ready ---- */

static bool read_file(const char *name, struct transfer *transfer)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return false;
    transfer->length = (size_t)ftell(file);
    if (fseek(file, 0, SEEK_SET) != 0)
        return false;
    transfer->bytes = malloc(transfer->length + 1);
    bool whole = transfer->bytes != NULL && fread(transfer->bytes, 1, transfer->length, file) == transfer->length;
    return fclose(file) == 0 && whole;
}

static int connect_to(const char *address, int port)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    bool usable = inet_pton(AF_INET, address, &peer.sin_addr) == 1;
    return usable && connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0 ? fd : -1;
}

/* ---- packets and time ---- */

static void send_packets(netblt_endpoint *endpoint, int fd)
{
    static uint8_t run[65536];
    netblt_output output;
    while (netblt_output_burst(endpoint, run, sizeof run, &output, now_us()) > 0)
        for (size_t at = 0; at < output.length; at += output.segment_bytes) {
            size_t left = output.length - at;
            /* A packet that cannot leave is a packet lost: the protocol recovers it. */
            (void)send(fd, run + at, left < output.segment_bytes ? left : output.segment_bytes, 0);
        }
}

static void wait_and_receive(netblt_endpoint *endpoint, int fd, const netblt_path *path)
{
    static uint8_t packet[65536];
    netblt_time now = now_us(), deadline = netblt_deadline(endpoint);
    netblt_time wait = deadline > now ? deadline - now : 0;
    struct timespec timeout = {(time_t)(wait / 1000000), (long)(wait % 1000000) * 1000};
    struct pollfd socket_readable = {.fd = fd, .events = POLLIN};
    ssize_t length;
    ppoll(&socket_readable, 1, deadline == NETBLT_TIME_NEVER ? NULL : &timeout, NULL);
    while ((length = recv(fd, packet, sizeof packet, MSG_DONTWAIT)) >= 0)
        (void)netblt_input(endpoint, path, packet, (size_t)length, (size_t)length, now_us());
}

int main(int argc, char **argv)
{
    static const netblt_client client = {
        .size = sizeof(netblt_client), .get_send_buffer = get_send_buffer, .finished = finished, .closed = closed};
    struct transfer transfer = {.result = NETBLT_UNREACHABLE};
    int fd = argc < 3 ? -1 : connect_to(argv[2], argc > 3 ? (int)strtol(argv[3], NULL, 10) : 9980);
    if (fd < 0 || !read_file(argv[1], &transfer)) {
        fprintf(stderr, "usage: udp_send FILE ADDRESS [UDP_PORT]; FILE must be readable\n");
        return 2;
    }
    netblt_config config;
    netblt_config_default(&config);
    netblt_endpoint *endpoint = netblt_endpoint_new(&config);
    netblt_params params;
    netblt_params_default(&params);
    params.packet_size = UDP_PAYLOAD_BYTES - NETBLT_DATA_HEADER_BYTES;
    netblt_path path = {.local.length = 0}; /* one connected socket: nothing to distinguish peers by */
    uint32_t unique_id;
    netblt_connection *connection;
    if (endpoint == NULL || getrandom(&unique_id, sizeof unique_id, 0) != sizeof unique_id ||
        netblt_open(endpoint,
                    &(netblt_open_args){.size = sizeof(netblt_open_args),
                                        .path = &path,
                                        .local_port = LOCAL_PORT,
                                        .foreign_port = FOREIGN_PORT,
                                        .role = NETBLT_SENDER,
                                        .unique_id = unique_id,
                                        .params = &params,
                                        .client = &client,
                                        .context = &transfer},
                    now_us(), &connection) != NETBLT_OK)
        return 2;
    while (!transfer.closed) {
        send_packets(endpoint, fd);
        wait_and_receive(endpoint, fd, &path);
        netblt_timeout(endpoint, now_us());
    }
    netblt_endpoint_free(endpoint);
    free(transfer.bytes);
    return transfer.result == NETBLT_DONE ? 0 : 1;
}
