# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of a bakeoff as one JSON document (conformance/schemas/bakeoff.schema.json)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from netblt_conformance import __version__
from netblt_conformance.bakeoff.contestants import Contestant
from netblt_conformance.bakeoff.differences import Difference, records
from netblt_conformance.bakeoff.model import Outcome, Transfer
from netblt_conformance.bakeoff.records import dumped
from netblt_conformance.bakeoff.scorecard import Card, Score
from netblt_conformance.common.verdicts import ExitCode

LAYOUT = 1


def document(
    contestants: Sequence[Contestant],
    outcomes: Sequence[Outcome],
    cards: Sequence[Card],
    transfer: Transfer,
    differences: Sequence[Difference] = (),
    *,
    seed: int,
    status: ExitCode,
    complete: bool = True,
) -> dict[str, Any]:
    paths = {outcome.meeting.path.name: outcome.meeting.path for outcome in outcomes}
    return {
        "layout": LAYOUT,
        "suite": f"netblt-conformance {__version__}",
        "exit_code": int(status),
        "complete": complete,
        "seed": seed,
        "transfer": {"data_bytes": transfer.data_bytes, "buffers": transfer.buffers, **_sizes(transfer)},
        "paths": [{"name": path.name, "summary": path.summary, "rules": list(path.rules)} for path in paths.values()],
        "implementations": [_implementation(one) for one in contestants],
        "meetings": [_meeting(outcome) for outcome in outcomes],
        "divergences": records(differences),
        "scorecard": [_card(card) for card in cards],
    }


def _sizes(transfer: Transfer) -> dict[str, Any]:
    wanted = (
        "buffer_size",
        "packet_size",
        "burst_size",
        "burst_interval_ms",
        "death_timer_s",
        "max_buffers",
        "data_checksum",
    )
    return {name: value for name, value in asdict(transfer.parameters).items() if name in wanted}


def _implementation(one: Contestant) -> dict[str, Any]:
    return {
        "name": one.implementation.name,
        "file": str(one.implementation.file),
        "dialect": one.implementation.dialect,
        "link": "pipe" if one.carried else "wire",
        "version": one.version,
    }


def _meeting(outcome: Outcome) -> dict[str, Any]:
    meeting = outcome.meeting
    pair = meeting.pair
    return {
        "key": meeting.key,
        "path": meeting.path.name,
        "encapsulation": meeting.encapsulation.value,
        "active": pair.opener.name,
        "passive": pair.listener.name,
        "sender": "active" if pair.opener_sends else "passive",
        "holds": outcome.holds,
        "goodput_bps": None if outcome.goodput_bps is None else round(outcome.goodput_bps),
        "line_bytes_per_byte": None if outcome.cost is None else round(outcome.cost, 4),
        **dumped(outcome),
    }


def _card(card: Card) -> dict[str, Any]:
    return {
        "implementation": card.implementation.name,
        "total": _score(card.total),
        "divisions": {division.value: _score(score) for division, score in card.divisions.items()},
        "tasks": {name: _score(score) for name, score in card.tasks.items()},
        "played": card.played,
        "completed": card.completed,
        "unsupported": card.unsupported,
    }


def _score(score: Score) -> dict[str, int]:
    return {"reached": score.reached, "possible": score.possible}
