#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Kills what runs a campaign, at random moments, and compares the results with those of a campaign that nothing
disturbed: nothing may be lost, nothing counted twice. What it kills: worker processes, the command with its
scheduler, the scheduler of a cluster.

Usage: campaign.py [--units N] [--block N] [--workers N] [--kills N] [--seed N] [workers|command|scheduler]...
Exit status: 1 when results differ."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netblt_conformance.campaign.folder import Folder
from netblt_conformance.campaign.questions import Results

LOOPBACK = "127.0.0.1"
LIMIT_S = 3_600.0
LOOK_S = 0.02
# How the command line of a worker process of Dask begins, and of a process that runs units.
WORKER, RUNNER = "spawn_main", "netblt_conformance.campaign.runner"
SWEEP = """\
layout = 1
kind = "sweep"
seed = {seed}
units = {units}
block = {block}

[parameters]
singles = false
pairs = false
dissector = {dissector}
"""

Content = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Plan:
    """One campaign, and how it is disturbed."""

    units: int = 40_000
    block: int = 500
    workers: int = 3
    kills: int = 20
    seed: int = 1
    dissector: bool = True

    def write(self, path: Path) -> Path:
        dissector = str(self.dissector).lower()
        path.write_text(
            SWEEP.format(seed=self.seed, units=self.units, block=self.block, dissector=dissector), encoding="utf-8"
        )
        return path


def content(folder: Path) -> Content:
    """What the units were found to do, without the columns about blocks."""
    return Results(Folder(folder)).ask("select * from units order by unit, name").rows


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "netblt_conformance", "campaign", *words]


def start(*words: str) -> subprocess.Popen[str]:
    """The command campaign."""
    return subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=LIMIT_S)
    return process.returncode, output


# ---- processes ----


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def below(ancestor: int, part: str = "") -> list[int]:
    """The processes that this one started, and those that they started, with this in their command line."""
    parents: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(file.parent.name)] = int(file.read_text().rpartition(")")[2].split()[1])
    found, level = [], [ancestor]
    while level:
        level = [pid for pid, parent in parents.items() if parent in level]
        found += level
    return [pid for pid in found if part in _words(pid)]


def alive(pids: Sequence[int]) -> list[int]:
    """Those that have not ended; an ended one that is not waited for has no command line."""
    return [pid for pid in pids if _words(pid)]


def wait_until(true: Callable[[], Any], limit_s: float = LIMIT_S) -> Any:
    """What `true` returns when that is not empty."""
    give_up_s = time.monotonic() + limit_s
    while not (found := true()):
        if time.monotonic() > give_up_s:
            raise SystemExit("waited in vain")
        time.sleep(LOOK_S)
    return found


def blocks(folder: Path) -> int:
    """Blocks that have ended."""
    return len(list((folder / "blocks").glob("*.parquet"))) if (folder / "blocks").is_dir() else 0


# ---- what is done to a campaign ----


def undisturbed(plan: Plan, folder: Path) -> Content:
    """One worker."""
    file = plan.write(folder / "campaign.toml")
    status, output = ended(start("run", str(file), "--output", str(folder / "undisturbed"), "--workers", "1"))
    if status != 0:
        raise SystemExit(f"exit status {status}\n{output}")
    return content(folder / "undisturbed")


def kill_workers(plan: Plan, folder: Path) -> tuple[Content, int]:
    """Kills worker processes, or the process of the units below one, while the campaign runs. The number of kills."""
    chance, kills, output = random.Random(plan.seed), 0, folder / "workers"
    process = start("run", str(folder / "campaign.toml"), "--output", str(output), "--workers", str(plan.workers))
    of_one = max(1, plan.units // plan.block // (plan.kills + 1))
    while process.poll() is None and kills < plan.kills:
        victims = below(process.pid, RUNNER if chance.random() < 0.25 else WORKER)
        if blocks(output) >= kills * of_one and victims and below(process.pid, RUNNER):
            time.sleep(chance.uniform(0, 0.1))
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(victims), signal.SIGKILL)
                kills += 1
        time.sleep(LOOK_S)
    status, words = ended(process)
    if status != 0:
        raise SystemExit(f"exit status {status} after {kills} kills\n{words}")
    return content(output), kills


def kill_command(plan: Plan, folder: Path) -> tuple[Content, int]:
    """Kills the command, which has the scheduler in it, and gives it again until it ends by itself."""
    chance, kills, output, status = random.Random(plan.seed), 0, folder / "command", 1
    while status != 0:
        words = ("run", str(folder / "campaign.toml")) if not (output / "campaign.json").exists() else ("resume",)
        where = ("--output", str(output)) if len(words) == 2 else (str(output),)
        process = start(*words, *where, "--workers", str(plan.workers))
        if kills < plan.kills:
            before = blocks(output)
            more = chance.randint(1, max(1, plan.units // plan.block // plan.kills))
            wait_until(lambda: blocks(output) >= before + more or process.poll() is not None)  # noqa: B023
            time.sleep(chance.uniform(0, 0.1))
            if process.poll() is None:
                started = below(process.pid)
                process.kill()
                kills += 1
                wait_until(lambda: not alive(started), 60)  # noqa: B023  # nothing outlives the command
        status, text = ended(process)
        if status > 0:
            raise SystemExit(f"exit status {status} after {kills} kills\n{text}")
    return content(output), kills


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler and workers as a cluster has them, on the loopback interface. The address, and the scheduler."""
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        port = free.getsockname()[1]
    address = f"tcp://{LOOPBACK}:{port}"
    dask = str(Path(sys.executable).with_name("dask"))
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="netblt-dask-") as scratch:
        try:
            words = [dask, "scheduler", "--host", LOOPBACK, "--port", str(port), "--no-dashboard"]
            started.append(subprocess.Popen(words, **quiet))
            for _ in range(workers):
                words = [dask, "worker", address, "--host", LOOPBACK, "--nthreads", "1", "--no-dashboard"]
                words += ["--memory-limit", "0", "--local-directory", scratch]
                started.append(subprocess.Popen(words, **quiet))
            yield address, started[0]
        finally:
            left = [pid for process in started for pid in (process.pid, *below(process.pid))]
            for pid in alive(left):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for process in started:
                process.wait()


def kill_scheduler(plan: Plan, folder: Path) -> tuple[Content, int]:
    """Kills the scheduler of a cluster twice; then a new cluster ends the campaign."""
    output, kills, status = folder / "scheduler", 0, 1
    while status != 0:
        with cluster(plan.workers) as (address, scheduler):
            words = ("resume", str(output)) if output.exists() else ("run", str(folder / "campaign.toml"))
            more = () if output.exists() else ("--output", str(output))
            process = start(*words, *more, "--scheduler", address)
            if kills < min(2, plan.kills):
                before = blocks(output)
                wait_until(lambda: blocks(output) > before + 1 or process.poll() is not None)  # noqa: B023
                scheduler.kill()
                kills += process.poll() is None
                status, text = ended(process)
                if status != 2:
                    raise SystemExit(f"exit status {status} when the scheduler was killed\n{text}")
                continue
            status, text = ended(process)
            if status != 0:
                raise SystemExit(f"exit status {status}\n{text}")
    return content(output), kills


DISTURBED: dict[str, Callable[[Plan, Path], tuple[Content, int]]] = {
    "workers": kill_workers,
    "command": kill_command,
    "scheduler": kill_scheduler,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Kills what runs a campaign and compares results.")
    for name in ("units", "block", "workers", "kills", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Plan(), name), metavar="N")
    parser.add_argument("--no-dissector", action="store_true")
    parser.add_argument("words", nargs="*", default=[], metavar="|".join(DISTURBED), help="default: all")
    given = parser.parse_args()
    if unknown := set(given.words) - set(DISTURBED):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    plan = Plan(given.units, given.block, given.workers, given.kills, given.seed, not given.no_dissector)
    bad = 0
    with tempfile.TemporaryDirectory(prefix="netblt-kills-") as name:
        wanted = undisturbed(plan, Path(name))
        for word in given.words or DISTURBED:
            found, kills = DISTURBED[word](plan, Path(name))
            same = found == wanted
            bad += not same
            print(
                f"{word}: {kills} killed, {len(found)} units of {plan.units}, "
                f"{'the same results' if same else 'OTHER RESULTS'}",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
