# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the diagnosis: runs every case against each mutant and looks for what the mutant breaks among the likely
causes. It takes the rows that a run on the simulated link has, so the figures are those of a run by a user."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.common import paths
from netblt_conformance.common.arguments import number_of_jobs
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.diagnosis.ranking import LikelyCause, likely_causes
from netblt_conformance.mutants import mutation
from netblt_conformance.mutants.mutants import Mutant, MutantError, chosen, load
from netblt_conformance.run.loaded import with_cases

# The shares that the diagnosis must reach, over all mutants that were named.
FIRST_SHARE, AMONG_SHARE = 0.90, 0.97
AMONG = 3
# Of these mutants the rules of the ranking were made; all others are held out.
DEVELOPMENT_SET = "development-set.txt"


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """One mutant and the causes that its results led to."""

    mutant: Mutant
    causes: tuple[LikelyCause, ...]

    @property
    def rank(self) -> int:
        """The place of the planted requirement among the causes, from 1; 0: it is none of them."""
        planted = self.mutant.planted
        places = (place for place, cause in enumerate(self.causes, 1) if planted & set(cause.requirements))
        return next(places, 0)

    @property
    def alone(self) -> bool:
        """Whether the first cause names one requirement only."""
        return bool(self.causes) and len(self.causes[0].requirements) == 1


@dataclass(frozen=True, slots=True)
class Figures:
    """How often the planted requirement was found."""

    mutants: int
    first: int
    among: int
    alone: int  # of the first ones those that are alone in their line

    @classmethod
    def of(cls, diagnosed: Sequence[Diagnosed]) -> Figures:
        ranks = [one.rank for one in diagnosed]
        alone = sum(one.rank == 1 and one.alone for one in diagnosed)
        return cls(len(ranks), ranks.count(1), sum(0 < rank <= AMONG for rank in ranks), alone)

    @property
    def good_enough(self) -> bool:
        return self.first >= FIRST_SHARE * self.mutants and self.among >= AMONG_SHARE * self.mutants

    def line(self, name: str) -> str:
        def share(count: int) -> str:
            return f"{count} ({100 * count / self.mutants:.1f} %)" if self.mutants else "0"

        return (
            f"{name}: {self.mutants} mutants, planted requirement first for {share(self.first)}, alone in that line "
            f"for {share(self.alone)}, among the first {AMONG} for {share(self.among)}"
        )


def development_set() -> frozenset[str]:
    """Names of the mutants that the rules of the ranking were made with."""
    text = (paths.mutants() / DEVELOPMENT_SET).read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def run(names: Sequence[str], core: Path, jobs: int = 0, results: Path | None = None) -> int:
    """Prints the causes of each mutant and the figures; 1 when they are below the shares that are required. `results`:
    this file gets a line of JSON for each mutant, with its name and all its results."""
    wanted = chosen(load(paths.mutants()), names)
    if results is not None:
        try:
            results.write_text("", encoding="utf-8")
        except OSError as error:
            raise MutantError(f"--results {results}: {error.strerror}") from None
    return with_cases(lambda _loaded: _run(wanted, core, number_of_jobs(jobs), results))


def _run(wanted: Sequence[Mutant], core: Path, jobs: int, results: Path | None) -> int:
    diagnosed: list[Diagnosed] = []
    with mutation.workshop(core) as made:
        for mutant, outcome in zip(wanted, mutation.in_parallel(_diagnose, made, wanted, jobs), strict=True):
            if outcome.mistake:
                raise MutantError(outcome.mistake)
            diagnosed.append(Diagnosed(mutant, tuple(likely_causes(outcome.results))))
            print(line(diagnosed[-1]), flush=True)
            if results is not None:
                rows = [result.to_json() for result in outcome.results]
                with results.open("a", encoding="utf-8") as out:
                    out.write(json.dumps({"mutant": mutant.name, "results": rows}) + "\n")
    return _summary(diagnosed)


def _diagnose(made: mutation.Workshop, mutant: Mutant) -> mutation.Outcome:
    outcome = mutation.run_cases(made.build(mutant), "", made.report(mutant))
    shutil.rmtree(made.report(mutant), ignore_errors=True)
    return outcome


def line(one: Diagnosed) -> str:
    """One mutant: the place of the planted requirement, and the first causes."""
    causes = ", ".join(" or ".join(cause.requirements) for cause in one.causes[:AMONG])
    place = f"{one.rank}." if one.rank else "-"
    planted = one.mutant.requirement + (f"/{one.mutant.found_as}" if one.mutant.found_as else "")
    return f"{place:>4} {planted:<10} {one.mutant.name}: {causes or 'no cause'}"


def _summary(diagnosed: Sequence[Diagnosed]) -> int:
    known = development_set()
    held_out = [one for one in diagnosed if one.mutant.name not in known]
    development = [one for one in diagnosed if one.mutant.name in known]
    for name, part in (("development set", development), ("held out", held_out), ("all", diagnosed)):
        print(Figures.of(part).line(name))
    return ExitCode.HOLDS if Figures.of(diagnosed).good_enough else ExitCode.FAILED
