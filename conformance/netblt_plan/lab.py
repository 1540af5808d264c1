# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts on real packets, with the flakeway between them, in network namespaces that end with this process."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Self

from netblt_conformance.common import namespaces, paths
from netblt_conformance.common.child import die_with_parent, processor_s
from netblt_conformance.common.namespaces import Offload

from netblt_plan.scenario import ScenarioError
from netblt_plan.tables import Tables

A, B = "10.98.0.1", "10.98.0.2"
MTU_BYTES = 1500
_READY_S = 5.0
_TCP_MEMORY_BYTES = 64 << 20  # more than any path here holds: memory shall not be TCP's limit
# Packets shall cross the line in their final size.
_OFFLOADS = (Offload.TCP_SEGMENTATION, Offload.SEGMENTATION, Offload.RECEIVE_COALESCING)


class LabError(ScenarioError):
    """The lab cannot be built, or a program failed in it."""


@dataclasses.dataclass(slots=True)
class Ended:
    status: int
    out: str
    err: str
    cpu_s: float


class Program:
    """A program in a namespace. Its output goes to files, so that none of it can block."""

    def __init__(self, words: Sequence[str | Path], namespace: int) -> None:
        self.words = [str(word) for word in words]

        def before_exec() -> None:
            namespaces.enter(namespace)
            die_with_parent()

        self._out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        self._err: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self.process = subprocess.Popen(
                self.words,
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=self._err,
                preexec_fn=before_exec,
            )
        except OSError as error:
            raise LabError(f"{self.words[0]}: {error.strerror}") from None

    @staticmethod
    def _text(file: IO[bytes]) -> str:
        file.seek(0)
        return file.read().decode("utf-8", "replace")

    def output(self) -> str:
        return self._text(self._out) + self._text(self._err)

    def cpu_s(self) -> float:
        """Of the program so far, user and system; 0 when it has exited."""
        return processor_s(self.process.pid)

    def end(self, timeout_s: float = 0.0, stop: signal.Signals = signal.SIGTERM) -> Ended:
        """Waits so long, then stops it."""
        before = os.times()
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.send_signal(stop)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(2)
            self.process.kill()
            self.process.wait()
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        ended = Ended(self.process.returncode, self._text(self._out), self._text(self._err), cpu)
        self._out.close()
        self._err.close()
        return ended

    def last_words(self) -> str:
        lines = [line for line in self.output().splitlines() if line.strip()]
        return lines[-1].strip() if lines else "no output"


class Lab:
    """Hosts a (which sends) and b at one link of a scenario. Use as a context manager."""

    def __init__(
        self,
        statements: Sequence[str],
        seed: int,
        *,
        every_packet: bool,
        capture: Path | None = None,
    ) -> None:
        self._programs: list[Program] = []
        self._namespaces: list[int] = []
        self._folder = tempfile.TemporaryDirectory()
        try:
            self.a, self.b, self._middle = (self._namespace() for _ in range(3))
            for side, namespace, address in (("left", self.a, A), ("right", self.b, B)):
                self._cable(side, namespace, address)
            rules = Path(self._folder.name) / "rules"
            rules.write_text("\n".join(statements) + "\n", encoding="utf-8")
            words: list[str | Path] = [paths.build() / "bin" / "flakeway", "--left", "left", "--right", "right"]
            words += ["--rules", rules, "--seed", str(seed), "--json"]
            words += ["--all-ip"] if every_packet else []
            words += ["--capture", capture] if capture else []
            self.relay = self._start_relay(words)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, words: Sequence[str | Path], namespace: int) -> Program:
        program = Program(words, namespace)
        self._programs.append(program)
        return program

    def _namespace(self) -> int:
        try:
            namespace = namespaces.new_namespace()
        except OSError as error:
            raise LabError(f"network namespaces cannot be made here ({error.strerror}): run as root") from None
        self._namespaces.append(namespace)
        return namespace

    def _ip(self, namespace: int, text: str) -> None:
        ended = Program(["ip", *text.split()], namespace).end(_READY_S)
        if ended.status != 0:
            raise LabError(f"ip {text}: {ended.err.strip()}")

    def _cable(self, side: str, namespace: int, address: str) -> None:
        host = f"/proc/{os.getpid()}/fd/{namespace}"
        ends = f"link add {side} mtu {MTU_BYTES} type veth peer name eth0 mtu {MTU_BYTES} netns {host}"
        self._ip(self._middle, ends)
        self._ip(self._middle, f"link set {side} addrgenmode none up")
        for interface in ("lo", "eth0"):
            self._ip(namespace, f"link set {interface} addrgenmode none up")
        self._ip(namespace, f"address add {address}/24 dev eth0")
        for name in ("tcp_rmem", "tcp_wmem"):  # read-only in some containers
            setting = f"echo '4096 131072 {_TCP_MEMORY_BYTES}' >/proc/sys/net/ipv4/{name}"
            Program(["sh", "-c", setting], namespace).end(_READY_S)
        with namespaces.elsewhere(namespace):
            namespaces.turn_off("eth0", _OFFLOADS)

    def _start_relay(self, words: Sequence[str | Path]) -> Program:
        """At real-time priority, which keeps delays exact on a busy machine; where that is not allowed, without."""
        for priority in (["chrt", "--fifo", "50"], []):
            relay = self.start([*priority, *words], self._middle)
            with contextlib.suppress(LabError):
                self.await_words("flakeway: ready", relay)
                return relay
        raise LabError(f"flakeway does not start: {relay.last_words()}")

    def await_socket(self, program: Program) -> None:
        """Until the program's namespace has a TCP socket that listens."""
        until = time.monotonic() + _READY_S
        while time.monotonic() < until and program.process.poll() is None:
            with contextlib.suppress(OSError):
                tables = [Path(f"/proc/{program.process.pid}/net/{name}") for name in ("tcp", "tcp6")]
                if any(" 0A " in table.read_text(encoding="ascii") for table in tables):  # TCP_LISTEN
                    return
            time.sleep(0.02)
        raise LabError(f"{program.words[0]} does not listen: {program.last_words()}")

    def await_words(self, words: str, program: Program) -> None:
        until = time.monotonic() + _READY_S
        while time.monotonic() < until and program.process.poll() is None:
            if words in program.output():
                return
            time.sleep(0.01)
        raise LabError(f"{program.words[0]} does not start: {program.last_words()}")

    def close(self) -> None:
        """Ends what it started, the newest first; the namespaces go with the last process in them."""
        for program in reversed(self._programs):
            if program.process.poll() is None:
                program.process.kill()
            program.process.wait()
        for namespace in self._namespaces:
            os.close(namespace)
        self._namespaces.clear()
        self._folder.cleanup()


def the_link(tables: Tables) -> tuple[str, Tables]:
    """Real packets have one line to cross."""
    if len(tables["link"]) != 1:
        raise ScenarioError("over real packets a scenario has exactly one link")
    name, link = next(iter(tables["link"].items()))
    if link.get("changes"):
        raise ScenarioError(f"link.{name}.changes: the relay cannot change while it runs: use the simulator")
    return name, link
