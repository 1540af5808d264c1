/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "peer.h"

#include <string.h>

/* Peers that may have forged their address (netblt_config.unvalidated_bytes_per_s): what they get, what proves them,
 * and how many there can be. */

#define HOUR (3600 * SECOND)

static void meet(struct peer *peer, enum netblt_role role)
{
    peer_init(peer, role, false);
    peer->wants_proof = true;
}

static uint64_t bytes_since_mark(const struct peer *peer, int but_not)
{
    uint64_t bytes = 0;
    for (size_t i = peer->mark; i < peer->seen_count; i++)
        if (peer->seen[i].type != but_not)
            bytes += peer->seen[i].size;
    return bytes;
}

/* ---- RESPONSE -------------------------------------------------------------------------------------------------- */

#define TEN_LETTERS "abcdefghij"
#define LONG_NAME                                                                                                      \
    TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS        \
        TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS    \
            TEN_LETTERS TEN_LETTERS

static const struct seen *response_to(struct peer *peer, const char *asked, size_t length, const char *answered)
{
    struct forged packet;
    netblt_params params;
    meet(peer, NETBLT_RECEIVER);
    params = peer->params;
    snprintf(peer->params.client_string, sizeof peer->params.client_string, "%s", answered);
    peer_start(peer);
    snprintf(params.client_string, sizeof params.client_string, "%s", asked);
    forge_open(peer, &packet, OPEN, &params, true);
    if (length != 0)
        packet.length = length;
    CHECK_EQUAL(peer_send(peer, &packet), 0);
    return peer_nth(peer, RESPONSE, 0);
}

static void a_RESPONSE_carries_our_client_string_whatever_the_length_of_the_OPEN(void)
{
    static const struct {
        const char *asked;
        size_t length; /* of the OPEN, when it is cut */
        const char *answered, *wanted;
        unsigned wanted_length;
    } cases[] = {
        {"abc", 0, "xyz", "xyz", 40},
        {"abc", 0, "wxyz", "wxyz", 44}, /* longer than the OPEN */
        {"a longer name", 0, "wxyz", "wxyz", 44},
        {"", 0, "a much longer name than none at all", "a much longer name than none at all", 72},
        {"", 36, "wxyz", "wxyz", 44}, /* the OPEN has no string field */
        {"", 36, "", NULL, 36},       /* then an empty string has none either: AMB-03 */
        {"", 36, LONG_NAME, LONG_NAME, 36 + 204},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct peer peer;
        const struct seen *response = response_to(&peer, cases[i].asked, cases[i].length, cases[i].answered);
        CHECK_EQUAL(response->length, cases[i].wanted_length);
        if (cases[i].wanted != NULL)
            CHECK(strcmp((const char *)response->bytes + 36, cases[i].wanted) == 0);
        peer_free(&peer);
    }
}

/* Somebody who forges OPENs gets three times what he sends, and 20 longer RESPONSEs a second. */
static void RESPONSEs_beyond_three_times_their_OPEN_share_the_allowance_of_stateless_replies(void)
{
    struct peer peer;
    struct forged packet;
    response_to(&peer, "", 36, LONG_NAME);
    for (int i = 1; i < 200; i++) {
        forge_open(&peer, &packet, OPEN, &peer.params, true);
        packet.length = 36;
        CHECK_EQUAL(peer_send(&peer, &packet), 0);
    }
    unsigned whole = 0;
    for (unsigned i = 0; i < 200; i++) {
        unsigned size = peer_nth(&peer, RESPONSE, i)->size;
        CHECK(size == 36 || size == 36 + 204); /* whole or not at all */
        whole += size > 36;
    }
    CHECK_EQUAL(whole, 16);
    peer_wait(&peer, SECOND);
    peer_mark(&peer);
    CHECK_EQUAL(peer_send(&peer, &packet), 0);
    CHECK_EQUAL(peer_nth(&peer, RESPONSE, 0)->size, 36 + 204);
    peer_free(&peer);
}

static void a_RESPONSE_within_three_times_its_OPEN_always_carries_our_client_string(void)
{
    struct peer peer;
    struct forged packet;
    char name[72] = "";
    memset(name, 'n', 71);
    response_to(&peer, "", 36, name);
    for (int i = 1; i < 100; i++) {
        forge_open(&peer, &packet, OPEN, &peer.params, true);
        packet.length = 36;
        CHECK_EQUAL(peer_send(&peer, &packet), 0);
    }
    for (unsigned i = 0; i < 100; i++)
        CHECK_EQUAL(peer_nth(&peer, RESPONSE, i)->size, 108);
    peer_free(&peer);
}

/* ---- we receive ------------------------------------------------------------------------------------------------ */

static void a_stranger_gets_one_GO_until_he_acknowledges_it(void)
{
    struct peer peer;
    struct message messages[8];
    meet(&peer, NETBLT_RECEIVER);
    peer.params.max_buffers = 3;
    peer_open(&peer);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 1);
    peer_data(&peer, 0, 0, 0, false); /* DATA that acknowledges nothing shows nothing */
    peer_wait(&peer, 20 * SECOND);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 1);
    CHECK(peer_info(&peer)->unvalidated);
    peer_data(&peer, 0, 1, 1, false);
    CHECK(!peer_info(&peer)->unvalidated);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 2); /* GO 1 and GO 2 */
    CHECK(messages[0].type == GO && messages[0].buffer == 1 && messages[1].buffer == 2);
    peer_free(&peer);
}

/* What a victim gets whose address somebody forged, over the whole life of the connection, however long our death timer
 * and however short the one that the forger declared. */
static void a_silent_stranger_gets_no_more_bytes_than_the_header_file_states(void)
{
    static const uint16_t own_s[] = {1, 30, 3600, 65535}, declared_s[] = {0, 1, 8, 65535};
    static const uint16_t intervals_ms[] = {0, 1000, 65535};
    uint64_t most = 0;
    for (size_t i = 0; i < 4 * 4 * 3 * 2; i++) {
        struct peer peer;
        struct forged packet;
        meet(&peer, NETBLT_RECEIVER);
        peer.params.death_timer_s = own_s[i / 24];
        peer.params.burst_interval_ms = intervals_ms[i / 2 % 3];
        peer_start(&peer);
        netblt_params params = peer.params;
        params.death_timer_s = declared_s[i / 6 % 4];
        forge_open(&peer, &packet, OPEN, &params, true);
        peer_send(&peer, &packet);
        if (i % 2 != 0) /* he forges a whole buffer too, so that an OK joins the GO */
            for (unsigned number = 0; number < 4; number++)
                peer_data(&peer, 0, number, 0, false);
        peer_wait(&peer, 20 * HOUR);
        CHECK_EQUAL(peer.closed, 1);
        CHECK_EQUAL(peer.result, NETBLT_PEER_DEAD);
        CHECK_EQUAL(peer_count(&peer, RESPONSE), 1);
        uint64_t bytes = bytes_since_mark(&peer, RESPONSE);
        CHECK(bytes <= NETBLT_UNPROVEN_RECEIVER_BYTES);
        most = bytes > most ? bytes : most;
        peer_free(&peer);
    }
    printf("   at most %llu bytes beside RESPONSE\n", (unsigned long long)most);
    CHECK(most > NETBLT_UNPROVEN_RECEIVER_BYTES / 2); /* the number is not generous either */
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

static void proven_peers_get_KEEPALIVEs_without_end(void)
{
    struct peer peer;
    meet(&peer, NETBLT_SENDER);
    peer.stall_from = 1;
    peer.params.death_timer_s = 16;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_ok(&peer, 2, 0);
    peer_mark(&peer);
    for (int i = 0; i < 40; i++) {
        peer_wait(&peer, 10 * SECOND);
        peer_bare(&peer, KEEPALIVE);
    }
    CHECK_EQUAL(peer_count(&peer, KEEPALIVE), 100);
    peer_free(&peer);
}

static void QUIT_to_a_stranger_is_repeated_ever_more_rarely(void)
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

/* A sender with many large buffers, to which a stranger can say whatever he likes. */
static void meet_reader(struct peer *peer)
{
    struct forged packet;
    meet(peer, NETBLT_SENDER);
    peer->size = 1 << 20;
    peer->params.packet_size = 1000;
    peer->params.buffer_size = 64000;
    peer->params.max_buffers = 16;
    peer->params.burst_interval_ms = 0;
    peer_start(peer);
    forge_open(peer, &packet, OPEN, &peer->params, false);
    peer_send(peer, &packet);
    peer_mark(peer);
}

static void meet_reader_of_one_large_buffer(struct peer *peer, unsigned packets)
{
    struct forged packet;
    meet(peer, NETBLT_SENDER);
    peer->size = packets * 1000;
    peer->params.packet_size = 1000;
    peer->params.buffer_size = packets * 1000;
    peer->params.death_timer_s = 100;
    peer_start(peer);
    forge_open(peer, &packet, OPEN, &peer->params, false);
    peer_send(peer, &packet);
    CHECK_EQUAL(peer_get32(peer_nth(peer, RESPONSE, 0)->bytes + 16), packets * 1000);
    peer_mark(peer);
}

static void NEG_01_a_large_buffer_is_agreed_and_a_RESEND_of_what_is_missing_validates_its_reader(void)
{
    struct peer peer;
    uint16_t missing[1];
    meet_reader_of_one_large_buffer(&peer, 1000);
    peer_go(&peer, 1, 0);
    peer_wait(&peer, 20 * SECOND);
    size_t first = peer_count_data(&peer);
    CHECK(first < 1000); /* six grants are not enough */
    CHECK_EQUAL(peer.closed, 0);
    CHECK(peer_info(&peer)->unvalidated);
    missing[0] = 999;
    peer_resend(&peer, 2, 0, missing, 1); /* so it has the first one */
    CHECK(!peer_info(&peer)->unvalidated);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 1000);
    peer_ok(&peer, 3, 0);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

static void a_large_buffer_for_a_silent_stranger_ends_at_the_bound(void)
{
    struct peer peer;
    meet_reader_of_one_large_buffer(&peer, 1000);
    peer_go(&peer, 1, 0);
    peer_wait(&peer, HOUR);
    CHECK_EQUAL(peer.result, NETBLT_PEER_DEAD);
    CHECK_EQUAL(peer_count_data(&peer), NETBLT_UNPROVEN_GRANTS * (131072 / 1024));
    peer_free(&peer);
}

static void a_stranger_gets_the_buffers_that_fit_one_grant_until_he_completes_one(void)
{
    struct peer peer;
    meet_reader(&peer);
    for (unsigned i = 0; i < 5; i++)
        peer_go(&peer, i + 1, i);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 2 * 64); /* of 65,536 bytes each, in packets */
    peer_ok(&peer, 6, 0);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 5 * 64);
    peer_free(&peer);
}

static void a_stranger_may_have_several_small_buffers(void)
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

/* Every packet of the first buffer is asked for again as soon as it has come, for hours. */
static void a_stranger_who_asks_again_and_again_gets_six_grants_and_is_given_up(void)
{
    struct peer peer;
    uint16_t all[64];
    meet_reader(&peer);
    for (unsigned i = 0; i < 64; i++)
        all[i] = (uint16_t)i;
    peer_go(&peer, 1, 0);
    for (unsigned seq = 2; seq < 2000 && peer.closed == 0; seq++) {
        peer_resend(&peer, seq, 0, all, 64);
        peer_wait(&peer, 50 * MS);
    }
    CHECK_EQUAL(peer.result, NETBLT_LOCAL_ABORT);
    CHECK_EQUAL(peer_count(&peer, ABORT), 1);
    uint64_t data = 0;
    for (size_t i = 0; i < peer_count_data(&peer); i++)
        data += peer_nth_data(&peer, i)->size;
    CHECK(data <= (uint64_t)NETBLT_UNPROVEN_GRANTS * 131072);
    CHECK(data > (uint64_t)NETBLT_UNPROVEN_GRANTS * 131072 - 65536 - 1024);
    CHECK(peer.now > 15 * SECOND); /* 1 + 2 + 4 + 8 */
    peer_free(&peer);
}

static void a_lossy_path_gets_its_repeats_at_once(void)
{
    struct peer peer;
    uint16_t half[32];
    meet_reader(&peer);
    for (unsigned i = 0; i < 32; i++)
        half[i] = (uint16_t)(2 * i);
    peer_go(&peer, 1, 0);
    for (unsigned seq = 2; seq <= 6; seq++) { /* half of it five times over */
        peer_resend(&peer, seq, 0, half, 32);
        peer_wait(&peer, MS);
        CHECK_EQUAL(peer_count_data(&peer), 64 + (seq - 1) * 32);
    }
    peer_free(&peer);
}

/* ---- how many -------------------------------------------------------------------------------------------------- */

static struct {
    unsigned finished, closed;
    netblt_connection *last_finished;
    char reason[100];
} seats;

static uint8_t *provide_seat(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)context, (void)connection, (void)index, (void)capacity;
    static uint8_t memory[1000];
    return memory;
}

static enum netblt_supply supply_seat(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity,
                                      const uint8_t **data, uint32_t *length, bool *last)
{
    (void)context, (void)connection, (void)index, (void)capacity, (void)data, (void)length, (void)last;
    return NETBLT_SUPPLY_WAIT;
}

static void finished_seat(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)context;
    seats.finished++;
    seats.last_finished = connection;
    snprintf(seats.reason, sizeof seats.reason, "%s", outcome->reason);
}

static void closed_seat(void *context, netblt_connection *connection)
{
    (void)context, (void)connection;
    seats.closed++;
}

static const netblt_client seat = {
    .supply = supply_seat, .provide = provide_seat, .finished = finished_seat, .closed = closed_seat};

static void accept_seat(void *context, const netblt_request *request, netblt_answer *answer)
{
    (void)context, (void)request;
    answer->accept = true;
    answer->client = &seat;
    answer->limits.buffer_size = 1000;
}

static netblt_endpoint *endpoint_with(uint32_t strangers)
{
    netblt_config config;
    netblt_config_default(&config);
    config.unvalidated_connections = strangers;
    netblt_endpoint *endpoint = netblt_endpoint_new(&config);
    CHECK_EQUAL(netblt_listen(endpoint, 1, accept_seat, NULL), 0);
    memset(&seats, 0, sizeof seats);
    return endpoint;
}

/* A peer object without an endpoint of its own, to forge with. */
static void forge_from(struct peer *forger, netblt_endpoint *endpoint, uint16_t port, struct forged *packet)
{
    netblt_path path = {.local = {1, {1}}, .foreign = {1, {2}}};
    forged_put16(packet, 6, port);
    forged_put16(packet, 8, 1);
    forged_put16(packet, 4, (unsigned)packet->length);
    forged_put16(packet, 0, 0);
    uint32_t sum = 0;
    for (size_t i = 0; i < packet->length; i += 2)
        sum += peer_get16(packet->bytes + i);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    forged_put16(packet, 0, ~sum & 0xFFFF);
    CHECK_EQUAL(netblt_input(endpoint, &path, packet->bytes, packet->length, packet->length, forger->now), 0);
}

static unsigned count_type(netblt_endpoint *endpoint, int type, netblt_time now)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES];
    netblt_output output;
    unsigned count = 0;
    while (netblt_output_burst(endpoint, packets, sizeof packets, &output, now) > 0)
        count += packets[3] == type;
    return count;
}

static void a_flood_of_forged_OPENs_evicts_the_oldest_strangers_and_nobody_else(void)
{
    struct peer forger;
    struct forged packet;
    peer_init(&forger, NETBLT_RECEIVER, false);
    netblt_endpoint *endpoint = endpoint_with(8);
    for (uint16_t port = 100; port < 103; port++) { /* three honest peers, who acknowledge their first GO */
        forge_open(&forger, &packet, OPEN, &forger.params, true);
        forge_from(&forger, endpoint, port, &packet);
        CHECK_EQUAL(count_type(endpoint, CONTROL, forger.now), 1);
        forge_null_ack(&forger, &packet, 1, 10, 1);
        forge_from(&forger, endpoint, port, &packet);
        CHECK_EQUAL(count_type(endpoint, CONTROL, forger.now), 1);
    }
    for (uint16_t port = 1000; port < 1000 + 8; port++) {
        forge_open(&forger, &packet, OPEN, &forger.params, true);
        forge_from(&forger, endpoint, port, &packet);
    }
    CHECK_EQUAL(seats.finished, 0);
    count_type(endpoint, 0, forger.now);
    for (unsigned i = 0; i < 5000; i++) {
        forge_open(&forger, &packet, OPEN, &forger.params, true);
        forge_from(&forger, endpoint, (uint16_t)(2000 + i), &packet);
        CHECK_EQUAL(seats.finished, i + 1);
        CHECK_EQUAL(seats.closed, i + 1);
    }
    CHECK(strstr(seats.reason, "half-open") != NULL);
    CHECK(count_type(endpoint, ABORT, forger.now) <=
          16);                            /* the evicted are told, as far as strangers are told anything */
    for (unsigned i = 0; i < 5000; i++) { /* of the strangers, the newest are */
        forge(&forger, &packet, QUIT);
        forge_from(&forger, endpoint, (uint16_t)(2000 + i), &packet);
        CHECK_EQUAL(count_type(endpoint, QUITACK, forger.now), i < 5000 - 8 ? 0 : 1);
    }
    for (uint16_t port = 100; port < 103; port++) { /* the honest are still there */
        forge(&forger, &packet, QUIT);
        forge_from(&forger, endpoint, port, &packet);
        CHECK_EQUAL(count_type(endpoint, QUITACK, forger.now), 1);
    }
    netblt_endpoint_free(endpoint);
}

static void a_REFUSED_is_never_longer_than_its_OPEN(void)
{
    static const struct {
        const char *asked;
        size_t length; /* of the OPEN, when it is cut */
        const char *reason, *wanted;
    } cases[] = {
        {"", 36, "a", "a"}, /* no string field: 24 bytes are left for a text */
        {"", 36, "12345678901234567890123", "12345678901234567890123"},
        {"", 36, "123456789012345678901234", "12345678901234567890123"},
        {"", 0, "123456789012345678901234", "123456789012345678901234"},
        {"a longer name", 0, "1234567890123456789012345678901234567890", "123456789012345678901234567890123456789"},
        {"", 36, "1234567890123456789012\xC3\xA9", "1234567890123456789012"}, /* no half characters */
        {"", 36, "123456789012345678901\xC3\xA9", "123456789012345678901\xC3\xA9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct peer peer;
        struct forged packet;
        meet(&peer, NETBLT_RECEIVER);
        peer_start(&peer);
        peer.refuse = true;
        peer.refusal = cases[i].reason;
        netblt_params params = peer.params;
        snprintf(params.client_string, sizeof params.client_string, "%s", cases[i].asked);
        forge_open(&peer, &packet, OPEN, &params, true);
        if (cases[i].length != 0)
            packet.length = cases[i].length;
        peer_send(&peer, &packet);
        const struct seen *refused = peer_nth(&peer, REFUSED, 0);
        CHECK(refused->size <= packet.length);
        CHECK(strcmp((const char *)refused->bytes + 12, cases[i].wanted) == 0);
        peer_free(&peer);
    }
}

static void ABORTs_and_REFUSEDs_for_strangers_share_one_allowance(void)
{
    struct peer forger;
    struct forged packet;
    peer_init(&forger, NETBLT_RECEIVER, false);
    netblt_endpoint *endpoint = endpoint_with(1000);
    for (unsigned i = 0; i < 200; i++) {
        forge_open(&forger, &packet, OPEN, &forger.params, false); /* an OK for a buffer that was never sent: AMB-48 */
        forge_from(&forger, endpoint, (uint16_t)(2000 + i), &packet);
        forge(&forger, &packet, CONTROL);
        forge_ok(&packet, 1, 7, 10, 1, 500);
        forge_from(&forger, endpoint, (uint16_t)(2000 + i), &packet);
        CHECK_EQUAL(seats.closed, i + 1);
    }
    CHECK_EQUAL(count_type(endpoint, ABORT, forger.now), 16);
    for (unsigned i = 0; i < 200; i++) {
        forge_open(&forger, &packet, OPEN, &forger.params, true);
        forged_put16(&packet, 24, 0); /* packet size 0 is refused */
        forge_from(&forger, endpoint, (uint16_t)(9000 + i), &packet);
    }
    CHECK_EQUAL(count_type(endpoint, REFUSED, forger.now), 0);
    forger.now += 500 * MS; /* one more in 50 ms */
    for (unsigned i = 0; i < 200; i++) {
        forge_open(&forger, &packet, OPEN, &forger.params, true);
        forged_put16(&packet, 24, 0);
        forge_from(&forger, endpoint, (uint16_t)(9000 + i), &packet);
    }
    CHECK_EQUAL(count_type(endpoint, REFUSED, forger.now), 10);
    netblt_endpoint_free(endpoint);
}

/* The bound holds to the packet, also when a grant ends inside a burst. */
static void a_grant_that_ends_inside_a_burst_cuts_it_there_and_the_rest_follows_with_the_next(void)
{
    enum { PACKETS = 50, GRANT_PACKETS = 131072 / 1024 };
    struct peer peer;
    uint16_t all[PACKETS];
    for (unsigned i = 0; i < PACKETS; i++)
        all[i] = (uint16_t)i;
    meet(&peer, NETBLT_SENDER);
    peer.size = 50000;
    peer.params.packet_size = 1000;
    peer.params.buffer_size = PACKETS * 1000;
    peer.params.burst_interval_ms = 0;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    for (unsigned seq = 2; peer_count_data(&peer) < 2 * GRANT_PACKETS; seq++) {
        CHECK(seq < 20);
        peer_resend(&peer, seq, 0, all, PACKETS);
    }
    CHECK_EQUAL(peer_count_data(&peer), 2 * GRANT_PACKETS); /* no multiple of the packets asked for */
    peer_wait(&peer, SECOND - 1);
    CHECK_EQUAL(peer_count_data(&peer), 2 * GRANT_PACKETS);
    peer_wait(&peer, 1);
    CHECK_EQUAL(peer_count_data(&peer), 6 * PACKETS);
    peer_free(&peer);
}

int main(void)
{
    RUN(a_RESPONSE_carries_our_client_string_whatever_the_length_of_the_OPEN);
    RUN(RESPONSEs_beyond_three_times_their_OPEN_share_the_allowance_of_stateless_replies);
    RUN(a_RESPONSE_within_three_times_its_OPEN_always_carries_our_client_string);
    RUN(a_stranger_gets_one_GO_until_he_acknowledges_it);
    RUN(a_silent_stranger_gets_no_more_bytes_than_the_header_file_states);
    RUN(TIMER_11_KEEPALIVEs_go_on_as_long_as_an_unvalidated_peer_is_alive);
    RUN(an_unvalidated_peer_gets_a_bounded_number_of_KEEPALIVEs_for_each_of_its_packets);
    RUN(proven_peers_get_KEEPALIVEs_without_end);
    RUN(QUIT_to_a_stranger_is_repeated_ever_more_rarely);
    RUN(NEG_01_a_large_buffer_is_agreed_and_a_RESEND_of_what_is_missing_validates_its_reader);
    RUN(a_large_buffer_for_a_silent_stranger_ends_at_the_bound);
    RUN(a_stranger_gets_the_buffers_that_fit_one_grant_until_he_completes_one);
    RUN(a_stranger_may_have_several_small_buffers);
    RUN(a_stranger_who_asks_again_and_again_gets_six_grants_and_is_given_up);
    RUN(a_lossy_path_gets_its_repeats_at_once);
    RUN(a_flood_of_forged_OPENs_evicts_the_oldest_strangers_and_nobody_else);
    RUN(a_REFUSED_is_never_longer_than_its_OPEN);
    RUN(ABORTs_and_REFUSEDs_for_strangers_share_one_allowance);
    RUN(a_grant_that_ends_inside_a_burst_cuts_it_there_and_the_rest_follows_with_the_next);
    return 0;
}
