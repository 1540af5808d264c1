/* SPDX-License-Identifier: BSD-2-Clause */
/* What raw IP sockets alone carry: batched system calls around packets of protocol 30 that no program reads. No
 * protocol, no checksum, no memory but one hot buffer: the bound that NETBLT over raw IP is measured against.
 *     bare_raw recv                                    JSON at SIGTERM
 *     bare_raw send [--af-packet] [--packet BYTES] [--working-set] HOST SECONDS
 * --working-set copies each packet from memory that no cache holds, which any transfer has to, and does nothing more.
 * A packet is so many bytes after its IP header; 1480 fill Ethernet's. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/neighbour.h"
#include "peers/meter.h"

#define PROTOCOL 30
#define BATCH 64
#define SLOT_BYTES 65536
#define PAUSE_US 100
#define BUFFER_BYTES (8 << 20)

static int fail(const char *what)
{
    fprintf(stderr, "bare_raw: %s: %s\n", what, strerror(errno));
    return 2;
}

/* ---- receiving ------------------------------------------------------------------------------------------------------
 */

/* Looks every PAUSE_US at what has come instead of being woken for each packet. */
static int receive(void)
{
    static meter account;
    static struct mmsghdr messages[BATCH];
    static struct iovec vectors[BATCH];
    const int bytes = BUFFER_BYTES;
    const struct timespec pause = {.tv_nsec = PAUSE_US * 1000};
    char *slots = malloc((size_t)BATCH * SLOT_BYTES);
    int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, PROTOCOL);
    if (fd < 0 || slots == NULL) {
        free(slots);
        return fail("raw socket");
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    for (int i = 0; i < BATCH; i++) {
        vectors[i] = (struct iovec){.iov_base = slots + (size_t)i * SLOT_BYTES, .iov_len = SLOT_BYTES};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &vectors[i], .msg_iovlen = 1};
    }
    while (!meter_stop) {
        int count = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
        uint64_t sum = 0;
        for (int i = 0; i < count; i++)
            sum += messages[i].msg_len - sizeof(struct iphdr);
        if (count > 0)
            meter_add(&account, sum);
        if (count < BATCH)
            nanosleep(&pause, NULL);
    }
    meter_print(&account);
    return 0;
}

/* ---- sending --------------------------------------------------------------------------------------------------------
 */

static void write_header(struct iphdr *header, struct in_addr from, struct in_addr to, size_t packet_bytes)
{
    *header = (struct iphdr){.version = 4,
                             .ihl = 5,
                             .tot_len = htons((uint16_t)(sizeof *header + packet_bytes)),
                             .frag_off = htons(IP_DF),
                             .ttl = 64,
                             .protocol = PROTOCOL,
                             .saddr = from.s_addr,
                             .daddr = to.s_addr};
}

/* A raw socket fills in the checksum, a packet socket does not. */
static void write_checksum(struct iphdr *header)
{
    uint16_t words[sizeof *header / 2];
    uint32_t sum = 0;
    header->check = 0;
    memcpy(words, header, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        sum += words[i];
    sum = (sum & 0xFFFF) + (sum >> 16);
    header->check = (uint16_t) ~(sum + (sum >> 16));
}

static int open_sender(bool af_packet, struct in_addr to, struct in_addr *from, struct sockaddr_storage *peer,
                       socklen_t *peer_bytes)
{
    const int bytes = BUFFER_BYTES;
    const int on = 1;
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = to};
    socklen_t length = sizeof name;
    netblt_failure failure = {0};
    netblt_neighbour neighbour;
    int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int fd;
    if (connect(probe, (struct sockaddr *)&name, sizeof name) != 0 ||
        getsockname(probe, (struct sockaddr *)&name, &length) != 0)
        return -1;
    *from = name.sin_addr;
    if (af_packet) { /* so that the neighbour is known */
        (void)send(probe, "", 0, 0);
        usleep(50000);
    }
    close(probe);
    if (af_packet) {
        netblt_address foreign = netblt_address_of_ipv4(to);
        if (netblt_neighbour_find(&foreign, &neighbour, &failure) != 0) {
            fprintf(stderr, "bare_raw: %s\n", failure.text);
            return -1;
        }
        fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
        memcpy(peer, &neighbour.name, sizeof neighbour.name);
        *peer_bytes = sizeof neighbour.name;
    } else {
        struct sockaddr_in *ipv4 = (void *)peer;
        fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, PROTOCOL);
        setsockopt(fd, IPPROTO_IP, IP_HDRINCL, &on, sizeof on);
        *ipv4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = to};
        *peer_bytes = sizeof *ipv4;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    return fd;
}

static int send_for(const char *host, double seconds, size_t packet_bytes, bool af_packet, const char *set)
{
    static struct mmsghdr messages[BATCH];
    static struct iovec vectors[BATCH];
    static uint8_t packets[BATCH][2048];
    struct sockaddr_storage peer = {0};
    socklen_t peer_bytes;
    struct in_addr to;
    struct in_addr from;
    uint64_t sent = 0;
    size_t at = 0; /* in the working set */
    uint16_t id = 0;
    if (inet_pton(AF_INET, host, &to) != 1)
        return fail(host);
    int fd = open_sender(af_packet, to, &from, &peer, &peer_bytes);
    if (fd < 0)
        return fail("socket");
    for (int i = 0; i < BATCH; i++) {
        vectors[i] = (struct iovec){.iov_base = packets[i], .iov_len = sizeof(struct iphdr) + packet_bytes};
        messages[i].msg_hdr =
            (struct msghdr){.msg_name = &peer, .msg_namelen = peer_bytes, .msg_iov = &vectors[i], .msg_iovlen = 1};
    }
    for (uint64_t until = meter_now_us() + (uint64_t)(seconds * 1e6); !meter_stop && meter_now_us() < until;) {
        for (int i = 0; i < BATCH; i++) {
            struct iphdr header;
            write_header(&header, from, to, packet_bytes);
            header.id = htons(++id);
            if (af_packet)
                write_checksum(&header);
            memcpy(packets[i], &header, sizeof header);
            if (set == NULL)
                continue;
            memcpy(packets[i] + sizeof header, set + at, packet_bytes);
            at = at + 2 * packet_bytes <= WORKING_SET_BYTES ? at + packet_bytes : 0;
        }
        int count = sendmmsg(fd, messages, BATCH, 0);
        if (count < 0 && errno != ENOBUFS && errno != EINTR)
            return fail("send");
        sent += count > 0 ? (uint64_t)count * packet_bytes : 0;
    }
    printf("{\"bytes\": %" PRIu64 "}\n", sent);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option words[] = {{"af-packet", no_argument, NULL, 'a'},
                                          {"packet", required_argument, NULL, 'p'},
                                          {"working-set", no_argument, NULL, 'w'},
                                          {NULL, 0, NULL, 0}};
    size_t packet_bytes = 1480;
    bool af_packet = false;
    const char *set = NULL;
    int option;
    meter_take_signals();
    while ((option = getopt_long(argc, argv, "", words, NULL)) != -1) {
        if (option == '?')
            return 2;
        af_packet = af_packet || option == 'a';
        if (option == 'w')
            set = meter_working_set();
        packet_bytes = option == 'p' ? (size_t)strtoul(optarg, NULL, 10) : packet_bytes;
    }
    if (argc - optind == 1 && strcmp(argv[optind], "recv") == 0)
        return receive();
    if (argc - optind == 3 && strcmp(argv[optind], "send") == 0 && packet_bytes <= 2048 - sizeof(struct iphdr))
        return send_for(argv[optind + 1], strtod(argv[optind + 2], NULL), packet_bytes, af_packet, set);
    fprintf(stderr,
            "usage: bare_raw recv | bare_raw send [--af-packet] [--packet BYTES] [--working-set] HOST SECONDS\n");
    return 2;
}
