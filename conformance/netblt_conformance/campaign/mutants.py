# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns of wrong and legal variants of the reference core: mutants must be killed, legal variants pass."""

from __future__ import annotations

import shutil
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netblt_conformance.campaign.errors import CampaignError
from netblt_conformance.campaign.kind import Kind
from netblt_conformance.campaign.rows import Row
from netblt_conformance.common import paths, wording
from netblt_conformance.common.toml_file import Table, Texts
from netblt_conformance.common.verdicts import Cause, Verdict
from netblt_conformance.generated import measure
from netblt_conformance.mutants import mutation
from netblt_conformance.mutants.mutants import Mutant, MutantError, Variant, chosen, load, load_variants
from netblt_conformance.run.loaded import with_cases

Entry = Mutant | Variant


class Parameters(Table):
    """Which entries, and what runs against them."""

    names: Texts = ()  # all when empty
    by: Literal["cases", "scripts"] = "cases"
    scripts: Annotated[int, Field(ge=1)] = 1_000  # of each entry, at most


class _Edited(Kind):
    """A unit is one edit of the reference core, built and tested."""

    block = 1
    measures: ClassVar[dict[str, str]] = {"tries": "results of cases, or scripts, until it was killed or all had run"}
    Parameters = Parameters
    tests = False

    @abstractmethod
    def _entries(self) -> Sequence[Entry]:
        """All, in their order."""

    def count(self) -> int | None:
        try:
            return len(self._entries())
        except MutantError as error:
            raise CampaignError(str(error)) from None

    def serve(self, loop: Callable[[], None]) -> None:
        """The objects of the reference are compiled, and the cases are loaded, once for all blocks."""

        def prepared(_loaded: object) -> None:
            with mutation.workshop(paths.core()) as self._made:
                loop()

        if self.parameters.by == "cases":
            with_cases(prepared)
        else:
            prepared(None)

    def run(self, units: range) -> list[Row]:
        entries = self._entries()
        by = self._by_cases if self.parameters.by == "cases" else self._by_scripts
        return [by(unit, entries[unit]) for unit in units]

    def _by_scripts(self, unit: int, entry: Entry) -> Row:
        outcome = measure.judge(measure.Task(self._made, entry, self.parameters.scripts, self.seed))
        return self._row(unit, entry, outcome.first, outcome.mistake, outcome.scripts)

    def _by_cases(self, unit: int, entry: Entry) -> Row:
        try:
            outcome = self._cases(entry)
        except MutantError as error:
            return self._row(unit, entry, "", str(error), 0)
        finally:
            shutil.rmtree(self._made.folder / entry.name, ignore_errors=True)
            shutil.rmtree(self._made.report(entry), ignore_errors=True)
        killer = outcome.killer
        found = f"{killer.case} ({killer.role}): {wording.reason(killer)}" if killer is not None else ""
        return self._row(unit, entry, found, "", len(outcome.results))

    @abstractmethod
    def _cases(self, entry: Entry) -> mutation.Outcome:
        """Runs the cases on it."""

    def _row(self, unit: int, entry: Entry, found: str, mistake: str, tries: int) -> Row:
        """`found`: what fails the entry; empty: nothing."""
        about = entry.requirement if isinstance(entry, Mutant) else " ".join(entry.ambiguities)
        measures = {"tries": float(tries)}
        if mistake:
            return Row(unit, entry.name, Verdict.ERROR, mistake, Cause.SUITE, about, measures=measures)
        holds = bool(found) == isinstance(entry, Mutant)
        reason = found or ("" if holds else "nothing detects it")
        return Row(
            unit, entry.name, Verdict.PASS if holds else Verdict.FAIL, reason, requirement=about, measures=measures
        )


class Mutants(_Edited):
    """PASS: the mutant is killed."""

    unit = "mutant"
    about = "a wrong core against the cases of its requirement, or against generated peers: it must be killed"

    def _entries(self) -> Sequence[Entry]:
        return chosen(load(paths.mutants()), self.parameters.names)

    def _cases(self, entry: Entry) -> mutation.Outcome:
        assert isinstance(entry, Mutant)
        return mutation.kill(self._made, entry)


class Variants(_Edited):
    """PASS: the legal variant fails nothing."""

    unit = "variant"
    about = "a legal core against all cases and the dissector, or against generated peers: it must not fail"

    def _entries(self) -> Sequence[Entry]:
        return chosen(load_variants(paths.variants()), self.parameters.names)

    def _cases(self, entry: Entry) -> mutation.Outcome:
        assert isinstance(entry, Variant)
        outcome = mutation.both_judges(self._made, entry)
        outcome.killer = next((one for one in outcome.results if one.verdict > Verdict.WARN), None)
        return outcome
