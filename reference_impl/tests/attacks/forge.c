/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends forged NETBLT packets from a raw socket, at a given pace. It never reads a reply: whatever it achieves, an
 * attacker achieves who cannot see the packets of others.
 *     forge --to ADDRESS --from ADDRESS[/BITS] [options] STEP...
 * A conversation has one forged address, one pair of ports, and sends each STEP once:
 *     KIND[:WORD,...]   open response keepalive quit quitack abort data ldata null-ack refused done go ok resend
 *                       unreachable (ICMP)
 *     words             at=MS after the conversation's begin, repeat=N, every=MS; read, write, either (alternating),
 *                       string=TEXT ('%' is the conversation's index), death=S, buffer-size=, packet-size=,
 *                       max-buffers=, burst-size=, burst-interval=; seq=, buffer=, packet=, bytes=, code=
 * seq, buffer, packet, code and all ports are N, A-B (one after the other), index, random, or random:A-B.
 * The last line on standard output is a JSON object with what was sent; bytes are those of whole IP packets. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "forge.h"

enum {
    BATCH_PACKETS = 64,
    STEPS_MAX = 1024, /* repetitions are steps of their own */
    EXIT_USAGE = 2,
    ARGUMENT_SHOWN_BYTES = 256,
    SEND_BUFFER_BYTES = 4 << 20,
};

#define NS_PER_S UINT64_C(1000000000)

/* The state of one step: which conversation sends it next. */
struct lane {
    struct forge_step step;
    uint64_t next;
};

struct attack {
    struct forge_plan plan;
    struct lane lanes[STEPS_MAX];
    unsigned steps;
    uint64_t count;       /* conversations */
    uint64_t interval_ns; /* between two of them; 0: all at once */
};

struct batch {
    struct mmsghdr messages[BATCH_PACKETS];
    struct iovec vectors[BATCH_PACKETS];
    uint8_t packets[BATCH_PACKETS][FORGE_PACKET_MAX_BYTES];
    struct sockaddr_in to;
    unsigned filled;
    uint64_t packets_sent;
    uint64_t bytes_sent;
    uint64_t packets_failed;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- sending --------------------------------------------------------------------------------------------------- */

/* Packets that the kernel refuses (no route, an ICMP error of before) are counted and left out. */
static void flush(struct batch *batch, int fd)
{
    unsigned done = 0;
    while (done < batch->filled) {
        int sent = sendmmsg(fd, batch->messages + done, batch->filled - done, 0);
        if (sent < 0 && errno == EINTR)
            continue;
        for (int i = 0; i < sent; i++)
            batch->bytes_sent += batch->messages[done + (unsigned)i].msg_len;
        batch->packets_sent += sent > 0 ? (uint64_t)sent : 0;
        batch->packets_failed += sent > 0 ? 0 : 1;
        done += sent > 0 ? (unsigned)sent : 1;
    }
    batch->filled = 0;
}

static void add(struct batch *batch, int fd, const struct attack *attack, unsigned lane, uint64_t index)
{
    unsigned slot = batch->filled++;
    size_t bytes = forge_write(&attack->plan, &attack->lanes[lane].step, lane, index, batch->packets[slot]);
    batch->vectors[slot] = (struct iovec){.iov_base = batch->packets[slot], .iov_len = bytes};
    batch->messages[slot].msg_hdr = (struct msghdr){
        .msg_name = &batch->to, .msg_namelen = sizeof batch->to, .msg_iov = &batch->vectors[slot], .msg_iovlen = 1};
    if (batch->filled == BATCH_PACKETS)
        flush(batch, fd);
}

/* Sends one packet of each step that is due. Returns when the next one is due, UINT64_MAX after the last. */
static uint64_t send_due(struct attack *attack, struct batch *batch, int fd, uint64_t begin, uint64_t now)
{
    uint64_t earliest = UINT64_MAX;
    for (unsigned i = 0; i < attack->steps; i++) {
        struct lane *lane = &attack->lanes[i];
        if (lane->next >= attack->count)
            continue;
        uint64_t due = begin + lane->next * attack->interval_ns + lane->step.at_ns;
        if (due <= now) {
            add(batch, fd, attack, i, lane->next++);
            due = lane->next < attack->count ? due + attack->interval_ns : UINT64_MAX;
        }
        earliest = due < earliest ? due : earliest;
    }
    return earliest;
}

static void carry_out(struct attack *attack, struct batch *batch, int fd)
{
    uint64_t begin = now_ns();
    while (!interrupted) {
        uint64_t now = now_ns();
        uint64_t due = send_due(attack, batch, fd, begin, now);
        if (due <= now)
            continue;
        flush(batch, fd);
        if (due == UINT64_MAX)
            break;
        struct timespec until = {.tv_sec = (time_t)(due / NS_PER_S), .tv_nsec = (long)(due % NS_PER_S)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    flush(batch, fd);
    printf("{\"packets\": %llu, \"bytes\": %llu, \"failed\": %llu, \"seconds\": %.3f}\n",
           (unsigned long long)batch->packets_sent, (unsigned long long)batch->bytes_sent,
           (unsigned long long)batch->packets_failed, (double)(now_ns() - begin) / (double)NS_PER_S);
}

/* ---- options --------------------------------------------------------------------------------------------------- */

static int usage(const char *problem, const char *text)
{
    fprintf(stderr, "forge: %s '%s'\n", problem, text);
    return EXIT_USAGE;
}

static bool read_ipv4(const char *text, uint32_t *address)
{
    struct in_addr parsed;
    if (inet_pton(AF_INET, text, &parsed) != 1)
        return false;
    *address = ntohl(parsed.s_addr);
    return true;
}

static bool read_source(char *text, struct forge_plan *plan)
{
    char *slash = strchr(text, '/');
    struct forge_value bits = {.first = 32};
    if (slash != NULL) {
        *slash++ = '\0';
        if (!forge_read_value(slash, 32, &bits))
            return false;
    }
    plan->from_prefix = bits.first;
    return read_ipv4(text, &plan->from);
}

static bool read_real(const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0' && *number >= 0 && *number < 1e9;
}

enum option_code { TO = 1, FROM, ENCAP, LOCAL, FOREIGN, UDP_FROM, UDP_TO, RATE, COUNT, SEED, VERSION };

static bool read_option(int option, char *text, struct attack *attack)
{
    struct forge_plan *plan = &attack->plan;
    struct forge_value value;
    double real;
    switch (option) {
    case TO:
        return read_ipv4(text, &plan->to);
    case FROM:
        return read_source(text, plan);
    case ENCAP:
        plan->udp = strcmp(text, "udp") == 0;
        return plan->udp || strcmp(text, "ip") == 0;
    case LOCAL:
        return forge_read_value(text, UINT16_MAX, &plan->local_port);
    case FOREIGN:
        return forge_read_value(text, UINT16_MAX, &plan->foreign_port);
    case UDP_FROM:
        return forge_read_value(text, UINT16_MAX, &plan->udp_from);
    case UDP_TO:
        return forge_read_value(text, UINT16_MAX, &plan->udp_to);
    case RATE:
        if (!read_real(text, &real))
            return false;
        attack->interval_ns = real > 0 ? (uint64_t)((double)NS_PER_S / real) : 0;
        return true;
    case COUNT:
    case SEED:
        if (!forge_read_value(text, UINT32_MAX, &value))
            return false;
        *(option == COUNT ? &attack->count : &plan->seed) = value.first;
        return true;
    case VERSION:
        if (!forge_read_value(text, UINT8_MAX, &value))
            return false;
        plan->version = (uint8_t)value.first;
        return true;
    default:
        return false;
    }
}

static bool add_step(struct attack *attack, struct forge_step step)
{
    for (unsigned i = 0; i < step.repeat; i++, step.at_ns += step.every_ns) {
        if (attack->steps == STEPS_MAX)
            return false;
        attack->lanes[attack->steps++].step = step;
    }
    return true;
}

static int read_arguments(int argc, char **argv, struct attack *attack)
{
    static const struct option options[] = {
        {"to", required_argument, NULL, TO},
        {"from", required_argument, NULL, FROM},
        {"encap", required_argument, NULL, ENCAP},
        {"local-port", required_argument, NULL, LOCAL},
        {"foreign-port", required_argument, NULL, FOREIGN},
        {"udp-from", required_argument, NULL, UDP_FROM},
        {"udp-to", required_argument, NULL, UDP_TO},
        {"rate", required_argument, NULL, RATE},
        {"count", required_argument, NULL, COUNT},
        {"seed", required_argument, NULL, SEED},
        {"version-byte", required_argument, NULL, VERSION},
        {NULL, 0, NULL, 0},
    };
    char original[ARGUMENT_SHOWN_BYTES]; /* parsing changes the argument */
    int index = 0;
    int option;
    while ((option = getopt_long(argc, argv, "", options, &index)) != -1) {
        if (option == '?')
            return EXIT_USAGE;
        snprintf(original, sizeof original, "%s", optarg);
        if (!read_option(option, optarg, attack))
            return usage("bad value", original);
    }
    for (; optind < argc; optind++) {
        struct forge_step step;
        snprintf(original, sizeof original, "%s", argv[optind]);
        const char *problem = forge_read_step(argv[optind], &step);
        if (problem != NULL)
            return usage(problem, original);
        if (!add_step(attack, step))
            return usage("too many repetitions", original);
    }
    if (attack->plan.to == 0 || attack->plan.from == 0 || attack->steps == 0)
        return usage("needed: --to, --from and a step, for example", "open:read,string=file");
    return 0;
}

int main(int argc, char **argv)
{
    static struct attack attack = {
        .plan = {.version = 2,
                 .seed = 1,
                 .local_port = {FORGE_RANDOM, 1024, UINT16_MAX},
                 .foreign_port = {FORGE_RANGE, 1, 1},
                 .udp_from = {FORGE_RANDOM, 1024, UINT16_MAX},
                 .udp_to = {FORGE_RANGE, 9980, 9980}},
        .count = 1,
    };
    static struct batch batch;
    const int buffer_bytes = SEND_BUFFER_BYTES;
    int problem = read_arguments(argc, argv, &attack);
    if (problem != 0)
        return problem;
    batch.to = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(attack.plan.to)};
    int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
    if (fd < 0) {
        perror("forge: raw socket");
        return EXIT_USAGE;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer_bytes, sizeof buffer_bytes);
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    carry_out(&attack, &batch, fd);
    close(fd);
    return 0;
}
