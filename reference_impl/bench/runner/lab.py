# SPDX-License-Identifier: BSD-2-Clause
"""Two hosts on a line: network namespaces joined by veth, directly or through the bad network `flakeway`.

A namespace lives as long as the process that holds it, and that process dies with us. Each measurement gets a fresh
lab: no route cache, no socket and no TCP metric of the run before.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from .processes import BenchError, Program, run

A, B = "10.99.0.1", "10.99.0.2"
MTU_BYTES = 1500
SENDER_CPU, RECEIVER_CPU = 0, 1
RELAY_PRIORITY, END_PRIORITY = 2, 1  # real-time; the line does not wait for the hosts
ETHERNET_HEADER_BYTES = 14
TCP_WINDOW_MAX_BYTES = 64 << 20  # more than any path of the benchmark holds: TCP shall not be limited by memory
HOLD_S = 24 * 3600


@dataclass(frozen=True)
class Line:
    """A line as flakeway makes it, the same both ways."""

    name: str
    rate_mbit: float
    round_trip_ms: float
    loss_percent: float = 0
    reorder_percent: float = 0
    reorder_ms: float = 5
    queue_ms: float = 100

    def options(self, seed: int) -> list[str]:
        options = ["--rate", f"{self.rate_mbit:g}Mbit", "--delay", f"{self.round_trip_ms / 2:g}ms",
                   "--queue", f"{self.queue_ms:g}ms", "--seed", str(seed)]  # fmt: skip
        if self.loss_percent:
            options += ["--loss", f"{self.loss_percent:g}%"]
        if self.reorder_percent:
            options += ["--reorder", f"{self.reorder_percent:g}% by {self.reorder_ms:g}ms"]
        return options


def namespace_of(pid: int | str) -> Path:
    return Path(f"/proc/{pid}/ns/net").readlink()


class Lab:
    """Hosts `a` (which sends) and `b`. Use as a context manager."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self.a, self.b = self._namespace(), self._namespace()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _namespace(self) -> int:
        own = namespace_of("self")
        holder = self._stack.enter_context(Program(["unshare", "--net", "sleep", str(HOLD_S)]))
        for _ in range(250):
            with contextlib.suppress(OSError):
                if namespace_of(holder.pid) != own:
                    return holder.pid
            if not holder.running():
                break
            time.sleep(0.02)
        raise BenchError("cannot make a network namespace: run as root, or inside 'unshare -Ur'")

    def _ip(self, namespace: int, text: str) -> None:
        run(["ip", *text.split()], namespace=namespace)

    def _address(self, namespace: int, address: str) -> None:
        for interface in ("lo", "eth0"):
            self._ip(namespace, f"link set {interface} addrgenmode none up")
        self._ip(namespace, f"address add {address}/24 dev eth0")
        for name in ("tcp_rmem", "tcp_wmem"):
            setting = f"/proc/sys/net/ipv4/{name}"
            with contextlib.suppress(BenchError):  # read-only in some containers
                run(["sh", "-c", f"echo '4096 131072 {TCP_WINDOW_MAX_BYTES}' >{setting}"], namespace=namespace)

    def connect(self) -> Self:
        """One line from host to host."""
        self._ip(self.a, f"link add eth0 mtu {MTU_BYTES} type veth peer name eth0 mtu {MTU_BYTES} netns {self.b}")
        self._address(self.a, A)
        self._address(self.b, B)
        return self

    def program(self, argv: list[str], *, sends: bool, pinned: bool = True, stdin: str = "/dev/null",
                priority: int = 0) -> Program:  # fmt: skip
        """Starts a program on the sending or the receiving host."""
        cpu = (SENDER_CPU if sends else RECEIVER_CPU) if pinned else None
        namespace = self.a if sends else self.b
        return self._stack.enter_context(Program(argv, namespace=namespace, cpu=cpu, stdin=stdin, priority=priority))


class PathLab(Lab):
    """Both hosts on a path of flakeway's."""

    def __init__(self, flakeway: Path, path: Line, seed: int, traffic: list[str]) -> None:
        """`traffic` states what flakeway impairs: ["--all-ip"] or ["--udp-port", "9980"]."""
        super().__init__()
        try:
            self.middle = self._namespace()
            for side, namespace, address in (("left", self.a, A), ("right", self.b, B)):
                self._ip(
                    self.middle,
                    f"link add {side} mtu {MTU_BYTES} type veth peer name eth0 mtu {MTU_BYTES} netns {namespace}",
                )
                self._ip(self.middle, f"link set {side} addrgenmode none up")
                self._address(namespace, address)
                run([sys.executable, Path(__file__).with_name("offload.py"), "eth0"], namespace=namespace)
            self._words: list[str | Path] = [flakeway, "--left", "left", "--right", "right", "--json", *traffic]
            self._path, self._seed = path, seed
            self.relay = self._start([*self._words, *path.options(seed)])
        except BaseException:
            self._stack.close()
            raise

    def _start(self, argv: list[str | Path]) -> Program:
        """Real-time priority keeps delays exact on a busy machine; where that is not allowed, without."""
        for priority in (RELAY_PRIORITY, 0):
            relay = self._stack.enter_context(Program(argv, namespace=self.middle, priority=priority))
            self.end_priority = min(priority, END_PRIORITY)
            until = time.monotonic() + 5
            while time.monotonic() < until and relay.running():
                if "flakeway: ready" in relay.peek():
                    return relay
                time.sleep(0.01)
            ended = relay.end()
        raise BenchError(f"flakeway does not start: {ended.last_words}")

    def sent_by_a(self) -> int:
        """Bytes of IP packets that host a has put on the line."""
        (link,) = json.loads(run(["ip", "-s", "-j", "link", "show", "dev", "left"], namespace=self.middle))
        received = link["stats64"]["rx"]
        return int(received["bytes"]) - ETHERNET_HEADER_BYTES * int(received["packets"])

    def wire_bytes(self) -> int:
        """Bytes of IP packets that both hosts have put on the line. Cheap: may be asked often."""
        total = 0
        for line in Path(f"/proc/{self.middle}/net/dev").read_text().splitlines():
            interface, _, figures = line.partition(":")
            if interface.strip() in ("left", "right"):
                received_bytes, packets = figures.split()[:2]
                total += int(received_bytes) - ETHERNET_HEADER_BYTES * int(packets)
        return total

    def keep_neighbours(self) -> None:
        """The hosts keep each other's Ethernet addresses: an outage is then one beyond the next hop, as it mostly is,
        and no host notices that the line is down."""
        addresses = {}
        for namespace in (self.a, self.b):
            (link,) = json.loads(run(["ip", "-j", "link", "show", "dev", "eth0"], namespace=namespace))
            addresses[namespace] = link["address"]
        for namespace, peer, address in ((self.a, self.b, B), (self.b, self.a, A)):
            self._ip(namespace, f"neighbour replace {address} lladdr {addresses[peer]} dev eth0 nud permanent")

    def cut(self) -> None:
        """From now on nothing passes; what was on its way is lost."""
        self.relay.end()

    def join(self, path: Line | None = None) -> None:
        """After `cut`: the line is up again, as before or like `path`."""
        self._path = path or self._path
        self.relay = self._start([*self._words, *self._path.options(self._seed)])

    def interrupt(self, seconds: float) -> None:
        """Nothing passes for so long; what was on its way is lost."""
        self.cut()
        time.sleep(seconds)
        self.join()

    def dropped_by_own_queue(self) -> tuple[int, int]:
        """Ends the relay: packets of host a that found the queue full, and all that it sent."""
        ended = self.relay.end()
        told = json.loads(ended.out.strip().splitlines()[-1])["a_to_b"]
        if told["kernel_drops"]:
            raise BenchError(f"the relay was too slow: the kernel dropped {told['kernel_drops']} packets")
        return int(told["dropped_by_queue"]), int(told["seen"])


def wait_until_open(program: Program, table: str, port: int, timeout_s: float = 10) -> None:
    """Waits until the program's namespace has a socket with this local port in /proc/PID/net/TABLE."""
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        if not program.running():
            raise BenchError(f"{program.name}: {program.end().last_words}")
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{program.pid}/net/{table}").read_text().splitlines()[1:]
            inside = namespace_of(program.pid) != namespace_of("self")
            if inside and any(line.split()[1].endswith(f":{port:04X}") for line in lines):
                return
        time.sleep(0.01)
    raise BenchError(f"{program.name} does not listen after {timeout_s:g} s")


def intervals_within(intervals: list[int], step_s: float, first_s: float, begin_s: float, end_s: float) -> float:
    """Bytes between two moments, from bytes per interval counted since `first_s`; parts of intervals count in part."""
    total = 0.0
    for index, count in enumerate(intervals):
        start = first_s + index * step_s
        share = min(start + step_s, end_s) - max(start, begin_s)
        total += count * max(0.0, share) / step_s
    return total
