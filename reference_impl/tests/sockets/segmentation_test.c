/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs over UDP: in one segmented send where kernel and path can, packet by packet permanently where they cannot. What
 * a kernel or a path answers is simulated by calls of our own in front of the C library's. */
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "io/clock.h"
#include "io/link.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#define CLOCK_ADJUSTED_US 1000

/* ---- the kernel that the link sees
 * ------------------------------------------------------------------------------------ */

static struct {
    int segmented_error;      /* what a segmented send fails with; 0 = it works */
    size_t fitting_bytes;     /* ... if its segments are larger than this */
    int plain_error;          /* what other sends fail with */
    bool knows_no_options;    /* UDP_SEGMENT and UDP_GRO */
    int segment_option;       /* UDP_SEGMENT as set last on any socket */
    unsigned segmented_sends; /* attempts */
    unsigned plain_sends;     /* attempts */
} kernel;

static bool may_segment(int segment_bytes)
{
    CHECK(segment_bytes != 0);
    kernel.segmented_sends++;
    if (kernel.segmented_error == 0 || (size_t)segment_bytes <= kernel.fitting_bytes)
        return true;
    errno = kernel.segmented_error;
    return false;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    uint16_t segment = 0;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL;
         item = CMSG_NXTHDR((struct msghdr *)message, item))
        if (item->cmsg_level == IPPROTO_UDP && item->cmsg_type == UDP_SEGMENT)
            memcpy(&segment, CMSG_DATA(item), sizeof segment);
    return may_segment(segment) ? syscall(SYS_sendmsg, fd, message, flags) : -1;
}

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    return may_segment(kernel.segment_option) ? syscall(SYS_sendto, fd, bytes, length, flags, NULL, 0) : -1;
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    CHECK(kernel.segment_option == 0); /* or the kernel would cut these too */
    kernel.plain_sends++;
    if (kernel.plain_error != 0) {
        errno = kernel.plain_error;
        return -1;
    }
    return (int)syscall(SYS_sendmmsg, fd, messages, count, flags);
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
    if (kernel.knows_no_options && level == IPPROTO_UDP && (option == UDP_SEGMENT || option == UDP_GRO)) {
        errno = ENOPROTOOPT;
        return -1;
    }
    if (level == IPPROTO_UDP && option == UDP_SEGMENT)
        memcpy(&kernel.segment_option, value, sizeof kernel.segment_option);
    return (int)syscall(SYS_setsockopt, fd, level, option, value, length);
}

/* ---- two ends on loopback
 * ---------------------------------------------------------------------------------------------- */

#define PACKETS 40
#define PACKET_BYTES 1000
#define LAST_BYTES 400

static uint8_t staging[PACKETS * PACKET_BYTES];
static uint8_t arrived[PACKETS * PACKET_BYTES];
static netblt_link *from;
static netblt_link *to;
static bool connected; /* `from` to `to` */
static netblt_output run;
static unsigned lost;

static netblt_link *open_bound(netblt_address *address)
{
    netblt_failure failure = {0};
    struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
    netblt_address host = netblt_address_of_ipv4(loopback);
    netblt_link *opened = netblt_link_open(NETBLT_ENCAP_UDP, NETBLT_FAMILY_IPV4, &failure);
    CHECK(opened != NULL && netblt_link_bind(opened, &host, 0, &failure) == 0);
    *address = netblt_link_local(opened, &host);
    return opened;
}

static void begin(void)
{
    run = (netblt_output){
        .segment_bytes = PACKET_BYTES, .count = PACKETS, .length = (PACKETS - 1) * PACKET_BYTES + LAST_BYTES};
    from = open_bound(&run.path.local);
    to = open_bound(&run.path.foreign);
    if (connected)
        netblt_link_connect(from, &run.path.foreign);
    for (size_t i = 0; i < sizeof staging; i++)
        staging[i] = (uint8_t)(i * 31 + i / PACKET_BYTES);
    lost = 0;
}

static void end(void)
{
    netblt_link_close(from);
    netblt_link_close(to);
    memset(&kernel, 0, sizeof kernel);
}

static void count_lost(void *context, const netblt_network_error *error)
{
    (void)context;
    (void)error;
    lost++;
}

static enum netblt_sent send_run(size_t *next)
{
    return netblt_link_send(from, &run, staging, next, count_lost, NULL);
}

/* Everything that arrives, put together again in order; returns how many packets it was. */
static unsigned receive_all(size_t *length)
{
    netblt_arrival arrivals[NETBLT_LINK_BATCH];
    struct pollfd waiting = {.fd = netblt_link_fd(to, 0), .events = POLLIN};
    unsigned packets = 0;
    bool more = true;
    *length = 0;
    while (poll(&waiting, 1, 50) > 0) {
        unsigned count = netblt_link_receive(to, 0, arrivals, &more);
        for (unsigned i = 0; i < count; i++) {
            CHECK(*length + arrivals[i].length <= sizeof arrived);
            memcpy(arrived + *length, arrivals[i].packets, arrivals[i].length);
            *length += arrivals[i].length;
            packets += (unsigned)((arrivals[i].length + arrivals[i].segment_bytes - 1) / arrivals[i].segment_bytes);
        }
    }
    return packets;
}

static void expect_the_run_arrives(void)
{
    size_t next = 0;
    size_t length;
    CHECK(send_run(&next) == NETBLT_SENT_ALL);
    CHECK_EQUAL(next, run.count);
    CHECK_EQUAL(receive_all(&length), run.count);
    CHECK_EQUAL(length, run.length);
    CHECK(memcmp(arrived, staging, length) == 0);
    CHECK_EQUAL(lost, 0);
}

/* ---- the tests
 * -------------------------------------------------------------------------------------------------------- */

static void a_run_leaves_in_one_segmented_send(void)
{
    begin();
    expect_the_run_arrives();
    CHECK_EQUAL(kernel.segmented_sends, 1);
    CHECK_EQUAL(kernel.plain_sends, 0);
    end();
}

static void a_device_that_cannot_segment_is_not_asked_again(void)
{
    static const int errors[] = {EIO, EOPNOTSUPP, ENOPROTOOPT};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        begin();
        kernel.segmented_error = errors[i];
        expect_the_run_arrives();
        expect_the_run_arrives();
        CHECK_EQUAL(kernel.segmented_sends, 1);
        CHECK(kernel.plain_sends >= 2);
        end();
    }
}

static void a_kernel_without_segmentation_is_never_asked(void)
{
    kernel.knows_no_options = true;
    begin();
    expect_the_run_arrives();
    CHECK_EQUAL(kernel.segmented_sends, 0);
    end();
}

/* A receiver that is held up learns when its packets came. A wall clock that is adjusted runs a little fast or slow. */
static void what_is_read_late_carries_the_time_of_its_arrival(void)
{
    netblt_arrival arrivals[NETBLT_LINK_BATCH];
    bool more;
    size_t next = 0;
    begin();
    netblt_time before = netblt_clock_now();
    CHECK(send_run(&next) == NETBLT_SENT_ALL);
    struct pollfd waiting = {.fd = netblt_link_fd(to, 0), .events = POLLIN};
    CHECK(poll(&waiting, 1, 1000) > 0);
    netblt_time after = netblt_clock_now();
    netblt_clock_sleep_until(after + 20 * CLOCK_ADJUSTED_US);
    CHECK(netblt_link_receive(to, 0, arrivals, &more) > 0);
    CHECK(arrivals[0].at + CLOCK_ADJUSTED_US >= before);
    CHECK(arrivals[0].at <= after + CLOCK_ADJUSTED_US);
    end();
}

static void a_user_may_want_packets_one_by_one(void)
{
    begin();
    netblt_link_transmit_singly(from);
    expect_the_run_arrives();
    CHECK_EQUAL(kernel.segmented_sends, 0);
    CHECK(kernel.plain_sends >= 1);
    end();
}

static void segments_that_do_not_fit_the_path_leave_one_by_one_and_smaller_ones_together(void)
{
    static const int errors[] = {EINVAL, EMSGSIZE};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        begin();
        kernel.segmented_error = errors[i];
        kernel.fitting_bytes = PACKET_BYTES / 2;
        expect_the_run_arrives();
        expect_the_run_arrives();
        CHECK_EQUAL(kernel.segmented_sends, 1);
        run.segment_bytes = PACKET_BYTES / 2;
        run.length = PACKETS * run.segment_bytes;
        expect_the_run_arrives();
        CHECK_EQUAL(kernel.segmented_sends, 2);
        end();
    }
}

static void a_full_socket_keeps_the_rest_for_later(void)
{
    size_t next = 0;
    begin();
    kernel.segmented_error = EAGAIN;
    CHECK(send_run(&next) == NETBLT_SENT_LATER);
    CHECK_EQUAL(next, 0);
    kernel.segmented_error = ENOBUFS;
    CHECK(send_run(&next) == NETBLT_SENT_CONGESTED);
    CHECK_EQUAL(next, 0);
    kernel.segmented_error = 0;
    expect_the_run_arrives();
    CHECK_EQUAL(kernel.plain_sends, 0); /* neither is a reason against segmentation */
    end();
}

static void packets_that_cannot_leave_are_reported_one_by_one(void)
{
    size_t next = 0;
    begin();
    kernel.segmented_error = EHOSTUNREACH;
    kernel.plain_error = EHOSTUNREACH;
    CHECK(send_run(&next) == NETBLT_SENT_ALL);
    CHECK_EQUAL(next, run.count);
    CHECK_EQUAL(lost, run.count);
    end();
}

static void a_run_of_one_packet_is_just_sent(void)
{
    begin();
    run.count = 1;
    run.length = LAST_BYTES;
    expect_the_run_arrives();
    CHECK_EQUAL(kernel.segmented_sends, 0);
    end();
}

static void what_follows_a_run_is_not_cut(void)
{
    begin();
    run.segment_bytes = LAST_BYTES;
    run.length = PACKETS * run.segment_bytes;
    expect_the_run_arrives();
    run.segment_bytes = PACKET_BYTES;
    run.length = PACKET_BYTES;
    run.count = 1;
    expect_the_run_arrives();
    CHECK_EQUAL(kernel.segmented_sends, 1);
    CHECK_EQUAL(kernel.plain_sends, 1);
    end();
}

static void a_connected_link_still_reaches_others(void)
{
    netblt_address another;
    netblt_link *stranger;
    begin();
    stranger = open_bound(&another);
    netblt_link_connect(from, &another);
    expect_the_run_arrives();
    CHECK_EQUAL(kernel.segmented_sends, 1);
    netblt_link_close(stranger);
    end();
}

static void run_all(void)
{
    RUN(a_run_leaves_in_one_segmented_send);
    RUN(a_device_that_cannot_segment_is_not_asked_again);
    RUN(a_kernel_without_segmentation_is_never_asked);
    RUN(what_is_read_late_carries_the_time_of_its_arrival);
    RUN(a_user_may_want_packets_one_by_one);
    RUN(segments_that_do_not_fit_the_path_leave_one_by_one_and_smaller_ones_together);
    RUN(a_full_socket_keeps_the_rest_for_later);
    RUN(packets_that_cannot_leave_are_reported_one_by_one);
    RUN(a_run_of_one_packet_is_just_sent);
    RUN(what_follows_a_run_is_not_cut);
    RUN(a_connected_link_still_reaches_others);
}

int main(void)
{
    run_all();
    connected = true;
    run_all();
    return 0;
}
