/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/usage.h"

/* Largest DATA packet whose IP packet still has a 16-bit length. */
#define PACKET_SIZE_MAX (65535 - NETBLT_IP_HEADER_BYTES - NETBLT_DATA_HEADER_BYTES)

enum option_key {
    /* take a number, see number_options */
    OPTION_PORT,
    OPTION_UDP_PORT,
    OPTION_BUFFER_SIZE,
    OPTION_PACKET_SIZE,
    OPTION_BURST_SIZE,
    OPTION_BURST_INTERVAL,
    OPTION_MAX_BUFFERS,
    OPTION_DEATH_TIMER,
    OPTION_VERSION_BYTE,
    NUMBER_OPTIONS,
    /* all others, away from the characters that getopt answers itself */
    OPTION_PASSIVE = 256,
    OPTION_ENCAP,
    OPTION_BIND,
    OPTION_DATA_CHECKSUM,
    OPTION_NO_DATA_CHECKSUM,
    OPTION_CLIENT_STRING,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_HELP,
    OPTION_VERSION,
};

/* Options that take a number: name, range, place. */
static const struct number_option {
    const char *name;
    uint64_t min;
    uint64_t max;
    bool is_size;
    size_t offset;
} number_options[NUMBER_OPTIONS] = {
    [OPTION_PORT] = {"--port", 1, 65535, false, offsetof(options, port)},
    [OPTION_UDP_PORT] = {"--udp-port", 1, 65535, false, offsetof(options, udp_port)},
    [OPTION_BUFFER_SIZE] = {"--buffer-size", 1, BUFFER_MEMORY_MAX_BYTES, true, offsetof(options, buffer_size)},
    [OPTION_PACKET_SIZE] = {"--packet-size", 1, PACKET_SIZE_MAX, true, offsetof(options, packet_size)},
    [OPTION_BURST_SIZE] = {"--burst-size", 1, 65535, false, offsetof(options, burst_size)},
    [OPTION_BURST_INTERVAL] = {"--burst-interval", 0, 65535, false, offsetof(options, burst_interval_ms)},
    [OPTION_MAX_BUFFERS] = {"--max-buffers", 1, 65535, false, offsetof(options, max_buffers)},
    [OPTION_DEATH_TIMER] = {"--death-timer", 1, 65535, false, offsetof(options, death_timer_s)},
    [OPTION_VERSION_BYTE] = {"--version-byte", 0, 255, false, offsetof(options, version_byte)},
};

static const struct option long_options[] = {
    {"port", required_argument, NULL, OPTION_PORT},
    {"udp-port", required_argument, NULL, OPTION_UDP_PORT},
    {"buffer-size", required_argument, NULL, OPTION_BUFFER_SIZE},
    {"packet-size", required_argument, NULL, OPTION_PACKET_SIZE},
    {"burst-size", required_argument, NULL, OPTION_BURST_SIZE},
    {"burst-interval", required_argument, NULL, OPTION_BURST_INTERVAL},
    {"max-buffers", required_argument, NULL, OPTION_MAX_BUFFERS},
    {"death-timer", required_argument, NULL, OPTION_DEATH_TIMER},
    {"version-byte", required_argument, NULL, OPTION_VERSION_BYTE},
    {"passive", no_argument, NULL, OPTION_PASSIVE},
    {"encap", required_argument, NULL, OPTION_ENCAP},
    {"bind", required_argument, NULL, OPTION_BIND},
    {"data-checksum", no_argument, NULL, OPTION_DATA_CHECKSUM},
    {"no-data-checksum", no_argument, NULL, OPTION_NO_DATA_CHECKSUM},
    {"client-string", required_argument, NULL, OPTION_CLIENT_STRING},
    {"json", no_argument, NULL, OPTION_JSON},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static int wrong(netblt_failure *failure, const char *text)
{
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s; see netblt --help", text);
}

static int set_number(options *parsed, enum option_key key, const char *text, netblt_failure *failure)
{
    const struct number_option *option = &number_options[key];
    optional_number *place = (optional_number *)(void *)((char *)parsed + option->offset);

    return number_parse(option->name, text, option->min, option->max, option->is_size, place, failure);
}

static int set_encap(options *parsed, const char *text, netblt_failure *failure)
{
    if (strcmp(text, "ip") == 0)
        parsed->encap = NETBLT_ENCAP_IP;
    else if (strcmp(text, "udp") == 0)
        parsed->encap = NETBLT_ENCAP_UDP;
    else
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--encap %s: give ip (raw IP protocol 30) or udp", text);
    return 0;
}

static int set_client_string(options *parsed, const char *text, netblt_failure *failure)
{
    if (strlen(text) > NETBLT_STRING_MAX_BYTES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--client-string: %zu bytes are too many; at most %d fit",
                           strlen(text), NETBLT_STRING_MAX_BYTES);
    parsed->client_string = text;
    return 0;
}

static int set_other(options *parsed, int option, const char *text, netblt_failure *failure)
{
    switch (option) {
    case OPTION_PASSIVE:
        parsed->passive = true;
        return 0;
    case OPTION_ENCAP:
        return set_encap(parsed, text, failure);
    case OPTION_BIND:
        return netblt_ipv4_parse("--bind", text, &parsed->bind_address, failure);
    case OPTION_DATA_CHECKSUM:
    case OPTION_NO_DATA_CHECKSUM:
        parsed->data_checksum = option == OPTION_DATA_CHECKSUM;
        return 0;
    case OPTION_CLIENT_STRING:
        return set_client_string(parsed, text, failure);
    case OPTION_JSON:
        parsed->json = true;
        return 0;
    case OPTION_QUIET:
        parsed->quiet = true;
        return 0;
    default:
        return wrong(failure, "unknown option");
    }
}

static int set_command(options *parsed, const char *word, netblt_failure *failure)
{
    if (strcmp(word, "send") == 0) {
        parsed->role = NETBLT_SENDER;
        return 0;
    }
    if (strcmp(word, "recv") == 0) {
        parsed->role = NETBLT_RECEIVER;
        return 0;
    }
    if (strcmp(word, "listen") == 0 || strcmp(word, "perf") == 0)
        return netblt_fail(failure, NETBLT_FAILURE_UNSUPPORTED, "%s is not supported by this version: use send or recv",
                           word);
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "unknown command %s: use send or recv; see netblt --help", word);
}

/* send|recv FILE HOST, or send|recv FILE --passive */
static int set_words(options *parsed, char **words, int count, netblt_failure *failure)
{
    if (count < 1)
        return wrong(failure, "say what to do: netblt send FILE HOST, or netblt recv FILE --passive");
    if (set_command(parsed, words[0], failure) != 0)
        return -1;
    if (count < 2 || words[1][0] == '\0')
        return wrong(failure, "FILE is missing (- is stdin or stdout)");
    if (parsed->passive && count > 2)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "with --passive the peer opens the transfer: leave out %s, or leave out --passive",
                           words[2]);
    if (!parsed->passive && (count < 3 || words[2][0] == '\0'))
        return wrong(failure, "HOST is missing: name the peer, or wait for one with --passive");
    if (count > 3)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is too much: one FILE and one HOST", words[3]);
    parsed->file = words[1];
    parsed->host = parsed->passive ? NULL : words[2];
    return 0;
}

static uint64_t value_or(optional_number number, uint64_t otherwise)
{
    return number.given ? number.value : otherwise;
}

/* Settings that are right one by one and wrong together. */
static int check_together(const options *parsed, netblt_failure *failure)
{
    if (parsed->json && parsed->role == NETBLT_RECEIVER && strcmp(parsed->file, "-") == 0)
        return wrong(failure, "--json and FILE - both want stdout: name a file, or leave out --json");
    if (parsed->udp_port.given && parsed->encap == NETBLT_ENCAP_IP)
        return wrong(failure, "--udp-port needs --encap udp");
    if (parsed->buffer_size.given &&
        parsed->buffer_size.value * value_or(parsed->max_buffers, 1) > BUFFER_MEMORY_MAX_BYTES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--buffer-size times --max-buffers: all buffers together may hold at most %u bytes",
                           BUFFER_MEMORY_MAX_BYTES);
    return 0;
}

static void set_defaults(options *parsed)
{
    *parsed = (options){.file = "",
                        .encap = NETBLT_ENCAP_IP,
                        .bind_address = {.s_addr = htonl(INADDR_ANY)},
                        .data_checksum = true,
                        .client_string = ""};
}

/* getopt's own words are several lines and name no remedy. */
static int explain_getopt(int option, char **argv, netblt_failure *failure)
{
    const char *word = argv[optind - 1];

    if (option == ':')
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s needs a value; see netblt --help", word);
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s: unknown option, or it takes no value; see netblt --help",
                       word);
}

enum options_result options_parse(int argc, char **argv, options *parsed, netblt_failure *failure)
{
    int error = 0;
    int option;

    set_defaults(parsed);
    for (int i = 1; i < argc; i++)
        parsed->json = parsed->json || strcmp(argv[i], "--json") == 0;
    while (error == 0 && (option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        if (option == OPTION_HELP || option == OPTION_VERSION) {
            option == OPTION_HELP ? usage_show_help(stdout) : usage_show_version(stdout);
            return OPTIONS_SHOWN;
        }
        if (option == '?' || option == ':')
            error = explain_getopt(option, argv, failure);
        else if (option < NUMBER_OPTIONS)
            error = set_number(parsed, (enum option_key)option, optarg, failure);
        else
            error = set_other(parsed, option, optarg, failure);
    }
    if (error == 0)
        error = set_words(parsed, argv + optind, argc - optind, failure);
    if (error == 0)
        error = check_together(parsed, failure);
    return error == 0 ? OPTIONS_RUN : OPTIONS_WRONG;
}

uint16_t options_port(const options *given)
{
    return (uint16_t)value_or(given->port, NETBLT_PORT_DEFAULT);
}

uint16_t options_udp_port(const options *given)
{
    return (uint16_t)value_or(given->udp_port, NETBLT_UDP_PORT_DEFAULT);
}
