/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which packets a rule's words mean. */
#include "testing.h"

/* Does "drop ..." drop the packet? */
static bool drops(const char *words, const test_packet *packet)
{
    char rule[FLAKEWAY_RULE_TEXT_BYTES];
    flakeway_released released;
    snprintf(rule, sizeof rule, "drop %s", words);
    flakeway *engine = engine_with(1, rule, NULL);
    offer(engine, FLAKEWAY_A_TO_B, packet, 0);
    bool dropped = !flakeway_release(engine, 0, &released);
    flakeway_free(engine);
    return dropped;
}

static void every_type_name_means_its_type(void)
{
    /* RFC 998 8 and appendix; the names' order is the types' */
    static const char *const names[] = {"OPEN", "RESPONSE", "KEEPALIVE", "QUIT",    "QUITACK", "ABORT",
                                        "DATA", "LDATA",    "NULL-ACK",  "CONTROL", "REFUSED", "DONE"};
    for (unsigned type = 0; type <= UINT8_MAX; type++) {
        test_packet packet = simple_packet((uint8_t)type, 40);
        for (uint8_t name = 0; name < 12; name++)
            CHECK(drops(names[name], &packet) == (name == type));
        CHECK(drops("DATA|DONE", &packet) == (type == 6 || type == 11));
        CHECK(drops("type=11..12", &packet) == (type == 11 || type == 12));
    }
}

static void capitals_do_not_matter(void)
{
    test_packet packet = simple_packet(8, 20);
    CHECK(drops("null-ack A>B", &packet));
}

static void data_is_found_by_buffer_and_packet(void)
{
    test_packet packet = data_packet(7, 0x12345678, 513, 8);
    CHECK(drops("LDATA buffer=305419896 packet=513", &packet));
    CHECK(drops("buffer=305419896", &packet));
    CHECK(!drops("DATA buffer=305419896", &packet));
    CHECK(!drops("LDATA buffer=305419897", &packet));
    CHECK(!drops("LDATA packet=514", &packet));
    CHECK(drops("packet=500..600 buffer=0..4294967295", &packet));
    CHECK(!drops("seq=0", &packet));
}

static void messages_are_found_anywhere_in_a_control_packet(void)
{
    const uint16_t missing[] = {4, 9, 12};
    test_packet packet = control_packet();
    add_go(&packet, 1, 3);
    add_resend(&packet, 2, 2, 3, missing);
    add_ok(&packet, 3, 1);
    CHECK(drops("GO", &packet) && drops("OK", &packet) && drops("RESEND", &packet) && drops("CONTROL", &packet));
    CHECK(drops("OK buffer=1 seq=3", &packet));
    CHECK(!drops("OK buffer=3", &packet)); /* the GO's */
    CHECK(!drops("OK seq=1", &packet));
    CHECK(drops("CONTROL buffer=3", &packet));
    CHECK(drops("GO|OK buffer=3 seq=1", &packet));
    CHECK(!drops("GO|OK buffer=3 seq=3", &packet)); /* both must be of one message */
    CHECK(drops("RESEND packet=9", &packet));
    CHECK(!drops("RESEND packet=10", &packet));
    CHECK(drops("seq=2", &packet));
}

static void a_control_packet_without_the_message_is_not_meant(void)
{
    test_packet packet = control_packet();
    CHECK(!drops("OK", &packet));
    CHECK(drops("CONTROL", &packet));
    add_go(&packet, 1, 3);
    CHECK(!drops("OK", &packet));
    CHECK(!drops("RESEND", &packet));
}

static void messages_beyond_the_length_field_or_the_packet_do_not_count(void)
{
    test_packet packet = control_packet();
    add_go(&packet, 1, 3);
    add_ok(&packet, 2, 3);
    packet.bytes[5] = 20; /* Length ends after the GO */
    CHECK(!drops("OK", &packet));
    packet.bytes[5] = 36;
    CHECK(drops("OK", &packet));
    packet.length = 35; /* the OK is not whole */
    CHECK(!drops("OK", &packet));
}

static void no_garbage_is_read_beyond_a_packets_end(void)
{
    test_packet full = control_packet();
    const uint16_t missing[] = {1, 2, 3};
    add_resend(&full, 1, 1, 3, missing);
    for (unsigned type = 0; type < 256; type++) {
        for (size_t length = 1; length <= full.length; length++) {
            /* on the heap and exactly as long, so that the sanitizer sees every byte too many */
            uint8_t *bytes = malloc(length);
            if (!bytes)
                abort();
            memcpy(bytes, full.bytes, length);
            if (length > 3)
                bytes[3] = (uint8_t)type;
            flakeway *engine = engine_with(1, "drop buffer=9 packet=9", "drop RESEND packet=9");
            const flakeway_packet packet = {.bytes = bytes, .length = length, .netblt_length = length};
            flakeway_released released;
            flakeway_offer(engine, FLAKEWAY_A_TO_B, &packet, 0);
            CHECK(flakeway_release(engine, 0, &released));
            flakeway_free(engine);
            free(bytes);
        }
    }
}

static void the_second_ok_is_the_second_packet_that_has_one(void)
{
    flakeway *engine = engine_with(1, "drop b>a nth=2 OK", NULL);
    for (uint16_t i = 0; i < 4; i++) {
        test_packet go = control_packet();
        add_go(&go, i, i);
        offer(engine, FLAKEWAY_B_TO_A, &go, 0);
        test_packet ok = control_packet();
        add_ok(&ok, i, i);
        offer(engine, FLAKEWAY_B_TO_A, &ok, 0);
        offer(engine, FLAKEWAY_A_TO_B, &ok, 0); /* the other way does not count */
    }
    CHECK_TEXT(released_text(engine), "1@0 2@0 3@0 4@0 6@0 7@0 8@0 9@0 10@0 11@0 12@0");
    flakeway_free(engine);
}

int main(void)
{
    RUN(every_type_name_means_its_type);
    RUN(capitals_do_not_matter);
    RUN(data_is_found_by_buffer_and_packet);
    RUN(messages_are_found_anywhere_in_a_control_packet);
    RUN(a_control_packet_without_the_message_is_not_meant);
    RUN(messages_beyond_the_length_field_or_the_packet_do_not_count);
    RUN(no_garbage_is_read_beyond_a_packets_end);
    RUN(the_second_ok_is_the_second_packet_that_has_one);
    return failures != 0;
}
