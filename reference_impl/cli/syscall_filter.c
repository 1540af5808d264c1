/* SPDX-License-Identifier: BSD-2-Clause */
/* The system calls that moving data needs, and nothing else: see syscall_filter.h.
 *
 * A call that is not listed fails with ENOSYS, as on a kernel that does not have it: the C library then falls back to
 * an older call where there is one, so that a newer C library than the one this was written for does not break
 * transfers. Calls that only injected code makes (running a program, looking into other processes) end the process at
 * once, which the kernel logs: there is nothing to fall back to, and no reason to let such code try something else. */
#include "cli/syscall_filter.h"

#include <errno.h>

#ifdef NETBLT_HAVE_SECCOMP

#include <linux/netlink.h>
#include <net/if.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Names, not numbers: a call that this architecture, or libseccomp, does not know is left out. */
static const char *const allowed[] = {
    /* memory, time, the process itself */
    "brk",
    "munmap",
    "mremap",
    "madvise",
    "futex",
    "futex_time64",
    "rseq",
    "set_robust_list",
    "getpid",
    "gettid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getrusage",
    "getrandom",
    "sched_yield",
    "restart_syscall",
    "exit",
    "exit_group",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sigreturn",
    "clock_gettime",
    "clock_gettime64",
    "clock_nanosleep",
    "clock_nanosleep_time64",
    "clock_getres",
    "nanosleep",
    "gettimeofday",
    "time",
    /* the event loop */
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "timerfd_settime",
    "timerfd_settime64",
    "poll",
    "ppoll",
    "ppoll_time64",
    /* sockets that are there */
    "bind",
    "connect",
    "getsockname",
    "getsockopt",
    "setsockopt",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "recvmmsg_time64",
    /* files: what they may reach is Landlock's to decide */
    "read",
    "readv",
    "pread64",
    "preadv",
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "lseek",
    "_llseek",
    "close",
    "open",
    "openat",
    "openat2",
    "dup",
    "fcntl",
    "fcntl64",
    "flock",
    "stat",
    "fstat",
    "lstat",
    "stat64",
    "fstat64",
    "lstat64",
    "newfstatat",
    "fstatat64",
    "statx",
    "fstatfs",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "umask",
    "fchmod",
    "ftruncate",
    "ftruncate64",
    "fallocate",
    "fsync",
    "fdatasync",
    "syncfs",
    "sync_file_range",
    "link",
    "linkat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
};

static const char *const fatal[] = {
    "execve",
    "execveat",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "pidfd_getfd",
    "bpf",
    "init_module",
    "finit_module",
    "mount",
    "pivot_root",
    "chroot",
    "userfaultfd",
    "keyctl",
    "kexec_load",
    "unshare",
    "setns",
    "open_by_handle_at",
    "perf_event_open",
    "io_uring_setup",
};

/* Adds one rule for a call by its name. 0, or an errno value. */
static int add(scmp_filter_ctx filter, uint32_t action, const char *name, unsigned count,
               const struct scmp_arg_cmp *arguments)
{
    int number = seccomp_syscall_resolve_name(name);
    int error = number == __NR_SCMP_ERROR ? 0 : seccomp_rule_add_array(filter, action, number, count, arguments);

    /* A number below zero is a call of another architecture. */
    return error == 0 || number < 0 ? 0 : -error;
}

static int add_all(scmp_filter_ctx filter, uint32_t action, const char *const *names, size_t count)
{
    int error = 0;

    for (size_t i = 0; i < count && error == 0; i++)
        error = add(filter, action, names[i], 0, NULL);
    return error;
}

/* Data stays data: no memory becomes code. */
static int add_memory(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    static const char *const names[] = {"mmap", "mmap2", "mprotect"};
    int error = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names && error == 0; i++)
        error = add(filter, SCMP_ACT_ALLOW, names[i], 1, &not_executable);
    return error;
}

/* The terminal's width, names of interfaces in link-local addresses. */
static int add_ioctl(scmp_filter_ctx filter)
{
    static const unsigned long requests[] = {TIOCGWINSZ, TCGETS, SIOCGIFNAME, SIOCGIFINDEX};
    int error = 0;

    for (size_t i = 0; i < sizeof requests / sizeof *requests && error == 0; i++) {
        const struct scmp_arg_cmp request = SCMP_A1(SCMP_CMP_EQ, requests[i]);

        error = add(filter, SCMP_ACT_ALLOW, "ioctl", 1, &request);
    }
    return error;
}

/* The threads that write files, and no process. clone3() hides its flags from a filter: where it is missing, the C
 * library takes clone(). */
static int add_threads(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_VM | CLONE_THREAD, CLONE_VM | CLONE_THREAD);

    return add(filter, SCMP_ACT_ALLOW, "clone", 1, &thread);
}

#define SOCKET_TYPE_MASK 0xf /* above are SOCK_CLOEXEC and SOCK_NONBLOCK */

/* UDP sockets look up routes, Unix ones names of interfaces. */
static int add_sockets(scmp_filter_ctx filter)
{
    static const int families[] = {AF_INET, AF_INET6, AF_UNIX};
    int error = 0;

    for (size_t i = 0; i < sizeof families / sizeof *families && error == 0; i++) {
        const struct scmp_arg_cmp arguments[] = {
            SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i]),
            SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE_MASK, SOCK_DGRAM),
        };

        error = add(filter, SCMP_ACT_ALLOW, "socket", 2, arguments);
    }
    return error;
}

/* The kernel lists claims on ports (io/claim_names.c), and neighbours for a packet socket (io/neighbour.c). */
static int add_netlink(scmp_filter_ctx filter)
{
    static const int protocols[] = {NETLINK_SOCK_DIAG, NETLINK_ROUTE};
    int error = 0;

    for (size_t i = 0; i < sizeof protocols / sizeof *protocols && error == 0; i++) {
        const struct scmp_arg_cmp arguments[] = {
            SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
            SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)protocols[i]),
        };

        error = add(filter, SCMP_ACT_ALLOW, "socket", 2, arguments);
    }
    return error;
}

/* abort() signals the process itself. */
static int add_abort(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp self = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid());

    return add(filter, SCMP_ACT_ALLOW, "tgkill", 1, &self);
}

static int fill(scmp_filter_ctx filter, bool raw_ip)
{
    int error = add_all(filter, SCMP_ACT_ALLOW, allowed, sizeof allowed / sizeof *allowed);

    if (error == 0)
        error = add_all(filter, SCMP_ACT_KILL_PROCESS, fatal, sizeof fatal / sizeof *fatal);
    if (error == 0)
        error = add_memory(filter);
    if (error == 0)
        error = add_threads(filter);
    if (error == 0)
        error = add_ioctl(filter);
    if (error == 0)
        error = add_sockets(filter);
    if (error == 0 && raw_ip)
        error = add_netlink(filter);
    return error == 0 ? add_abort(filter) : error;
}

bool syscall_filter_is_built(void)
{
    return true;
}

int syscall_filter_install(bool raw_ip)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int error;

    if (filter == NULL)
        return ENOMEM;
    /* A binary tree, so that no call pays for all others; older versions of libseccomp cannot. */
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    (void)seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1); /* errno values as they are */
    error = fill(filter, raw_ip);
    if (error == 0)
        error = -seccomp_load(filter);
    seccomp_release(filter);
    return error;
}

#else

bool syscall_filter_is_built(void)
{
    return false;
}

int syscall_filter_install(bool raw_ip)
{
    (void)raw_ip;
    return EOPNOTSUPP;
}

#endif
