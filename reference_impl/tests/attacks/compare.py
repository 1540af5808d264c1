# SPDX-License-Identifier: BSD-2-Clause
"""Completion times of two netblt commands without an attack, measured by turns: what the protection costs honest peers.

compare.py --netblt NEW --against OLD [--flakeway RELAY] [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import field
from field import CLIENTS, Honest, Settings

SIZES_BYTES = (100_000, 1_000_000, 10_000_000)
ROUND_TRIPS_MS = (0, 60)
TRANSFER_MAX_S = 60


def seconds_of(settings: Settings, folder: Path, round_trip_ms: int, upload: bool, size: int) -> float:
    """One transfer through a listener of its own."""
    with field.playground(settings, folder, round_trip_ms) as ground, field.listening(ground, "udp") as server:
        (outcome,) = field.wait_for_all([Honest(ground, server, "udp", upload, size, CLIENTS[0])], TRANSFER_MAX_S)
    if outcome.problem:
        raise SystemExit(f"{settings.netblt}: {outcome.problem}")
    return outcome.seconds


def compare(new: Settings, old: Settings, round_trip_ms: int, upload: bool, size: int, rounds: int) -> None:
    times: dict[str, list[float]] = {"new": [], "old": []}
    for _ in range(rounds):
        for word, settings in (("new", new), ("old", old)):
            with tempfile.TemporaryDirectory() as folder:
                times[word].append(seconds_of(settings, Path(folder), round_trip_ms, upload, size))
    medians = {word: statistics.median(values) for word, values in times.items()}
    field.figure(
        "none",
        transfer="upload" if upload else "download",
        bytes=size,
        round_trip_ms=round_trip_ms,
        new_s=round(medians["new"], 3),
        old_s=round(medians["old"], 3),
        ratio=round(medians["new"] / medians["old"], 3),
        ratio_of_least=round(min(times["new"]) / min(times["old"]), 3),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--netblt", required=True, help="the command that is measured")
    parser.add_argument("--against", required=True, help="the command that it is compared with")
    parser.add_argument("--flakeway", help="the relay that makes a round trip time; without it there is none")
    parser.add_argument("--rounds", type=int, default=7, help="transfers of each command (default: 7)")
    given = parser.parse_args()
    new, old = (Settings(command, "", given.flakeway, full=False) for command in (given.netblt, given.against))
    for round_trip_ms in ROUND_TRIPS_MS if given.flakeway else ROUND_TRIPS_MS[:1]:
        for size in SIZES_BYTES:
            for upload in (False, True):
                compare(new, old, round_trip_ms, upload, size, given.rounds)


if __name__ == "__main__":
    main()
