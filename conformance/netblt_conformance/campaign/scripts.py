# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns of generated legal peers: scripts of moves that RFC 998 and a network permit (docs/conformance.md)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from netblt_conformance.campaign.played import PlayedKind, PlayedParameters
from netblt_conformance.campaign.rows import Row
from netblt_conformance.common.arguments import roles_of
from netblt_conformance.common.verdicts import Cause, Verdict
from netblt_conformance.generated.campaign import BLOCK_SCRIPTS, CRASHES, OWN_MISTAKE, Block, Campaign, Failure, Pool
from netblt_conformance.generated.script import from_text
from netblt_conformance.generated.second import violations
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.run import target

NOT_RUN = "not run: the scripts before it in its block broke the implementation"
NOT_SUPPORTED = "the implementation does not support what the script needs"


class Scripts(PlayedKind):
    """A unit is one script. Scripts are invented in blocks of their own, as by the command `generate`."""

    unit = "script"
    about = "one connection with a tester that chooses its moves at random among the legal ones"
    block = BLOCK_SCRIPTS
    multiple = BLOCK_SCRIPTS
    measures: ClassVar[dict[str, str]] = {"moves": "moves that the tester made"}
    Parameters = PlayedParameters

    def count(self) -> int | None:
        self._factory().check()
        return None

    def _factory(self) -> LinkFactory:
        """TargetError for the wire link: scripts need virtual time."""
        chosen = target.choose(None, self.subject.adapter, self.subject.library)
        if chosen.link == "wire":
            raise target.TargetError("generated peers need virtual time: give an adapter with [pipe], or a library")
        return chosen.factory()

    def serve(self, loop: Callable[[], None]) -> None:
        self._campaign = Campaign(
            self._factory(), roles_of(self.parameters.roles), self.seed, dissector=self.parameters.dissector
        )
        super().serve(loop)

    def run(self, units: range) -> list[Row]:
        rows: list[Row] = []
        with tempfile.TemporaryDirectory(prefix="netblt-campaign-") as folder:
            for first in range(units.start, units.stop, BLOCK_SCRIPTS):
                block = Block(range(first, min(first + BLOCK_SCRIPTS, units.stop)), Path(folder) / f"block{first}")
                rows += self._block(block)
        return rows

    def _block(self, block: Block) -> list[Row]:
        failures: dict[int, Failure] = {}

        def failed(failure: Failure) -> None:
            failures[failure.number] = failure

        mistakes: dict[int, Failure] = {}

        def broke(broken: Failure) -> None:
            mistakes[broken.number] = broken

        Pool(self._campaign, 1, failed, lambda _counts: None, lambda _block: None, broke).run(iter([block]))
        if self.parameters.dissector:
            block.take(violations(self._tshark, block.stem), failures, mistakes)
        return [_row(block, unit, failures.get(unit), mistakes.get(unit)) for unit in block.numbers]


def _row(block: Block, unit: int, failure: Failure | None, mistake: Failure | None) -> Row:
    moves = {"moves": float(block.moves[unit])} if unit in block.moves else {}
    if failure is not None:
        kinds, reason = " ".join(sorted(failure.kinds - CRASHES)), "; ".join(failure.reasons)
        cause = Cause.CRASH if failure.kinds & CRASHES else Cause.JUDGEMENT
        text = failure.script.text("\n".join(failure.reasons))
        return Row(unit, str(failure.script.role), Verdict.FAIL, reason, cause, kinds, text, moves)
    if unit not in block.texts:
        return Row(unit, "-", Verdict.NA, NOT_RUN)
    role = str(from_text(block.texts[unit]).role)
    if mistake is not None:
        reason = "; ".join((OWN_MISTAKE, *mistake.reasons))
        return Row(unit, role, Verdict.ERROR, reason, Cause.SUITE, "", block.texts[unit], moves)
    if unit in block.unsupported:
        return Row(unit, role, Verdict.NA, NOT_SUPPORTED, measures=moves)
    return Row(unit, role, measures=moves)
