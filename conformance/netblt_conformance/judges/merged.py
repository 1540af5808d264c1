# SPDX-License-Identifier: GPL-2.0-or-later
"""Many small captures as one file, so that one tshark judges them all: each keeps an interface of its own, and the
plugin judges every interface by itself."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.common.errors import JudgeError
from netblt_conformance.packets.frames import count_packets

# mergecap holds all its inputs open; a process may open 1024 files.
FILES_AT_A_TIME = 400


@dataclass(frozen=True, slots=True)
class Part:
    """One capture inside the merged one."""

    path: Path
    first_frame: int  # of the merged capture; the part's own first frame is 1
    frames: int

    @property
    def name(self) -> str:
        return self.path.name


def merge(captures: Sequence[Path], output: Path) -> list[Part]:
    """Writes `output`; frames keep their order, file after file. At most FILES_AT_A_TIME captures."""
    program = shutil.which("mergecap")
    if program is None:
        raise JudgeError("mergecap is not installed (package wireshark-common); run tools/setup")
    command = [program, "-a", "-I", "none", "-F", "pcapng", "-w", str(output), *map(str, captures)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise JudgeError(f"mergecap failed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    parts, next_frame = [], 1
    for capture in captures:
        packets = count_packets(capture)
        parts.append(Part(capture, next_frame, packets))
        next_frame += packets
    return parts
