# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns that check large sets of captures with the Wireshark plugin, as the command check does for a few."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from netblt_conformance.campaign.errors import CampaignError
from netblt_conformance.campaign.kind import Kind
from netblt_conformance.campaign.rows import Row
from netblt_conformance.check.folders import listed
from netblt_conformance.check.judge import POSITIONS, Checked, judge
from netblt_conformance.common import wording
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.toml_file import Table, Texts, unknown
from netblt_conformance.common.verdicts import Cause, Verdict
from netblt_conformance.judges.tshark import Tshark, opened

_REASONS_MOST = 5  # of one capture


class Parameters(Table):
    """Which captures. Each worker must find the same files under the same names."""

    files: Texts = Field(description="captures, or folders of them, as absolute paths")
    captured_at: str = ""


class Captures(Kind):
    """A unit is one file, in the order of names."""

    unit = "capture"
    about = "a capture, checked by the Wireshark plugin (netblt-conformance check)"
    block = 20
    measures: ClassVar[dict[str, str]] = {
        "connections": "connections in the capture",
        "violations": "rules that were violated, counted for each connection and offender",
    }
    Parameters = Parameters
    tests = False

    def count(self) -> int | None:
        for name in self.parameters.files:
            if not Path(name).is_absolute():
                raise CampaignError(f"parameters.files: {name!r} must be an absolute path: workers run elsewhere")
            if not Path(name).exists():
                raise CampaignError(f"parameters.files: {name}: no such file or folder")
        position = self.parameters.captured_at
        if position and position not in POSITIONS:
            raise CampaignError(f"parameters.captured_at: {unknown(position, list(POSITIONS))}")
        if not self._names:
            raise CampaignError("parameters.files: they hold no capture")
        return len(self._names)

    @functools.cached_property
    def _names(self) -> list[str]:
        return listed(list(self.parameters.files)).captures

    def serve(self, loop: Callable[[], None]) -> None:
        with Tshark() as self._tshark:
            loop()

    def run(self, units: range) -> list[Row]:
        return [self._row(unit) for unit in units]

    def _row(self, unit: int) -> Row:
        if unit >= len(self._names):
            return Row(unit, "-", Verdict.ERROR, "the folders hold fewer captures than when it began", Cause.SUITE)
        name = self._names[unit]
        try:
            with opened(Path(name)) as file:
                checked = judge(self._tshark, file, name, self.parameters.captured_at or None)
        except JudgeError as error:
            return Row(unit, name, Verdict.ERROR, str(error), Cause.SUITE)
        return _row(unit, checked)


def _row(unit: int, checked: Checked) -> Row:
    results = checked.results
    if checked.foreign:
        return Row(unit, checked.name, Verdict.NA, checked.error)
    worst = checked.verdict
    same = [result for result in results if result.verdict is worst] if worst is not Verdict.PASS else []
    failed = [result for result in results if result.verdict is Verdict.FAIL]
    measures = {"connections": float(len(checked.connections)), "violations": float(len(failed))}
    requirements = " ".join(dict.fromkeys(result.requirement for result in failed if result.requirement))
    reasons = "; ".join(f"{result.requirement}: {wording.reason(result)}" for result in same[:_REASONS_MOST])
    return Row(unit, checked.name, worst, reasons, requirement=requirements, measures=measures)
