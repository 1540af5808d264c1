/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of negotiation, parameter by parameter, against a scripted peer. */
#include "check.h"
#include "peer.h"

#include <string.h>

/* ---- active end ------------------------------------------------------------------------------------------------ */

static void WIRE_08_OPEN_holds_what_was_proposed(void)
{
    for (int sends = 0; sends < 2; sends++) {
        struct peer peer;
        peer_init(&peer, sends ? NETBLT_SENDER : NETBLT_RECEIVER, true);
        peer.params = (netblt_params){.buffer_size = 0x00010203,
                                      .transfer_size = 0x11121314,
                                      .packet_size = 0x1516,
                                      .burst_size = 0x1718,
                                      .burst_interval_ms = 0x191A,
                                      .death_timer_s = 0x1B1C,
                                      .max_buffers = 0x1D1E,
                                      .data_checksum = true,
                                      .client_string = "abc"};
        peer_start(&peer);
        const uint8_t *open = peer_nth(&peer, OPEN, 0)->bytes;
        CHECK_EQUAL(peer_nth(&peer, OPEN, 0)->size, 40);
        CHECK_EQUAL(peer_get16(open + 6), 1);
        CHECK_EQUAL(peer_get16(open + 8), 7000);
        CHECK_EQUAL(peer_get32(open + 12), 0x1234ABCD);
        CHECK_EQUAL(peer_get32(open + 16), 0x00010203);
        CHECK_EQUAL(peer_get32(open + 20), 0x11121314);
        CHECK_EQUAL(peer_get16(open + 24), 0x1516);
        CHECK_EQUAL(peer_get16(open + 26), 0x1718);
        CHECK_EQUAL(peer_get16(open + 28), 0x191A);
        CHECK_EQUAL(peer_get16(open + 30), 0x1B1C);
        CHECK_EQUAL(peer_get16(open + 32), sends ? 3 : 2); /* WIRE-09, AMB-08: M = the active end sends */
        CHECK_EQUAL(peer_get16(open + 34), 0x1D1E);
        CHECK(memcmp(open + 36, "abc", 4) == 0);
        peer_free(&peer);
    }
}

static void AMB_03_an_empty_string_is_four_NULs_and_AMB_15_a_size_beyond_the_field_is_0(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.params.transfer_size = UINT64_C(1) << 32;
    peer_start(&peer);
    CHECK_EQUAL(peer_nth(&peer, OPEN, 0)->size, 40);
    CHECK_EQUAL(peer_get32(peer_nth(&peer, OPEN, 0)->bytes + 36), 0);
    CHECK_EQUAL(peer_get32(peer_nth(&peer, OPEN, 0)->bytes + 20), 0);
    peer_free(&peer);
}

static void NEG_06_the_values_of_RESPONSE_govern(void)
{
    struct peer peer;
    struct forged response;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.params.burst_size = 8;
    peer.params.max_buffers = 4;
    peer.size = 4000;
    peer_start(&peer);
    netblt_params less = {.buffer_size = 150,
                          .packet_size = 60,
                          .burst_size = 2,
                          .burst_interval_ms = 50,
                          .death_timer_s = 77,
                          .max_buffers = 2,
                          .data_checksum = true,
                          .client_string = "hello"};
    forge_open(&peer, &response, RESPONSE, &less, true);
    peer_send(&peer, &response);
    struct forged control;
    forge(&peer, &control, CONTROL);
    for (unsigned i = 0; i < 4; i++)
        forge_go(&control, i + 1, i);
    netblt_time start = peer.now;
    peer_send(&peer, &control);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 6); /* two buffers of 60 + 60 + 30 */
    CHECK_EQUAL(peer_nth(&peer, DATA, 0)->length, 84);
    CHECK_EQUAL(peer_nth(&peer, LDATA, 0)->length, 54);
    CHECK(peer_get16(peer_nth(&peer, DATA, 0)->bytes + 20) != 0);
    CHECK_EQUAL(peer_nth_data(&peer, 1)->at, start);
    CHECK_EQUAL(peer_nth_data(&peer, 2)->at, start + 50 * MS);
    CHECK_EQUAL(peer_info(&peer)->peer_death_timer_s, 77);
    CHECK(strcmp(peer_info(&peer)->peer_string, "hello") == 0);
    peer_free(&peer);
}

static void NEG_10_a_RESPONSE_that_loosens_or_zeroes_anything_is_answered_by_ABORT(void)
{
    for (int kind = 0; kind < 10; kind++) {
        struct peer peer;
        struct forged response;
        peer_init(&peer, NETBLT_RECEIVER, true);
        peer.params.burst_interval_ms = 10;
        peer_start(&peer);
        netblt_params loose = peer.params;
        loose.buffer_size += kind == 0;
        loose.packet_size = (uint16_t)(loose.packet_size + (kind == 1));
        loose.burst_size = (uint16_t)(loose.burst_size + (kind == 2));
        loose.burst_interval_ms = (uint16_t)(loose.burst_interval_ms - (kind == 3));
        loose.max_buffers = (uint16_t)(loose.max_buffers + (kind == 4));
        loose.buffer_size = kind == 5 ? 0 : loose.buffer_size;
        loose.packet_size = kind == 6 ? 0 : loose.packet_size;
        loose.burst_size = kind == 7 ? 0 : loose.burst_size;
        loose.max_buffers = kind == 8 ? 0 : loose.max_buffers;
        forge_open(&peer, &response, RESPONSE, &loose, false);
        peer_send(&peer, &response);
        if (kind == 9) { /* the control arm */
            CHECK_EQUAL(peer.opened, 1);
        } else {
            CHECK_EQUAL(peer.opened, 0);
            CHECK_EQUAL(peer.result, NETBLT_LOCAL_ABORT);
            CHECK_EQUAL(peer_count(&peer, ABORT), 1);
            CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
        }
        peer_free(&peer);
    }
}

static void AMB_25_a_RESPONSE_that_clears_C_is_obeyed(void)
{
    struct peer peer;
    struct forged response;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.params.data_checksum = true;
    peer_start(&peer);
    netblt_params off = peer.params;
    off.data_checksum = false;
    forge_open(&peer, &response, RESPONSE, &off, true);
    peer_send(&peer, &response);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_get16(peer_nth_data(&peer, 0)->bytes + 20), 0);
    peer_free(&peer);
}

/* ---- passive end ----------------------------------------------------------------------------------------------- */

static void NEG_01_to_05_each_value_is_only_made_more_restrictive(void)
{
    static const struct {
        netblt_params proposed, limits, wanted;
    } cases[] = {
        {{.buffer_size = 4000, .packet_size = 1000, .burst_size = 9, .burst_interval_ms = 5, .max_buffers = 8},
         {.buffer_size = 3000, .packet_size = 500, .burst_size = 3, .burst_interval_ms = 50, .max_buffers = 2},
         {.buffer_size = 3000, .packet_size = 500, .burst_size = 3, .burst_interval_ms = 50, .max_buffers = 2}},
        {{.buffer_size = 400, .packet_size = 100, .burst_size = 1, .burst_interval_ms = 60000, .max_buffers = 1},
         {.buffer_size = 65536, .packet_size = 1456, .burst_size = 10, .burst_interval_ms = 1, .max_buffers = 8},
         {.buffer_size = 400, .packet_size = 100, .burst_size = 1, .burst_interval_ms = 60000, .max_buffers = 1}},
        {{.buffer_size = 400, .packet_size = 100, .burst_size = 65535, .burst_interval_ms = 0, .max_buffers = 65535},
         {.buffer_size = 400, .packet_size = 100, .burst_size = 65535, .burst_interval_ms = 0, .max_buffers = 65535},
         {.buffer_size = 400, .packet_size = 100, .burst_size = 65535, .burst_interval_ms = 0, .max_buffers = 65535}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct peer peer;
        struct forged open;
        peer_init(&peer, NETBLT_SENDER, false);
        peer.params = cases[i].limits;
        peer.params.death_timer_s = 44;
        peer_start(&peer);
        forge_open(&peer, &open, OPEN, &cases[i].proposed, false);
        peer_send(&peer, &open);
        const uint8_t *response = peer_nth(&peer, RESPONSE, 0)->bytes;
        CHECK_EQUAL(peer_get32(response + 16), cases[i].wanted.buffer_size);
        CHECK_EQUAL(peer_get16(response + 24), cases[i].wanted.packet_size);
        CHECK_EQUAL(peer_get16(response + 26), cases[i].wanted.burst_size);
        CHECK_EQUAL(peer_get16(response + 28), cases[i].wanted.burst_interval_ms);
        CHECK_EQUAL(peer_get16(response + 30), 44); /* declared, not negotiated */
        CHECK_EQUAL(peer_get16(response + 34), cases[i].wanted.max_buffers);
        peer_free(&peer);
    }
}

static void NEG_07_M_is_echoed_and_C_may_only_be_turned_on(void)
{
    for (int kind = 0; kind < 8; kind++) {
        struct peer peer;
        struct forged open;
        bool write = (kind & 1) != 0, asked = (kind & 2) != 0, ours = (kind & 4) != 0;
        peer_init(&peer, write ? NETBLT_RECEIVER : NETBLT_SENDER, false);
        peer.params.data_checksum = ours;
        peer_start(&peer);
        netblt_params proposed = peer.params;
        proposed.data_checksum = asked;
        forge_open(&peer, &open, OPEN, &proposed, write);
        peer_send(&peer, &open);
        unsigned flags = peer_get16(peer_nth(&peer, RESPONSE, 0)->bytes + 32);
        CHECK_EQUAL(flags, (write ? 1u : 0u) + (asked || ours ? 2u : 0u));
        peer_free(&peer);
    }
}

static void AMB_17_a_buffer_is_restricted_to_65535_packets(void)
{
    struct peer peer;
    struct forged open;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.packet_size = 1;
    peer.params.buffer_size = 70000;
    peer_start(&peer);
    forge_open(&peer, &open, OPEN, &peer.params, false);
    peer_send(&peer, &open);
    CHECK_EQUAL(peer_get32(peer_nth(&peer, RESPONSE, 0)->bytes + 16), 65535);
    peer_free(&peer);
}

static void NEG_10_an_OPEN_with_a_zero_is_REFUSED(void)
{
    for (int kind = 0; kind < 4; kind++) {
        struct peer peer;
        struct forged open;
        peer_init(&peer, NETBLT_SENDER, false);
        peer_start(&peer);
        netblt_params proposed = peer.params;
        proposed.buffer_size = kind == 0 ? 0 : proposed.buffer_size;
        proposed.packet_size = kind == 1 ? 0 : proposed.packet_size;
        proposed.burst_size = kind == 2 ? 0 : proposed.burst_size;
        proposed.max_buffers = kind == 3 ? 0 : proposed.max_buffers;
        forge_open(&peer, &open, OPEN, &proposed, false);
        peer_send(&peer, &open);
        CHECK_EQUAL(peer_count(&peer, REFUSED), 1);
        CHECK_EQUAL(peer_count(&peer, -1), 1);
        CHECK_EQUAL(peer.opened, 0);
        peer_free(&peer);
    }
}

static void OPEN_11_the_transfer_size_is_for_the_client_and_AMB_15_echoed_by_the_data_receiver(void)
{
    struct peer peer;
    struct forged open;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer_start(&peer);
    netblt_params proposed = peer.params;
    proposed.transfer_size = 17; /* a lie */
    forge_open(&peer, &open, OPEN, &proposed, true);
    peer_send(&peer, &open);
    CHECK_EQUAL(peer_get32(peer_nth(&peer, RESPONSE, 0)->bytes + 20), 17);
    CHECK_EQUAL(peer_info(&peer)->negotiated.transfer_size, 17);
    for (unsigned buffer = 0; buffer < 2; buffer++)
        for (unsigned i = 0; i < 4; i++)
            peer_data(&peer, buffer, i, 2, buffer == 1);
    CHECK(peer_delivered_exactly(&peer, 800));
    peer_free(&peer);
}

int main(void)
{
    RUN(WIRE_08_OPEN_holds_what_was_proposed);
    RUN(AMB_03_an_empty_string_is_four_NULs_and_AMB_15_a_size_beyond_the_field_is_0);
    RUN(NEG_06_the_values_of_RESPONSE_govern);
    RUN(NEG_10_a_RESPONSE_that_loosens_or_zeroes_anything_is_answered_by_ABORT);
    RUN(AMB_25_a_RESPONSE_that_clears_C_is_obeyed);
    RUN(NEG_01_to_05_each_value_is_only_made_more_restrictive);
    RUN(NEG_07_M_is_echoed_and_C_may_only_be_turned_on);
    RUN(AMB_17_a_buffer_is_restricted_to_65535_packets);
    RUN(NEG_10_an_OPEN_with_a_zero_is_REFUSED);
    RUN(OPEN_11_the_transfer_size_is_for_the_client_and_AMB_15_echoed_by_the_data_receiver);
    return 0;
}
