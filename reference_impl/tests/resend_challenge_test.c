/* SPDX-License-Identifier: BSD-2-Clause */
/* Address validation of a receiver that knows nothing of it, by packets that are withheld from it
 * (core/security/resend_challenge.h). */
#include "base/allocator.h"
#include "check.h"
#include "peer.h"
#include "random.h"
#include "security/resend_challenge.h"

#include <math.h>
#include <string.h>

/* ---- the choice ------------------------------------------------------------------------------------------------ */

static struct nb_hash_key key_number(uint64_t n)
{
    return (struct nb_hash_key){{n, ~n}};
}

static uint32_t chosen_of(const struct nb_resend_challenge *challenge, uint16_t list[])
{
    uint32_t count = 0;
    for (uint32_t packet = 0; packet < challenge->packets; packet++)
        if (nb_challenge_omits(challenge, packet))
            list[count++] = (uint16_t)packet;
    return count;
}

static void half_of_the_packets_after_the_first_are_chosen(void)
{
    static const struct {
        uint32_t packets, count;
    } cases[] = {{3, 1}, {4, 1}, {5, 2}, {6, 2}, {33, 16}, {64, 31}, {65535, 32767}};
    static uint16_t list[65536];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nb_hash_key key = key_number(i);
        struct nb_resend_challenge *challenge = nb_challenge_new(cases[i].packets, &key, &nb_allocator_default);
        CHECK(challenge != NULL);
        CHECK_EQUAL(chosen_of(challenge, list), cases[i].count);
        CHECK(list[0] > 0);
        nb_challenge_free(challenge);
    }
}

static void of_one_or_two_packets_none_is_chosen(void)
{
    struct nb_hash_key key = key_number(7);
    CHECK(nb_challenge_new(1, &key, &nb_allocator_default) == NULL);
    CHECK(nb_challenge_new(2, &key, &nb_allocator_default) == NULL);
    nb_challenge_free(NULL);
}

/* Each of the 70 sets of 4 of 8 packets has the same probability. */
static void every_set_of_packets_is_chosen_equally_often(void)
{
    enum { DRAWS = 70000 };
    static unsigned times[512];
    for (unsigned n = 0; n < DRAWS; n++) {
        struct nb_hash_key key = key_number(n);
        struct nb_resend_challenge *challenge = nb_challenge_new(9, &key, &nb_allocator_default);
        unsigned set = 0;
        for (uint32_t packet = 0; packet < 9; packet++)
            set |= (unsigned)nb_challenge_omits(challenge, packet) << packet;
        times[set]++;
        nb_challenge_free(challenge);
    }
    unsigned sets = 0;
    for (unsigned set = 0; set < 512; set++) {
        sets += times[set] > 0;
        CHECK(times[set] == 0 || (times[set] > 800 && times[set] < 1200)); /* 1000, and six standard deviations */
    }
    CHECK_EQUAL(sets, 70);
}

/* ---- the probability ------------------------------------------------------------------------------------------- */

static bool nearly(double value, double wanted)
{
    return fabs(value - wanted) < 1e-9 * wanted;
}

static void the_chance_is_that_of_naming_the_withheld_packets_blindly(void)
{
    struct nb_hash_key key = key_number(1);
    struct nb_resend_challenge *challenge = nb_challenge_new(33, &key, &nb_allocator_default);
    uint16_t list[33];
    uint32_t count = chosen_of(challenge, list);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(nb_challenge_chance(challenge) == 1); /* nothing is proven as long as one is missing */
        nb_challenge_name(challenge, list[i]);
        nb_challenge_name(challenge, list[i]); /* a repetition does not count */
    }
    CHECK(nearly(nb_challenge_chance(challenge), 1.0 / 601080390)); /* C(16, 16) / C(32, 16) */
    nb_challenge_name(challenge, 0);                                /* never withheld, so it shows nothing */
    nb_challenge_name(challenge, 33);                               /* does not exist */
    nb_challenge_name(challenge, 65535);
    CHECK(nearly(nb_challenge_chance(challenge), 1.0 / 601080390));
    unsigned more = 0;
    for (uint32_t packet = 1; more < 4; packet++) {
        if (nb_challenge_omits(challenge, packet))
            continue;
        nb_challenge_name(challenge, packet);
        more++;
    }
    CHECK(nearly(nb_challenge_chance(challenge), 4845.0 / 601080390)); /* C(20, 16) / C(32, 16) */
    for (uint32_t packet = 0; packet < 33; packet++)
        nb_challenge_name(challenge, packet);
    CHECK(nearly(nb_challenge_chance(challenge), 1));
    nb_challenge_free(challenge);
}

static void a_withheld_packet_has_one_first_transmission(void)
{
    struct nb_hash_key key = key_number(2);
    struct nb_resend_challenge *challenge = nb_challenge_new(5, &key, &nb_allocator_default);
    uint16_t list[5];
    CHECK_EQUAL(chosen_of(challenge, list), 2);
    CHECK_EQUAL(challenge->unsent, 2);
    CHECK(nb_challenge_sent(challenge, list[0]));
    CHECK(!nb_challenge_sent(challenge, list[0]));
    CHECK(!nb_challenge_sent(challenge, 0));
    CHECK_EQUAL(challenge->unsent, 1);
    nb_challenge_free(challenge);
}

/* ---- at a sender ----------------------------------------------------------------------------------------------- */

/* We send `buffers` buffers of so many packets of 1000 bytes: 1024 bytes each as they leave. */
static void meet_reader(struct peer *peer, unsigned packets, unsigned buffers)
{
    peer_init(peer, NETBLT_SENDER, false);
    peer->unvalidated_bytes_per_s = 1 << 20;
    memset(peer->secret, 0x5A, sizeof peer->secret);
    peer->size = (uint64_t)packets * buffers * 1000;
    peer->params.packet_size = 1000;
    peer->params.buffer_size = packets * 1000;
    peer->params.max_buffers = 8;
}

static void open_reader(struct peer *peer, uint32_t gos)
{
    peer_open(peer);
    peer_mark(peer);
    for (uint32_t i = 0; i < gos; i++)
        peer_go(peer, i + 1, i);
    peer_wait(peer, SECOND);
}

/* The packets of a buffer that have not arrived: what any receiver knows. */
static unsigned missing_of(const struct peer *peer, uint32_t buffer, unsigned packets, uint16_t list[])
{
    unsigned count = 0;
    for (unsigned packet = 0; packet < packets; packet++)
        if (peer_times_sent(peer, buffer, packet) == 0)
            list[count++] = (uint16_t)packet;
    return count;
}

static void a_transfer_of_32_KiB_in_packets_is_sent_whole(void)
{
    struct peer peer;
    uint16_t list[64];
    meet_reader(&peer, 32, 1);
    open_reader(&peer, 1);
    CHECK_EQUAL(missing_of(&peer, 0, 32, list), 0);
    CHECK(peer_info(&peer)->unvalidated);
    peer_ok(&peer, 2, 0);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
    meet_reader(&peer, 33, 1);
    open_reader(&peer, 1);
    CHECK_EQUAL(missing_of(&peer, 0, 33, list), 16);
    peer_free(&peer);
}

static void so_are_the_first_32_KiB_of_a_longer_one(void)
{
    struct peer peer;
    uint16_t list[64];
    meet_reader(&peer, 16, 4);
    open_reader(&peer, 4);
    CHECK_EQUAL(missing_of(&peer, 0, 16, list), 0);
    CHECK_EQUAL(missing_of(&peer, 1, 16, list), 0);
    CHECK_EQUAL(missing_of(&peer, 2, 16, list), 7);
    CHECK_EQUAL(missing_of(&peer, 3, 16, list), 7);
    peer_free(&peer);
}

static void withheld_packets_do_not_leave_by_themselves(void)
{
    struct peer peer;
    uint16_t list[64];
    meet_reader(&peer, 64, 1);
    open_reader(&peer, 1);
    CHECK_EQUAL(missing_of(&peer, 0, 64, list), 31);
    CHECK_EQUAL(peer_times_sent(&peer, 0, 0), 1);
    peer_wait(&peer, 50 * SECOND);
    CHECK_EQUAL(missing_of(&peer, 0, 64, list), 31);
    CHECK(peer_info(&peer)->unvalidated);
    peer_free(&peer);
}

static void check_each_left_once(struct peer *peer, unsigned packets)
{
    for (unsigned packet = 0; packet < packets; packet++)
        CHECK_EQUAL(peer_times_sent(peer, 0, packet), 1);
    CHECK_EQUAL(peer_info(peer)->stats.data_packets_sent, packets);
    CHECK_EQUAL(peer->info.stats.data_packets_retransmitted, 0);
}

static void a_RESEND_that_names_exactly_the_missing_packets_validates_and_each_leaves_once(void)
{
    struct peer peer;
    uint16_t list[64];
    meet_reader(&peer, 64, 1);
    open_reader(&peer, 1);
    unsigned count = missing_of(&peer, 0, 64, list);
    peer_resend(&peer, 2, 0, list, count);
    CHECK(!peer_info(&peer)->unvalidated);
    peer_wait(&peer, SECOND);
    check_each_left_once(&peer, 64);
    peer_ok(&peer, 3, 0);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

/* The peer is validated by buffer 0 while most of buffer 1 has not had its turn: its packets leave in order, once.
 * Those that had their turn and were withheld wait for their RESEND (ORDER-03). */
static void validation_in_the_middle_of_a_buffer_changes_nothing_but_what_is_withheld(void)
{
    struct peer peer;
    uint16_t list[64];
    meet_reader(&peer, 64, 2);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 10;
    peer_open(&peer);
    peer_mark(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    peer_wait(&peer, 500 * MS); /* 50 packets: the 33 of buffer 0 that are not withheld, and 17 of buffer 1 */
    CHECK_EQUAL(missing_of(&peer, 0, 64, list), 31);
    peer_resend(&peer, 3, 0, list, 31);
    CHECK(!peer_info(&peer)->unvalidated);
    peer_wait(&peer, 5 * SECOND);
    unsigned passed_over = missing_of(&peer, 1, 64, list);
    CHECK(passed_over > 0 && passed_over < 31);
    for (unsigned i = 0; i < passed_over; i++)
        CHECK(list[i] < 64 / 2); /* of the second half, which came later, nothing */
    peer_resend(&peer, 4, 1, list, passed_over);
    peer_wait(&peer, SECOND);
    for (uint32_t buffer = 0; buffer < 2; buffer++)
        for (unsigned packet = 0; packet < 64; packet++)
            CHECK_EQUAL(peer_times_sent(&peer, buffer, packet), 1);
    CHECK_EQUAL(peer_info(&peer)->stats.data_packets_retransmitted, 0);
    peer_free(&peer);
}

static void RESENDs_of_several_messages_are_taken_together(void)
{
    struct peer peer;
    struct forged control;
    uint16_t list[64];
    meet_reader(&peer, 64, 1);
    open_reader(&peer, 1);
    unsigned count = missing_of(&peer, 0, 64, list);
    peer_resend(&peer, 2, 0, list, 10);
    CHECK(peer_info(&peer)->unvalidated);
    peer_wait(&peer, SECOND); /* which those ten leave in */
    forge(&peer, &control, CONTROL);
    forge_resend(&control, 3, 0, list + 10, 10);
    forge_resend(&control, 4, 0, list + 20, count - 20);
    peer_send(&peer, &control);
    CHECK(!peer_info(&peer)->unvalidated);
    peer_wait(&peer, SECOND);
    check_each_left_once(&peer, 64);
    peer_free(&peer);
}

static void a_RESEND_that_names_everything_does_not_validate(void)
{
    struct peer peer;
    uint16_t all[64];
    meet_reader(&peer, 64, 1);
    open_reader(&peer, 1);
    for (unsigned i = 0; i < 64; i++)
        all[i] = (uint16_t)i;
    for (unsigned seq = 2; seq < 6; seq++) {
        peer_resend(&peer, seq, 0, all, 64);
        peer_wait(&peer, SECOND);
        CHECK(peer_info(&peer)->unvalidated);
    }
    CHECK_EQUAL(peer.info.stats.data_packets_sent, 33 + 4 * 64);
    CHECK_EQUAL(peer.info.stats.data_packets_retransmitted, 4 * 64 - 31); /* 31 left for the first time */
    peer_ok(&peer, 6, 0);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

static void one_that_leaves_out_a_withheld_packet_does_not_validate_either(void)
{
    struct peer peer;
    uint16_t list[64];
    meet_reader(&peer, 64, 1);
    open_reader(&peer, 1);
    unsigned count = missing_of(&peer, 0, 64, list);
    uint16_t first = 0;
    peer_resend(&peer, 2, 0, &first, 1);
    peer_resend(&peer, 3, 0, list + 1, count - 1);
    CHECK(peer_info(&peer)->unvalidated);
    peer_resend(&peer, 4, 0, list, 1);
    CHECK(!peer_info(&peer)->unvalidated);
    peer_free(&peer);
}

/* Blind guesses: as many packets as are withheld, each time others. */
static void random_RESENDs_do_not_validate(void)
{
    struct random random = {1};
    for (uint32_t i = 0; i < 300; i++) {
        struct peer peer;
        uint16_t guess[64];
        meet_reader(&peer, 64, 1);
        peer.unique_id = i;
        open_reader(&peer, 1);
        for (unsigned seq = 2; seq < 12; seq++) {
            unsigned count = 0;
            for (unsigned packet = 1; packet < 64; packet++)
                if (random_chance(&random, 490))
                    guess[count++] = (uint16_t)packet;
            peer_resend(&peer, seq, 0, guess, count);
            CHECK(peer_info(&peer)->unvalidated);
        }
        peer_free(&peer);
    }
}

/* With 18 of the others lost the RESEND names 49 of 63: C(49, 31) / C(63, 31) * 2^16 = 0.82; with 19 it is 2.2. */
static void packets_that_the_network_lost_prove_less(void)
{
    static const struct {
        unsigned lost;
        bool validates;
    } cases[] = {{0, true}, {10, true}, {18, true}, {19, false}, {32, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct peer peer;
        uint16_t list[64];
        meet_reader(&peer, 64, 1);
        open_reader(&peer, 1);
        unsigned count = missing_of(&peer, 0, 64, list);
        CHECK_EQUAL(count, 31);
        for (unsigned packet = 1; count < 31 + cases[i].lost; packet++)
            if (peer_times_sent(&peer, 0, packet) > 0)
                list[count++] = (uint16_t)packet;
        peer_resend(&peer, 2, 0, list, count);
        CHECK_EQUAL(peer_info(&peer)->unvalidated, !cases[i].validates);
        peer_free(&peer);
    }
}

/* 8 of 16 are withheld: 1 in 12,870. Two such buffers together are 1 in 165,636,900. */
static void several_buffers_multiply_their_probabilities(void)
{
    struct peer peer;
    uint16_t list[64];
    meet_reader(&peer, 17, 4);
    open_reader(&peer, 4);
    CHECK_EQUAL(missing_of(&peer, 0, 17, list), 0); /* 17,408 of the first 32,768 bytes */
    CHECK_EQUAL(missing_of(&peer, 1, 17, list), 8);
    peer_resend(&peer, 5, 1, list, 8);
    CHECK(peer_info(&peer)->unvalidated);
    peer_resend(&peer, 6, 1, list, 8); /* once more is worth nothing */
    CHECK(peer_info(&peer)->unvalidated);
    CHECK_EQUAL(missing_of(&peer, 3, 17, list), 8);
    peer_resend(&peer, 7, 3, list, 8);
    CHECK(!peer_info(&peer)->unvalidated);
    CHECK_EQUAL(missing_of(&peer, 2, 17, list), 8); /* they wait for a RESEND, as if the network had lost them */
    peer_resend(&peer, 8, 2, list, 8);
    peer_wait(&peer, SECOND);
    for (uint32_t buffer = 0; buffer < 4; buffer++)
        CHECK_EQUAL(missing_of(&peer, buffer, 17, list), 0);
    peer_free(&peer);
}

static void nothing_is_withheld_from_a_validated_peer(void)
{
    struct peer peer;
    uint16_t list[64];
    meet_reader(&peer, 64, 3);
    open_reader(&peer, 1);
    unsigned count = missing_of(&peer, 0, 64, list);
    peer_resend(&peer, 2, 0, list, count);
    peer_go(&peer, 3, 1);
    peer_go(&peer, 4, 2);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(missing_of(&peer, 1, 64, list), 0);
    CHECK_EQUAL(missing_of(&peer, 2, 64, list), 0);
    peer_free(&peer);
}

/* No peer can have got all of it. An OK that is not believed does not end the transfer either. */
static void an_OK_for_a_buffer_of_which_packets_are_withheld_is_ignored(void)
{
    struct peer peer;
    uint16_t list[64];
    meet_reader(&peer, 64, 1);
    open_reader(&peer, 1);
    peer_ok(&peer, 2, 0);
    CHECK_EQUAL(peer.finished, 0);
    CHECK(peer_info(&peer)->unvalidated);
    CHECK_EQUAL(peer.info.stats.payload_bytes, 0);
    unsigned count = missing_of(&peer, 0, 64, list);
    peer_resend(&peer, 3, 0, list, count);
    peer_wait(&peer, SECOND);
    peer_ok(&peer, 4, 0);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

/* The RESEND comes while packets that it names have not had their turn: they leave in their turn, and prove nothing. */
static void packets_that_a_RESEND_names_before_their_turn_are_not_withheld(void)
{
    struct peer peer;
    uint16_t all[64], list[64];
    for (unsigned i = 0; i < 64; i++)
        all[i] = (uint16_t)i;
    meet_reader(&peer, 64, 1);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 10;
    peer_open(&peer);
    peer_mark(&peer);
    peer_go(&peer, 1, 0);
    peer_resend(&peer, 2, 0, all, 64);
    peer_wait(&peer, 2 * SECOND);
    CHECK_EQUAL(missing_of(&peer, 0, 64, list), 0);
    CHECK(peer_info(&peer)->unvalidated);
    peer_ok(&peer, 3, 0);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

static void buffers_of_one_or_two_packets_are_sent_whole_and_complete(void)
{
    for (unsigned packets = 1; packets <= 3; packets++) {
        struct peer peer;
        uint16_t list[3];
        peer_init(&peer, NETBLT_SENDER, false);
        peer.unvalidated_bytes_per_s = 1 << 20;
        peer.params.packet_size = 40000;
        peer.params.buffer_size = packets * 40000;
        peer.size = packets * 40000 * 2;
        open_reader(&peer, 2);
        CHECK_EQUAL(missing_of(&peer, 0, packets, list), packets == 3 ? 1 : 0);
        CHECK_EQUAL(missing_of(&peer, 1, packets, list), packets == 3 ? 1 : 0);
        if (packets < 3) {
            peer_ok(&peer, 3, 0);
            peer_ok(&peer, 4, 1);
            CHECK_EQUAL(peer.result, NETBLT_DONE);
        }
        peer_free(&peer);
    }
}

/* An attacker who sees one connection learns nothing about the next. */
static void each_connection_and_each_buffer_chooses_anew(void)
{
    uint16_t lists[3][64];
    for (uint32_t i = 0; i < 2; i++) {
        struct peer peer;
        meet_reader(&peer, 64, 2);
        peer.unique_id += i;
        open_reader(&peer, 2);
        CHECK_EQUAL(missing_of(&peer, 0, 64, lists[i]), 31);
        CHECK_EQUAL(missing_of(&peer, 1, 64, lists[2]), 31);
        CHECK(memcmp(lists[i], lists[2], 62) != 0);
        peer_free(&peer);
    }
    CHECK(memcmp(lists[0], lists[1], 62) != 0);
}

int main(void)
{
    RUN(half_of_the_packets_after_the_first_are_chosen);
    RUN(of_one_or_two_packets_none_is_chosen);
    RUN(every_set_of_packets_is_chosen_equally_often);
    RUN(the_chance_is_that_of_naming_the_withheld_packets_blindly);
    RUN(a_withheld_packet_has_one_first_transmission);
    RUN(a_transfer_of_32_KiB_in_packets_is_sent_whole);
    RUN(so_are_the_first_32_KiB_of_a_longer_one);
    RUN(withheld_packets_do_not_leave_by_themselves);
    RUN(a_RESEND_that_names_exactly_the_missing_packets_validates_and_each_leaves_once);
    RUN(validation_in_the_middle_of_a_buffer_changes_nothing_but_what_is_withheld);
    RUN(RESENDs_of_several_messages_are_taken_together);
    RUN(a_RESEND_that_names_everything_does_not_validate);
    RUN(one_that_leaves_out_a_withheld_packet_does_not_validate_either);
    RUN(random_RESENDs_do_not_validate);
    RUN(packets_that_the_network_lost_prove_less);
    RUN(several_buffers_multiply_their_probabilities);
    RUN(nothing_is_withheld_from_a_validated_peer);
    RUN(an_OK_for_a_buffer_of_which_packets_are_withheld_is_ignored);
    RUN(packets_that_a_RESEND_names_before_their_turn_are_not_withheld);
    RUN(buffers_of_one_or_two_packets_are_sent_whole_and_complete);
    RUN(each_connection_and_each_buffer_chooses_anew);
    return 0;
}
