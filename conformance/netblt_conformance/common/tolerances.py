# SPDX-License-Identifier: GPL-2.0-or-later
"""How long the suite waits and what it lets pass. RFC 998 leaves most of these open: see the AMB numbers."""

from __future__ import annotations

from netblt_conformance.common.model import MICROSECONDS_PER_MS as MS
from netblt_conformance.common.model import MICROSECONDS_PER_S as S

# OPEN-03: between two OPENs. No implementation known waits longer than this for its first RESPONSE.
OPEN_RETRY_MAX_US = 20 * S
# OPEN-03: by then the active end must have given up. The number of OPENs is its own choice, so where time costs nothing
# it gets hours; on a real link nobody waits so long, and the case stays open.
OPEN_GIVE_UP_MAX_US = 6 * 3600 * S
OPEN_GIVE_UP_REAL_US = 100 * S
# An active end sends its first OPEN, a passive one its RESPONSE, within this.
SETUP_MAX_US = 5 * S
# The first transfer of each role: two buffers over a path that loses nothing. Where it fails, the cases suppose the
# usual choices.
FIRST_TRANSFER_MAX_US = 15 * S
# The same in another spelling (AMB-04, AMB-10). The right one needs no repair.
OTHER_SPELLING_MAX_US = 5 * S
# AMB-34: an acknowledgement is due within max(1 s, 2 burst intervals).
ACK_DEADLINE_MIN_US = 1 * S
# TIMER-01: the initial control timer "can be an arbitrary number"; beyond this nobody would use it.
CONTROL_REPEAT_MAX_US = 20 * S
# R1986-11: the last of ten retransmissions waits for max(2 round trips, 4 radio delays) + 5 s, and 5 s for each before.
ETFTP_REPEAT_MAX_US = 60 * S
# A control timer that is published waits for no more than so many times of what it says, and in any case for so long.
PUBLISHED_FACTOR = 10
PUBLISHED_REPEAT_MIN_US = 5 * S
# TIMER-10: slack of a death timer, beyond twice what was declared.
DEATH_SLACK_US = 2 * S
# TIMER-07: slack of a data timer beyond the time that the buffers take at the negotiated pace.
DATA_TIMER_SLACK_US = 20 * S
# A receiver that has a free client buffer says so within this.
REACTION_MAX_US = 2 * S
# After the last expected packet nothing unexpected must follow for this long.
QUIET_US = 500 * MS
# CLOSE: dally of the sender, and the client learning the outcome.
CLOSE_MAX_US = 60 * S
# How often the tester repeats what got no answer (it talks to a real network on the wire link).
TESTER_RETRY_US = 1 * S
# Two events closer than this are simultaneous: packets crossing, scheduling on a busy machine, control messages that
# wait for others to travel with.
CROSSING_US = 50 * MS
# On a real link a starved implementation may take so long to read what has arrived: only then does a monitor hold what
# it sends against what it should have known.
STALL_US = 1 * S


def ack_deadline_us(burst_interval_ms: int) -> int:
    return max(ACK_DEADLINE_MIN_US, 2 * burst_interval_ms * MS)


def control_repeat_max_us(published_ms: int) -> int:
    """CLOSE-07: a control timer is armed for what is published, give or take; so much later nothing is repeated."""
    return min(CONTROL_REPEAT_MAX_US, max(PUBLISHED_REPEAT_MIN_US, PUBLISHED_FACTOR * published_ms * MS))


def death_max_us(declared_s: int) -> int:
    """TIMER-10: by then an end that hears nothing has closed; it may look at its death timer now and then only."""
    return 2 * declared_s * S + DEATH_SLACK_US


def transfer_time_us(packets: int, burst_size: int, burst_interval_ms: int) -> int:
    """Time that so many packets take at the negotiated pace."""
    bursts = -(-packets // max(burst_size, 1))
    return bursts * burst_interval_ms * MS


def data_timer_max_us(packets: int, burst_size: int, burst_interval_ms: int) -> int:
    return 4 * transfer_time_us(packets, burst_size, burst_interval_ms) + DATA_TIMER_SLACK_US


# What an adapter's [pixit] may set, in seconds: name here -> key there.
ADJUSTABLE = {
    "OPEN_RETRY_MAX_US": "open_retry_max_s",
    "OPEN_GIVE_UP_MAX_US": "open_give_up_max_s",
    "SETUP_MAX_US": "setup_max_s",
    "FIRST_TRANSFER_MAX_US": "first_transfer_max_s",
    "OTHER_SPELLING_MAX_US": "other_spelling_max_s",
    "ACK_DEADLINE_MIN_US": "ack_deadline_min_s",
    "CONTROL_REPEAT_MAX_US": "control_repeat_max_s",
    "DATA_TIMER_SLACK_US": "data_timer_slack_s",
    "REACTION_MAX_US": "reaction_max_s",
    "CLOSE_MAX_US": "close_max_s",
}


def adopt(limits_us: dict[str, int], clock_slack_us: int) -> None:
    """Takes over what an adapter says of its implementation. Once, before any case is loaded."""
    global CROSSING_US
    for name, value_us in limits_us.items():
        if name not in ADJUSTABLE:
            raise ValueError(f"{name} is no tolerance that an adapter may set")
        globals()[name] = value_us
    CROSSING_US = 50 * MS + clock_slack_us
