/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of connection setup, rule by rule, against a scripted peer. */
#include "check.h"
#include "peer.h"

#include <string.h>

/* ---- active end ------------------------------------------------------------------------------------------------ */

static void OPEN_03_04_an_unanswered_OPEN_is_repeated_unchanged_then_given_up(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    strcpy(peer.params.client_string, "file.bin");
    peer_start(&peer);
    peer_wait(&peer, 100 * SECOND);
    CHECK_EQUAL(peer_count(&peer, OPEN), 5);
    for (size_t i = 1; i < 5; i++) {
        const struct seen *open = peer_nth(&peer, OPEN, i);
        CHECK_EQUAL(open->size, peer_nth(&peer, OPEN, 0)->size);
        CHECK(memcmp(open->bytes, peer_nth(&peer, OPEN, 0)->bytes, open->size) == 0);
        CHECK_EQUAL(open->at - peer_nth(&peer, OPEN, i - 1)->at, SECOND << (i - 1));
    }
    CHECK_EQUAL(peer.result, NETBLT_UNREACHABLE);
    CHECK_EQUAL(peer.closed, 1);
    CHECK_EQUAL(netblt_deadline(peer.endpoint), NETBLT_TIME_NEVER);
    peer_free(&peer);
}

static void OPEN_05_RESPONSE_stops_the_OPENs_and_OPEN_08_a_second_RESPONSE_changes_nothing(void)
{
    struct peer peer;
    struct forged response;
    netblt_params other;
    peer_init(&peer, NETBLT_SENDER, true);
    peer_open(&peer);
    peer_mark(&peer);
    other = peer.params;
    other.packet_size = 50;
    forge_open(&peer, &response, RESPONSE, &other, true);
    peer_send(&peer, &response);
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    CHECK_EQUAL(peer_info(&peer)->negotiated.packet_size, 100);
    peer_wait(&peer, 14 * SECOND);
    CHECK_EQUAL(peer_count(&peer, OPEN), 0);
    CHECK_EQUAL(peer.opened, 1);
    peer_free(&peer);
}

static void OPEN_06_REFUSED_and_ABORT_04_ABORT_end_the_attempt(void)
{
    for (int type = 0; type < 2; type++) {
        struct peer peer;
        peer_init(&peer, NETBLT_SENDER, true);
        peer_start(&peer);
        peer_reason(&peer, type == 0 ? REFUSED : ABORT, "go away");
        CHECK_EQUAL(peer.result, NETBLT_REFUSED);
        CHECK(strcmp(peer.reason, "go away") == 0);
        CHECK_EQUAL(peer.closed, 1);
        peer_mark(&peer);
        peer_wait(&peer, 100 * SECOND);
        CHECK_EQUAL(peer_count(&peer, -1), 0);
        peer_free(&peer);
    }
}

static void OPEN_10_a_RESPONSE_to_another_attempt_is_not_accepted_but_the_right_one_still_is(void)
{
    struct peer peer;
    struct forged response;
    peer_init(&peer, NETBLT_RECEIVER, true);
    peer_start(&peer);
    peer_mark(&peer);
    peer.unique_id++;
    forge_open(&peer, &response, RESPONSE, &peer.params, false);
    peer_send(&peer, &response);
    CHECK_EQUAL(peer.opened, 0);
    CHECK_EQUAL(peer_count(&peer, -1), 0); /* AMB-20: ignored */
    peer.unique_id--;
    forge_open(&peer, &response, RESPONSE, &peer.params, false);
    peer_send(&peer, &response);
    CHECK_EQUAL(peer.opened, 1);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 1);
    peer_free(&peer);
}

static void AMB_22_CONTROL_and_DATA_before_RESPONSE_are_dropped(void)
{
    for (int sends = 0; sends < 2; sends++) {
        struct peer peer;
        peer_init(&peer, sends ? NETBLT_SENDER : NETBLT_RECEIVER, true);
        peer_start(&peer);
        peer_mark(&peer);
        peer_go(&peer, 1, 0);
        peer_data(&peer, 0, 0, 0, true);
        peer_bare(&peer, DONE);
        peer_bare(&peer, QUITACK);
        CHECK_EQUAL(peer_count(&peer, -1), 0);
        CHECK_EQUAL(peer.finished, 0);
        peer_free(&peer);
    }
}

/* ---- passive end ----------------------------------------------------------------------------------------------- */

static void OPEN_01_02_a_served_OPEN_gets_a_RESPONSE_with_its_unique_ID_before_anything_else(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    strcpy(peer.params.client_string, "mine");
    peer.unique_id = 0xFEDCBA98;
    peer_open(&peer);
    CHECK_EQUAL(peer.seen[0].type, RESPONSE);
    CHECK_EQUAL(peer.seen[1].type, CONTROL);
    CHECK_EQUAL(peer_get32(peer.seen[0].bytes + 12), 0xFEDCBA98);
    CHECK(memcmp(peer.seen[0].bytes + 36, "mine\0\0\0", 8) == 0);
    peer_free(&peer);
}

static void OPEN_06_a_listener_may_refuse_with_a_reason(void)
{
    struct peer peer;
    struct forged open;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.refuse = true;
    peer_start(&peer);
    forge_open(&peer, &open, OPEN, &peer.params, false);
    peer_send(&peer, &open);
    const struct seen *refused = peer_nth(&peer, REFUSED, 0);
    CHECK(strcmp((const char *)refused->bytes + 12, "no, thank you") == 0);
    CHECK_EQUAL(peer_get16(refused->bytes + 8), 7000);
    CHECK_EQUAL(peer.opened, 0);
    peer_free(&peer);
}

static void OPEN_06_a_listener_may_let_an_OPEN_wait_which_is_served_when_it_comes_again(void)
{
    struct peer peer;
    struct forged open;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.ignore = true;
    peer_start(&peer);
    forge_open(&peer, &open, OPEN, &peer.params, false);
    peer_send(&peer, &open);
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    peer.ignore = false;
    peer_send(&peer, &open);
    CHECK_EQUAL(peer_count(&peer, RESPONSE), 1);
    CHECK_EQUAL(peer.opened, 1);
    peer_free(&peer);
}

static void AMB_26_nobody_listening_is_REFUSED_and_a_flood_is_not_answered_packet_by_packet(void)
{
    struct peer peer;
    struct forged open;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_start(&peer);
    peer.our_port = 99;
    for (int i = 0; i < 1000; i++) {
        forge_open(&peer, &open, OPEN, &peer.params, false);
        peer_send(&peer, &open);
        CHECK(i != 0 || peer_count(&peer, REFUSED) == 1);
    }
    CHECK(peer_count(&peer, REFUSED) < 50);
    size_t before = peer_count(&peer, REFUSED);
    peer_wait(&peer, SECOND);
    peer_send(&peer, &open);
    CHECK_EQUAL(peer_count(&peer, REFUSED), before + 1); /* it recovers */
    CHECK_EQUAL(peer.requests, 0);
    peer_free(&peer);
}

static void OPEN_07_a_repeated_OPEN_gets_the_same_RESPONSE_and_disturbs_nothing(void)
{
    struct peer peer;
    struct forged open;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    forge_open(&peer, &open, OPEN, &peer.params, false);
    peer_send(&peer, &open);
    CHECK_EQUAL(peer_count(&peer, RESPONSE), 2);
    const struct seen *first = peer_nth(&peer, RESPONSE, 0), *again = peer_nth(&peer, RESPONSE, 1);
    CHECK(first->size == again->size && memcmp(first->bytes, again->bytes, first->size) == 0);
    CHECK_EQUAL(peer.opened, 1);
    CHECK_EQUAL(peer.requests, 1);
    peer_mark(&peer);
    peer_go(&peer, 2, 1);
    CHECK_EQUAL(peer_count_data(&peer), 4);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->high_seq, 2);
    peer_free(&peer);
}

static void OPEN_09_a_foreign_ID_on_a_live_port_pair_gets_ABORT_and_the_connection_lives(void)
{
    for (int type = OPEN; type <= RESPONSE; type++) {
        for (int active = 0; active < 2; active++) {
            struct peer peer;
            struct forged packet;
            peer_init(&peer, NETBLT_SENDER, active != 0);
            peer_open(&peer);
            peer_go(&peer, 1, 0);
            peer_mark(&peer);
            peer.unique_id ^= 1;
            forge_open(&peer, &packet, type, &peer.params, active != 0);
            peer_send(&peer, &packet);
            CHECK_EQUAL(peer_count(&peer, ABORT), 1);
            CHECK_EQUAL(peer_count(&peer, -1), 1);
            CHECK_EQUAL(peer.finished, 0);
            peer_ok(&peer, 2, 0);
            peer_go(&peer, 3, 1);
            CHECK_EQUAL(peer_count_data(&peer), 4);
            peer_free(&peer);
        }
    }
}

static void DEMUX_01_02_other_hosts_and_ports_are_other_connections(void)
{
    struct peer peer;
    struct forged open;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_mark(&peer);
    peer.from = 9; /* another host, same ports */
    peer_ok(&peer, 2, 0);
    peer_reason(&peer, ABORT, "spoofed");
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    peer.unique_id = 5;
    forge_open(&peer, &open, OPEN, &peer.params, false);
    peer_send(&peer, &open);
    CHECK_EQUAL(peer_count(&peer, RESPONSE), 1);
    CHECK_EQUAL(peer_nth(&peer, RESPONSE, 0)->source, 9);
    peer.from = 2;
    peer.peer_port = 7001; /* same host, another port */
    forge_open(&peer, &open, OPEN, &peer.params, false);
    peer_send(&peer, &open);
    CHECK_EQUAL(peer_count(&peer, RESPONSE), 2);
    peer.peer_port = 7000;
    CHECK_EQUAL(peer.requests, 3);
    peer_mark(&peer);
    peer_ok(&peer, 2, 0);
    CHECK_EQUAL(peer_last(&peer, NULL_ACK)->high_seq, 2);
    CHECK_EQUAL(peer.finished, 0);
    for (int i = 0; i < 3; i++) { /* give the memory back, whatever connection holds it */
        peer.from = i == 1 ? 9 : 2;
        peer.peer_port = i == 2 ? 7001 : 7000;
        peer_reason(&peer, ABORT, "over");
    }
    CHECK_EQUAL(peer.closed, 3);
    peer_free(&peer);
}

static void DEMUX_03_packets_for_no_connection_are_met_with_silence(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_start(&peer);
    for (int type = RESPONSE; type <= DONE; type++) {
        forge_open(&peer, &packet, type, &peer.params, true); /* long enough for every type */
        peer_send(&peer, &packet);
    }
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    CHECK_EQUAL(netblt_deadline(peer.endpoint), NETBLT_TIME_NEVER);
    peer_free(&peer);
}

#define OPEN_BYTES 36 /* without a client string */

static void an_OPEN_whose_client_string_is_longer_than_255_bytes_is_refused_and_nobody_asked(void)
{
    for (size_t length = 255; length <= 1000; length += length == 255 ? 1 : 744) {
        struct peer peer;
        struct forged packet;
        peer_init(&peer, NETBLT_RECEIVER, false);
        peer_start(&peer);
        forge_open(&peer, &packet, OPEN, &peer.params, true);
        memset(packet.bytes + OPEN_BYTES, 'n', length);
        packet.bytes[OPEN_BYTES + length] = 0;
        packet.length = packet.size = OPEN_BYTES + length + 1;
        forged_put16(&packet, 4, (unsigned)packet.length);
        peer_send(&peer, &packet);
        CHECK_EQUAL(peer.requests, length == 255);
        CHECK_EQUAL(peer_count(&peer, RESPONSE), length == 255);
        CHECK_EQUAL(peer_count(&peer, REFUSED), length != 255);
        if (length != 255)
            CHECK(strcmp((const char *)peer_nth(&peer, REFUSED, 0)->bytes + 12, "client string too long") == 0);
        peer_free(&peer);
    }
}

static void ROBUST_05_OPEN_without_a_string_or_without_its_NUL_is_accepted(void)
{
    for (int kind = 0; kind < 2; kind++) {
        struct peer peer;
        struct forged open;
        peer_init(&peer, NETBLT_SENDER, false);
        peer_start(&peer);
        forge_open(&peer, &open, OPEN, &peer.params, false);
        memcpy(open.bytes + 36, "wxyz", 4);
        open.length = kind == 0 ? 36 : 40;
        peer_send(&peer, &open);
        CHECK_EQUAL(peer_count(&peer, RESPONSE), 1);
        CHECK(strcmp(peer_info(&peer)->peer_string, kind == 0 ? "" : "wxyz") == 0);
        peer_free(&peer);
    }
}

static void ROBUST_04_reserved_bits_and_padding_are_ignored(void)
{
    struct peer peer;
    struct forged open;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_start(&peer);
    forge_open(&peer, &open, OPEN, &peer.params, false);
    forged_put16(&open, 10, 0xFFFF);
    forged_put16(&open, 32, 0xFFFC);
    peer_send(&peer, &open);
    CHECK_EQUAL(peer_count(&peer, RESPONSE), 1);
    CHECK_EQUAL(peer_get16(peer_nth(&peer, RESPONSE, 0)->bytes + 32), 0); /* and sent as zero */
    peer_free(&peer);
}

static void AMB_01_versions_4_and_5_are_dropped_and_all_others_are_served(void)
{
    for (unsigned version = 0; version < 256; version++) {
        struct peer peer;
        struct forged open;
        peer_init(&peer, NETBLT_SENDER, false);
        peer_start(&peer);
        peer.version = (uint8_t)version;
        forge_open(&peer, &open, OPEN, &peer.params, false);
        peer_send(&peer, &open);
        CHECK_EQUAL(peer_count(&peer, RESPONSE), version != 4 && version != 5);
        peer_free(&peer);
    }
}

static void AMB_01_every_packet_of_a_passive_end_carries_the_version_of_the_OPEN(void)
{
    struct peer peer;
    struct forged open;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.version = 7;
    peer_open(&peer);
    CHECK_EQUAL(peer_nth(&peer, RESPONSE, 0)->bytes[2], 7);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->bytes[2], 7);
    peer_wait(&peer, 20 * SECOND);
    CHECK_EQUAL(peer_nth(&peer, KEEPALIVE, 0)->bytes[2], 7);
    peer_reason(&peer, QUIT, "enough");
    CHECK_EQUAL(peer_nth(&peer, QUITACK, 0)->bytes[2], 7);
    peer_free(&peer);
    peer_init(&peer, NETBLT_SENDER, false);
    peer.version = 9;
    peer.refuse = true;
    peer_start(&peer);
    forge_open(&peer, &open, OPEN, &peer.params, false);
    peer_send(&peer, &open);
    CHECK_EQUAL(peer_nth(&peer, REFUSED, 0)->bytes[2], 9);
    peer_free(&peer);
}

static enum netblt_send_buffer never_ready(void *context, netblt_connection *connection, uint64_t index,
                                           uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)context, (void)connection, (void)index, (void)capacity, (void)data, (void)length, (void)last;
    return NETBLT_SEND_BUFFER_WAIT;
}

static void opening_names_what_is_wrong_with_the_port_the_client_or_the_parameters(void)
{
    struct peer peer;
    netblt_connection *second = NULL;
    netblt_path path = {.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, 2}}};
    const netblt_client nobody = {.size = sizeof nobody};
    const netblt_client sender = {.size = sizeof sender, .get_send_buffer = never_ready};
    peer_init(&peer, NETBLT_SENDER, true);
    peer_start(&peer);
    netblt_params zero = peer.params;
    zero.burst_size = 0;
    netblt_open_args args = {
        .size = sizeof args,
        .path = &path,
        .local_port = 1,
        .foreign_port = 7000,
        .role = NETBLT_SENDER,
        .unique_id = 1,
        .params = &peer.params,
        .client = &sender,
    };
    CHECK_EQUAL(netblt_open(peer.endpoint, &args, peer.now, &second), NETBLT_ERR_PORT_IN_USE);
    args.local_port = 2;
    args.client = &nobody;
    CHECK_EQUAL(netblt_open(peer.endpoint, &args, peer.now, &second), NETBLT_ERR_INVALID_ARGUMENT);
    args.client = &sender;
    args.params = &zero;
    CHECK_EQUAL(netblt_open(peer.endpoint, &args, peer.now, &second), NETBLT_ERR_INVALID_ARGUMENT);
    CHECK(second == NULL);
    args.params = &peer.params;
    CHECK_EQUAL(netblt_open(peer.endpoint, &args, peer.now, &second), 0);
    CHECK(second != NULL);
    peer_free(&peer);
}

static void DEMUX_04_a_stale_OPEN_of_a_connection_that_is_over_begins_nothing(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer_open(&peer);
    peer_null_ack(&peer, 2);
    peer_reason(&peer, ABORT, "over");
    CHECK_EQUAL(peer.closed, 1);
    forge_open(&peer, &packet, OPEN, &peer.params, true);
    peer_mark(&peer);
    peer_send(&peer, &packet); /* a copy that came late */
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    CHECK_EQUAL(peer.requests, 1);
    peer_wait(&peer, 121 * SECOND); /* nothing wanders about for so long */
    peer_send(&peer, &packet);
    CHECK_EQUAL(peer.requests, 2);
    peer_reason(&peer, ABORT, "over");
    peer.unique_id++; /* and a new attempt is welcome at once */
    forge_open(&peer, &packet, OPEN, &peer.params, true);
    peer_send(&peer, &packet);
    CHECK_EQUAL(peer.requests, 3);
    peer_free(&peer);
}

static void OPEN_07_an_OPEN_is_repeated_in_earnest_when_the_peer_never_heard_of_our_end(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer_open(&peer);
    CHECK_EQUAL(netblt_abort(peer.connection, "not now", peer.now), 0); /* ABORT and RESPONSE were lost */
    peer_wait(&peer, MS);
    CHECK_EQUAL(peer.closed, 1);
    forge_open(&peer, &packet, OPEN, &peer.params, true);
    peer_mark(&peer);
    peer_send(&peer, &packet);
    CHECK_EQUAL(peer_count(&peer, RESPONSE), 1);
    peer_free(&peer);
}

int main(void)
{
    RUN(DEMUX_04_a_stale_OPEN_of_a_connection_that_is_over_begins_nothing);
    RUN(OPEN_07_an_OPEN_is_repeated_in_earnest_when_the_peer_never_heard_of_our_end);
    RUN(OPEN_03_04_an_unanswered_OPEN_is_repeated_unchanged_then_given_up);
    RUN(OPEN_05_RESPONSE_stops_the_OPENs_and_OPEN_08_a_second_RESPONSE_changes_nothing);
    RUN(OPEN_06_REFUSED_and_ABORT_04_ABORT_end_the_attempt);
    RUN(OPEN_10_a_RESPONSE_to_another_attempt_is_not_accepted_but_the_right_one_still_is);
    RUN(AMB_22_CONTROL_and_DATA_before_RESPONSE_are_dropped);
    RUN(OPEN_01_02_a_served_OPEN_gets_a_RESPONSE_with_its_unique_ID_before_anything_else);
    RUN(OPEN_06_a_listener_may_refuse_with_a_reason);
    RUN(OPEN_06_a_listener_may_let_an_OPEN_wait_which_is_served_when_it_comes_again);
    RUN(AMB_26_nobody_listening_is_REFUSED_and_a_flood_is_not_answered_packet_by_packet);
    RUN(OPEN_07_a_repeated_OPEN_gets_the_same_RESPONSE_and_disturbs_nothing);
    RUN(OPEN_09_a_foreign_ID_on_a_live_port_pair_gets_ABORT_and_the_connection_lives);
    RUN(DEMUX_01_02_other_hosts_and_ports_are_other_connections);
    RUN(DEMUX_03_packets_for_no_connection_are_met_with_silence);
    RUN(an_OPEN_whose_client_string_is_longer_than_255_bytes_is_refused_and_nobody_asked);
    RUN(ROBUST_05_OPEN_without_a_string_or_without_its_NUL_is_accepted);
    RUN(ROBUST_04_reserved_bits_and_padding_are_ignored);
    RUN(AMB_01_versions_4_and_5_are_dropped_and_all_others_are_served);
    RUN(AMB_01_every_packet_of_a_passive_end_carries_the_version_of_the_OPEN);
    RUN(opening_names_what_is_wrong_with_the_port_the_client_or_the_parameters);
    return 0;
}
