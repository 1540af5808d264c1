# SPDX-License-Identifier: GPL-2.0-or-later
"""What a campaign costs on many machines, computed from measured blocks of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.campaign.errors import CampaignError, RunnerError, library
from netblt_conformance.campaign.folder import Folder, State
from netblt_conformance.campaign.kind import Subject
from netblt_conformance.campaign.messages import Order
from netblt_conformance.campaign.worker import Package, Runner, temporary_folder

_HOUR_S, _DAY_S = 3_600, 86_400
_BYTES = ("B", "kB", "MB", "GB", "TB")


@dataclass(frozen=True, slots=True)
class Measured:
    """What some blocks took."""

    units: int
    cpu_s: float
    stored_bytes: int

    @property
    def cpu_per_unit_s(self) -> float:
        return self.cpu_s / self.units


def sample(package: Package, state: State, subject: Subject, seconds: float, show: Callable[[int], None]) -> Measured:
    """Runs blocks spread over the whole campaign, one at a time, for about so long. The first one of a process, which
    loads what all share, is run twice and counted once."""
    with temporary_folder() as folder:
        return _sample(Runner(package, subject, Path(folder)), state, seconds, show)


def _sample(runner: Runner, state: State, seconds: float, show: Callable[[int], None]) -> Measured:
    import io

    parquet = library("pyarrow.parquet")
    units, cpu_s, stored = 0, 0.0, 0
    try:
        began_s = time.monotonic()
        for number, block in enumerate(_spread(state.blocks)):
            part = state.range_of(block)
            content = runner.run(Order(block, part.start, part.stop, "estimate", "-"))
            if number:
                units, stored = units + len(part), stored + len(content)
                cpu_s += parquet.read_table(io.BytesIO(content), columns=["cpu_s"])["cpu_s"][0].as_py()
                show(units)
            if units and time.monotonic() - began_s >= seconds:
                break
    except RunnerError as error:
        raise CampaignError(f"no block can run here: {error}") from None
    finally:
        runner.end()
    return Measured(units, cpu_s, stored)


def _spread(blocks: int) -> Iterator[int]:
    """The first block, then all of them in an order that covers the campaign evenly (bit reversal)."""
    yield 0
    bits = max(1, (blocks - 1).bit_length())
    for number in range(1 << bits):
        block = int(f"{number:0{bits}b}"[::-1], 2)
        if block < blocks:
            yield block


def of_folder(folder: Folder) -> Measured:
    """From the blocks of a campaign that has begun."""
    from netblt_conformance.campaign.questions import Results

    units, cpu_s = Results(folder).ask("select sum(units)::bigint, sum(cpu_s) from blocks").rows[0]
    return Measured(int(units), float(cpu_s), sum(path.stat().st_size for path in folder.blocks.glob("*.parquet")))


def lines(state: State, unit: str, measured: Measured, machines: int, cores: int) -> list[str]:
    """The estimate as text."""
    total_s = measured.cpu_per_unit_s * state.units
    wall_s = total_s / (machines * cores)
    stored = measured.stored_bytes / measured.units * state.units
    workers = machines * cores
    return [
        f"measured: {measured.units} {unit}s in {measured.cpu_s:.1f} s of processor time, "
        f"{1000 * measured.cpu_per_unit_s:.3g} ms for each",
        f"campaign: {state.units} {unit}s in {state.blocks} blocks of {state.block}",
        f"processor time: {_span(total_s)}",
        f"{machines} machines with {cores} cores: {_span(wall_s)}, if each core is as fast as one here and has no "
        "other work",
        f"results: {_size(stored)} in {state.blocks} files; {_size(stored / wall_s)} and "
        f"{state.blocks / wall_s:.3g} blocks each second for the command that stores them",
        f"a block takes {_span(state.block * measured.cpu_per_unit_s)}: so much work is lost when a worker dies"
        + (f"; there are fewer blocks than {workers} cores" if state.blocks < workers else ""),
    ]


def _span(seconds: float) -> str:
    if seconds < 2 * _HOUR_S:
        return f"{seconds:.3g} s" if seconds < 600 else f"{seconds / 60:.0f} minutes"
    return f"{seconds / _HOUR_S:.1f} hours" if seconds < 2 * _DAY_S else f"{seconds / _DAY_S:.1f} days"


def _size(count: float) -> str:
    for unit in _BYTES[:-1]:
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} {_BYTES[-1]}"
