# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands generate and play: generated legal peers against an implementation, and their scripts again."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.arguments import add_role_option, at_least_one, number_of_jobs, roles_of
from netblt_conformance.common.destinations import output_folder
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.common.words import fit
from netblt_conformance.generated import saved
from netblt_conformance.generated.campaign import (
    BROKEN,
    OWN_MISTAKE,
    Block,
    Campaign,
    Counts,
    Failure,
    Pool,
    blocks,
    play_once,
)
from netblt_conformance.generated.disregarded import DISREGARDED, Losing
from netblt_conformance.generated.script import Script
from netblt_conformance.generated.second import violations, violations_alone
from netblt_conformance.generated.shrunk import shrunk
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.report.progress import Progress
from netblt_conformance.run import target
from netblt_conformance.run.interruption import Interruption

DEFAULT_COUNT = 10_000
DEFAULT_OUTPUT = "netblt-generated"
# Failures of different kinds that are shrunk; a broken implementation fails in thousands of scripts.
SHRUNK_MAX = 10
_STAGE = "scripts"
_ACTED_UPON = "packets that count as lost had an effect: the script passes where the network loses them ({count})"


def _target_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--adapter", type=Path, metavar="FILE", help="TOML file of an implementation on the pipe link")
    parser.add_argument("--iut-library", type=Path, metavar="SO", help="another library than the reference")
    parser.add_argument("--no-dissector", action="store_true", help="skip the dissector check (tshark and the plugin)")


def generate_options(parser: argparse.ArgumentParser) -> None:
    _target_options(parser)
    add_role_option(parser)
    much = parser.add_mutually_exclusive_group()
    much.add_argument(
        "--count", type=at_least_one, default=DEFAULT_COUNT, metavar="N", help="scripts (default: %(default)s)"
    )
    much.add_argument("--seconds", type=at_least_one, metavar="S", help="begin no block of scripts after so long")
    parser.add_argument("--seed", type=int, default=target.DEFAULT_SEED, help="of all choices (default: %(default)s)")
    parser.add_argument(
        "--output",
        type=output_folder("--output"),
        default=DEFAULT_OUTPUT,
        metavar="DIR",
        help="where failing scripts and their captures go; of --variants the libraries too (default: %(default)s)",
    )
    parser.add_argument(
        "--illegal",
        action="store_true",
        help="illegal moves too: packets with wrong fields, or of a type that is wrong at the moment",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--mutants", nargs="*", metavar="NAME", help="measure which mutants of the reference are killed")
    what.add_argument("--variants", nargs="*", metavar="NAME", help="prove that legal variants of it are accepted")
    parser.add_argument(
        "--matrix",
        type=Path,
        metavar="FILE",
        help="with --mutants: what netblt-conformance mutants --matrix wrote; prints which cases scripts replace",
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FILE",
        help="with --mutants: keep what was found in this file, and leave out what it has already",
    )
    parser.add_argument(
        "-j", "--jobs", type=at_least_one, default=0, metavar="N", help="processes (default: processors)"
    )


def play_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="+", type=Path, metavar="FILE")
    _target_options(parser)
    parser.add_argument("--output", type=output_folder("--output"), metavar="DIR", help="write a capture of each there")


def _factory(options: argparse.Namespace) -> LinkFactory:
    """TargetError for the wire link: scripts need virtual time."""
    chosen = target.choose(None, options.adapter, options.iut_library)
    if chosen.link == "wire":
        raise target.TargetError("generated peers need virtual time: give an adapter with [pipe], or --iut-library")
    factory = chosen.factory()
    factory.check()
    print(fit(target.line(factory.testing())))
    return factory


# ---- generate ----


def command_generate(options: argparse.Namespace) -> int:
    """0: no script failed. 1: one did. 2: the generator made a mistake, or a signal ended it."""
    if options.mutants is None and (options.matrix is not None or options.results is not None):
        raise target.TargetError("--matrix and --results go with --mutants")
    if options.mutants is not None or options.variants is not None:
        return _measure(options)
    factory = _factory(options)
    roles = roles_of(options.role)
    campaign = Campaign(factory, roles, options.seed, dissector=not options.no_dissector, illegal=options.illegal)
    with ExitStack() as stack:
        tshark = None if options.no_dissector else stack.enter_context(Tshark())
        return _Run(campaign, options, tshark).run()


def _measure(options: argparse.Namespace) -> int:
    if options.adapter or options.iut_library or options.role or options.seconds or options.no_dissector:
        raise target.TargetError(
            "--mutants and --variants build libraries of the reference: give --count, --seed and --illegal only"
        )
    from netblt_conformance.generated import measure

    how = options.count, options.seed, options.jobs
    if options.mutants is not None:
        return measure.mutants(options.mutants, *how, options.matrix, options.results, illegal=options.illegal)
    return measure.variants(options.variants, *how, illegal=options.illegal, output=Path(options.output))


class _Run:
    """One campaign: what it found, and its report."""

    def __init__(self, campaign: Campaign, options: argparse.Namespace, tshark: Tshark | None) -> None:
        self._campaign = campaign
        self._options = options
        self._tshark = tshark
        self._progress = Progress(wanted=True)
        self._failures: dict[int, Failure] = {}
        self._mistakes: dict[int, Failure] = {}  # of the generator itself, by script
        self._counts = Counts()
        self._began_s = time.monotonic()
        self._kept: dict[frozenset[str], Path] = {}  # scripts as they were played, by what fails
        self._interruption = Interruption()
        self._interrupted = False

    def run(self) -> int:
        """The first signal ends it, with what was found so far."""
        with self._interruption:
            try:
                self._play()
                self._shrink()
            except KeyboardInterrupt:
                self._interrupted = True
                self._progress.clear()
                print("interrupted: the scripts that failed so far are kept, not all of them shrunk")
            self._interruption.hold()
            return self._end()

    def _play(self) -> None:
        with tempfile.TemporaryDirectory(prefix="netblt-generated-") as folder:
            jobs = number_of_jobs(self._options.jobs)
            pool = Pool(self._campaign, jobs, self._failed, self._show, self._judge, self._broke)
            self._counts = pool.counts
            pool.run(self._blocks(Path(folder)))
        self._progress.clear()

    def _blocks(self, folder: Path) -> Iterator[Block]:
        seconds = self._options.seconds
        for block in blocks(folder, self._options.count if seconds is None else sys.maxsize):
            if seconds is not None and time.monotonic() - self._began_s >= seconds:
                return
            yield block

    def _failed(self, failure: Failure) -> None:
        self._failures[failure.number] = failure

    def _broke(self, broken: Failure) -> None:
        self._mistakes[broken.number] = broken

    def _show(self, counts: Counts) -> None:
        self._interruption.check()
        note = f"{len(self._failures)} failed" if self._failures else ""
        seconds = self._options.seconds
        if seconds is None:
            self._progress.show(_STAGE, counts.scripts, self._options.count, note)
        else:
            played = f"{counts.scripts} {_STAGE}" + (f", {note}" if note else "")
            self._progress.show("seconds", min(round(time.monotonic() - self._began_s), seconds), seconds, played)

    def _judge(self, block: Block) -> None:
        if self._tshark is not None:
            block.take(violations(self._tshark, block.stem), self._failures, self._mistakes)
        self._keep(block.numbers)

    def _keep(self, numbers: range) -> None:
        """Of each kind of failure the first script, as it is: hours may pass before the end, where it is shrunk."""
        for way, found in self._found():
            for number in numbers:
                if number not in found or found[number].kinds in self._kept or len(self._kept) >= SHRUNK_MAX:
                    continue
                failure = found[number]
                path = self._kept[failure.kinds] = self._path(failure, way)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(failure.script.text("\n".join((*way.heading, *failure.reasons))), encoding="utf-8")
                self._progress.clear()
                print(fit(f"{way.word:<6} script {number} ({failure.script.role}): {failure.reasons[0]}"), flush=True)

    def _found(self) -> tuple[tuple[_Way, dict[int, Failure]], ...]:
        """A tester may go wrong beside an implementation that fails: these are no mistakes of the generator."""
        mistakes = {number: one for number, one in self._mistakes.items() if number not in self._failures}
        return (_FAILURES, self._failures), (_MISTAKES, mistakes)

    def _path(self, failure: Failure, way: _Way) -> Path:
        return Path(self._options.output) / f"{way.stem}.{failure.number}.toml"

    def _shrink(self) -> None:
        kept = set(self._kept.values())
        for way, found in self._found():
            for number in _first_of_each_kind(found)[:SHRUNK_MAX]:
                self._write(found[number], way)
                kept.discard(self._path(found[number], way))
        for path in kept:  # of several processes another one found a script with a lower number
            path.unlink()

    def _end(self) -> int:
        """The counts, and the exit status."""
        mistakes = self._found()[1][1]
        seconds, counts = time.monotonic() - self._began_s, self._counts
        print(
            f"{counts.scripts} scripts, {counts.moves} moves, {len(counts.states)} pairs of situation and move, "
            f"{len(self._failures)} failed, seed {self._campaign.seed}, {seconds:.0f} s"
        )
        if mistakes:
            print(f"the generator made a mistake in {len(mistakes)} scripts; please report it")
        if counts.not_supported:
            print(f"{counts.not_supported} scripts need what the implementation does not support")
        if self._failures and not self._interrupted:
            return ExitCode.FAILED
        nothing = counts.scripts == counts.not_supported
        return ExitCode.COULD_NOT_RUN if mistakes or nothing or self._interrupted else ExitCode.HOLDS

    def _write(self, failure: Failure, way: _Way) -> None:
        """A shrunk script and its capture."""
        path = self._path(failure, way)
        path.parent.mkdir(parents=True, exist_ok=True)
        capture = path.with_suffix(".pcapng")
        self._progress.say(f"shrinking script {failure.number}")
        small = self._shrunk(failure, way, capture)
        final = way.of(_Again(self._campaign.factory, self._tshark, capture).judged(small))
        self._progress.clear()
        cause = None if way.own or not final.kinds else self._acted_upon(small)
        final = final if final.kinds else failure
        known = set() if way.own else final.kinds & catalogue.requirements().keys()
        first = () if cause is None else (cause[0],)
        small = dataclasses.replace(small, requirements=(*first, *sorted(known - set(first))))
        reasons = (*way.heading, *final.reasons)
        if cause is not None:
            reasons = (f"{cause[0]}: {_ACTED_UPON.format(count=cause[1])}", *reasons)
        path.write_text(small.text("\n".join(reasons)), encoding="utf-8")
        moves = f"{len(small.moves)} of {len(failure.script.moves)} moves"
        print(f"{way.word:<6} script {failure.number} ({failure.script.role}, {moves}): {path}")
        for reason in (*reasons, f"play it again: {_play_command(path, self._options)}"):
            print(fit(f"       {reason}"))

    def _acted_upon(self, small: Script) -> tuple[str, int] | None:
        """The requirement about packets that count as lost which the implementation violates, if these make the script
        fail, and how many there are."""
        with tempfile.TemporaryDirectory(prefix="netblt-generated-") as folder:
            for requirement, loses in DISREGARDED:
                factory = Losing(self._campaign.factory, loses())
                lost = _Again(factory, self._tshark, Path(folder) / "without.pcapng").passes_without(small)
                if lost:
                    return requirement, lost
        return None

    def _shrunk(self, failure: Failure, way: _Way, capture: Path) -> Script:
        """Judged without the dissector, which takes longer, where the fault shows without it."""
        for tshark in (None, self._tshark):
            judge = _Again(self._campaign.factory, tshark, capture)
            wanted = failure.kinds & way.kinds(judge.judged(failure.script))
            if wanted:
                return shrunk(failure.script, judge.goes_wrong(way, wanted))
        return failure.script


def _play_command(path: Path, options: argparse.Namespace) -> str:
    words = ["netblt-conformance", "play", str(path)]
    for name, value in (("--adapter", options.adapter), ("--iut-library", options.iut_library)):
        words += [name, str(value)] if value is not None else []
    return shlex.join(words + ["--no-dissector"] * options.no_dissector)


def _first_of_each_kind(failures: dict[int, Failure]) -> list[int]:
    first: dict[frozenset[str], int] = {}
    for number in sorted(failures):
        first.setdefault(failures[number].kinds, number)
    return sorted(first.values())


@dataclass(frozen=True, slots=True)
class _Judged:
    """What came of a script that was played again. Where nothing did, `kinds` is empty."""

    failure: Failure  # of the implementation
    mistake: Failure  # of the generator itself; an implementation that fails may cause it
    remark: str
    lost: int = 0  # packets that the network lost


@dataclass(frozen=True, slots=True)
class _Way:
    """How failures of the implementation, or mistakes of the generator, are reported and kept."""

    own: bool  # of the generator
    word: str
    stem: str  # of the names of the files
    heading: tuple[str, ...] = ()

    def of(self, judged: _Judged) -> Failure:
        return judged.mistake if self.own else judged.failure

    def kinds(self, judged: _Judged) -> frozenset[str]:
        return self.of(judged).kinds


_FAILURES = _Way(own=False, word="FAIL", stem="script")
_MISTAKES = _Way(own=True, word="ERROR", stem="generator-mistake", heading=(OWN_MISTAKE,))


class _Again:
    """Plays one script after the other, judged by suite and dissector."""

    def __init__(self, factory: LinkFactory, tshark: Tshark | None, capture: Path) -> None:
        self._factory = factory
        self._tshark = tshark
        self._capture = capture

    def judged(self, one: Script) -> _Judged:
        self._capture.unlink(missing_ok=True)
        once = play_once(self._factory, one, self._capture)
        first, nothing = Failure(0, one, once.kinds, once.reasons), Failure(0, one, frozenset(), ())
        failure, mistake = (nothing, first) if once.kinds == BROKEN else (first, nothing)
        if self._tshark is not None and self._capture.is_file() and not one.has_illegal_moves:
            for found in violations_alone(self._tshark, one, self._capture):
                new = Failure(0, one, found.kinds, (found.reason,))
                if found.by_implementation:
                    failure = new.beside(failure)
                elif found.is_mistake_in(one):
                    mistake = new.beside(mistake)
        remark = f"{once.left_out} moves were not legal when their turn came" * bool(once.left_out)
        remark = remark if once.supported else "the implementation does not support this role"
        return _Judged(failure, mistake, remark, once.lost)

    def passes_without(self, one: Script) -> int:
        """How many packets the network loses where nothing goes wrong then; else 0. The dissector, which takes longer,
        is wanted only where the suite finds nothing."""
        for judge in (_Again(self._factory, None, self._capture), self):
            judged = judge.judged(one)
            if judged.failure.kinds or judged.mistake.kinds or not judged.lost:
                return 0
        return judged.lost

    def goes_wrong(self, way: _Way, wanted: frozenset[str]) -> Callable[[Script], bool]:
        """Whether a script goes wrong so, for one of these requirements."""
        return lambda one: bool(wanted & way.kinds(self.judged(one)))


# ---- play ----


def command_play(options: argparse.Namespace) -> int:
    """0: no script failed. 1: one did. 2: the generator made a mistake."""
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
    scripts = saved.loaded(options.file)
    factory, ended = _factory(options), set[_Way | None]()
    with ExitStack() as stack:
        folder = options.output or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="netblt-play-")))
        tshark = None if options.no_dissector else stack.enter_context(Tshark())
        for path, one in scripts:
            judge = _Again(factory, tshark, folder / f"{path.stem}.pcapng")
            ended.add(_print(path, judge.judged(one)))
    if _FAILURES in ended:
        return ExitCode.FAILED
    return ExitCode.COULD_NOT_RUN if _MISTAKES in ended else ExitCode.HOLDS


def _print(path: Path, judged: _Judged) -> _Way | None:
    """How the script went wrong, if it did."""
    way = next((way for way in (_FAILURES, _MISTAKES) if way.kinds(judged)), None)
    found = judged.mistake if way is _MISTAKES else judged.failure
    print(f"{way.word if way else 'PASS':<6} {path}  {found.script.role}, {len(found.script.moves)} moves")
    for line in (*(way.heading if way else ()), *found.reasons, *([judged.remark] if judged.remark else [])):
        print(fit(f"       {line}"))
    return way
