/* SPDX-License-Identifier: BSD-2-Clause */
/* Unvalidated peers (netblt_config.unvalidated_bytes_per_s, core/connection/validation.h): what they get and what
 * validates them. budget_test.c has their limit, resend_challenge_test.c the packets withheld from them. */
#include "check.h"
#include "peer.h"
#include "random.h"

#include <string.h>

#define HOUR (3600 * SECOND)

static void meet(struct peer *peer, enum netblt_role role)
{
    peer_init(peer, role, false);
    peer->unvalidated_bytes_per_s = 65536;
    for (uint8_t i = 0; i < NETBLT_SECRET_BYTES; i++)
        peer->secret[i] = i;
}

static uint64_t bytes_since_mark(const struct peer *peer, int but_not)
{
    uint64_t bytes = 0;
    for (size_t i = peer->mark; i < peer->seen_count; i++)
        if (peer->seen[i].type != but_not)
            bytes += peer->seen[i].size;
    return bytes;
}

/* ---- we receive ------------------------------------------------------------------------------------------------ */

/* Opened; the number of our first buffer, which only a peer that gets our packets knows, is peer->first_buffer. */
static void begin(struct peer *peer, uint16_t max_buffers)
{
    struct message messages[8];
    meet(peer, NETBLT_RECEIVER);
    peer->params.max_buffers = max_buffers;
    peer_open(peer);
    CHECK_EQUAL(peer_last_messages(peer, messages, 8), 1);
    CHECK_EQUAL(messages[0].type, GO);
    peer->first_buffer = messages[0].buffer;
}

static void an_unvalidated_peer_gets_one_GO_and_up_to_four_once_it_has_acknowledged(void)
{
    struct peer peer;
    struct message messages[8];
    begin(&peer, 7);
    peer_wait(&peer, 20 * SECOND);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 1);
    peer_null_ack(&peer, 1);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 3);
    CHECK(messages[2].type == GO && messages[2].buffer == peer.first_buffer + 3);
    peer_null_ack(&peer, 4);
    peer_mark(&peer);
    peer_wait(&peer, 10 * SECOND);
    for (size_t i = 0; i < peer_count(&peer, CONTROL); i++)
        for (size_t k = peer_messages(peer_nth(&peer, CONTROL, i), messages, 8); k > 0; k--)
            CHECK_EQUAL(messages[k - 1].type, RESEND); /* of what does not come */
    CHECK(peer_info(&peer)->unvalidated);              /* any host can forge a NULL-ACK */
    peer_data(&peer, peer.first_buffer, 0, 8, false);  /* which acknowledges the RESENDs */
    CHECK(!peer_info(&peer)->unvalidated);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 3);
    CHECK(messages[0].type == GO && messages[0].buffer == peer.first_buffer + 4);
    CHECK(messages[2].type == GO && messages[2].buffer == peer.first_buffer + 6);
    peer_free(&peer);
}

static void DATA_of_the_first_buffer_validates_and_brings_all_GOs(void)
{
    struct peer peer;
    struct message messages[8];
    begin(&peer, 3);
    peer_data(&peer, peer.first_buffer, 0, 1, false);
    CHECK(!peer_info(&peer)->unvalidated);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 2);
    peer_free(&peer);
}

/* Neither stored, nor taken as an acknowledgement, nor a validation. */
static void DATA_with_a_number_that_no_GO_has_named_does_nothing(void)
{
    struct random random = {4};
    struct peer peer;
    struct message messages[8];
    uint8_t bytes[100] = {0};
    begin(&peer, 3);
    for (unsigned i = 0; i < 3000; i++) {
        struct forged packet;
        uint32_t number = peer.first_buffer + (uint32_t)random_next(&random);
        if (i < 3)
            number = peer.first_buffer + 1 + i; /* the next ones, whose GOs have not left */
        else if (i == 3)
            number = peer.first_buffer - 1;
        else if (i < 10)
            number = i; /* where most receivers start */
        if (number == peer.first_buffer)
            continue;
        forge_data(&peer, &packet, DATA, number, 0, 1, false, bytes, 100, false);
        CHECK_EQUAL(peer_send(&peer, &packet), 0);
    }
    CHECK(peer_info(&peer)->unvalidated);
    CHECK_EQUAL(peer.info.stats.data_packets_duplicate, peer.info.stats.data_packets_received);
    peer_mark(&peer);
    peer_wait(&peer, 10 * SECOND); /* GO is not acknowledged: it is repeated, and no other has joined it */
    CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 1);
    CHECK_EQUAL(messages[0].seq, 1);
    for (unsigned number = 0; number < 4; number++)
        peer_data(&peer, peer.first_buffer, number, 1, true);
    CHECK(peer_delivered_exactly(&peer, 400));
    peer_free(&peer);
}

/* What a victim gets whose address was forged, over the whole life of the connection, however long our death timer
 * and however short the one that the forger declared: four KEEPALIVEs in each of 30 death timers of the peer, and GOs
 * ever more rarely. */
static void a_silent_peer_gets_few_bytes_in_all(void)
{
    static const uint16_t own_s[] = {1, 30, 3600, 65535}, declared_s[] = {0, 1, 8, 65535};
    static const uint16_t intervals_ms[] = {0, 1000, 65535};
    uint64_t most = 0;
    for (size_t i = 0; i < 4 * 4 * 3; i++) {
        struct peer peer;
        struct forged packet;
        meet(&peer, NETBLT_RECEIVER);
        peer.params.death_timer_s = own_s[i / 12];
        peer.params.burst_interval_ms = intervals_ms[i % 3];
        peer_start(&peer);
        netblt_params params = peer.params;
        params.death_timer_s = declared_s[i / 3 % 4];
        forge_open(&peer, &packet, OPEN, &params, true);
        peer_send(&peer, &packet);
        peer_wait(&peer, 20 * HOUR);
        CHECK_EQUAL(peer.closed, 1);
        CHECK_EQUAL(peer.result, NETBLT_PEER_DEAD);
        CHECK_EQUAL(peer_count(&peer, RESPONSE), 1);
        CHECK(peer_count(&peer, KEEPALIVE) <= 120);
        uint64_t bytes = bytes_since_mark(&peer, RESPONSE);
        most = bytes > most ? bytes : most;
        peer_free(&peer);
    }
    printf("   at most %llu bytes beside RESPONSE\n", (unsigned long long)most);
    CHECK(most <= 2048);
}

/* The peer is alive as long as it sends anything, and must hear from us within its own death timer (RFC 998 5.2.3). */
static void TIMER_11_KEEPALIVEs_go_on_as_long_as_an_unvalidated_peer_is_alive(void)
{
    static const struct {
        uint16_t own_s, peer_s;
    } cases[] = {{30, 2}, {30, 1}, {60, 3}, {120, 5}, {3600, 8}, {8, 60}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        struct peer peer;
        struct forged packet;
        meet(&peer, i % 2 == 0 ? NETBLT_SENDER : NETBLT_RECEIVER);
        peer.stall_from = 0; /* no GO of ours: nothing that the peer could acknowledge */
        peer.params.death_timer_s = cases[i / 2].own_s;
        peer_start(&peer);
        netblt_params params = peer.params;
        params.death_timer_s = cases[i / 2].peer_s;
        forge_open(&peer, &packet, OPEN, &params, i % 2 != 0);
        peer_send(&peer, &packet);
        netblt_time declared = peer_get16(peer_nth(&peer, RESPONSE, 0)->bytes + 30) * SECOND;
        netblt_time begun = peer.now;
        while (peer.now < begun + 10 * declared) { /* four KEEPALIVEs in our time, three of which are lost */
            peer_wait(&peer, declared - 1);
            peer_bare(&peer, KEEPALIVE);
        }
        CHECK_EQUAL(peer.closed, 0);
        for (size_t n = 1; n < peer.seen_count; n++)
            CHECK(peer.seen[n].at - peer.seen[n - 1].at <= cases[i / 2].peer_s * SECOND / 2);
        peer_free(&peer);
    }
}

static void an_unvalidated_peer_gets_a_bounded_number_of_KEEPALIVEs_for_each_of_its_packets(void)
{
    struct peer peer;
    struct forged packet;
    meet(&peer, NETBLT_SENDER);
    peer.params.death_timer_s = 65535;
    peer_start(&peer);
    netblt_params params = peer.params;
    params.death_timer_s = 1;
    forge_open(&peer, &packet, OPEN, &params, false);
    peer_send(&peer, &packet);
    CHECK_EQUAL(peer_get16(peer_nth(&peer, RESPONSE, 0)->bytes + 30), 30); /* our death timer, for this peer */
    peer_wait(&peer, 20 * SECOND);
    peer_mark(&peer);
    peer_bare(&peer, KEEPALIVE);
    peer_wait(&peer, HOUR);
    CHECK_EQUAL(peer.result, NETBLT_PEER_DEAD);
    CHECK(bytes_since_mark(&peer, RESPONSE) <= 120 * 12);
    peer_free(&peer);
}

static void QUIT_to_an_unvalidated_peer_is_repeated_ever_more_rarely(void)
{
    struct peer peer;
    meet(&peer, NETBLT_RECEIVER);
    peer.params.death_timer_s = 64;
    peer_open(&peer);
    CHECK_EQUAL(netblt_quit(peer.connection, "no", peer.now), 0);
    peer_wait(&peer, 100 * SECOND);
    CHECK_EQUAL(peer_count(&peer, QUIT), 7); /* at 0, 1, 3, 7, 15, 31, 63 */
    peer_free(&peer);
}

/* ---- we send --------------------------------------------------------------------------------------------------- */

static void meet_reader(struct peer *peer, unsigned packets, unsigned buffers)
{
    meet(peer, NETBLT_SENDER);
    peer->size = (uint64_t)packets * buffers * 1000;
    peer->params.packet_size = 1000;
    peer->params.buffer_size = packets * 1000;
    peer->params.max_buffers = 16;
    peer->params.death_timer_s = 100;
    peer_open(peer);
    CHECK_EQUAL(peer_get32(peer_nth(peer, RESPONSE, 0)->bytes + 16), packets * 1000);
    peer_mark(peer);
}

/* 499 of 1000 are withheld; the others take 15 s by the limit. */
static void NEG_01_a_large_buffer_is_agreed_and_completes(void)
{
    struct peer peer;
    uint16_t missing[1000];
    unsigned count = 0;
    meet_reader(&peer, 1000, 1);
    peer_go(&peer, 1, 0);
    peer_wait(&peer, 16 * SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 501);
    for (unsigned packet = 0; packet < 1000; packet++)
        if (peer_times_sent(&peer, 0, packet) == 0)
            missing[count++] = (uint16_t)packet;
    peer_resend(&peer, 2, 0, missing, count);
    CHECK(!peer_info(&peer)->unvalidated);
    peer_wait(&peer, MS);
    CHECK_EQUAL(peer_count_data(&peer), 1000); /* a validated peer has no limit */
    peer_ok(&peer, 3, 0);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

/* Two buffers of 32,768 bytes in packets, of which the second lacks 15 packets, are one second's limit. */
static void an_unvalidated_peer_has_the_buffers_that_fit_one_second(void)
{
    struct peer peer;
    meet_reader(&peer, 32, 10);
    for (unsigned i = 0; i < 5; i++)
        peer_go(&peer, i + 1, i);
    peer_wait(&peer, 5 * SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 32 + 17);
    peer_ok(&peer, 6, 0);
    peer_wait(&peer, 5 * SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 32 + 2 * 17);
    peer_free(&peer);
}

static void it_may_have_several_small_ones(void)
{
    struct peer peer;
    meet(&peer, NETBLT_SENDER);
    peer.params.max_buffers = 3;
    peer.size = 100000;
    peer_open(&peer);
    for (unsigned i = 0; i < 3; i++)
        peer_go(&peer, i + 1, i);
    CHECK_EQUAL(peer_count_data(&peer), 12);
    peer_free(&peer);
}

static void a_reader_that_completes_a_small_transfer_needs_no_validation(void)
{
    struct peer peer;
    meet(&peer, NETBLT_SENDER);
    peer_open(&peer);
    for (unsigned i = 0; i < 2; i++)
        peer_go(&peer, i + 1, i);
    for (unsigned i = 0; i < 2; i++)
        peer_ok(&peer, i + 3, i);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

/* ---- the client is notified ------------------------------------------------------------------------------------ */

static struct {
    unsigned validated, validated_after_delivery;
    bool aborts;
} notified;

static netblt_client notified_client;

static void on_validated(void *context, netblt_connection *connection)
{
    struct peer *peer = context;
    netblt_info info;
    netblt_get_info(connection, &info);
    CHECK(!info.unvalidated);
    notified.validated++;
    notified.validated_after_delivery += peer->deliveries > 0;
    if (notified.aborts)
        CHECK_EQUAL(netblt_abort(connection, "not you", peer->now), 0);
}

static void ask_for_notice(struct peer *peer, bool aborts)
{
    memset(&notified, 0, sizeof notified);
    notified.aborts = aborts;
    notified_client = peer_client;
    notified_client.validated = on_validated;
    peer->client = &notified_client;
}

/* Buffers of one packet: the first DATA validates and completes one. */
static void open_for_one_packet(struct peer *peer, bool aborts)
{
    struct message messages[8];
    meet(peer, NETBLT_RECEIVER);
    ask_for_notice(peer, aborts);
    peer->params.buffer_size = 100;
    peer_open(peer);
    CHECK_EQUAL(peer_last_messages(peer, messages, 8), 1);
    peer->first_buffer = messages[0].buffer;
}

static void send_one_packet(struct peer *peer, uint32_t index, bool last)
{
    struct forged packet;
    forge_data(peer, &packet, LDATA, peer->first_buffer + index, 0, 1, last, peer->data + index * 100, 100, false);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
}

static void a_receiving_client_is_notified_once_before_the_first_delivery(void)
{
    struct peer peer;
    open_for_one_packet(&peer, false);
    peer_null_ack(&peer, 1);
    CHECK_EQUAL(notified.validated, 0);
    send_one_packet(&peer, 0, false);
    CHECK_EQUAL(notified.validated, 1);
    CHECK_EQUAL(notified.validated_after_delivery, 0);
    CHECK_EQUAL(peer.deliveries, 1);
    send_one_packet(&peer, 1, true);
    CHECK_EQUAL(peer.deliveries, 2);
    CHECK_EQUAL(notified.validated, 1);
    peer_free(&peer);
}

static void a_receiving_client_may_abort_when_it_is_notified(void)
{
    struct peer peer;
    open_for_one_packet(&peer, true);
    send_one_packet(&peer, 0, false);
    CHECK_EQUAL(notified.validated, 1);
    CHECK_EQUAL(peer.deliveries, 0);
    CHECK_EQUAL(peer.result, NETBLT_LOCAL_ABORT);
    CHECK_EQUAL(peer.closed, 1);
    CHECK_EQUAL(peer_count(&peer, ABORT), 1); /* the peer is validated: it gets a packet */
    peer_free(&peer);
}

static void a_sending_client_is_notified_and_may_abort(void)
{
    for (int aborts = 0; aborts < 2; aborts++) {
        struct peer peer;
        uint16_t missing[64];
        unsigned count = 0;
        meet(&peer, NETBLT_SENDER);
        ask_for_notice(&peer, aborts != 0);
        peer.size = 64000;
        peer.params.packet_size = 1000;
        peer.params.buffer_size = 64000;
        peer_open(&peer);
        peer_go(&peer, 1, 0);
        peer_wait(&peer, SECOND);
        for (unsigned packet = 0; packet < 64; packet++)
            if (peer_times_sent(&peer, 0, packet) == 0)
                missing[count++] = (uint16_t)packet;
        CHECK_EQUAL(notified.validated, 0);
        peer_resend(&peer, 2, 0, missing, count);
        CHECK_EQUAL(notified.validated, 1);
        CHECK_EQUAL(peer.closed, aborts);
        peer_free(&peer);
    }
}

static void no_client_is_notified_where_every_peer_counts_as_validated(void)
{
    struct peer peer;
    meet(&peer, NETBLT_RECEIVER);
    ask_for_notice(&peer, false);
    peer.unvalidated_bytes_per_s = 0;
    peer_open(&peer);
    struct message messages[8];
    CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 2); /* all GOs at once */
    CHECK(!peer_info(&peer)->unvalidated);
    peer.first_buffer = messages[0].buffer;
    peer_data(&peer, peer.first_buffer, 0, 1, false);
    CHECK_EQUAL(notified.validated, 0);
    peer_free(&peer);
}

int main(void)
{
    RUN(an_unvalidated_peer_gets_one_GO_and_up_to_four_once_it_has_acknowledged);
    RUN(DATA_of_the_first_buffer_validates_and_brings_all_GOs);
    RUN(DATA_with_a_number_that_no_GO_has_named_does_nothing);
    RUN(a_silent_peer_gets_few_bytes_in_all);
    RUN(TIMER_11_KEEPALIVEs_go_on_as_long_as_an_unvalidated_peer_is_alive);
    RUN(an_unvalidated_peer_gets_a_bounded_number_of_KEEPALIVEs_for_each_of_its_packets);
    RUN(QUIT_to_an_unvalidated_peer_is_repeated_ever_more_rarely);
    RUN(NEG_01_a_large_buffer_is_agreed_and_completes);
    RUN(an_unvalidated_peer_has_the_buffers_that_fit_one_second);
    RUN(it_may_have_several_small_ones);
    RUN(a_reader_that_completes_a_small_transfer_needs_no_validation);
    RUN(a_receiving_client_is_notified_once_before_the_first_delivery);
    RUN(a_receiving_client_may_abort_when_it_is_notified);
    RUN(a_sending_client_is_notified_and_may_abort);
    RUN(no_client_is_notified_where_every_peer_counts_as_validated);
    return 0;
}
