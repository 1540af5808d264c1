/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/signals.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* A signal that was ignored when we started (nohup, a shell's background job) stays ignored. */
static void add_unless_ignored(sigset_t *set, int signal_number)
{
    struct sigaction action;

    if (sigaction(signal_number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        sigaddset(set, signal_number);
}

int signals_open(void)
{
    sigset_t set;

    sigemptyset(&set);
    add_unless_ignored(&set, SIGINT);
    add_unless_ignored(&set, SIGTERM);
    add_unless_ignored(&set, SIGHUP);
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
        sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

unsigned signals_take(int fd)
{
    struct signalfd_siginfo info;
    unsigned count = 0;

    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        count++;
    return count;
}
