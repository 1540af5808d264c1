# SPDX-License-Identifier: GPL-2.0-or-later
"""NETBLT, TCP and UDP through the same flakeway on real packets: goodput, processor time, share of the path."""

from __future__ import annotations

import copy
import csv
import dataclasses
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from netblt_conformance.common import tables
from netblt_conformance.common.tables import Column

from netblt_plan import best, metrics, wire
from netblt_plan.lab import B, Lab, LabError, Program, the_link
from netblt_plan.scenario import Run
from netblt_plan.simulate import statements

_SLACK_S = 30.0
_IPERF_READY = "Server listening"
_UDP_PAYLOAD_BYTES = 1472  # fills an Ethernet packet


# Goodput in bits a second, processor seconds of both ends, and what else there is to report.
Measure = Callable[[Lab, float, float], tuple[float, float, str]]


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One program's result; `goodput` in bits a second, None when it could not run."""

    name: str
    goodput: float | None
    cpu_s: float
    share: float
    note: str = ""


def _need(program: str) -> str:
    if shutil.which(program) is None:
        raise LabError(f"{program} is not installed (the package {program} of the distribution)")
    return program


def _iperf_server(lab: Lab) -> Program:
    server = lab.start([_need("iperf3"), "--server", "--one-off", "--forceflush"], lab.b)
    lab.await_words(_IPERF_READY, server)
    return server


def _iperf(lab: Lab, seconds: float, words: list[str]) -> tuple[float, float, str]:
    server = _iperf_server(lab)
    client = lab.start(["iperf3", "--client", B, "--json", "--time", f"{seconds:g}", *words], lab.a)
    ended = client.end(seconds + _SLACK_S)
    served = server.end(5)
    try:
        document = json.loads(ended.out)["end"]
        received = document.get("sum_received") or document["sum"]
        note = (
            f"{document['sum']['lost_percent']:.1f} % lost"
            if "sum" in document
            else (
                f"{document['sum_sent'].get('retransmits', '?')} retransmitted, "
                f"{document.get('sender_tcp_congestion', 'TCP')}"
            )
        )
        return float(received["bits_per_second"]), ended.cpu_s + served.cpu_s, note
    except (KeyError, ValueError):
        raise LabError(f"iperf3: {ended.out[-200:]}{ended.err[-200:]}") from None


def _tcp(congestion: str) -> Measure:
    """The kernel's default differs from machine to machine, so it is stated which."""

    def measure(lab: Lab, seconds: float, rate: float) -> tuple[float, float, str]:
        del rate
        if congestion not in _kernel("tcp_available_congestion_control").split():
            raise LabError(f"this kernel offers no {congestion} (modprobe tcp_{congestion})")
        return _iperf(lab, seconds, ["--congestion", congestion])

    return measure


def _kernel(setting: str) -> str:
    return Path(f"/proc/sys/net/ipv4/{setting}").read_text(encoding="ascii").strip()


def _udp(lab: Lab, seconds: float, rate: float) -> tuple[float, float, str]:
    return _iperf(lab, seconds, ["--udp", "--bitrate", f"{rate:.0f}", "--length", str(_UDP_PAYLOAD_BYTES)])


def _nuttcp(lab: Lab, seconds: float, rate: float) -> tuple[float, float, str]:
    del rate
    server = lab.start([_need("nuttcp"), "-S", "--nofork", "-1"], lab.b)
    lab.await_socket(server)
    client = lab.start(["nuttcp", f"-T{max(1, round(seconds))}", "-fparse", B], lab.a)
    ended = client.end(seconds + _SLACK_S)
    served = server.end(2)
    match = re.search(r"rate_Mbps=([\d.]+)", ended.out)
    if match is None:
        raise LabError(f"nuttcp: {ended.out[-200:]}{ended.err[-200:]}")
    retransmitted = re.search(r"retrans=(\d+)", ended.out)
    note = _kernel("tcp_congestion_control") + (f", {retransmitted[1]} retransmitted" if retransmitted else "")
    return float(match[1]) * 1e6, ended.cpu_s + served.cpu_s, note


def _netblt(options: list[str]) -> Measure:
    def measure(lab: Lab, seconds: float, rate: float) -> tuple[float, float, str]:
        del rate
        summary, cpu = wire.measure(lab, options, seconds)
        note = f"{summary['packets_retransmitted']} retransmitted"
        if summary["steady_bps"] is not None:
            note += f", steady {float(summary['steady_bps']) / 1e6:.3f} Mb/s"
        return float(summary["goodput_bps"]), cpu, note

    return measure


def compare(run: Run, seed: int, seconds: float, progress: Callable[[str], None]) -> list[Line]:
    """One after the other, each on a fresh path with the same seed."""
    _, link = the_link(run.tables)
    flow = next(iter(run.tables["flow"].values()))
    room = metrics.capacity(run.tables, flow)
    automatic = wire.flow_options({**flow, "rate": "auto"})
    wanted = copy.deepcopy(run.tables)
    next(iter(wanted["flow"].values()))["rate"] = "best"
    settled, _ = best.settle(dataclasses.replace(run, tables=wanted), seed)
    programs: list[tuple[str, Measure]] = [
        ("netblt perf, automatic", _netblt(automatic)),
        ("netblt perf, best fixed", _netblt(wire.flow_options(next(iter(settled.tables["flow"].values()))))),
        ("TCP cubic, iperf3", _tcp("cubic")),
        ("TCP bbr, iperf3", _tcp("bbr")),
        ("TCP, nuttcp", _nuttcp),
        ("UDP, iperf3 at the path's rate", _udp),
    ]
    lines = []
    for name, program in programs:
        progress(name)
        try:
            with Lab(statements(link), seed, every_packet=True) as lab:
                goodput, cpu, note = program(lab, seconds, room)
            lines.append(Line(name, goodput, cpu, goodput / room, note))
        except LabError as error:
            lines.append(Line(name, None, 0.0, 0.0, str(error)))
    return lines


def as_json(name: str, run: Run, seed: int, seconds: float, lines: list[Line]) -> str:
    document = {
        "layout": 1,
        "scenario": name,
        "run": run.name,
        "seed": seed,
        "seconds": seconds,
        "lines": [dataclasses.asdict(line) for line in lines],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def as_csv(lines: list[Line]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in dataclasses.fields(Line)])
    writer.writerows(dataclasses.astuple(line) for line in lines)
    return out.getvalue()


def _figures(line: Line) -> tuple[str, str, str]:
    if line.goodput is None:
        return "-", "", ""
    return f"{line.goodput / 1e6:.3f}", f"{line.share:.3f}", f"{line.cpu_s:.2f}"


def table(lines: list[Line]) -> str:
    columns = (Column(), *(Column(head, right=True) for head in ("Mb/s", "of path", "CPU s")), Column(wide=True))
    return "\n".join(tables.lines(columns, [(line.name, *_figures(line), line.note) for line in lines]))
