# SPDX-License-Identifier: BSD-2-Clause
"""CFDP class 2 (CCSDS 727.0-B-5) by the state machines of cfdp-py, driven in virtual time."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from ..movers.workloads import Workload, same_bytes
from ..peers import IP_UDP_BYTES, Build
from ..processes import BenchError
from .paths import FULL_PAYLOAD_BYTES, SpacePath
from .virtual import Clock, VirtualLine, VirtualRun

ENDS = Path(__file__).resolve().parents[2] / "peers" / "cfdp" / "ends.py"
TIMER_ROUND_TRIPS = 1.5
TIMER_LEAST_S = 1.0  # more than a timer's share of the line's queue


def missing(build: Build) -> str | None:
    """Why it cannot run here, or None."""
    return None if (build.peer("cfdp") / "cfdppy").is_dir() else "not installed (cfdp-py; tools/bench --space)"


def load_ends(build: Build) -> ModuleType:
    folder = str(build.peer("cfdp"))
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location("cfdp_ends", ENDS)
    if spec is None or spec.loader is None:
        raise BenchError(f"{ENDS} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as problem:
        raise BenchError(f"cfdp-py cannot be loaded: {problem}") from None
    return module


def timer_s(path: SpacePath) -> float:
    """Of NAKs and positive acknowledgements: an operator sets it to more than the longest round trip."""
    return max(TIMER_LEAST_S, TIMER_ROUND_TRIPS * max(phase.round_trip_ms for phase in path.phases) / 1e3)


def run_virtual(build: Build, workload: Workload, path: SpacePath, seed: int) -> VirtualRun:
    """One transfer until both ends have ended. `seconds`: until the receiver had the file."""
    module: Any = load_ends(build)
    clock = Clock()
    with tempfile.TemporaryDirectory(prefix="netblt-cfdp-") as name:
        copy = Path(name) / "copy"
        with module.virtual_time(lambda: clock.now_s):
            source, target = module.make_ends(workload.source, copy, FULL_PAYLOAD_BYTES, timer_s(path))
            line = VirtualLine(path, (source, target), clock, IP_UDP_BYTES, seed)
            try:
                while not (source.over and target.over) and clock.now_s < path.limit_s:
                    line.step()
            except Exception as problem:  # of the library
                raise BenchError(f"cfdp-py: {type(problem).__name__}: {problem} after {clock.now_s:.0f} s") from None
        trouble = source.trouble or target.trouble
        if trouble:
            raise BenchError(f"CFDP: {trouble} after {clock.now_s:.0f} s")
        whole = target.finished_s is not None
        if whole and not same_bytes(workload.source, copy):
            raise BenchError("CFDP: reported success, and the copy has other bytes")
        return VirtualRun(whole, target.finished_s if whole else clock.now_s, line.wire_bytes)
