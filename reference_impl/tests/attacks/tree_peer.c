/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer of a tree transfer that sends any bytes, or shows the bytes that it gets, over UDP:
 *
 *     tree_peer send ADDRESS UDP_PORT CLIENT_STRING <DATA
 *     tree_peer recv ADDRESS UDP_PORT CLIENT_STRING >DATA
 *
 * It takes part in the protocol as `netblt` does and knows nothing of trees, so that a test can give the remote end
 * data that no `netblt` would send. The last line on stderr is the result and the reason; the exit code is 0 for
 * "done". */
#include <arpa/inet.h>
#include <netblt/netblt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#define FOREIGN_PORT 1
/* Without the ports that passive ends use. */
#define LOCAL_PORT_MIN 1024
#define PACKET_BYTES 1400
#define BUFFER_BYTES (PACKET_BYTES * 48)
#define MAX_BUFFERS 16
#define BURST_PACKETS 48
#define BURST_INTERVAL_MS 1
#define DEATH_TIMER_S 10

struct peer {
    uint8_t *bytes; /* sending: all of them */
    size_t length;
    bool finished;
    enum netblt_result result;
};

static netblt_time now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (netblt_time)now.tv_sec * 1000000 + (netblt_time)now.tv_nsec / 1000;
}

/* ---- the core's client ------------------------------------------------------------------------------------------ */

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    const struct peer *self = context;
    uint64_t start = index * capacity;
    uint64_t left = self->length - start;
    (void)connection;
    *data = self->bytes + start;
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = left <= capacity;
    return NETBLT_SEND_BUFFER_READY;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)context;
    (void)connection;
    (void)index;
    return malloc(capacity);
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    (void)context;
    (void)connection;
    (void)index;
    free(data);
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    (void)last;
    fwrite(data, 1, length, stdout);
    discard(context, connection, index, data);
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    ((struct peer *)context)->result = outcome->result;
    ((struct peer *)context)->finished = true;
    fprintf(stderr, "%s: %s\n", netblt_result_name(outcome->result), outcome->reason);
}

/* ---- packets and time ------------------------------------------------------------------------------------------- */

static void send_packets(netblt_endpoint *endpoint, int fd)
{
    static uint8_t run[65536];
    netblt_output output;
    while (netblt_output_burst(endpoint, run, sizeof run, &output, now_us()) > 0)
        for (size_t at = 0; at < output.length; at += output.segment_bytes) {
            size_t left = output.length - at;
            (void)!send(fd, run + at, left < output.segment_bytes ? left : output.segment_bytes, 0);
        }
}

static void wait_and_receive(netblt_endpoint *endpoint, int fd, const netblt_path *path)
{
    static uint8_t packet[65536];
    netblt_time now = now_us();
    netblt_time deadline = netblt_deadline(endpoint);
    netblt_time wait = deadline > now ? deadline - now : 0;
    struct timespec timeout = {(time_t)(wait / 1000000), (long)(wait % 1000000) * 1000};
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    ssize_t length;
    ppoll(&readable, 1, deadline == NETBLT_TIME_NEVER ? NULL : &timeout, NULL);
    while ((length = recv(fd, packet, sizeof packet, MSG_DONTWAIT)) >= 0)
        (void)netblt_input(endpoint, path, packet, (size_t)length, (size_t)length, now_us());
}

/* ---- the transfer ----------------------------------------------------------------------------------------------- */

static bool read_input(struct peer *self)
{
    size_t room = 0;
    for (;;) {
        size_t got;
        if (self->length == room) {
            uint8_t *larger = realloc(self->bytes, room = room * 2 + 65536);
            if (larger == NULL)
                return false;
            self->bytes = larger;
        }
        got = fread(self->bytes + self->length, 1, room - self->length, stdin);
        self->length += got;
        if (got == 0)
            return !ferror(stdin);
    }
}

static int connect_to(const char *address, const char *port)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtol(port, NULL, 10))};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    bool usable = fd >= 0 && inet_pton(AF_INET, address, &peer.sin_addr) == 1;
    return usable && connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0 ? fd : -1;
}

static netblt_endpoint *make_endpoint(void)
{
    netblt_config config;
    netblt_config_default(&config);
    if (getrandom(config.secret, sizeof config.secret, 0) != sizeof config.secret)
        return NULL;
    return netblt_endpoint_new(&config);
}

static bool open_connection(netblt_endpoint *endpoint, const netblt_path *path, enum netblt_role role,
                            const char *client_string, struct peer *self)
{
    static const netblt_client client = {.size = sizeof(netblt_client),
                                         .get_send_buffer = get_send_buffer,
                                         .get_receive_buffer = get_receive_buffer,
                                         .deliver = deliver,
                                         .discard = discard,
                                         .finished = finished};
    uint32_t random;
    netblt_connection *connection;
    netblt_params params;
    netblt_open_args args = {.size = sizeof args,
                             .path = path,
                             .foreign_port = FOREIGN_PORT,
                             .role = role,
                             .params = &params,
                             .client = &client,
                             .context = self,
                             .options.client_features = NETBLT_CLIENT_FEATURES};
    netblt_params_default(&params);
    params.packet_size = PACKET_BYTES;
    params.buffer_size = BUFFER_BYTES;
    params.max_buffers = MAX_BUFFERS;
    params.burst_size = BURST_PACKETS;
    params.burst_interval_ms = BURST_INTERVAL_MS;
    params.death_timer_s = DEATH_TIMER_S;
    snprintf(params.client_string, sizeof params.client_string, "%s", client_string);
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return false;
    args.local_port = (uint16_t)(LOCAL_PORT_MIN + random % (65536 - LOCAL_PORT_MIN));
    args.unique_id = random;
    return netblt_open(endpoint, &args, now_us(), &connection) == NETBLT_OK;
}

int main(int argc, char **argv)
{
    const netblt_path path = {.local.length = 0}; /* one connected socket: all packets are of one peer */
    struct peer self = {.result = NETBLT_UNREACHABLE};
    bool sends = argc == 5 && strcmp(argv[1], "send") == 0;
    int fd = argc == 5 ? connect_to(argv[2], argv[3]) : -1;
    netblt_endpoint *endpoint = make_endpoint();
    if (fd < 0 || endpoint == NULL || (sends && !read_input(&self)) ||
        !open_connection(endpoint, &path, sends ? NETBLT_SENDER : NETBLT_RECEIVER, argv[4], &self)) {
        fputs("usage: tree_peer send|recv ADDRESS UDP_PORT CLIENT_STRING\n", stderr);
        return 2;
    }
    while (!self.finished) {
        send_packets(endpoint, fd);
        wait_and_receive(endpoint, fd, &path);
        netblt_timeout(endpoint, now_us());
    }
    send_packets(endpoint, fd); /* no network here loses them, so nothing has to be repeated */
    netblt_endpoint_free(endpoint);
    free(self.bytes);
    return self.result == NETBLT_DONE ? 0 : 1;
}
