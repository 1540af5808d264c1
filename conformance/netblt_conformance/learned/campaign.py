# SPDX-License-Identifier: GPL-2.0-or-later
"""Learns the machines of several roles at a time, and judges differences, in child processes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netblt_conformance.cases.probe import probe
from netblt_conformance.common import paths
from netblt_conformance.common.child import Emit
from netblt_conformance.common.errors import HarnessError
from netblt_conformance.common.model import ROLES_BY_NAME, Role
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.learned import judged, learning, machine
from netblt_conformance.learned.alphabet import SMALL, inputs
from netblt_conformance.learned.classes import Explanation, explain
from netblt_conformance.learned.differences import Difference
from netblt_conformance.learned.judged import Judged
from netblt_conformance.learned.machine import Machine, Step
from netblt_conformance.learned.tester import DELAY_US
from netblt_conformance.learned.workers import Place, Work, run
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.links.sim import SimLinkFactory

_SEQUENCES_PER_EVENT = 100


@dataclass(frozen=True, slots=True)
class Learned:
    """What became of one role: a machine, or why there is none."""

    role: Role
    machine: Machine | None = None
    why: str = ""
    fault: bool = False  # the implementation crashed


def names(role: Role, *, small: bool) -> tuple[str, ...]:
    """The inputs that are learned."""
    return tuple(one.name for one in inputs(role) if not small or one.name in SMALL)


def learn_all(
    factory: LinkFactory,
    roles: Sequence[Role],
    seed: int,
    jobs: int,
    *,
    small: bool = False,
    on_progress: Callable[[int], None] = lambda _sequences: None,
) -> list[Learned]:
    """`on_progress` gets the number of sequences of inputs so far, of all roles."""
    counts: dict[str, int] = {}

    def action(role: Role) -> Callable[[Emit, Place], Any]:
        def work(emit: Emit, place: Place) -> Any:
            played = 0

            def on_word(word: Sequence[str]) -> None:
                nonlocal played
                place.note(word)
                played += len(word) == 1
                if len(word) == 1 and played % _SEQUENCES_PER_EVENT == 0:
                    emit({"event": "at", "played": played})

            profile = probe(factory, role, seed)[0]
            found = learning.learn(factory, role, profile, names(role, small=small), seed, on_word)
            return to_json(found)

        return work

    def on_event(work: Work, event: dict[str, Any]) -> None:
        counts[work.name] = event["played"]
        on_progress(sum(counts.values()))

    pieces = [Work(str(role), action(role)) for role in roles]
    run(pieces, jobs, on_event)
    return [_learned(piece) for piece in pieces]


def _learned(piece: Work) -> Learned:
    role = ROLES_BY_NAME[piece.name]
    if piece.fault:
        return Learned(role, why=f"the implementation {piece.fault}, after {_inputs(piece.word)}", fault=True)
    if piece.unsupported:
        return Learned(role, why=piece.unsupported)
    return Learned(role, from_json(piece.result))


def _inputs(word: Sequence[str]) -> str:
    return ", ".join(word) or "no input"


def to_json(found: Machine) -> dict[str, Any]:
    steps = [{name: [step.output, step.to] for name, step in state.items()} for state in found.steps]
    return {"role": found.role, "began": found.began, "inputs": found.inputs, "steps": steps, "facts": found.facts}


def from_json(row: dict[str, Any]) -> Machine:
    steps = [{name: Step(*step) for name, step in state.items()} for state in row["steps"]]
    return Machine(row["role"], row["began"], tuple(row["inputs"]), steps, row["facts"])


# ---- the reference ----


def reference_file(role: Role) -> Path:
    return paths.learned() / f"{role}.json"


def reference_factory() -> LinkFactory:
    return SimLinkFactory(paths.iut_library(), DELAY_US)


# ---- differences ----


@dataclass(frozen=True, slots=True)
class Found:
    """One difference, its case and what it means."""

    difference: Difference
    explanation: Explanation
    capture: Path


def judge_all(
    factory: LinkFactory,
    found: Sequence[Difference],
    folder: Path,
    jobs: int,
    table: Sequence[dict[str, Any]],
    *,
    seed: int,
    dissector: bool,
) -> list[Found]:
    """Plays the sequence of each difference as a case, against the implementation and the reference, and explains
    it. The capture of each is difference.N.pcapng."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = [
        Work(f"{number} {how}", _judging(made, one, _capture(folder, number, how), seed, paused=how.endswith("paused")))
        for number, one in enumerate(found, 1)
        for how, made in (
            ("", factory), ("paused", factory), ("reference", reference_factory()),
            ("reference paused", reference_factory()),
        )
    ]  # fmt: skip
    run(pieces, jobs)
    explained = []
    with Tshark() if dissector else contextlib.nullcontext() as tshark:
        for number, one in enumerate(found, 1):
            rows = {how: _judged(pieces, number, how, folder, one, tshark) for how in _HOWS}
            explanation = explain(one, [rows[""], rows["paused"]], [rows["reference"], rows["reference paused"]], table)
            for how in _HOWS[1:]:
                _capture(folder, number, how).unlink(missing_ok=True)
            explained.append(Found(one, explanation, _capture(folder, number, "")))
    return explained


_HOWS = ("", "paused", "reference", "reference paused")


def _capture(folder: Path, number: int, how: str) -> Path:
    return folder / ".".join(["difference", str(number), *how.split(), "pcapng"])


def _judging(
    factory: LinkFactory, one: Difference, capture: Path, seed: int, *, paused: bool
) -> Callable[[Emit, Place], Any]:
    def work(_emit: Emit, place: Place) -> Any:
        role = ROLES_BY_NAME[one.role]
        place.note(one.word)
        profile = probe(factory, role, seed)[0]
        return judged.judge(factory, role, profile, one.word, capture, judged.PAUSE_US if paused else 0).to_json()

    return work


def _judged(
    pieces: Sequence[Work], number: int, how: str, folder: Path, one: Difference, tshark: Tshark | None
) -> Judged:
    piece = next(piece for piece in pieces if piece.name == f"{number} {how}")
    if piece.fault:
        return Judged((), (), (), piece.fault)
    if piece.unsupported:
        raise HarnessError(f"{one.role}: {piece.unsupported}")
    found = Judged.from_json(piece.result)
    capture = _capture(folder, number, how)
    if tshark is None or not capture.is_file():
        return found
    more = judged.dissected(tshark, ROLES_BY_NAME[one.role], capture)
    return Judged(found.outputs, found.later, (*found.violations, *more), found.fault)


def compare(learned: Machine, other: Machine, most: int) -> list[Difference]:
    """The first differences of `learned` from `other`."""
    from itertools import islice

    from netblt_conformance.learned.differences import differences

    return list(islice(differences(other, learned), most))


def load_other(against: Path | None, role: Role) -> Machine:
    """The machine to compare with; None: the reference's."""
    file = reference_file(role) if against is None else against
    return machine.load(file / f"{role}.json" if file.is_dir() else file)
