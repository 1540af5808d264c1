# SPDX-License-Identifier: GPL-2.0-or-later
"""What a Dask worker does for a campaign: it checks that it has the campaign's version of the project, keeps a copy of
the library under test, and hands blocks of units to runner processes."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from netblt_conformance.adapter.adapter import AdapterError
from netblt_conformance.campaign import identity
from netblt_conformance.campaign.errors import MismatchError, NotDeliveredError, RunnerError, library
from netblt_conformance.campaign.kind import Subject
from netblt_conformance.campaign.messages import Answer, Order, Setup
from netblt_conformance.common.kept import kept_file, kept_text
from netblt_conformance.common.paths import root
from netblt_conformance.common.words import last_lines

_SUBJECT = "implementation under test"
# tshark, which root runs as nobody, must reach the plugin in the folder.
_PASSABLE = 0o711


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """For the temporary files of processes that are killed, and remove none of them."""
    folder = tempfile.TemporaryDirectory(prefix="netblt-campaign-")
    Path(folder.name).chmod(_PASSABLE)
    return folder


@dataclass(frozen=True, slots=True)
class Package:
    """What each worker gets once: the campaign, and the library under test."""

    id: str
    description: dict[str, Any]
    project: dict[str, str]
    subject: str
    adapter: str = ""
    library: str = ""  # name of the file
    content: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Task:
    """Run these units, as this block."""

    campaign: str
    block: int
    first: int
    stop: int


class Runner:
    """One runner process."""

    def __init__(self, package: Package, subject: Subject, folder: Path) -> None:
        """`folder`: where its temporary files lie. It is killed, and removes none of them."""
        self._errors = kept_file()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "netblt_conformance.campaign.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            # Ctrl-C in the terminal of the command is not a signal of the implementation. No session of its own: Linux
            # shares a processor between sessions before it looks at "nice".
            process_group=0,
            cwd=root(),
            env={**os.environ, "PYTHONPATH": str(root() / "conformance"), "TMPDIR": str(folder)},
        )
        self._send(Setup(package.description, subject, os.getpid()))

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has died: seen when its answer is read
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()

    def run(self, order: Order) -> bytes:
        """RunnerError when there is no result."""
        assert self._process.stdout is not None
        self._send(order)
        try:
            answer: Answer = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            code, errors = self._process.wait(), kept_text(self._errors)
            why = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            raise RunnerError(last_lines(errors) or f"the process of the units {why}") from None
        if answer.error:
            raise RunnerError(answer.error)
        return answer.content

    def end(self) -> None:
        """At once, whatever it does; its children end with it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            assert pipe is not None
            _close(pipe)


def _close(pipe: IO[bytes]) -> None:
    with contextlib.suppress(OSError):
        pipe.close()


class Place:
    """A campaign in a worker."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self._lock = threading.Lock()
        self._runners: list[Runner] = []
        self._idle: list[Runner] = []
        self._mismatch: str | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="netblt-campaign-"))  # only this user can read it
        self._temporary = temporary_folder()

    def subject(self) -> Subject:
        if self.package.library:
            copy = self._folder / self.package.library
            if not copy.is_file():
                copy.write_bytes(self.package.content)
            return Subject(library=copy)
        return Subject(adapter=Path(self.package.adapter) if self.package.adapter else None)

    def mismatch(self) -> str:
        """How this machine differs from the one that began the campaign; empty: in nothing."""
        if self._mismatch is None:
            wanted, found = dict(self.package.project), dict(identity.project())
            if self.package.subject:
                wanted[_SUBJECT] = self.package.subject
                try:
                    found[_SUBJECT] = identity.of_subject(self.subject())
                except (OSError, AdapterError) as error:
                    found[_SUBJECT] = f"none ({error})"
            different = identity.differences(wanted, found)
            self._mismatch = f"{socket.gethostname()}: {', '.join(different)}" if different else ""
        return self._mismatch

    def _started(self) -> Runner:
        runner = Runner(self.package, self.subject(), Path(self._temporary.name))
        self._runners.append(runner)
        return runner

    def run(self, task: Task, worker: str) -> bytes:
        if self.mismatch():
            raise MismatchError(self.mismatch())
        with self._lock:
            runner = self._idle.pop() if self._idle else self._started()
        order = Order(task.block, task.first, task.stop, worker, socket.gethostname())
        try:
            content = runner.run(order)
        except BaseException:
            runner.end()
            with self._lock:
                self._runners.remove(runner)
            raise
        with self._lock:
            self._idle.append(runner)
        return content

    def end(self) -> None:
        with self._lock:
            for runner in self._runners:  # also those that work
                runner.end()
            self._idle.clear()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._temporary.cleanup()


_places: dict[str, Place] = {}


def arrive(package: Package) -> None:
    """This worker takes part in a campaign."""
    if package.id not in _places:
        _places[package.id] = Place(package)


def leave(campaign: str) -> None:
    """It does not any more: its runners end."""
    place = _places.pop(campaign, None)
    if place is not None:
        place.end()


def mismatch(campaign: str) -> str:
    """Of this worker. Run on each before the first block."""
    return _places[campaign].mismatch() if campaign in _places else ""


def run_task(task: Task) -> bytes:
    """The Dask task: a block as a Parquet file."""
    place = _places.get(task.campaign)
    if place is None:
        raise NotDeliveredError(task.campaign)
    return place.run(task, str(library("distributed").get_worker().name))
