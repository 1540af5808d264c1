# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns of experiments: runs of scenarios of netblt-plan with many seeds (docs/experiments.md)."""

from __future__ import annotations

import functools
import math
from typing import Annotated, ClassVar

from netblt_plan import best, scenario
from netblt_plan.native import WorldError
from netblt_plan.scenario import Run, ScenarioError
from netblt_plan.simulate import simulate
from pydantic import Field

from netblt_conformance.campaign.errors import CampaignError
from netblt_conformance.campaign.kind import Kind
from netblt_conformance.campaign.rows import Row
from netblt_conformance.common.toml_file import Table, Texts
from netblt_conformance.common.verdicts import Cause, Verdict


class Parameters(Table):
    """Which scenarios, by name or as absolute paths, with how many seeds each of their runs."""

    scenarios: Texts = Field(description="names of scenarios (netblt-plan list), or files")
    seeds: Annotated[int, Field(ge=1)] = 1


class Experiments(Kind):
    """A unit is one run with one seed: the seeds of a run follow each other."""

    unit = "simulation"
    about = "a run of a scenario with one seed, in virtual time; figures of its first flow"
    block = 1
    measures: ClassVar[dict[str, str]] = {
        "goodput": "delivered data, in Mbit/s",
        "of_capacity": "share of what the narrowest link carries",
        "seconds": "time of the transfer",
        "sent": "DATA packets",
        "loss": "DATA packets that did not arrive",
        "rxm": "DATA packets that were retransmitted",
        "dtmos": "data timeouts",
        "failed": "1: the transfer failed",
        "total_goodput": "of all flows",
    }
    Parameters = Parameters
    tests = False

    def count(self) -> int | None:
        try:
            seeds: int = self.parameters.seeds
            return len(self._runs) * seeds
        except ScenarioError as error:
            raise CampaignError(str(error)) from None

    @functools.cached_property
    def _runs(self) -> list[tuple[str, Run]]:
        found = [scenario.load(scenario.find(name)) for name in self.parameters.scenarios]
        return [(f"{one.path.stem}: {run.name}", run) for one in found for run in one.runs]

    @functools.cache  # noqa: B019  # one object for each process
    def _settled(self, number: int) -> Run:
        """With the best fixed setting in place of "best"."""
        return best.settle(self._runs[number][1], self.seed)[0]

    def run(self, units: range) -> list[Row]:
        return [self._row(unit) for unit in units]

    def _row(self, unit: int) -> Row:
        number, seed = divmod(unit, self.parameters.seeds)
        name = self._runs[number][0]
        try:
            figures = simulate(self._settled(number), self.seed + seed).metrics
        except (ScenarioError, WorldError) as error:
            return Row(unit, name, Verdict.ERROR, str(error), Cause.SUITE)
        known = {key: float(figures[key]) for key in self.measures if math.isfinite(figures.get(key, math.nan))}
        if known.get("failed"):
            return Row(unit, name, Verdict.FAIL, "the transfer of the first flow failed", measures=known)
        return Row(unit, name, measures=known)
