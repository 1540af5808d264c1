# SPDX-License-Identifier: BSD-2-Clause
"""One transfer of one mover on one path, with what happens to it on the way; the copy is compared with the source."""

from __future__ import annotations

import contextlib
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..lab import Line, PathLab
from ..measure import monotonic_s
from ..peers import Build
from ..processes import BenchError, Program
from .tools import Mover, Stage
from .workloads import Workload, arrived_bytes, difference

LOOK_S = 0.02
PAUSE_S = 1.0  # from a kill to the same command once more
STORED_S = 3.0  # a receiver that serves on may need so long after the sender's end
LAST_PACKETS_S = 0.3
TRIES_MAX = 3


@dataclass(frozen=True)
class Event:
    """What happens to a transfer when `share` of the data have passed: an outage, or kill -9 of both ends and the same
    commands once more."""

    share: float
    outage_s: float = 0.0
    kills: bool = False


@dataclass(frozen=True)
class Trial:
    """`seconds` from the start of the second end to the end of both, all tries together."""

    seconds: float
    wire_bytes: int  # IP packets of both directions
    payload_bytes: int
    done: bool
    arrived_bytes: int
    last_try_bytes: int  # of wire_bytes, those after the last start of the same commands

    @property
    def wire_ratio(self) -> float:
        return self.wire_bytes / self.payload_bytes


@contextlib.contextmanager
def staged(build: Build, mover: Mover, workload: Workload, line: Line, seed: int) -> Iterator[Stage]:
    """A fresh network with whatever the mover needs in it."""
    with tempfile.TemporaryDirectory(prefix="netblt-movers-") as name:
        folder = Path(name)
        target, scratch = folder / "target", folder / "scratch"
        target.mkdir()
        scratch.mkdir()
        with PathLab(build.flakeway, line, seed, [*mover.traffic]) as lab:
            lab.keep_neighbours()
            stage = Stage(build, lab, line, workload, target, scratch)
            mover.prepare(stage)
            yield stage


class Ends:
    """Both programs of one try."""

    def __init__(self, mover: Mover, stage: Stage) -> None:
        self._mover = mover
        self.begin_s = 0.0
        self.receiver: Program | None = None
        if mover.receiver_first:
            self.receiver = mover.receiver(stage)
            self.begin_s = monotonic_s()
            self.sender = mover.sender(stage)
        else:
            self.sender = mover.sender(stage)
            self.begin_s = monotonic_s()
            self.receiver = mover.receiver(stage)

    def over(self) -> bool:
        """The sender has ended, and the receiver too where it ends by itself."""
        if self.sender.running():
            return False
        waits = self.receiver is not None and self._mover.receiver_ends
        return not (waits and self.receiver is not None and self.receiver.running() and self.failure() is None)

    def failure(self) -> str | None:
        """Why the sending end failed."""
        ended = self.sender.wait(0)
        return None if ended is None or ended.status == 0 else ended.last_words

    def kill(self) -> None:
        for program in (self.sender, self.receiver):
            if program is not None:
                program.signal(signal.SIGKILL)
                program.wait(LOOK_S * 250)


def run_until(over: Callable[[], bool], moment: Callable[[], bool], until_s: float) -> str:
    """ "over", "moment" or "late", whatever is first."""
    while monotonic_s() < until_s:
        if over():
            return "over"
        if moment():
            return "moment"
        time.sleep(LOOK_S)
    return "late"


def _stored(stage: Stage) -> str | None:
    """What is wrong with the copy, once the receiver had time to end its work."""
    until = monotonic_s() + STORED_S
    while (wrong := difference(stage.workload.source, stage.copy)) and monotonic_s() < until:
        time.sleep(LOOK_S * 5)
    return wrong


class Transfer:
    """One transfer to its end or to the limit, whatever happens on the way: a mover that fails is started again with
    the same commands."""

    tries_max = TRIES_MAX

    def __init__(self, mover: Mover, stage: Stage, event: Event | None, limit_s: float) -> None:
        self._mover, self._stage, self._event = mover, stage, event
        self._before = self._resumed_at = stage.lab.wire_bytes()
        self._event_at = self._before + (event.share if event else 0) * stage.workload.bytes
        self._tries = 1
        self.ends = Ends(mover, stage)
        self._first_s = self.ends.begin_s
        self._until_s = self._first_s + limit_s

    def _restart(self) -> None:
        self.ends.kill()
        time.sleep(PAUSE_S)
        self._resumed_at = self._stage.lab.wire_bytes()
        self.ends = Ends(self._mover, self._stage)

    def _is_time(self) -> bool:
        return self._event is not None and self._stage.lab.wire_bytes() >= self._event_at

    def _act(self) -> None:
        if self._event is not None and self._event.kills:
            self._restart()
        elif self._event is not None:
            self._stage.lab.interrupt(self._event.outage_s)
        self._event = None

    def run(self) -> bool:
        """False: not done within the limit."""
        while True:
            what = run_until(self.ends.over, self._is_time, self._until_s)
            if what == "moment":
                self._act()
            elif what == "over" and (trouble := self.ends.failure()):
                if self._tries == self.tries_max:
                    raise BenchError(f"{self._mover.title}: failed {self._tries} times: {trouble}")
                self._tries += 1
                self._restart()
            else:
                return what == "over"

    def result(self) -> Trial:
        done = self.run()
        seconds = monotonic_s() - self._first_s
        time.sleep(LAST_PACKETS_S)
        stage, sent = self._stage, self._stage.lab.wire_bytes()
        if done and (wrong := _stored(stage)):
            raise BenchError(f"{self._mover.title}: reported success, and {wrong}")
        self.ends.kill()
        arrived = stage.workload.bytes if done else min(arrived_bytes(stage.target), stage.workload.bytes)
        return Trial(seconds, sent - self._before, stage.workload.bytes, done, arrived, sent - self._resumed_at)


def move(mover: Mover, stage: Stage, event: Event | None, limit_s: float) -> Trial:
    return Transfer(mover, stage, event, limit_s).result()


def try_once(build: Build, mover: Mover, workload: Workload, line: Line, seed: int, event: Event | None,
             limit_s: float) -> Trial:  # fmt: skip
    with staged(build, mover, workload, line, seed) as stage:
        return move(mover, stage, event, limit_s)
