/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parser takes, and how it names what it does not take. */
#include "testing.h"

static void every_form_that_the_manual_shows_is_taken(void)
{
    static const char *const texts[] = {
        "drop b>a nth=2 OK",
        "swap a>b LDATA buffer=3",
        "delay 5ms a>b every=100",
        "corrupt a>b DATA buffer=1 packet=2 bit=200",
        "corrupt byte=24..100 chance=0.5%",
        "truncate 30 LDATA",
        "hold 3 left>right",
        "duplicate RESPONSE count=3 gap=10ms",
        "hook both GO|OK",
        "pass type=200",
        "\tdrop\t OPEN ",
    };
    static const char *const settings[] = {"loss 2% a>b",      "loss a>b 2%",        "reorder 1% by 5ms",
                                           "reorder 1%",       "duplicate 1%",       "duplicate 1% gap=2ms b>a",
                                           "corrupt 0.1%",     "latency 20ms",       "jitter 2.5ms",
                                           "rate 10Mbit",      "rate 9600bit/s a>b", "rate unlimited",
                                           "rate 10M",         "rate 1.5g",          "queue 50packets",
                                           "queue 64KiB",      "queue 100ms",        "queue 1.5s",
                                           "loss 0.000000001%"};
    flakeway *engine = flakeway_new(1);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK(flakeway_add(engine, texts[i], NULL) == (int)i + 1);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        bool taken = flakeway_add(engine, settings[i], NULL) == 0;
        CHECK(taken == (i != 1)); /* the value comes before the direction */
    }
    flakeway_free(engine);
}

static void every_mistake_is_named_with_its_word_and_column(void)
{
    static const struct {
        const char *text;
        unsigned column;
        const char *begins;
    } mistakes[] = {
        {"", 1, "nothing here"},
        {"drap", 1, "\"drap\" is no action"},
        {"  drop LDTA", 8, "\"LDTA\" is no direction"},
        {"drop DATA|FOO", 11, "\"FOO\" is no direction"},
        {"drop DATA|", 6, "\"DATA|\" is no direction"},
        {"drop DATA OK", 11, "\"OK\" is a second type"},
        {"drop nht=2", 6, "\"nht=2\" is no option"},
        {"drop nth=0", 10, "\"0\" is not a number from 1"},
        {"drop nth=", 10, "a number is missing here"},
        {"drop nth=5..2", 10, "\"5..2\" is a range that ends before"},
        {"drop nth=5..x", 13, "\"x\" is not a number"},
        {"drop packet=65536", 13, "\"65536\" is not a number from 0 to 65535"},
        {"drop buffer=4294967296", 13, "\"4294967296\" is not a number"},
        {"drop nth=2 every=3", 12, "\"every=3\" and nth= exclude"},
        {"drop OPEN buffer=3", 11, "\"buffer=3\" can only be asked of"},
        {"drop GO packet=3", 9, "\"packet=3\" can only be asked of"},
        {"drop DATA seq=3", 11, "\"seq=3\" can only be asked of"},
        {"drop DATA type=3", 11, "\"type=3\" and a type's name"},
        {"drop bit=3", 6, "\"bit=3\" is no option of this action"},
        {"delay", 6, "a time is missing"},
        {"delay 5", 7, "\"5\" is a time without its unit"},
        {"delay 5min", 7, "\"5min\" is a time without its unit"},
        {"delay -5ms", 7, "\"-5ms\" is not a time"},
        {"delay 5.ms", 7, "\"5.ms\" is not a time"},
        {"delay 90000s", 7, "\"90000s\" is more than a day"},
        {"delay a>b", 7, "\"a>b\" is not a time"},
        {"hold 0", 6, "\"0\" is not a number from 1"},
        {"truncate", 9, "a number is missing"},
        {"duplicate count=0", 17, "\"0\" is not a number from 1"},
        {"loss", 5, "a percentage is missing"},
        {"loss 2", 6, "\"2\" is not a percentage"},
        {"loss 100.1%", 6, "\"100.1%\" is more than 100%"},
        {"loss 2% DATA", 9, "\"DATA\" does not belong here"},
        {"reorder 1% by", 14, "a time is missing"},
        {"rate 10", 6, "\"10\" is a rate without its unit"},
        {"rate 0bit", 6, "\"0bit\" is less than one bit"},
        {"queue 10", 7, "\"10\" is a queue without its unit"},
        {"queue 1.5packets", 7, "\"1.5packets\" is not a queue"},
    };
    flakeway *engine = flakeway_new(1);
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        flakeway_error error = {0};
        CHECK(flakeway_add(engine, mistakes[i].text, &error) == -1);
        if (error.column != mistakes[i].column ||
            strncmp(error.message, mistakes[i].begins, strlen(mistakes[i].begins)) != 0) {
            fprintf(stderr, "%s: \"%s\": column %u: %s\n", current_test, mistakes[i].text, error.column, error.message);
            failures++;
        }
    }
    CHECK(flakeway_add(engine, "pass", NULL) == 1); /* none of them left a rule */
    flakeway_free(engine);
}

static void texts_that_are_too_long_are_refused(void)
{
    char text[1000];
    flakeway_error error;
    flakeway *engine = flakeway_new(1);
    memset(text, ' ', sizeof text);
    memcpy(text, "drop", 4);
    text[sizeof text - 1] = '\0';
    CHECK(flakeway_add(engine, text, &error) == -1);
    memset(text, 'x', sizeof text - 1);
    CHECK(flakeway_add(engine, text, &error) == -1);
    CHECK(flakeway_add_lines(engine, text, &error) == 1);
    flakeway_free(engine);
}

static void lines_are_all_in_force_or_none(void)
{
    flakeway_error error;
    flakeway *engine = flakeway_new(1);
    CHECK(flakeway_add_lines(engine, "# nothing\n\n  drop nth=1 # first\r\nloss 5%\npass", &error) == 0);
    CHECK_TEXT(flakeway_rule_text(engine, 1), "drop nth=1");
    CHECK_TEXT(flakeway_rule_text(engine, 2), "pass");
    CHECK(flakeway_add_lines(engine, "drop\n\nhold me\n", &error) == 3);
    CHECK(error.column == 6);
    CHECK(flakeway_rule_text(engine, 3) == NULL);
    flakeway_free(engine);
}

static void a_hooks_answer_is_an_action_without_conditions(void)
{
    flakeway_action action;
    flakeway_error error;
    CHECK(flakeway_parse_action("delay 1.5ms", &action, &error) == 0);
    CHECK(action.kind == FLAKEWAY_DELAY && action.delay_us == 1500);
    CHECK(flakeway_parse_action("duplicate count=2", &action, &error) == 0);
    CHECK(action.kind == FLAKEWAY_DUPLICATE && action.copies == 2);
    CHECK(flakeway_parse_action("drop DATA", &action, &error) == -1);
    CHECK(error.column == 6);
    CHECK(flakeway_parse_action("hook", &action, &error) == -1);
}

int main(void)
{
    RUN(every_form_that_the_manual_shows_is_taken);
    RUN(every_mistake_is_named_with_its_word_and_column);
    RUN(texts_that_are_too_long_are_refused);
    RUN(lines_are_all_in_force_or_none);
    RUN(a_hooks_answer_is_an_action_without_conditions);
    return failures != 0;
}
