/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of the event loop that need no socket. */
#include "check.h"
#include "io/driver.h"

static void a_process_was_held_up_when_it_wakes_2_ms_later_than_it_should(void)
{
    CHECK(!netblt_driver_was_held_up(1000, 5000, 5000));
    CHECK(!netblt_driver_was_held_up(1000, 5000, 7000));
    CHECK(netblt_driver_was_held_up(1000, 5000, 7001));
    CHECK(netblt_driver_was_held_up(1000, 0, 3001));
}

static void a_wait_without_an_end_is_never_too_long(void)
{
    CHECK(!netblt_driver_was_held_up(1000, NETBLT_TIME_NEVER, 1000000));
    CHECK(!netblt_driver_was_held_up(1000, NETBLT_TIME_NEVER - 1, 1000000));
}

static void the_end_of_a_long_wait_for_a_burst_is_spent_awake(void)
{
    CHECK_EQUAL(netblt_driver_asleep_until(1000, 5000, 100000), 4940);
    CHECK_EQUAL(netblt_driver_asleep_until(1000, 5000, 5000), 5000);   /* the client's time, which need not be exact */
    CHECK_EQUAL(netblt_driver_asleep_until(1000, 1600, 100000), 1600); /* it would be awake most of the time */
    CHECK_EQUAL(netblt_driver_asleep_until(1000, 0, 100000), 0);       /* overdue */
    CHECK_EQUAL(netblt_driver_asleep_until(1000, NETBLT_TIME_NEVER, NETBLT_TIME_NEVER), NETBLT_TIME_NEVER);
}

static void a_packet_that_is_read_late_arrived_when_the_kernel_got_it(void)
{
    CHECK_EQUAL(netblt_driver_arrived_at(5000, 1000, 9000), 5000);
    CHECK_EQUAL(netblt_driver_arrived_at(0, 1000, 9000), 9000);    /* the kernel noted nothing */
    CHECK_EQUAL(netblt_driver_arrived_at(500, 1000, 9000), 1000);  /* time never runs backwards for the endpoint */
    CHECK_EQUAL(netblt_driver_arrived_at(9500, 1000, 9000), 9000); /* the wall clock was set back since */
}

int main(void)
{
    RUN(a_packet_that_is_read_late_arrived_when_the_kernel_got_it);
    RUN(the_end_of_a_long_wait_for_a_burst_is_spent_awake);
    RUN(a_process_was_held_up_when_it_wakes_2_ms_later_than_it_should);
    RUN(a_wait_without_an_end_is_never_too_long);
    return 0;
}
