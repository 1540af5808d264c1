# SPDX-License-Identifier: BSD-2-Clause
"""A soak: many honest transfers against one listener, with all attacks at once. Takes as long as its option states.

usage: soak.py --netblt PATH --forge PATH --flakeway PATH [--minutes 10] [--transfers 200] [--seed N] [--report FILE]

Exit status 0: all files are equal, all clients succeeded, the listener's memory is flat, and nothing remains."""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lab
from field import CLIENTS, FORGED, SERVER, UDP_PORT, Field, Forge, Honest, Listener, Settings, listening, playground
from running import KINDS, OpenTap, aim, stored_files

ROUND_TRIP_MS = 20
AT_ONCE = 6  # honest transfers
SIZES = (0, 1, 1000, 50_000, 500_000, 3_000_000, 10_000_000)
TRANSFER_MAX_S = 150
ATTACKS_ANEW_S = 60  # with other addresses and ports
AIMED_PACKETS = 200  # of each kind that is aimed at a transfer
AIMED_KINDS = 3
SAMPLE_S = 1.0
RSS_GROWTH_MAX = 0.10  # from the middle third to the last one
RSS_NOISE_KIB = 4096  # less than this is no growth
DEATH_TIMERS_S = 90  # until what forged packets hold is released
LOOK_S = 0.02
EPHEMERAL = "random:32768-60999"  # what the kernel gives to a client

# Options and steps for `forge`. All of them run all the time.
BLIND: dict[str, tuple[int, list[str]]] = {  # conversations a second, from random addresses
    "OPEN to read, GO": (20, ["open:read,string=big", "go:seq=1,buffer=0,at=50"]),
    "OPEN to read, GO, OK": (5, ["open:read,string=big", "go:seq=1,buffer=0,at=50", "ok:seq=2,buffer=0,at=300"]),
    "OPEN to write, death timer 1": (10, ["open:write,string=forged-%,death=1"]),
    "flood of OPENs": (500, ["open:either,string=forged-%"]),
    "slow loris": (10, ["open:write,string=slow-%", "null-ack:seq=1,at=50", "keepalive:at=2000,every=5000,repeat=8"]),
    "name lock": (1, ["open:write,string=honest-%"]),
}
SWEPT = ("ABORT", "QUIT", "REFUSED", "DATA", "NULL-ACK", "OPEN")
SWEPT_PER_S = 300  # of each kind, to the listener and to the clients, in the names of the others


@dataclass
class Soak:
    ground: Field
    server: Listener
    random: random.Random
    seconds: float
    transfers: int
    tap: OpenTap
    active: list[Honest] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    begun: int = 0
    succeeded: int = 0
    bytes_moved: int = 0
    rss_kib: list[int] = field(default_factory=list)
    attacks: list[Forge] = field(default_factory=list)
    aimed: list[Forge] = field(default_factory=list)
    forged_packets: int = 0
    forged_bytes: int = 0

    # ---- attacks

    def begin_attacks(self) -> None:
        """Repeatedly, each time with other addresses."""
        self.end_attacks()
        for rate, steps in BLIND.values():
            self.attacks.append(self.ground.forge(*self._pace(rate), *steps, source=FORGED))
        clients = f"{CLIENTS[0]}/29"  # the addresses that honest clients have, and two more
        for kind in SWEPT:
            to_server = ["--udp-from", "random", "--udp-to", str(UDP_PORT), "--local-port", "random"]
            self.attacks.append(self.ground.forge(*self._pace(SWEPT_PER_S), *to_server, KINDS[kind], source=clients))
            to_client = ["--udp-from", str(UDP_PORT), "--udp-to", EPHEMERAL, "--local-port", "1"]
            words = (*self._pace(SWEPT_PER_S), *to_client, "--foreign-port", "random", KINDS[kind])
            self.attacks.append(self.ground.forge(*words, to=self.random.choice(CLIENTS[:AT_ONCE]), source=SERVER))

    def _pace(self, rate: int) -> tuple[str, ...]:
        count = rate * ATTACKS_ANEW_S * 2
        return (
            "--encap",
            "udp",
            "--rate",
            str(rate),
            "--count",
            str(count),
            "--seed",
            str(self.random.getrandbits(31)),
        )

    def end_attacks(self) -> None:
        for forge in self.attacks:
            forge.process.terminate()
        self._count(self.attacks)
        self.attacks.clear()

    def aim_at_new_clients(self) -> None:
        """Some kinds at each new connection, by an attacker who knows its ports."""
        while (seen := self.tap.next(0)) is not None:
            for kind in self.random.sample(sorted(KINDS), AIMED_KINDS):
                for to_server in (True, False):
                    words = ("--rate", "100", "--count", str(AIMED_PACKETS), KINDS[kind])
                    self.aimed.append(aim(self.ground, "udp", *seen, to_server, *words))
        done = [forge for forge in self.aimed if not forge.running]
        self.aimed = [forge for forge in self.aimed if forge.running]
        self._count(done)

    def _count(self, forges: list[Forge]) -> None:
        for forge in forges:
            counters = forge.counters()
            self.forged_packets += counters["packets"]
            self.forged_bytes += counters["bytes"]
            self.ground.forget(forge)

    # ---- honest transfers

    def begin_transfer(self) -> None:
        address = next(client for client in CLIENTS if all(one.address != client for one in self.active))
        upload, size = self.random.random() < 0.5, self.random.choice(SIZES)
        self.active.append(Honest(self.ground, self.server, "udp", upload, size, address))
        self.begun += 1
        self.bytes_moved += size

    def look_at_transfers(self) -> None:
        for one in list(self.active):
            if not one.ended and time.monotonic() - one.begun < TRANSFER_MAX_S:
                continue
            outcome = one.outcome()
            self.active.remove(one)
            self.ground.forget(one.client)
            self.succeeded += not outcome.problem
            if outcome.problem:
                self.problems.append(f"{outcome.problem} (after {outcome.seconds:.0f} s)")

    # ---- the whole

    def carry_out(self) -> None:
        begin = time.monotonic()
        attacks_at = sample_at = begin
        while self.begun < self.transfers or self.active:
            now = time.monotonic()
            if now >= attacks_at:
                self.begin_attacks()
                attacks_at = now + ATTACKS_ANEW_S
            due = self.begun < self.transfers and now >= begin + self.begun * self.seconds / self.transfers
            if due and len(self.active) < AT_ONCE:
                self.begin_transfer()
            self.aim_at_new_clients()
            self.look_at_transfers()
            if now >= sample_at:
                if not self.server.program.running:
                    self.problems.append(f"the listener ended: {self.server.program.last_error}")
                    break
                self.rss_kib.append(self.server.program.memory_kib())
                sample_at = now + SAMPLE_S
            time.sleep(LOOK_S)
        self.end_attacks()
        self._count(self.aimed)
        self.look_for_growth()
        self.look_for_leftovers()

    def thirds(self) -> tuple[int, int]:
        """Median memory in KiB of the middle and of the last third."""
        third = max(1, len(self.rss_kib) // 3)
        return round(statistics.median(self.rss_kib[third : 2 * third] or [0])), round(
            statistics.median(self.rss_kib[-third:] or [0])
        )

    def look_for_growth(self) -> None:
        middle, last = self.thirds()
        if last - middle > max(RSS_NOISE_KIB, RSS_GROWTH_MAX * middle):
            self.problems.append(f"the listener's memory grew from {middle} to {last} KiB")

    def look_for_leftovers(self) -> None:
        if not self.server.program.running:
            return
        until = time.monotonic() + DEATH_TIMERS_S
        process = self.server.program.process
        while time.monotonic() < until and (stored_files(process) or self.server.leftovers()):
            time.sleep(1)
        if stored_files(process) or self.server.leftovers():
            self.problems.append(f"left behind: {stored_files(process)} open files, {self.server.leftovers()}")
        named = [path.name for path in self.server.root.iterdir() if path.name != "big"]
        if named:
            self.problems.append(f"files that nobody finished: {named[:5]}")

    def report(self) -> dict[str, Any]:
        middle, last = self.thirds()
        return {
            "transfers": self.begun, "succeeded": self.succeeded, "bytes": self.bytes_moved,
            "forged_packets": self.forged_packets, "forged_bytes": self.forged_bytes,
            "victim_bytes": self.ground.victim_bytes(), "rss_middle_third_kib": middle, "rss_last_third_kib": last,
            "rss_max_kib": max(self.rss_kib or [0]), "problems": self.problems,
        }  # fmt: skip


def run(given: argparse.Namespace) -> dict[str, Any]:
    settings = Settings(given.netblt, given.forge, given.flakeway, True)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ground = stack.enter_context(playground(settings, folder, ROUND_TRIP_MS))
        server = stack.enter_context(listening(ground, "udp"))
        tap = OpenTap(ground, "udp")
        stack.callback(tap.close)
        server.file("big", 20_000_000)
        soak = Soak(ground, server, random.Random(given.seed), given.minutes * 60, given.transfers, tap)
        soak.carry_out()
        return soak.report()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--netblt", required=True)
    parser.add_argument("--forge", required=True)
    parser.add_argument("--flakeway", required=True)
    parser.add_argument("--minutes", type=float, default=10, help="how long transfers begin (10)")
    parser.add_argument("--transfers", type=int, default=200, help="how many in that time (200)")
    parser.add_argument("--seed", type=int, default=1, help="of sizes, directions and attacks (1)")
    parser.add_argument("--report", type=Path, help="a file for the result, in JSON")
    given = parser.parse_args()
    lab.enter_user_namespace()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    begin = time.monotonic()
    report = {"minutes": given.minutes, "seed": given.seed, **run(given)}
    report["seconds"] = round(time.monotonic() - begin, 1)
    text = json.dumps(report, indent=1)
    print(text)
    if given.report is not None:
        given.report.write_text(text + "\n")
    return 1 if report["problems"] or report["succeeded"] != given.transfers else 0


if __name__ == "__main__":
    sys.exit(main())
