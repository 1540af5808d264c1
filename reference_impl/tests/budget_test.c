/* SPDX-License-Identifier: BSD-2-Clause */
/* The limit on what all unvalidated peers of an endpoint are sent together (core/security/budget.h,
 * netblt_config.unvalidated_bytes_per_s). */
#include "check.h"
#include "peer.h"
#include "random.h"
#include "security/budget.h"

#include <math.h>
#include <string.h>

#define HEADERS_BYTES 48 /* IPv6 and UDP, which each packet that is sent counts with */
#define HOUR (3600 * SECOND)

/* ---- the bucket ------------------------------------------------------------------------------------------------ */

static void a_bucket_holds_one_second_and_fills_at_half_the_rate(void)
{
    struct nb_budget budget;
    netblt_time now = 10 * SECOND;
    uint64_t credit = 0;
    nb_budget_init(&budget, 65536);
    unsigned packets = 0;
    for (; nb_budget_at(&budget, credit, 1000 - HEADERS_BYTES, now) == now; packets++)
        nb_budget_spend(&budget, &credit, 1000 - HEADERS_BYTES, now);
    CHECK_EQUAL(packets, 65); /* of 65.536 */
    netblt_time next = nb_budget_at(&budget, credit, 1000 - HEADERS_BYTES, now);
    CHECK(next >= now + 14000 && next <= now + 14200); /* 464 bytes at 32,768 a second */
    CHECK_EQUAL(nb_budget_at(&budget, credit, 1000 - HEADERS_BYTES, next), next);
    CHECK(nb_budget_at(&budget, credit, 1000 - HEADERS_BYTES, next - 1) > next - 1);
    CHECK_EQUAL(nb_budget_at(&budget, credit, 60000, now + HOUR), now + HOUR);
}

static void what_a_peer_has_sent_pays_first(void)
{
    struct nb_budget budget;
    netblt_time now = 10 * SECOND;
    uint64_t none = 0, credit = 1000;
    nb_budget_init(&budget, 100);
    nb_budget_spend(&budget, &none, 52, now); /* empties the bucket */
    CHECK(nb_budget_at(&budget, none, 12, now) > now);
    CHECK_EQUAL(nb_budget_at(&budget, credit, 952, now), now);           /* with its headers exactly what there is */
    CHECK_EQUAL(nb_budget_at(&budget, credit, 953, now), now + 20 * MS); /* one byte of the bucket, 50 a second */
    nb_budget_spend(&budget, &credit, 452, now);
    CHECK_EQUAL(credit, 500);
    nb_budget_spend(&budget, &credit, 452, now);
    CHECK_EQUAL(credit, 0);
    CHECK(nb_budget_at(&budget, credit, 0, now) > now);
    nb_budget_spend(&budget, &credit, 452, now); /* never below nothing */
    CHECK_EQUAL(credit, 0);
}

static void a_packet_larger_than_the_bucket_leaves_when_it_is_full(void)
{
    struct nb_budget budget;
    netblt_time now = 10 * SECOND;
    uint64_t credit = 0;
    nb_budget_init(&budget, 1000);
    CHECK_EQUAL(nb_budget_at(&budget, credit, 5000, now), now);
    nb_budget_spend(&budget, &credit, 1952, now); /* twice the bucket: empty, and 2 s in debt */
    CHECK_EQUAL(nb_budget_at(&budget, credit, 5000, now), now + 4 * SECOND);
    CHECK_EQUAL(nb_budget_at(&budget, credit, 452, now), now + 3 * SECOND);
}

static void without_a_limit_nothing_waits(void)
{
    struct nb_budget budget;
    uint64_t credit = 0;
    nb_budget_init(&budget, 0);
    for (unsigned i = 0; i < 1000; i++) {
        CHECK_EQUAL(nb_budget_at(&budget, credit, 65535, 5), 5);
        nb_budget_spend(&budget, &credit, 65535, 5);
    }
}

/* ---- the bound, in windows of time ----------------------------------------------------------------------------- */

/* What was sent, and what had been received by then. */
struct account {
    size_t count;
    struct {
        netblt_time at;
        uint64_t sent, received; /* in all so far; `sent` with headers */
    } after[100000];
};

static struct account account;

static void note(netblt_time at, uint64_t sent, uint64_t received)
{
    size_t i = account.count++;
    CHECK(i < sizeof account.after / sizeof account.after[0]);
    account.after[i].at = at;
    account.after[i].sent = sent + (i == 0 ? 0 : account.after[i - 1].sent);
    account.after[i].received = received;
}

/* From each packet to each later one: sent <= 3 * received + depth + rate * T. The worst window that ends with a packet
 * begins where what was sent before, less what the rate had allowed by then, is least. */
static void check_every_window(uint32_t bytes_per_s)
{
    double rate_per_us = 0.5 * bytes_per_s / 1e6;
    double least = INFINITY;
    for (size_t i = 0; i < account.count; i++) {
        double allowed_by_then = rate_per_us * (double)(account.after[i].at - account.after[0].at);
        double before = (i == 0 ? 0 : (double)account.after[i - 1].sent) - allowed_by_then;
        least = before < least ? before : least;
        double most = least + allowed_by_then + 3 * (double)account.after[i].received + bytes_per_s;
        if ((double)account.after[i].sent > most + 1)
            fprintf(stderr, "packet %zu: %.0f bytes more than allowed\n", i, (double)account.after[i].sent - most);
        CHECK((double)account.after[i].sent <= most + 1);
    }
}

static void the_bucket_keeps_the_bound_whatever_is_asked_of_it(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct random random = {seed};
        uint32_t rate = 1000u << random_below(&random, 8);
        uint64_t credits[3] = {0}, received = 0;
        struct nb_budget budget;
        netblt_time now = SECOND;
        nb_budget_init(&budget, rate);
        account.count = 0;
        for (unsigned i = 0; i < 800; i++) {
            uint64_t *credit = &credits[random_below(&random, 3)];
            size_t bytes = random_below(&random, 900);
            if (random_chance(&random, 100)) {
                uint64_t more = random_below(&random, 200);
                received += more;
                *credit += 3 * more;
            }
            netblt_time at = nb_budget_at(&budget, *credit, bytes, now);
            CHECK(at >= now);
            if (random_chance(&random, 300))
                continue; /* it was only asked */
            now = at;
            nb_budget_spend(&budget, credit, bytes, now);
            note(now, bytes + HEADERS_BYTES, received);
            if (random_chance(&random, 20))
                now += random_below(&random, 10 * SECOND);
        }
        check_every_window(rate);
    }
}

/* ---- an endpoint with many peers ------------------------------------------------------------------------------- */

#define PEERS_MAX 500
#define BUFFER_BYTES 20000

struct crowd {
    struct peer peer; /* of all their packets: peer_port states whose */
    unsigned peers;
    bool stalls; /* our client has nothing to send */
    struct {
        netblt_time at;
        size_t bytes;
    } said[60000];
    size_t said_count;
    netblt_connection *open[PEERS_MAX];
};

static struct crowd crowd;
static uint8_t content[BUFFER_BYTES];

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)context, (void)connection, (void)index;
    *data = content;
    *length = capacity;
    *last = false;
    return crowd.stalls ? NETBLT_SEND_BUFFER_WAIT : NETBLT_SEND_BUFFER_READY;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)context, (void)connection, (void)index, (void)capacity;
    return content;
}

static unsigned index_of(const netblt_connection *connection)
{
    netblt_info info;
    netblt_get_info(connection, &info);
    return info.foreign_port - 1000u;
}

static void opened(void *context, netblt_connection *connection)
{
    (void)context;
    crowd.open[index_of(connection)] = connection;
}

static void closed(void *context, netblt_connection *connection)
{
    (void)context;
    crowd.open[index_of(connection)] = NULL;
}

static const netblt_client member = {.size = sizeof(netblt_client),
                                     .get_send_buffer = get_send_buffer,
                                     .get_receive_buffer = get_receive_buffer,
                                     .opened = opened,
                                     .closed = closed};

static void start(unsigned peers, enum netblt_role role, uint32_t bytes_per_s)
{
    memset(&crowd, 0, sizeof crowd);
    peer_init(&crowd.peer, role, false);
    crowd.peers = peers;
    crowd.peer.client = &member;
    crowd.peer.unvalidated_bytes_per_s = bytes_per_s;
    crowd.peer.params.buffer_size = BUFFER_BYTES;
    crowd.peer.params.packet_size = 1000;
    peer_start(&crowd.peer);
}

static void say(unsigned from, struct forged *packet)
{
    crowd.peer.peer_port = (uint16_t)(1000 + from);
    forged_put16(packet, 6, crowd.peer.peer_port);
    size_t i = crowd.said_count++;
    CHECK(i < sizeof crowd.said / sizeof crowd.said[0]);
    crowd.said[i].at = crowd.peer.now;
    crowd.said[i].bytes = packet->length;
    peer_send(&crowd.peer, packet);
}

static void say_open(unsigned from, bool refused)
{
    struct forged packet;
    forge_open(&crowd.peer, &packet, OPEN, &crowd.peer.params, crowd.peer.role == NETBLT_RECEIVER);
    if (refused)
        forged_put16(&packet, 24, 0); /* its packet size */
    say(from, &packet);
}

static void say_control(unsigned from, int type, unsigned seq, uint32_t buffer)
{
    static uint16_t all[BUFFER_BYTES / 1000];
    struct forged packet;
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        all[i] = (uint16_t)i;
    forge(&crowd.peer, &packet, CONTROL);
    if (type == GO)
        forge_go(&packet, seq, buffer);
    else if (type == OK)
        forge_ok(&packet, seq, buffer, 1000, 0, 100);
    else
        forge_resend(&packet, seq, buffer, all, sizeof all / sizeof all[0]);
    say(from, &packet);
}

static void all_open(void)
{
    for (unsigned i = 0; i < crowd.peers; i++)
        say_open(i, false);
}

/* Over all that was sent from the beginning. */
static void check_bound(uint32_t bytes_per_s)
{
    uint64_t received = 0;
    size_t said = 0;
    account.count = 0;
    for (size_t i = 0; i < crowd.peer.seen_count; i++) {
        const struct seen *seen = &crowd.peer.seen[i];
        for (; said < crowd.said_count && crowd.said[said].at <= seen->at; said++)
            received += crowd.said[said].bytes;
        note(seen->at, seen->size + HEADERS_BYTES, received);
    }
    check_every_window(bytes_per_s);
}

/* What makes our end send each type, and how long it goes on. */

static void provoke_responses(void)
{
    struct forged packet;
    netblt_params params = crowd.peer.params;
    memset(crowd.peer.params.client_string, 'a', 200);
    for (unsigned round = 0; round < 3000 / crowd.peers; round++) {
        for (unsigned i = 0; i < crowd.peers; i++) {
            forge_open(&crowd.peer, &packet, OPEN, &params, true);
            say(i, &packet);
        }
        peer_wait(&crowd.peer, 20 * MS);
    }
}

static void provoke_gos(void)
{
    all_open();
    peer_wait(&crowd.peer, 30 * SECOND);
}

static void provoke_keepalives(void)
{
    crowd.stalls = true;
    all_open();
    peer_wait(&crowd.peer, 200 * SECOND);
}

static void provoke_quits(void)
{
    all_open();
    for (unsigned i = 0; i < crowd.peers; i++)
        CHECK_EQUAL(netblt_quit(crowd.open[i], "the client wants to stop", crowd.peer.now), 0);
    peer_wait(&crowd.peer, 40 * SECOND);
}

/* Each is longer than its OPEN pays for. */
static void provoke_aborts(void)
{
    char reason[251] = "";
    memset(reason, 'a', 250);
    for (unsigned round = 0; round < 10; round++) {
        all_open();
        for (unsigned i = 0; i < crowd.peers; i++)
            CHECK_EQUAL(netblt_abort(crowd.open[i], reason, crowd.peer.now), 0);
        peer_wait(&crowd.peer, 10 * MS);
    }
}

static void provoke_refusals(void)
{
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < crowd.peers; i++)
            say_open(i, true);
        peer_wait(&crowd.peer, 100 * MS);
    }
}

static void provoke_data(void)
{
    all_open();
    for (unsigned i = 0; i < crowd.peers; i++)
        say_control(i, GO, 1, 0);
    for (unsigned seq = 2; seq < 12; seq++) {
        peer_wait(&crowd.peer, SECOND);
        for (unsigned i = 0; i < crowd.peers; i++)
            say_control(i, RESEND, seq, 0);
    }
    peer_wait(&crowd.peer, SECOND);
}

static void provoke_null_acks(void)
{
    crowd.stalls = true;
    all_open();
    for (unsigned seq = 1; seq < 20; seq++)
        for (unsigned i = 0; i < crowd.peers; i++)
            say_control(i, GO, seq, seq - 1);
}

static const struct {
    int type;
    enum netblt_role role; /* ours */
    void (*provoke)(void);
} types[] = {
    {RESPONSE, NETBLT_RECEIVER, provoke_responses},
    {CONTROL, NETBLT_RECEIVER, provoke_gos},
    {KEEPALIVE, NETBLT_SENDER, provoke_keepalives},
    {QUIT, NETBLT_SENDER, provoke_quits},
    {ABORT, NETBLT_SENDER, provoke_aborts},
    {REFUSED, NETBLT_RECEIVER, provoke_refusals},
    {DATA, NETBLT_SENDER, provoke_data},
    {NULL_ACK, NETBLT_SENDER, provoke_null_acks},
};

static void every_type_of_packet_keeps_the_bound_for_one_peer_and_for_500_together(void)
{
    static const uint32_t rates[] = {1000, 65536};
    static const unsigned peers[] = {1, PEERS_MAX};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (size_t k = 0; k < 4; k++) {
            start(peers[k / 2], types[i].role, rates[k % 2]);
            types[i].provoke();
            CHECK(peer_count(&crowd.peer, types[i].type) > 0);
            check_bound(rates[k % 2]);
            peer_free(&crowd.peer);
        }
    }
}

/* ---- what waits, and what is lost ------------------------------------------------------------------------------ */

/* Of 200 packets 99 are withheld. The other 101 count 1072 bytes each with their headers: 61 fit the bucket and what
 * OPEN and GO have paid, 30.57 a second follow. */
static void DATA_waits_and_flows_at_half_the_rate(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.unvalidated_bytes_per_s = 65536;
    peer.size = 200000;
    peer.params.buffer_size = 200000;
    peer.params.packet_size = 1000;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_count_data(&peer), 61);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 91);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 101);
    peer_free(&peer);
}

/* Three buffers for peer 0: twelve packets of 172 bytes with their headers. They leave 12 bytes of a bucket of 1860,
 * beside what peer 0 has paid itself (3 * 100). */
static void empty_the_bucket(void)
{
    crowd.peer.params.buffer_size = 400;
    crowd.peer.params.packet_size = 100;
    crowd.peer.params.max_buffers = 3;
    say_open(0, false);
    peer_mark(&crowd.peer);
    for (unsigned i = 0; i < 3; i++)
        say_control(0, GO, i + 1, i);
    CHECK_EQUAL(peer_count_data(&crowd.peer), 12);
    peer_mark(&crowd.peer);
}

static void a_QUIT_beyond_the_bucket_is_lost_and_comes_when_it_is_repeated(void)
{
    char reason[201] = "";
    memset(reason, 'q', 200);
    start(2, NETBLT_SENDER, 1860);
    say_open(1, false);
    peer_wait(&crowd.peer, SECOND);
    empty_the_bucket();
    CHECK_EQUAL(netblt_quit(crowd.open[1], reason, crowd.peer.now), 0);
    peer_wait(&crowd.peer, SECOND - 1); /* in which the bucket would have had room for it */
    CHECK_EQUAL(peer_count(&crowd.peer, QUIT), 0);
    peer_wait(&crowd.peer, 1);
    CHECK_EQUAL(peer_count(&crowd.peer, QUIT), 1);
    peer_free(&crowd.peer);
}

static void a_KEEPALIVE_beyond_the_bucket_is_lost_and_the_next_one_comes_in_its_time(void)
{
    start(2, NETBLT_SENDER, 1860);
    say_open(1, false);
    peer_wait(&crowd.peer, 15 * SECOND - 1); /* a quarter of the peer's death timer */
    empty_the_bucket();
    peer_wait(&crowd.peer, 14 * SECOND);
    CHECK_EQUAL(peer_count(&crowd.peer, KEEPALIVE), 0);
    peer_wait(&crowd.peer, 2 * SECOND);
    CHECK_EQUAL(peer_count(&crowd.peer, KEEPALIVE), 2); /* to both */
    peer_free(&crowd.peer);
}

int main(void)
{
    RUN(a_bucket_holds_one_second_and_fills_at_half_the_rate);
    RUN(what_a_peer_has_sent_pays_first);
    RUN(a_packet_larger_than_the_bucket_leaves_when_it_is_full);
    RUN(without_a_limit_nothing_waits);
    RUN(the_bucket_keeps_the_bound_whatever_is_asked_of_it);
    RUN(every_type_of_packet_keeps_the_bound_for_one_peer_and_for_500_together);
    RUN(DATA_waits_and_flows_at_half_the_rate);
    RUN(a_QUIT_beyond_the_bucket_is_lost_and_comes_when_it_is_repeated);
    RUN(a_KEEPALIVE_beyond_the_bucket_is_lost_and_the_next_one_comes_in_its_time);
    return 0;
}
