/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of clients that break a rule of the library, that call it from inside a callback, and of other calls that come
 * while an endpoint works. Standard buffers: 4 packets of 100 bytes. */
#include "check.h"
#include "peer.h"
#include "receiver_peer.h"

#include <string.h>

/* ---- mistakes -------------------------------------------------------------------------------------------------- */

static uint32_t supplied_length;
static bool supplied_last;

static enum netblt_send_buffer supply_as_told(void *context, netblt_connection *connection, uint64_t index,
                                              uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    enum netblt_send_buffer answer =
        peer_client.get_send_buffer(context, connection, index, capacity, data, length, last);
    *length = supplied_length;
    *last = supplied_last;
    return answer;
}

static void expect_abort(struct peer *peer, const char *reason)
{
    CHECK_EQUAL(peer->result, NETBLT_LOCAL_ABORT);
    CHECK(strcmp(peer->reason, reason) == 0);
    CHECK(strcmp((const char *)peer_nth(peer, ABORT, 0)->bytes + 12, reason) == 0);
    CHECK_EQUAL(peer->held, 0); /* all memory is the client's again */
    CHECK_EQUAL(peer->finished, 1);
    CHECK_EQUAL(peer->closed, 1);
}

/* NULL: the buffer is sent. */
static void supply_once(uint32_t length, bool last, const char *mistake)
{
    struct peer peer;
    netblt_client client = peer_client;
    client.get_send_buffer = supply_as_told;
    supplied_length = length;
    supplied_last = last;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.client = &client;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    if (mistake != NULL)
        expect_abort(&peer, mistake);
    CHECK_EQUAL(peer_count_data(&peer), mistake != NULL ? 0 : length == 0 ? 1 : (length + 99) / 100);
    peer_free(&peer);
}

static void a_client_that_supplies_a_buffer_of_a_wrong_size_ends_its_transfer_and_nothing_of_it_is_sent(void)
{
    supply_once(400, false, NULL);
    supply_once(400, true, NULL);
    supply_once(399, true, NULL);
    supply_once(0, true, NULL);
    supply_once(401, true, "the client supplied more than a buffer");
    supply_once(UINT32_MAX, false, "the client supplied more than a buffer");
    supply_once(399, false, "the client supplied a short buffer that is not the last");
    supply_once(0, false, "the client supplied a short buffer that is not the last");
}

static void open_with(const netblt_client *client, enum netblt_role role, int wanted)
{
    struct peer peer;
    netblt_connection *connection;
    peer_init(&peer, role, false);
    peer_start(&peer);
    netblt_path path = {.local = {1, {1}}, .foreign = {1, {2}}};
    CHECK_EQUAL(netblt_open(peer.endpoint,
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &path,
                                                .local_port = 5,
                                                .foreign_port = 6,
                                                .role = role,
                                                .unique_id = 1,
                                                .params = &peer.params,
                                                .client = client,
                                                .context = &peer},
                            peer.now, &connection),
                wanted);
    CHECK_EQUAL(netblt_deadline(peer.endpoint) == NETBLT_TIME_NEVER, wanted != 0); /* else OPEN waits to leave */
    peer_free(&peer);
}

/* As a passive end: the peer gets a packet and does not wait. */
static void accept_with(const netblt_client *client, enum netblt_role role, bool fits)
{
    struct peer peer;
    struct forged open;
    peer_init(&peer, role, false);
    peer.client = client;
    peer_start(&peer);
    forge_open(&peer, &open, OPEN, &peer.params, role == NETBLT_RECEIVER);
    peer_send(&peer, &open);
    CHECK_EQUAL(peer.opened, fits);
    CHECK_EQUAL(peer_count(&peer, REFUSED), !fits);
    CHECK_EQUAL(peer_count(&peer, RESPONSE), fits);
    peer_free(&peer);
}

static void a_client_can_only_play_the_role_whose_callback_it_has(void)
{
    netblt_client sends = peer_client, receives = peer_client;
    sends.get_receive_buffer = NULL;
    receives.get_send_buffer = NULL;
    open_with(NULL, NETBLT_SENDER, NETBLT_ERR_INVALID_ARGUMENT);
    open_with(&receives, NETBLT_SENDER, NETBLT_ERR_INVALID_ARGUMENT);
    open_with(&sends, NETBLT_RECEIVER, NETBLT_ERR_INVALID_ARGUMENT);
    open_with(&sends, NETBLT_SENDER, 0);
    open_with(&receives, NETBLT_RECEIVER, 0);
    accept_with(&receives, NETBLT_SENDER, false);
    accept_with(&sends, NETBLT_RECEIVER, false);
    accept_with(&sends, NETBLT_SENDER, true);
    accept_with(&receives, NETBLT_RECEIVER, true);
}

static void limits_that_no_transfer_can_have_refuse_the_OPEN_and_name_the_parameter(void)
{
    struct peer peer;
    struct forged open;
    peer_init(&peer, NETBLT_RECEIVER, false);
    netblt_params proposal = peer.params;
    peer.params.max_buffers = 0; /* our listener's mistake */
    peer_start(&peer);
    forge_open(&peer, &open, OPEN, &proposal, true);
    peer_send(&peer, &open);
    CHECK_EQUAL(peer.opened, 0);
    const char *what = NULL;
    CHECK_EQUAL(netblt_params_check(&peer.params, &what), NETBLT_ERR_INVALID_ARGUMENT);
    const char *reason = (const char *)peer_nth(&peer, REFUSED, 0)->bytes + 12;
    CHECK(strlen(reason) > 0 && strncmp(reason, what, strlen(reason)) == 0); /* no longer than OPEN */
    peer_free(&peer);
}

static void a_port_has_one_listener(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer_start(&peer);
    CHECK_EQUAL(netblt_listen(peer.endpoint, peer.our_port, NULL, NULL), NETBLT_ERR_PORT_IN_USE);
    CHECK_EQUAL(netblt_listen(peer.endpoint, (uint16_t)(peer.our_port + 1), NULL, NULL), 0);
    netblt_unlisten(peer.endpoint, peer.our_port);
    CHECK_EQUAL(netblt_listen(peer.endpoint, peer.our_port, NULL, NULL), 0);
    peer_free(&peer);
}

static void without_a_profile_an_endpoint_has_the_default_one(void)
{
    netblt_config config;
    netblt_config_default(&config);
    config.profile = NULL;
    netblt_endpoint *endpoint = netblt_endpoint_new(&config);
    netblt_params params;
    netblt_params_default(&params);
    netblt_path path = {.local = {1, {1}}, .foreign = {1, {2}}};
    netblt_connection *connection;
    uint8_t packet[600];
    netblt_output output;
    CHECK_EQUAL(netblt_open(endpoint,
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &path,
                                                .local_port = 5,
                                                .foreign_port = 6,
                                                .role = NETBLT_SENDER,
                                                .unique_id = 1,
                                                .params = &params,
                                                .client = &peer_client},
                            1000, &connection),
                0);
    CHECK(netblt_output_burst(endpoint, packet, sizeof packet, &output, 1000) > 0);
    CHECK_EQUAL(netblt_deadline(endpoint), 1000 + netblt_profile_default.open_retry_us);
    netblt_endpoint_free(endpoint);
}

/* ---- the log --------------------------------------------------------------------------------------------------- */

static char log_line[600];
static unsigned log_lines;

static void on_log(void *context, const char *line)
{
    CHECK(context != NULL);
    CHECK(strlen(line) < sizeof log_line);
    memcpy(log_line, line, strlen(line) + 1);
    log_lines++;
}

static void the_log_names_what_was_wrong_in_one_line_each(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 10;
    peer.log = on_log;
    log_lines = 0;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(log_lines, 0); /* what is as usual is not worth a line */
    peer_ok(&peer, 2, 0);      /* after the first of four packets */
    CHECK_EQUAL(log_lines, 1);
    CHECK(strcmp(log_line, "OK for buffer 0, which is not fully sent; ignored") == 0);
    struct forged packet;
    peer.version = 5;
    forge(&peer, &packet, KEEPALIVE);
    CHECK_EQUAL(peer_send(&peer, &packet), NETBLT_ERR_MALFORMED);
    CHECK_EQUAL(log_lines, 2);
    CHECK(strstr(log_line, "version 5") != NULL);
    netblt_params none = {0};
    const char *what = NULL;
    netblt_connection *connection;
    netblt_path path = {.local = {1, {1}}, .foreign = {1, {2}}};
    CHECK_EQUAL(netblt_params_check(&none, &what), NETBLT_ERR_INVALID_ARGUMENT);
    CHECK_EQUAL(netblt_open(peer.endpoint,
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &path,
                                                .local_port = 5,
                                                .foreign_port = 6,
                                                .role = NETBLT_SENDER,
                                                .unique_id = 1,
                                                .params = &none,
                                                .client = &peer_client,
                                                .context = &peer},
                            peer.now, &connection),
                NETBLT_ERR_INVALID_ARGUMENT);
    CHECK_EQUAL(log_lines, 3);
    CHECK(strstr(log_line, what) != NULL);
    peer_free(&peer);
}

/* ---- calls from inside a callback ------------------------------------------------------------------------------ */

static void abort_now(void *context, netblt_connection *connection)
{
    CHECK_EQUAL(netblt_abort(connection, "from inside", ((struct peer *)context)->now), 0);
}

static enum netblt_send_buffer supply_and_abort(void *context, netblt_connection *connection, uint64_t index,
                                                uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    abort_now(context, connection);
    return peer_client.get_send_buffer(context, connection, index, capacity, data, length, last);
}

static void memory_that_a_client_supplies_as_it_aborts_is_given_back(void)
{
    struct peer peer;
    netblt_client client = peer_client;
    client.get_send_buffer = supply_and_abort;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.client = &client;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    expect_abort(&peer, "from inside");
    CHECK_EQUAL(peer_count_data(&peer), 0);
    peer_free(&peer);
}

static uint8_t *provide_and_abort(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    abort_now(context, connection);
    return peer_client.get_receive_buffer(context, connection, index, capacity);
}

static void memory_that_a_client_provides_as_it_aborts_is_given_back(void)
{
    struct peer peer;
    netblt_client client = peer_client;
    client.get_receive_buffer = provide_and_abort;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.client = &client;
    peer_open(&peer);
    expect_abort(&peer, "from inside");
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
    peer_free(&peer);
}

static void deliver_and_abort(void *context, netblt_connection *connection, uint64_t index, uint8_t *data,
                              uint32_t length, bool last)
{
    peer_client.deliver(context, connection, index, data, length, last);
    abort_now(context, connection);
}

static void a_client_that_aborts_at_a_buffer_gets_none_of_those_that_wait_behind_it(void)
{
    for (int any_order = 0; any_order < 2; any_order++) {
        struct peer peer;
        netblt_client client = peer_client;
        client.deliver = deliver_and_abort;
        peer_init(&peer, NETBLT_RECEIVER, false);
        peer.client = &client;
        peer.options.any_order = any_order != 0;
        begin(&peer, true);
        if (!any_order) {
            send_buffer(&peer, 1, 2, true); /* waits for buffer 0 */
            CHECK_EQUAL(peer.deliveries, 0);
        }
        send_buffer(&peer, 0, 2, false);
        CHECK_EQUAL(peer.deliveries, 1);
        CHECK_EQUAL(peer.last_delivered_index, 0);
        expect_abort(&peer, "from inside");
        peer_free(&peer);
    }
}

static unsigned discards;

static void discard_and_abort(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    peer_client.discard(context, connection, index, data);
    if (discards++ == 0)
        abort_now(context, connection);
}

/* L on a buffer below others makes the others superfluous: their memory goes back. */
static void a_client_that_aborts_when_it_gets_superfluous_memory_back_gets_each_piece_once(void)
{
    struct peer peer;
    netblt_client client = peer_client;
    client.discard = discard_and_abort;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.client = &client;
    peer.params.max_buffers = 5;
    begin(&peer, true);
    discards = 0;
    peer_data(&peer, 0, 0, 5, true);
    CHECK_EQUAL(discards, 5);
    expect_abort(&peer, "from inside");
    peer_free(&peer);
}

static enum netblt_send_buffer supply_and_resume(void *context, netblt_connection *connection, uint64_t index,
                                                 uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    struct peer *peer = context;
    enum netblt_send_buffer answer =
        peer_client.get_send_buffer(context, connection, index, capacity, data, length, last);
    if (answer == NETBLT_SEND_BUFFER_WAIT && peer->requests++ < 3) { /* hardly said, and there it is */
        peer->stall_from = UINT64_MAX;
        netblt_resume(connection, peer->now);
    }
    return answer;
}

/* A client may fetch data inside get_send_buffer() and report at once that it has it; what counts is its return value.
 */
static void resume_from_inside_get_send_buffer_is_no_error_and_a_later_one_brings_the_buffer(void)
{
    struct peer peer;
    netblt_client client = peer_client;
    client.get_send_buffer = supply_and_resume;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.client = &client;
    peer.stall_from = 0;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    netblt_resume(peer.connection, peer.now);
    peer_wait(&peer, 1);
    CHECK_EQUAL(peer_count_data(&peer), 4);
    peer_free(&peer);
}

/* ---- two connections ------------------------------------------------------------------------------------------- */

struct twin {
    struct twin *other;
    netblt_connection *connection;
    netblt_time *now;
    int finished, closed;
    enum netblt_result result;
};

static void twin_finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    struct twin *twin = context;
    twin->finished++;
    twin->result = outcome->result;
    if (twin->other->connection != NULL && twin->other->finished == 0)
        CHECK_EQUAL(netblt_abort(twin->other->connection, "both or none", *twin->now), 0);
}

static void twin_closed(void *context, netblt_connection *connection)
{
    (void)connection;
    struct twin *twin = context;
    twin->closed++;
    twin->connection = NULL;
}

/* Both give up opening at the same moment; what the first one's client does ends the second, whose timer is due. */
static void a_connection_that_another_ones_callback_ended_has_no_timers_any_more(void)
{
    struct peer peer;
    struct twin twins[2] = {{.other = &twins[1], .now = &peer.now}, {.other = &twins[0], .now = &peer.now}};
    netblt_client client = {.size = sizeof(netblt_client),
                            .get_send_buffer = peer_client.get_send_buffer,
                            .finished = twin_finished,
                            .closed = twin_closed};
    peer_init(&peer, NETBLT_SENDER, false);
    peer_start(&peer);
    for (unsigned i = 0; i < 2; i++) {
        netblt_path path = {.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, (uint8_t)(2 + i)}}};
        CHECK_EQUAL(netblt_open(peer.endpoint,
                                &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                    .path = &path,
                                                    .local_port = peer.our_port,
                                                    .foreign_port = peer.peer_port,
                                                    .role = NETBLT_SENDER,
                                                    .unique_id = i,
                                                    .params = &peer.params,
                                                    .client = &client,
                                                    .context = &twins[i]},
                                peer.now, &twins[i].connection),
                    0);
    }
    peer_wait(&peer, 1000 * SECOND);
    CHECK_EQUAL(twins[0].result == NETBLT_UNREACHABLE, twins[1].result == NETBLT_LOCAL_ABORT);
    CHECK(twins[0].result != twins[1].result);
    for (unsigned i = 0; i < 2; i++)
        CHECK(twins[i].finished == 1 && twins[i].closed == 1);
    CHECK_EQUAL(peer_count(&peer, ABORT), 1);
    CHECK_EQUAL(peer_count(&peer, KEEPALIVE), 0);
    CHECK(netblt_deadline(peer.endpoint) == NETBLT_TIME_NEVER);
    peer_free(&peer);
}

/* ---- packets of one read ---------------------------------------------------------------------------------------- */

/* One read of a socket may bring both: what follows an ABORT in it meets a connection that is over, and gets no answer
 * in its name. The OPEN of a second attempt would get one from a living connection (OPEN-09). */
static void ABORT_02_an_OPEN_that_arrives_together_with_an_ABORT_behind_it_does_nothing(void)
{
    struct peer peer;
    struct forged packet;
    uint8_t run[2 * 40];
    netblt_path path = {.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, 2}}};
    peer_init(&peer, NETBLT_SENDER, true);
    peer_open(&peer);
    peer_mark(&peer);
    peer.held_up = true;
    for (int i = 0; i < 2; i++) {
        peer.unique_id++;
        if (i == 0)
            forge_reason(&peer, &packet, ABORT, "as long as an OPEN is: so");
        else
            forge_open(&peer, &packet, OPEN, &peer.params, true);
        CHECK_EQUAL(packet.length, 40);
        forged_put16(&packet, 4, 40);
        uint32_t sum = 0;
        for (size_t at = 0; at < 40; at += 2)
            sum += peer_get16(packet.bytes + at);
        sum = sum % 65536 + sum / 65536;
        forged_put16(&packet, 0, ~(sum % 65536 + sum / 65536) & 0xFFFF);
        memcpy(run + 40 * i, packet.bytes, 40);
    }
    CHECK_EQUAL(netblt_input(peer.endpoint, &path, run, sizeof run, 40, peer.now), 0);
    CHECK_EQUAL(peer.result, NETBLT_PEER_ABORTED);
    CHECK(peer.finished == 1 && peer.closed == 1);
    peer.held_up = false;
    peer_wait(&peer, 1000 * SECOND);
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    peer_free(&peer);
}

/* ---- callbacks that are left out --------------------------------------------------------------------------------- */

static enum netblt_send_buffer supply_nothing(void *context, netblt_connection *connection, uint64_t index,
                                              uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)context, (void)connection, (void)index, (void)capacity, (void)data;
    *length = 0;
    *last = true;
    return NETBLT_SEND_BUFFER_READY;
}

static uint8_t *provide_always(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    static uint8_t memory[400];
    (void)context, (void)connection;
    CHECK(index < 2 && capacity == sizeof memory);
    return memory;
}

static void only_closed(void *context, netblt_connection *connection)
{
    struct peer *peer = context;
    netblt_get_info(connection, &peer->info);
    peer->closed++;
}

/* Our end listens: the peer, with its own client, has no part in the callbacks. */
static void start_with(struct peer *peer, enum netblt_role role, const netblt_client *client)
{
    struct forged packet;
    peer_init(peer, role, false);
    peer->client = client;
    peer_start(peer);
    forge_open(peer, &packet, OPEN, &peer->params, role == NETBLT_RECEIVER);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
}

static void a_sender_needs_no_callback_but_get_send_buffer(void)
{
    static const netblt_client client = {
        .size = sizeof(netblt_client), .get_send_buffer = supply_nothing, .closed = only_closed};
    struct peer peer;
    start_with(&peer, NETBLT_SENDER, &client);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_count(&peer, LDATA), 1);
    peer_ok(&peer, 2, 0);
    peer_bare(&peer, DONE);
    CHECK_EQUAL(peer.closed, 1);
    peer_free(&peer);
}

static void a_receiver_needs_no_callback_but_get_receive_buffer(void)
{
    static const netblt_client client = {
        .size = sizeof(netblt_client), .get_receive_buffer = provide_always, .closed = only_closed};
    struct peer peer;
    start_with(&peer, NETBLT_RECEIVER, &client);
    for (unsigned i = 0; i < 4; i++)
        peer_data(&peer, 0, i, 2, true);
    CHECK_EQUAL(peer.closed, 0);
    peer_null_ack(&peer, 3); /* the OK */
    CHECK_EQUAL(peer.closed, 1);
    CHECK_EQUAL(peer.info.stats.payload_bytes, 400);
    peer_free(&peer);
}

int main(void)
{
    RUN(a_client_that_supplies_a_buffer_of_a_wrong_size_ends_its_transfer_and_nothing_of_it_is_sent);
    RUN(a_client_can_only_play_the_role_whose_callback_it_has);
    RUN(limits_that_no_transfer_can_have_refuse_the_OPEN_and_name_the_parameter);
    RUN(a_port_has_one_listener);
    RUN(without_a_profile_an_endpoint_has_the_default_one);
    RUN(the_log_names_what_was_wrong_in_one_line_each);
    RUN(memory_that_a_client_supplies_as_it_aborts_is_given_back);
    RUN(memory_that_a_client_provides_as_it_aborts_is_given_back);
    RUN(a_client_that_aborts_at_a_buffer_gets_none_of_those_that_wait_behind_it);
    RUN(a_client_that_aborts_when_it_gets_superfluous_memory_back_gets_each_piece_once);
    RUN(resume_from_inside_get_send_buffer_is_no_error_and_a_later_one_brings_the_buffer);
    RUN(a_connection_that_another_ones_callback_ended_has_no_timers_any_more);
    RUN(ABORT_02_an_OPEN_that_arrives_together_with_an_ABORT_behind_it_does_nothing);
    RUN(a_sender_needs_no_callback_but_get_send_buffer);
    RUN(a_receiver_needs_no_callback_but_get_receive_buffer);
    return 0;
}
