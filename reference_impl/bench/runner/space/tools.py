# SPDX-License-Identifier: BSD-2-Clause
"""The programs that move a file with real packets: NETBLT with its rate measured and given, NORM, UFTP, QUIC, TCP."""

from __future__ import annotations

import sys
from pathlib import Path

from ..lab import MTU_BYTES, B, wait_until_open
from ..movers.tools import Mover, Netblt, Norm, Stage, Uftp
from ..peers import Build, quic, tcp, whole_bursts
from ..processes import Program

PORT = 7001
TCP_FILE = Path(__file__).resolve().parents[2] / "peers" / "tcp_file.py"


class PatientNetblt(Netblt):
    """As its manual advises for lines that fail for minutes; it measures the rate."""

    options = (*Netblt.options, "--retry", "forever")


class GivenNetblt(Netblt):
    """The same with the rate of the line as an option, which RFC 998 intends and NORM and UFTP need."""

    key, title = "netblt-given", "netblt, rate given"

    @staticmethod
    def given(stage: Stage) -> tuple[str, ...]:
        size, interval_ms = whole_bursts(stage.line, MTU_BYTES)
        return ("--rate", "fixed", "--burst-size", str(size), "--burst-interval", str(interval_ms),
                "--path", f"{stage.line.rate_mbit:g}M,{stage.line.round_trip_ms:g}ms")  # fmt: skip

    def receiver(self, stage: Stage) -> Program:
        return self._with(stage).receiver(stage)

    def sender(self, stage: Stage) -> Program:
        return self._with(stage).sender(stage)

    def _with(self, stage: Stage) -> PatientNetblt:
        mover = PatientNetblt()
        mover.options = (*PatientNetblt.options, *self.given(stage))
        return mover


class TcpFile(Mover):
    """One connection of kernel TCP (peers/tcp_file.py)."""

    def __init__(self, congestion: str) -> None:
        self.key, self.title = f"tcp-{congestion}", f"TCP {congestion}"
        self._congestion = congestion

    def missing(self, build: Build) -> str | None:
        return tcp(self._congestion).missing(build)

    def receiver(self, stage: Stage) -> Program:
        program = stage.start([sys.executable, str(TCP_FILE), "recv", B, str(PORT), str(stage.copy)], sends=False)
        wait_until_open(program, "tcp", PORT)
        return program

    def sender(self, stage: Stage) -> Program:
        return stage.start([sys.executable, str(TCP_FILE), "send", B, str(PORT), str(stage.workload.source),
                            self._congestion], sends=True)  # fmt: skip


class QuicFile(Mover):
    """One stream of quinn (peers/quinn). It sends several packets as one segmented one, which flakeway divides if
    their port is that of --udp-port."""

    traffic = ("--all-ip", "--udp-port", str(PORT))

    def __init__(self, congestion: str) -> None:
        self.key, self.title = f"quic-{congestion}", f"QUIC quinn {congestion}"
        self._congestion = congestion

    def missing(self, build: Build) -> str | None:
        return quic(self._congestion).missing(build)

    @staticmethod
    def _program(stage: Stage) -> str:
        return str(stage.build.peer("quinn_memory"))

    def receiver(self, stage: Stage) -> Program:
        program = stage.start([self._program(stage), "recv-file", str(PORT), str(stage.copy)], sends=False)
        wait_until_open(program, "udp", PORT)
        return program

    def sender(self, stage: Stage) -> Program:
        return stage.start([self._program(stage), "send-file", B, str(PORT), str(stage.workload.source),
                            self._congestion], sends=True)  # fmt: skip


MOVERS: list[Mover] = [PatientNetblt(), GivenNetblt(), Norm(), Uftp(), QuicFile("cubic"), QuicFile("bbr"),
                       TcpFile("cubic"), TcpFile("bbr")]  # fmt: skip
