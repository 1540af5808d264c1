/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of the command that need no network: names beneath a directory, what is shown of them, sizes for a path,
 * steady-state throughput. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "cli/listen/tally.h"
#include "cli/listen/tree.h"
#include "cli/perf/perf.h"
#include "cli/perf/perf_words.h"
#include "cli/perf/stopwatch.h"
#include "cli/report/text.h"
#include "cli/transfer/announced.h"
#include "cli/transfer/parameters.h"
#include "cli/transfer/path_sizes.h"
#include "cli/tree/beneath.h"

/* ---- names ---------------------------------------------------------------------------------------------------- */

static int make_tree(char directory[])
{
    int root;
    CHECK(mkdtemp(directory) != NULL);
    root = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK(root >= 0);
    CHECK(mkdirat(root, "inner", 0700) == 0);
    close(openat(root, "inner/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    close(openat(root, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    CHECK(symlinkat("inner/file", root, "alias") == 0);
    CHECK(symlinkat("..", root, "outer") == 0);
    CHECK(symlinkat("inner", root, "way") == 0);
    return root;
}

static void remove_tree(const char *directory, int root)
{
    static const char *const names[] = {"inner/file", "file", "alias", "outer", "way"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlinkat(root, names[i], 0);
    unlinkat(root, "inner", AT_REMOVEDIR);
    close(root);
    rmdir(directory);
}

static bool can_open(int root, const char *name)
{
    const char *reason = NULL;
    struct stat status;
    int fd = tree_open_file(root, name, &reason);
    if (fd >= 0)
        close(fd);
    CHECK((fd >= 0) == (reason == NULL));
    CHECK((tree_look_at_file(root, name, &status, &reason) == 0) == (fd >= 0));
    return fd >= 0;
}

static bool can_store(int root, const char *name, bool replace)
{
    const char *reason = NULL;
    const char *base = NULL;
    int fd = tree_open_parent(root, name, replace, &base, &reason);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void names_lead_nowhere_else(bool links_inside_are_followed)
{
    char directory[] = "/tmp/netblt-tree-XXXXXX";
    int root = make_tree(directory);
    CHECK(can_open(root, "file"));
    CHECK(can_open(root, "inner/file"));
    CHECK(can_open(root, "alias") == links_inside_are_followed);
    CHECK(can_open(root, "way/file") == links_inside_are_followed);
    CHECK(!can_open(root, "outer"));
    CHECK(!can_open(root, "outer/etc/passwd"));
    CHECK(!can_open(root, "inner"));
    CHECK(!can_open(root, "file/x"));
    CHECK(can_store(root, "inner/new", false));
    CHECK(!can_store(root, "inner/file", false));
    CHECK(can_store(root, "inner/file", true));
    CHECK(!can_store(root, "outer/new", true));
    CHECK(!can_store(root, "alias", true));
    CHECK(can_store(root, "way/new", false) == links_inside_are_followed);
    remove_tree(directory, root);
}

static void check_real_name(int root, const char *name, const char *expected)
{
    const char *reason;
    const char *base;
    int dir = tree_open_parent(root, name, true, &base, &reason);
    char *real;
    CHECK(dir >= 0);
    real = tree_real_name(root, dir, base, "otherwise");
    CHECK(real != NULL && strcmp(real, expected) == 0);
    free(real);
    close(dir);
}

/* Two names of one file would be two locks. */
static void a_name_through_a_link_is_the_same_name(void)
{
    char directory[] = "/tmp/netblt-tree-XXXXXX";
    int root = make_tree(directory);
    int outside = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *real;
    check_real_name(root, "new", "new");
    check_real_name(root, "inner/new", "inner/new");
    check_real_name(root, "way/new", "inner/new");
    real = tree_real_name(root, root, NULL, "otherwise");
    CHECK(real != NULL && real[0] == '\0');
    free(real);
    real = tree_real_name(root, outside, "x", "otherwise");
    CHECK(real != NULL && strcmp(real, "otherwise") == 0);
    free(real);
    real = tree_real_name(outside, root, "x", "otherwise");
    CHECK(real != NULL && strncmp(real, "tmp/netblt-tree-", 16) == 0);
    free(real);
    close(outside);
    remove_tree(directory, root);
}

/* What a tree transfer may send, and what may be in the place of what it stores. */
static void a_tree_may_be_a_directory_and_everything(void)
{
    static const struct {
        const char *name;
        bool sent, stored;
    } rows[] = {{".", true, true},        {"inner", true, true},     {"inner/file", true, true},
                {"outer", false, true},   {"new", false, true},      {"inner/new", false, true},
                {"no/new", false, false}, {"outer/x", false, false}, {"file/x", false, false},
                {"pipe", false, false}};
    char directory[] = "/tmp/netblt-tree-XXXXXX";
    int root = make_tree(directory);
    CHECK(mkfifoat(root, "pipe", 0600) == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *reason = NULL;
        const char *base = "";
        struct stat status;
        int dir = tree_open_target(root, rows[i].name, &base, &reason);
        CHECK((dir >= 0) == rows[i].stored);
        CHECK(dir < 0 || (base == NULL) == (strcmp(rows[i].name, ".") == 0));
        if (dir >= 0)
            close(dir);
        CHECK((tree_look_at_any(root, rows[i].name, &status, &reason) == 0) == rows[i].sent);
    }
    unlinkat(root, "pipe", 0);
    remove_tree(directory, root);
}

static void odd_names_are_refused_unseen(void)
{
    static const char *const odd[] = {
        "",     "/",    "/x",   ".",  "..",          "./x",         "x/.",
        "../x", "x/..", "a//b", "a/", ".x.netblt-1", ".netblt-1/x", "a/.netblt-partial-0/manifest"};
    static const char *const good[] = {"x", "a/b", "...", "..a", "a..", "a b", ".hidden", "x.netblt-1"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        CHECK(tree_check_name(odd[i]) != NULL);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(tree_check_name(good[i]) == NULL);
}

static void names_with_control_characters_are_refused_and_letters_of_any_language_are_not(void)
{
    static const char *const control[] = {"a\nb", "\x1b[31m", "dir/\rx", "tab\t", "del\x7f", "csi\xc2\x9b", "\x01"};
    static const char *const good[] = {"gr\u00fc\u00df", "\u20ac\U0001f600", "latin\xe4", "\u00a0", "\xc2"};
    for (size_t i = 0; i < sizeof control / sizeof *control; i++) {
        const char *reason = tree_check_name(control[i]);
        CHECK(reason != NULL && strcmp(reason, "control character in name") == 0);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(tree_check_name(good[i]) == NULL);
}

static void what_a_peer_says_stays_in_its_line_and_in_its_order(void)
{
    static const char turned[] = {'\xe2', '\x80', '\xae', 'x', '\0'}; /* U+202E, which no source line should hold */
    static const char *const texts[][2] = {
        {"a\nb\x1b[31m\x7f", "a?b?[31m?"},
        {"gr\u00fc\u00df\u20ac\U0001f600", "gr\u00fc\u00df\u20ac\U0001f600"},
        {"\xc2\x9b", "?"},
        {turned, "?x"},
        {"one\xe2\x80\xa8two\xe2\x80\xa9three", "one?two?three"},
        {"\xe2\x81\xa6x\xe2\x81\xa9", "?x?"},
        {"\u2027\u202f\u2065\u206a", "\u2027\u202f\u2065\u206a"},
        {"\xd8\x9cx\xe2\x80\x8b\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f", "?x????"},
        {"\xe2\x81\xa0x\xef\xbb\xbf\xf3\xa0\x81\x81", "?x??"},
        {"\xe2\x80\x8a\xe2\x80\x90\xef\xbb\xbe", "\xe2\x80\x8a\xe2\x80\x90\xef\xbb\xbe"},
        {"\xff\xe2\x80", "???"},
    };
    char printable[64];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(strcmp(text_printable(texts[i][0], printable, sizeof printable), texts[i][1]) == 0);
}

/* The same characters in JSON, which has escapes for them: the value survives, and no byte of the line is one of them.
 */
static void json_and_qlog_escape_what_a_terminal_must_not_get(void)
{
    static const char *const texts[][2] = {
        {"a\nb\x1b[31m\x7f", "\"a\\nb\\u001B[31m\\u007F\""},
        {"gr\u00fc\u00df\u20ac\U0001f600", "\"gr\\u00FC\\u00DF\\u20AC\\uD83D\\uDE00\""},
        {"say \"\\\"", "\"say \\\"\\\\\\\"\""},
        {"\xc2\x9b", "\"\\u009B\""},
        /* NOLINTNEXTLINE(misc-misleading-bidirectional) they are what is escaped */
        {"\xe2\x80\xae\xd8\x9c\xe2\x81\xa6", "\"\\u202E\\u061C\\u2066\""},
        {"one\xe2\x80\xa8two\xe2\x80\xa9three", "\"one\\u2028two\\u2029three\""},
        {"\xe2\x80\x8b\xe2\x81\xa0\xef\xbb\xbf", "\"\\u200B\\u2060\\uFEFF\""},
        {"\xf3\xa0\x81\x81", "\"\\uDB40\\uDC41\""},
        {"\xff\xe2\x80", "\"\\uFFFD\\uFFFD\\uFFFD\""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char line[128] = "";
        FILE *to = fmemopen(line, sizeof line, "w");
        CHECK(to != NULL);
        json_print(to, json_pack("[o]", json_text(texts[i][0])));
        fclose(to);
        CHECK(strncmp(line + 1, texts[i][1], strlen(texts[i][1])) == 0);
        CHECK(strlen(line) == strlen(texts[i][1]) + 2);
    }
}

/* ---- sizes ---------------------------------------------------------------------------------------------------- */

static void three_products_and_two_buffers_are_under_way(void)
{
    static const double rates[] = {1e4, 1e6, 1e7, 1e8, 1e9, 1e10};
    static const double round_trips[] = {0, 0.001, 0.1, 0.6, 1.8, 1200};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        for (size_t j = 0; j < sizeof round_trips / sizeof *round_trips; j++) {
            path_hint path = {.bits_per_second = rates[i], .round_trip_s = round_trips[j]};
            path_buffers buffers = path_sizes_buffers(&path, 1456);
            double product = rates[i] * round_trips[j] / 8;
            CHECK(buffers.buffer_size % 1456 == 0);
            CHECK(buffers.buffer_size > 64 * 1024 - 1456);
            CHECK(buffers.buffer_size <= 256 * 1024 || buffers.buffer_size <= product / 40);
            CHECK(buffers.buffer_size + 1456 >= product / 40 || product / 40 > 65535.0 * 1456); /* AMB-33 */
            CHECK((uint64_t)buffers.buffer_size * buffers.max_buffers <= BUFFER_MEMORY_MAX_BYTES);
            if (product * 3 < 1e9)
                CHECK((double)(buffers.max_buffers - 2) * buffers.buffer_size >= 3 * product);
        }
    }
}

static void an_unpaced_receiver_takes_what_its_socket_holds(void)
{
    const netblt_params wanted = {.packet_size = 1448, .buffer_size = 200 * 1448, .max_buffers = 27};
    netblt_params limits = wanted;
    parameters_limit_unpaced(8 << 20, &limits);
    CHECK(limits.buffer_size == wanted.buffer_size && limits.max_buffers == wanted.max_buffers);
    parameters_limit_unpaced(400000, &limits);
    CHECK(limits.buffer_size == 45 * 1448); /* the most whole packets in 64 KiB */
    CHECK(limits.max_buffers == 6);
    limits = wanted;
    limits.burst_interval_ms = 1; /* paced: the rate holds the sender back */
    parameters_limit_unpaced(400000, &limits);
    CHECK(limits.buffer_size == wanted.buffer_size && limits.max_buffers == wanted.max_buffers);
    limits = (netblt_params){.packet_size = 9000, .buffer_size = 1000, .max_buffers = 10};
    parameters_limit_unpaced(500, &limits); /* less than one packet: one buffer */
    CHECK(limits.buffer_size == 500 && limits.max_buffers == 1);
}

static void buffers_suit_the_transfer_when_the_path_is_unknown(void)
{
    static const struct {
        uint64_t transfer;
        uint32_t buffer_packets; /* of 1456 bytes */
    } cases[] = {{0, 180},     {1, 1},        {1456, 1},     {1457, 2},      {100000, 69},    {131072, 91},
                 {131073, 45}, {1000000, 45}, {5000000, 45}, {10000000, 85}, {100000000, 180}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        path_buffers buffers = {.buffer_size = 180 * 1456, .max_buffers = 88};
        path_sizes_suit_transfer(&buffers, cases[i].transfer, 1456);
        CHECK_EQUAL(buffers.buffer_size, cases[i].buffer_packets * 1456);
        CHECK(buffers.max_buffers == UINT16_MAX || /* as much memory as before */
              (uint64_t)buffers.max_buffers * buffers.buffer_size + buffers.buffer_size > 88 * 180 * 1456);
    }
    path_buffers buffers = {.buffer_size = 4096, .max_buffers = 5};
    path_sizes_suit_transfer(&buffers, 1000000, 1456);
    CHECK_EQUAL(buffers.buffer_size, 4096); /* smaller ones were proposed */
    CHECK_EQUAL(buffers.max_buffers, 5);
}

static void a_passive_sender_asks_for_buffers_that_suit_its_file(void)
{
    options given = {.rate = NETBLT_RATE_AUTO};
    netblt_path path = {0};
    netblt_params limits = {.buffer_size = 180 * 1456, .max_buffers = 88, .packet_size = 1456};
    parameters_limit(&given, NETBLT_SENDER, &path, 100000, &limits);
    CHECK_EQUAL(limits.buffer_size, (100000 + limits.packet_size - 1u) / limits.packet_size * limits.packet_size);
    limits = (netblt_params){.buffer_size = 180 * 1456, .max_buffers = 88, .packet_size = 1456};
    parameters_limit(&given, NETBLT_RECEIVER, &path, 100000, &limits);
    CHECK_EQUAL(limits.buffer_size, 180 * 1456);
}

static void bursts_come_close_to_the_rate_from_below(void)
{
    /* NOLINTNEXTLINE(cert-flp30-c,clang-analyzer-security.FloatLoopCounter) */
    for (double rate = 2e6; rate < 2e10; rate *= 1.7) {
        path_hint path = {.bits_per_second = rate, .round_trip_s = 0.1};
        path_bursts bursts = path_sizes_bursts(&path, 1500);
        double reached = bursts.size * 1500.0 * 8 / bursts.interval_ms * 1000;
        CHECK(bursts.size >= 1);
        CHECK(bursts.interval_ms >= 1);
        CHECK(reached <= rate * 1.0001);
        if (bursts.size < 65535)
            CHECK(reached >= rate * (rate < 1e7 ? 0.7 : 0.9));
    }
}

static void far_paths_get_intervals_that_forgive_a_late_host(void)
{
    path_hint far_away = {.bits_per_second = 100e6, .round_trip_s = 0.1};
    path_hint near_by = {.bits_per_second = 100e6, .round_trip_s = 0.01};
    path_hint fast = {.bits_per_second = 10e9, .round_trip_s = 0.1};
    CHECK(path_sizes_bursts(&far_away, 1500).interval_ms >= 4);
    CHECK(path_sizes_bursts(&near_by, 1500).interval_ms < 4);
    CHECK(path_sizes_bursts(&fast, 1500).interval_ms == 1); /* 4 ms would be 3,333 packets at once */
}

static void slow_paths_get_one_packet_at_a_time(void)
{
    path_hint path = {.bits_per_second = 8000, .round_trip_s = 0.1}; /* 1500 bytes take 1.5 s */
    path_bursts bursts = path_sizes_bursts(&path, 1500);
    CHECK(bursts.size == 1);
    CHECK(bursts.interval_ms >= 1500);
    CHECK(bursts.interval_ms <= 1502);
}

/* ---- steady state --------------------------------------------------------------------------------------------- */

/* Five buffers of 1000 bytes begin every 10 ms, and a last one of 1 byte: 4 x 8000 bits in 40 ms. */
static void the_last_full_buffer_ends_the_count(void)
{
    stopwatch watch = {0};
    for (uint32_t i = 0; i < 6; i++)
        for (uint32_t repeat = 0; repeat < 3; repeat++)
            stopwatch_see(&watch, 0xfffffffe + i, 1000000 + i * 10000 + repeat); /* numbers wrap */
    stopwatch_see(&watch, 0xffffffff, 5000000);                                  /* retransmitted late */
    CHECK((uint64_t)(stopwatch_steady_bps(&watch, 5001, 1000) + 0.5) == 800000);
}

static void a_full_last_buffer_counts_as_such(void)
{
    stopwatch watch = {0};
    for (uint32_t i = 0; i < 3; i++)
        stopwatch_see(&watch, i, 1000 + i * 1000);
    CHECK((uint64_t)(stopwatch_steady_bps(&watch, 3000, 1000) + 0.5) == 8000000);
}

static void fewer_than_two_buffers_have_no_steady_state(void)
{
    stopwatch watch = {0};
    CHECK(stopwatch_steady_bps(&watch, 0, 1000) == 0);
    stopwatch_see(&watch, 0, 1000);
    CHECK(stopwatch_steady_bps(&watch, 1000, 1000) == 0);
    stopwatch_see(&watch, 1, 2000);
    CHECK(stopwatch_steady_bps(&watch, 1001, 1000) == 0);
    CHECK(stopwatch_steady_bps(&watch, 2000, 1000) > 0);
}

/* ---- words ---------------------------------------------------------------------------------------------------- */

static void wishes_are_read_as_they_were_written(void)
{
    static const char *const nonsense[] = {
        "",        "perf ",      "perf size=",       "perf size=x", "perf size=1 ", "perf size=-1",
        "perfect", "perf time=", "perf figures=xyz", "PERF"};
    char text[PERF_WISH_BYTES];
    uint64_t value = 0;
    for (int wish = PERF_WISH_TAKE; wish <= PERF_WISH_FIGURES; wish++) {
        perf_wish_write((enum perf_wish)wish, 0xdeadbeef, text);
        CHECK(perf_wish_read(text, &value) == (enum perf_wish)wish);
        CHECK(wish == PERF_WISH_TAKE || value == 0xdeadbeef);
    }
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        CHECK(perf_wish_read(nonsense[i], &value) == PERF_WISH_NONE);
}

static void figures_are_whole_or_not_known(void)
{
    perf_figures figures = {true, UINT64_MAX, 1, 2, 3};
    perf_figures read;
    char text[PERF_FIGURES_BYTES];
    CHECK(perf_figures_write(&figures, text) == strlen(text));
    perf_figures_read(text, &read);
    CHECK(read.known && read.data_packets == UINT64_MAX && read.retransmitted == 1 && read.data_timeouts == 2 &&
          read.steady_bps == 3);
    *strrchr(text, ' ') = 'x';
    perf_figures_read(text, &read);
    CHECK(!read.known);
}

static void a_transfer_that_continues_another_keeps_the_pair_that_was_found(void)
{
    const netblt_info before = {.burst_size = 200, .burst_interval_ms = 1};
    options given = {.rate = NETBLT_RATE_AUTO};
    netblt_params params = {.burst_size = 8, .burst_interval_ms = 20};
    perf_next_params(&given, &before, &params);
    CHECK(params.burst_size == 200 && params.burst_interval_ms == 1);
}

static void a_fixed_pair_stays_as_it_is(void)
{
    const netblt_info before = {.burst_size = 200, .burst_interval_ms = 1};
    const options fixed = {.rate = NETBLT_RATE_FIXED};
    netblt_params params = {.burst_size = 8, .burst_interval_ms = 20};
    perf_next_params(&fixed, &before, &params);
    CHECK(params.burst_size == 8 && params.burst_interval_ms == 20);
}

/* Keys that differ in their length only are different, and the memory of a key is free when its count is 0. */
static void a_tally_counts_each_key_by_itself(void)
{
    static const uint8_t address[4] = {10, 0, 0, 1};
    tally counts = {0};
    for (unsigned i = 1; i <= 3; i++) {
        CHECK(tally_add(&counts, address, 4) == 0);
        CHECK_EQUAL(tally_count(&counts, address, 4), i);
    }
    CHECK_EQUAL(tally_count(&counts, address, 3), 0);
    CHECK(tally_add(&counts, address, 3) == 0);
    tally_remove(&counts, address, 4);
    CHECK_EQUAL(tally_count(&counts, address, 4), 2);
    CHECK_EQUAL(tally_count(&counts, address, 3), 1);
    tally_remove(&counts, address, 3);
    CHECK_EQUAL(tally_count(&counts, address, 3), 0);
    tally_remove(&counts, address, 4);
    tally_remove(&counts, address, 4);
    CHECK_EQUAL(tally_count(&counts, address, 4), 0);
    CHECK(tally_add(&counts, "another", 7) == 0);
    tally_clear(&counts);
    CHECK_EQUAL(tally_count(&counts, "another", 7), 0);
}

/* What cannot be opened later is not promised. */
static void a_file_is_looked_at_without_being_opened(void)
{
    char directory[] = "/tmp/netblt-look-XXXXXX";
    int root = make_tree(directory);
    const char *reason = NULL;
    struct stat status;
    char path[64];
    CHECK(tree_look_at_file(root, "inner/file", &status, &reason) == 0);
    CHECK(S_ISREG(status.st_mode));
    CHECK(tree_look_at_file(root, "inner", &status, &reason) != 0);
    CHECK(strcmp(reason, "not a plain file") == 0);
    CHECK(tree_look_at_file(root, "missing", &status, &reason) != 0);
    CHECK(strcmp(reason, "no such file or directory") == 0);
    snprintf(path, sizeof path, "%s/inner/file", directory);
    CHECK(chmod(path, 0) == 0);
    CHECK((tree_look_at_file(root, "inner/file", &status, &reason) == 0) == (access(path, R_OK) == 0));
    remove_tree(directory, root);
}

/* ---- known paths ---------------------------------------------------------------------------------------------- */

static double bps_of(path_bursts bursts)
{
    return 8e3 * bursts.size * 1500 / bursts.interval_ms;
}

static void a_known_path_is_begun_below_what_it_carried(void)
{
    const known_path fast = {.bits_per_second = 1e9}, slow = {.bits_per_second = 1e6}, brief = {1e6, 0.1, true};
    double usual = bps_of(path_sizes_first_bursts);
    path_bursts bursts = path_sizes_known_bursts(&fast, NETBLT_SENDER, 1500);
    CHECK(bps_of(bursts) > 0.43 * 1e9 && bps_of(bursts) <= 0.45 * 1e9);
    CHECK(path_sizes_carries(&fast, bursts, 1500));
    bursts = path_sizes_known_bursts(&slow, NETBLT_SENDER, 1500);
    CHECK(bps_of(bursts) > 0.6 * 1e6 && bps_of(bursts) <= 0.75 * 1e6);
    CHECK(bursts.size <= 8); /* a queue of 100 ms holds no more */
    bursts = path_sizes_known_bursts(&brief, NETBLT_SENDER, 1500);
    CHECK(bps_of(bursts) >= usual && bps_of(bursts) <= usual);
    CHECK(!path_sizes_carries(&brief, bursts, 1500));
    for (unsigned i = 0; i < 24; i++) { /* 10 kb/s to 84 Gb/s */
        double rate = 1e4 * (double)(1u << i);
        const known_path any = {.bits_per_second = rate};
        bursts = path_sizes_known_bursts(&any, NETBLT_RECEIVER, 1500);
        CHECK(bps_of(bursts) <= 0.7501 * rate);
        CHECK(bursts.size >= 1 && bursts.interval_ms >= 1);
    }
}

static void a_known_path_never_has_less_outstanding_and_larger_buffers_where_it_is_long(void)
{
    const known_path slow = {.bits_per_second = 1e6, .round_trip_s = 0.1};
    const known_path large = {.bits_per_second = 1e9, .round_trip_s = 0.6};
    path_buffers usual = path_sizes_buffers(&path_sizes_assumed, 1456);
    path_buffers same = path_sizes_known_buffers(&slow, 0, 1456);
    CHECK_EQUAL(same.buffer_size, usual.buffer_size);
    CHECK_EQUAL(same.max_buffers, usual.max_buffers);
    CHECK(path_sizes_known_buffers(&large, 0, 1456).buffer_size > 4 * usual.buffer_size);
}

/* ---- announced sizes ------------------------------------------------------------------------------------------ */

static void two_buffers_are_lent_beyond_the_announced_end(void)
{
    CHECK(announced_wants(0, 1000, 400, 1000));     /* nothing was announced */
    CHECK(announced_wants(1200, 2, 400, 1000));     /* the last one */
    CHECK(!announced_wants(1200, 3, 400, 2));       /* beyond it */
    CHECK(announced_wants(1200, 3, 400, 1));        /* more may come than was announced */
    CHECK(announced_wants(1, UINT64_C(7), 400, 0)); /* much more */
}

int main(void)
{
    a_name_through_a_link_is_the_same_name();
    a_tree_may_be_a_directory_and_everything();
    odd_names_are_refused_unseen();
    names_with_control_characters_are_refused_and_letters_of_any_language_are_not();
    what_a_peer_says_stays_in_its_line_and_in_its_order();
    json_and_qlog_escape_what_a_terminal_must_not_get();
    names_lead_nowhere_else(true);
    beneath_walk_always(true);
    names_lead_nowhere_else(false);
    three_products_and_two_buffers_are_under_way();
    an_unpaced_receiver_takes_what_its_socket_holds();
    buffers_suit_the_transfer_when_the_path_is_unknown();
    a_passive_sender_asks_for_buffers_that_suit_its_file();
    bursts_come_close_to_the_rate_from_below();
    far_paths_get_intervals_that_forgive_a_late_host();
    slow_paths_get_one_packet_at_a_time();
    the_last_full_buffer_ends_the_count();
    a_full_last_buffer_counts_as_such();
    fewer_than_two_buffers_have_no_steady_state();
    wishes_are_read_as_they_were_written();
    figures_are_whole_or_not_known();
    a_transfer_that_continues_another_keeps_the_pair_that_was_found();
    a_fixed_pair_stays_as_it_is();
    a_tally_counts_each_key_by_itself();
    a_file_is_looked_at_without_being_opened();
    RUN(a_known_path_is_begun_below_what_it_carried);
    RUN(a_known_path_never_has_less_outstanding_and_larger_buffers_where_it_is_long);
    RUN(two_buffers_are_lent_beyond_the_announced_end);
    return 0;
}
