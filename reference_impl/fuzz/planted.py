#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Builds wrong cores (planted.toml) and reports whether the fuzz targets find them.

Each planted bug is first looked for with the kept corpus, then, if that does not find it, by a search of up to
--search-seconds from the corpus on, with libFuzzer. --replay stops after the corpus and needs no libFuzzer. --check
only tries whether the edits apply and compile. Exit status: 0 all were found, 1 one was not, 2 one could not be built
(an edit does not apply, the compiler fails). --keep adds to the kept corpus what a search has found, as planted-NAME.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORE = HERE.parent / "core"
INCLUDE = HERE.parent / "include"
ORACLES = ("misuse.c", "memory.c", "guarded.c", "view.c", "model.c", "client.c", "sender_oracle.c", "receiver_oracle.c",
           "pace.c", "unvalidated.c", "station.c", "repair.c")  # fmt: skip
WRAPPED = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc"  # memory.c
TARGETS = {"endpoint_fuzz": ("endpoint_fuzz.c", "hostile.c"), "pair_fuzz": ("pair_fuzz.c", "network.c")}
# A call of a function that was renamed, or a wrong conversion, would be another bug than the planted one.
ERROR_FLAGS = tuple(
    f"-Werror={error}" for error in ("implicit-function-declaration", "incompatible-pointer-types", "int-conversion")
)
REPLAY_LIMIT_S = 300.0  # of a corpus; beyond it the wrong core hangs, and so is found
GRACE_S = 30.0  # beyond -max_total_time


class PlantedError(Exception):
    """A planted bug cannot be built; the text states which and why."""


@dataclass(frozen=True)
class Edit:
    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Planted:
    name: str
    about: str
    edits: tuple[Edit, ...]


def load(path: Path) -> list[Planted]:
    """All planted bugs of a file. PlantedError names what is wrong."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["planted"]
        found = [Planted(e["name"], e["about"], tuple(Edit(**edit) for edit in e["edit"])) for e in entries]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise PlantedError(f"{path}: {error!r}") from None
    names = [planted.name for planted in found]
    for name in names:
        if names.count(name) > 1:
            raise PlantedError(f"{path}: two planted bugs are named {name!r}")
    return found


def apply(planted: Planted, core: Path) -> None:
    """Edits a copy of the core."""
    for edit in planted.edits:
        # A file is named without its folder.
        texts = {target: target.read_text(encoding="utf-8") for target in core.rglob(edit.file)}
        count = sum(text.count(edit.old) for text in texts.values())
        if count != 1:
            raise PlantedError(
                f"{planted.name}: an edit does not apply: its old text is {count} times in {edit.file}, "
                f"once is needed. Bring planted.toml up to date: {edit.old!r}"
            )
        for target, text in texts.items():
            target.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


def sources(core: Path) -> list[Path]:
    return sorted(core.rglob("*.c"))


def changed_sources(planted: Planted, core: Path) -> list[Path]:
    """What must be compiled again in an edited copy: everything, when a header is edited."""
    files = {edit.file for edit in planted.edits}
    return [source for source in sources(core) if source.name in files or any(file.endswith(".h") for file in files)]


def check_compiles(planted: Planted, core: Path) -> None:
    """PlantedError when an edited copy of the core does not compile. Makes no objects."""
    command = [os.environ.get("CC", "cc"), "-std=gnu17", "-fsyntax-only", *ERROR_FLAGS, f"-I{core}", f"-I{INCLUDE}"]
    command += map(str, changed_sources(planted, core))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PlantedError(f"{planted.name} does not compile:\n{done.stderr[-2000:]}")


def check_edits(planted: list[Planted], *, compiled: bool) -> None:
    """Tries all edits before anything is built. PlantedError names each that does not apply, or, if `compiled`, does
    not compile."""
    problems = []
    for entry in planted:
        with tempfile.TemporaryDirectory(prefix="netblt-planted-") as folder:
            copy = Path(folder) / "core"
            shutil.copytree(CORE, copy)
            try:
                apply(entry, copy)
                if compiled:
                    check_compiles(entry, copy)
            except PlantedError as error:
                problems.append(str(error))
    if problems:
        raise PlantedError("\n".join(problems))


class Builder:
    """Compiles the core and the fuzz targets; what a planted bug does not change is compiled once."""

    def __init__(self, folder: Path, replay: bool) -> None:
        self.folder, self.replay = folder, replay
        self.compiler = os.environ.get("CC", "cc" if replay else "clang")
        self.flags = ["-std=gnu17", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]
        self.flags += ["-fsanitize=address,undefined", *ERROR_FLAGS]
        self.counted = [] if replay else ["-fsanitize=fuzzer-no-link"]  # the edges of the core guide the search
        self.link = [] if replay else ["-fsanitize=fuzzer"]
        self.jobs = os.cpu_count() or 1
        self.seeds = folder / "seeds"
        self.run([sys.executable, str(HERE / "seeds.py"), str(HERE.parents[1] / "pcaps" / "vectors"), str(self.seeds)])
        shared = [HERE / name for name in ORACLES] + ([HERE / "replay.c"] if replay else [])
        own = [HERE / name for names in TARGETS.values() for name in names]
        objects = self.compile(shared + own, CORE, folder / "fuzz")
        self.shared = objects[: len(shared)]
        self.own = dict(zip([path.name for path in own], objects[len(shared) :], strict=True))
        unmodified = sources(CORE)
        built = self.compile(unmodified, CORE, folder / "core")
        self.core = dict(zip([source.name for source in unmodified], built, strict=True))

    def run(self, command: list[str]) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PlantedError(f"{' '.join(command[:1])} failed:\n{done.stderr[-2000:]}")

    def compile(self, sources: list[Path], core: Path, into: Path) -> list[Path]:
        counted = self.counted if sources[0].is_relative_to(core) else []
        into.mkdir(parents=True, exist_ok=True)
        objects = [into / f"{source.stem}.o" for source in sources]
        commands = [
            [self.compiler, *self.flags, *counted, f"-I{core}", f"-I{INCLUDE}", "-c", str(source), "-o", str(to)]
            for source, to in zip(sources, objects, strict=True)
        ]
        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(self.run, commands))
        return objects

    def build(self, planted: Planted | None) -> dict[str, Path]:
        """The programs of both targets, with a planted bug or without."""
        name = "unmodified" if planted is None else planted.name
        place, objects = self.folder / name, dict(self.core)
        place.mkdir()
        if planted is not None:
            shutil.copytree(CORE, place / "core")
            apply(planted, place / "core")
            changed = changed_sources(planted, place / "core")
            new = self.compile(changed, place / "core", place / "objects")
            objects.update(zip([source.name for source in changed], new, strict=True))
        programs = {}
        for target, own in TARGETS.items():
            linked = [*self.shared, *(self.own[source] for source in own), *objects.values()]
            programs[target] = place / target
            self.run(
                [self.compiler, *self.flags, *self.link, WRAPPED, *map(str, linked), "-lm", "-o", str(place / target)]
            )
        return programs


def fails(command: list[str], place: Path, limit_s: float) -> str:
    """Why a program failed; empty when it did not."""
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=16"}
    try:
        done = subprocess.run(command, capture_output=True, cwd=place, env=environment, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return "it hangs"
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").splitlines()
    telling = [line for line in lines if "not true" in line or "ERROR:" in line or "runtime error" in line]
    return (telling or lines or ["no message"])[0].rsplit("/", 1)[-1][:110]


def replays(programs: dict[str, Path]) -> str:
    """What the kept corpus finds."""
    for target, program in programs.items():
        corpus = HERE / "corpus" / target
        if why := fails([str(program), str(corpus)], program.parent, REPLAY_LIMIT_S):
            return f"{target}: {why}"
    return ""


def replay_command(program: Path, target: str) -> list[str]:
    return [str(program), "-runs=0", "-timeout=10", "-rss_limit_mb=2048", str(HERE / "corpus" / target)]


def searches(programs: dict[str, Path], seeds: Path, seconds: int) -> str:
    """What a search finds, in both targets at a time; it leaves a file crash-TARGET-... beside the program."""
    running = []
    for target, program in programs.items():
        found = program.parent / f"found-{target}"
        found.mkdir()
        command = [str(program), f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=2048"]
        command.append(f"-artifact_prefix={program.parent}/crash-{target}-")
        corpora = [str(found), str(HERE / "corpus" / target), str(seeds / target)]
        running.append((target, [*command, *corpora], program.parent))
    with ThreadPoolExecutor(len(running)) as pool:
        results = [
            (target, pool.submit(fails, command, place, seconds + GRACE_S)) for target, command, place in running
        ]
        return "; ".join(f"{target}: {result.result()}" for target, result in results if result.result())


def keep(planted: Planted, place: Path) -> None:
    """One input that shows a planted bug becomes part of the corpus."""
    for target in TARGETS:
        for crash in sorted(place.glob(f"crash-{target}-*"))[:1]:
            shutil.copy(crash, HERE / "corpus" / target / f"planted-{planted.name}")
            return


def look_for(planted: Planted, builder: Builder, seconds: int, kept: bool) -> bool:
    """Prints and returns whether a planted bug is found."""
    begun = time.monotonic()
    programs = builder.build(planted)
    built = time.monotonic()
    if builder.replay:
        why = replays(programs)
    else:
        why = ""
        for target, program in programs.items():
            why = why or fails(replay_command(program, target), program.parent, REPLAY_LIMIT_S)
    how = "corpus"
    if not why and not builder.replay:
        why, how = searches(programs, builder.seeds, seconds), "search"
        if kept:
            keep(planted, builder.folder / planted.name)
    took = time.monotonic() - built
    print(f"{'found' if why else 'NOT FOUND':<10} {planted.name:<36} {how:<7} {took:7.1f} s "
          f"(built in {built - begun:.1f} s)  {why}", flush=True)  # fmt: skip
    shutil.rmtree(builder.folder / planted.name, ignore_errors=True)
    return bool(why)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="reference_impl/fuzz/planted.py", description=__doc__)
    parser.add_argument("name", nargs="*", help="only these planted bugs")
    parser.add_argument("--replay", action="store_true", help="the kept corpus only, with any compiler")
    parser.add_argument("--check", action="store_true", help="only whether every edit applies and compiles")
    parser.add_argument("--keep", action="store_true", help="keep inputs that a search has found")
    parser.add_argument("--search-seconds", type=int, default=600, metavar="S", help="for each bug (600)")
    given = parser.parse_args(argv)
    try:
        planted = load(HERE / "planted.toml")
        unknown = set(given.name) - {entry.name for entry in planted}
        if unknown:
            parser.error(f"no planted bug is called {sorted(unknown)[0]!r}")
        chosen = [entry for entry in planted if not given.name or entry.name in given.name]
        check_edits(chosen, compiled=given.check)
        if given.check:
            print(f"the edits of {len(chosen)} planted bugs apply and compile")
            return 0
        with tempfile.TemporaryDirectory(prefix="netblt-planted-") as folder:
            builder = Builder(Path(folder), given.replay)
            found = sum(look_for(entry, builder, given.search_seconds, given.keep) for entry in chosen)
    except PlantedError as error:
        print(f"planted.py: {error}", file=sys.stderr)
        return 2
    print(f"{found} of {len(chosen)} planted bugs found")
    return 0 if found == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
