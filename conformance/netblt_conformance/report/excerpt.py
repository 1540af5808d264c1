# SPDX-License-Identifier: GPL-2.0-or-later
"""The packets around the one that decided a verdict, read from the case's own capture."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.model import address_text
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.judges.merged import FILES_AT_A_TIME, merge
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.base import IUT_ADDRESS
from netblt_conformance.packets import packets
from netblt_conformance.packets.captures import CapturedPacket, read

# Packets shown before and after the deciding one.
BEFORE, AFTER = 6, 3
# A broken implementation fails hundreds of cases alike; the others have their captures.
EXCERPTS = 60
_NANOSECONDS = 1e9
_WORTH_A_LOOK = (Verdict.ERROR, Verdict.FAIL, Verdict.INCONC, Verdict.WARN)


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    time_s: float  # since the capture's first packet
    direction: str
    info: str
    comment: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    lines: tuple[Line, ...]
    deciding: int  # frame, from 1
    tree: str = ""  # the deciding frame as tshark decodes it


def _direction(source: bytes, destination: bytes) -> str:
    if IUT_ADDRESS in (source, destination):
        return "implementation →" if source == IUT_ADDRESS else "→ implementation"
    return f"{address_text(source)} → {address_text(destination)}"


def _line(captured: CapturedPacket, began_ns: int) -> Line:
    packet = captured.data
    header = (packet[0] & 15) * 4 if packet else 0
    return Line(
        captured.number,
        (captured.time_ns - began_ns) / _NANOSECONDS,
        _direction(packet[12:16], packet[16:20]),
        str(packets.read(packet[header:])),
        "\n".join(captured.comments),
    )


def excerpt(capture: Path, frame: int | None) -> Excerpt | None:
    """Around `frame`; the end of the capture when no single packet decided."""
    found = list(read(capture))
    if not found:
        return None
    deciding = min(frame or len(found), len(found))
    chosen = found[max(0, deciding - 1 - BEFORE) : deciding + AFTER]
    lines = tuple(_line(packet, found[0].time_ns) for packet in chosen)
    return Excerpt(lines, deciding if frame else 0)


# What is done, and of how many.
Progress = Callable[[int, int], None]


def excerpts(
    folder: Path,
    results: Sequence[Result],
    progress: Progress = lambda _done, _of: None,
    first: Collection[str] = (),
    *,
    dissect: bool,
) -> dict[int, Excerpt]:
    """Excerpts for the results that deserve a look, by their number. `first`: captures that need one most."""
    wanted = [
        number
        for number, result in sorted(
            enumerate(results), key=lambda pair: (pair[1].capture not in first, -pair[1].verdict)
        )
        if result.verdict in _WORTH_A_LOOK and result.capture and (folder / result.capture).is_file()
    ][:EXCERPTS]
    found: dict[int, Excerpt] = {}
    for done, number in enumerate(wanted, 1):
        result = results[number]
        one = excerpt(folder / str(result.capture), result.frame)
        if one is not None:
            found[number] = one
        progress(done, len(wanted))
    if dissect and found:
        # The report is complete without; that tshark is missing has its own ERROR.
        with contextlib.suppress(JudgeError):
            _dissect(folder, results, found)
    return found


def _dissect(folder: Path, results: Sequence[Result], found: dict[int, Excerpt]) -> None:
    """Adds tshark's view of the deciding frames, all by one process."""
    numbers = [number for number, one in found.items() if one.deciding][:FILES_AT_A_TIME]
    if not numbers:
        return
    with Tshark() as tshark, tempfile.TemporaryDirectory(prefix="netblt-report-") as name:
        merged = Path(name) / "merged.pcapng"
        parts = merge([folder / str(results[number].capture) for number in numbers], merged)
        frames = [part.first_frame + found[n].deciding - 1 for part, n in zip(parts, numbers, strict=True)]
        text = tshark.run(merged, "-Y", f"frame.number in {{{','.join(map(str, frames))}}}", "-O", "netblt")
    trees = {int(tree.split(":", 1)[0]): tree for tree in re.split(r"^Frame (?=\d+:)", text, flags=re.MULTILINE)[1:]}
    for number, frame in zip(numbers, frames, strict=True):
        lines = trees.get(frame, "").splitlines()
        netblt = [at for at, line in enumerate(lines) if line.startswith("NETBLT ")]
        one = found[number]
        tree = "\n".join(lines[netblt[0] :]).strip() if netblt else ""
        found[number] = Excerpt(one.lines, one.deciding, tree)
