/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of the program flakeway. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "relay.h"

#define DEFAULT_UDP_PORT 9980
#define RULES_FILE_MAX_BYTES (1 << 20)

static const char usage[] = "usage: flakeway --left IF --right IF [options]\n"
                            "\n"
                            "A bad network: forwards every Ethernet frame between two interfaces and impairs\n"
                            "NETBLT packets (IPv4 protocol 30, and UDP from or to one port). It runs until\n"
                            "SIGINT, SIGTERM, --duration or --max-packets.\n"
                            "\n"
                            "  --left IF, --right IF  the two interfaces; packets from left to right are a>b,\n"
                            "                         the others b>a\n"
                            "  --seed N               of all random decisions; printed, and drawn when not\n"
                            "                         given\n"
                            "  --loss 2%              percent of packets lost; like all rates it may name a\n"
                            "                         direction: --loss '2% a>b'\n"
                            "  --duplicate 1%         percent of packets duplicated\n"
                            "  --reorder '1% by 5ms'  percent of packets that arrive later by this\n"
                            "  --corrupt 0.1%         percent of packets in which one bit is flipped\n"
                            "  --delay 20ms           every packet's delay; --latency is the same\n"
                            "  --jitter 2ms           additional delay from 0 to this; it does not reorder\n"
                            "  --rate 10Mbit          bits per second of the link; 10M is the same\n"
                            "  --queue 50packets      what may wait for the link, in packets, bytes (64KiB)\n"
                            "                         or time (100ms); more is dropped\n"
                            "  --rule TEXT            a rule, such as 'drop b>a nth=2 OK', or a rate that is\n"
                            "                         no option, such as 'mtu 1476B'; may be given\n"
                            "                         again, the first that matches decides\n"
                            "  --rules FILE           rules and rates, one on each line; # begins a comment\n"
                            "  --udp-port N           port of NETBLT over UDP (default 9980; 0 = none)\n"
                            "  --all-ip               rates apply to every IPv4 packet (TCP, ...); rules\n"
                            "                         still see NETBLT only\n"
                            "  --capture FILE         pcapng of both sides, with the impairment of a packet\n"
                            "                         as its comment\n"
                            "  --duration SECONDS     end after this time\n"
                            "  --max-packets N        end after so many NETBLT packets\n"
                            "  --json                 statistics as JSON, in the last line\n"
                            "\n"
                            "Exit status: 0 ended as requested, 1 an interface disappeared or the capture\n"
                            "could not be written, 2 could not start.\n"
                            "docs/flakeway.md describes rules and rates.\n";

enum { OPTION_RATE = 1000 }; /* + index of rate_options */

static const struct {
    const char *option;
    const char *setting;
} rate_options[] = {{"loss", "loss"},       {"duplicate", "duplicate"}, {"reorder", "reorder"},
                    {"corrupt", "corrupt"}, {"delay", "latency"},       {"latency", "latency"},
                    {"jitter", "jitter"},   {"rate", "rate"},           {"queue", "queue"}};
#define RATE_OPTIONS (sizeof rate_options / sizeof rate_options[0])

static bool read_number(const char *option, const char *text, uint64_t maximum, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)text[0]) || *end || errno || *number > maximum) {
        fprintf(stderr, "flakeway: --%s %s: want a number from 0 to %llu\n", option, text, (unsigned long long)maximum);
        return false;
    }
    return true;
}

static bool read_seconds(const char *text, uint64_t *us)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds > 0 && seconds <= 1e9)) {
        fprintf(stderr, "flakeway: --duration %s: want seconds, more than 0\n", text);
        return false;
    }
    *us = (uint64_t)(seconds * 1e6);
    return true;
}

static bool add_text(relay_options *options, const char *option, const char *text, bool is_file)
{
    if (options->text_count == RELAY_TEXTS_MAX) {
        fprintf(stderr, "flakeway: more than %d rules on the command line; put them into a file (--rules)\n",
                RELAY_TEXTS_MAX);
        return false;
    }
    options->texts[options->text_count++] = (relay_text){.option = option, .text = text, .is_file = is_file};
    return true;
}

static bool read_one(relay_options *options, int code)
{
    uint64_t number;
    switch (code) {
    case 'l':
        options->interfaces[RELAY_LEFT] = optarg;
        return true;
    case 'r':
        options->interfaces[RELAY_RIGHT] = optarg;
        return true;
    case 's':
        options->seed_given = true;
        return read_number("seed", optarg, UINT64_MAX, &options->seed);
    case 'u':
        if (!read_number("udp-port", optarg, UINT16_MAX, &number))
            return false;
        options->udp_port = (uint16_t)number;
        return true;
    case 'c':
        options->capture_path = optarg;
        return true;
    case 'd':
        return read_seconds(optarg, &options->duration_us);
    case 'm':
        return read_number("max-packets", optarg, UINT64_MAX, &options->max_packets);
    case 'j':
        options->json = true;
        return true;
    case 'a':
        options->all_ip = true;
        return true;
    case 'R':
        return add_text(options, "rule", optarg, false);
    case 'F':
        return add_text(options, "rules", optarg, true);
    default:
        return code >= OPTION_RATE && add_text(options, rate_options[code - OPTION_RATE].option, optarg, false);
    }
}

static bool check_options(const relay_options *options, int argc, char **argv)
{
    if (optind < argc) {
        fprintf(stderr, "flakeway: what is \"%s\"? every argument belongs to an option; see flakeway --help\n",
                argv[optind]);
        return false;
    }
    for (unsigned side = 0; side < 2; side++) {
        if (!options->interfaces[side]) {
            fprintf(stderr, "flakeway: --%s IF is missing: name the interface; see flakeway --help\n",
                    side == RELAY_LEFT ? "left" : "right");
            return false;
        }
    }
    if (strcmp(options->interfaces[RELAY_LEFT], options->interfaces[RELAY_RIGHT]) == 0) {
        fprintf(stderr, "flakeway: --left and --right are both %s: want two interfaces\n", options->interfaces[0]);
        return false;
    }
    return true;
}

int relay_read_options(relay_options *options, int argc, char **argv)
{
    struct option table[32] = {{"left", required_argument, NULL, 'l'},
                               {"right", required_argument, NULL, 'r'},
                               {"seed", required_argument, NULL, 's'},
                               {"udp-port", required_argument, NULL, 'u'},
                               {"capture", required_argument, NULL, 'c'},
                               {"duration", required_argument, NULL, 'd'},
                               {"max-packets", required_argument, NULL, 'm'},
                               {"json", no_argument, NULL, 'j'},
                               {"all-ip", no_argument, NULL, 'a'},
                               {"rule", required_argument, NULL, 'R'},
                               {"rules", required_argument, NULL, 'F'},
                               {"help", no_argument, NULL, 'h'}};
    for (size_t i = 0; i < RATE_OPTIONS; i++)
        table[12 + i] = (struct option){rate_options[i].option, required_argument, NULL, OPTION_RATE + (int)i};
    *options = (relay_options){.udp_port = DEFAULT_UDP_PORT};
    int code;
    while ((code = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (code == 'h') {
            fputs(usage, stdout);
            return RELAY_DONE;
        }
        if (code == '?' || !read_one(options, code))
            return RELAY_USAGE;
    }
    return check_options(options, argc, argv) ? -1 : RELAY_USAGE;
}

/* ---- rules and rates -------------------------------------------------------------------------------------- */

static bool apply_file(const char *path, flakeway *engine)
{
    flakeway_error error;
    FILE *file = fopen(path, "rb");
    char *text = malloc(RULES_FILE_MAX_BYTES + 1);
    size_t length = file && text ? fread(text, 1, RULES_FILE_MAX_BYTES + 1, file) : 0;
    bool unread = !file || !text || ferror(file);
    int problem = errno;
    int line = 0;
    if (unread) {
        fprintf(stderr, "flakeway: --rules %s: %s\n", path, strerror(problem));
    } else if (length > RULES_FILE_MAX_BYTES) {
        fprintf(stderr, "flakeway: --rules %s: longer than %d bytes\n", path, RULES_FILE_MAX_BYTES);
        unread = true;
    } else {
        text[length] = '\0';
        line = flakeway_add_lines(engine, text, &error);
        if (line)
            fprintf(stderr, "flakeway: --rules %s: line %d, column %u: %s\n", path, line, error.column, error.message);
    }
    if (file)
        fclose(file);
    free(text);
    return !unread && line == 0;
}

/* What an option such as --loss means in the language of rules: "loss " and its value. */
static bool apply_rate(const relay_text *text, flakeway *engine)
{
    char statement[FLAKEWAY_RULE_TEXT_BYTES + 16];
    flakeway_error error;
    const char *setting = "";
    for (size_t i = 0; i < RATE_OPTIONS; i++)
        if (strcmp(rate_options[i].option, text->option) == 0)
            setting = rate_options[i].setting;
    snprintf(statement, sizeof statement, "%s %s", setting, text->text);
    int number = flakeway_add(engine, statement, &error);
    if (number < 0) {
        fprintf(stderr, "flakeway: --%s \"%s\": column %u: %s\n", text->option, text->text,
                error.column - (unsigned)strlen(setting) - 1, error.message);
    } else if (number > 0) { /* "duplicate" and "corrupt" begin rules too */
        fprintf(stderr, "flakeway: --%s \"%s\": want a percentage such as 2%%; rules are for --rule\n", text->option,
                text->text);
    }
    return number == 0;
}

bool relay_apply_texts(const relay_options *options, flakeway *engine)
{
    for (size_t i = 0; i < options->text_count; i++) {
        const relay_text *text = &options->texts[i];
        flakeway_error error;
        if (text->is_file) {
            if (!apply_file(text->text, engine))
                return false;
        } else if (strcmp(text->option, "rule") != 0) {
            if (!apply_rate(text, engine))
                return false;
        } else if (flakeway_add(engine, text->text, &error) < 0) {
            fprintf(stderr, "flakeway: --rule \"%s\": column %u: %s\n", text->text, error.column, error.message);
            return false;
        }
    }
    return true;
}
