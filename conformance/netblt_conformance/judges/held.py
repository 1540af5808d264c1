# SPDX-License-Identifier: GPL-2.0-or-later
"""Did the dissector put one packet to the test and find it right?

Its conclusions are about connections, and "held" alone proves nothing: a rule may have held ten times, and been broken
once by something that leaves no trace, such as an answer that never came. So the capture is judged three times: whole,
up to the packet suspected, and up to the one before it. Where the packet adds an observation of the rule, and the whole
capture shows nothing against the implementation, the dissector has looked at this packet and found it right. A capture
in which it reports any violation of the implementation is left alone: both see something broken, and what follows
from it is read differently by rules that rest on each other."""

from __future__ import annotations

import bisect
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from netblt_conformance.common.model import address_text
from netblt_conformance.common.verdicts import Result
from netblt_conformance.judges import standings
from netblt_conformance.judges.comparable import COMPARABLE
from netblt_conformance.judges.findings import FindingReader
from netblt_conformance.judges.merged import FILES_AT_A_TIME, merge
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.base import IUT_ADDRESS
from netblt_conformance.packets.captures import cut, emitter

_VIEWS = 3  # captures for each finding


@dataclass(frozen=True, slots=True)
class View:
    """What the dissector concludes about one rule in one suspected packet."""

    requirement: str
    reach: str
    blamed: bool  # the implementation, for anything anywhere in the capture
    kept: int  # all observations
    kept_here: int  # observations that the packet adds

    @property
    def acquits(self) -> bool:
        """The dissector can prove a breach of this rule by this packet, has looked for one and found none."""
        comparable = self.requirement in COMPARABLE and self.reach == standings.REACH_VIOLATION
        return comparable and self.kept_here > 0 and not self.blamed


@dataclass(slots=True)
class _Sums:
    """The standings of one capture with one rule, all its connections together."""

    observations: int = 0
    reach: str = ""


@dataclass(slots=True)
class _Part:
    """What the dissector reports for one capture."""

    sums: dict[str, _Sums] = field(default_factory=dict)
    blamed: bool = False  # the implementation, for anything


def examine(
    tshark: Tshark, accused: Sequence[Result], report: Path, options: Sequence[str]
) -> Iterator[tuple[Result, list[View]]]:
    """For every result with a deciding frame that the implementation sent: what the dissector thinks of its rules."""
    mine = [result for result in accused if result.capture and result.frame and _is_ours(report, result)]
    step = FILES_AT_A_TIME // _VIEWS
    for first in range(0, len(mine), step):
        yield from _examine(tshark, mine[first : first + step], report, options)


def _is_ours(report: Path, result: Result) -> bool:
    assert result.capture is not None
    assert result.frame is not None
    return emitter(report / result.capture, result.frame) == IUT_ADDRESS


def _examine(
    tshark: Tshark, accused: Sequence[Result], report: Path, options: Sequence[str]
) -> list[tuple[Result, list[View]]]:
    with tempfile.TemporaryDirectory(prefix="netblt-judge-") as name:
        folder = Path(name)
        captures = []
        for number, result in enumerate(accused):
            assert result.capture is not None
            assert result.frame is not None
            whole = report / result.capture
            before, upto = folder / f"{number}.before.pcapng", folder / f"{number}.upto.pcapng"
            cut(whole, result.frame - 1, before)
            cut(whole, result.frame, upto)
            captures += [before, upto, whole]
        merged = folder / "merged.pcapng"
        starts = [part.first_frame for part in merge(captures, merged)]
        parts = _judged(tshark, merged, starts, options)
    answers = []
    for number, result in enumerate(accused):
        before_, upto_, whole_ = parts[number * _VIEWS : (number + 1) * _VIEWS]
        answers.append((result, [_view(requirement, before_, upto_, whole_) for requirement in result.requirements]))
    return answers


def _view(requirement: str, before: _Part, upto: _Part, whole: _Part) -> View:
    sums = [part.sums.get(requirement, _Sums()) for part in (before, upto, whole)]
    kept_here = sums[1].observations - sums[0].observations
    return View(requirement, sums[2].reach, whole.blamed or upto.blamed, sums[2].observations, kept_here)


def _judged(tshark: Tshark, merged: Path, starts: Sequence[int], options: Sequence[str]) -> list[_Part]:
    """For every part of the merged capture its standings by rule, and whether a violation of the implementation is
    reported in it."""
    iut, reports = address_text(IUT_ADDRESS), standings.Reports()
    with merged.open("rb") as file:
        found = tshark.judge(file, str(merged), [standings.REPORT], FindingReader(reports), *options)
    part_of = _parts_of_streams(tshark, merged, starts)
    parts = [_Part() for _ in starts]
    for connection in reports.connections(()):
        for standing in connection.standings.values():
            one = parts[part_of[connection.stream]].sums.setdefault(standing.requirement, _Sums())
            one.observations += standing.observations
            one.reach = standing.reach
    for finding in found:
        if finding.offender_address == iut:
            parts[bisect.bisect_right(starts, finding.frame) - 1].blamed = True
    return parts


def _parts_of_streams(tshark: Tshark, merged: Path, starts: Sequence[int]) -> dict[int, int]:
    """Stream -> number of the part that it is in."""
    found: dict[int, int] = {}
    part, next_part = -1, 0
    text = tshark.run(merged, "-Y", "netblt.stream", "-T", "fields", "-e", "frame.number", "-e", "netblt.stream")
    for line in text.splitlines():
        frame, _, streams = line.partition("\t")
        while next_part < len(starts) and starts[next_part] <= int(frame):
            part, next_part = next_part, next_part + 1
        for stream in streams.split(","):
            found.setdefault(int(stream), part)
    return found
