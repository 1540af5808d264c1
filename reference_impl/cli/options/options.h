/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line, checked: what the options of `netblt` have become. */
#ifndef NETBLT_CLI_OPTIONS_H
#define NETBLT_CLI_OPTIONS_H

#include <stdbool.h>

#include <netblt/endpoint.h>

#include "io/failure.h"
#include "io/link.h"

/* Buffers of one transfer together: enough for 3 round trips of 2 s at 1 Gb/s, and never the whole machine. */
#define BUFFER_MEMORY_MAX_BYTES (1024u * 1024 * 1024)

/* RFC 998 section 3: a transfer holds at most 2^32 bytes. */
#define TRANSFER_MAX_BYTES (UINT64_C(1) << 32)

#define ALLOW_MAX 16

enum command {
    COMMAND_SEND,
    COMMAND_RECV,
    COMMAND_LISTEN,
    COMMAND_PERF,
    COMMANDS,
};

/* Whether a received file must be on disk before the sender may know of success. */
enum sync_choice {
    SYNC_DEFAULT, /* for listen yes, else no */
    SYNC_ALWAYS,
    SYNC_NEVER,
};

/* --hash: what proves that a file arrived as it was sent. */
enum hash_choice {
    HASH_BLAKE3 = 1,
    HASH_SHA256,
};

/* --retry forever */
#define RETRY_FOREVER UINT64_MAX

/* How packets leave this host. */
enum transmit {
    TRANSMIT_SOCKET,
    TRANSMIT_SINGLE,    /* UDP: no segmented sends */
    TRANSMIT_AF_PACKET, /* raw IPv4, past the host's IP layer */
};

/* --rate. */
enum rate_choice {
    RATE_UNSAID, /* automatic, unless bursts are given */
    RATE_AUTO,
    RATE_FIXED,
};

/* What happens where the kernel, or the build, cannot confine the process (sandbox.h). */
enum sandbox {
    SANDBOX_AUTO,    /* it goes on without */
    SANDBOX_REQUIRE, /* it ends */
    SANDBOX_OFF,     /* nothing is confined */
};

/* The way to the peer as the user describes it, from which buffers are sized. */
typedef struct path_hint {
    bool given;
    double bits_per_second; /* 0 = not said: only with `measure` */
    double round_trip_s;
    bool measure; /* the round trip, before the transfer is opened */
} path_hint;

/* Addresses whose first `bits` bits are those of `address`. */
typedef struct address_prefix {
    netblt_address address;
    unsigned bits;
} address_prefix;

/* A number that the user may leave out: `value` is then the option's default, where it has one. */
typedef struct optional_number {
    bool given;
    uint64_t value;
} optional_number;

/* The command line, checked. */
typedef struct options {
    enum command command;
    enum netblt_role role; /* send, recv; perf: what the active end does */
    char **words;          /* memory of `paths` */
    char *const *paths;    /* send: what is sent; recv: the one place where it goes */
    size_t path_count;
    const char *file; /* the first of them; "-" = stdin or stdout */
    const char *host; /* NULL when passive */
    bool passive;
    enum netblt_encap encap;
    enum transmit transmit;
    enum netblt_family family;   /* that is wanted */
    netblt_address bind_address; /* empty when not given */
    optional_number port;
    optional_number udp_port;
    optional_number buffer_size;
    optional_number packet_size;
    optional_number burst_size;
    optional_number burst_interval_ms;
    optional_number max_buffers;
    optional_number death_timer_s;
    optional_number open_timeout_s;
    optional_number version_byte;
    enum rate_choice rate_named;
    enum netblt_rate rate; /* what is in force */
    path_hint path;
    bool path_memory;       /* of the end that opens: remember what the path carries (path_memory.h) */
    unsigned profile_named; /* its place among the choices */
    const netblt_profile *profile;
    bool data_checksum;
    bool beyond_4g;
    enum sync_choice sync;
    const char *client_string; /* NULL when not given */
    bool checksum;             /* recv: compare files that are there by content */
    bool discard;              /* recv: begin from the start, whatever is there of an interrupted transfer */
    enum hash_choice hash;     /* send */
    optional_number part_size; /* bytes in each NETBLT transfer of several */
    const char *schedule;      /* NULL: at any time */
    optional_number retry_s;   /* 0 when not given; RETRY_FOREVER */
    bool json;
    bool json_progress;
    bool quiet;
    const char *pcap_file; /* NULL: none */
    const char *qlog_file;
    const char *user; /* NULL: stays who it is */
    enum sandbox sandbox;

    /* listen */
    const char *root;
    bool force;
    bool read_only;
    address_prefix allow[ALLOW_MAX];
    size_t allow_count;
    optional_number max_connections;
    optional_number max_per_address; /* these two: 0 = no limit */
    optional_number max_per_prefix;
    optional_number max_entries;    /* of a tree transfer */
    optional_number min_progress_s; /* these two: 0 = never */
    optional_number max_idle_s;

    /* perf */
    optional_number size;
    optional_number time_s;
    optional_number repeat;
    optional_number parallel;
    optional_number working_set;
    optional_number count;
    optional_number interval_s;
} options;

/* What commands are called. */
extern const char *const command_names[COMMANDS];

/* `number`, or `otherwise` when the user left it out. */
static inline uint64_t options_number_or(optional_number number, uint64_t otherwise)
{
    return number.given ? number.value : otherwise;
}

#endif
