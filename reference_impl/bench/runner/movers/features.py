# SPDX-License-Identifier: BSD-2-Clause
"""The table of features. Each line is tried: what a mover's documentation promises does not count."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..lab import Line
from ..measure import monotonic_s
from ..peers import Build
from ..processes import BenchError, Program
from .tools import Mover, Stage
from .trial import Ends, Event, move, run_until, staged
from .workloads import MARKER, OLD_NS, OLD_S, Workload, make_names, plain_files

QUICK = Line("", 100, 4)
SLOW = Line("", 40, 20)  # so slow that something can happen while a file is under way
LIMIT_S = 90.0
RESUMED_RATIO = 0.75  # of the file, after a kill at half of it
SKIPPED_RATIO = 0.25  # of the file, when it is there already
HALF = 0.5
READY_S = 10.0
SMALL_S = 30.0  # for trees of a few files
SETTLE_S = 2.0


@dataclass(frozen=True)
class Samples:
    """What the features are tried with."""

    file: Workload
    zoo: Workload


def yes(value: bool, otherwise: str = "no") -> str:
    return "yes" if value else otherwise


# ---- what a copy keeps ---------------------------------------------------------------------------------------------


def _kept(source: Path, copy: Path) -> dict[str, str]:
    """Compares one of each, name by name."""

    def there(name: str) -> bool:
        return os.path.lexists(copy / name)

    def info(name: str) -> os.stat_result:
        return (copy / name).lstat()

    return {
        "permissions": yes(there("script") and stat.S_IMODE(info("script").st_mode) & 0o777 == 0o751),
        "modification times": yes(there("old") and info("old").st_mtime_ns == OLD_S * 10**9 + OLD_NS,
                                  "whole seconds" if there("old") and int(info("old").st_mtime) == OLD_S else "no"),
        "symbolic links": yes(there("link") and (copy / "link").is_symlink(), "as files" if there("link") else "no"),
        "empty directories": yes(there("empty-directory")),
        "empty files": yes(there("empty-file") and info("empty-file").st_size == 0),
        "holes": yes(there("hole") and info("hole").st_blocks * 512 * 2 < (source / "hole").stat().st_size,
                     "filled" if there("hole") else "no"),
    }  # fmt: skip


KEPT = list(_kept(Path(), Path()))
ODD_NAMES = {"names with line breaks": "line\nbreak", "names that are not UTF-8": os.fsdecode(b"latin-\xe9")}


def _copied(stage: Stage, mover: Mover) -> str | None:
    """Moves a small tree, and waits for it. Why the mover fails, or None."""
    ends = Ends(mover, stage)
    what = run_until(ends.over, lambda: False, monotonic_s() + SMALL_S)
    trouble = ends.failure() if what == "over" else f"does not end in {SMALL_S:g} s"
    if trouble is None:
        wanted = len(plain_files(stage.workload.source))
        run_until(lambda: len(plain_files(stage.copy)) == wanted, lambda: False, monotonic_s() + SETTLE_S)
    ends.kill()
    return trouble


def copies(build: Build, mover: Mover, samples: Samples) -> dict[str, str]:
    """What a copy keeps, and whether the mover reports what it does not."""
    if reason := mover.cannot(samples.zoo, build):
        return dict.fromkeys([*KEPT, "reports what it leaves out"], f"- ({reason})")
    with staged(build, mover, samples.zoo, QUICK, 1) as stage:
        trouble = _copied(stage, mover)
        results = _kept(samples.zoo.source, stage.copy)
    lost = "no" in results.values()
    results["reports what it leaves out"] = "-" if not lost else yes(trouble is not None)
    return results


def odd_names(build: Build, mover: Mover, samples: Samples) -> dict[str, str]:
    """One file with an unusual name beside one with a usual one."""
    if reason := mover.cannot(samples.zoo, build):
        return dict.fromkeys(ODD_NAMES, f"- ({reason})")
    results = {}
    for title, name in ODD_NAMES.items():
        with (
            tempfile.TemporaryDirectory() as folder,
            staged(build, mover, make_names(Path(folder), name), QUICK, 1) as stage,
        ):
            trouble = _copied(stage, mover)
            results[title] = yes((stage.copy / name).exists(), "no" if trouble is None else "no (fails)")
    return results


def again(build: Build, mover: Mover, samples: Samples) -> dict[str, str]:
    """The same file to the same place twice."""
    with staged(build, mover, samples.file, QUICK, 1) as stage:
        first = move(mover, stage, None, LIMIT_S)
        second = move(mover, stage, None, LIMIT_S)
    if not (first.done and second.done):
        raise BenchError(f"{mover.title}: not done in {LIMIT_S:g} s")
    return {"skips what is there": yes(second.wire_ratio < SKIPPED_RATIO, f"no (sends {second.wire_ratio:.2f} of it)")}


# ---- what happens on the way ---------------------------------------------------------------------------------------


def killed(build: Build, mover: Mover, samples: Samples) -> dict[str, str]:
    """kill -9 of both ends half way, and the same commands again."""
    with staged(build, mover, samples.file, SLOW, 1) as stage:
        trial = move(mover, stage, Event(HALF, kills=True), LIMIT_S)
        left = sorted(path.name for path in stage.target.iterdir() if path != stage.copy)
    if not trial.done:
        return {"resumes after kill -9": "no (not done)", "leaves nothing over": "-"}
    rest = trial.last_try_bytes / trial.payload_bytes
    return {
        "resumes after kill -9": yes(rest < RESUMED_RATIO) + f" (sends {rest:.2f} of it)",
        "leaves nothing over": yes(not left),
    }


@contextlib.contextmanager
def half_way(build: Build, mover: Mover, samples: Samples, old: bytes | None = None) -> Iterator[tuple[Stage, Ends]]:
    """A transfer, half of which has passed. `old`: what the name of the copy holds before."""
    with staged(build, mover, samples.file, SLOW, 1) as stage:
        if old is not None:
            stage.copy.write_bytes(old)
        half = stage.lab.wire_bytes() + HALF * samples.file.bytes
        ends = Ends(mover, stage)
        what = run_until(ends.over, lambda: stage.lab.wire_bytes() >= half, monotonic_s() + LIMIT_S)
        if what != "moment":
            raise BenchError(f"{mover.title}: never came half way: {ends.failure() or what}")
        yield stage, ends
        ends.kill()


def replacement(build: Build, mover: Mover, samples: Samples) -> dict[str, str]:
    """What the final name shows of a file that is replaced: half way, and after both ends were killed there."""
    old = b"old"
    seen = []
    with half_way(build, mover, samples, old) as (stage, ends):
        seen.append(stage.copy.exists() and stage.copy.read_bytes() == old)
        ends.kill()
        seen.append(stage.copy.exists() and stage.copy.read_bytes() == old)
    return {"an old file stays until the new one is whole": yes(all(seen))}


def changed(build: Build, mover: Mover, samples: Samples) -> dict[str, str]:
    """While the source is under way all of its bytes change."""
    source = samples.file.source
    original, times = source.read_bytes(), source.stat()
    new = original[::-1]
    try:
        with half_way(build, mover, samples) as (stage, ends):
            with source.open("r+b") as file:  # in place: it never becomes shorter
                file.write(new)
            what = run_until(ends.over, lambda: False, monotonic_s() + LIMIT_S)
            failed = what == "over" and ends.failure() is not None
            content = stage.copy.read_bytes() if stage.copy.exists() else None
    finally:
        source.write_bytes(original)
        os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    if what != "over":
        result = "does not end"
    elif failed:
        result = "yes"
    elif content in (original, new):
        result = "yes (one version arrives)"
    else:
        result = "no (a mixture of both, as success)"
    return {"detects a file that changes": result}


def hidden(build: Build, mover: Mover, samples: Samples) -> dict[str, str]:
    """Whether the bytes of a file can be read on the line."""
    path = samples.zoo.source / "plain"
    with staged(build, mover, Workload("plain", path, path.stat().st_size), QUICK, 1) as stage:
        sniff = [sys.executable, str(Path(__file__).with_name("sniff.py")), MARKER.decode().strip()]
        with Program(sniff, namespace=stage.lab.middle) as sniffer:
            run_until(lambda: "ready" in sniffer.peek(), lambda: False, monotonic_s() + READY_S)
            move(mover, stage, None, LIMIT_S)
            return {"encrypts": yes("seen" not in sniffer.peek())}


TRIALS: list[Callable[[Build, Mover, Samples], dict[str, str]]] = [
    killed, again, replacement, changed, copies, odd_names, hidden,
]  # fmt: skip
LINES = ["resumes after kill -9", "leaves nothing over", "skips what is there",
         "an old file stays until the new one is whole", "detects a file that changes", *KEPT, *ODD_NAMES,
         "reports what it leaves out", "encrypts"]  # fmt: skip
