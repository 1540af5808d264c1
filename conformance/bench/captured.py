#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What share of the mutants an ordinary capture shows: each mutant transfers data with the reference, in all roles and
over good and bad paths, in virtual time. The captures are checked as users do, by `check` (the Wireshark plugin) and by
`check --explain` (the reference core beside each end), without and with a statement where they were made.

Usage: captured.py [--sample N] [--seed N] [--variants] [--keep FOLDER] [NAME...]

A line for each mutant: `same` when its captures are those of the reference, which shows nothing; else who reports a
violation by it, and under which requirements. Exit status 1: the reference, which is the peer, or a legal variant is
reported."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from netblt_conformance.check import ends as both_ends
from netblt_conformance.check.judge import Checked, judge
from netblt_conformance.common import paths
from netblt_conformance.common.child import Child, Emit, finish
from netblt_conformance.common.errors import HarnessError, ImplementationError, NotSupportedError
from netblt_conformance.common.model import ALL_ROLES, MICROSECONDS_PER_MS, Parameters, Role, Start, Stop
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.sim import SimEndpoint
from netblt_conformance.links.virtual import Output
from netblt_conformance.mutants import mutation
from netblt_conformance.mutants.mutants import Mutant, MutantError, Variant, chosen, load, load_variants
from netblt_conformance.reference.beside import explain
from netblt_conformance.simlib import Flakeway, IutLibrary, PcapngWriter
from netblt_conformance.sweep.one import addresses
from netblt_conformance.sweep.stepped_pair import A, B, Limits, SteppedPair

LIMITS = Limits(time_us=400_000_000, packets=4_000)
CHILD_LIMIT_S = 120.0
PORTS = (1001, 1002)
SECONDS_APART = 1_000  # between the transfers of a file
PATHS = {
    "clean": ("latency 10ms",),
    "lossy": ("latency 10ms", "loss 3%"),
    "reordering": ("latency 10ms", "reorder 5% by 15ms"),
    "duplicating": ("latency 10ms", "duplicate 10%"),
    "damaging": ("latency 10ms", "corrupt 3%"),
    "cut": ("latency 10ms", "drop nth=40..1000000"),  # from some moment on nothing arrives
    "dead": ("latency 10ms", "loss 100%"),
}
BAD_PATHS = ("lossy", "reordering", "duplicating", "damaging")
PIPELINED = Parameters(buffer_size=2000, packet_size=256, burst_size=4, burst_interval_ms=5, max_buffers=3)
LOCK_STEP = Parameters(buffer_size=1024, packet_size=128, burst_size=3, burst_interval_ms=8, max_buffers=1)
STALLED = dataclasses.replace(PIPELINED, client_stall_from=4, client_stall_until_us=25_000_000)
SMALL = Parameters(buffer_size=900, packet_size=101, burst_size=1, burst_interval_ms=10, max_buffers=2)
# What the peer proposes or agrees to at most.
SMALLER = Parameters(buffer_size=1500, packet_size=200, burst_size=3, burst_interval_ms=7, max_buffers=2)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One transfer with the mutant in one role. `stop`: who ends it after `stop_us`: A is the mutant."""

    name: str
    role: Role
    path: str
    terms: Parameters
    length: int
    seed: int
    peers: Parameters | None = None  # where they differ from `terms`
    stop: Stop | None = None
    stop_side: int = A
    stop_us: int = 90 * MICROSECONDS_PER_MS


def scenarios() -> Iterator[Scenario]:
    for role in ALL_ROLES:
        yield Scenario("pipelined", role, "clean", PIPELINED, 18 * 2000 + 700, 1)
        yield Scenario("lock-step", role, "clean", LOCK_STEP, 6 * 1024 + 1, 3)
        for path in BAD_PATHS:
            for seed in (1, 2):
                yield Scenario("pipelined", role, path, PIPELINED, 18 * 2000 + 700, seed)
            yield Scenario("lock-step", role, path, LOCK_STEP, 6 * 1024 + 1, 3)
        for path in ("clean", "lossy"):
            for side in (A, B):
                yield Scenario("quit", role, path, PIPELINED, 9 * 2000, 4, stop=Stop.QUIT, stop_side=side)
                yield Scenario("abort", role, path, PIPELINED, 9 * 2000, 5, stop=Stop.ABORT, stop_side=side)
            yield Scenario("one buffer", role, path, SMALL, 850, 7)
            yield Scenario("unlike terms", role, path, PIPELINED, 12_345, 8, SMALLER)
        yield Scenario("stalled", role, "clean", STALLED, 9 * 2000, 6)
        yield Scenario("cut", role, "cut", PIPELINED, 18 * 2000, 9)
        if role.active:
            yield Scenario("no peer", role, "dead", PIPELINED, 2000, 10)


class StoppingEndpoint(SimEndpoint):
    """An end whose client quits, or whose NETBLT layer aborts, at one moment."""

    def __init__(self, library: IutLibrary, stop: Stop | None, stop_us: int) -> None:
        super().__init__(library)
        self._stop, self._stop_us = stop, stop_us

    def deadline_us(self) -> int:
        deadline_us = super().deadline_us()
        return deadline_us if self._stop is None else min(deadline_us, self._stop_us)

    def advance(self, now_us: int) -> list[Output]:
        output: list[Output] = []
        if self._stop is not None and now_us >= self._stop_us:
            how, self._stop = self._stop, None
            try:
                output = self.stop(how, "enough", now_us)
            except NotSupportedError:
                output = []  # it is over already
        return output + super().advance(now_us)


def _packed(address: str) -> bytes:
    return bytes(int(part) for part in address.split("."))


def _starts(scenario: Scenario, number: int) -> tuple[Start, Start]:
    here, there = (_packed(address) for address in addresses(number))
    role = scenario.role
    terms, others = (
        dataclasses.replace(one, data_checksum=True, death_timer_s=60, client_string="file")
        for one in (scenario.terms, scenario.peers or scenario.terms)
    )
    data = random.Random(f"{scenario.name} {scenario.seed}").randbytes(scenario.length)
    mine = Start(role, terms, here, there, *PORTS, scenario.seed, scenario.name, data if role.sender else b"")
    peers = Start(
        role.opposite, others, there, here, *PORTS[::-1], scenario.seed + 1, scenario.name, b"" if role.sender else data
    )
    return mine, peers


def play(library: IutLibrary, reference: IutLibrary, scenario: Scenario, number: int) -> tuple[SteppedPair, str]:
    """The pair with all that was captured, and how the transfer ended."""
    stops = [(scenario.stop, scenario.stop_us) if side == scenario.stop_side else (None, 0) for side in (A, B)]
    mine, peer = StoppingEndpoint(library, *stops[A]), StoppingEndpoint(reference, *stops[B])
    here, there = (_packed(address) for address in addresses(number))
    flakeway = Flakeway(scenario.seed, *PATHS[scenario.path], trace=False)
    pair = SteppedPair((mine, peer), (here, there), flakeway)
    try:
        return pair, pair.run(_starts(scenario, number), LIMITS).end.name
    except (ImplementationError, HarnessError) as error:
        return pair, f"{type(error).__name__}: {error}"
    finally:
        mine.close()
        peer.close()


def digest(pair: SteppedPair) -> str:
    """What was captured, without what comes from the number of the transfer."""
    seen = hashlib.sha256()
    for one in pair.sightings:
        seen.update(f"{one.time_us} {one.side} {one.enters} ".encode() + one.packet)
    return seen.hexdigest()


# The files of captures: the data come from the mutant or from its peer; both sides, and each side alone.
SENDS = ("sends", "receives")
POINTS = ("both", "own", "peers")


class Player(Child):
    """Plays all scenarios with one library; the implementation may crash or hang."""

    def __init__(self, library: Path, reference: Path, folder: Path) -> None:
        self._library, self._reference, self._folder = library, reference, folder
        super().__init__(CHILD_LIMIT_S)
        self.began()

    def work(self, emit: Emit) -> None:
        library, reference = IutLibrary(self._library), IutLibrary(self._reference)
        for sends in SENDS:
            writers = {point: PcapngWriter() for point in POINTS}
            places = {A: "own", B: "peers"}
            alone = {side: writers[point].interface(point) for side, point in places.items()}
            together = {side: writers["both"].interface(point) for side, point in places.items()}
            for number, scenario in enumerate(scenarios()):
                if scenario.role.sender != (sends == SENDS[0]):
                    continue
                pair, end = play(library, reference, scenario, number)
                for side, point in places.items():
                    pair.record_at(side, writers["both"], together[side])
                    pair.record_at(side, writers[point], alone[side])
                emit({"event": "played", "number": number, "end": end, "digest": digest(pair)})
            for point, writer in writers.items():
                writer.save(self._folder / f"{sends}.{point}.pcapng")


@dataclass(slots=True)
class Judged:
    """What is reported of one mutant: by whom -> requirements and how often."""

    by_judge: dict[str, Counter[str]] = field(default_factory=dict)
    suspected: dict[str, Counter[str]] = field(default_factory=dict)  # that the reference in its place is not
    wrongly: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)  # transfers whose capture is not that of the reference
    fault: str = ""

    def named(self, judge_name: str) -> bool:
        return bool(self.by_judge.get(judge_name))


JUDGES = ("check", "check stated", "explain", "explain stated")


def _take(judged: Judged, name: str, requirement: str, offender: str, verdict: Verdict, text: str) -> None:
    address = offender.partition(" ")[0]
    if address.endswith(".2") and verdict is Verdict.FAIL:
        judged.wrongly.append(f"{name}: {requirement} {offender}: {text}")
    elif address.endswith(".1"):
        counts = judged.by_judge if verdict is Verdict.FAIL else judged.suspected
        counts.setdefault(name, Counter())[requirement] += 1


def _take_checked(judged: Judged, name: str, checked: Checked) -> None:
    for row in checked.results:
        if row.verdict in (Verdict.FAIL, Verdict.INCONC):
            _take(judged, name, row.requirement, row.role, row.verdict, f"{row.case}: {row.seen}")


def judge_all(tshark: Tshark, folder: Path, judged: Judged, explained: bool) -> None:
    for sends in SENDS:
        both = folder / f"{sends}.both.pcapng"
        for point in POINTS[1:]:
            with (folder / f"{sends}.{point}.pcapng").open("rb") as file:
                _take_checked(judged, "check", judge(tshark, file, sends))
        with both_ends.of_one_file(both) as ends, both.open("rb") as file:
            _take_checked(judged, "check stated", judge(tshark, file, sends, ends=ends))
        for point in POINTS[1:] if explained else ():
            at_sender = (sends == SENDS[0]) == (point == "own")
            for position in (None, "sender" if at_sender else "receiver"):
                name = "explain stated" if position else "explain"
                for end in explain(folder / f"{sends}.{point}.pcapng", position):
                    if (out := end.outside) is not None:
                        words = f"{point} frame {out.frame}: expected {out.expected}, observed {out.observed}"
                        _take(judged, name, out.requirement, end.end, Verdict.FAIL, words)


def played(library: Path, reference: Path, folder: Path) -> tuple[dict[int, tuple[str, str]], str]:
    """Digest and end of each transfer, and why the process did not end well."""
    folder.mkdir(parents=True, exist_ok=True)
    events, ending = finish(Player(library, reference, folder))
    found = {one["number"]: (one["digest"], one["end"]) for one in events if one["event"] == "played"}
    trace = next((one["what"] for one in events if one["event"] == "trace"), "")
    return found, ending.fault("the transfers", CHILD_LIMIT_S) or trace


def _line(entry: Mutant | Variant, judged: Judged) -> str:
    requirement = entry.requirement if isinstance(entry, Mutant) else ""
    if judged.fault:
        word = "BROKEN"
    elif not judged.different:
        word = "same"
    elif not judged.by_judge:
        word = "suspected" if any(+counts for counts in judged.suspected.values()) else "nobody"
    else:
        word = "+".join(
            name.replace("check", "c").replace("explain", "e").replace(" stated", "S")
            for name in JUDGES
            if judged.named(name)
        )
    rules = {
        name: " ".join(f"{r}:{n}" for r, n in judged.by_judge[name].most_common(4))
        for name in JUDGES
        if judged.named(name)
    }
    suspected = " ".join(f"{r}:{n}" for r, n in (+judged.suspected.get("check", Counter())).most_common(4))
    return (
        f"{word:<12} {requirement:<10} {entry.name} [{len(judged.different)}] {rules} susp {suspected} {judged.fault}"
    )


def measure(entries: Sequence[Mutant | Variant], keep: Path | None, explained: bool) -> bool:
    all_judged: list[tuple[Mutant | Variant, Judged]] = []
    every = list(scenarios())
    with mutation.workshop(paths.core()) as made, Tshark() as tshark, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, fault = played(made.library, made.library, folder / "reference")
        if fault:
            raise SystemExit(f"the reference does not play: {fault}")
        usual = Judged()
        judge_all(tshark, folder / "reference", usual, explained)
        for line in usual.wrongly + [f"{judge}: {counts}" for judge, counts in usual.by_judge.items()]:
            print(f"UNJUST {line[:300]}", flush=True)
        for entry in entries:
            judged = Judged()
            own = (keep or folder) / entry.name
            try:
                found, judged.fault = played(made.build(entry), made.library, own)
            except MutantError as error:
                raise SystemExit(str(error)) from None
            judged.different = [
                f"{every[number].name} {every[number].role} {every[number].path}"
                for number, (digest_of, _) in found.items()
                if digest_of != plain[number][0]
            ]
            if judged.different and not judged.fault:
                judge_all(tshark, own, judged, explained)
                for judge_name, counts in judged.suspected.items():
                    counts.subtract(usual.suspected.get(judge_name, Counter()))
            all_judged.append((entry, judged))
            print(_line(entry, judged), flush=True)
            for line in judged.wrongly[:5]:
                print(f"    UNJUST {line[:300]}", flush=True)
            for file in own.glob("*") if keep is None else ():
                file.unlink()
    return _summary(all_judged)


def _summary(judged: Sequence[tuple[Mutant | Variant, Judged]]) -> bool:
    different = [one for _, one in judged if one.different]
    print(f"{len(judged)} tried, {len(different)} have other captures than the reference")
    for name in JUDGES:
        print(f"  {name}: {sum(one.named(name) for one in different)}")
    print(f"  any judge: {sum(bool(one.by_judge) for one in different)}")
    planted = sum(
        any(set(counts) & entry.planted for counts in one.by_judge.values())
        for entry, one in judged
        if isinstance(entry, Mutant)
    )
    print(f"  any judge, under the planted requirement: {planted}")
    accused = [entry.name for entry, one in judged if isinstance(entry, Variant) and one.by_judge]
    if accused:
        print(f"legal variants that are reported: {', '.join(accused)}")
    return not accused and not any(one.wrongly for _, one in judged)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, chosen at random (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--variants", action="store_true", help="legal variants instead: none may be reported")
    parser.add_argument("--no-explain", action="store_true", help="by the plugin only")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the captures here")
    options = parser.parse_args()
    entries: list[Mutant | Variant]
    if options.variants:
        entries = list(chosen(load_variants(paths.variants()), options.names))
    else:
        entries = list(chosen(load(paths.mutants()), options.names))
    if 0 < options.sample < len(entries):
        entries = random.Random(options.seed).sample(entries, options.sample)
    began = time.process_time()
    good = measure(entries, options.keep, not options.no_explain)
    print(f"{time.process_time() - began:.0f} s of processor time in this process")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
