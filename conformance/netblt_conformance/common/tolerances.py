# SPDX-License-Identifier: GPL-2.0-or-later
"""How long the suite waits and what it lets pass. RFC 998 leaves most of these open: see the AMB numbers.

`Tolerances` holds what an adapter may change; a run passes its instance to links, cases, peers and oracles. The
constants are the same in every run.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from netblt_conformance.common.model import MICROSECONDS_PER_MS as MS
from netblt_conformance.common.model import MICROSECONDS_PER_S as S

# OPEN-03: an active end repeats its OPEN before it gives up; how often is its own choice.
OPENS_LEAST = 2
# OPEN-03: on a real link no run waits hours for an active end to give up; after this the case stays open.
OPEN_GIVE_UP_REAL_US = 100 * S
# R1986-11: the last of ten retransmissions waits for max(2 round trips, 4 radio delays) + 5 s, and 5 s for each before.
ETFTP_REPEAT_MAX_US = 60 * S
# A control timer that is published waits for no more than so many times of its value, and in any case for so long.
PUBLISHED_FACTOR = 10
PUBLISHED_REPEAT_MIN_US = 5 * S
# TIMER-10: slack of a death timer, beyond twice what was declared.
DEATH_SLACK_US = 2 * S
# After the last expected packet nothing unexpected must follow for this long.
QUIET_US = 500 * MS
# How often the tester repeats what got no answer (it talks to a real network on the wire link).
TESTER_RETRY_US = 1 * S
# More than this is not added to the time for which an implementation may sit on what it has decided: cases that look
# for a reaction wait for QUIET_US.
LATENCY_MOST_US = 250 * MS
# On a real link a starved implementation may take so long to read what has arrived: only then does a monitor hold what
# it sends against what it should have known.
STALL_US = 1 * S


@dataclass(frozen=True, slots=True)
class Tolerances:
    """The times that one run allows its implementation; none is negative."""

    # OPEN-03: between two OPENs. No implementation known waits longer than this for its first RESPONSE.
    open_retry_max_us: int = 20 * S
    # OPEN-03: by then the active end must have given up. The number of OPENs is its own choice, so where time costs
    # nothing it gets hours.
    open_give_up_max_us: int = 6 * 3600 * S
    # An active end sends its first OPEN, a passive one its RESPONSE, within this.
    setup_max_us: int = 5 * S
    # The first transfer of each role: two buffers over a path that loses nothing. Where it fails, the cases suppose the
    # usual choices.
    first_transfer_max_us: int = 15 * S
    # The same in other wire conventions (AMB-04, AMB-10). The right ones need no retransmission.
    other_spelling_max_us: int = 5 * S
    # AMB-34: an acknowledgement is due within max(1 s, 2 burst intervals).
    ack_deadline_min_us: int = 1 * S
    # TIMER-01: the initial control timer "can be an arbitrary number"; beyond this it is of no use.
    control_repeat_max_us: int = 20 * S
    # TIMER-07: slack of a data timer beyond the time that the buffers take at the negotiated pace.
    data_timer_slack_us: int = 20 * S
    # A receiver that has a free client buffer sends a GO within this.
    reaction_max_us: int = 2 * S
    # CLOSE: dally of the sender, and the client learning the outcome.
    close_max_us: int = 60 * S
    # Two events closer than this are simultaneous: packets crossing, scheduling on a busy machine, control messages
    # that wait for others to travel with.
    crossing_us: int = 50 * MS

    def slowed(self, latency_us: int) -> Tolerances:
        """For an implementation that never acts sooner than so long after a packet: RFC 998 5.2.1 demands "as quickly
        as possible" and states no time."""
        return replace(self, crossing_us=self.crossing_us + min(latency_us, LATENCY_MOST_US))

    def ack_deadline_us(self, burst_interval_ms: int) -> int:
        return max(self.ack_deadline_min_us, 2 * burst_interval_ms * MS)

    def published_repeat_max_us(self, published_ms: int) -> int:
        """CLOSE-07: a control timer is armed for what is published, give or take; so much later nothing is repeated."""
        return min(self.control_repeat_max_us, max(PUBLISHED_REPEAT_MIN_US, PUBLISHED_FACTOR * published_ms * MS))

    def data_timer_max_us(self, packets: int, burst_size: int, burst_interval_ms: int) -> int:
        return 4 * transfer_time_us(packets, burst_size, burst_interval_ms) + self.data_timer_slack_us


DEFAULT = Tolerances()

# What an adapter's [pixit] may set, in seconds: name here -> key there. It sets `crossing_us` by its clock_slack_ms.
ADJUSTABLE = {
    field.name: f"{field.name.removesuffix('_us')}_s" for field in fields(Tolerances) if field.name != "crossing_us"
}


def death_max_us(declared_s: int) -> int:
    """TIMER-10: by then an end that hears nothing has closed; it may look at its death timer now and then only."""
    return 2 * declared_s * S + DEATH_SLACK_US


def slowest(*paces: tuple[int, int]) -> tuple[int, int]:
    """The smallest burst and the longest burst interval in ms of pairs that may be in force."""
    return min(size for size, _ in paces), max(interval_ms for _, interval_ms in paces)


def transfer_time_us(packets: int, burst_size: int, burst_interval_ms: int) -> int:
    """Time that so many packets take at the negotiated pace."""
    bursts = -(-packets // max(burst_size, 1))
    return bursts * burst_interval_ms * MS
