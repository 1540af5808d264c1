# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenes: transfers of the reference endpoint over a network with given faults, in virtual time, that end as pictures
of the documentation. A file of scenes is TOML; see docs/figures/scenes.toml."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from netblt_conformance.common import paths, toml_file
from netblt_conformance.common.model import MICROSECONDS_PER_S
from netblt_conformance.common.pictures import svg
from netblt_conformance.common.toml_file import Table, Text, Texts
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.draw.command import KINDS, drawn, shown
from netblt_conformance.simlib import Flakeway, IutLibrary, IutParams, PairEnd, PcapngWriter, run_pair
from netblt_conformance.trace.build import build, read

LICENCE = "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
_LIMIT_US = 900 * MICROSECONDS_PER_S
_LIMIT_PACKETS = 100_000
Stop = Literal["quit", "abort", "vanish"]
Positive = Annotated[int, Field(gt=0)]


class Transfer(Table):
    """What is sent, with which parameters. Times in milliseconds unless the name states another unit."""

    bytes: Positive
    buffer_size: Positive
    packet_size: Positive
    burst_size: Positive = 2
    burst_interval_ms: Positive = 10
    max_buffers: Positive = 1
    death_timer_s: Positive = 30
    sender_is_active: bool = True
    client_stall_from: int = 0  # number of the first buffer that the receiving client does not take yet
    client_stall_until_ms: int = 0


class Scene(Table):
    """One picture. `until_ms`: when an end stops as `stop` states; `vanish` is the sender that sends nothing more."""

    name: Text
    kind: Annotated[str, Field(pattern="|".join(KINDS))] = KINDS[0]
    title: str = ""
    transfer: Transfer
    network: Texts
    seed: int = 1
    frames: Annotated[tuple[int, int], Field(strict=False)] | None = None
    stop: Stop | None = None
    stopped_by: Literal["sender", "receiver"] = "sender"
    until_ms: Positive | None = None

    @model_validator(mode="after")
    def _stop_has_a_moment(self) -> Scene:
        if (self.stop is None) != (self.until_ms is None):
            raise ValueError("stop and until_ms belong together")
        return self


class Scenes(Table):
    """A file of scenes."""

    scene: Annotated[tuple[Scene, ...], Field(strict=False)]


def load(path: Path) -> tuple[Scene, ...]:
    """TomlError names every mistake."""
    return toml_file.read(path, Scenes).scene


def _parameters(transfer: Transfer) -> tuple[IutParams, IutParams]:
    """Of the active end, and of the passive one."""
    active = IutParams(
        active=True,
        sender=transfer.sender_is_active,
        local_port=1001,
        foreign_port=1002,
        buffer_size=transfer.buffer_size,
        packet_size=transfer.packet_size,
        burst_size=transfer.burst_size,
        burst_interval_ms=transfer.burst_interval_ms,
        max_buffers=transfer.max_buffers,
        death_timer_s=transfer.death_timer_s,
        client_stall_from=transfer.client_stall_from,
        client_stall_until_us=transfer.client_stall_until_ms * 1000,
    )
    return active, active.peer()


def capture(scene: Scene, library: IutLibrary, path: Path) -> None:
    """Plays the scene and writes its capture, made on both sides of the network."""
    active, passive = _parameters(scene.transfer)
    data = bytes(number % 251 for number in range(scene.transfer.bytes))
    writer = PcapngWriter()
    network = Flakeway(scene.seed, *scene.network, trace=False)
    first = library.start(active, data if active.sender else b"")
    second = library.start(passive, data if passive.sender else b"")
    with first, second:
        until_us = _LIMIT_US if scene.until_ms is None else scene.until_ms * 1000
        run_pair(first, second, network, limit_us=until_us, limit_packets=_LIMIT_PACKETS, capture=writer)
        if scene.until_ms is not None:
            stopping = first if (scene.stopped_by == "sender") == active.sender else second
            if scene.stop == "vanish":
                network.add(f"drop {'a>b' if stopping is first else 'b>a'}")
            else:
                stopping.stop(until_us, "the user ended it", abort=scene.stop == "abort")
            ended = run_pair(first, second, network, start_us=until_us, limit_us=_LIMIT_US, capture=writer).end
            assert ended in (PairEnd.CLOSED, PairEnd.IDLE), ended
    writer.save(path)


def pictures(scenes: tuple[Scene, ...], library: IutLibrary, folder: Path) -> Iterator[Path]:
    """Draws each scene as NAME.svg in the folder."""
    with tempfile.TemporaryDirectory(prefix="netblt-scenes-") as kept:
        for scene in scenes:
            at = Path(kept) / f"{scene.name}.pcapng"
            capture(scene, library, at)
            trace = build(read(at))
            frames = range(scene.frames[0], scene.frames[1] + 1) if scene.frames else None
            picture = folder / f"{scene.name}.svg"
            picture.write_text(LICENCE + svg(drawn(scene.kind, trace, shown(trace, frames), scene.title)))
            yield picture


def main(arguments: Sequence[str] | None = None) -> int:
    """scenes.py SCENES FOLDER: draws all scenes of a file into the folder."""
    file, folder = sys.argv[1:] if arguments is None else arguments
    library = IutLibrary(paths.iut_library())
    for picture in pictures(load(Path(file)), library, Path(folder)):
        print(picture)
    return ExitCode.HOLDS


if __name__ == "__main__":
    sys.exit(main())
