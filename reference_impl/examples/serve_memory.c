/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves texts from memory to any number of receivers at once, over UDP:  serve_memory [UDP_PORT [HOW_MANY]]
 *
 * Fetch one with `netblt recv FILE ADDRESS --encap udp --client-string haiku`. The client string of an OPEN names what
 * is wanted; a name that we do not have is refused with a reason. Ends after HOW_MANY transfers (0 = never). */
#define _GNU_SOURCE /* ppoll */
#include <arpa/inet.h>
#include <netblt/netblt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NETBLT_PORT 1

struct item {
    const char *name;
    const char *text; /* sent from here: nothing is copied, and receivers share it */
};
static const struct item items[] = {
    {"haiku", "A burst, and silence.\nThe buffer is not yet whole.\nSeven, please, again.\n"},
    {"numbers", "RFC 998, IP protocol 30, UDP port 9980\n"},
    {"nothing", ""},
};
static unsigned long served;

static netblt_time now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (netblt_time)now.tv_sec * 1000000 + (netblt_time)now.tv_nsec / 1000;
}

/* ---- the clients: one per connection, with the item as its context ---- */

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    const struct item *item = context;
    size_t start = (size_t)index * capacity, left = strlen(item->text) - start;
    (void)connection;
    *data = (const uint8_t *)item->text + start;
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = left <= capacity;
    return NETBLT_SEND_BUFFER_READY;
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    printf("%s: %s\n", ((const struct item *)context)->name, netblt_result_name(outcome->result));
}

static void closed(void *context, netblt_connection *connection)
{
    (void)context, (void)connection;
    served++;
}

static void accept_receiver(void *context, const netblt_request *request, netblt_answer *answer)
{
    static const netblt_client client = {
        .size = sizeof(netblt_client), .get_send_buffer = get_send_buffer, .finished = finished, .closed = closed};
    (void)context;
    answer->client = &client;
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
        if (strcmp(request->proposed.client_string, items[i].name) == 0) {
            answer->accept = request->role == NETBLT_SENDER;
            answer->context = (void *)&items[i];
        }
    snprintf(answer->reason, sizeof answer->reason, "%s", answer->accept ? "" : "there is no such text to be had here");
}

/* ---- packets and time: as in udp_receive.c ---- */

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
                               .sin_port = htons((uint16_t)(argc > 1 ? strtol(argv[1], NULL, 10) : 9980))};
    unsigned long how_many = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    netblt_config config;
    netblt_config_default(&config);
    netblt_endpoint *endpoint = netblt_endpoint_new(&config);
    if (endpoint == NULL || netblt_listen(endpoint, NETBLT_PORT, accept_receiver, NULL) != NETBLT_OK || fd < 0 ||
        bind(fd, (struct sockaddr *)&here, sizeof here) != 0) {
        fprintf(stderr, "usage: serve_memory [UDP_PORT [HOW_MANY]]; the port must be free\n");
        return 2;
    }
    while (how_many == 0 || served < how_many) {
        wait_and_receive(endpoint, fd);
        netblt_timeout(endpoint, now_us());
        send_packets(endpoint, fd);
    }
    netblt_endpoint_free(endpoint);
    close(fd);
    return 0;
}
