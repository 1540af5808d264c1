/* SPDX-License-Identifier: BSD-2-Clause */
/* What forged OPENs get from us: RESPONSE and REFUSED within the limit for unvalidated peers, and a bounded number of
 * connections. */
#include "check.h"
#include "peer.h"

#include <string.h>

static void meet(struct peer *peer, enum netblt_role role)
{
    peer_init(peer, role, false);
    peer->unvalidated_bytes_per_s = 65536;
    for (uint8_t i = 0; i < NETBLT_SECRET_BYTES; i++)
        peer->secret[i] = i;
}

/* ---- RESPONSE -------------------------------------------------------------------------------------------------- */

#define TEN_LETTERS "abcdefghij"
#define LONG_NAME                                                                                                      \
    TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS        \
        TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS    \
            TEN_LETTERS TEN_LETTERS

static const struct seen *response_to(struct peer *peer, uint32_t bytes_per_s, const char *asked, size_t length,
                                      const char *answered)
{
    struct forged packet;
    netblt_params params;
    meet(peer, NETBLT_RECEIVER);
    peer->unvalidated_bytes_per_s = bytes_per_s;
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
        const struct seen *response = response_to(&peer, 65536, cases[i].asked, cases[i].length, cases[i].answered);
        CHECK_EQUAL(response->length, cases[i].wanted_length);
        if (cases[i].wanted != NULL)
            CHECK(strcmp((const char *)response->bytes + 36, cases[i].wanted) == 0);
        peer_free(&peer);
    }
}

static void repeat_short_open(struct peer *peer)
{
    struct forged packet;
    forge_open(peer, &packet, OPEN, &peer->params, true);
    packet.length = 36;
    CHECK_EQUAL(peer_send(peer, &packet), 0);
}

/* A RESPONSE takes 288 bytes with the client string and headers, 84 without. 50 OPENs of 36 bytes pay for 5400, the
 * bucket holds 1000 more: 10 * 288 + 40 * 84 is the most that fits. */
static void a_client_string_that_the_limit_does_not_allow_is_left_out_whole(void)
{
    struct peer peer;
    response_to(&peer, 1000, "", 36, LONG_NAME);
    for (int i = 1; i < 50; i++)
        repeat_short_open(&peer);
    unsigned whole = 0;
    for (unsigned i = 0; i < 50; i++) {
        unsigned size = peer_nth(&peer, RESPONSE, i)->size;
        CHECK(size == 36 || size == 36 + 204);
        whole += size > 36;
    }
    CHECK_EQUAL(whole, 10);
    peer_wait(&peer, SECOND);
    peer_mark(&peer);
    repeat_short_open(&peer);
    CHECK_EQUAL(peer_nth(&peer, RESPONSE, 0)->size, 36 + 204);
    peer_free(&peer);
}

/* 36 + 24 + 48 = 3 * 36 */
static void a_client_string_that_the_OPEN_pays_for_is_always_there(void)
{
    struct peer peer;
    response_to(&peer, 1, "", 36, "a string of 23 letters.");
    for (int i = 1; i < 100; i++)
        repeat_short_open(&peer);
    for (unsigned i = 0; i < 100; i++)
        CHECK_EQUAL(peer_nth(&peer, RESPONSE, i)->size, 36 + 24);
    peer_free(&peer);
}

static void a_REFUSED_is_cut_to_what_its_OPEN_pays_for(void)
{
    static const struct {
        const char *asked;
        size_t length; /* of the OPEN, when it is cut */
        const char *reason, *wanted;
    } cases[] = {
        {"", 36, "a", "a"},
        /* 3 * 36 - 48 - 12 = 48 bytes of text, one of them the NUL */
        {"", 36, TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS "1234567",
         TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS "1234567"},
        {"", 36, TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS "12345678",
         TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS "1234567"},
        /* no half characters */
        {"", 36, TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS "123456\xC3\xA9",
         TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS "123456"},
        {"", 36, TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS "1234\xF0\x9F\x98\x80!",
         TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS "1234"},
        {"", 36, TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS "12345\xC3\xA9",
         TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS "12345\xC3\xA9"},
        /* an OPEN of 40 bytes: 60 bytes of text */
        {"", 0, LONG_NAME, TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS "abcdefghi"},
        {LONG_NAME, 0, LONG_NAME, LONG_NAME},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct peer peer;
        struct forged packet;
        meet(&peer, NETBLT_RECEIVER);
        peer.unvalidated_bytes_per_s = 1;
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
        CHECK(refused->size + 48 <= 3 * packet.length);
        CHECK(strcmp((const char *)refused->bytes + 12, cases[i].wanted) == 0);
        peer_free(&peer);
    }
}

/* ---- how many -------------------------------------------------------------------------------------------------- */

static struct {
    unsigned finished, closed;
    enum netblt_result result;
    uint16_t ports[8]; /* of the newest that have ended, oldest first */
    char reason[100];
} ended;

static uint8_t *provide_seat(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)context, (void)connection, (void)index, (void)capacity;
    static uint8_t memory[1000];
    return memory;
}

static void finished_seat(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)context;
    netblt_info info;
    netblt_get_info(connection, &info);
    ended.finished++;
    ended.result = outcome->result;
    memmove(ended.ports, ended.ports + 1, sizeof ended.ports - sizeof ended.ports[0]);
    ended.ports[7] = info.foreign_port;
    snprintf(ended.reason, sizeof ended.reason, "%s", outcome->reason);
}

static void closed_seat(void *context, netblt_connection *connection)
{
    (void)context, (void)connection;
    ended.closed++;
}

static const netblt_client seat = {.size = sizeof(netblt_client),
                                   .get_receive_buffer = provide_seat,
                                   .finished = finished_seat,
                                   .closed = closed_seat};

static void start_with(struct peer *peer, uint32_t most)
{
    meet(peer, NETBLT_RECEIVER);
    memset(&ended, 0, sizeof ended);
    peer->unvalidated_connections = most;
    peer->client = &seat;
    peer_start(peer);
}

static void open_from(struct peer *peer, uint16_t port)
{
    struct forged packet;
    peer->peer_port = port;
    forge_open(peer, &packet, OPEN, &peer->params, true);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
}

static void null_ack_from(struct peer *peer, uint16_t port)
{
    peer->peer_port = port;
    peer_null_ack(peer, 0); /* of nothing */
}

static void validate_from(struct peer *peer, uint16_t port)
{
    struct message messages[8];
    open_from(peer, port);
    peer_last_messages(peer, messages, 8);
    peer->first_buffer = messages[0].buffer;
    peer_data(peer, peer->first_buffer, 0, 1, false);
}

static bool quit_is_acknowledged(struct peer *peer, uint16_t port)
{
    peer_mark(peer);
    peer->peer_port = port;
    peer_reason(peer, QUIT, "");
    return peer_count(peer, QUITACK) > 0;
}

static void a_flood_of_forged_OPENs_ends_the_oldest_unvalidated_peers_and_nobody_else(void)
{
    struct peer peer;
    start_with(&peer, 8);
    for (uint16_t port = 100; port < 103; port++)
        validate_from(&peer, port);
    for (uint16_t port = 1000; port < 1000 + 8; port++)
        open_from(&peer, port);
    CHECK_EQUAL(ended.finished, 0);
    for (unsigned i = 0; i < 5000; i++) {
        open_from(&peer, (uint16_t)(2000 + i));
        CHECK_EQUAL(ended.finished, i + 1);
        CHECK_EQUAL(ended.closed, i + 1);
        CHECK_EQUAL(ended.ports[7], i < 8 ? 1000 + i : 2000 + i - 8); /* the oldest */
    }
    CHECK(strstr(ended.reason, "half-open") != NULL);
    CHECK(peer_count(&peer, ABORT) <= 16); /* evicted peers get ABORT, as far as unvalidated peers get packets */
    for (uint16_t port = 100; port < 103; port++)
        CHECK(quit_is_acknowledged(&peer, port));
    for (unsigned i = 0; i < 5000; i++)
        CHECK_EQUAL(quit_is_acknowledged(&peer, (uint16_t)(2000 + i)), i >= 5000 - 8);
    peer_free(&peer);
}

static void peers_that_have_sent_nothing_but_an_OPEN_go_first(void)
{
    struct peer peer;
    start_with(&peer, 4);
    for (uint16_t port = 1; port <= 4; port++)
        open_from(&peer, port);
    open_from(&peer, 2); /* an OPEN once more is not talking */
    null_ack_from(&peer, 3);
    null_ack_from(&peer, 1);
    open_from(&peer, 5);
    CHECK_EQUAL(ended.ports[7], 2);
    open_from(&peer, 6);
    CHECK_EQUAL(ended.ports[7], 4);
    open_from(&peer, 7);
    CHECK_EQUAL(ended.ports[7], 5); /* silent, though younger than those that talk */
    null_ack_from(&peer, 6);
    null_ack_from(&peer, 7);
    open_from(&peer, 8); /* now all talk: the one that began first */
    CHECK_EQUAL(ended.ports[7], 3);
    open_from(&peer, 9);
    CHECK_EQUAL(ended.ports[7], 8);
    CHECK_EQUAL(ended.finished, 5);
    peer_free(&peer);
}

static void a_validated_peer_takes_no_place(void)
{
    struct peer peer;
    start_with(&peer, 1);
    for (uint16_t port = 1; port <= 20; port++)
        validate_from(&peer, port);
    CHECK_EQUAL(ended.finished, 0);
    peer_free(&peer);
}

static void an_ICMP_report_ends_unvalidated_connections_of_that_address_and_port(void)
{
    static const netblt_address second = {4, {10, 0, 0, 2}}, third = {4, {10, 0, 0, 3}}, fourth = {4, {10, 0, 0, 4}};
    struct peer peer;
    start_with(&peer, 0);
    validate_from(&peer, 1);
    open_from(&peer, 2);
    open_from(&peer, 3);
    null_ack_from(&peer, 3); /* it talks, as a forger can too */
    peer.from = 3;
    open_from(&peer, 4);
    peer_mark(&peer);
    netblt_unreachable(peer.endpoint, &fourth, 0, peer.now);
    netblt_unreachable(peer.endpoint, &second, 2, peer.now); /* not the port of these connections */
    CHECK_EQUAL(ended.finished, 0);
    netblt_unreachable(peer.endpoint, &second, 1, peer.now);
    CHECK_EQUAL(ended.finished, 2);
    CHECK_EQUAL(ended.closed, 2);
    CHECK_EQUAL(ended.result, NETBLT_PEER_DEAD);
    CHECK(ended.ports[6] == 2 && ended.ports[7] == 3);
    netblt_unreachable(peer.endpoint, &third, 0, peer.now); /* 0: any port */
    CHECK_EQUAL(ended.closed, 3);
    CHECK_EQUAL(ended.ports[7], 4);
    peer_wait(&peer, 0);
    CHECK_EQUAL(peer_count(&peer, -1), 0); /* no ABORT: it would not arrive */
    netblt_unreachable(peer.endpoint, &second, 0, peer.now);
    CHECK_EQUAL(ended.closed, 3); /* the validated one goes on */
    peer_free(&peer);
}

static void ABORTs_and_REFUSEDs_for_unvalidated_peers_share_one_allowance(void)
{
    struct peer peer;
    struct forged packet;
    start_with(&peer, 0);
    peer.params.packet_size = 0; /* which is refused */
    peer_mark(&peer);
    for (uint16_t port = 1000; port < 1200; port++)
        open_from(&peer, port);
    CHECK_EQUAL(peer_count(&peer, REFUSED), 16);
    peer.params.packet_size = 100;
    open_from(&peer, 1);
    for (unsigned i = 0; i < 5; i++) { /* another unique ID: ABORT, if there is anything left */
        peer.unique_id++;
        forge_open(&peer, &packet, OPEN, &peer.params, true);
        peer_send(&peer, &packet);
    }
    CHECK_EQUAL(peer_count(&peer, ABORT), 0);
    peer_wait(&peer, 500 * MS); /* one more in 50 ms */
    for (unsigned i = 0; i < 4; i++) {
        peer.unique_id++;
        forge_open(&peer, &packet, OPEN, &peer.params, true);
        peer_send(&peer, &packet);
    }
    CHECK_EQUAL(peer_count(&peer, ABORT), 4);
    peer.params.packet_size = 0;
    for (uint16_t port = 1000; port < 1200; port++)
        open_from(&peer, port);
    CHECK_EQUAL(peer_count(&peer, REFUSED), 16 + 6);
    peer_free(&peer);
}

int main(void)
{
    RUN(a_RESPONSE_carries_our_client_string_whatever_the_length_of_the_OPEN);
    RUN(a_client_string_that_the_limit_does_not_allow_is_left_out_whole);
    RUN(a_client_string_that_the_OPEN_pays_for_is_always_there);
    RUN(a_REFUSED_is_cut_to_what_its_OPEN_pays_for);
    RUN(a_flood_of_forged_OPENs_ends_the_oldest_unvalidated_peers_and_nobody_else);
    RUN(peers_that_have_sent_nothing_but_an_OPEN_go_first);
    RUN(a_validated_peer_takes_no_place);
    RUN(an_ICMP_report_ends_unvalidated_connections_of_that_address_and_port);
    RUN(ABORTs_and_REFUSEDs_for_unvalidated_peers_share_one_allowance);
    return 0;
}
