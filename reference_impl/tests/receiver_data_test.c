/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the data receiver, rule by rule, against a scripted peer: which data it takes, what it delivers, when it is
 * done. Standard buffers: 4 packets of 100 bytes. */
#include "receiver_peer.h"

#include <string.h>

static void DATA_07_order_and_duplicates_do_not_matter(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    for (int i = 3; i >= 0; i--) {
        peer_data(&peer, 0, (unsigned)i, 2, false);
        peer_data(&peer, 0, (unsigned)i, 2, false);
    }
    CHECK(peer_delivered_exactly(&peer, 400));
    CHECK_EQUAL(peer.deliveries, 1);
    peer_last_messages(&peer, messages, 128);
    CHECK_EQUAL(messages[0].type, OK);
    peer_free(&peer);
}

static void DATA_08_a_higher_buffer_is_OKed_at_once_but_delivered_after_the_lower_one(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.size = 4000;
    begin(&peer, true);
    send_buffer(&peer, 1, 2, false);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1); /* no GO: it still takes one of the two buffers */
    CHECK_EQUAL(messages[0].type, OK);
    CHECK_EQUAL(messages[0].buffer, 1);
    CHECK_EQUAL(peer.deliveries, 0);
    send_buffer(&peer, 0, 3, false);
    CHECK_EQUAL(peer.deliveries, 2);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 3); /* OK 0, GO 2, GO 3 */
    CHECK(peer_delivered_exactly(&peer, 800));
    peer_free(&peer);
}

static void AMB_29_with_any_order_a_new_GO_follows_any_completed_buffer(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.size = 4000;
    peer.options.any_order = true;
    begin(&peer, true);
    send_buffer(&peer, 1, 2, false);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 2);
    CHECK(messages[0].type == OK && messages[0].buffer == 1);
    CHECK(messages[1].type == GO && messages[1].buffer == 2);
    peer_free(&peer);
}

static void any_order_delivers_a_buffer_when_it_is_complete(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.options.any_order = true;
    begin(&peer, true);
    send_buffer(&peer, 1, 2, true);
    CHECK_EQUAL(peer.deliveries, 1);
    CHECK_EQUAL(peer.last_delivered_index, 1);
    CHECK(peer.last_was_delivered);
    send_buffer(&peer, 0, 2, false);
    peer_null_ack(&peer, 4);
    CHECK(peer_delivered_exactly(&peer, 800));
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    CHECK_EQUAL(peer_count(&peer, DONE), 1);
    peer_free(&peer);
}

static void DATA_12_GOs_wait_for_client_memory(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 4;
    peer.client_buffers = 2;
    peer_open(&peer);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 2);
    peer_null_ack(&peer, 2);
    peer_mark(&peer);
    send_buffer(&peer, 1, 2, false); /* complete, but its memory is still in use */
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
    send_buffer(&peer, 0, 2, false);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 4);
    CHECK_EQUAL(messages[2].type, GO);
    CHECK_EQUAL(messages[3].buffer, 3);
    peer_free(&peer);
}

static void DATA_10_no_GO_after_L_and_AMB_30_buffers_above_it_are_dropped(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 4;
    begin(&peer, true);
    peer_data(&peer, 0, 1, 4, true);
    CHECK_EQUAL(peer.held, 1);
    peer_wait(&peer, 5 * SECOND);
    peer_last_messages(&peer, messages, 128);
    for (size_t i = 0; i < peer_count(&peer, CONTROL); i++) {
        size_t count = peer_messages(peer_nth(&peer, CONTROL, i), messages, 128);
        for (size_t k = 0; k < count; k++)
            CHECK(messages[k].type == RESEND && messages[k].buffer == 0);
    }
    send_buffer(&peer, 0, 5, true);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
    CHECK_EQUAL(messages[0].type, OK);
    peer_null_ack(&peer, 6);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

static void AMB_41_an_empty_transfer_and_last_buffers_of_any_size_are_accepted(void)
{
    static const struct {
        unsigned number;
        size_t length;
        bool beyond; /* LDATA follows full packets */
    } ends[] = {{0, 0, false}, {0, 1, false}, {0, 100, false}, {2, 37, true}, {3, 100, true}, {2, 0, true}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct peer peer;
        struct forged packet;
        peer_init(&peer, NETBLT_RECEIVER, false);
        begin(&peer, true);
        for (unsigned k = 0; k < ends[i].number; k++)
            peer_data(&peer, 0, k, 2, true);
        forge_data(&peer, &packet, LDATA, 0, ends[i].number, 2, true, peer.data + 100 * ends[i].number, ends[i].length,
                   false);
        peer_send(&peer, &packet);
        CHECK(peer_delivered_exactly(&peer, 100 * ends[i].number + ends[i].length));
        CHECK(peer.last_was_delivered);
        peer_null_ack(&peer, 3);
        CHECK_EQUAL(peer.result, NETBLT_DONE);
        peer_free(&peer);
    }
}

static void AMB_02_pad_bytes_beyond_Length_and_a_Length_rounded_up_are_understood(void)
{
    for (int rounded = 0; rounded < 2; rounded++) {
        struct peer peer;
        struct forged packet;
        uint8_t padded[104] = {0};
        peer_init(&peer, NETBLT_RECEIVER, false);
        peer.params.packet_size = 99;
        peer.params.buffer_size = 99 * 2 + 1;
        peer.params.data_checksum = true;
        begin(&peer, true);
        for (unsigned k = 0; k < 3; k++) {
            size_t length = k < 2 ? 99 : 1;
            memset(padded, 0, sizeof padded);
            memcpy(padded, peer.data + 99 * k, length);
            size_t up = (length + 3) / 4 * 4;
            forge_data(&peer, &packet, k == 2 ? LDATA : DATA, 0, k, 2, false, padded, rounded ? up : length, true);
            packet.size = 24 + up;
            memset(packet.bytes + 24 + length, rounded ? 0 : 0xAA, up - length);
            peer_send(&peer, &packet);
        }
        CHECK(peer_delivered_exactly(&peer, 199));
        peer_free(&peer);
    }
}

static void CKSUM_07_bad_data_is_not_stored_when_C_is_1_and_CKSUM_05_the_field_is_ignored_when_not(void)
{
    for (int c = 0; c < 2; c++) {
        struct peer peer;
        struct forged packet;
        peer_init(&peer, NETBLT_RECEIVER, false);
        peer.params.data_checksum = c != 0;
        begin(&peer, true);
        for (unsigned k = 0; k < 3; k++)
            peer_data(&peer, 0, k, 2, false);
        forge_data(&peer, &packet, LDATA, 0, 3, 2, false, peer.data + 300, 100, true);
        forged_put16(&packet, 20, peer_get16(packet.bytes + 20) ^ 0x0101);
        peer_send(&peer, &packet);
        CHECK_EQUAL(peer.deliveries, c == 0);
        if (c != 0) {
            CHECK_EQUAL(peer_info(&peer)->stats.checksum_errors, 1);
            peer_wait(&peer, SECOND);
            peer_last_messages(&peer, messages, 128);
            CHECK_EQUAL(messages[0].type, RESEND);
            CHECK_EQUAL(messages[0].packets[0], 3);
            peer_data(&peer, 0, 3, 2, false);
            CHECK(peer_delivered_exactly(&peer, 400));
        }
        peer_free(&peer);
    }
}

static void AMB_60_the_ack_of_a_packet_counts_even_if_its_data_does_not(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.data_checksum = true;
    begin(&peer, false);
    forge_data(&peer, &packet, DATA, 0, 0, 2, false, peer.data, 100, true);
    packet.bytes[50] ^= 1;
    peer_send(&peer, &packet);
    peer_wait(&peer, 30 * MS);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
    peer_wait(&peer, 5 * SECOND);
    peer_last_messages(&peer, messages, 128);
    CHECK_EQUAL(messages[0].seq, 3);
    peer_free(&peer);
}

static void ROBUST_06_impossible_data_is_never_stored(void)
{
    static const struct {
        int type;
        uint32_t buffer;
        unsigned number;
        size_t length;
        bool last;
    } impossible[] = {
        {DATA, 2, 0, 100, false},          /* never GO'd */
        {DATA, UINT32_MAX, 0, 100, false}, /* before the first */
        {DATA, 0, 4, 100, false},          /* past the buffer */
        {DATA, 0, 65535, 100, false},      /* far past it */
        {LDATA, 0, 4, 100, true},          /* */
        {DATA, 0, 0, 99, false},           /* short */
        {DATA, 0, 0, 101, false},          /* long */
        {DATA, 0, 0, 1400, false},         /* much too long */
        {DATA, 0, 0, 0, false},            /* nothing */
        {LDATA, 0, 3, 99, false},          /* a buffer that is not the last is full */
        {LDATA, 0, 2, 100, false},         /* */
        {LDATA, 0, 0, 101, true},          /* */
        {DATA, 0, 3, 100, false},          /* the last number is LDATA's */
    };
    static const uint8_t rubbish[1400] = {0xEE};
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        struct forged packet;
        forge_data(&peer, &packet, impossible[i].type, impossible[i].buffer, impossible[i].number, 2,
                   impossible[i].last, rubbish, impossible[i].length, false);
        peer_send(&peer, &packet);
        CHECK_EQUAL(peer_info(&peer)->stats.data_packets_duplicate, i + 1);
        CHECK_EQUAL(peer_info(&peer)->stats.data_packets_settled, 0);
    }
    send_buffer(&peer, 0, 2, false);
    CHECK(peer_delivered_exactly(&peer, 400));
    CHECK_EQUAL(peer_info(&peer)->stats.data_packets_settled, 4);
    peer_free(&peer);
}

static void ROBUST_06_an_LDATA_that_contradicts_what_is_there_is_not_stored(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    peer_data(&peer, 0, 2, 2, true);
    forge_data(&peer, &packet, LDATA, 0, 1, 2, true, peer.data, 50, false); /* below a packet that exists */
    peer_send(&peer, &packet);
    peer_data(&peer, 0, 3, 2, true);
    forge_data(&peer, &packet, LDATA, 0, 2, 2, true, peer.data, 50, false); /* a second LDATA */
    peer_send(&peer, &packet);
    peer_data(&peer, 0, 0, 2, true);
    CHECK_EQUAL(peer.deliveries, 0);
    peer_data(&peer, 0, 1, 2, true);
    CHECK(peer_delivered_exactly(&peer, 400));
    peer_free(&peer);
}

static void ROBUST_06_L_on_a_second_buffer_or_below_data_is_not_believed(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    peer_data(&peer, 1, 0, 2, false);
    peer_data(&peer, 0, 0, 2, true); /* buffer 1 exists */
    send_buffer(&peer, 0, 2, false);
    CHECK(peer_delivered_exactly(&peer, 400));
    CHECK(!peer.last_was_delivered);
    for (unsigned i = 0; i < 4; i++)
        peer_data(&peer, 1, i, 4, true);
    CHECK(peer_delivered_exactly(&peer, 800));
    CHECK(peer.last_was_delivered);
    peer_free(&peer);
}

static void AMB_40_L_on_any_packet_of_the_buffer_is_enough(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    for (unsigned i = 0; i < 4; i++)
        peer_data(&peer, 0, i, 2, i == 1);
    CHECK(peer.last_was_delivered);
    peer_null_ack(&peer, 3);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

static void CLOSE_01_not_done_before_every_message_is_acked_and_no_buffer_misses_packets(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    send_buffer(&peer, 1, 2, true); /* the last is complete, an earlier one is not */
    peer_null_ack(&peer, 3);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer.finished, 0);
    send_buffer(&peer, 0, 3, false);
    CHECK_EQUAL(peer.finished, 0); /* its OK is not acknowledged */
    size_t before = peer_count(&peer, CONTROL);
    peer_wait(&peer, 3 * SECOND);
    CHECK(peer_count(&peer, CONTROL) > before);
    CHECK_EQUAL(peer_count(&peer, DONE), 0);
    size_t count = peer_last_messages(&peer, messages, 128);
    peer_null_ack(&peer, messages[count - 1].seq);
    CHECK_EQUAL(peer_count(&peer, DONE), 1);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    CHECK_EQUAL(peer.closed, 1);
    peer_mark(&peer);
    peer_null_ack(&peer, 5); /* AMB-55: silence for what comes late */
    peer_wait(&peer, 200 * SECOND);
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    CHECK_EQUAL(netblt_deadline(peer.endpoint), NETBLT_TIME_NEVER);
    peer_free(&peer);
}

static void ROBUST_08_packets_of_the_wrong_direction_are_ignored(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    peer_go(&peer, 1, 0);
    peer_ok(&peer, 2, 0);
    peer_bare(&peer, DONE);
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    CHECK_EQUAL(peer.finished, 0);
    send_buffer(&peer, 0, 2, true);
    CHECK(peer_delivered_exactly(&peer, 400));
    peer_free(&peer);
}

/* AMB-02 form (c) with C=1: the padding is among the data that the checksum covers, though it is not delivered. */
static void CKSUM_07_bad_data_with_padding_counted_in_Length_is_not_stored_either(void)
{
    for (int bad = 0; bad < 3; bad++) {
        struct peer peer;
        struct forged packet;
        uint8_t data[8] = {peer_byte(0), peer_byte(1), peer_byte(2), peer_byte(3), peer_byte(4), peer_byte(5)};
        peer_init(&peer, NETBLT_RECEIVER, true);
        peer.params.packet_size = 6;
        peer.params.buffer_size = 6;
        peer.params.max_buffers = 1;
        peer.params.data_checksum = true;
        begin(&peer, true);
        forge_data(&peer, &packet, LDATA, 0, 0, 1, true, data, 8, true);
        if (bad != 0)
            packet.bytes[24 + (bad == 1 ? 0 : 7)] ^= 1; /* in the data, in the padding */
        peer_send(&peer, &packet);
        CHECK_EQUAL(peer.deliveries, bad == 0);
        CHECK_EQUAL(peer_info(&peer)->stats.checksum_errors, bad != 0);
        if (bad == 0)
            CHECK(peer_delivered_exactly(&peer, 6));
        peer_free(&peer);
    }
}

int main(void)
{
    RUN(DATA_07_order_and_duplicates_do_not_matter);
    RUN(DATA_08_a_higher_buffer_is_OKed_at_once_but_delivered_after_the_lower_one);
    RUN(AMB_29_with_any_order_a_new_GO_follows_any_completed_buffer);
    RUN(any_order_delivers_a_buffer_when_it_is_complete);
    RUN(DATA_12_GOs_wait_for_client_memory);
    RUN(DATA_10_no_GO_after_L_and_AMB_30_buffers_above_it_are_dropped);
    RUN(AMB_41_an_empty_transfer_and_last_buffers_of_any_size_are_accepted);
    RUN(AMB_02_pad_bytes_beyond_Length_and_a_Length_rounded_up_are_understood);
    RUN(CKSUM_07_bad_data_is_not_stored_when_C_is_1_and_CKSUM_05_the_field_is_ignored_when_not);
    RUN(AMB_60_the_ack_of_a_packet_counts_even_if_its_data_does_not);
    RUN(ROBUST_06_impossible_data_is_never_stored);
    RUN(ROBUST_06_an_LDATA_that_contradicts_what_is_there_is_not_stored);
    RUN(ROBUST_06_L_on_a_second_buffer_or_below_data_is_not_believed);
    RUN(AMB_40_L_on_any_packet_of_the_buffer_is_enough);
    RUN(CLOSE_01_not_done_before_every_message_is_acked_and_no_buffer_misses_packets);
    RUN(ROBUST_08_packets_of_the_wrong_direction_are_ignored);
    RUN(CKSUM_07_bad_data_with_padding_counted_in_Length_is_not_stored_either);
    return 0;
}
