# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays all meetings of a bakeoff on real links, several at a time, each in a child process with its own network."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from netblt_conformance.bakeoff import hosts
from netblt_conformance.bakeoff.contestants import Contestants, why_not
from netblt_conformance.bakeoff.judging import outcome
from netblt_conformance.bakeoff.model import Completion, Meeting, Outcome, Transfer
from netblt_conformance.bakeoff.play import play
from netblt_conformance.bakeoff.records import dumped, loaded
from netblt_conformance.common.child import Child, Emit, run_each
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links import netns, places
from netblt_conformance.links.program import remove_leftovers

# Beside the limit of the path: starting, dallying and judging.
_MORE_S = 90.0
# A meeting that the machine may have disturbed is played again, at most so often, with no other beside it.
AGAIN_MOST = 2

Progress = Callable[[Outcome], None]


def check() -> None:
    """LinkUnavailableError where no network can be made."""
    remove_leftovers()
    why = places.in_a_child(hosts.usable)
    if why:
        raise LinkUnavailableError(why)


class Runner:
    """Plays meetings. Their captures go to `folder`."""

    def __init__(self, contestants: Contestants, transfer: Transfer, folder: Path, tshark: Tshark) -> None:
        self.contestants = contestants
        self.transfer = transfer
        self.folder = folder
        self.tshark = tshark
        self.found: dict[Meeting, Outcome] = {}  # what is known so far, also when the bakeoff is interrupted

    def run(self, meetings: Sequence[Meeting], jobs: int, progress: Progress) -> list[Outcome]:
        """The outcomes in the order of the meetings. Those that are unsupported are not played."""
        found = self.found
        wanted = []
        for meeting in meetings:
            why = why_not(meeting, self.contestants)
            if why:
                found[meeting] = Outcome(meeting, Completion.UNSUPPORTED, why)
                progress(found[meeting])
            else:
                wanted.append(meeting)
        self._play(wanted, jobs, progress)
        return [found[meeting] for meeting in meetings]

    def _play(self, meetings: Sequence[Meeting], jobs: int, progress: Progress) -> None:
        found, doubtful = self.found, []

        def keep(one: Outcome) -> None:
            found[one.meeting] = one
            if one.disturbed and not one.holds:
                doubtful.append(one.meeting)
            else:
                progress(one)

        self._each(meetings, jobs, keep)
        for meeting in doubtful:
            self._again(meeting, found)
            progress(found[meeting])

    def _again(self, meeting: Meeting, found: dict[Meeting, Outcome]) -> None:
        """Until an undisturbed outcome shows whether the implementations or the machine was at fault."""
        for _ in range(AGAIN_MOST):
            again: list[Outcome] = []
            self._each([meeting], 1, again.append)
            found[meeting] = again[0].noted("played again alone: the machine had held processes up")
            if found[meeting].holds or not again[0].disturbed:
                return

    def _each(self, meetings: Sequence[Meeting], jobs: int, keep: Progress) -> None:
        def start(meeting: Meeting) -> _MeetingChild:
            return _MeetingChild(self, meeting)

        def ended(child: _MeetingChild) -> None:
            keep(child.outcome())

        run_each(iter(meetings), jobs, start, _MeetingChild.serve, lambda _: None, ended)


class _MeetingChild(Child):
    """One meeting."""

    def __init__(self, runner: Runner, meeting: Meeting) -> None:
        self._runner = runner
        self._meeting = meeting
        self._began_s = time.monotonic()
        self._outcome: Outcome | None = None
        self._trouble = ""
        super().__init__(meeting.path.limit_s + _MORE_S)
        self.began()

    def work(self, emit: Emit) -> None:
        netns.become_root_of_a_user_namespace()
        runner, meeting = self._runner, self._meeting
        capture = runner.folder / f"{meeting.key}.pcapng"
        played = play(meeting, runner.contestants, runner.transfer, capture)
        emit({"event": "outcome", "outcome": dumped(outcome(meeting, played, capture, runner.tshark))})

    # ---- in the parent ----

    def serve(self) -> bool:
        events = self.events()
        for event in events or ():
            if event["event"] == "outcome":
                self._outcome = loaded(event["outcome"], self._meeting)
            elif event["event"] == "trace":
                self._trouble = event["what"]
        return events is not None

    def outcome(self) -> Outcome:
        ending = self.reap()
        if self._outcome is not None:
            return self._outcome
        why = self._trouble or ending.fault("the meeting", self.limit_s) or f"exit status {ending.code}"
        seconds = round(time.monotonic() - self._began_s, 3)
        return Outcome(self._meeting, Completion.ERROR, f"the meeting could not be played: {why}", seconds=seconds)
