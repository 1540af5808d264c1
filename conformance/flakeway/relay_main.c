/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flakeway: the bad network between two interfaces. See docs/flakeway.md. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "relay.h"

#define CAPTURE_BUFFER_BYTES (1 << 20)
#define DRAWN_SEED_BITS 32 /* short enough to be typed again */

static uint64_t draw_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30;
    }
    return seed & ((1ull << DRAWN_SEED_BITS) - 1);
}

/* Signals are read from a descriptor, so that none is missed however busy the relay is. */
static int take_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool open_capture(relay *r)
{
    const char *path = r->options->capture_path;
    pcapng_writer *writer = NULL;
    if (path) {
        r->capture_file = fopen(path, "wbe");
        if (!r->capture_file) {
            fprintf(stderr, "flakeway: --capture %s: %s\n", path, strerror(errno));
            return false;
        }
        setvbuf(r->capture_file, NULL, _IOFBF, CAPTURE_BUFFER_BYTES);
        writer = pcapng_new(r->capture_file, "flakeway");
        if (!writer) {
            fprintf(stderr, "flakeway: no memory\n");
            return false;
        }
    }
    flakeway_capture_begin(&r->capture, r->engine, writer);
    return true;
}

static void close_capture(relay *r)
{
    if (!r->capture_file)
        return;
    pcapng_flush(r->capture.writer);
    int problem = pcapng_error(r->capture.writer);
    if (fclose(r->capture_file) != 0 && !problem)
        problem = errno;
    if (problem) {
        fprintf(stderr, "flakeway: --capture %s: %s; what is there is incomplete\n", r->options->capture_path,
                strerror(problem));
        r->exit = RELAY_BROKE;
    }
    r->capture_file = NULL;
}

static bool start(relay *r)
{
    struct timespec real;
    struct timespec monotonic;
    if (!relay_apply_texts(r->options, r->engine) ||
        !relay_socket_open(&r->sockets[RELAY_LEFT], "left", r->options->interfaces[RELAY_LEFT]) ||
        !relay_socket_open(&r->sockets[RELAY_RIGHT], "right", r->options->interfaces[RELAY_RIGHT]) || !open_capture(r))
        return false;
    r->signals = take_signals();
    if (r->signals < 0) {
        fprintf(stderr, "flakeway: %s\n", strerror(errno));
        return false;
    }
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul); /* delays are kept to some 50 us, not rounded up */
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    clock_gettime(CLOCK_REALTIME, &real);
    r->start_ns = (uint64_t)monotonic.tv_sec * 1000000000u + (uint64_t)monotonic.tv_nsec;
    r->start_real_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
    printf("flakeway: seed %" PRIu64 "\nflakeway: ready\n", flakeway_seed(r->engine));
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    static relay_options options;
    int early = relay_read_options(&options, argc, argv);
    if (early >= 0)
        return early;
    relay r = {.options = &options, .sockets = {{.fd = -1}, {.fd = -1}}, .signals = -1, .exit = RELAY_DONE};
    r.engine = flakeway_new(options.seed_given ? options.seed : draw_seed());
    if (!r.engine) {
        fprintf(stderr, "flakeway: no memory\n");
        return RELAY_USAGE;
    }
    if (start(&r)) {
        relay_run(&r);
        for (unsigned side = 0; side < 2; side++)
            relay_socket_count_drops(&r.sockets[side]);
        close_capture(&r);
        relay_report(&r);
    } else {
        r.exit = RELAY_USAGE;
    }
    pcapng_free(r.capture.writer);
    relay_socket_close(&r.sockets[RELAY_LEFT]);
    relay_socket_close(&r.sockets[RELAY_RIGHT]);
    flakeway_free(r.engine);
    return (int)r.exit;
}
