# SPDX-License-Identifier: BSD-2-Clause
"""Floods of forged OPENs from random addresses, while honest peers transfer files."""

from __future__ import annotations

import time
from pathlib import Path

import field
from field import CLIENTS, Field, Forge, Honest, Listener, Outcome, Settings

FILE_BYTES = 2_000_000
TRIES = 3  # the best of them counts: the machine is a shared one
RATIO_MAX = 2.0
# Times that are shorter than this are the machine's, not the protocol's.
SECONDS_LEAST = 0.25
TRANSFER_MAX_S = 45  # more than an end takes to give up
FLOOD_MAX_S = 150  # of one try
WARM_UP_S = 1.5  # by then all places that forged OPENs can take are taken
RSS_MAX_KIB = 512 << 10


def honest_transfers(ground: Field, server: Listener, encap: str) -> list[Outcome]:
    """Two downloads and two uploads at the same time."""
    transfers = [
        Honest(ground, server, encap, upload, FILE_BYTES, CLIENTS[i])
        for i, upload in enumerate((False, True, False, True))
    ]
    return field.wait_for_all(transfers, TRANSFER_MAX_S)


def begin_flood(ground: Field, encap: str, rate: int) -> list[Forge]:
    """Half of the OPENs read, half of them write, each under a name of its own."""
    words = ("--encap", encap, "--rate", f"{rate / 2:g}", "--count", str(rate // 2 * FLOOD_MAX_S))
    return [
        ground.forge(*words, "--seed", "1", "open:read,string=big"),
        ground.forge(*words, "--seed", "2", "open:write,string=forged-%"),
    ]


def slowest(outcomes: list[Outcome]) -> float:
    return max(SECONDS_LEAST, *(outcome.seconds for outcome in outcomes))


def flood(settings: Settings, folder: Path, encap: str, rate: int, round_trip_ms: int) -> list[str]:
    """Transfers in quiet and under the flood by turns. Returns what went wrong."""
    problems, ratios = [], []
    with field.playground(settings, folder, round_trip_ms) as ground, field.listening(ground, encap) as server:
        server.file("big", 20_000_000)
        for _ in range(TRIES):
            quiet = honest_transfers(ground, server, encap)
            problems += [f"in quiet, {outcome.problem}" for outcome in quiet if outcome.problem]
            begin, cpu_s = time.monotonic(), server.program.cpu_s()
            forges = begin_flood(ground, encap, rate)
            time.sleep(WARM_UP_S)
            flooded = honest_transfers(ground, server, encap)
            cpu_percent = 100 * (server.program.cpu_s() - cpu_s) / (time.monotonic() - begin)
            sent = 0
            for forge in forges:
                forge.process.terminate()
                sent += forge.counters()["packets"]
            seconds = time.monotonic() - begin
            failed = [outcome.problem for outcome in flooded if outcome.problem]
            problems += failed
            ratios.append(slowest(flooded) / slowest(quiet))
            field.figure(
                "flood of OPENs", encap=encap, forged_per_s=round(sent / seconds), round_trip_ms=round_trip_ms,
                succeeded=len(flooded) - len(failed), of=len(flooded), quiet_s=round(slowest(quiet), 2),
                flooded_s=round(slowest(flooded), 2), ratio=round(ratios[-1], 2), server_cpu_percent=round(cpu_percent),
                server_rss_kib=server.program.memory_kib(), server_rss_max_kib=server.program.memory_kib("VmHWM"),
            )  # fmt: skip
            if failed or (ratios[-1] <= RATIO_MAX and not settings.full):
                break
        rss_kib = server.program.memory_kib("VmHWM")
    name = f"{encap}, {rate} OPENs a second, round trip {round_trip_ms} ms"
    if min(ratios) > RATIO_MAX and not problems:
        problems.append(f"transfers took {min(ratios):.1f} times as long")
    if rss_kib > RSS_MAX_KIB:
        problems.append(f"the server held {rss_kib} KiB")
    return [f"{name}: {problem}" for problem in problems]


def flood_each(settings: Settings, folder: Path, rate: int, round_trip_ms: int) -> None:
    problems = []
    for encap in ("udp", "ip") if settings.full else ("udp",):
        problems += flood(settings, folder, encap, rate, round_trip_ms)
    assert not problems, "\n    ".join(["honest transfers suffered:", *problems])


def honest_peers_are_served_under_10000_forged_opens_a_second(settings: Settings, folder: Path) -> None:
    flood_each(settings, folder, 10_000, 0)


def honest_peers_far_away_are_served_under_2000_forged_opens_a_second(settings: Settings, folder: Path) -> None:
    if settings.flakeway is None:
        print("skipped: no relay that makes a round trip time")
        return
    flood_each(settings, folder, 2_000, 60)


if __name__ == "__main__":
    field.main(
        honest_peers_are_served_under_10000_forged_opens_a_second,
        honest_peers_far_away_are_served_under_2000_forged_opens_a_second,
    )
