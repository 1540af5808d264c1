/* SPDX-License-Identifier: BSD-2-Clause */
/* Guarded connections at one end of ours (core/security/guard.h): what it sends to a peer that knows them, and which
 * packets it ignores then. guarded_test.c has two ends. */
#include "check.h"
#include "peer.h"
#include "security/guard.h"

#include <string.h>

/* ---- the token, from our passive end --------------------------------------------------------------------------- */

static void give_secret(struct peer *peer, bool marked)
{
    memset(peer->secret, 0xA7, sizeof peer->secret);
    if (marked)
        peer->unique_id = nb_guard_mark(peer->unique_id, peer->peer_port, peer->our_port, 0);
}

/* A RESPONSE to an OPEN that is cut to `length` bytes (0 = whole). Returns whether it holds a token, and checks that it
 * holds our client string. */
static bool gets_token(const char *asked, size_t length, const char *ours, bool marked, bool secret, uint64_t *token)
{
    struct peer peer;
    struct forged packet;
    char text[NETBLT_STRING_MAX_BYTES + 1] = "";
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.unvalidated_bytes_per_s = 65536;
    give_secret(&peer, marked);
    if (!secret)
        memset(peer.secret, 0, sizeof peer.secret);
    netblt_params params = peer.params;
    snprintf(params.client_string, sizeof params.client_string, "%s", asked);
    snprintf(peer.params.client_string, sizeof peer.params.client_string, "%s", ours);
    peer_start(&peer);
    forge_open(&peer, &packet, OPEN, &params, true);
    if (length != 0)
        packet.length = length;
    CHECK_EQUAL(peer_send(&peer, &packet), 0);
    const struct seen *response = peer_nth(&peer, RESPONSE, 0);
    if (response->length > 36)
        snprintf(text, sizeof text, "%s", (const char *)response->bytes + 36);
    unsigned features;
    bool has = nb_guard_take_token(text, token, &features);
    CHECK(strcmp(text, ours) == 0);
    CHECK(strcmp(peer_info(&peer)->peer_string, length == 36 ? "" : asked) == 0);
    CHECK_EQUAL(peer_info(&peer)->guarded, has);
    peer_free(&peer);
    return has;
}

static void a_marked_OPEN_gets_a_token_where_there_is_a_secret_and_room(void)
{
    uint64_t token;
    char full[233] = "";
    memset(full, 'f', 232);
    CHECK(gets_token("me", 0, "you", true, true, &token));
    CHECK(!gets_token("me", 0, "you", false, true, &token)); /* a foreign implementation's OPEN */
    CHECK(!gets_token("me", 0, "you", true, false, &token));
    CHECK(gets_token(full, 0, full, true, true, &token)); /* 255 characters with the token */
    CHECK(!gets_token(full, 0,
                      "233 letters: " /* 13 */
                      "1234567890123456789012345678901234567890123456789012345678901234567890"
                      "1234567890123456789012345678901234567890123456789012345678901234567890"
                      "1234567890123456789012345678901234567890123456789012345678901234567890"
                      "0123456789",
                      true, true, &token));
    /* The RESPONSE must be within three times any OPEN: 36 + 48 and the text, in fours, with its NUL */
    CHECK(gets_token("", 36, "", true, true, &token));   /* 108 */
    CHECK(!gets_token("", 36, "y", true, true, &token)); /* 112 */
    CHECK(gets_token("", 0, "twelve chars", true, true, &token));
    CHECK(!gets_token("", 0, "thirteen char", true, true, &token));
}

/* ---- numbers, at our guarded ends ------------------------------------------------------------------------------ */

/* Opens, guarded. Our end is passive, and *number is what the token stands for. Returns the token. */
static uint64_t open_guarded(struct peer *peer, uint32_t *number)
{
    uint64_t token;
    char text[NETBLT_STRING_MAX_BYTES + 1];
    give_secret(peer, true);
    peer->unvalidated_bytes_per_s = 65536;
    peer_open(peer);
    CHECK(peer_info(peer)->guarded);
    snprintf(text, sizeof text, "%s", (const char *)peer_nth(peer, RESPONSE, 0)->bytes + 36);
    unsigned features;
    CHECK(nb_guard_take_token(text, &token, &features));
    *number = nb_guard_first_buffer_of_token(token);
    return token;
}

static void our_first_GO_names_the_number_of_the_token(void)
{
    struct peer peer;
    struct message messages[8];
    uint32_t number, before = 0;
    for (uint32_t i = 0; i < 3; i++) {
        peer_init(&peer, NETBLT_RECEIVER, false);
        peer.unique_id += i << 16;
        open_guarded(&peer, &number);
        CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 1);
        CHECK_EQUAL(messages[0].buffer, number);
        CHECK(number != before);
        before = number;
        peer_free(&peer);
    }
}

static void so_it_does_where_we_have_opened_and_RESPONSE_brought_the_token(void)
{
    struct peer peer;
    struct message messages[8];
    peer_init(&peer, NETBLT_RECEIVER, true);
    give_secret(&peer, false);
    snprintf(peer.params.client_string, sizeof peer.params.client_string, "a server guard=0123456789abcdef");
    uint32_t wished = peer.unique_id;
    peer_start(&peer);
    peer.unique_id = peer_get32(peer_nth(&peer, OPEN, 0)->bytes + 12);
    CHECK_EQUAL(peer.unique_id >> 16, wished >> 16);
    CHECK(nb_guard_is_marked(peer.unique_id, peer.our_port, peer.peer_port, NULL));
    struct forged packet;
    forge_open(&peer, &packet, RESPONSE, &peer.params, false);
    CHECK_EQUAL(peer_send(&peer, &packet), 0);
    CHECK(peer_info(&peer)->guarded);
    CHECK(strcmp(peer_info(&peer)->peer_string, "a server") == 0);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 2);
    CHECK_EQUAL(messages[0].buffer, 0x9277A556);
    peer_free(&peer);
}

/* A flood of forged OPENs may have made the passive end forget us. It makes the same connection of the same OPEN. */
static void our_active_end_opens_again_when_nothing_follows_the_RESPONSE(void)
{
    static const enum netblt_role roles[] = {NETBLT_SENDER, NETBLT_RECEIVER};
    for (size_t i = 0; i < 4; i++) {
        struct peer peer;
        struct forged packet;
        bool guarded = i / 2 == 0;
        peer_init(&peer, roles[i % 2], true);
        give_secret(&peer, false);
        snprintf(peer.params.client_string, sizeof peer.params.client_string, "a server%s",
                 guarded ? " guard=0123456789abcdef" : "");
        peer_start(&peer);
        peer.unique_id = peer_get32(peer_nth(&peer, OPEN, 0)->bytes + 12);
        forge_open(&peer, &packet, RESPONSE, &peer.params, roles[i % 2] == NETBLT_SENDER);
        CHECK_EQUAL(peer_send(&peer, &packet), 0);
        CHECK_EQUAL(peer_info(&peer)->guarded, guarded);
        peer_mark(&peer);
        peer_wait(&peer, 3500 * MS); /* after 1 s and 2 s more */
        CHECK_EQUAL(peer_count(&peer, OPEN), guarded ? 2 : 0);
        for (size_t n = peer.mark; n < peer.seen_count; n++) { /* with a packet right after it */
            if (peer.seen[n].type != OPEN)
                continue;
            CHECK_EQUAL(peer_get32(peer.seen[n].bytes + 12), peer.unique_id);
            CHECK(n + 1 < peer.seen_count);
            CHECK_EQUAL(peer.seen[n + 1].type, roles[i % 2] == NETBLT_SENDER ? KEEPALIVE : CONTROL);
            CHECK(peer.seen[n + 1].at == peer.seen[n].at);
        }
        peer_bare(&peer, KEEPALIVE); /* it is there */
        peer_mark(&peer);
        peer_wait(&peer, 20 * SECOND);
        CHECK_EQUAL(peer_count(&peer, OPEN), 0);
        peer_free(&peer);
    }
}

static void a_foreign_sender_gets_a_number_that_it_cannot_foresee(void)
{
    struct peer peer;
    struct message messages[8];
    uint32_t before = 0;
    for (uint32_t i = 0; i < 4; i++) {
        peer_init(&peer, NETBLT_RECEIVER, i >= 2);
        give_secret(&peer, false);
        peer.peer_port = (uint16_t)(7000 + i);
        peer_start(&peer);
        if (peer.active)
            peer.unique_id = peer_get32(peer_nth(&peer, OPEN, 0)->bytes + 12);
        struct forged packet;
        forge_open(&peer, &packet, peer.active ? RESPONSE : OPEN, &peer.params, !peer.active);
        CHECK_EQUAL(peer_send(&peer, &packet), 0);
        CHECK(!peer_info(&peer)->guarded);
        CHECK_EQUAL(peer_last_messages(&peer, messages, 8), 2);
        CHECK(messages[0].buffer > 1000 && messages[0].buffer != before);
        CHECK_EQUAL(messages[1].buffer, messages[0].buffer + 1);
        before = messages[0].buffer;
        peer_free(&peer);
    }
}

static unsigned acknowledged(const struct peer *peer)
{
    return peer_last(peer, NULL_ACK)->high_seq;
}

static void a_GO_with_a_number_outside_the_window_is_ignored_and_not_acknowledged(void)
{
    static const struct {
        int64_t from_token;
        bool right;
    } cases[] = {{0, true},   {1, true},      {8191, true},       {8192, false},
                 {-1, false}, {-8192, false}, {INT32_MAX, false}, {1 << 20, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct peer peer;
        uint32_t number;
        peer_init(&peer, NETBLT_SENDER, false);
        peer.stall_from = 0;
        open_guarded(&peer, &number);
        peer_go(&peer, 1, number + (uint32_t)cases[i].from_token);
        CHECK_EQUAL(acknowledged(&peer), cases[i].right ? 1 : 0);
        CHECK_EQUAL(peer_info(&peer)->unvalidated, !cases[i].right); /* who knows the number has seen our RESPONSE */
        peer_free(&peer);
    }
}

static void so_are_OK_and_RESEND_and_a_later_GO(void)
{
    static const int64_t far[] = {8193, -8193, 1 << 20, INT32_MAX, -(1 << 20)};
    uint16_t first = 0;
    struct peer peer;
    uint32_t number;
    peer_init(&peer, NETBLT_SENDER, false);
    open_guarded(&peer, &number);
    peer_go(&peer, 1, number);
    peer_go(&peer, 2, number + 1);
    CHECK_EQUAL(peer_count_data(&peer), 8);
    peer_mark(&peer);
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        peer_ok(&peer, 3, number + 1 + (uint32_t)far[i]); /* for a buffer never sent: otherwise it would end us */
        CHECK_EQUAL(acknowledged(&peer), 2);
        peer_resend(&peer, 3, number + 1 + (uint32_t)far[i], &first, 1);
        CHECK_EQUAL(acknowledged(&peer), 2);
        peer_go(&peer, 3, number + 1 + (uint32_t)far[i]);
        CHECK_EQUAL(acknowledged(&peer), 2);
    }
    CHECK_EQUAL(peer.finished, 0);
    CHECK_EQUAL(peer_count_data(&peer), 0);
    peer_resend(&peer, 3, number, &first, 1);
    CHECK_EQUAL(peer_count_data(&peer), 1);
    peer_ok(&peer, 4, number);
    peer_ok(&peer, 5, number + 1);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

/* ---- the padding of NULL-ACK ----------------------------------------------------------------------------------- */

static unsigned padding_of(const struct seen *null_ack)
{
    return null_ack->bytes[18] << 8 | null_ack->bytes[19];
}

static void our_NULL_ACK_holds_the_hash_for_a_guarded_peer_only(void)
{
    for (int guarded = 0; guarded < 2; guarded++) {
        struct peer peer;
        uint32_t number = 0;
        uint64_t token = 0;
        peer_init(&peer, NETBLT_SENDER, false);
        peer.stall_from = 0;
        if (guarded)
            token = open_guarded(&peer, &number);
        else
            peer_open(&peer);
        unsigned before = 0;
        for (unsigned seq = 1; seq <= 2; seq++) {
            peer_go(&peer, seq, number + seq - 1);
            struct nb_null_ack_fields fields = {(uint16_t)seq, (uint16_t)peer.params.burst_size,
                                                (uint16_t)peer.params.burst_interval_ms, 0};
            CHECK_EQUAL(acknowledged(&peer), seq);
            CHECK_EQUAL(padding_of(peer_last(&peer, NULL_ACK)), guarded ? nb_guard_null_ack(token, &fields) : 0);
            CHECK(!guarded || padding_of(peer_last(&peer, NULL_ACK)) != before);
            before = padding_of(peer_last(&peer, NULL_ACK));
        }
        peer_free(&peer);
    }
}

static const struct nb_null_ack_fields first_ack = {.high_seq = 1, .burst_size = 1, .burst_interval_ms = 5000};

/* Whether our receiver believes a NULL-ACK with these fields, and the padding that is right for first_ack or nearly so:
 * it does not send message 1 again. */
static bool believes_null_ack(bool guarded, struct nb_null_ack_fields fields, uint64_t off_token, unsigned off_padding)
{
    struct peer peer;
    struct forged packet;
    struct message messages[8];
    uint32_t number;
    uint64_t token = 0;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 5000; /* so slow that no data timer expires in this test */
    if (guarded)
        token = open_guarded(&peer, &number);
    else
        peer_open(&peer);
    forge_null_ack(&peer, &packet, fields.high_seq, fields.burst_size, fields.burst_interval_ms);
    forged_put16(&packet, 18, nb_guard_null_ack(token ^ off_token, &first_ack) ^ off_padding);
    CHECK_EQUAL(peer_send(&peer, &packet), 0);
    peer_wait(&peer, 3 * SECOND);
    bool believed = peer_last_messages(&peer, messages, 8) > 0 && messages[0].seq == 2;
    peer_free(&peer);
    return believed;
}

static void a_NULL_ACK_without_the_right_hash_acknowledges_nothing_to_a_guarded_receiver(void)
{
    struct nb_null_ack_fields faster = first_ack, slower = first_ack;
    faster.burst_size++;
    slower.burst_interval_ms++;
    CHECK(believes_null_ack(true, first_ack, 0, 0));
    CHECK(!believes_null_ack(true, first_ack, 1, 0));
    for (unsigned bit = 0; bit < 16; bit++)
        CHECK(!believes_null_ack(true, first_ack, 0, 1u << bit));
    CHECK(!believes_null_ack(true, faster, 0, 0));
    CHECK(!believes_null_ack(true, slower, 0, 0));
    CHECK(believes_null_ack(false, first_ack, 0, 0x1234)); /* ROBUST-04: a foreign peer's padding is not read */
}

/* ---- ABORT, QUIT and REFUSED ----------------------------------------------------------------------------------- */

static void send_end(struct peer *peer, enum nb_type type, const char *reason, uint32_t proven_for)
{
    char text[NETBLT_STRING_MAX_BYTES + 1];
    snprintf(text, sizeof text, "%s", reason);
    if (proven_for != 0)
        nb_guard_append_proof(text, proven_for, type);
    peer_reason(peer, type, text);
}

static void without_the_right_proof_nothing_ends_a_guarded_connection(void)
{
    for (int role = 0; role < 2; role++) {
        struct peer peer;
        uint32_t number;
        peer_init(&peer, role == 0 ? NETBLT_RECEIVER : NETBLT_SENDER, false);
        open_guarded(&peer, &number);
        peer_mark(&peer);
        for (unsigned i = 0; i < 300; i++) {
            static const enum nb_type types[] = {NB_ABORT, NB_QUIT, NB_REFUSED};
            send_end(&peer, types[i % 3], "", 0);
            send_end(&peer, types[i % 3], "I am tired of this", 0);
            send_end(&peer, types[i % 3], "", peer.unique_id + i + 1);
            send_end(&peer, types[i % 3], " guard=00000000", 0);
        }
        char other[NETBLT_STRING_MAX_BYTES + 1] = "";
        nb_guard_append_proof(other, peer.unique_id, NB_QUIT);
        peer_reason(&peer, ABORT, other);
        CHECK_EQUAL(peer_count(&peer, QUITACK), 0);
        peer_wait(&peer, 5 * SECOND);
        CHECK_EQUAL(peer.finished, 0);
        CHECK_EQUAL(peer_info(&peer)->state, NETBLT_STATE_OPEN);
        peer_free(&peer);
    }
}

static void with_it_each_is_believed_at_once_and_the_client_does_not_see_it(void)
{
    static const struct {
        enum nb_type type;
        enum netblt_result result;
    } cases[] = {{NB_ABORT, NETBLT_PEER_ABORTED}, {NB_QUIT, NETBLT_PEER_QUIT}};
    for (size_t i = 0; i < 2; i++) {
        struct peer peer;
        uint32_t number;
        peer_init(&peer, NETBLT_RECEIVER, false);
        open_guarded(&peer, &number);
        send_end(&peer, cases[i].type, "enough", peer.unique_id);
        CHECK_EQUAL(peer.finished, 1);
        CHECK_EQUAL(peer.result, cases[i].result);
        CHECK(strcmp(peer.reason, "enough") == 0);
        CHECK_EQUAL(peer_count(&peer, QUITACK), cases[i].type == NB_QUIT ? 1 : 0);
        peer_free(&peer);
    }
}

static void a_REFUSED_with_the_proof_is_believed_at_once(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, true);
    give_secret(&peer, false);
    peer_start(&peer);
    send_end(&peer, NB_REFUSED, "no room", peer_get32(peer_nth(&peer, OPEN, 0)->bytes + 12));
    CHECK_EQUAL(peer.result, NETBLT_REFUSED);
    CHECK_EQUAL(peer.closed, 1);
    CHECK(strcmp(peer.reason, "no room") == 0);
    peer_free(&peer);
}

/* What our end sends. */
static bool holds_proof(const struct seen *packet, uint32_t unique_id, const char *reason)
{
    char text[NETBLT_STRING_MAX_BYTES + 1];
    snprintf(text, sizeof text, "%s", (const char *)packet->bytes + 12);
    bool proven = nb_guard_take_proof(text, unique_id, (enum nb_type)packet->type);
    CHECK(strcmp(text, reason) == 0);
    return proven;
}

static void our_ABORT_and_QUIT_hold_the_proof_for_a_guarded_peer_only(void)
{
    for (unsigned i = 0; i < 4; i++) {
        struct peer peer;
        bool marked = i % 2 != 0;
        peer_init(&peer, NETBLT_RECEIVER, false);
        give_secret(&peer, marked);
        peer_open(&peer);
        if (i < 2)
            CHECK_EQUAL(netblt_abort(peer.connection, "stop", peer.now), 0);
        else
            CHECK_EQUAL(netblt_quit(peer.connection, "stop", peer.now), 0);
        peer_wait(&peer, 0);
        CHECK_EQUAL(holds_proof(peer_nth(&peer, i < 2 ? ABORT : QUIT, 0), peer.unique_id, "stop"), marked);
        peer_free(&peer);
    }
}

static void our_REFUSED_holds_the_proof_for_a_marked_OPEN_only(void)
{
    for (int marked = 0; marked < 2; marked++) {
        struct peer peer;
        struct forged packet;
        peer_init(&peer, NETBLT_RECEIVER, false);
        give_secret(&peer, marked != 0);
        peer.refuse = true;
        peer.refusal = "a reason of thirty-three letters!";
        peer_start(&peer);
        forge_open(&peer, &packet, OPEN, &peer.params, true);
        packet.length = 36; /* which pays for 47 characters, with the proof or without */
        peer_send(&peer, &packet);
        const struct seen *refused = peer_nth(&peer, REFUSED, 0);
        CHECK(refused->size + 48 <= 3 * 36);
        CHECK_EQUAL(holds_proof(refused, peer.unique_id,
                                marked ? "a reason of thirty-three letters" : "a reason of thirty-three letters!"),
                    marked);
        peer_free(&peer);
    }
}

/* A third host opens from our peer's ports: our end answers the peer. That ABORT is not about their connection. */
static void the_ABORT_for_a_forged_OPEN_holds_no_proof(void)
{
    struct peer peer;
    uint32_t number;
    peer_init(&peer, NETBLT_RECEIVER, false);
    open_guarded(&peer, &number);
    uint32_t right = peer.unique_id;
    for (uint32_t i = 1; i < 5; i++) {
        struct forged packet;
        peer.unique_id = nb_guard_mark(right + (i << 16), peer.peer_port, peer.our_port, 0);
        peer_mark(&peer);
        forge_open(&peer, &packet, i % 2 == 0 ? OPEN : RESPONSE, &peer.params, true);
        peer_send(&peer, &packet);
        const struct seen *answer = peer_nth(&peer, ABORT, 0);
        CHECK(!holds_proof(answer, right, "port pair is in use by another connection"));
        CHECK_EQUAL(peer.finished, 0);
        send_end(&peer, NB_ABORT, (const char *)answer->bytes + 12, 0); /* as our own end would take it */
        CHECK_EQUAL(peer.finished, 0);
    }
    peer_free(&peer);
}

static void a_forged_OPEN_does_not_replace_a_guarded_connection_that_dallies(void)
{
    for (int guarded = 0; guarded < 2; guarded++) {
        struct peer peer;
        struct forged packet;
        uint32_t number = 0;
        peer_init(&peer, NETBLT_SENDER, false);
        if (guarded)
            open_guarded(&peer, &number);
        else
            peer_open(&peer);
        for (uint32_t i = 0; i < 2; i++)
            peer_go(&peer, i + 1, number + i);
        for (uint32_t i = 0; i < 2; i++)
            peer_ok(&peer, i + 3, number + i);
        CHECK_EQUAL(peer_info(&peer)->state, NETBLT_STATE_DALLYING);
        peer.unique_id ^= 0x55550000;
        forge_open(&peer, &packet, OPEN, &peer.params, false);
        peer_send(&peer, &packet);
        CHECK_EQUAL(peer.closed, guarded ? 0 : 1);
        CHECK_EQUAL(peer.opened, guarded ? 1 : 2);
        peer_free(&peer);
    }
}

int main(void)
{
    RUN(a_marked_OPEN_gets_a_token_where_there_is_a_secret_and_room);
    RUN(our_first_GO_names_the_number_of_the_token);
    RUN(so_it_does_where_we_have_opened_and_RESPONSE_brought_the_token);
    RUN(a_foreign_sender_gets_a_number_that_it_cannot_foresee);
    RUN(a_GO_with_a_number_outside_the_window_is_ignored_and_not_acknowledged);
    RUN(so_are_OK_and_RESEND_and_a_later_GO);
    RUN(our_NULL_ACK_holds_the_hash_for_a_guarded_peer_only);
    RUN(a_NULL_ACK_without_the_right_hash_acknowledges_nothing_to_a_guarded_receiver);
    RUN(without_the_right_proof_nothing_ends_a_guarded_connection);
    RUN(with_it_each_is_believed_at_once_and_the_client_does_not_see_it);
    RUN(a_REFUSED_with_the_proof_is_believed_at_once);
    RUN(our_ABORT_and_QUIT_hold_the_proof_for_a_guarded_peer_only);
    RUN(our_active_end_opens_again_when_nothing_follows_the_RESPONSE);
    RUN(our_REFUSED_holds_the_proof_for_a_marked_OPEN_only);
    RUN(the_ABORT_for_a_forged_OPEN_holds_no_proof);
    RUN(a_forged_OPEN_does_not_replace_a_guarded_connection_that_dallies);
    return 0;
}
