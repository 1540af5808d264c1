# SPDX-License-Identifier: BSD-2-Clause
"""NETBLT in virtual time: the protocol core over the same path by `netblt-plan run`."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

from ..lab import MTU_BYTES
from ..peers import IP_BYTES, NETBLT_DATA_HEADER_BYTES, whole_bursts
from ..processes import BenchError, Program
from .paths import SpacePath
from .virtual import VirtualRun

PLAN = Path(__file__).resolve().parents[4] / ".venv" / "bin" / "netblt-plan"
PACKET_BYTES = MTU_BYTES - IP_BYTES - NETBLT_DATA_HEADER_BYTES
# As netblt-paths: buffers of an eighth of what the path holds, not so many that GOs and OKs do not fit one CONTROL.
BUFFERS_A_ROUND_TRIP, BUFFERS_A_ROUND_TRIP_MAX = 8, 40
BUFFER_LEAST_BYTES, BUFFER_USUAL_MOST_BYTES = 64 << 10, 256 << 10
BUFFERS_MAX = 4096
ROUND_TRIPS_HELD = 3
FIRST_BURST, FIRST_INTERVAL_MS = 8, 20  # until the receiver has measured the rate
SLOW_MBIT = 10  # the first bursts would be more than the line's rate: half of it, as the user states it
DEATH_TIMER_S = 60_000
WAIT_S = 250.0  # of the machine's time
RATES = {"fixed": "rate given", "auto": "rate measured"}


def missing() -> str | None:
    return None if PLAN.exists() else "not installed (tools/setup)"


def _held_bytes(path: SpacePath) -> float:
    return path.line.rate_mbit * 1e6 / 8 * max(phase.round_trip_ms for phase in path.phases) / 1e3


def buffer_bytes(path: SpacePath) -> int:
    held = _held_bytes(path)
    most = max(held / BUFFERS_A_ROUND_TRIP_MAX, BUFFER_USUAL_MOST_BYTES)
    return int(min(max(held / BUFFERS_A_ROUND_TRIP, BUFFER_LEAST_BYTES), most) / PACKET_BYTES) * PACKET_BYTES


def _bursts(path: SpacePath, rate: str) -> tuple[int, int]:
    size, interval_ms = whole_bursts(path.line, MTU_BYTES)
    if rate == "fixed":
        return size, interval_ms
    return (FIRST_BURST, FIRST_INTERVAL_MS) if path.line.rate_mbit > SLOW_MBIT else (size, 2 * interval_ms)


def _changes(path: SpacePath) -> str:
    """The later phases as the scenario's `changes`."""
    changes = [
        f'{{ at = "{phase.begin_s:g}s", delay = "{phase.round_trip_ms / 2:g}ms", '
        f'loss = "{path.line.loss_percent if phase.up else 100:g}%" }}'
        for phase in path.phases[1:]
    ]
    return f"changes = [{', '.join(changes)}]" if changes else ""


def scenario(path: SpacePath, rate: str) -> str:
    """The file that netblt-plan runs; docs/experiments.md describes it."""
    line, buffer = path.line, buffer_bytes(path)
    size, interval_ms = _bursts(path, rate)
    buffers = math.ceil(ROUND_TRIPS_HELD * _held_bytes(path) / buffer) + 2
    round_trip_s = max(phase.round_trip_ms for phase in path.phases) / 1e3
    return f"""title = "{path.title}"
duration = "{path.limit_s:g}s"
measure_from = "0s"
[link.space]
rate = "{line.rate_mbit:g}Mbit"
delay = "{line.round_trip_ms / 2:g}ms"
queue = "{line.queue_ms:g}ms"
loss = "{line.loss_percent:g}%"
{_changes(path)}
[host.a]
[host.b]
[flow.main]
from = "a"
to = "b"
bytes = {path.bytes}
rate = "{rate}"
packet_size = {PACKET_BYTES}
buffer_size = {buffer}
max_buffers = {BUFFERS_MAX if rate == "auto" else min(buffers, BUFFERS_MAX)}
burst_size = {size}
burst_interval_ms = {interval_ms}
death_timer_s = {DEATH_TIMER_S}
open_timeout = "{max(60, 3 * round_trip_s):g}s"
"""


def read_result(text: str) -> VirtualRun:
    """What netblt-plan printed as JSON. Of the bytes, those of DATA packets: the simulator does not count the others,
    which are few."""
    metrics = json.loads(text)["runs"][0]["metrics"]
    done = bool(metrics["finished"]) and metrics["seconds"] is not None
    sent_bytes = round(metrics["sent"] * MTU_BYTES)
    return VirtualRun(done, metrics["seconds"] if done else math.inf, sent_bytes)


def run_virtual(path: SpacePath, rate: str, seed: int) -> VirtualRun:
    with tempfile.TemporaryDirectory(prefix="netblt-space-") as name:
        file = Path(name) / "space.toml"
        file.write_text(scenario(path, rate))
        with Program([PLAN, "run", file, "--seed", str(seed), "--json"]) as program:
            ended = program.wait(WAIT_S)
            if ended is None or ended.status not in (0, 1):
                raise BenchError(f"netblt-plan: {ended.last_words if ended else f'does not end in {WAIT_S:g} s'}")
    try:
        return read_result(ended.out)
    except (ValueError, LookupError):
        raise BenchError(f"netblt-plan: {ended.last_words}") from None
