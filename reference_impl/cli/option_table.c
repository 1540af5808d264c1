/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/option_table.h"

#include <stddef.h>

#include "cli/option_values.h"

#define IPV4_HEADER_BYTES 20
/* Largest DATA packet whose IP packet still has a 16-bit length. */
#define PACKET_SIZE_MAX (65535 - IPV4_HEADER_BYTES - NETBLT_DATA_HEADER_BYTES)
#define WORKING_SET_MAX_BYTES (UINT64_C(1) << 34)
#define HOUR_S 3600
#define DAY_S (24 * HOUR_S)

#define FILES (FOR(COMMAND_SEND) | FOR(COMMAND_RECV))
#define LISTEN FOR(COMMAND_LISTEN)
#define PERF FOR(COMMAND_PERF)
#define RECEIVERS (FOR(COMMAND_RECV) | LISTEN)
#define ALL (FILES | LISTEN | PERF)

#define AT(member) offsetof(options, member)

const char *const command_names[COMMANDS] = {
    [COMMAND_SEND] = "send",
    [COMMAND_RECV] = "recv",
    [COMMAND_LISTEN] = "listen",
    [COMMAND_PERF] = "perf",
};

/* name, value, help, set, place, least, most, commands, group, kind, letter */
const option_entry option_table[] = {
    {"passive", NULL, "wait for the peer instead of opening", NULL, AT(passive), 0, 0, FILES | PERF, GROUP_WHERE,
     OPTION_SET, 0},
    {"encap", "ip|udp", "raw IP protocol 30, needs root or CAP_NET_RAW (default); or inside UDP", option_set_encap, 0,
     0, 0, ALL, GROUP_WHERE, OPTION_CALL, 0},
    {"transmit", "socket|single|af_packet",
     "send by the socket (default); UDP packet by packet, not whole bursts for the kernel to cut up; or raw IPv4 "
     "faster, past firewall and queueing, by a packet socket",
     option_set_transmit, 0, 0, 0, ALL, GROUP_WHERE, OPTION_CALL, 0},
    {"port", "PORT", "the passive end's NETBLT port (default 1)", NULL, AT(port), 1, 65535, ALL, GROUP_WHERE,
     OPTION_NUMBER, 0},
    {"udp-port", "PORT", "the passive end's UDP port (default 9980)", NULL, AT(udp_port), 1, 65535, ALL, GROUP_WHERE,
     OPTION_NUMBER, 0},
    {"bind", "ADDRESS", "this host's address to use (default: the route's; passive: all)", option_set_bind, 0, 0, 0,
     ALL, GROUP_WHERE, OPTION_CALL, 0},
    {"ipv4", NULL, "IPv4 only", option_set_ipv4, 0, 0, 0, ALL, GROUP_WHERE, OPTION_CALL, '4'},
    {"ipv6", NULL, "IPv6 only", option_set_ipv6, 0, 0, 0, ALL, GROUP_WHERE, OPTION_CALL, '6'},

    {"path", "RATE,RTT",
     "size buffers for a way of RATE bits per second and RTT, as in 100M,600ms; RTT, or both, may be the word measure",
     option_set_path, 0, 0, 0, ALL, GROUP_HOW, OPTION_CALL, 0},
    {"rate", "auto|fixed",
     "measure the rate and follow it, or keep what is agreed (default: auto, fixed with burst options)",
     option_set_rate, 0, 0, 0, ALL, GROUP_HOW, OPTION_CALL, 0},
    {"packet-size", "BYTES", "data in a packet (default: what the route carries whole, 1456 on Ethernet)", NULL,
     AT(packet_size), 1, PACKET_SIZE_MAX, ALL, GROUP_HOW, OPTION_SIZE, 0},
    {"buffer-size", "BYTES", "data in a buffer (default: 64k to 256k, more on long ways; see --path)", NULL,
     AT(buffer_size), 1, BUFFER_MEMORY_MAX_BYTES, ALL, GROUP_HOW, OPTION_SIZE, 0},
    {"max-buffers", "N", "buffers under way at once (default: see --path)", NULL, AT(max_buffers), 1, 65535, ALL,
     GROUP_HOW, OPTION_NUMBER, 0},
    {"burst-size", "N", "packets in a burst", NULL, AT(burst_size), 1, 65535, ALL, GROUP_HOW, OPTION_NUMBER, 0},
    {"burst-interval", "MS", "from the start of one burst to the next; 0 = no pacing", NULL, AT(burst_interval_ms), 0,
     65535, ALL, GROUP_HOW, OPTION_NUMBER, 0},
    {"death-timer", "S", "give the peer up after so long a silence (default 30)", NULL, AT(death_timer_s), 1, 65535,
     ALL, GROUP_HOW, OPTION_NUMBER, 0},
    {"open-timeout", "S", "stop asking after so long without an answer (default: five times, half a minute)", NULL,
     AT(open_timeout_s), 1, DAY_S, FILES | PERF, GROUP_HOW, OPTION_NUMBER, 0},
    {"data-checksum", NULL, "checksum the data too (default)", NULL, AT(data_checksum), 0, 0, ALL, GROUP_HOW,
     OPTION_SET, 0},
    {"no-data-checksum", NULL, "only the headers, if the peer agrees", NULL, AT(data_checksum), 0, 0, ALL, GROUP_HOW,
     OPTION_CLEAR, 0},
    {"beyond-4g", NULL, "allow more than 4294967296 bytes, where RFC 998 ends a transfer", NULL, AT(beyond_4g), 0, 0,
     FILES | LISTEN, GROUP_HOW, OPTION_SET, 0},
    {"sync", NULL, "report success only when a received file is on disk (default for listen)", option_set_sync, 0, 0, 0,
     RECEIVERS, GROUP_HOW, OPTION_CALL, 0},
    {"no-sync", NULL, "report success when a received file has its name (default for recv)", option_set_no_sync, 0, 0,
     0, RECEIVERS, GROUP_HOW, OPTION_CALL, 0},
    {"client-string", "TEXT",
     "a word to the peer's program; netblt listen takes it as the file's name (default: FILE's)",
     option_set_client_string, 0, 0, 0, FILES, GROUP_HOW, OPTION_CALL, 0},
    {"profile", "NAME", "constants behind timers: default, or mit1987 (RFC 1030's tables)", option_set_profile, 0, 0, 0,
     ALL, GROUP_HOW, OPTION_CALL, 0},
    {"version-byte", "N", "version in every packet when this end opens (default 2)", NULL, AT(version_byte), 0, 255,
     ALL, GROUP_HOW, OPTION_NUMBER, 0},
    {"resume", NULL, NULL, option_refuse_resume, 0, 0, 0, ALL, GROUP_HOW, OPTION_CALL, 0},
    {"continue", NULL, NULL, option_refuse_resume, 0, 0, 0, ALL, GROUP_HOW, OPTION_CALL, 0},

    {"root", "DIR", "the directory that is served; nothing outside can be named", NULL, AT(root), 0, 0, LISTEN,
     GROUP_SERVE, OPTION_TEXT, 0},
    {"read-only", NULL, "only give files away, store none", NULL, AT(read_only), 0, 0, LISTEN, GROUP_SERVE, OPTION_SET,
     0},
    {"force", NULL, "let what arrives replace files that exist", NULL, AT(force), 0, 0, LISTEN, GROUP_SERVE, OPTION_SET,
     0},
    {"allow", "PREFIX", "serve only peers of this network, as in 10.0.0.0/8; may be repeated", option_add_allow, 0, 0,
     0, LISTEN, GROUP_SERVE, OPTION_CALL, 0},
    {"max-connections", "N", "transfers at the same time (default 100)", NULL, AT(max_connections), 1, 65535, LISTEN,
     GROUP_SERVE, OPTION_NUMBER, 0},
    {"max-per-address", "N", "of these with one address; 0 = no limit (default: a quarter, at least 4)", NULL,
     AT(max_per_address), 0, 65535, LISTEN, GROUP_SERVE, OPTION_NUMBER, 0},
    {"max-per-prefix", "N", "of these in one IPv4 /24 or IPv6 /64; 0 = no limit (default: half, at least 8)", NULL,
     AT(max_per_prefix), 0, 65535, LISTEN, GROUP_SERVE, OPTION_NUMBER, 0},
    {"min-progress", "S", "who brings no new data for so long loses its place if others wait; 0 = never (default 30)",
     NULL, AT(min_progress_s), 0, DAY_S, LISTEN, GROUP_SERVE, OPTION_NUMBER, 0},
    {"max-idle", "S", "end a transfer without new data after so long in any case; 0 = never (default 3600)", NULL,
     AT(max_idle_s), 0, DAY_S, LISTEN, GROUP_SERVE, OPTION_NUMBER, 0},

    {"size", "BYTES", "bytes in each transfer (default 256M)", NULL, AT(size), 0, TRANSFER_MAX_BYTES, PERF, GROUP_TEST,
     OPTION_SIZE, 0},
    {"time", "S", "so many seconds instead, in as many transfers of at most 4 GiB as it takes", NULL, AT(time_s), 1,
     DAY_S, PERF, GROUP_TEST, OPTION_NUMBER, 0},
    {"reverse", NULL, "the passive end sends", option_set_reverse, 0, 0, 0, PERF, GROUP_TEST, OPTION_CALL, 0},
    {"repeat", "N", "transfers one after the other (default 1)", NULL, AT(repeat), 1, 1000000, PERF, GROUP_TEST,
     OPTION_NUMBER, 0},
    {"parallel", "N", "transfers at the same time (default 1)", NULL, AT(parallel), 1, 1000, PERF, GROUP_TEST,
     OPTION_NUMBER, 0},
    {"working-set", "BYTES", "memory that data comes from or goes to, for each transfer (default 64M)", NULL,
     AT(working_set), 1, WORKING_SET_MAX_BYTES, PERF, GROUP_TEST, OPTION_SIZE, 0},
    {"count", "N", "with --passive: serve so many transfers and exit (default: until interrupted)", NULL, AT(count), 1,
     1000000000, PERF, GROUP_TEST, OPTION_NUMBER, 0},

    {"user", "NAME[:GROUP]", "started as root: become this user when the sockets are open", NULL, AT(user), 0, 0, ALL,
     GROUP_RIGHTS, OPTION_TEXT, 0},
    {"sandbox", "auto|require|off",
     "let the kernel confine files and system calls: where it can (default), or not start otherwise, or not at all",
     option_set_sandbox, 0, 0, 0, ALL, GROUP_RIGHTS, OPTION_CALL, 0},

    {"json", NULL, "a summary for machines on stdout", NULL, AT(json), 0, 0, ALL, GROUP_OUTPUT, OPTION_SET, 0},
    {"quiet", NULL, "errors only", NULL, AT(quiet), 0, 0, ALL, GROUP_OUTPUT, OPTION_SET, 0},
    {"pcap", "FILE", "write the packets sent and received for Wireshark", NULL, AT(pcap_file), 0, 0, ALL, GROUP_OUTPUT,
     OPTION_TEXT, 0},
    {"qlog", "FILE", "write a log of packets, timers, states and rate decisions, as JSON text sequences", NULL,
     AT(qlog_file), 0, 0, ALL, GROUP_OUTPUT, OPTION_TEXT, 0},
    {"help", NULL, "show this", NULL, 0, 0, 0, ALL, GROUP_OUTPUT, OPTION_SHOW_HELP, 0},
    {"version", NULL, "show the program's version", NULL, 0, 0, 0, ALL, GROUP_OUTPUT, OPTION_SHOW_VERSION, 0},
};

const size_t option_table_count = sizeof option_table / sizeof *option_table;
