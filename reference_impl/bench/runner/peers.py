# SPDX-License-Identifier: BSD-2-Clause
"""The transports: how each one's programs are started, and what their accounts contain."""

from __future__ import annotations

import json
import math
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

from .lab import MTU_BYTES, A, B, Line
from .processes import BenchError, Ended

PORT = 7001
UDP_PORT = 9980
IP_UDP_BYTES, IP_BYTES, NETBLT_DATA_HEADER_BYTES = 28, 20, 24
WORKING_SET = "72M"  # as the other transports' programs (peers/meter.h)
TRANSFER_MAX_BYTES = 1 << 32
IP_PROTOCOL = 30  # a raw socket shows it where others show their port
BUFFER_BYTES = 88 * 1448  # two full segmented sends; many buffers in each round trip


@dataclass(frozen=True)
class Account:
    """What a receiver got, and when. Times in seconds of CLOCK_MONOTONIC."""

    bytes: int
    first_s: float
    last_s: float
    step_s: float
    intervals: list[int]

    @property
    def goodput_bps(self) -> float:
        seconds = self.last_s - self.first_s
        return self.bytes * 8 / seconds if seconds > 0 else 0.0


@dataclass(frozen=True)
class Build:
    """Where the programs are."""

    folder: Path

    @property
    def flakeway(self) -> Path:
        return self.folder / "bin" / "flakeway"

    @property
    def netblt(self) -> Path:
        return self.folder / "bin" / "netblt"

    def peer(self, name: str) -> Path:
        return self.folder / "bin" / "peers" / name


class Peer(ABC):
    """One transport. `key` names it on the command line and in JSON."""

    key: str
    title: str
    table = "udp"  # in /proc/PID/net, where its listening socket shows
    payload_bytes = MTU_BYTES - IP_UDP_BYTES  # user data in a packet of full size
    hears_the_end = True  # its receiver ends when the sender does; others want SIGTERM
    quits = False  # asked to end, it comes to an end with its peer first, which takes round trips

    @abstractmethod
    def missing(self, build: Build) -> str | None:
        """Why it cannot run here, or None."""

    @abstractmethod
    def receiver(self, build: Build, line: Line | None) -> list[str]:
        """The command of the receiving end; `line` None: nothing slows it."""

    @abstractmethod
    def sender(self, build: Build, line: Line | None, seconds: float) -> list[str]:
        """The command of the sending end, which ends by itself after so long."""

    @property
    def port(self) -> int:
        return PORT

    @property
    def traffic(self) -> list[str]:
        """What flakeway has to treat as this transport's packets."""
        return ["--udp-port", str(self.port)]

    def account(self, receiver: Ended, sender: Ended) -> Account:
        """Reads what the receiver printed."""
        lines = [line for line in receiver.out.splitlines() if line.startswith("{")]
        if not lines:
            raise BenchError(f"{self.title}: the receiver says nothing: {receiver.last_words}; {sender.last_words}")
        told = json.loads(lines[-1])
        return Account(told["bytes"], told["first_us"] / 1e6, told["last_us"] / 1e6, told["interval_ms"] / 1e3,
                       told["intervals"])  # fmt: skip


@dataclass
class MemoryProgram(Peer):
    """A transport with a program of its own in reference_impl/bench/peers."""

    key: str
    title: str
    program: str
    package: str  # what has to be installed
    payload_bytes: int
    table: str = "udp"
    arguments: list[str] = field(default_factory=list)
    traffic_options: list[str] | None = None

    @property
    def traffic(self) -> list[str]:
        return super().traffic if self.traffic_options is None else self.traffic_options

    def missing(self, build: Build) -> str | None:
        if build.peer(self.program).exists():
            return None
        return f"not installed ({self.package}; tools/setup --bench)"

    def receiver(self, build: Build, line: Line | None) -> list[str]:  # noqa: ARG002
        return [str(build.peer(self.program)), "recv", str(self.port)]

    def sender(self, build: Build, line: Line | None, seconds: float) -> list[str]:  # noqa: ARG002
        return [str(build.peer(self.program)), "send", B, str(self.port), f"{seconds:g}", *self.arguments]


class Bbr(MemoryProgram):
    """TCP with BBR, where the kernel has it."""

    def missing(self, build: Build) -> str | None:
        offered = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
        if not offered.exists() or "bbr" not in offered.read_text().split():
            if shutil.which("modprobe") is None:
                return "not offered by this kernel (tcp_bbr)"
            return "not offered by this kernel; modprobe tcp_bbr"
        return super().missing(build)


def tcp(congestion: str) -> MemoryProgram:
    kind = Bbr if congestion == "bbr" else MemoryProgram
    return kind(f"tcp-{congestion}", f"TCP {congestion}", "tcp_memory", "a C compiler", 1448, "tcp", [congestion],
                ["--all-ip"])  # fmt: skip


class BareUdp(MemoryProgram):
    """Segmented sends, coalesced receipt and one copy at each end: what UDP sockets alone can carry (bare_udp.c)."""

    hears_the_end = False


def bare_udp() -> MemoryProgram:
    title = "bare loop, UDP_SEGMENT and UDP_GRO"
    return BareUdp("bare-udp", title, "bare_udp", "a C compiler", MTU_BYTES - IP_UDP_BYTES)


def udt() -> MemoryProgram:
    return MemoryProgram("udt", "UDT 4", "udt_memory", "libudt-dev", 1456)


def srt() -> MemoryProgram:
    return MemoryProgram("srt", "SRT", "srt_memory", "libsrt-openssl-dev", 1456)


def quic(congestion: str) -> MemoryProgram:
    """quinn's packets grow to 1,452 bytes by path discovery; headers, tag and frames take some 37 of them."""
    return MemoryProgram(f"quic-{congestion}", f"QUIC quinn {congestion}", "quinn_memory", "cargo", 1415, "udp",
                         [congestion])  # fmt: skip


FORGIVING_INTERVAL_MS = 4  # of a longer interval no more lateness is forgiven (min(1 ms, a quarter))
LONGEST_INTERVAL_MS = 100


def whole_bursts(line: Line, packet_bytes: int) -> tuple[int, int]:
    """Burst size and interval (ms) nearest to the line's rate and not above it.

    A host that wakes up late loses time permanently only where it is later than the schedule forgives: so intervals
    forgive as much as they can, and are few, up to an eighth of the round trip. Longer ones make every retransmission
    wait.
    """
    packets_per_ms = line.rate_mbit * 1000 / (packet_bytes * 8)
    longest = min(LONGEST_INTERVAL_MS, max(FORGIVING_INTERVAL_MS, int(line.round_trip_ms / 8)))
    pairs = [(int(packets_per_ms * ms + 1e-9), ms) for ms in range(FORGIVING_INTERVAL_MS, LONGEST_INTERVAL_MS + 1)]
    shares = {pair: pair[0] / pair[1] / packets_per_ms for pair in pairs if pair[0] >= 4}
    if not shares:
        raise BenchError(f"no burst of 4 packets in {LONGEST_INTERVAL_MS} ms fits {line.rate_mbit:g} Mb/s")
    good = [pair for pair, share in shares.items() if share >= 0.995]
    short = [pair for pair in good if pair[1] <= longest]
    return short[-1] if short else good[0] if good else max(shares, key=lambda pair: shares[pair])


@dataclass
class Netblt(Peer):
    """This project's library and driver, from memory to memory (netblt_memory.c)."""

    key: str
    title: str
    encap: str = "udp"
    rate: str = "auto"  # auto, fixed (as the line allows), unpaced
    options: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return UDP_PORT if self.encap == "udp" else IP_PROTOCOL

    @property
    def table(self) -> str:  # type: ignore[override]
        return "udp" if self.encap == "udp" else "raw"

    @property
    def payload_bytes(self) -> int:  # type: ignore[override]
        return MTU_BYTES - (IP_UDP_BYTES if self.encap == "udp" else IP_BYTES) - NETBLT_DATA_HEADER_BYTES

    def program(self, build: Build) -> Path:
        return build.folder / "bin" / "bench" / "netblt_memory"

    def missing(self, build: Build) -> str | None:
        return None if self.program(build).exists() else "not built (tools/build)"

    def receiver(self, build: Build, line: Line | None) -> list[str]:  # noqa: ARG002
        rate = ["--rate", "auto"] if self.rate == "auto" else []
        return [str(self.program(build)), "recv", "--encap", self.encap, *rate]

    def sender(self, build: Build, line: Line | None, seconds: float) -> list[str]:
        words = [str(self.program(build)), "send", "--encap", self.encap, *self.options]
        if line is not None:
            words += ["--buffer", str(BUFFER_BYTES), "--buffers", str(buffers_for(line))]
        if self.rate == "auto":
            words += ["--rate", "auto"]
            # A first word of the sender's; from then on the receiver's measurements decide.
            words += ["--burst", "8", "--interval", "8"] if line is not None else ["--burst", "44", "--interval", "1"]
        elif self.rate == "fixed":
            if line is None:
                raise BenchError("a fixed rate needs a line to fit")
            size, interval_ms = whole_bursts(line, MTU_BYTES)
            words += ["--burst", str(size), "--interval", str(interval_ms)]
        else:
            words += ["--interval", "0"]
        return [*words, B, f"{seconds:g}"]


@dataclass
class Perf(Netblt):
    """This project's command, `netblt perf`: it chooses buffers by itself, and with rate "auto" the rate."""

    quits = True
    hears_the_end = False  # its passive end waits for the next transfer

    def program(self, build: Build) -> Path:
        return build.folder / "bin" / "netblt"

    def _common(self, line: Line | None) -> list[str]:
        """Both ends agree on the rate: a receiver left at "auto" would hold a fixed one down to what it measures."""
        words = ["--encap", self.encap, "--working-set", WORKING_SET, "--json", "--quiet"]
        if self.rate == "unpaced":
            words += ["--rate", "fixed", "--burst-size", "44", "--burst-interval", "0"]
        elif self.rate == "fixed":
            if line is None:
                raise BenchError("a fixed rate needs a line to fit")
            size, interval_ms = whole_bursts(line, MTU_BYTES)
            words += ["--rate", "fixed", "--burst-size", str(size), "--burst-interval", str(interval_ms)]
            words += ["--path", f"{line.rate_mbit:g}M,{line.round_trip_ms:g}ms"]
        return words

    def receiver(self, build: Build, line: Line | None) -> list[str]:
        return [str(self.program(build)), "perf", "--passive", "--bind", B, *self._common(line)]

    def sender(self, build: Build, line: Line | None, seconds: float) -> list[str]:
        words = [str(self.program(build)), "perf", B, "--bind", A, *self._common(line)]
        if line is None:
            return [*words, "--time", str(math.ceil(seconds))]
        # More than the line can carry, so that it is still at full speed when the run is over and we stop it.
        return [*words, "--size", str(min(TRANSFER_MAX_BYTES, round(line.rate_mbit * 1e6 / 8 * (seconds + 1))))]

    def account(self, receiver: Ended, sender: Ended) -> Account:
        """One transfer, or several in a row: by time it may take more than one."""
        told = [json.loads(text) for text in receiver.out.splitlines() if text.startswith("{")]
        told = [transfer for transfer in told if "intervals" in transfer]
        if not told:
            raise BenchError(f"{self.title}: the receiver says nothing: {receiver.last_words}; {sender.last_words}")
        return merged(
            [
                Account(transfer["bytes"], transfer["first_us"] / 1e6, transfer["last_us"] / 1e6,
                        transfer["interval_ms"] / 1e3, transfer["intervals"])
                for transfer in told
            ]
        )  # fmt: skip


def merged(accounts: list[Account]) -> Account:
    """Several transfers in a row as one."""
    first, last = accounts[0], accounts[-1]
    intervals: list[int] = []
    for account in accounts:
        offset = round((account.first_s - first.first_s) / first.step_s)
        intervals += [0] * (offset + len(account.intervals) - len(intervals))
        for index, count in enumerate(account.intervals):
            intervals[offset + index] += count
    return Account(sum(account.bytes for account in accounts), first.first_s, last.last_s, first.step_s, intervals)


@dataclass
class BareRaw(Peer):
    """Batched loops over raw sockets, with nothing in the packets: what the sockets alone can carry (bare_raw.c)."""

    key: str
    title: str
    options: list[str] = field(default_factory=list)

    hears_the_end = False
    table = "raw"

    @property
    def port(self) -> int:
        return IP_PROTOCOL

    def missing(self, build: Build) -> str | None:
        return None if (build.folder / "bin" / "bench" / "bare_raw").exists() else "not built (tools/build)"

    def receiver(self, build: Build, line: Line | None) -> list[str]:  # noqa: ARG002
        return [str(build.folder / "bin" / "bench" / "bare_raw"), "recv"]

    def sender(self, build: Build, line: Line | None, seconds: float) -> list[str]:  # noqa: ARG002
        return [str(build.folder / "bin" / "bench" / "bare_raw"), "send", *self.options, B, f"{seconds:g}"]


def buffers_for(line: Line) -> int:
    """Three times what the line holds, and two (RFC 998 leaves this open; docs/bench.md states why)."""
    held_bytes = line.rate_mbit * 1e6 / 8 * line.round_trip_ms / 1e3
    return max(8, round(3 * held_bytes / BUFFER_BYTES + 2))
