/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the client strings of a tree transfer's steps (session/step_name.h). */
#include "cli/session/step_name.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

static const step_name content = {
    .kind = STEP_CONTENT,
    .name = "a name",
    .manifest_id = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef},
    .held_id = {0xff, 0, 1, 2, 3, 4, 5, 6},
    .offset = UINT64_C(18446744073709551615),
};

static void check_same(const step_name *a, const step_name *b)
{
    CHECK_EQUAL(a->kind, b->kind);
    CHECK(strcmp(a->name, b->name) == 0);
    CHECK(memcmp(a->manifest_id, b->manifest_id, STEP_ID_BYTES) == 0);
    CHECK(memcmp(a->held_id, b->held_id, STEP_ID_BYTES) == 0);
    CHECK_EQUAL(a->offset, b->offset);
}

static void each_step_has_the_text_of_the_document(void)
{
    char text[NETBLT_STRING_MAX_BYTES + 1];
    step_name step = content;
    CHECK(step_name_write(&step, text));
    CHECK(strcmp(text, "a name netblt=content:0123456789abcdef:ff00010203040506:18446744073709551615") == 0);
    step.kind = STEP_HELD;
    CHECK(step_name_write(&step, text));
    CHECK(strcmp(text, "a name netblt=held:0123456789abcdef") == 0);
    step.kind = STEP_FIRST;
    CHECK(step_name_write(&step, text));
    CHECK(strcmp(text, "a name") == 0);
}

static void what_is_written_is_read_back(void)
{
    static const char *const names[] = {"", "a name", "x netblt=held:", " netblt=", "ends in a blank "};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int kind = STEP_FIRST; kind <= STEP_CONTENT; kind++)
            for (uint64_t offset = 0; offset <= 10; offset += 10) {
                char text[NETBLT_STRING_MAX_BYTES + 1];
                step_name step = {.kind = (enum step_kind)kind};
                step_name parsed;
                snprintf(step.name, sizeof step.name, "%s", names[i]);
                if (kind != STEP_FIRST)
                    memcpy(step.manifest_id, content.manifest_id, STEP_ID_BYTES);
                if (kind == STEP_CONTENT) {
                    memcpy(step.held_id, content.held_id, STEP_ID_BYTES);
                    step.offset = offset;
                }
                CHECK(step_name_write(&step, text));
                step_name_parse(text, &parsed);
                check_same(&parsed, &step);
            }
}

static void what_is_almost_a_step_is_a_name(void)
{
    static const char *const names[] = {
        "a netblt=held:0123456789abcde",
        "a netblt=held:0123456789abcdef0",
        "a netblt=held:0123456789abcdeF",
        "a netblt=held:0123456789abcdef ",
        "a netblt=Held:0123456789abcdef",
        "anetblt=held:0123456789abcdef",
        "a netblt=content:0123456789abcdef",
        "a netblt=content:0123456789abcdef:0123456789abcdef",
        "a netblt=content:0123456789abcdef:0123456789abcdef:",
        "a netblt=content:0123456789abcdef:0123456789abcdef:-1",
        "a netblt=content:0123456789abcdef:0123456789abcdef:+1",
        "a netblt=content:0123456789abcdef:0123456789abcdef:01",
        "a netblt=content:0123456789abcdef:0123456789abcdef:1x",
        "a netblt=content:0123456789abcdef:0123456789abcdef:18446744073709551616",
        "a netblt=content:0123456789abcdef:0123456789abcdef:99999999999999999999999999",
        "a netblt=content:0123456789abcdef0123456789abcdef:1",
        "a netblt=",
        "",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        step_name parsed;
        step_name_parse(names[i], &parsed);
        CHECK(strcmp(parsed.name, names[i]) == 0);
        parsed.name[0] = '\0';
        check_same(&parsed, &(step_name){.kind = STEP_FIRST});
    }
}

static void a_name_that_would_be_misread_or_is_too_long_is_not_written(void)
{
    char text[NETBLT_STRING_MAX_BYTES + 1];
    char back[NETBLT_STRING_MAX_BYTES + 1];
    step_name step = content;
    step_name parsed;
    memset(step.name, 'x', STEP_NAME_MAX_BYTES);
    CHECK(step_name_write(&step, text));
    step_name_parse(text, &parsed);
    check_same(&parsed, &step);
    CHECK(step_name_write(&parsed, back) && strcmp(text, back) == 0);
    step.name[STEP_NAME_MAX_BYTES] = 'x';
    CHECK(!step_name_write(&step, text));
    CHECK(text[0] == '\0');
    step = (step_name){.name = "a netblt=held:0123456789abcdef"};
    CHECK(!step_name_write(&step, text));
    CHECK(text[0] == '\0');
}

int main(void)
{
    RUN(each_step_has_the_text_of_the_document);
    RUN(what_is_written_is_read_back);
    RUN(what_is_almost_a_step_is_a_name);
    RUN(a_name_that_would_be_misread_or_is_too_long_is_not_written);
    return 0;
}
