# SPDX-License-Identifier: BSD-2-Clause
"""The network that attack tests run in: a server, an attacker, a victim whose addresses the attacker forges, and an
honest client, each in a network namespace of its own. Nothing outside is seen or changed."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lab

SERVER = "10.31.1.1"  # all hosts reach it under this address
CLIENT = "10.31.1.2"
CLIENTS = [f"10.31.1.{number}" for number in range(2, 34)]  # all of them on the client's host
FORGED = "100.64.0.0/10"  # the prefix of forged addresses; routed to the victim
ONE_FORGED = "100.64.1.1"
PORT = 1
UDP_PORT = 9980
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
READY_S = 10
RELAY_MAX_S = "7200"
TOO_LONG = -signal.SIGKILL  # the exit status of a process that did not end in time


@dataclass
class Settings:
    """The command line of a test."""

    netblt: str
    forge: str
    flakeway: str | None
    full: bool


def figure(test: str, **values: Any) -> None:
    """Prints what was measured as one line of JSON."""
    print(json.dumps({"attack": test, **values}), flush=True)


# ---- processes --------------------------------------------------------------------------------------------------


class Program:
    """A process on a host. Its output goes to files, so that a process that prints much never waits for us."""

    def __init__(self, host: lab.Host, folder: Path, *words: str | Path, stdin: int | None = None) -> None:
        name = f"{Path(str(words[0])).name}-{time.monotonic_ns()}"
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                [str(word) for word in words],
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=out,
                stderr=err,
                text=True,
                preexec_fn=host.within,
            )

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    @property
    def words(self) -> str:
        """Everything it has printed."""
        return self.out.read_text(errors="replace") + self.err.read_text(errors="replace")

    @property
    def last_error(self) -> str:
        """The last line on standard error."""
        lines = self.err.read_text(errors="replace").splitlines()
        return lines[-1] if lines else ""

    def wait_for_words(self, words: str) -> None:
        until = time.monotonic() + READY_S
        while words not in self.words:
            assert self.running, f"it ended without '{words}': {self.words}"
            assert time.monotonic() < until, f"'{words}' was never printed: {self.words}"
            time.sleep(0.01)

    def result(self, timeout_s: float = lab.PATIENCE_S) -> int:
        """The exit status; TOO_LONG of a process that does not end in time, which is killed."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def end(self) -> None:
        if self.running:
            self.process.kill()
        self.process.wait()

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS

    def memory_kib(self, key: str = "VmRSS") -> int:
        """VmRSS: resident now. VmHWM: the most that ever was."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{key}:"))


class Forge(Program):
    """Forged packets on their way."""

    def __init__(self, settings: Settings, host: lab.Host, folder: Path, words: tuple[str, ...]) -> None:
        super().__init__(host, folder, settings.forge, *words)

    def counters(self, timeout_s: float = lab.PATIENCE_S) -> dict[str, Any]:
        """Waits until all is sent. Counts of packets and of bytes (whole IP packets)."""
        assert self.result(timeout_s) == 0, self.words
        counters: dict[str, Any] = json.loads(self.out.read_text())
        return counters


# ---- the network ------------------------------------------------------------------------------------------------


def set_kernel(host: lab.Host, name: str, value: int) -> None:
    """A setting below /proc/sys/net/ipv4 of this host."""

    def write() -> None:
        path = Path("/proc/sys/net/ipv4", name)
        if int(path.read_text()) != value:
            try:
                path.write_text(str(value))
            except OSError as problem:
                lab.skip(f"cannot set {path}: {problem.strerror}")

    host.call(write)


def accept_any_source(host: lab.Host) -> None:
    """Packets are taken from every interface, whatever address they claim to come from."""
    for name in ("all", "default"):
        set_kernel(host, f"conf/{name}/rp_filter", 0)


def join(one: lab.Host, one_name: str, other: lab.Host, other_name: str) -> None:
    """An Ethernet link. Packets are counted as they would be on a wire: nothing is left to a card to segment."""
    one.run("ip", "link", "add", "name", one_name, "type", "veth", "peer", "name", "peer0")
    one.run("ip", "link", "set", "peer0", "netns", f"/proc/{os.getpid()}/fd/{other.namespace}")
    other.run("ip", "link", "set", "peer0", "name", other_name)
    for host, name in ((one, one_name), (other, other_name)):
        host.run("ip", "link", "set", "dev", name, "addrgenmode", "none", "gso_max_segs", "1", "up")


class Field:
    """server --- client, through the relay `flakeway` where there is a round trip time; attacker --- server;
    attacker --- client; victim --- server."""

    def __init__(self, settings: Settings, folder: Path, round_trip_ms: int = 0, victim_replies: bool = False) -> None:
        self.settings, self.folder = settings, folder
        self.programs: list[Program] = []
        self.server, self.client, self.attacker, self.victim = (lab.Host() for _ in range(4))
        for host in (self.server, self.client):
            accept_any_source(host)
        if round_trip_ms:
            self._join_through_relay(round_trip_ms)
        else:
            join(self.server, "client", self.client, "server")
        join(self.server, "attacker", self.attacker, "server")
        join(self.client, "attacker", self.attacker, "client")
        join(self.server, "victim", self.victim, "server")
        self._give_addresses()
        if victim_replies:
            self._make_victim_reply()

    def _join_through_relay(self, round_trip_ms: int) -> None:
        assert self.settings.flakeway is not None
        self.middle = lab.Host()
        join(self.server, "client", self.middle, "left")
        join(self.client, "server", self.middle, "right")
        relay = Program(
            self.middle, self.folder, self.settings.flakeway, "--left", "left", "--right", "right",
            "--delay", f"{round_trip_ms / 2:g}ms", "--queue", "100000packets", "--duration", RELAY_MAX_S,
        )  # fmt: skip
        self.programs.append(relay)
        relay.wait_for_words("flakeway: ready")

    def _give_addresses(self) -> None:
        interfaces: list[tuple[lab.Host, str, list[str]]] = [
            (self.server, "client", [SERVER]),
            (self.server, "attacker", ["10.31.3.1"]),
            (self.server, "victim", ["10.31.2.1"]),
            (self.client, "server", CLIENTS),
            (self.client, "attacker", ["10.31.4.1"]),
            (self.attacker, "server", ["10.31.3.2"]),
            (self.attacker, "client", ["10.31.4.2"]),
            (self.victim, "server", ["10.31.2.2"]),
        ]
        for host, interface, addresses in interfaces:
            commands = self.folder / "addresses"  # one process for all of them
            commands.write_text("".join(f"address add {address}/24 dev {interface}\n" for address in addresses))
            host.run("ip", "-batch", str(commands))
        self.attacker.run("ip", "route", "add", f"{SERVER}/32", "via", "10.31.3.1")
        self.attacker.run("ip", "route", "add", "10.31.1.0/24", "via", "10.31.4.1")
        self.server.run("ip", "route", "add", FORGED, "via", "10.31.2.2")

    def _make_victim_reply(self) -> None:
        """Every forged address is the victim's own, and its kernel replies with ICMP unreachable, always."""
        self.victim.run("ip", "route", "add", "local", FORGED, "dev", "lo")
        self.victim.run("ip", "route", "add", "10.31.1.0/24", "via", "10.31.2.1")
        set_kernel(self.victim, "icmp_ratelimit", 0)

    def forge(self, *words: str, to: str = SERVER, source: str = FORGED) -> Forge:
        """Starts forged packets. Words: see forge.c."""
        forged = Forge(self.settings, self.attacker, self.folder, ("--to", to, "--from", source, *words))
        self.programs.append(forged)
        return forged

    def victim_bytes(self) -> int:
        """Bytes of the IP packets that have reached the victim."""
        statistics = self.interface_counters(self.victim, "server")
        return statistics["bytes"] - 14 * statistics["packets"]

    @staticmethod
    def interface_counters(host: lab.Host, interface: str) -> dict[str, int]:
        (link,) = json.loads(host.run("ip", "-s", "-j", "link", "show", "dev", interface))
        counters: dict[str, int] = link["stats64"]["rx"]
        return counters

    def program(self, host: lab.Host, *words: str | Path, stdin: int | None = None) -> Program:
        program = Program(host, self.folder, self.settings.netblt, *words, stdin=stdin)
        self.programs.append(program)
        return program

    def forget(self, program: Program) -> None:
        """One that has ended: its output is removed, so that long tests do not collect it."""
        self.programs.remove(program)
        program.out.unlink()
        program.err.unlink()

    def end(self) -> None:
        for program in self.programs:
            program.end()
        for host in (self.server, self.client, self.attacker, self.victim):
            os.close(host.namespace)


class Listener:
    """`netblt listen` on the server."""

    def __init__(self, ground: Field, encap: str, *more: str) -> None:
        self.root = ground.folder / f"root-{time.monotonic_ns()}"
        self.root.mkdir()
        self.program = ground.program(ground.server, "listen", "--root", self.root, "--encap", encap, "--json", *more)
        self.program.wait_for_words("waiting for transfers")

    def file(self, name: str, size: int) -> Path:
        """A file to be fetched."""
        path = self.root / name
        path.write_bytes(os.urandom(size))
        return path

    def reports(self, name: str) -> list[dict[str, Any]]:
        """What it has printed of the transfers of this file: nothing of those that run. It may be writing a line."""
        lines = self.program.out.read_text().splitlines(keepends=True)
        reports = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]
        return [report for report in reports if report.get("file") == name]

    def wait_for_report(self, name: str) -> None:
        """Gives up in the end: the caller looks at what there is."""
        with contextlib.suppress(AssertionError):
            lab.wait_until(lambda: bool(self.reports(name)), "the listener reported the transfer")

    def leftovers(self) -> list[str]:
        """Hidden files that a transfer should have taken away."""
        return sorted(path.name for path in self.root.iterdir() if ".netblt-" in path.name)

    def end(self) -> None:
        self.program.end()


# ---- honest transfers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How an honest transfer ended."""

    upload: bool
    status: int
    equal: bool
    seconds: float
    error: str

    @property
    def problem(self) -> str:
        """Empty: the file is there, and both ends know it."""
        direction = "upload" if self.upload else "download"
        if self.status == TOO_LONG:
            return f"the {direction} did not end in time"
        if self.status != 0:
            return f"the {direction} ended with status {self.status}: {self.error}"
        return "" if self.equal else f"the {direction} ended with success and other contents"


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def are_equal(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and digest(one) == digest(other)


class Honest:
    """An honest transfer between the client's host and the listener."""

    def __init__(
        self, ground: Field, server: Listener, encap: str, upload: bool, size: int, address: str, name: str = ""
    ) -> None:
        name = name or f"honest-{time.monotonic_ns()}"
        self.upload, self.address = upload, address
        self.here, self.there = ground.folder / name, server.root / name
        (self.here if upload else self.there).write_bytes(os.urandom(size))
        self.begun, self.seconds = time.monotonic(), 0.0
        self.client = ground.program(
            ground.client, "send" if upload else "recv", self.here, SERVER, "--encap", encap, "--bind", address,
            "--json",
        )  # fmt: skip

    @property
    def ended(self) -> bool:
        """Notes the time, so it must be called often."""
        if self.seconds == 0 and not self.client.running:
            self.seconds = time.monotonic() - self.begun
        return self.seconds > 0

    def outcome(self) -> Outcome:
        """Of a transfer whose client has ended. The files are removed."""
        status = self.client.result(0)
        if status == 0:
            with contextlib.suppress(AssertionError):
                lab.wait_until(self.there.exists, "the listener gave the file its name")
        seconds = self.seconds or time.monotonic() - self.begun
        outcome = Outcome(self.upload, status, are_equal(self.here, self.there), seconds, self.client.last_error)
        for path in (self.here, self.there):
            path.unlink(missing_ok=True)
        return outcome


def wait_for_all(transfers: list[Honest], timeout_s: float = lab.PATIENCE_S) -> list[Outcome]:
    """How they ended. Those that take too long are killed."""
    until = time.monotonic() + timeout_s
    while sum(transfer.ended for transfer in transfers) < len(transfers) and time.monotonic() < until:
        time.sleep(0.005)
    return [transfer.outcome() for transfer in transfers]


# ---- tests ------------------------------------------------------------------------------------------------------

Test = Callable[[Settings, Path], None]


@contextlib.contextmanager
def playground(
    settings: Settings, folder: Path, round_trip_ms: int = 0, victim_replies: bool = False
) -> Iterator[Field]:
    ground = Field(settings, folder, round_trip_ms, victim_replies)
    try:
        yield ground
    finally:
        ground.end()


@contextlib.contextmanager
def listening(ground: Field, encap: str, *more: str) -> Iterator[Listener]:
    server = Listener(ground, encap, *more)
    try:
        yield server
    finally:
        server.end()


def main(*tests: Test) -> None:
    """Runs the tests, or those whose names contain a word of the command line. One that fails does not stop the
    others, so that all figures are printed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--netblt", required=True, help="the command under attack")
    parser.add_argument("--forge", required=True, help="the program that forges packets")
    parser.add_argument("--flakeway", help="the relay that makes a round trip time; without it such tests are left out")
    parser.add_argument("--full", action="store_true", help="every kind, encapsulation and direction: takes minutes")
    parser.add_argument("words", nargs="*", help="only tests whose names contain one of these")
    given = parser.parse_args()
    settings = Settings(given.netblt, given.forge, given.flakeway, given.full)
    lab.enter_user_namespace()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    failed = []
    for test in tests:
        name = getattr(test, "__name__", str(test))
        if given.words and not any(word in name for word in given.words):
            continue
        begin = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as folder:
                test(settings, Path(folder))
        except AssertionError as problem:
            failed.append(name)
            print(f"FAILED {name} ({time.monotonic() - begin:.1f} s): {problem}", flush=True)
        else:
            print(f"ok {name} ({time.monotonic() - begin:.1f} s)", flush=True)
    sys.exit(1 if failed else 0)
