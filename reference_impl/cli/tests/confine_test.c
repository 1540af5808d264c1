/* SPDX-License-Identifier: BSD-2-Clause */
/* What a confined process can and cannot do: each attempt in a child process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "cli/process/sandbox.h"

#define SKIPPED 77

/* An attempt returns 0 when it worked, else an errno value. */
typedef int attempt(void);

static int result_of(long returned)
{
    return returned >= 0 ? 0 : errno;
}

/* How the child ended: 0 or an errno value, or minus the signal that killed it. */
static int try_in_child(void (*restriction)(void), attempt *what)
{
    pid_t child = fork();
    int status = 0;
    CHECK(child >= 0);
    if (child == 0) {
        restriction();
        _exit(what());
    }
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void must(bool worked)
{
    if (!worked)
        _exit(255);
}

/* ---- system calls ---------------------------------------------------------------------------------------------- */

static void filter_for_udp(void)
{
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall_filter_install(false) == 0);
}

static void filter_for_raw_ip(void)
{
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall_filter_install(true) == 0);
}

static int run_a_program(void)
{
    char *const words[] = {(char *)"true", NULL};
    return result_of(execve("/bin/true", words, NULL));
}

static int trace_the_parent(void)
{
    return result_of(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int open_a_tcp_socket(void)
{
    return result_of(socket(AF_INET, SOCK_STREAM, 0));
}

static int open_a_raw_socket(void)
{
    return result_of(socket(AF_INET, SOCK_RAW, 30));
}

static int open_a_packet_socket(void)
{
    return result_of(socket(AF_PACKET, SOCK_DGRAM, 0));
}

static int list_sockets(void)
{
    return result_of(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
}

static int watch_the_kernel(void)
{
    return result_of(socket(AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT));
}

static int make_a_process(void)
{
    return result_of(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static int signal_the_parent(void)
{
    return result_of(kill(getppid(), 0));
}

static int change_the_user(void)
{
    return result_of(setuid(getuid()));
}

static int make_code(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(memory != MAP_FAILED);
    return result_of(mprotect(memory, 4096, PROT_READ | PROT_EXEC));
}

static int do_what_transfers_do(void)
{
    const struct timespec moment = {.tv_nsec = 1000};
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char byte = 0;
    int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int claim = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    void *memory = malloc((size_t)1 << 24);
    bool worked = probe >= 0 && claim >= 0 && memory != NULL &&
                  connect(probe, (struct sockaddr *)&peer, sizeof peer) == 0 && getrandom(&byte, 1, 0) == 1 &&
                  clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL) == 0 && close(probe) == 0;
    free(memory);
    return worked ? 0 : errno;
}

static void forbidden_calls_fail_or_end_the_process(void)
{
    CHECK(try_in_child(filter_for_udp, run_a_program) == -SIGSYS);
    CHECK(try_in_child(filter_for_udp, trace_the_parent) == -SIGSYS);
    CHECK(try_in_child(filter_for_udp, open_a_tcp_socket) == ENOSYS);
    CHECK(try_in_child(filter_for_udp, open_a_raw_socket) == ENOSYS);
    CHECK(try_in_child(filter_for_udp, open_a_packet_socket) == ENOSYS);
    CHECK(try_in_child(filter_for_udp, list_sockets) == ENOSYS);
    CHECK(try_in_child(filter_for_udp, make_a_process) == ENOSYS);
    CHECK(try_in_child(filter_for_udp, signal_the_parent) == ENOSYS);
    CHECK(try_in_child(filter_for_udp, change_the_user) == ENOSYS);
    CHECK(try_in_child(filter_for_udp, make_code) == ENOSYS);
}

static void raw_ip_may_list_sockets_and_nothing_else_of_netlink(void)
{
    CHECK(try_in_child(filter_for_raw_ip, list_sockets) == 0);
    CHECK(try_in_child(filter_for_raw_ip, watch_the_kernel) == ENOSYS);
    CHECK(try_in_child(filter_for_raw_ip, open_a_raw_socket) == ENOSYS);
}

static void calls_of_transfers_work(void)
{
    CHECK(try_in_child(filter_for_udp, do_what_transfers_do) == 0);
    CHECK(try_in_child(filter_for_raw_ip, do_what_transfers_do) == 0);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* Two directories, each with a file `old`, and a link in the first to the other's file. */
static char inside[] = "/tmp/confine_test.XXXXXX";
static char outside[] = "/tmp/confine_test.XXXXXX";
static int inside_fd = -1;

static void make_file_in(const char *directory, const char *name)
{
    char path[200];
    int fd;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
}

static void make_directories(void)
{
    char path[200];
    CHECK(mkdtemp(inside) != NULL && mkdtemp(outside) != NULL);
    make_file_in(inside, "old");
    make_file_in(outside, "old");
    inside_fd = open(inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "%s/old", outside);
    CHECK(inside_fd >= 0 && symlinkat(path, inside_fd, "link") == 0);
}

static void remove_directories(void)
{
    static const char *const names[] = {"old", "link", "new"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unlinkat(inside_fd, names[i], 0);
    close(inside_fd);
    CHECK(rmdir(inside) == 0 && chdir(outside) == 0 && unlink("old") == 0 && rmdir(outside) == 0);
}

static void restrict_or_end(int fd, bool writable)
{
    const sandbox_files reached = {.fds = &fd, .count = fd >= 0, .writable = writable};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && landlock_restrict_to(&reached) == 0);
}

static void restrict_to_writing(void)
{
    restrict_or_end(inside_fd, true);
}

static void restrict_to_reading(void)
{
    restrict_or_end(inside_fd, false);
}

static void restrict_to_two_files(void)
{
    char path[200];
    int fds[2] = {openat(inside_fd, "old", O_PATH | O_CLOEXEC), -1};
    const sandbox_files reached = {.fds = fds, .count = 2};
    snprintf(path, sizeof path, "%s/old", outside);
    fds[1] = open(path, O_PATH | O_CLOEXEC);
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && landlock_restrict_to(&reached) == 0);
}

static void restrict_to_nothing(void)
{
    restrict_or_end(-1, true);
}

static int read_inside(void)
{
    return result_of(openat(inside_fd, "old", O_RDONLY | O_CLOEXEC));
}

static int list_inside(void)
{
    return result_of(openat(inside_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int read_through_the_link(void)
{
    return result_of(openat(inside_fd, "link", O_RDONLY | O_CLOEXEC));
}

static int read_outside(void)
{
    return result_of(chdir(outside) == 0 ? open("old", O_RDONLY | O_CLOEXEC) : -1);
}

static int write_inside(void)
{
    return result_of(openat(inside_fd, "old", O_WRONLY | O_CLOEXEC));
}

static int remove_outside(void)
{
    return result_of(chdir(outside) == 0 ? unlink("old") : -1);
}

/* As a receiver does: a file without a name gets one, then gives way to another. */
static int store_inside(void)
{
    char own[40];
    int fd = openat(inside_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    if (fd < 0 || linkat(AT_FDCWD, own, inside_fd, "new", AT_SYMLINK_FOLLOW) != 0 ||
        renameat(inside_fd, "new", inside_fd, "old") != 0)
        return errno;
    fd = openat(inside_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return result_of(fd < 0 ? -1 : fsync(fd));
}

/* As the receiver of a tree does. */
static int store_a_tree_inside(void)
{
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};
    int fd;
    if (mkdirat(inside_fd, "partial", 0700) != 0 || mkdirat(inside_fd, "directory", 0700) != 0)
        return errno;
    fd = openat(inside_fd, "partial/0", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1 || fchmod(fd, 0640) != 0 || futimens(fd, times) != 0 ||
        renameat(inside_fd, "partial/0", inside_fd, "directory/file") != 0 ||
        symlinkat("file", inside_fd, "directory/link") != 0 ||
        utimensat(inside_fd, "directory/link", times, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    if (unlinkat(inside_fd, "directory/link", 0) != 0 || unlinkat(inside_fd, "directory/file", 0) != 0 ||
        unlinkat(inside_fd, "directory", AT_REMOVEDIR) != 0 || unlinkat(inside_fd, "partial", AT_REMOVEDIR) != 0)
        return errno;
    return 0;
}

static int make_a_directory_outside(void)
{
    return result_of(chdir(outside) == 0 ? mkdir("directory", 0700) : -1);
}

static int make_a_device_inside(void)
{
    return result_of(mknodat(inside_fd, "fifo", S_IFIFO | 0600, 0));
}

static void files_are_reached_beneath_the_directory_only(void)
{
    CHECK(try_in_child(restrict_to_writing, read_inside) == 0);
    CHECK(try_in_child(restrict_to_writing, write_inside) == 0);
    CHECK(try_in_child(restrict_to_writing, store_inside) == 0);
    CHECK(try_in_child(restrict_to_writing, read_outside) == EACCES);
    CHECK(try_in_child(restrict_to_writing, read_through_the_link) == EACCES);
    CHECK(try_in_child(restrict_to_writing, remove_outside) == EACCES);
    if (landlock_version() >= LANDLOCK_RENAMES)
        CHECK(try_in_child(restrict_to_writing, store_a_tree_inside) == 0);
    CHECK(try_in_child(restrict_to_writing, make_a_directory_outside) == EACCES);
    CHECK(try_in_child(restrict_to_writing, make_a_device_inside) == EACCES);
}

static void what_is_only_read_is_not_written(void)
{
    CHECK(try_in_child(restrict_to_reading, read_inside) == 0);
    CHECK(try_in_child(restrict_to_reading, write_inside) == EACCES);
    CHECK(try_in_child(restrict_to_reading, store_inside) == EACCES);
    CHECK(try_in_child(restrict_to_nothing, read_inside) == EACCES);
}

static void calls_of_tree_transfers_work(void)
{
    CHECK(try_in_child(filter_for_udp, store_inside) == 0);
    CHECK(try_in_child(filter_for_udp, store_a_tree_inside) == 0);
    CHECK(try_in_child(filter_for_udp, list_inside) == 0);
}

static void single_files_are_read(void)
{
    CHECK(try_in_child(restrict_to_two_files, read_inside) == 0);
    CHECK(try_in_child(restrict_to_two_files, read_outside) == 0);
    CHECK(try_in_child(restrict_to_two_files, list_inside) == EACCES);
    CHECK(try_in_child(restrict_to_two_files, write_inside) == EACCES);
}

int main(void)
{
    if (landlock_version() == 0 || !syscall_filter_is_built()) {
        puts("skipped: this kernel has no Landlock, or this build no libseccomp");
        return SKIPPED;
    }
    RUN(forbidden_calls_fail_or_end_the_process);
    RUN(raw_ip_may_list_sockets_and_nothing_else_of_netlink);
    RUN(calls_of_transfers_work);
    make_directories();
    RUN(files_are_reached_beneath_the_directory_only);
    RUN(what_is_only_read_is_not_written);
    RUN(calls_of_tree_transfers_work);
    RUN(single_files_are_read);
    remove_directories();
    return 0;
}
