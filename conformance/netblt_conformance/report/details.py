# SPDX-License-Identifier: GPL-2.0-or-later
"""What a page shows of each result that deserves a look: what happened in its capture (trace/encode.py), and the
deciding frame as tshark decodes it."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.judges.merged import FILES_AT_A_TIME, merge
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.trace import encode

_WORTH_A_LOOK = (Verdict.ERROR, Verdict.FAIL, Verdict.INCONC, Verdict.WARN)
_NANOSECONDS_PER_US = 1_000
# What is done, and of how many.
Progress = Callable[[int, int], None]
# The command that repeats a result; empty where there is none.
Again = Callable[[Result], str]


def details(
    folder: Path,
    results: Sequence[Result],
    progress: Progress = lambda _done, _of: None,
    *,
    dissect: bool,
    delay_us: int | None = None,
    again: Again = lambda _result: "",
) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number of a result, its detail object) for the results that deserve a look and have a capture in `folder`.
    `delay_us`: what a packet takes one way, on a link in virtual time."""
    wanted = [
        number
        for number, result in enumerate(results)
        if result.verdict in _WORTH_A_LOOK and result.capture and (folder / result.capture).is_file()
    ]
    trees: dict[int, str] = {}
    if dissect:
        # The report is complete without; that tshark is missing has its own ERROR.
        with contextlib.suppress(JudgeError):
            trees = _trees(folder, results, wanted)
    reader = encode.Reader(folder, None if delay_us is None else delay_us * _NANOSECONDS_PER_US)
    for done, number in enumerate(wanted, 1):
        found = reader.of_result(results[number], command=again(results[number]), tree=trees.get(number, ""))
        if found is not None:
            yield number, found
        progress(done, len(wanted))


def _trees(folder: Path, results: Sequence[Result], wanted: Sequence[int]) -> dict[int, str]:
    """The deciding frames as tshark decodes them, by the number of the result. One process reads many captures."""
    framed = [number for number in wanted if results[number].frame]
    captures = list(dict.fromkeys(str(results[number].capture) for number in framed))
    found: dict[int, str] = {}
    if not captures:
        return found
    with Tshark() as tshark, tempfile.TemporaryDirectory(prefix="netblt-report-") as name:
        merged = Path(name) / "merged.pcapng"
        for first in range(0, len(captures), FILES_AT_A_TIME):
            some = captures[first : first + FILES_AT_A_TIME]
            parts = merge([folder / capture for capture in some], merged)
            starts = {capture: part.first_frame for capture, part in zip(some, parts, strict=True)}
            frames = {
                number: starts[str(results[number].capture)] + (results[number].frame or 1) - 1
                for number in framed
                if results[number].capture in starts
            }
            listed = ",".join(str(frame) for frame in sorted(set(frames.values())))
            text = tshark.run(merged, "-Y", f"frame.number in {{{listed}}}", "-O", "netblt")
            trees = dict(_of_frames(text))
            found |= {number: trees[frame] for number, frame in frames.items() if frame in trees}
    return found


def _of_frames(text: str) -> Iterator[tuple[int, str]]:
    """(frame, its NETBLT tree) of what tshark prints."""
    for tree in re.split(r"^Frame (?=\d+:)", text, flags=re.MULTILINE)[1:]:
        lines = tree.splitlines()
        netblt = [at for at, line in enumerate(lines) if line.startswith("NETBLT ")]
        if netblt:
            yield int(tree.split(":", 1)[0]), "\n".join(lines[netblt[0] :]).strip()
