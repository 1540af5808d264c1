/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_OPTIONS_H
#define NETBLT_CLI_OPTIONS_H

#include <stdbool.h>

#include <netblt/params.h>

#include "cli/number.h"
#include "io/link.h"

#define NETBLT_PORT_DEFAULT 1

/* Buffers of one transfer together: enough for 3 round trips of 2 s at 1 Gb/s, and never the whole machine. */
#define BUFFER_MEMORY_MAX_BYTES (1024u * 1024 * 1024)

/* The command line, checked. */
typedef struct options {
    enum netblt_role role;
    const char *file; /* "-" = stdin or stdout */
    const char *host; /* NULL when passive */
    bool passive;
    enum netblt_encap encap;
    struct in_addr bind_address; /* INADDR_ANY when not given */
    optional_number port;
    optional_number udp_port;
    optional_number buffer_size;
    optional_number packet_size;
    optional_number burst_size;
    optional_number burst_interval_ms;
    optional_number max_buffers;
    optional_number death_timer_s;
    optional_number version_byte;
    bool data_checksum;
    const char *client_string;
    bool json;
    bool quiet;
} options;

enum options_result {
    OPTIONS_RUN,   /* do the transfer */
    OPTIONS_SHOWN, /* --help or --version: nothing more to do */
    OPTIONS_WRONG, /* *failure says what */
};

/* Strings stay those of argv. `json` is set as soon as it is seen, so that even a wrong command line gets its JSON. */
enum options_result options_parse(int argc, char **argv, options *parsed, netblt_failure *failure);

/* The NETBLT port and the UDP port to use, given or default. */
uint16_t options_port(const options *given);
uint16_t options_udp_port(const options *given);

#endif
