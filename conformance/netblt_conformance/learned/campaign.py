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
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.judges.tshark import Tshark
from netblt_conformance.learned import judged, learning, machine
from netblt_conformance.learned.alphabet import SMALL
from netblt_conformance.learned.classes import Explanation, explain
from netblt_conformance.learned.differences import Difference
from netblt_conformance.learned.judged import Judged
from netblt_conformance.learned.machine import Machine, Step
from netblt_conformance.learned.tester import DELAY_US
from netblt_conformance.learned.themes import Part, part_named
from netblt_conformance.learned.workers import Place, Work, run
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.links.sim import SimLinkFactory

_SEQUENCES_PER_EVENT = 100


@dataclass(frozen=True, slots=True)
class Learned:
    """What became of one role in one theme: a machine, or why there is none."""

    part: Part
    machine: Machine | None = None
    why: str = ""
    fault: bool = False  # the implementation crashed


def names(part: Part, *, small: bool) -> tuple[str, ...]:
    """The inputs that are learned."""
    return tuple(name for name in part.names if not small or name in SMALL)


def learn_all(
    factory: LinkFactory,
    parts: Sequence[Part],
    seed: int,
    jobs: int,
    *,
    small: bool = False,
    on_progress: Callable[[int], None] = lambda _sequences: None,
    on_learned: Callable[[Learned], None] = lambda _learned: None,
) -> list[Learned]:
    """`on_progress` gets the number of sequences of inputs so far, of all parts; `on_learned` each part when it is
    done."""
    counts: dict[str, int] = {}

    def action(part: Part) -> Callable[[Emit, Place], Any]:
        def work(emit: Emit, place: Place) -> Any:
            played = 0

            def on_word(word: Sequence[str]) -> None:
                nonlocal played
                place.note(word)
                played += len(word) == 1
                if len(word) == 1 and played % _SEQUENCES_PER_EVENT == 0:
                    emit({"event": "at", "played": played})

            profile = probe(factory, part.role, seed)[0]
            found = learning.learn(factory, part, profile, names(part, small=small), seed, on_word)
            return to_json(found)

        return work

    def on_event(work: Work, event: dict[str, Any]) -> None:
        counts[work.name] = event["played"]
        on_progress(sum(counts.values()))

    pieces = [Work(str(part), action(part)) for part in parts]
    # The costly ones, which come last, begin first: so no processor is idle at the end.
    part_of = {piece.name: part for part, piece in zip(parts, pieces, strict=True)}
    run(reversed(pieces), jobs, on_event, lambda piece: on_learned(_learned(part_of[piece.name], piece)))
    return [_learned(part, piece) for part, piece in zip(parts, pieces, strict=True)]


def _learned(part: Part, piece: Work) -> Learned:
    if piece.fault:
        return Learned(part, why=f"the implementation {piece.fault}, after {_inputs(piece.word)}", fault=True)
    if piece.unsupported:
        return Learned(part, why=piece.unsupported)
    return Learned(part, from_json(piece.result))


def _inputs(word: Sequence[str]) -> str:
    return ", ".join(word) or "no input"


def to_json(found: Machine) -> dict[str, Any]:
    steps = [{name: [step.output, step.to] for name, step in state.items()} for state in found.steps]
    row = {"role": found.role, "theme": found.theme, "began": found.began, "facts": found.facts}
    return {**row, "inputs": found.inputs, "steps": steps}


def from_json(row: dict[str, Any]) -> Machine:
    steps = [{name: Step(*step) for name, step in state.items()} for state in row["steps"]]
    return Machine(row["role"], row["began"], tuple(row["inputs"]), steps, row["facts"], row["theme"])


# ---- the reference ----


def reference_file(part: Part) -> Path:
    return paths.learned() / f"{part}.json"


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
        part = part_named(ROLES_BY_NAME[one.role], one.theme)
        place.note(one.word)
        profile = probe(factory, part.role, seed)[0]
        return judged.judge(factory, part, profile, one.word, capture, judged.PAUSE_US if paused else 0).to_json()

    return work


def _judged(
    pieces: Sequence[Work], number: int, how: str, folder: Path, one: Difference, tshark: Tshark | None
) -> Judged:
    piece = next(piece for piece in pieces if piece.name == f"{number} {how}")
    if piece.fault:
        return Judged((), (), (), piece.fault)
    if piece.unsupported:
        raise HarnessError(f"{one.title}: {piece.unsupported}")
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


def load_other(against: Path | None, part: Part) -> Machine:
    """The machine to compare with; None: the reference's."""
    file = reference_file(part) if against is None else against
    return machine.load(file / f"{part}.json" if file.is_dir() else file)
