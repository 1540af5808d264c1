# SPDX-License-Identifier: GPL-2.0-or-later
"""A real transfer with the printed command lines, between network namespaces with the path's impairments."""

from __future__ import annotations

import dataclasses
import hashlib
import random
import tempfile
import time
from pathlib import Path as File

from netblt_conformance.common import paths

from netblt_plan import command_lines
from netblt_plan.lab import B, Lab, LabError, the_link
from netblt_plan.path import Path, Settings, run_of
from netblt_plan.simulate import statements

_SLACK_S = 60.0
_LOOK_S = 0.005


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """What a real transfer took, from the start of the sender until the receiver has stored the file."""

    size: int
    seconds: float


def run(path: Path, settings: Settings, size: int, seed: int, expected_s: float) -> Trial:
    """Transfers `size` random bytes with the two command lines of the plan. LabError when the namespaces cannot be
    made, a program fails, or the file that arrives is another one."""
    _, link = the_link(run_of(path, settings, size).tables)
    with tempfile.TemporaryDirectory() as folder, Lab(statements(link), seed, every_packet=path.udp) as lab:
        source, copy = File(folder) / "source", File(folder) / "copy"
        source.write_bytes(random.Random(seed).randbytes(size))
        receiver = lab.start(_built(command_lines.receiver(path, settings, str(copy))), lab.b)
        lab.await_words("waiting for a sender", receiver)
        started = time.monotonic()
        sender = lab.start(_built(command_lines.sender(path, settings, str(source), B)), lab.a)
        limit_s = 4 * expected_s + _SLACK_S
        while not copy.is_file() and time.monotonic() - started < limit_s and sender.process.poll() is None:
            time.sleep(_LOOK_S)
        seconds = time.monotonic() - started
        for program, ended in ((sender, sender.end(_SLACK_S)), (receiver, receiver.end(_SLACK_S))):
            if ended.status != 0:
                raise LabError(f"{' '.join(program.words)}: exit status {ended.status}: {ended.err.strip()[-300:]}")
        if not copy.is_file() or _digest(copy) != _digest(source):
            raise LabError("the file that arrived differs from the one that was sent")
        return Trial(size, seconds)


def _built(words: list[str]) -> list[str]:
    """The same command line with the program of this tree."""
    assert words[0] == "netblt"
    return [str(paths.build() / "bin" / "netblt"), *words[1:]]


def _digest(file: File) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()
