# SPDX-License-Identifier: GPL-2.0-or-later
"""One watch: packets go from dumpcap to tshark and into a file; what happens is reported at once."""

from __future__ import annotations

import dataclasses
import math
import sys
import threading
import time
from typing import IO

from netblt_conformance.check import report
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.common.words import fit
from netblt_conformance.judges.findings import Conclusion, Finding
from netblt_conformance.packets.captures import CapturedPacket, CaptureStream, Interface, Item, Statistics
from netblt_conformance.report import table
from netblt_conformance.watch.capture import Dumpcap
from netblt_conformance.watch.judge import LiveJudge
from netblt_conformance.watch.tracker import Flow, State, Tracker

WAIT_S = 0.2
THROUGHPUT_EVERY_S = 5.0
# Of one rule and offender so many findings are reported as they occur; the verdict counts them all.
TOLD_ALIKE = 5
# A judge that is so much later than the packets lets the kernel's buffer fill; it is reported this often.
BEHIND_S = 2.0
BEHIND_EVERY_S = 5.0
_NANOSECONDS = 1e9
_BROKEN = {Conclusion.VIOLATED: Verdict.FAIL, Conclusion.SUSPECTED: Verdict.INCONC}


class Voice:
    """Reports what happens, to people or as JSON lines. Two threads speak."""

    def __init__(self, *, json_lines: bool, quiet: bool, colour: bool) -> None:
        self._json, self._quiet, self._colour = json_lines, quiet, colour
        self._lock = threading.Lock()
        self._told: dict[tuple[str, str, str], int] = {}
        self.began = time.monotonic()

    def _print(self, text: str, row: dict[str, object], important: bool, label: str = "") -> None:
        """`label`: a coloured word before the text."""
        seconds = time.monotonic() - self.began
        with self._lock:
            if self._json:
                print(report.as_line({"seconds": round(seconds, 3), **row}), flush=True)
            elif important or not self._quiet:
                print(f"{seconds:9.3f}  {label}{fit(text)}", flush=True)

    def finding(self, finding: Finding) -> None:
        key = (finding.requirement, finding.offender, finding.verdict)
        count = self._told[key] = self._told.get(key, 0) + 1
        if count > TOLD_ALIKE:
            return
        more = "; more like it are counted only" if count == TOLD_ALIKE else ""
        verdict = table.paint(_BROKEN.get(finding.verdict, Verdict.INCONC), self._colour, 6)
        text = f"{finding.requirement}  {finding.offender}, frame {finding.guilty_frame}: {finding.text}{more}"
        row = {"kind": "finding", "requirement": finding.requirement, "stream": finding.stream}
        important = finding.verdict is Conclusion.VIOLATED
        self._print(text, {**row, **report.finding_row(finding)}, important, f"{verdict}  ")

    def state(self, flow: Flow, state: State) -> None:
        figures = f", {flow.data_bytes} bytes of data, {flow.megabits():.3f} Mbit/s" if state.closed else ""
        row = {"kind": "connection", "ends": flow.title, "state": str(state)}
        self._print(f"{flow.title} {state}{figures}", {**row, **_figures(flow, flow.megabits())}, important=False)

    def behind(self, interface: str, seconds: float) -> None:
        text = f"{interface}: {seconds:.1f} s late: the capture drops packets when its buffer is full"
        self._print(text, {"kind": "behind", "interface": interface, "behind_s": round(seconds, 3)}, important=True)

    def dropped(self, interface: str, packets: int) -> None:
        text = f"{interface}: the capture dropped {packets} packets: the judgement is incomplete"
        self._print(text, {"kind": "dropped", "interface": interface, "packets": packets}, important=True)

    def throughput(self, flow: Flow) -> None:
        rate = flow.megabits_lately()
        row = {"kind": "throughput", "ends": flow.title, "state": str(flow.state)}
        self._print(f"{flow.title} {flow.state}, {rate:.3f} Mbit/s", {**row, **_figures(flow, rate)}, important=False)


def _figures(flow: Flow, rate: float) -> dict[str, object]:
    return {"packets": flow.packets, "data_bytes": flow.data_bytes, "mbps": round(rate, 6)}


@dataclasses.dataclass(slots=True)
class Watched:
    """What was captured on one interface."""

    name: str
    packets: int = 0
    dropped: int | None = None  # None: not known


@dataclasses.dataclass(slots=True)
class Session:
    """Runs until dumpcap ends; `ends_s` after it has begun to capture, or when `stopped` is set, it is ended."""

    dumpcap: Dumpcap
    judge: LiveJudge
    voice: Voice
    copy: IO[bytes] | None
    ends_s: float
    stopped: threading.Event
    interfaces: list[Watched] = dataclasses.field(default_factory=list)
    tracker: Tracker = dataclasses.field(default_factory=Tracker)
    _reported: float = 0.0
    _ends_at: float = math.inf
    _lag_reported: float = -math.inf

    def run(self) -> None:
        stream, behind, stopping = CaptureStream(), False, False
        while (chunk := self.dumpcap.read(WAIT_S)) is not None:
            if self.copy is not None:
                self.copy.write(chunk)
            for item in stream.feed(chunk):
                self._note(item)
            if stream.whole:
                self.judge.write(stream.whole)
                behind = True
            elif behind:
                self.judge.flush()
                behind = False
            if not stopping and (self.stopped.is_set() or time.monotonic() > self._ends_at):
                self.dumpcap.stop()
                stopping = True
            self._throughput()

    def _note(self, item: Item) -> None:
        if isinstance(item, CapturedPacket):
            one = self.interfaces[item.interface.number]
            one.packets += 1
            time_s = item.time_ns / _NANOSECONDS
            self._note_lag(one.name, time.time() - time_s)
            for flow, state in self.tracker.note(item.data, item.interface.link_type, time_s):
                self.voice.state(flow, state)
        elif isinstance(item, Interface):
            if not self.interfaces:
                self._ends_at = time.monotonic() + self.ends_s
            self.interfaces.append(Watched(item.name))
            self._say_ready()
        elif isinstance(item, Statistics):
            one = self.interfaces[item.interface.number]
            one.dropped = item.dropped
            if item.dropped:
                self.voice.dropped(one.name, item.dropped)

    def _note_lag(self, interface: str, seconds: float) -> None:
        now = time.monotonic()
        if seconds >= BEHIND_S and now - self._lag_reported >= BEHIND_EVERY_S:
            self._lag_reported = now
            self.voice.behind(interface, seconds)

    def _say_ready(self) -> None:
        print(fit(f"watching {self.interfaces[-1].name}; Ctrl-C ends"), file=sys.stderr, flush=True)

    def _throughput(self) -> None:
        now = time.monotonic()
        if now - self._reported < THROUGHPUT_EVERY_S:
            return
        self._reported = now
        for flow in self.tracker.flows.values():
            if flow.data_bytes > flow.reported_bytes and not flow.state.closed:
                self.voice.throughput(flow)
