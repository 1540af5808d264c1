/* SPDX-License-Identifier: BSD-2-Clause */
/* Every error that a public function documents, by a real call. Prints a line for each: the function and the error.
 * library/check_errors.py compares these lines with the comments under the prototypes. */
#include "check.h"
#include "counted_memory.h"
#include "peer.h"

#include <string.h>

#define SHOW(function, error, call)                                                                                    \
    do {                                                                                                               \
        CHECK_EQUAL(call, error);                                                                                      \
        printf("%s %s\n", #function, #error);                                                                          \
    } while (0)

static netblt_path path = {.local = {1, {1}}, .foreign = {1, {2}}};

static void start(struct peer *peer)
{
    peer_init(peer, NETBLT_SENDER, false);
    peer->allocator = &counted_allocator;
    peer_start(peer);
}

static netblt_open_args args_of(const struct peer *peer)
{
    return (netblt_open_args){.size = sizeof(netblt_open_args),
                              .path = &path,
                              .local_port = 5,
                              .foreign_port = 6,
                              .role = NETBLT_SENDER,
                              .unique_id = 1,
                              .params = &peer->params,
                              .client = &peer_client};
}

static void open_errors(void)
{
    struct peer peer;
    netblt_connection *connection = NULL;
    start(&peer);
    netblt_open_args args = args_of(&peer);
    args.size = 0;
    SHOW(netblt_open, NETBLT_ERR_INVALID_ARGUMENT, netblt_open(peer.endpoint, &args, peer.now, &connection));
    args = args_of(&peer);
    netblt_params bad = peer.params;
    bad.max_buffers = 0;
    args.params = &bad;
    SHOW(netblt_open, NETBLT_ERR_INVALID_ARGUMENT, netblt_open(peer.endpoint, &args, peer.now, &connection));
    args = args_of(&peer);
    netblt_client unable = {.size = sizeof unable, .get_receive_buffer = peer_client.get_receive_buffer};
    args.client = &unable;
    SHOW(netblt_open, NETBLT_ERR_INVALID_ARGUMENT, netblt_open(peer.endpoint, &args, peer.now, &connection));
    args = args_of(&peer);
    netblt_params large = peer.params;
    large.transfer_size = NETBLT_TRANSFER_MAX_BYTES + 1;
    args.params = &large;
    SHOW(netblt_open, NETBLT_ERR_INVALID_ARGUMENT, netblt_open(peer.endpoint, &args, peer.now, &connection));
    args = args_of(&peer);
    counted.fail_after = 0;
    SHOW(netblt_open, NETBLT_ERR_NO_MEMORY, netblt_open(peer.endpoint, &args, peer.now, &connection));
    counted.fail_after = -1;
    CHECK(connection == NULL); /* no error has changed it */
    args.context = &peer;
    CHECK_EQUAL(netblt_open(peer.endpoint, &args, peer.now, &connection), 0);
    SHOW(netblt_open, NETBLT_ERR_PORT_IN_USE, netblt_open(peer.endpoint, &args, peer.now, &connection));
    peer_free(&peer);
}

static void listen_errors(void)
{
    struct peer peer;
    start(&peer);
    SHOW(netblt_listen, NETBLT_ERR_PORT_IN_USE, netblt_listen(peer.endpoint, peer.our_port, NULL, NULL));
    counted.fail_after = 0;
    SHOW(netblt_listen, NETBLT_ERR_NO_MEMORY, netblt_listen(peer.endpoint, 77, NULL, NULL));
    counted.fail_after = -1;
    peer_free(&peer);
}

static void packet_errors(void)
{
    struct peer peer;
    struct forged packet;
    start(&peer);
    uint8_t byte = 0;
    SHOW(netblt_input, NETBLT_ERR_MALFORMED, netblt_input(peer.endpoint, &path, &byte, 0, 0, peer.now));
    SHOW(netblt_input, NETBLT_ERR_MALFORMED, peer_send_raw(&peer, "short", 5));
    forge(&peer, &packet, KEEPALIVE);
    packet.size = packet.length;
    packet.length += 4;
    SHOW(netblt_input, NETBLT_ERR_MALFORMED, peer_send(&peer, &packet)); /* Length */
    forge(&peer, &packet, 99);
    SHOW(netblt_input, NETBLT_ERR_MALFORMED, peer_send(&peer, &packet)); /* type */
    peer.version = 4;
    forge(&peer, &packet, KEEPALIVE);
    SHOW(netblt_input, NETBLT_ERR_MALFORMED, peer_send(&peer, &packet)); /* version */
    peer.version = 2;
    forge(&peer, &packet, KEEPALIVE);
    CHECK_EQUAL(peer_send(&peer, &packet), 0); /* which has put the checksum in */
    packet.bytes[0] ^= 1;
    SHOW(netblt_input, NETBLT_ERR_CHECKSUM, peer_send_raw(&peer, packet.bytes, packet.length));
    peer_free(&peer);
    netblt_output output;
    netblt_connection *connection;
    start(&peer);
    netblt_open_args args = args_of(&peer);
    args.context = &peer;
    CHECK_EQUAL(netblt_open(peer.endpoint, &args, peer.now, &connection), 0);
    CHECK_EQUAL(netblt_output_burst(peer.endpoint, &byte, 1, &output, peer.now), 0);
    SHOW(netblt_output_burst, NETBLT_ERR_NO_SPACE, output.error);
    peer_free(&peer);
}

static void connection_errors(void)
{
    struct peer peer;
    static char long_reason[NETBLT_STRING_MAX_BYTES + 2];
    memset(long_reason, 'x', sizeof long_reason - 1);
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer_open(&peer);
    peer_null_ack(&peer, 2); /* the GOs */
    SHOW(netblt_confirm, NETBLT_ERR_WRONG_STATE, netblt_confirm(peer.connection, peer.now));
    SHOW(netblt_quit, NETBLT_ERR_TOO_LONG, netblt_quit(peer.connection, long_reason, peer.now));
    SHOW(netblt_abort, NETBLT_ERR_TOO_LONG, netblt_abort(peer.connection, long_reason, peer.now));
    peer_data(&peer, 0, 0, 2, false); /* not at a boundary: the QUIT waits */
    CHECK_EQUAL(netblt_quit(peer.connection, "", peer.now), 0);
    SHOW(netblt_quit, NETBLT_ERR_WRONG_STATE, netblt_quit(peer.connection, "", peer.now));
    peer_reason(&peer, QUIT, "the peer quits first");
    CHECK(peer.finished == 1 && peer.closed == 0); /* dallying */
    SHOW(netblt_quit, NETBLT_ERR_WRONG_STATE, netblt_quit(peer.connection, "", peer.now));
    SHOW(netblt_abort, NETBLT_ERR_WRONG_STATE, netblt_abort(peer.connection, "", peer.now));
    SHOW(netblt_confirm, NETBLT_ERR_WRONG_STATE, netblt_confirm(peer.connection, peer.now));
    peer_free(&peer);
}

static void parameter_errors(void)
{
    netblt_params none = {0};
    SHOW(netblt_params_check, NETBLT_ERR_INVALID_ARGUMENT, netblt_params_check(&none, NULL));
}

static void endpoint_errors(void)
{
    netblt_config config;
    netblt_config_default(&config);
    netblt_allocator incomplete = counted_allocator;
    incomplete.reallocate = NULL;
    config.allocator = &incomplete;
    CHECK(netblt_endpoint_new(&config) == NULL);
    config.allocator = &counted_allocator;
    counted.fail_after = 0;
    CHECK(netblt_endpoint_new(&config) == NULL);
    counted.fail_after = -1;
    config.size = 0;
    CHECK(netblt_endpoint_new(&config) == NULL);
    printf("netblt_endpoint_new NULL\n");
}

int main(void)
{
    open_errors();
    listen_errors();
    packet_errors();
    connection_errors();
    parameter_errors();
    endpoint_errors();
    CHECK_EQUAL(counted.blocks, 0);
    return 0;
}
