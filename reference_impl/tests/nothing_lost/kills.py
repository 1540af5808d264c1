# SPDX-License-Identifier: BSD-2-Clause
"""kill -9 of either end, or both, at random moments of random transfers, and the same commands again until success.

Checked: at no moment a final name shows a part of a file, nor nothing where there was an old file; when the active end
reports success the copy is equal (bytes, modes, times, links) and nothing of netblt's own is left; after a kill, no
more than the buffers that were outstanding is retransmitted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import lab
import trees
from trees import Entry, Watcher, differences, entry_of, leftovers, snapshot
from ways import BUFFER_BYTES, DEATH_TIMER_S, WAYS, Ends, Job, Way, resumes

KILLS_PER_ROUND_MAX = 15
BYTES_MAX = 5_000_000
TRIES_MAX = 10  # in a row without a kill: an end that survived may hold locks until its death timer expires
PAUSE_S = 0.5  # after a try that failed
LIMIT_S = 60.0
BURST_BYTES = 16 * 1448
SETTLE_S = 3 * DEATH_TIMER_S
INTERVALS_MS = (0, 2, 5, 10, 20)
BUFFERS = (2, 4, 8)
OPENING_BYTES = 10_000  # what connections of a tree transfer have to send before any data
EDIT_SHARE = 0.15  # of the kills are followed by a change of the source
PART_BYTES_LEAST = 256 << 10
# Options of a role, and how often each is given.
OPTIONS: dict[str, dict[tuple[str, ...], float]] = {
    "sender": {("--part-size", "256k"): 0.2, ("--part-size", "700k"): 0.2, ("--hash", "sha256"): 0.2,
               ("--retry", "20"): 0.3},
    "receiver": {("--sync",): 0.2, ("--checksum",): 0.2, ("--retry", "20"): 0.3},
}  # fmt: skip
OVERHEAD = 1.1  # headers, acknowledgements, hashes, and some packets that a busy host loses
UNPACED_OVERHEAD = 1.5  # it loses more when all comes at once


@dataclass
class Result:
    """One round: what was done, and what is wrong."""

    way: str
    seed: int
    kills: int = 0
    starts: int = 0
    looks: int = 0
    bytes: int = 0
    manifest_bytes: int = 0
    buffers: int = 0
    interval_ms: int = 0
    wire_bytes: int = 0
    tries_bytes: list[int] = field(default_factory=list)  # of wire_bytes, those of each try that did not succeed
    problems: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    @property
    def outstanding_bytes(self) -> int:
        return (self.buffers + 1) * BUFFER_BYTES

    @property
    def allowed_bytes(self) -> float:
        """All data once. A try that did not succeed costs what was outstanding, the piece in which that begins, the
        manifest and a held list, which is not larger. So much may be under way once more before a sender knows that
        the receiver holds something."""
        again = self.outstanding_bytes + 2 * self.manifest_bytes + OPENING_BYTES
        wasted = sum(min(sent, again) for sent in self.tries_bytes)
        parts = 1 + self.bytes // PART_BYTES_LEAST
        opened = (self.starts + 1) * (OPENING_BYTES + 2 * self.manifest_bytes) + parts * OPENING_BYTES
        overhead = OVERHEAD if self.interval_ms else UNPACED_OVERHEAD
        return overhead * (self.bytes + wasted + len(self.tries_bytes) * self.outstanding_bytes) + opened


class Round:
    """One random tree, or file, that is moved with kills on the way."""

    def __init__(self, netblt: str, way: Way, seed: int, folder: Path) -> None:
        self.chance = random.Random(f"{way.name} {seed}")
        self.kills_left = self.chance.randint(1, KILLS_PER_ROUND_MAX)
        for name in ("from", "to", "scratch"):
            (folder / name).mkdir()
        self.host = lab.Host()
        self.job = Job(netblt, self.host, way, folder / "from" / "what", folder / "to" / "what", folder / "scratch",
                       self.chance.choice(INTERVALS_MS), self.chance.choice(BUFFERS),
                       self._options(netblt))  # fmt: skip
        self.result = Result(way.name, seed, buffers=self.job.buffers, interval_ms=self.job.interval_ms)
        self._make(int(10 ** self.chance.uniform(4.5, 6.7)))

    def _options(self, netblt: str) -> dict[str, list[str]]:
        """Further options; none for a command that cannot resume."""
        given: dict[str, list[str]] = {}
        for role, options in OPTIONS.items():
            chosen = [words for words, share in options.items() if self.chance.random() < share]
            given[role] = [word for words in chosen for word in words] if resumes(netblt) else []
        return given

    def _make(self, size: int) -> None:
        source, copy = self.job.source, self.job.copy
        if self.job.way.tree:
            trees.make_tree(source, self.chance, min(size, BYTES_MAX), served=self.job.way.listens)
            self.result.bytes = trees.stored_bytes(source)
            self.result.manifest_bytes = sum(len(os.fsencode(path)) + 60 for path in source.rglob("*"))
        else:
            trees.write_file(source, size, self.chance)
            self.result.bytes = size
        if self.chance.random() < 0.5:
            if self.job.way.tree:
                trees.make_old(source, copy, self.chance)
            else:
                copy.write_bytes(b"an old version")
        self.old = {name: entry for name, entry in self.seen(copy).items() if entry.kind != "directory"}
        self.new = self.seen(source)

    @staticmethod
    def seen(path: Path) -> dict[str, Entry]:
        """A tree or a file with its names as they are in the directory that holds it."""
        if not os.path.lexists(path):
            return {}
        if not path.is_dir():
            return {path.name: entry_of(path)}
        return {str(Path(path.name, name)): entry for name, entry in snapshot(path).items()}

    def wire_bytes(self) -> int:
        lines = self.host.run("cat", "/proc/net/dev").splitlines()
        (figures,) = (line.partition(":")[2].split() for line in lines if line.strip().startswith("lo:"))
        return int(figures[8])

    def _moment_s(self) -> float:
        """When the next kill comes: early, or at any time until about the end."""
        expected = 0.1 + self.result.bytes / BURST_BYTES * self.job.interval_ms / 1000
        return self.chance.choice([self.chance.uniform(0, 0.15), self.chance.uniform(0, expected),
                                   self.chance.uniform(0, min(expected, 0.6))])  # fmt: skip

    def carry_out(self) -> Result:
        ends = Ends(self.job)
        try:
            with Watcher(self.job.copy.parent, self.old, self.new) as watcher:
                self._until_success(ends, watcher)
            self.result.problems += watcher.violations
            self.result.looks = watcher.looks
        except AssertionError as problem:
            self.result.problems.append(str(problem))
        finally:
            ends.end()
            self.result.problems += ends.crashes
            self.result.outputs = ends.outputs[-8:]
        return self.result

    def _until_success(self, ends: Ends, watcher: Watcher) -> None:
        failures = 0
        while failures < TRIES_MAX:
            before = self.wire_bytes()
            ends.start()
            self.result.starts += 1
            status = self._wait(ends, self._moment_s() if self.kills_left else LIMIT_S)
            if status == 0:
                self._check_success(ends)
                return
            if status is None and not self.kills_left:
                self.result.problems.append(f"not done after {LIMIT_S:g} s without a kill")
                return
            if status is None:
                failures = 0
                self._kill(ends)
                watcher.look()
                if resumes(self.job.netblt) and not ends.running("sender") and self.chance.random() < EDIT_SHARE:
                    self._edit(watcher)
            else:
                failures += 1
                time.sleep(PAUSE_S)
            # A sender that survives its receiver sends what may be outstanding all the same.
            more = self.result.outstanding_bytes if ends.running("sender") else 0
            self.result.tries_bytes.append(self.wire_bytes() - before + more)
        self.result.problems.append(f"{TRIES_MAX} tries without a kill failed")

    def _kill(self, ends: Ends) -> None:
        for role in self.chance.choice([["sender"], ["receiver"], ["sender", "receiver"], ["receiver", "sender"]]):
            if ends.running(role):
                ends.kill(role)
                self.kills_left = max(0, self.kills_left - 1)
                self.result.kills += 1

    def _edit(self, watcher: Watcher) -> None:
        """The source changes before the next try."""
        self.result.bytes += trees.edit(self.job.source, self.chance)
        self.new = self.seen(self.job.source)
        watcher.allow(self.new)

    def _wait(self, ends: Ends, seconds: float) -> int | None:
        """The exit status of the active end, or None when it still runs."""
        until = time.monotonic() + seconds
        while (status := ends.status(ends.active)) is None and time.monotonic() < until:
            time.sleep(0.002)
        return status

    def _check_success(self, ends: Ends) -> None:
        """The active end has reported success: the copy is there. A moment later nothing else is."""
        self.result.wire_bytes = self.wire_bytes()
        problems = self._wrong_with_copy()
        until = time.monotonic() + SETTLE_S
        while self._unsettled(ends) and time.monotonic() < until:
            time.sleep(0.01)
        problems += [f"left over: {name}" for name in leftovers(self.job.copy.parent)]
        problems += [f"left over at the sender: {name}" for name in leftovers(self.job.source.parent)]
        if differences(self.new, self.seen(self.job.source)):
            problems.append("the source has changed")
        sent, allowed = self.result.wire_bytes, self.result.allowed_bytes
        if resumes(self.job.netblt) and sent > allowed:
            problems.append(f"{sent} bytes on the line, at most {allowed:.0f} expected")
        self.result.problems += problems

    def _wrong_with_copy(self) -> list[str]:
        got = self.seen(self.job.copy)
        if self.job.way.tree or resumes(self.job.netblt):
            return differences(self.new, got)
        same = [entry.sum for entry in got.values()] == [entry.sum for entry in self.new.values()]
        return [] if same else ["the file has other bytes"]

    def _unsettled(self, ends: Ends) -> bool:
        passive_runs = not self.job.way.listens and ends.running(self.job.way.passive)
        return passive_runs or bool(leftovers(self.job.copy.parent))


def run_round(netblt: str, way: Way, seed: int, keep: bool) -> Result:
    folder = Path(tempfile.mkdtemp(prefix="netblt-kills-"))
    try:
        result = Round(netblt, way, seed, folder).carry_out()
    finally:
        if not keep:
            shutil.rmtree(folder)
    if keep:
        print(f"kept: {folder}")
    return result


def report(result: Result, netblt: str) -> None:
    print(
        f"{result.way} {result.seed}: {result.kills} kills, {result.starts} starts, {result.looks} looks, "
        f"{result.bytes} bytes, {result.wire_bytes} on the line (at most {result.allowed_bytes:.0f})",
        flush=True,
    )
    if not result.problems:
        return
    for problem in result.problems[:5]:
        print(f"    FAILED: {problem}")
    print(f"    {json.dumps(asdict(result))}")
    words = f"{Path(__file__).name} --netblt {netblt} --way {result.way} --seed {result.seed} --rounds 1 --keep"
    print(f"    again (the moments of kills depend on the machine's load): {words}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--netblt", required=True)
    parser.add_argument("--kills", type=int, default=30, metavar="N", help="stop when so many were killed (30)")
    parser.add_argument("--rounds", type=int, metavar="N", help="instead of --kills: so many trees of each way")
    parser.add_argument("--seed", type=int, metavar="N", help="of the first round (drawn when not given)")
    parser.add_argument("--way", action="append", choices=[way.name for way in WAYS], help="only this one (all)")
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="rounds at the same time (4)")
    parser.add_argument("--keep", action="store_true", help="keep the files of each round")
    given = parser.parse_args()
    if given.seed is None:
        given.seed = int(time.time())
    return given


def main() -> int:
    given = arguments()
    lab.enter_user_namespace()
    usable = [way for way in WAYS if not way.tree or resumes(given.netblt)]
    ways = [way for way in usable if not given.way or way.name in given.way]
    if not ways:
        lab.skip("this netblt moves no trees")
    print(f"seed {given.seed}", flush=True)
    kills = failed = rounds = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        seed = given.seed
        while (rounds < given.rounds * len(ways)) if given.rounds else kills < given.kills:
            batch = [
                pool.submit(run_round, given.netblt, way, seed + extra, given.keep)
                for extra in range(max(1, given.jobs // len(ways)) if not given.rounds else 1)
                for way in ways
            ]
            for future in batch:
                result = future.result()
                report(result, given.netblt)
                kills += result.kills
                failed += bool(result.problems)
                rounds += 1
            seed += max(1, given.jobs // len(ways)) if not given.rounds else 1
    print(f"{kills} kills in {rounds} transfers, {failed} transfers failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
