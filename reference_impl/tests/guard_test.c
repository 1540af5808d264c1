/* SPDX-License-Identifier: BSD-2-Clause */
/* core/security/guard.h and core/base/keyed_hash.h by themselves: the hash, and the texts that carry tokens and proofs.
 */
#include "check.h"
#include "security/guard.h"

#include <string.h>

/* ---- the hash -------------------------------------------------------------------------------------------------- */

/* The vectors that the authors of SipHash publish: key 00 01 .. 0f, message 00 01 .. */
static void SipHash_2_4_gives_the_published_values(void)
{
    static const struct {
        size_t length;
        uint64_t hash;
    } vectors[] = {
        {0, UINT64_C(0x726FDB47DD0E0E31)}, {1, UINT64_C(0x74F839C593DC67FD)},  {7, UINT64_C(0xAB0200F58B01D137)},
        {8, UINT64_C(0x93F5F5799A932462)}, {15, UINT64_C(0xA129CA6149BE45E5)}, {63, UINT64_C(0x958A324CEB064572)},
    };
    uint8_t bytes[64];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    struct nb_hash_key key = nb_hash_key_read(bytes);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        CHECK(nb_keyed_hash(&key, bytes, vectors[i].length) == vectors[i].hash);
    CHECK(nb_keyed_hash(&key, NULL, 0) == vectors[0].hash);
}

static void a_secret_of_zeros_is_none(void)
{
    uint8_t bytes[NETBLT_SECRET_BYTES] = {0};
    CHECK(!nb_secret_read(bytes).known);
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = 1;
        CHECK(nb_secret_read(bytes).known);
        bytes[i] = 0;
    }
}

/* Both ends must compute the same: values of an independent SipHash, which must never change. */
static void mark_proof_and_buffer_number_are_what_every_release_computes(void)
{
    char reason[NETBLT_STRING_MAX_BYTES + 1] = "";
    CHECK_EQUAL(nb_guard_mark(0x1234FFFF, 40000, 1, 0), 0x1234AB7F);
    CHECK_EQUAL(nb_guard_mark(0xFFFF0000, 65535, 65535, NETBLT_CLIENT_ENDS_IN_HASH), 0xFFFF0FE0);
    CHECK_EQUAL(nb_guard_mark(0x12345678, 64512, 1, NETBLT_CLIENT_FEATURES), 0x12341FD2);
    CHECK_EQUAL(nb_guard_first_buffer_of_token(UINT64_C(0x0123456789ABCDEF)), 0x9277A556);
    nb_guard_append_proof(reason, 0x12345678, NB_QUIT);
    CHECK(strcmp(reason, " guard=ebcb4394") == 0);
    reason[0] = 0;
    nb_guard_append_proof(reason, 0x12345678, NB_ABORT);
    CHECK(strcmp(reason, " guard=6f620f19") == 0);
    reason[0] = 0;
    nb_guard_append_proof(reason, 0x12345678, NB_REFUSED);
    CHECK(strcmp(reason, " guard=bd2624cd") == 0);
}

static void an_ID_is_marked_for_its_own_ports_only(void)
{
    uint32_t id = nb_guard_mark(0x12345678, 40000, 1, 0);
    CHECK(nb_guard_is_marked(id, 40000, 1, NULL));
    for (unsigned features = 0; features <= NETBLT_CLIENT_FEATURES; features++) {
        unsigned told = 99;
        CHECK(nb_guard_is_marked(nb_guard_mark(0x12345678, 40000, 1, features), 40000, 1, &told));
        CHECK_EQUAL(told, features);
    }
    CHECK(!nb_guard_is_marked(id, 40001, 1, NULL));
    CHECK(!nb_guard_is_marked(id, 40000, 2, NULL));
    CHECK(!nb_guard_is_marked(id, 1, 40000, NULL));
    CHECK(!nb_guard_is_marked(id ^ 0x10000, 40000, 1, NULL));
    unsigned marked = 0;
    for (uint32_t low = 0; low < 65536; low++)
        marked += nb_guard_is_marked((id & 0xFFFF0000) | low, 40000, 1, NULL);
    CHECK_EQUAL(marked, NETBLT_CLIENT_FEATURES +
                            1); /* of 65536: an ID of a foreign implementation is taken for a marked one that often */
}

static void tokens_and_first_buffers_differ_with_everything_that_names_a_connection(void)
{
    uint8_t bytes[NETBLT_SECRET_BYTES] = {9};
    struct nb_secret secret = nb_secret_read(bytes);
    bytes[1] = 1;
    struct nb_secret other = nb_secret_read(bytes);
    netblt_path path = {.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, 2}}};
    netblt_path turned = {.local = path.foreign, .foreign = path.local};
    netblt_path elsewhere = path;
    elsewhere.local.bytes[3] = 3;
    uint64_t tokens[] = {
        nb_guard_token(&secret, &path, 1, 7000, 5),   nb_guard_token(&other, &path, 1, 7000, 5),
        nb_guard_token(&secret, &turned, 1, 7000, 5), nb_guard_token(&secret, &elsewhere, 1, 7000, 5),
        nb_guard_token(&secret, &path, 2, 7000, 5),   nb_guard_token(&secret, &path, 1, 7001, 5),
        nb_guard_token(&secret, &path, 1, 7000, 6),   nb_guard_first_buffer(&secret, &path, 1, 7000, 5)};
    CHECK(tokens[0] == nb_guard_token(&secret, &path, 1, 7000, 5));
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(tokens[i] != tokens[k] && (uint32_t)tokens[i] != (uint32_t)tokens[k]);
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */

static void fill(char text[NETBLT_STRING_MAX_BYTES + 1], size_t length)
{
    memset(text, 'x', length);
    text[length] = 0;
}

static void a_token_is_appended_and_taken_off_again(void)
{
    static const uint64_t tokens[] = {0, 1, UINT64_C(0x0123456789ABCDE), UINT64_MAX >> 4};
    char text[NETBLT_STRING_MAX_BYTES + 1], before[NETBLT_STRING_MAX_BYTES + 1];
    static const size_t lengths[] = {0, 1, 100, 232};
    for (size_t i = 0; i < 16; i++) {
        uint64_t token = 99;
        unsigned features = 99;
        fill(text, lengths[i / 4]);
        memcpy(before, text, sizeof text);
        CHECK(nb_guard_append_token(text, tokens[i % 4], i % 16));
        CHECK_EQUAL(strlen(text), lengths[i / 4] + NB_GUARD_TOKEN_CHARS);
        CHECK(nb_guard_take_token(text, &token, &features));
        CHECK(token == tokens[i % 4]);
        CHECK_EQUAL(features, i % 16);
        CHECK(strcmp(text, before) == 0);
    }
}

static void a_token_that_does_not_fit_is_not_appended(void)
{
    for (size_t length = 233; length <= NETBLT_STRING_MAX_BYTES; length++) {
        char text[NETBLT_STRING_MAX_BYTES + 1];
        fill(text, length);
        CHECK(!nb_guard_append_token(text, 5, 0));
        CHECK_EQUAL(strlen(text), length);
    }
}

static void what_is_no_token_is_left_alone(void)
{
    static const char *const texts[] = {
        "",
        "a name",
        " guard=",
        " guard=0123456789abcde",  /* a digit less */
        "guard=0123456789abcdef",  /* no space */
        " guard=0123456789ABCDEF", /* not as it is written */
        " guard=0123456789abcdeg", /* no digit */
        " guard=+123456789abcdef", /* what strtoull() would take */
        " guard=0x23456789abcdef",
        " guard=0123456789abcdef ", /* not at the end */
        " Guard=0123456789abcdef",
        "x guard=0123456789abcdef0", /* a digit more */
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[NETBLT_STRING_MAX_BYTES + 1];
        uint64_t token = 7;
        unsigned features = 7;
        snprintf(text, sizeof text, "%s", texts[i]);
        CHECK(!nb_guard_take_token(text, &token, &features));
        CHECK(token == 7);
        CHECK(strcmp(text, texts[i]) == 0);
    }
}

static void a_proof_is_right_for_its_connection_and_type_only(void)
{
    static const enum nb_type types[] = {NB_QUIT, NB_ABORT, NB_REFUSED};
    for (size_t i = 0; i < 3; i++) {
        char with[NETBLT_STRING_MAX_BYTES + 1] = "why", text[NETBLT_STRING_MAX_BYTES + 1];
        nb_guard_append_proof(with, 0xCAFE0001, types[i]);
        for (size_t k = 0; k < 3; k++) {
            memcpy(text, with, sizeof text);
            CHECK_EQUAL(nb_guard_take_proof(text, 0xCAFE0001, types[k]), i == k);
            CHECK(strcmp(text, "why") == 0); /* a wrong one is not printed either */
        }
        memcpy(text, with, sizeof text);
        CHECK(!nb_guard_take_proof(text, 0xCAFE0002, types[i]));
        for (size_t digit = strlen("why guard="); with[digit] != 0; digit++) {
            memcpy(text, with, sizeof text);
            text[digit] = text[digit] == '0' ? '1' : '0';
            CHECK(!nb_guard_take_proof(text, 0xCAFE0001, types[i]));
        }
        with[strlen(with) - 1] = 0; /* a digit less */
        CHECK(!nb_guard_take_proof(with, 0xCAFE0001, types[i]));
    }
}

static void a_reason_that_leaves_no_room_is_cut_for_its_proof(void)
{
    for (size_t length = 238; length <= NETBLT_STRING_MAX_BYTES; length++) {
        char text[NETBLT_STRING_MAX_BYTES + 1];
        fill(text, length);
        nb_guard_append_proof(text, 5, NB_ABORT);
        CHECK_EQUAL(strlen(text), length < 240 ? length + 15 : 255);
        CHECK(nb_guard_take_proof(text, 5, NB_ABORT));
        CHECK_EQUAL(strlen(text), length < 240 ? length : 240);
    }
    char text[NETBLT_STRING_MAX_BYTES + 1];
    fill(text, 255);
    text[239] = '\xC3'; /* a character of two bytes would be cut in half */
    text[240] = '\xA9';
    nb_guard_append_proof(text, 5, NB_ABORT);
    CHECK_EQUAL(strlen(text), 239 + 15);
    CHECK(nb_guard_take_proof(text, 5, NB_ABORT));
    CHECK_EQUAL(strlen(text), 239);
}

static void a_text_is_cut_between_characters(void)
{
    static const struct {
        const char *text;
        size_t length;
        const char *wanted;
    } cases[] = {
        {"abc", 3, "abc"},
        {"abc", 9, "abc"},
        {"abc", 2, "ab"},
        {"abc", 0, ""},
        {"a\xC3\xA9", 2, "a"},
        {"a\xC3\xA9", 3, "a\xC3\xA9"},
        {"\xE2\x82\xAC", 2, ""},
        {"\xF0\x9F\x98\x80z", 3, ""},
        {"\xF0\x9F\x98\x80z", 4, "\xF0\x9F\x98\x80"},
        {"\x80\x80\x80", 2, ""}, /* no UTF-8 at all */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[16];
        snprintf(text, sizeof text, "%s", cases[i].text);
        nb_guard_cut(text, cases[i].length);
        CHECK(strcmp(text, cases[i].wanted) == 0);
    }
}

static void the_padding_of_NULL_ACK_depends_on_the_token_and_on_each_field(void)
{
    static const struct nb_null_ack_fields fields = {7, 8, 20, 0};
    static const struct nb_null_ack_fields others[] = {{8, 8, 20, 0}, {7, 9, 20, 0}, {7, 8, 21, 0}};
    uint16_t right = nb_guard_null_ack(5, &fields);
    CHECK(nb_guard_null_ack(4, &fields) != right && nb_guard_null_ack(5 | UINT64_C(1) << 59, &fields) != right);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        CHECK(nb_guard_null_ack(5, &others[i]) != right);
}

int main(void)
{
    RUN(SipHash_2_4_gives_the_published_values);
    RUN(a_secret_of_zeros_is_none);
    RUN(mark_proof_and_buffer_number_are_what_every_release_computes);
    RUN(an_ID_is_marked_for_its_own_ports_only);
    RUN(tokens_and_first_buffers_differ_with_everything_that_names_a_connection);
    RUN(a_token_is_appended_and_taken_off_again);
    RUN(a_token_that_does_not_fit_is_not_appended);
    RUN(what_is_no_token_is_left_alone);
    RUN(a_proof_is_right_for_its_connection_and_type_only);
    RUN(a_reason_that_leaves_no_room_is_cut_for_its_proof);
    RUN(a_text_is_cut_between_characters);
    RUN(the_padding_of_NULL_ACK_depends_on_the_token_and_on_each_field);
    return 0;
}
