/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress of a transfer: the line at several widths, names of all scripts, rates, and the JSON object. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cli/report/cells.h"
#include "cli/report/progress.h"
#include "cli/report/report.h"

#define MBPS 1e6

static const progress_view one_file = {
    .role = NETBLT_SENDER,
    .name = "image.iso",
    .started_at = 1000000,
    .bytes = 12300000,
    .total = 27200000,
    .retransmitted = 7,
};

static const progress_view several_files = {
    .role = NETBLT_RECEIVER,
    .name = "photos/2026/summer.jpeg",
    .started_at = 1000000,
    .bytes = 5000000000,
    .total = 20000000000,
    .retransmitted = 12345,
    .file_number = 7,
    .files = 1234,
    .file_bytes = 1000,
    .file_total = 4000,
};

static const char *line_of(const progress_view *view, size_t columns)
{
    static char line[PROGRESS_LINE_BYTES];
    progress_line(view, 40 * MBPS, columns, line);
    CHECK(cells_of(line) < columns || columns < 1);
    return line;
}

static void check_line(const progress_view *view, size_t columns, const char *wanted)
{
    const char *line = line_of(view, columns);
    if (strcmp(line, wanted) != 0) {
        fprintf(stderr, "%zu columns:\n%s|\nwanted:\n%s|\n", columns, line, wanted);
        abort();
    }
}

static void a_wide_terminal_shows_all_and_gives_the_rest_to_the_bar(void)
{
    check_line(&one_file, 80, "image.iso  45% [==>  ]  12.3 MB of 27.2 MB 40.0 Mb/s  0:03 left 7 retransmitted");
    check_line(&one_file, 100,
               "image.iso  45% [===========>             ]  12.3 MB of 27.2 MB 40.0 Mb/s  0:03 left 7 retransmitted");
    CHECK_EQUAL(strlen(line_of(&one_file, 200)), 199);
    CHECK(strstr(line_of(&one_file, 200), "===>") != NULL);
}

static void a_narrow_terminal_shows_what_matters_most(void)
{
    check_line(&one_file, 20, " 45% 40.0 Mb/s");
    check_line(&one_file, 40, "image.iso  45% 40.0 Mb/s  0:03 left");
    check_line(&several_files, 20, " 25% 40.0 Mb/s");
    check_line(&several_files, 40, "photos/202...  25% 40.0 Mb/s 50:00 left");
}

static void several_files_are_counted(void)
{
    check_line(&several_files, 80, "   7/1234 photos/20...  25% [=>   ]   5.0 GB 40.0 Mb/s 50:00 left 12345 RESENDs");
    CHECK(strstr(line_of(&several_files, 200), "   7/1234 photos/2026/summer.jpeg  25% [====") != NULL);
    CHECK(strstr(line_of(&several_files, 200), " 5.0 GB of 20.0 GB ") != NULL);
}

static void what_is_not_known_is_left_out(void)
{
    progress_view view = one_file;
    view.total = 0;
    check_line(&view, 80, "image.iso  12.3 MB 40.0 Mb/s 7 retransmitted");
    view.file_number = 3;
    check_line(&view, 80, "3/? image.iso  12.3 MB 40.0 Mb/s 7 retransmitted");
    view.name = "";
    check_line(&view, 80, "3/?  12.3 MB 40.0 Mb/s 7 retransmitted");
}

static void every_width_fits(void)
{
    static const char *const names[] = {"x", "image.iso", "\u5199\u771f\u5e33\u6e80\u8f09.tar", "e\u0301\u0301\u0301",
                                        "\x1b[31m\xff\n"};
    for (size_t columns = 0; columns < 2 * PROGRESS_COLUMNS_MAX; columns++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            progress_view view = several_files;
            const char *line;
            view.name = names[i];
            line = line_of(&view, columns);
            CHECK(strchr(line, '\x1b') == NULL);
            CHECK(strlen(line) < PROGRESS_LINE_BYTES);
        }
}

static void a_very_long_name_is_cut(void)
{
    char name[20000];
    progress_view view = one_file;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    view.name = name;
    CHECK(strncmp(line_of(&view, 80), "nnnnnn...  45% [==", 18) == 0);
    CHECK_EQUAL(strlen(line_of(&view, 5000)), PROGRESS_COLUMNS_MAX - 1);
}

static void names_are_cut_by_what_they_take_on_the_screen(void)
{
    char cut[64];
    CHECK_EQUAL(cells_of("gr\u00fc\u00df"), 4);
    CHECK_EQUAL(cells_of("\u5199\u771f"), 4);
    CHECK_EQUAL(cells_of("e\u0301"), 1);
    CHECK_EQUAL(cells_of("\U0001f600"), 2);
    CHECK_EQUAL(cells_cut("\u5199\u771f\u5e33\u6e80", 8, cut, sizeof cut), 8);
    CHECK(strcmp(cut, "\u5199\u771f\u5e33\u6e80") == 0);
    CHECK_EQUAL(cells_cut("\u5199\u771f\u5e33\u6e80", 7, cut, sizeof cut), 7);
    CHECK(strcmp(cut, "\u5199\u771f...") == 0);
    CHECK_EQUAL(cells_cut("\u5199\u771f\u5e33\u6e80", 6, cut, sizeof cut), 5);
    CHECK(strcmp(cut, "\u5199...") == 0);
    CHECK_EQUAL(cells_cut("\u5199\u771f", 3, cut, sizeof cut), 2);
    CHECK(strcmp(cut, "\u5199") == 0);
    CHECK_EQUAL(cells_cut("abcdefgh", 20, cut, 6), 5);
    CHECK(strcmp(cut, "ab...") == 0);
    CHECK_EQUAL(cells_cut("abc", 0, cut, sizeof cut), 0);
    CHECK(strcmp(cut, "") == 0);
}

static void the_rate_is_that_of_lately(void)
{
    progress_meter meter = {0};
    progress_interval passed = progress_measure(&meter, 1000, 5000000);
    CHECK(passed.seconds == 0 && passed.bytes == 0 && meter.bits_per_second == 0);
    passed = progress_measure(&meter, 126000, 6000000);
    CHECK(passed.seconds == 1.0);
    CHECK_EQUAL(passed.bytes, 125000);
    CHECK(meter.bits_per_second == MBPS);
    for (netblt_time at = 6100000; at < 30000000; at += 100000)
        (void)progress_measure(&meter, 126000 + (at - 6000000) / 4, at);
    CHECK(meter.bits_per_second > 1.99 * MBPS && meter.bits_per_second < 2.01 * MBPS);
    passed = progress_measure(&meter, 5, 31000000);
    CHECK_EQUAL(passed.bytes, 0);
}

static void time_left_follows_from_the_rate(void)
{
    progress_view view = one_file;
    CHECK(progress_seconds_left(&view, 40 * MBPS) == 2.98);
    CHECK(progress_seconds_left(&view, 0) < 0);
    CHECK(progress_seconds_left(&view, 1) < 0);
    view.bytes = view.total + 5;
    CHECK(progress_seconds_left(&view, 1) == 0);
    view.total = 0;
    CHECK(progress_seconds_left(&view, 1) < 0);
    view.total = UINT64_C(1) << 32;
    view.bytes = 0;
    CHECK(strstr(line_of(&view, 80), " 14:19 left") != NULL);
    CHECK(progress_seconds_left(&view, 4 * MBPS) > 8589 && progress_seconds_left(&view, 4 * MBPS) < 8590);
}

static json_int_t whole(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    CHECK(json_is_integer(value));
    return json_integer_value(value);
}

static void the_object_has_null_for_what_does_not_apply(void)
{
    progress_meter meter = {.sampled_at = 3000000, .bits_per_second = 40 * MBPS};
    progress_interval interval = {.seconds = 1, .bytes = 5000000};
    json_t *object = progress_object(&one_file, &meter, &interval);
    CHECK(strcmp(json_string_value(json_object_get(object, "type")), "progress") == 0);
    CHECK(json_real_value(json_object_get(object, "seconds")) == 2.0);
    CHECK(json_real_value(json_object_get(object, "interval_bps")) == 40 * MBPS);
    CHECK(json_real_value(json_object_get(object, "seconds_left")) == 2.98);
    CHECK_EQUAL(whole(object, "packets_retransmitted"), 7);
    CHECK(json_is_null(json_object_get(object, "resends_sent")));
    CHECK(json_is_null(json_object_get(object, "file_number")));
    CHECK(json_is_null(json_object_get(object, "file_bytes")));
    CHECK(json_object_get(object, "peer") == NULL);
    json_decref(object);
    object = progress_object(&several_files, &meter, &interval);
    CHECK(json_is_null(json_object_get(object, "packets_retransmitted")));
    CHECK_EQUAL(whole(object, "resends_sent"), 12345);
    CHECK_EQUAL(whole(object, "file_number"), 7);
    CHECK_EQUAL(whole(object, "files"), 1234);
    CHECK_EQUAL(whole(object, "file_bytes"), 1000);
    CHECK_EQUAL(whole(object, "file_total_bytes"), 4000);
    json_decref(object);
}

static void objects_come_once_a_second_however_late_the_process_is(void)
{
    CHECK_EQUAL(report_progress_due(0, 5000000), 6000000);
    CHECK_EQUAL(report_progress_due(6000000, 6000100), 7000000);
    CHECK_EQUAL(report_progress_due(6000000, 6999999), 7000000);
    CHECK_EQUAL(report_progress_due(6000000, 7500000), 8500000);
}

int main(void)
{
    cells_begin();
    RUN(a_wide_terminal_shows_all_and_gives_the_rest_to_the_bar);
    RUN(a_narrow_terminal_shows_what_matters_most);
    RUN(several_files_are_counted);
    RUN(what_is_not_known_is_left_out);
    RUN(every_width_fits);
    RUN(a_very_long_name_is_cut);
    RUN(names_are_cut_by_what_they_take_on_the_screen);
    RUN(the_rate_is_that_of_lately);
    RUN(time_left_follows_from_the_rate);
    RUN(the_object_has_null_for_what_does_not_apply);
    RUN(objects_come_once_a_second_however_late_the_process_is);
    return 0;
}
