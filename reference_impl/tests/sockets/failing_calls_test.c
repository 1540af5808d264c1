/* SPDX-License-Identifier: BSD-2-Clause */
/* What the I/O layer does when the kernel fails a call or memory is short. Calls of our own in front of the C library's
 * fail where a test requires it, and replace sockets that need privileges. */
#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "io/driver.h"
#include "io/link_state.h"
#include "io/neighbour.h"

#define PORT 4000
#define OTHER_PORT 4001

/* ---- the kernel that the I/O layer sees ------------------------------------------------------------------------ */

static struct {
    bool no_memory;             /* malloc() fails */
    int send_error;             /* what sendmmsg() fails with; 0 = it works */
    unsigned interrupted_reads; /* so many calls of recv() fail with EINTR */
    unsigned filter_steps;      /* length of the newest filter program */
} kernel;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return kernel.no_memory ? NULL : __real_malloc(bytes);
}

/* A datagram socket in place of each one that needs privileges. */
int socket(int domain, int type, int protocol)
{
    int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    if ((kind == SOCK_RAW && domain != AF_NETLINK) || domain == AF_PACKET)
        return (int)syscall(SYS_socket, AF_INET, (type & ~kind) | SOCK_DGRAM, 0);
    return (int)syscall(SYS_socket, domain, type, protocol);
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
    if (level == IPPROTO_IP && option == IP_HDRINCL)
        return 0;
    if (level == SOL_SOCKET && option == SO_ATTACH_FILTER)
        kernel.filter_steps = ((const struct sock_fprog *)value)->len;
    return (int)syscall(SYS_setsockopt, fd, level, option, value, length);
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    if (kernel.send_error != 0) {
        errno = kernel.send_error;
        return -1;
    }
    return (int)syscall(SYS_sendmmsg, fd, messages, count, flags);
}

ssize_t recv(int fd, void *bytes, size_t length, int flags)
{
    if (kernel.interrupted_reads > 0) {
        kernel.interrupted_reads--;
        errno = EINTR;
        return -1;
    }
    return syscall(SYS_recvfrom, fd, bytes, length, flags, NULL, NULL);
}

/* ---- a process with one link ----------------------------------------------------------------------------------- */

static netblt_failure failure;
static netblt_loop *loop;
static netblt_link *link_;
static netblt_endpoint *endpoint;
static netblt_driver *driver;
static netblt_address host;

static void ignore_error(void *context, const netblt_network_error *error)
{
    (void)context;
    (void)error;
}

static void begin(void)
{
    const struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
    netblt_config config;
    memset(&kernel, 0, sizeof kernel);
    host = netblt_address_of_ipv4(loopback);
    netblt_config_default(&config);
    endpoint = netblt_endpoint_new(&config);
    CHECK(endpoint != NULL);
    loop = netblt_loop_new();
    CHECK(loop != NULL);
    link_ = netblt_link_open(NETBLT_ENCAP_IP, NETBLT_FAMILY_IPV4, &failure);
    CHECK(link_ != NULL);
    driver = netblt_driver_new(loop, link_, endpoint, ignore_error, NULL, &failure);
    CHECK(driver != NULL);
}

static void end(void)
{
    memset(&kernel, 0, sizeof kernel);
    netblt_driver_free(driver);
    netblt_link_close(link_);
    netblt_loop_free(loop);
    netblt_endpoint_free(endpoint);
}

static bool own(uint16_t port, bool passive)
{
    return netblt_driver_own_port(driver, &host, port, passive, &failure) == 0;
}

static enum netblt_sent send_one(void)
{
    static const uint8_t packet[64];
    const netblt_output run = {
        .path = {.local = host, .foreign = host}, .segment_bytes = sizeof packet, .count = 1, .length = sizeof packet};
    size_t next = 0;
    return netblt_link_send(link_, &run, packet, &next, ignore_error, NULL);
}

/* ---- the tests ------------------------------------------------------------------------------------------------- */

static void a_port_that_the_filter_cannot_follow_is_free_again(void)
{
    for (int passive = 0; passive <= 1; passive++) {
        begin();
        kernel.no_memory = true;
        CHECK(!own(PORT, passive));
        kernel.no_memory = false;
        CHECK(own(PORT, passive));
        end();
    }
}

static void a_passive_port_that_was_not_got_admits_no_opens(void)
{
    unsigned of_an_active_end;
    begin();
    CHECK(own(PORT, false));
    of_an_active_end = kernel.filter_steps;
    end();
    begin();
    kernel.no_memory = true;
    CHECK(!own(OTHER_PORT, true));
    kernel.no_memory = false;
    CHECK(own(PORT, false));
    CHECK_EQUAL(kernel.filter_steps, of_an_active_end);
    end();
}

static void a_port_that_is_given_back_leaves_the_filter(void)
{
    unsigned with_one;
    begin();
    CHECK(own(PORT, true));
    with_one = kernel.filter_steps;
    CHECK(own(OTHER_PORT, false));
    CHECK(kernel.filter_steps > with_one);
    netblt_driver_disown_port(driver, OTHER_PORT);
    CHECK_EQUAL(kernel.filter_steps, with_one);
    end();
}

/* The raw socket is writable all the time: to wait for it would be a busy loop. */
static void a_full_packet_socket_counts_as_congestion_and_not_as_a_full_raw_socket(void)
{
    begin();
    kernel.send_error = EAGAIN;
    CHECK_EQUAL(send_one(), NETBLT_SENT_LATER);
    CHECK_EQUAL(netblt_link_transmit_by_packet_socket(link_, &failure), 0);
    link_->next_hop_known = true;
    link_->next_hop_to = host;
    link_->next_hop_until = NETBLT_TIME_NEVER;
    CHECK_EQUAL(send_one(), NETBLT_SENT_CONGESTED);
    end();
}

static void an_answer_of_the_kernel_is_read_again_after_a_signal(void)
{
    netblt_neighbour neighbour;
    char calm[sizeof failure.text];
    int found;
    begin();
    found = netblt_neighbour_find(&host, &neighbour, &failure);
    memcpy(calm, failure.text, sizeof calm);
    kernel.interrupted_reads = 1;
    CHECK_EQUAL(netblt_neighbour_find(&host, &neighbour, &failure), found);
    CHECK(found == 0 || strcmp(failure.text, calm) == 0);
    CHECK_EQUAL(kernel.interrupted_reads, 0);
    end();
}

int main(void)
{
    RUN(a_port_that_the_filter_cannot_follow_is_free_again);
    RUN(a_passive_port_that_was_not_got_admits_no_opens);
    RUN(a_port_that_is_given_back_leaves_the_filter);
    RUN(a_full_packet_socket_counts_as_congestion_and_not_as_a_full_raw_socket);
    RUN(an_answer_of_the_kernel_is_read_again_after_a_signal);
    return 0;
}
