/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The relay: a flakeway for real packets between two interfaces. */
#ifndef FLAKEWAY_RELAY_H
#define FLAKEWAY_RELAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture.h"
#include "flakeway.h"

/* The driver for real packets: two interfaces of this network namespace, and the engine between them. */

enum relay_exit {
    RELAY_DONE = 0,  /* ended by a signal, after its time, or after its packets */
    RELAY_BROKE = 1, /* an interface vanished, or the capture could not be written */
    RELAY_USAGE = 2, /* it could not start */
};

enum { RELAY_LEFT = 0, RELAY_RIGHT = 1 }; /* also the direction of what enters there */

#define RELAY_TEXTS_MAX 256

/* One rule or rate from the command line, or a file of them. */
typedef struct relay_text {
    const char *option; /* "--loss" */
    const char *text;
    bool is_file;
} relay_text;

typedef struct relay_options {
    const char *interfaces[2];
    bool seed_given;
    uint64_t seed;
    uint16_t udp_port; /* 0 = none */
    bool all_ip;       /* rates apply to every IPv4 packet, not only NETBLT */
    const char *capture_path;
    uint64_t duration_us; /* 0 = no end */
    uint64_t max_packets; /* 0 = no end */
    bool json;
    relay_text texts[RELAY_TEXTS_MAX]; /* in the order given */
    size_t text_count;
} relay_options;

/* Reads the command line. -1 = go on; else the program's exit code, everything having been said. */
int relay_read_options(relay_options *options, int argc, char **argv);
/* Gives the rules and rates to the engine. false after saying what was wrong. */
bool relay_apply_texts(const relay_options *options, flakeway *engine);

typedef struct relay_socket {
    const char *name; /* of the interface */
    int fd;
    unsigned index;
    uint64_t kernel_drops;    /* frames that the kernel dropped because the relay was too slow */
    uint64_t longest_wait_ns; /* of a frame in the kernel, before the relay read it */
    uint64_t send_failures;
    uint64_t too_long; /* of these: frames longer than the interface takes */
} relay_socket;

/* Opens a raw socket on an interface. false after saying what was wrong. */
bool relay_socket_open(relay_socket *s, const char *option, const char *interface);
void relay_socket_close(relay_socket *s);
/* Whether the interface is still there. */
bool relay_socket_alive(const relay_socket *s);
/* Sends a frame after its virtio_net_hdr (linux/virtio_net.h), which may be NULL. Counts failures. */
void relay_socket_send(relay_socket *s, const void *offload, const uint8_t *frame, size_t length);
/* Adds what the kernel has dropped since the last call. */
void relay_socket_count_drops(relay_socket *s);

typedef struct relay {
    const relay_options *options;
    flakeway *engine;
    flakeway_capture capture;
    FILE *capture_file;
    relay_socket sockets[2];
    int signals;            /* signalfd */
    uint64_t start_ns;      /* monotonic clock */
    uint64_t start_real_ns; /* the same moment since 1970 */
    uint64_t netblt_packets;
    uint64_t other_frames[2];
    uint64_t flushed_us;
    bool over;
    enum relay_exit exit;
    struct relay_batch *batch;
} relay;

/* Runs until it is over. */
void relay_run(relay *r);
/* Statistics to stdout. */
void relay_report(const relay *r);

#endif
