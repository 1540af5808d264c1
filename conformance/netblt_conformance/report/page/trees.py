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
    wanted = list(dict.fromkeys(places))
    found: dict[Place, str] = {}
    with Tshark() as tshark, tempfile.TemporaryDirectory(prefix="netblt-report-") as name:
        merged = Path(name) / "merged.pcapng"
        for some in _batches(wanted):
            parts = merge([capture for capture, _frame in some], merged)
            frames = [part.first_frame + frame - 1 for part, (_capture, frame) in zip(parts, some, strict=True)]
            text = tshark.run(merged, "-Y", f"frame.number in {{{','.join(map(str, frames))}}}", "-O", "netblt")
            by_frame = dict(_split(text))
            found |= {place: by_frame.get(frame, "") for place, frame in zip(some, frames, strict=True)}
    return found


def _batches(places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    for start in range(0, len(places), FILES_AT_A_TIME):
        yield places[start : start + FILES_AT_A_TIME]


def _split(text: str) -> Iterator[tuple[int, str]]:
    for tree in re.split(r"^Frame (?=\d+:)", text, flags=re.MULTILINE)[1:]:
        lines = tree.splitlines()
        netblt = [at for at, line in enumerate(lines) if line.startswith("NETBLT ")]
        yield int(tree.split(":", 1)[0]), "\n".join(lines[netblt[0] :]).strip() if netblt else ""
