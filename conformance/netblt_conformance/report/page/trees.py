# SPDX-License-Identifier: GPL-2.0-or-later
"""Deciding frames as tshark decodes them, many captures by one process."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from netblt_conformance.judges.merged import FILES_AT_A_TIME, merge
from netblt_conformance.judges.tshark import Tshark

Place = tuple[Path, int]  # capture and frame, from 1


def trees(places: Sequence[Place]) -> dict[Place, str]:
    """The NETBLT part of each frame's tree. Raises JudgeError when tshark cannot be run."""
    frames: dict[Path, set[int]] = {}
    for capture, frame in places:
        frames.setdefault(capture, set()).add(frame)
    found: dict[Place, str] = {}
    with Tshark() as tshark, tempfile.TemporaryDirectory(prefix="netblt-report-") as name:
        merged = Path(name) / "merged.pcapng"
        for some in _batches(list(frames)):
            numbers = {
                part.first_frame + frame - 1: (part.path, frame)
                for part in merge(some, merged)
                for frame in frames[part.path]
            }
            listed = ",".join(map(str, sorted(numbers)))
            text = tshark.run(merged, "-Y", f"frame.number in {{{listed}}}", "-O", "netblt")
            found |= {numbers[number]: tree for number, tree in _split(text) if number in numbers}
    return found


def _batches(captures: Sequence[Path]) -> Iterator[Sequence[Path]]:
    for start in range(0, len(captures), FILES_AT_A_TIME):
        yield captures[start : start + FILES_AT_A_TIME]


def _split(text: str) -> Iterator[tuple[int, str]]:
    for tree in re.split(r"^Frame (?=\d+:)", text, flags=re.MULTILINE)[1:]:
        lines = tree.splitlines()
        netblt = [at for at, line in enumerate(lines) if line.startswith("NETBLT ")]
        yield int(tree.split(":", 1)[0]), "\n".join(lines[netblt[0] :]).strip() if netblt else ""
