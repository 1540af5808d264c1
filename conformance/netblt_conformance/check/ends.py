# SPDX-License-Identifier: GPL-2.0-or-later
"""The captures of both ends of a path: paired, and made one file in which the plugin knows where each was captured."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from netblt_conformance.common.errors import JudgeError
from netblt_conformance.judges.findings import Damaged
from netblt_conformance.judges.limits import last_line
from netblt_conformance.judges.standings import Connection
from netblt_conformance.packets import captures
from netblt_conformance.pairing.evidence import unseen_arrivals
from netblt_conformance.pairing.paths import Direction, Pairing, Seen, pair, pair_files
from netblt_conformance.pairing.reading import pcapng_of, points

_DATA_TYPES = (6, 7)
_NOWHERE = "-"


@dataclass(slots=True)
class Ends:
    """One file with the packets of both capture points."""

    pairing: Pairing
    file: Path
    names: tuple[str, str]  # of the captures, for people
    preference: str  # netblt.capture_points
    notes: list[str] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)  # of each frame: capture, frame there

    @property
    def options(self) -> tuple[str, ...]:
        """For tshark."""
        return "-o", f"netblt.capture_points:{self.preference}"

    def put_back(self, connections: list[Connection]) -> None:
        """Findings name the frames of the captures, not those of the merged file."""
        if not self.places:
            return
        for connection in connections:
            for standing in connection.standings.values():
                connection.file = connection.file or self._file_of(standing.frames or (standing.first_kept,))
                standing.frames = tuple(self._frame(frame) for frame in standing.frames)
                standing.first_kept = self._frame(standing.first_kept)
            for number, finding in enumerate(connection.findings):
                connection.file = connection.file or self._file_of((finding.frame,))
                connection.findings[number] = finding.renumbered(self._frame)
            connection.interface = Path(connection.file).name or connection.interface

    @property
    def beside(self) -> dict[str, set[str]]:
        """The hosts at which each capture was made."""
        return {name: _hosts(self.pairing, number) for number, name in enumerate(self.names)}

    def not_on_the_way(self, damaged: list[Damaged]) -> list[Damaged]:
        """Without the packets that left their source undamaged, and named by the frames of the captures."""
        on_the_way = set()
        for direction in self.pairing.directions:
            rows = direction.packets
            point = self.pairing.points[1 - direction.at_source]
            frames = point.frame[rows.arrived[self._damaged(direction)]]
            on_the_way |= {(1 - direction.at_source, frame) for frame in frames.tolist()}
        kept = []
        for one in damaged:
            capture, frame = self._place(one)
            if (capture, frame) not in on_the_way:
                kept.append(replace(one, frame=frame, interface=self.names[capture]))
        return kept

    def _damaged(self, direction: Direction) -> npt.NDArray[np.bool_]:
        """Rows of packets that arrived with other bytes, copies of them too."""
        rows = direction.packets
        damaged = rows.seen == Seen.DAMAGED
        copies = rows.original >= 0
        damaged[copies] = damaged[rows.original[copies]]
        return np.asarray(damaged & (rows.arrived >= 0))

    def _place(self, one: Damaged) -> tuple[int, int]:
        """Capture and frame there."""
        if self.places:
            return self.places[one.frame - 1]
        second = self.pairing.points[1]
        return int(bool((second.frame == one.frame).any())), one.frame

    def _file_of(self, frames: tuple[int, ...]) -> str:
        known = [frame for frame in frames if 0 < frame <= len(self.places)]
        return self.names[self.places[known[0] - 1][0]] if known else ""

    def _frame(self, frame: int) -> int:
        return self.places[frame - 1][1] if 0 < frame <= len(self.places) else frame


@contextmanager
def of_two_files(sender: Path, receiver: Path) -> Iterator[Ends]:
    """--sender and --receiver. JudgeError states why they cannot be paired, or that they are exchanged."""
    pairing = pair_files(sender, receiver)
    _complain_if_exchanged(pairing, sender, receiver)
    with tempfile.TemporaryDirectory(prefix="netblt-ends-") as folder:
        merged = Path(folder) / "both.pcapng"
        _merge(sender, receiver, merged)
        with pcapng_of(sender) as file:
            interfaces = sum(isinstance(item, captures.Interface) for item in captures.items(file))
        ends = Ends(pairing, merged, (str(sender), str(receiver)), "")
        counted = [0, 0]
        for packet in captures.read(merged):
            capture = int(packet.interface.number >= interfaces)
            counted[capture] += 1
            ends.places.append((capture, counted[capture]))
        at = pairing.points[0].interface, interfaces + pairing.points[1].interface
        _state_points(ends, at)
        yield ends


@contextmanager
def of_one_file(path: Path) -> Iterator[Ends]:
    """--captured-at ends: a file with two interfaces, one at each end."""
    found = points(path)
    if len(found) != 2:
        what = f"NETBLT packets of {len(found)} interface{'s' * (len(found) != 1)}" if found else "no NETBLT packet"
        raise JudgeError(f"holds {what}; --captured-at ends wants two interfaces, one at each end")
    ends = Ends(pair(found[0], found[1]), path, (found[0].name, found[1].name), "")
    _state_points(ends, (found[0].interface, found[1].interface))
    yield ends


def paired(path: Path) -> Pairing | None:
    """What a file with two interfaces shows of the path between them; None when it shows nothing."""
    try:
        found = points(path)
        return pair(found[0], found[1]) if len(found) == 2 else None
    except JudgeError:
        return None


def _merge(first: Path, second: Path, output: Path) -> None:
    program = shutil.which("mergecap")
    if program is None:
        raise JudgeError("mergecap is not installed (package wireshark-common); run tools/setup")
    command = [program, "-I", "none", "-F", "pcapng", "-w", str(output), str(first), str(second)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise JudgeError(f"mergecap failed: {last_line(done.stderr)}")


def _state_points(ends: Ends, interfaces: tuple[int, int]) -> None:
    """The preference: the hosts at each point. A capture that lacks packets is not taken for all that its end sent and
    received."""
    names = [_NOWHERE] * (max(interfaces) + 1)
    for number, interface in enumerate(interfaces):
        missed, unseen = ends.pairing.missed_by(number), unseen_arrivals(ends.pairing, number)
        if missed:
            ends.notes.append(
                f"{ends.names[number]} lacks {_packets(missed)} that passed there: what it does not show may have "
                "happened"
            )
        if unseen:
            ends.notes.append(
                f"{ends.names[number]} does not show the arrival of {_packets(unseen)} that its end confirms: the "
                "capture missed them, or the end confirms what never arrived (CTRL-06, CTRL-14)"
            )
        if not missed and not unseen:
            names[interface] = " ".join(sorted(_hosts(ends.pairing, number))) or _NOWHERE
    ends.preference = ",".join(names)


def _packets(count: int) -> str:
    return f"{count} packet{'s' * (count != 1)}"


def _hosts(pairing: Pairing, number: int) -> set[str]:
    """The addresses nearest to a point, as it shows them."""
    near = {one.source.source for one in pairing.directions if one.at_source == number}
    return near | {one.destination.destination for one in pairing.directions if one.at_source != number}


def _data_packets(pairing: Pairing, direction: Direction) -> int:
    point = pairing.points[direction.at_source]
    sent = direction.packets.sent[direction.packets.sent >= 0]
    return sum(len(point.head[row]) > 3 and point.head[row][3] in _DATA_TYPES for row in np.unique(sent).tolist())


def _complain_if_exchanged(pairing: Pairing, sender: Path, receiver: Path) -> None:
    sent: Counter[int] = Counter()
    for direction in pairing.directions:
        sent[direction.at_source] += _data_packets(pairing, direction)
    if sent[1] and not sent[0]:
        address = next(one.source.source for one in pairing.directions if one.at_source == 1)
        raise JudgeError(
            f"--sender and --receiver are exchanged: {address} sends the data, and {receiver} was captured nearer to "
            f"it than {sender}"
        )
