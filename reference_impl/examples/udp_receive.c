/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for one sender and stores what it sends:  udp_receive FILE [UDP_PORT]
 *
 * The peer is `udp_send` or `netblt send FILE ADDRESS --encap udp`. One socket receives from all peers, so the path of
 * each packet names its peer; the answers go back to where the packets came from. */
#define _GNU_SOURCE /* ppoll */
#include <arpa/inet.h>
#include <netblt/netblt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define NETBLT_PORT 1

struct transfer {
    FILE *file;
    size_t unwritten;   /* bytes */
    bool taken, closed; /* we serve one sender */
    enum netblt_result result;
};

static netblt_time now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (netblt_time)now.tv_sec * 1000000 + (netblt_time)now.tv_nsec / 1000;
}

/* ---- what the library asks of a receiving client ---- */

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)context, (void)connection, (void)index;
    return malloc(capacity); /* packets are placed straight into it, in whatever order they come */
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    (void)connection, (void)index, (void)last; /* buffers are delivered in order */
    ((struct transfer *)context)->unwritten += length - fwrite(data, 1, length, ((struct transfer *)context)->file);
    free(data);
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    (void)context, (void)connection, (void)index;
    free(data);
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

/* Answers an OPEN. The limits start as what the peer proposed; we take that as it is. */
static void accept_sender(void *context, const netblt_request *request, netblt_answer *answer)
{
    static const netblt_client client = {.size = sizeof(netblt_client),
                                         .get_receive_buffer = get_receive_buffer,
                                         .deliver = deliver,
                                         .discard = discard,
                                         .finished = finished,
                                         .closed = closed};
    struct transfer *transfer = context;
    answer->accept = request->role == NETBLT_RECEIVER && !transfer->taken;
    transfer->taken = transfer->taken || answer->accept;
    snprintf(answer->reason, sizeof answer->reason, "%s", answer->accept ? "" : "this port takes one file, once");
    answer->client = &client;
    answer->context = transfer;
}

/* ---- packets and time ---- */

/* A peer's UDP address as the opaque bytes of a path, and back. */
static netblt_address pack(const struct sockaddr_in *peer)
{
    netblt_address address = {.length = 6};
    memcpy(address.bytes, &peer->sin_addr, 4);
    memcpy(address.bytes + 4, &peer->sin_port, 2);
    return address;
}

static void send_packets(netblt_endpoint *endpoint, int fd)
{
    static uint8_t run[65536];
    netblt_output output;
    while (netblt_output_burst(endpoint, run, sizeof run, &output, now_us()) > 0) {
        struct sockaddr_in peer = {.sin_family = AF_INET};
        memcpy(&peer.sin_addr, output.path.foreign.bytes, 4);
        memcpy(&peer.sin_port, output.path.foreign.bytes + 4, 2);
        for (size_t at = 0; at < output.length; at += output.segment_bytes) {
            size_t left = output.length - at;
            (void)sendto(fd, run + at, left < output.segment_bytes ? left : output.segment_bytes, 0,
                         (struct sockaddr *)&peer, sizeof peer);
        }
    }
}

static void wait_and_receive(netblt_endpoint *endpoint, int fd)
{
    static uint8_t packet[65536];
    netblt_time now = now_us(), deadline = netblt_deadline(endpoint);
    netblt_time wait = deadline > now ? deadline - now : 0;
    struct timespec timeout = {(time_t)(wait / 1000000), (long)(wait % 1000000) * 1000};
    struct pollfd socket_readable = {.fd = fd, .events = POLLIN};
    struct sockaddr_in peer;
    socklen_t peer_bytes = sizeof peer;
    ssize_t length;
    ppoll(&socket_readable, 1, deadline == NETBLT_TIME_NEVER ? NULL : &timeout, NULL);
    while ((length = recvfrom(fd, packet, sizeof packet, MSG_DONTWAIT, (struct sockaddr *)&peer, &peer_bytes)) >= 0) {
        netblt_path path = {.foreign = pack(&peer)};
        (void)netblt_input(endpoint, &path, packet, (size_t)length, (size_t)length, now_us());
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)(argc > 2 ? strtol(argv[2], NULL, 10) : 9980))};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct transfer transfer = {.file = argc > 1 ? fopen(argv[1], "wb") : NULL};
    if (transfer.file == NULL || fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here) != 0) {
        fprintf(stderr, "usage: udp_receive FILE [UDP_PORT]; FILE must be writable and the port free\n");
        return 2;
    }
    netblt_config config;
    netblt_config_default(&config);
    netblt_endpoint *endpoint = netblt_endpoint_new(&config);
    if (endpoint == NULL || netblt_listen(endpoint, NETBLT_PORT, accept_sender, &transfer) != NETBLT_OK)
        return 2;
    while (!transfer.closed) {
        wait_and_receive(endpoint, fd);
        netblt_timeout(endpoint, now_us());
        send_packets(endpoint, fd);
    }
    netblt_endpoint_free(endpoint);
    bool stored = fclose(transfer.file) == 0 && transfer.unwritten == 0;
    return transfer.result == NETBLT_DONE && stored ? 0 : 1;
}
