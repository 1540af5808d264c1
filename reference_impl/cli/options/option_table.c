/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of the command `netblt`, as data. */
#include "cli/options/option_table.h"

#include <stddef.h>

#define IPV4_HEADER_BYTES 20
/* Largest DATA packet whose IP packet still has a 16-bit length. */
#define PACKET_SIZE_MAX (65535 - IPV4_HEADER_BYTES - NETBLT_DATA_HEADER_BYTES)
#define WORKING_SET_MAX_BYTES (UINT64_C(1) << 34)
#define DAY_S (24 * 3600)
/* A part holds the header, the manifest as a rule, and some pieces. */
#define PART_MIN_BYTES (UINT64_C(256) << 10)

#define FILES (FOR(COMMAND_SEND) | FOR(COMMAND_RECV))
#define LISTEN FOR(COMMAND_LISTEN)
#define PERF FOR(COMMAND_PERF)
#define SEND FOR(COMMAND_SEND)
#define RECV FOR(COMMAND_RECV)
#define RECEIVERS (FOR(COMMAND_RECV) | LISTEN)
#define ALL (FILES | LISTEN | PERF)

const char *const command_names[COMMANDS] = {
    [COMMAND_SEND] = "send",
    [COMMAND_RECV] = "recv",
    [COMMAND_LISTEN] = "listen",
    [COMMAND_PERF] = "perf",
};

/* One row of the table: kind, name, placeholder, commands, help, and what else the kind needs. */
#define ROW(k, n, v, c, h, ...)                                                                                        \
    {                                                                                                                  \
        .kind = (k), .name = (n), .value = (v), .commands = (c), .help = (h), __VA_ARGS__                              \
    }
#define AT(member) .offset = offsetof(options, member)

#define TITLE(c, h) ROW(OPTION_TITLE, NULL, NULL, c, h, )
#define FLAG(n, member, on, c, h) ROW(OPTION_FLAG, n, NULL, c, h, AT(member), .min = (on))
#define CONSTANT(n, l, member, m, c, h) ROW(OPTION_CONSTANT, n, NULL, c, h, AT(member), .letter = (l), .min = (m))
#define CHOICE(n, v, words, member, first, c, h)                                                                       \
    ROW(OPTION_CHOICE, n, v, c, h, AT(member), .choices = (words), .min = (first))
#define NUMBER(n, v, member, p, least, most, c, h)                                                                     \
    ROW(OPTION_NUMBER, n, v, c, h, AT(member), .preset = (p), .min = (least), .max = (most))
#define SIZE(n, v, member, p, least, most, c, h)                                                                       \
    ROW(OPTION_SIZE, n, v, c, h, AT(member), .preset = (p), .min = (least), .max = (most))
#define TEXT(n, v, member, c, h) ROW(OPTION_TEXT, n, v, c, h, AT(member))
#define CALL(n, v, f, c, h) ROW(OPTION_CALL, n, v, c, h, .set = (f))
#define SHOW(n, k, h) ROW(k, n, NULL, ALL, h, )

const option_entry option_table[] = {
    TITLE(ALL, "Where:"),
    FLAG("passive", passive, true, FILES | PERF, "wait for the peer instead of opening"),
    CHOICE("encap", "ip|udp", "ip|udp", encap, 0, ALL,
           "raw IP protocol 30, needs root or CAP_NET_RAW (default); or inside UDP"),
    CHOICE("transmit", "HOW", "socket|single|af_packet", transmit, 0, ALL,
           "socket: with the socket (default); single: UDP packets one by one instead of whole bursts that the kernel "
           "divides; af_packet: raw IPv4 with an AF_XDP or packet socket, which is faster and bypasses firewall and "
           "queueing"),
    NUMBER("port", "PORT", port, 1, 1, 65535, ALL, "the passive end's NETBLT port (default 1)"),
    NUMBER("udp-port", "PORT", udp_port, NETBLT_UDP_PORT_DEFAULT, 1, 65535, ALL,
           "the passive end's UDP port (default 9980)"),
    CALL("bind", "ADDRESS", option_set_bind, ALL, "this host's address to use (default: the route's; passive: all)"),
    CONSTANT("ipv4", '4', family, NETBLT_FAMILY_IPV4, ALL, "IPv4 only"),
    CONSTANT("ipv6", '6', family, NETBLT_FAMILY_IPV6, ALL, "IPv6 only"),
    TITLE(ALL, "How, proposals of the active end, limits of the passive end:"),
    CALL("path", "RATE,RTT", option_set_path, ALL,
         "choose buffers for a path of RATE bits per second and RTT, as in 100M,600ms; RTT, or both, may be the word "
         "measure"),
    FLAG("path-memory", path_memory, true, FILES,
         "begin near the rate that an earlier transfer with this host has measured, and remember this one's (default)"),
    FLAG("no-path-memory", path_memory, false, FILES, "neither use nor keep what transfers have measured"),
    CHOICE("rate", "auto|fixed", "auto|fixed", rate_named, RATE_AUTO, ALL,
           "measure the rate and use it, or keep the agreed one (default: auto, fixed with burst options)"),
    SIZE("packet-size", "BYTES", packet_size, 0, 1, PACKET_SIZE_MAX, ALL,
         "data in a packet (default: what the route carries whole, 1456 on Ethernet)"),
    SIZE("buffer-size", "BYTES", buffer_size, 0, 1, BUFFER_MEMORY_MAX_BYTES, ALL,
         "data in a buffer (default: 64k to 256k, more on long paths; see --path)"),
    NUMBER("max-buffers", "N", max_buffers, 0, 1, 65535, ALL, "outstanding buffers (default: see --path)"),
    NUMBER("burst-size", "N", burst_size, 0, 1, 65535, ALL, "packets in a burst"),
    NUMBER("burst-interval", "MS", burst_interval_ms, 0, 0, 65535, ALL,
           "from the start of one burst to the next; 0 = no pacing"),
    NUMBER("death-timer", "S", death_timer_s, 0, 1, 65535, ALL,
           "declare the peer dead after so many seconds without a packet (default 30)"),
    NUMBER("open-timeout", "S", open_timeout_s, 0, 1, DAY_S, FILES | PERF,
           "stop opening after so many seconds without an answer (default: five OPENs, half a minute)"),
    FLAG("data-checksum", data_checksum, true, ALL, "checksum the data too (default)"),
    FLAG("no-data-checksum", data_checksum, false, ALL, "only the headers, if the peer agrees"),
    FLAG("beyond-4g", beyond_4g, true, FILES | LISTEN,
         "allow more than 4294967296 bytes, where RFC 998 ends a transfer, for streams and to other implementations"),
    CONSTANT("sync", 0, sync, SYNC_ALWAYS, RECEIVERS,
             "report success only when a received file is on disk (default for listen)"),
    CONSTANT("no-sync", 0, sync, SYNC_NEVER, RECEIVERS,
             "report success when a received file has its name (default for recv)"),
    CALL("client-string", "TEXT", option_set_client_string, FILES,
         "text for the peer's program; netblt listen reads it as a name (default: that of PATH or DEST)"),
    CHOICE("profile", "NAME", "default|mit1987", profile_named, 0, ALL,
           "constants of timers: default, or mit1987 (RFC 1030's tables)"),
    NUMBER("version-byte", "N", version_byte, 0, 0, 255, ALL,
           "version in every packet when this end opens (default 2)"),
    TITLE(FILES, "Several transfers:"),
    CALL("retry", "S", option_set_retry, FILES,
         "go on after a loss of the peer or the link, trying for so many seconds, or forever"),
    TEXT("schedule", "WHEN", schedule, FILES,
         "move data in these windows of time only, as in 10:00-10:12 (UTC, each day) or 2026-11-26T10:00Z+12m; several "
         "with commas, or the name of a file with them"),
    CHOICE("hash", "blake3|sha256", "blake3|sha256", hash, HASH_BLAKE3, SEND,
           "the sum that proves that each file arrived as it was sent (default blake3)"),
    FLAG("checksum", checksum, true, RECV, "find unchanged files by content, not by size and time"),
    FLAG("resume", discard, false, FILES, "go on with what an interrupted transfer has left (default)"),
    FLAG("no-resume", discard, true, RECV, "discard what an interrupted transfer has left"),
    SIZE("part-size", "BYTES", part_size, TRANSFER_MAX_BYTES, PART_MIN_BYTES, TRANSFER_MAX_BYTES, SEND,
         "data in each of several NETBLT transfers (default 4G)"),
    TITLE(LISTEN, "What is served:"),
    TEXT("root", "DIR", root, LISTEN, "the directory that is served; names cannot lead out of it"),
    FLAG("read-only", read_only, true, LISTEN, "only send files, store none"),
    FLAG("force", force, true, LISTEN, "files that arrive may replace existing files"),
    CALL("allow", "PREFIX", option_add_allow, LISTEN,
         "serve only peers of this network, as in 10.0.0.0/8; may be repeated"),
    NUMBER("max-connections", "N", max_connections, 100, 1, 65535, LISTEN, "transfers at the same time (default 100)"),
    NUMBER("max-per-address", "N", max_per_address, 0, 0, 65535, LISTEN,
           "of these with one address; 0 = no limit (default: a quarter, at least 4)"),
    NUMBER("max-per-prefix", "N", max_per_prefix, 0, 0, 65535, LISTEN,
           "of these in one IPv4 /24 or IPv6 /64; 0 = no limit (default: half, at least 8)"),
    NUMBER("max-entries", "N", max_entries, 1000000, 1, 100000000, LISTEN,
           "files, directories and links of one transfer (default 1000000)"),
    NUMBER("min-progress", "S", min_progress_s, 30, 0, DAY_S, LISTEN,
           "a transfer without new data for so many seconds loses its place if others wait; 0 = never (default 30)"),
    NUMBER("max-idle", "S", max_idle_s, 3600, 0, DAY_S, LISTEN,
           "abort a transfer without new data after so many seconds; 0 = never (default 3600)"),
    TITLE(PERF, "What is measured:"),
    SIZE("size", "BYTES", size, UINT64_C(256) << 20, 0, TRANSFER_MAX_BYTES, PERF,
         "bytes in each transfer (default 256M)"),
    NUMBER("time", "S", time_s, 0, 1, DAY_S, PERF,
           "so many seconds instead, in as many transfers of at most 4 GiB as needed"),
    CONSTANT("reverse", 0, role, NETBLT_RECEIVER, PERF, "the passive end sends"),
    NUMBER("repeat", "N", repeat, 1, 1, 1000000, PERF, "transfers one after the other (default 1)"),
    NUMBER("parallel", "N", parallel, 1, 1, 1000, PERF, "transfers at the same time (default 1)"),
    SIZE("working-set", "BYTES", working_set, 64 << 20, 1, WORKING_SET_MAX_BYTES, PERF,
         "memory that the data of all transfers come from or go to (default 64M)"),
    NUMBER("count", "N", count, UINT64_MAX, 1, 1000000000, PERF,
           "with --passive: serve so many transfers and exit (default: until interrupted)"),
    NUMBER("interval", "S", interval_s, 0, 1, DAY_S, PERF,
           "a line each S seconds while data move (default: 1 on a terminal, else none)"),
    TITLE(ALL, "Rights:"),
    TEXT("user", "NAME[:GROUP]", user, ALL, "started as root: become this user when the sockets are open"),
    CHOICE("sandbox", "auto|require|off", "auto|require|off", sandbox, 0, ALL,
           "let the kernel confine files and system calls: where it can (default), or fail where it cannot, or not at "
           "all"),
    TITLE(ALL, "Output:"),
    FLAG("json", json, true, ALL, "the summary as JSON on stdout"),
    FLAG("json-progress", json_progress, true, FILES | LISTEN,
         "--json, and an object on stdout each second while data move"),
    FLAG("quiet", quiet, true, ALL, "errors only"),
    TEXT("pcap", "FILE", pcap_file, ALL, "write the packets sent and received for Wireshark"),
    TEXT("qlog", "FILE", qlog_file, ALL,
         "write a log of packets, timers, states and rate decisions, as JSON text sequences"),
    SHOW("help", OPTION_SHOW_HELP, "show this help"),
    SHOW("version", OPTION_SHOW_VERSION, "show the program's version"),
    SHOW("describe-options", OPTION_SHOW_OPTIONS, NULL),
};

const size_t option_table_count = sizeof option_table / sizeof *option_table;
