/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of a command line that are no options, and settings that are right one by one and wrong together. */
#include <string.h>

#include "cli/options/option_table.h"

static int wrong(netblt_failure *failure, const char *text)
{
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s; see netblt --help", text);
}

enum command option_words_command(char *const *words, int count)
{
    for (int i = 0; count > 0 && i < COMMANDS; i++)
        if (strcmp(words[0], command_names[i]) == 0)
            return (enum command)i;
    return COMMANDS;
}

/* [2001:db8::1] is how an IPv6 address is written beside a port: understood without one, too. `host` lives as long as
 * argv, so it is cut in place. */
static const char *without_brackets(char *host)
{
    size_t length = strlen(host);
    if (length < 2 || host[0] != '[' || host[length - 1] != ']')
        return host;
    host[length - 1] = '\0';
    return host + 1;
}

/* Of send and recv: `words` without the HOST at their end. */
static int set_paths(options *parsed, char *const *words, int count, netblt_failure *failure)
{
    static char here[] = ".";
    static char *const current_directory[] = {here};
    bool wants_any = parsed->role == NETBLT_SENDER || parsed->passive;
    if (count < 1 && wants_any)
        return wrong(failure,
                     parsed->role == NETBLT_SENDER ? "PATH is missing (- is stdin)" : "DEST is missing (- is stdout)");
    if (count > 1 && parsed->role == NETBLT_RECEIVER)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is too much: one DEST%s", words[1],
                           parsed->passive ? "" : " and one HOST");
    for (int i = 0; i < count; i++) {
        if (words[i][0] == '\0')
            return wrong(failure, "an empty word names no file");
        if (count > 1 && strcmp(words[i], "-") == 0)
            return wrong(failure, "- is stdin, which is sent alone: leave out the other paths");
    }
    parsed->paths = count > 0 ? words : current_directory;
    parsed->path_count = count > 0 ? (size_t)count : 1;
    parsed->file = parsed->paths[0];
    return 0;
}

/* send PATH... HOST, recv [DEST] HOST, or with --passive without HOST */
static int set_file_words(options *parsed, char **words, int count, netblt_failure *failure)
{
    parsed->role = parsed->command == COMMAND_SEND ? NETBLT_SENDER : NETBLT_RECEIVER;
    if (parsed->passive)
        return set_paths(parsed, words, count, failure);
    if (count < 1)
        return wrong(failure,
                     parsed->role == NETBLT_SENDER ? "PATH is missing (- is stdin)" : "HOST is missing: name the peer");
    if ((count == 1 && parsed->role == NETBLT_SENDER) || words[count - 1][0] == '\0')
        return wrong(failure, "HOST is missing: name the peer, or wait for one with --passive");
    parsed->host = without_brackets(words[count - 1]);
    return set_paths(parsed, words, count - 1, failure);
}

/* perf HOST, or perf --passive */
static int set_perf_words(options *parsed, char **words, int count, netblt_failure *failure)
{
    if (parsed->passive && count > 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "with --passive the peer opens the transfer: leave out %s, or leave out --passive",
                           words[0]);
    if (!parsed->passive && (count < 1 || words[0][0] == '\0'))
        return wrong(failure, "HOST is missing: name the peer, or wait for one with --passive");
    if (count > 1)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is too much: one HOST", words[1]);
    parsed->host = parsed->passive ? NULL : without_brackets(words[0]);
    return 0;
}

static int set_listen_words(options *parsed, char **words, int count, netblt_failure *failure)
{
    parsed->passive = true;
    if (count > 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is too much: netblt listen --root DIR", words[0]);
    if (parsed->root == NULL)
        return wrong(failure, "--root is missing: name the directory to serve");
    return 0;
}

int option_words_set(options *parsed, char **words, int count, netblt_failure *failure)
{
    if (count < 1)
        return wrong(failure, "a command is missing: use netblt send PATH HOST, or netblt recv DEST --passive");
    parsed->command = option_words_command(words, count);
    switch (parsed->command) {
    case COMMAND_SEND:
    case COMMAND_RECV:
        return set_file_words(parsed, words + 1, count - 1, failure);
    case COMMAND_LISTEN:
        return set_listen_words(parsed, words + 1, count - 1, failure);
    case COMMAND_PERF:
        return set_perf_words(parsed, words + 1, count - 1, failure);
    default:
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "unknown command %s: use send, recv, listen or perf; see netblt --help", words[0]);
    }
}

/* ---- together ------------------------------------------------------------------------------------------------- */

/* One family from -4, -6 and --bind. */
static int settle_family(options *parsed, netblt_failure *failure)
{
    enum netblt_family bound = netblt_address_family(&parsed->bind_address);
    if (parsed->family != NETBLT_FAMILY_ANY && bound != NETBLT_FAMILY_ANY && bound != parsed->family)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--ipv%d and --bind name different families of addresses",
                           (int)parsed->family);
    if (parsed->family == NETBLT_FAMILY_ANY)
        parsed->family = bound;
    else if (bound == NETBLT_FAMILY_ANY)
        parsed->bind_address = netblt_address_any(parsed->family);
    return 0;
}

/* Who names bursts means them: then the rate is fixed. */
static int settle_rate(options *parsed, netblt_failure *failure)
{
    const char *named = parsed->burst_size.given ? "--burst-size" : "--burst-interval";
    bool bursts_given = parsed->burst_size.given || parsed->burst_interval_ms.given;
    if (parsed->rate_named == RATE_AUTO && bursts_given)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "%s fixes the rate and --rate auto measures it: leave one of them out", named);
    parsed->rate = parsed->rate_named == RATE_FIXED || bursts_given ? NETBLT_RATE_FIXED : NETBLT_RATE_AUTO;
    return 0;
}

static int check_perf(const options *parsed, netblt_failure *failure)
{
    if (parsed->size.given && parsed->time_s.given)
        return wrong(failure, "--size and --time exclude one another: leave one of them out");
    if (parsed->repeat.given && parsed->time_s.given)
        return wrong(failure, "--time repeats transfers by itself: leave out --repeat");
    if (parsed->passive && (parsed->size.given || parsed->time_s.given || parsed->role == NETBLT_RECEIVER ||
                            parsed->repeat.given || parsed->parallel.given))
        return wrong(failure, "--size, --time, --reverse, --repeat and --parallel belong to the active end: leave "
                              "them out with --passive");
    if (parsed->json && parsed->interval_s.given)
        return wrong(failure, "--interval prints lines and --json has intervals: leave one of them out");
    if (!parsed->passive && parsed->count.given)
        return wrong(failure, "--count is for --passive; use --repeat");
    return 0;
}

int option_words_check(options *parsed, netblt_failure *failure)
{
    static const netblt_profile *const profiles[] = {&netblt_profile_default, &netblt_profile_mit1987};
    parsed->profile = profiles[parsed->profile_named];
    if (parsed->sync == SYNC_DEFAULT)
        parsed->sync = parsed->command == COMMAND_LISTEN ? SYNC_ALWAYS : SYNC_NEVER;
    parsed->json = parsed->json || parsed->json_progress;
    if (parsed->json && parsed->command == COMMAND_RECV && strcmp(parsed->file, "-") == 0)
        return wrong(failure, parsed->json_progress
                                  ? "--json-progress and DEST - both want stdout: name a file, or leave it out"
                                  : "--json and DEST - both want stdout: name a file, or leave out --json");
    if (parsed->udp_port.given && parsed->encap == NETBLT_ENCAP_IP)
        return wrong(failure, "--udp-port needs --encap udp");
    if (parsed->transmit == TRANSMIT_AF_PACKET && parsed->encap != NETBLT_ENCAP_IP)
        return wrong(failure, "--transmit af_packet is for raw IP: leave out --encap udp");
    if (parsed->buffer_size.given &&
        parsed->buffer_size.value * options_number_or(parsed->max_buffers, 1) > BUFFER_MEMORY_MAX_BYTES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--buffer-size times --max-buffers: all buffers together may hold at most %u bytes",
                           BUFFER_MEMORY_MAX_BYTES);
    if (parsed->command == COMMAND_PERF && check_perf(parsed, failure) != 0)
        return -1;
    if (parsed->passive && parsed->path.measure)
        return wrong(failure, "--path measure is for the end that opens: leave it out here");
    if (parsed->passive && parsed->schedule != NULL)
        return wrong(failure, "--schedule is for the end that opens: leave it out with --passive");
    if (parsed->passive && parsed->open_timeout_s.given)
        return wrong(failure, "--open-timeout is for the end that opens: leave it out with --passive");
    return settle_family(parsed, failure) != 0 ? -1 : settle_rate(parsed, failure);
}
