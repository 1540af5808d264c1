# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of `netblt listen` share: a directory that is served, and peers that fetch from it and store in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selftest.netblt_command_lab import Lab, Process


@contextmanager
def meanwhile(run: Callable[[threading.Event], None]) -> Iterator[None]:
    """`run` goes on in a thread until it sees the event, which is set at the end."""
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def make_root(folder: Path) -> Path:
    """The directory to serve, in `folder`, with a directory `inner` in it."""
    served = folder / "served"
    (served / "inner").mkdir(parents=True)
    return served


def serve(lab: Lab, root: Path, *options: str, **more: Any) -> Process:
    """A server that can be asked; `more` is for Lab.start."""
    process = lab.start(lab.there, "listen", "--root", root, *options, **more)
    process.wait_until_it_waits()
    return process


def fetch(lab: Lab, name: str, target: Path, *options: str) -> Process:
    return lab.start(lab.here, "recv", target, lab.there.address, "--client-string", name, *options)


def store(lab: Lab, source: Path, name: str, *options: str) -> Process:
    return lab.start(lab.here, "send", source, lab.there.address, "--client-string", name, *options)


def reports(server: Process) -> list[dict[str, Any]]:
    """What a server with --json has written so far: a line for each transfer."""
    return server.json_lines
