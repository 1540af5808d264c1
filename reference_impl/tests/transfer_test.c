/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of whole transfers in both directions, clean and lossy, between two endpoints. */
#include "check.h"
#include "pair.h"
#include "random.h"

static void a_clean_transfer_completes_in_both_directions(void)
{
    for (int active_sends = 0; active_sends < 2; active_sends++) {
        struct pair_case c;
        struct pair_result result;
        pair_case_default(&c);
        c.active_sends = active_sends != 0;
        pair_run(&c, &result);
        CHECK_EQUAL(result.sender.data_packets_sent, 100);
        CHECK_EQUAL(result.sender.data_packets_retransmitted, 0);
        CHECK_EQUAL(result.receiver.data_timeouts, 0);
    }
}

static void a_lossy_transfer_completes_in_both_directions(void)
{
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct pair_case c;
        pair_case_default(&c);
        c.seed = seed;
        c.active_sends = seed % 2 != 0;
        c.faults[0].loss_permille = c.faults[1].loss_permille = 100;
        c.faults[0].jitter_us = c.faults[1].jitter_us = 3000;
        pair_run(&c, NULL);
    }
}

int main(void)
{
    RUN(a_clean_transfer_completes_in_both_directions);
    RUN(a_lossy_transfer_completes_in_both_directions);
    return 0;
}
