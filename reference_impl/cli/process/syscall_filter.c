/* SPDX-License-Identifier: BSD-2-Clause */
/* The system calls that moving data needs, and nothing else: see sandbox.h.
 *
 * A call that is not listed fails with ENOSYS, as on a kernel that does not have it: the C library then falls back to
 * an older call where there is one, so that a newer C library than the one this was written for does not break
 * transfers. Calls that only injected code makes (running a program, looking into other processes) end the process at
 * once, which the kernel logs: there is nothing to fall back to, and no reason to let such code try something else. */
#include "cli/process/sandbox.h"

#include <errno.h>

#ifdef NETBLT_HAVE_SECCOMP

#include <linux/netlink.h>
#include <net/if.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Names, not numbers: a call that this architecture, or libseccomp, does not know is left out. */
static const char allowed[] =
    /* memory, time, the process itself */
    "brk munmap mremap madvise futex futex_time64 rseq set_robust_list getpid gettid getuid geteuid "
    "getgid getegid getrusage getrandom sched_yield restart_syscall exit exit_group rt_sigaction "
    "rt_sigprocmask rt_sigreturn sigreturn clock_gettime clock_gettime64 clock_nanosleep "
    "clock_nanosleep_time64 clock_getres nanosleep gettimeofday time "
    /* the event loop */
    "epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd2 timerfd_settime timerfd_settime64 poll ppoll "
    "ppoll_time64 "
    /* sockets that are there */
    "bind connect getsockname getsockopt setsockopt sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg "
    "recvmmsg_time64 "
    /* files: what they may reach is Landlock's to decide */
    "read readv pread64 preadv write writev pwrite64 pwritev lseek _llseek close open openat openat2 dup "
    "fcntl fcntl64 flock stat fstat lstat stat64 fstat64 lstat64 newfstatat fstatat64 statx fstatfs "
    "access faccessat faccessat2 readlink readlinkat umask fchmod fchmodat fchmodat2 ftruncate ftruncate64 "
    "fallocate fsync fdatasync syncfs sync_file_range link linkat rename renameat renameat2 unlink unlinkat "
    "mkdirat symlinkat rmdir utimensat utimensat_time64 getdents64 copy_file_range fadvise64 fadvise64_64 "
    "posix_fadvise memfd_create ";

static const char fatal[] =
    "execve execveat ptrace process_vm_readv process_vm_writev pidfd_getfd bpf init_module finit_module "
    "mount pivot_root chroot userfaultfd keyctl kexec_load unshare setns open_by_handle_at "
    "perf_event_open io_uring_setup ";

/* Adds one rule for a call by its name. 0, or an errno value. */
static int add(scmp_filter_ctx filter, uint32_t action, const char *name, unsigned count,
               const struct scmp_arg_cmp *arguments)
{
    int number = seccomp_syscall_resolve_name(name);
    int error = number == __NR_SCMP_ERROR ? 0 : seccomp_rule_add_array(filter, action, number, count, arguments);
    /* A number below zero is a call of another architecture. */
    return error == 0 || number < 0 ? 0 : -error;
}

static int add_all(scmp_filter_ctx filter, uint32_t action, const char *names)
{
    char name[32];
    int error = 0;
    int used;
    for (; error == 0 && sscanf(names, "%31s%n", name, &used) == 1; names += used)
        error = add(filter, action, name, 0, NULL);
    return error;
}

#define SOCKET_TYPE_MASK 0xf /* above are SOCK_CLOEXEC and SOCK_NONBLOCK */
#define THREAD_FLAGS (CLONE_VM | CLONE_THREAD)
#define NOT_EXECUTABLE SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)
#define DATAGRAMS SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE_MASK, SOCK_DGRAM)

/* Calls that are allowed with some arguments only. */
static int add_restricted(scmp_filter_ctx filter, bool raw_ip)
{
    const struct {
        const char *name;
        bool for_raw_ip;
        unsigned count;
        struct scmp_arg_cmp arguments[2];
    } rules[] = {
        /* data stays data: no memory becomes code */
        {"mmap", false, 1, {NOT_EXECUTABLE}},
        {"mmap2", false, 1, {NOT_EXECUTABLE}},
        {"mprotect", false, 1, {NOT_EXECUTABLE}},
        /* The threads that write files, and no process. clone3() hides its flags from a filter: where it is missing,
         * the C library takes clone(). */
        {"clone", false, 1, {SCMP_A0(SCMP_CMP_MASKED_EQ, THREAD_FLAGS, THREAD_FLAGS)}},
        /* the terminal's width, names of interfaces in link-local addresses */
        {"ioctl", false, 1, {SCMP_A1(SCMP_CMP_EQ, TIOCGWINSZ, 0)}},
        {"ioctl", false, 1, {SCMP_A1(SCMP_CMP_EQ, TCGETS, 0)}},
        {"ioctl", false, 1, {SCMP_A1(SCMP_CMP_EQ, SIOCGIFNAME, 0)}},
        {"ioctl", false, 1, {SCMP_A1(SCMP_CMP_EQ, SIOCGIFINDEX, 0)}},
        /* UDP sockets look up routes, Unix ones names of interfaces */
        {"socket", false, 2, {SCMP_A0(SCMP_CMP_EQ, AF_INET, 0), DATAGRAMS}},
        {"socket", false, 2, {SCMP_A0(SCMP_CMP_EQ, AF_INET6, 0), DATAGRAMS}},
        {"socket", false, 2, {SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0), DATAGRAMS}},
        /* the kernel lists claims on ports (io/claim_names.c), and neighbours for a packet socket (io/neighbour.c) */
        {"socket", true, 2, {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0), SCMP_A2(SCMP_CMP_EQ, NETLINK_SOCK_DIAG, 0)}},
        {"socket", true, 2, {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0), SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE, 0)}},
        /* abort() signals the process itself */
        {"tgkill", false, 1, {SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0)}},
    };
    int error = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && error == 0; i++)
        if (raw_ip || !rules[i].for_raw_ip)
            error = add(filter, SCMP_ACT_ALLOW, rules[i].name, rules[i].count, rules[i].arguments);
    return error;
}

static int fill(scmp_filter_ctx filter, bool raw_ip)
{
    int error = add_all(filter, SCMP_ACT_ALLOW, allowed);
    if (error == 0)
        error = add_all(filter, SCMP_ACT_KILL_PROCESS, fatal);
    return error == 0 ? add_restricted(filter, raw_ip) : error;
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
