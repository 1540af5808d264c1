/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded into the command by test_netblt_rights.py: acts as injected code. When the command waits for
 * packets for the first time, it tries what netblt itself never does, and reports each attempt on stderr as a line
 * "probe: ATTEMPT: ERROR". */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int (*wait_for_events)(int fd, struct epoll_event *events, int most, int timeout_ms);

__attribute__((constructor)) static void find_the_call(void)
{
    *(void **)&wait_for_events = dlsym(RTLD_NEXT, "epoll_wait");
}

static void report(const char *attempt, long result)
{
    char line[300];
    int length =
        snprintf(line, sizeof line, "probe: %s: %s\n", attempt, result >= 0 ? "worked" : strerrorname_np(errno));
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        abort();
}

/* What the test names: a file to read, a file to create. */
static void try_files(void)
{
    const char *read = getenv("PROBE_READ");
    const char *create = getenv("PROBE_CREATE");
    report("read /etc/passwd", open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    if (read != NULL)
        report("read", open(read, O_RDONLY | O_CLOEXEC));
    if (create != NULL)
        report("create", open(create, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* The new process ends at once: it would go on as a second netblt that is never ended. */
static long new_process(void)
{
    const long child = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    return child;
}

static void try_calls(void)
{
    report("tcp socket", socket(AF_INET, SOCK_STREAM, 0));
    report("raw socket", socket(AF_INET, SOCK_RAW, 30));
    report("new process", new_process());
    report("become root", setuid(0));
    if (getenv("PROBE_EXECUTE") != NULL)
        report("execute", execl("/bin/true", "true", (char *)NULL));
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms)
{
    static int tried;
    if (!tried) {
        tried = 1;
        try_files();
        try_calls();
    }
    return wait_for_events(fd, events, most, timeout_ms);
}
