# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts for the command `netblt`: anonymous network namespaces joined by a cable, or loopback for who is not root.

A namespace lives as long as a file descriptor or a process in it: nothing has to be removed afterwards.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netblt_conformance.common import namespaces
from netblt_conformance.common.child import die_with_parent

REPOSITORY = Path(__file__).resolve().parents[2]
NETBLT = Path(os.environ.get("NETBLT_BIN", REPOSITORY / "build" / "bin" / "netblt"))

DEADLINE_S = 60.0  # nothing here takes so long, on any machine


@dataclass
class Host:
    """Where a process runs: a network namespace, or this one (namespace_fd None)."""

    address: str
    namespace_fd: int | None = None
    interface: str = "lo"

    @contextmanager
    def inside(self) -> Iterator[None]:
        """The calling thread works in this host's namespace."""
        if self.namespace_fd is None:
            yield
            return
        with namespaces.elsewhere(self.namespace_fd):
            yield

    def ip(self, *arguments: str) -> None:
        """Runs ip(8) in here."""
        with self.inside():
            subprocess.run(["ip", *arguments], check=True, timeout=DEADLINE_S)


@dataclass
class Process:
    """One running `netblt`. Output goes to files, so that it never waits for a reader."""

    popen: subprocess.Popen[bytes]
    stdout: Path
    stderr: Path

    @property
    def errors(self) -> str:
        return self.stderr.read_text(errors="replace")

    @property
    def error_lines(self) -> list[str]:
        """What it complained about: all of stderr but the notice that it waits."""
        return [line for line in self.errors.splitlines() if ": waiting for " not in line]

    @property
    def json_lines(self) -> list[dict[str, Any]]:
        """What it has written so far: an object for each line. A line that it is still writing is left out."""
        return [json.loads(line) for line in self.stdout.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def wait(self, seconds: float = DEADLINE_S) -> int:
        return self.popen.wait(timeout=seconds)

    def send_signal(self, number: signal.Signals) -> None:
        self.popen.send_signal(number)

    def wait_until_it_waits(self) -> None:
        """A passive end reports on stderr that it can be opened."""
        self.wait_until(lambda: ": waiting for " in self.errors, "it waits for a peer")

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = DEADLINE_S) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if self.popen.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"never came so far that {what}; stderr: {self.errors}")
            time.sleep(0.005)

    def wait_until_signals_are_taken(self) -> None:
        """A second signal of the same kind would not count before."""
        self.wait_until(lambda: self._pending_signals() == 0, "it looks at its signals")

    def _pending_signals(self) -> int:
        status = Path(f"/proc/{self.popen.pid}/status").read_text()
        return sum(int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigPnd", "ShdPnd")))

    @property
    def report(self) -> dict[str, Any]:
        """The --json object: exactly one, on a line of its own."""
        lines = self.stdout.read_text().splitlines()
        assert len(lines) == 1, f"--json wrote {len(lines)} lines"
        parsed = json.loads(lines[0])
        assert isinstance(parsed, dict)
        return parsed

    def end(self) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()


@dataclass
class Lab:
    """Two hosts, `here` and `there`, and the processes on them."""

    here: Host
    there: Host
    directory: Path
    encap: str
    udp_port: int
    processes: list[Process] = field(default_factory=list)

    def start(
        self,
        host: Host,
        *arguments: str | Path,
        stdin: Path | int | None = None,
        stdout: int | None = None,
        prepare: Callable[[], None] | None = None,
        encap: str | None = None,
        program: Path = NETBLT,
    ) -> Process:
        """Starts `netblt ARGUMENTS` on `host`, with the options for the lab's encapsulation."""
        return self.start_raw(
            host,
            [*map(str, arguments), *self.encap_options(encap)],
            stdin=stdin,
            stdout=stdout,
            prepare=prepare,
            program=program,
        )

    def encap_options(self, encap: str | None = None) -> list[str]:
        if (encap or self.encap) == "udp":
            return ["--encap", "udp", "--udp-port", str(self.udp_port)]
        return ["--encap", "ip"]

    def start_raw(
        self,
        host: Host,
        arguments: Sequence[str],
        *,
        stdin: Path | int | None = None,
        stdout: int | None = None,
        prepare: Callable[[], None] | None = None,
        program: Path = NETBLT,
    ) -> Process:
        number = len(self.processes)
        out, err = self.directory / f"{number}.stdout", self.directory / f"{number}.stderr"

        def in_child() -> None:
            die_with_parent()
            if host.namespace_fd is not None:
                namespaces.enter(host.namespace_fd)
            if prepare is not None:
                prepare()

        with out.open("wb") as out_file, err.open("wb") as err_file:
            source: Any = subprocess.DEVNULL if stdin is None else stdin
            opened = source.open("rb") if isinstance(source, Path) else None
            try:
                popen = subprocess.Popen(
                    [str(program), *arguments],
                    stdin=opened or source,
                    stdout=out_file if stdout is None else stdout,
                    stderr=err_file,
                    preexec_fn=in_child,
                )
            finally:
                if opened is not None:
                    opened.close()
        process = Process(popen, out, err)
        self.processes.append(process)
        return process

    def wait_for_peer(self, host: Host, *arguments: str | Path, **more: Any) -> Process:
        """Starts a passive end and returns when it can be opened."""
        process = self.start(host, *arguments, "--passive", **more)
        process.wait_until_it_waits()
        return process

    def close(self) -> None:
        for process in self.processes:
            process.end()
        for host in (self.here, self.there):
            if host.namespace_fd is not None:
                os.close(host.namespace_fd)


def is_root() -> bool:
    return os.geteuid() == 0


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def make_lab(directory: Path, encap: str) -> Lab:
    """Two namespaces and a cable for root; loopback otherwise."""
    if not NETBLT.exists():
        raise FileNotFoundError(f"{NETBLT} is not built: run tools/build")
    if not is_root():
        alone = Host("127.0.0.1")
        return Lab(alone, alone, directory, encap, free_udp_port())
    here = Host("10.9.0.1", namespaces.new_namespace(), "left")
    there = Host("10.9.0.2", namespaces.new_namespace(), "right")
    here.ip(
        "link",
        "add",
        "left",
        "type",
        "veth",
        "peer",
        "name",
        "right",
        "netns",
        f"/proc/{os.getpid()}/fd/{there.namespace_fd}",
    )
    for host in (here, there):
        host.ip("link", "set", "lo", "up")
        host.ip("link", "set", host.interface, "addrgenmode", "none", "up")
        host.ip("address", "add", f"{host.address}/24", "dev", host.interface)
    return Lab(here, there, directory, encap, 9980)
