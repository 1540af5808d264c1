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
    names = [str(capture) for capture in captures]
    _wireshark("mergecap", "-a", "-I", "none", "-F", "pcapng", "-w", str(output), *names)
    # Raw numbers in a table of two columns, without a header: file, packets.
    counts = _wireshark("capinfos", "-r", "-T", "-M", "-c", *names).splitlines()
    parts, next_frame = [], 1
    for capture, line in zip(captures, counts, strict=True):
        packets = int(line.rpartition("\t")[2])
        parts.append(Part(capture, next_frame, packets))
        next_frame += packets
    return parts


def _wireshark(program: str, *arguments: str) -> str:
    """The output of one of Wireshark's programs."""
    path = shutil.which(program)
    if path is None:
        raise JudgeError(f"{program} is not installed (package wireshark-common); run tools/setup")
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise JudgeError(f"{program} failed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    return done.stdout
