# SPDX-License-Identifier: BSD-2-Clause
"""The ways in which two netblt commands move something, and both ends as processes that can be killed."""

from __future__ import annotations

import functools
import subprocess
from dataclasses import dataclass
from pathlib import Path

import lab
from field import Program

HOST = "127.0.0.1"
DEATH_TIMER_S = 2
BUFFER_BYTES = 65536
SANITIZER_WORDS = ("Sanitizer: ", "runtime error: ")


@dataclass(frozen=True)
class Way:
    """Which command runs at each end. `passive`: the role that waits; `listens`: it is netblt listen."""

    name: str
    passive: str
    listens: bool
    tree: bool


WAYS = [
    Way("file-push", "receiver", listens=False, tree=False),
    Way("file-pull", "sender", listens=False, tree=False),
    Way("push", "receiver", listens=False, tree=True),
    Way("pull", "sender", listens=False, tree=True),
    Way("store", "receiver", listens=True, tree=True),
    Way("fetch", "sender", listens=True, tree=True),
]


@dataclass(frozen=True)
class Job:
    """One thing that is moved: `source` to `copy`. `interval_ms`: of bursts of 16 packets; 0 = unpaced. `buffers`: so
    many are outstanding at most. `options`: of each role, in addition."""

    netblt: str
    host: lab.Host
    way: Way
    source: Path
    copy: Path
    scratch: Path
    interval_ms: int
    buffers: int
    options: dict[str, list[str]]

    def _common(self) -> list[str]:
        return ["--encap", "udp", "--death-timer", str(DEATH_TIMER_S)]

    def _pace(self) -> list[str]:
        return ["--burst-size", "16", "--burst-interval", str(self.interval_ms), "--packet-size", "1448",
                "--buffer-size", str(BUFFER_BYTES), "--max-buffers", str(self.buffers)]  # fmt: skip

    def words(self, role: str) -> list[str]:
        """The command of one end."""
        if role == self.way.passive and self.way.listens:
            root = self.copy.parent if role == "receiver" else self.source.parent
            force = ["--force"] if role == "receiver" else []
            return ["listen", "--root", str(root), *force, *self._common(), "--max-idle", "5", "--min-progress", "1"]
        # A tree comes under its own name beneath a directory, a file gets a name that is given.
        target = f"{self.copy.parent}/" if self.way.tree else str(self.copy)
        place = str(self.source) if role == "sender" else target
        words = ["send" if role == "sender" else "recv", place, *self.options[role]]
        if role == self.way.passive:
            return [*words, "--passive", *self._common()]
        named = ["--client-string", self.source.name] if self.way.listens and role == "receiver" else []
        return [*words, HOST, "--open-timeout", "3", *named, *self._common(), *self._pace()]


class Ends:
    """Both processes. A role that is not running can be started again with the same command."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.active = "sender" if job.way.passive == "receiver" else "receiver"
        self.programs: dict[str, Program] = {}
        self.outputs: list[str] = []
        self.crashes: list[str] = []
        self._killed: set[str] = set()

    def running(self, role: str) -> bool:
        return role in self.programs and self.programs[role].running

    def start(self) -> None:
        """Starts what does not run, the passive end first, which waits afterwards."""
        for role in (self.job.way.passive, self.active):
            if self.running(role):
                continue
            self._forget(role)
            self.programs[role] = Program(self.job.host, self.job.scratch, self.job.netblt, *self.job.words(role))
            if role == self.job.way.passive:
                self._wait_until_waiting(self.programs[role])

    def _wait_until_waiting(self, program: Program) -> None:
        lab.wait_until(lambda: "waiting" in program.words or not program.running, "the passive end waits")

    def _forget(self, role: str) -> None:
        if program := self.programs.pop(role, None):
            by_signal = program.process.returncode < 0 and role not in self._killed
            if by_signal or any(words in program.words for words in SANITIZER_WORDS):
                self.crashes.append(f"{role} crashed: {program.process.returncode}: {program.words[-2000:]}")
            self._killed.discard(role)
            self.outputs.append(f"{role}: {program.process.returncode}: {program.last_error}")
            program.out.unlink()
            program.err.unlink()

    def kill(self, role: str) -> None:
        if self.running(role):
            self._killed.add(role)
            self.programs[role].end()

    def status(self, role: str) -> int | None:
        return self.programs[role].process.poll()

    def end(self) -> None:
        for role in list(self.programs):
            self.kill(role)
            self._forget(role)


@functools.cache
def resumes(netblt: str) -> bool:
    """This command moves trees and resumes."""
    text = subprocess.run([netblt, "send", "--help"], capture_output=True, text=True, check=True).stdout
    return "--retry" in text
