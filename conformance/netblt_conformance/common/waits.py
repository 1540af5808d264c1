# SPDX-License-Identifier: GPL-2.0-or-later
"""Long waits on a real link. A case may wait a minute for something that a broken implementation never sends.

When many cases wait for the same thing in the same role, a few of them wait for the whole time, as witnesses; the
others are postponed. The first case of the requirement by which it is due is never postponed: it gives the verdict.
If what the witnesses wait for never comes, the postponed cases are not repeated: they are INCONC and name the
witnesses. If it does come, the postponed cases run again and wait as long as they need.

A case that has failed already ends its long waits after REPORT_US: nothing that comes makes it pass.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from netblt_conformance.common.model import MICROSECONDS_PER_S

# Three cases that fail alike in one role are no coincidence: a disturbance of the machine is shorter than a second, and
# no wait that counts here is shorter than four.
WITNESSES = 3
# Waits up to this long are never reported: most limits are 2 s, and to end them early gains nothing.
SHORT_LIMIT_US = 4 * MICROSECONDS_PER_S
# A wait is reported when it has lasted this long, and cases of a confirmed failure wait no longer.
REPORT_US = 2 * MICROSECONDS_PER_S
# A case is not postponed sooner, as long as the failure is not confirmed.
POSTPONE_S = 5.0
# ... nor before it has waited longer, by this factor, than any wait of its kind that succeeded.
LONGER_THAN_EVER = 1.5
# A witness that knows the outcome so much later than another run could leaves its place to that run.
SOONER_S = 1.0
# So many runs that have waited so long for the same thing, and longer by the same factor than the whole run usually
# takes, are worth a line, although nothing is decided. A run whose usual time is not known takes less than half of this
# with the reference.
OVERDUE_RUNS, OVERDUE_S = 3, 10.0


class Awaited(enum.Enum):
    """What a case waits for."""

    OTHER = "something of its own"  # never postponed: no other case waits for the same
    SUCCESS = "success is reported to the client"
    FAILURE = "failure is reported to the client"
    CLOSED = "the connection is closed"
    TRANSFER = "the transfer finishes"
    OPEN = "OPEN"
    RESPONSE = "RESPONSE"
    GO = "GO"
    BUFFER = "all packets of a buffer"
    OK = "OK"
    RESEND = "RESEND"
    REPAIR = "a packet is retransmitted"
    CONTROL = "CONTROL"
    REPEATS = "a message is repeated"
    ACKNOWLEDGEMENT = "a message is acknowledged"
    QUIT = "QUIT"
    QUITACK = "QUITACK"


# What an implementation owes in any state, a repetition of QUIT once it has said it: requirement by which it is due.
DUE_BY = {
    Awaited.OPEN: "OPEN-01",
    Awaited.RESPONSE: "OPEN-01",
    Awaited.REPAIR: "RESEND-02",
    Awaited.RESEND: "TIMER-07",
    Awaited.REPEATS: "TIMER-01",
    Awaited.CONTROL: "TIMER-01",
    Awaited.ACKNOWLEDGEMENT: "CTRL-10",
    Awaited.QUIT: "QUIT-02",
    Awaited.QUITACK: "QUIT-01",
}


class PostponedError(Exception):
    """The supervisor ends this case: others wait for the same thing."""

    def __init__(self, awaited: Awaited) -> None:
        super().__init__(awaited.value)
        self.awaited = awaited


class DecidedError(Exception):
    """This case has failed already: what it waits for is not needed."""


# Takes "long", "came" or "in vain", what is awaited, the seconds waited so far, and the seconds that the case waits at
# most.
Report = Callable[[str, Awaited, float, float], None]


class Watch:
    """What a worker reports of the waits of the case that it runs."""

    def __init__(
        self,
        report: Report = lambda _state, _awaited, _seconds, _limit_s: None,
        postponed: Callable[[], bool] = lambda: False,
        decided: Callable[[], bool] = lambda: False,
    ) -> None:
        """`postponed`: whether the supervisor has ended the case. `decided`: whether it has failed already."""
        self.report = report
        self.postponed = postponed
        self.decided = decided


class Wait:
    """One wait of a case."""

    def __init__(self, watch: Watch, awaited: Awaited, began_us: int, limit_us: int) -> None:
        self._watch = watch
        self.awaited = awaited
        self._began_us = began_us
        self._limit_s = limit_us / MICROSECONDS_PER_S
        self.watched = awaited is not Awaited.OTHER and limit_us > SHORT_LIMIT_US
        self._reported = False

    def goes_on(self, now_us: int) -> None:
        """PostponedError or DecidedError when the case is to end here."""
        if not self.watched or now_us - self._began_us < REPORT_US:
            return
        if not self._reported:
            self._reported = True
            self._report("long", now_us)
        if self._watch.decided():
            raise DecidedError
        if self._watch.postponed():
            raise PostponedError(self.awaited)

    def ended(self, now_us: int, *, came: bool) -> None:
        if self._reported:
            self._report("came" if came else "in vain", now_us)

    def _report(self, state: str, now_us: int) -> None:
        self._watch.report(state, self.awaited, (now_us - self._began_us) / MICROSECONDS_PER_S, self._limit_s)


Kind = tuple[str, Awaited]  # role and what is awaited


class _Waiting(NamedTuple):
    """A long wait under way, on the monotonic clock."""

    kind: Kind
    since_s: float
    until_s: float


@dataclass(slots=True)
class _Known:
    """What is known of one kind of wait."""

    longest_s: float = 0.0  # of those that succeeded
    witnesses: list[str] = field(default_factory=list)  # runs that wait for the whole time
    failed: list[str] = field(default_factory=list)  # runs that waited in vain and failed
    postponed: list[str] = field(default_factory=list)

    @property
    def confirmed(self) -> bool:
        return len(self.failed) >= WITNESSES

    @property
    def limit_s(self) -> float:
        least = REPORT_US / MICROSECONDS_PER_S if self.confirmed else POSTPONE_S
        return max(least, LONGER_THAN_EVER * self.longest_s)


class LongWaits:
    """Decides which runs wait for the whole time, and which are postponed. Runs are known by their keys."""

    def __init__(self, deciding: Mapping[str, str] = MappingProxyType({})) -> None:
        """`deciding`: requirement by key of the runs that decide about it."""
        self._deciding = deciding
        self._known: dict[Kind, _Known] = {}
        self._waiting: dict[str, _Waiting] = {}  # by run
        self._in_vain: dict[str, Kind] = {}
        self._exempt: set[str] = set()  # were postponed once, without need
        self._overdue: set[Awaited] = set()  # what overdue() has returned

    def reported(
        self, key: str, role: str, state: str, awaited: Awaited, seconds: float, limit_s: float, now_s: float
    ) -> None:
        """A worker reports a wait; `seconds` and `limit_s` as in Report."""
        kind = (role, awaited)
        known = self._known.setdefault(kind, _Known())
        if state == "long":
            since_s = now_s - seconds
            self._waiting[key] = _Waiting(kind, since_s, since_s + limit_s)
            self._choose(known, key)
            return
        self._waiting.pop(key, None)
        if state == "came":
            known.longest_s = max(known.longest_s, seconds)
            if key in known.witnesses:
                known.witnesses.remove(key)
        else:
            self._in_vain[key] = kind

    def ended(self, key: str, *, failed: bool) -> None:
        """A run is over and was not postponed. `failed`: its verdict is worse than PASS."""
        self._waiting.pop(key, None)
        kind = self._in_vain.pop(key, None)
        for known in self._known.values():
            if key in known.witnesses:
                known.witnesses.remove(key)
        if kind is not None and failed and not self._known[kind].confirmed:
            self._known[kind].failed.append(key)

    def postponed(self, key: str, role: str, awaited: Awaited) -> None:
        """A run has ended because it was postponed."""
        self._waiting.pop(key, None)
        self._known[role, awaited].postponed.append(key)

    def to_postpone(self, now_s: float) -> list[str]:
        """The runs that have waited long enough."""
        found = []
        for key, (kind, since_s, _) in self._waiting.items():
            known = self._known[kind]
            self._choose(known, key)
            enough = known.confirmed or len(known.witnesses) + len(known.failed) >= WITNESSES
            exempt = key in self._exempt and not known.confirmed
            exempt = exempt or DUE_BY.get(kind[1], "") == self._deciding.get(key)
            if enough and not exempt and key not in known.witnesses and now_s - since_s >= known.limit_s:
                found.append(key)
        return found

    def overdue(self, now_s: float, usual_s: Mapping[str, float]) -> list[tuple[Awaited, list[str]]]:
        """What several runs have waited for so long that it will probably not come, and these runs; each only once.
        `usual_s`: how long a run takes, by key, where that is long."""
        late: dict[Awaited, list[str]] = {}
        for key, (kind, since_s, _) in self._waiting.items():
            longest_s, usually_s = self._known[kind].longest_s, usual_s.get(key, 0.0)
            least_s = max(OVERDUE_S, LONGER_THAN_EVER * max(longest_s, usually_s))
            if now_s - since_s >= least_s:
                late.setdefault(kind[1], []).append(key)
        found = [(what, keys) for what, keys in late.items() if what not in self._overdue and len(keys) >= OVERDUE_RUNS]
        self._overdue.update(what for what, _ in found)
        return found

    def decided(self) -> tuple[list[tuple[str, Kind, list[str]]], list[str]]:
        """What has become clear of the postponed runs: those whose failure is confirmed, each with what it waited for
        and the runs that confirm it; and those that have to run again."""
        settled: list[tuple[str, Kind, list[str]]] = []
        again: list[str] = []
        for kind, known in self._known.items():
            if known.confirmed:
                settled += [(key, kind, list(known.failed)) for key in known.postponed]
            elif len(known.witnesses) + len(known.failed) < WITNESSES:
                again += known.postponed
            else:
                continue
            known.postponed = []
        self._exempt.update(again)
        return settled, again

    @property
    def long(self) -> int:
        """The number of runs that are in a long wait."""
        return len(self._waiting)

    @property
    def open(self) -> bool:
        """Whether the fate of a postponed run is not decided."""
        return any(known.postponed for known in self._known.values())

    @property
    def confirmed(self) -> set[str]:
        """Runs whose failure others of the same role confirm."""
        return {key for known in self._known.values() if known.confirmed for key in known.failed}

    def _choose(self, known: _Known, key: str) -> None:
        """Makes the run a witness if one is needed, or if it knows the outcome sooner than one of the witnesses."""
        if key in known.witnesses:
            return
        if len(known.witnesses) + len(known.failed) < WITNESSES:
            known.witnesses.append(key)
            return
        waiting = [witness for witness in known.witnesses if witness in self._waiting]
        last = max(waiting, key=lambda witness: self._waiting[witness].until_s, default=key)
        if self._waiting[last].until_s - self._waiting[key].until_s >= SOONER_S:
            known.witnesses[known.witnesses.index(last)] = key
