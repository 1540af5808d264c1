/* SPDX-License-Identifier: BSD-2-Clause */
/* The one policy for SIGINT, SIGTERM and SIGHUP: see signals.h. */
#include "cli/process/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/report/report.h"

static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
#define WATCHED_COUNT (sizeof watched / sizeof *watched)

/* A signal that was ignored when we started (nohup, a shell's background job) stays ignored. */
static bool is_ignored(int signal_number)
{
    struct sigaction action;
    return sigaction(signal_number, NULL, &action) != 0 || action.sa_handler == SIG_IGN;
}

/* ---- before signals are watched --------------------------------------------------------------------------------- */

static const char *early_line;
static const char *early_object;
static const char *volatile early_file;

static void write_text(int fd, const char *text)
{
    if (text != NULL && write(fd, text, strlen(text)) < 0)
        return; /* nothing to be done about it */
}

static void end_early(int signal_number)
{
    (void)signal_number;
    if (early_file != NULL)
        unlink(early_file);
    write_text(STDERR_FILENO, early_line);
    write_text(STDOUT_FILENO, early_object);
    _exit(EXIT_CODE_INTERRUPTED);
}

void signals_catch_early(const char *line, const char *object)
{
    struct sigaction action = {.sa_handler = end_early};
    early_line = line;
    early_object = object;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < WATCHED_COUNT; i++)
        if (!is_ignored(watched[i]))
            sigaction(watched[i], &action, NULL);
}

void signals_remove_early(const char *path)
{
    early_file = path;
}

/* ---- from then on ------------------------------------------------------------------------------------------------ */

static void interrupt(signals *watch)
{
    enum interruption result = INTERRUPTION_NOBODY;
    if (++watch->count <= 2)
        result = watch->ask(watch->context, watch->count > 1);
    if (result == INTERRUPTION_NOBODY)
        watch->leave = true;
    else if (result == INTERRUPTION_ASKED && watch->count == 1)
        report_note("interrupted: asking %s to stop; interrupt again to abort", watch->peers);
}

static void take(void *context, uint32_t events)
{
    signals *watch = context;
    struct signalfd_siginfo info;
    (void)events;
    while (read(watch->fd, &info, sizeof info) == (ssize_t)sizeof info)
        interrupt(watch);
}

static int open_descriptor(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < WATCHED_COUNT; i++)
        if (!is_ignored(watched[i]))
            sigaddset(&set, watched[i]);
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
        sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int signals_watch(signals *watch, netblt_loop *loop, netblt_failure *failure)
{
    int error;
    watch->fd = open_descriptor();
    error = watch->fd < 0 ? -errno : netblt_loop_watch(loop, watch->fd, EPOLLIN, take, watch);
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot wait for signals: %s", strerror(-error));
    return 0;
}

void signals_close(signals *watch)
{
    if (watch->fd >= 0)
        close(watch->fd);
}
