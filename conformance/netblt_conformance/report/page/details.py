# SPDX-License-Identifier: GPL-2.0-or-later
"""The detail object of each result: its sentence, what was expected and observed, its packets, how to look further."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from netblt_conformance.catalogue import catalogue
from netblt_conformance.catalogue.catalogue import Requirement
from netblt_conformance.common import wording
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.verdicts import AGAINST, Cause, Origin, Result, Verdict
from netblt_conformance.reference.beside import Beside
from netblt_conformance.report import causes as causes_text
from netblt_conformance.report.page.blocks import Detail
from netblt_conformance.report.page.trees import trees
from netblt_conformance.trace.encode import Reader, expected_text

WORTH_A_LOOK = (Verdict.ERROR, Verdict.FAIL, Verdict.INCONC, Verdict.WARN)
_SAYS = {
    Verdict.FAIL: "violates",
    Verdict.WARN: "does not follow the recommendation",
    Verdict.INCONC: "could not be tested for",
    Verdict.ERROR: "could not be judged by",
    Verdict.PASS: "meets",
    Verdict.NA: "was not tested for",
    Verdict.OBSERVED: "shows its choice in",
}
_REPEATABLE = (Origin.CASE, Origin.MONITOR, Origin.DISSECTOR)
_NOBODYS = "-"
# A larger capture is not drawn: reading it takes longer than a report is worth.
CAPTURE_BYTES_MOST = 20_000_000
PACKETS_ON_DEMAND = "The packets of what passed are in the capture; with --details all they are shown here too."

# What is done, and of how many.
Progress = Callable[[int, int], None]


def again(result: Result, base: Sequence[str]) -> str:
    """The command that runs a case again that did not pass; empty for what is no case, or needs no second look.
    `base`: the command that tests this implementation."""
    if not base or result.origin not in _REPEATABLE or result.verdict not in WORTH_A_LOOK:
        return ""
    return causes_text.command(base, result)


def sentence(result: Result, rule: Requirement | None, excuses: Sequence[str] = ()) -> str:
    """Who, which rule, which frame, why, and which excuses were excluded."""
    # What was expected is shown beside it; "nothing came" alone does not state what did not come.
    absent = result.cause is Cause.ABSENCE
    why = wording.reason(result) if absent else wording.with_notes(result.seen, result.notes)
    if not result.requirement:
        return why
    about = f"{rule.id}, \u201c{rule.title}\u201d ({rule.section})" if rule else result.requirement
    where = f", decided by frame {result.frame}" if result.frame else ""
    without = f" Excluded: {'; '.join(excuses)}." if excuses else ""
    words = f"{_who(result)} {_SAYS[result.verdict]} {about}{where}{': ' + why if why else ''}"
    return words + ("" if words.endswith((".", "?", "!")) else ".") + without


def _who(result: Result) -> str:
    if result.origin is Origin.CHECK:
        address, _, role = result.role.partition(" ")
        return f"The {role} at {address}" if role else "The connection"
    role = "" if result.role in (_NOBODYS, "all") else f" as {result.role}"
    return f"The implementation under test{role}"


def filter_of(result: Result, rule: Requirement | None) -> str:
    """The Wireshark display filter that shows the deciding frame and what the plugin finds of the same rule."""
    terms = []
    if result.frame:
        terms += [f"frame.number == {result.frame}", f"netblt.analysis.offending_frame == {result.frame}"]
    if rule and rule.dissector:
        terms.append(f"netblt.analysis.{rule.dissector.slug}")
    return " || ".join(terms) if result.capture else ""


def _texts(result: Result, known: Mapping[str, Requirement], base: Sequence[str]) -> Detail:
    """What the result itself states."""
    rule = known.get(result.requirement)
    fails = result.verdict in WORTH_A_LOOK
    return {
        "sentence": sentence(result, rule),
        "expected": expected_text(result) if fails else "",
        "observed": result.seen if fails else "",
        "excuses": [],
        "finding_filter": filter_of(result, rule),
        "capture": result.capture or "",
        "command": again(result, base),
        "schedule": "",
        "facts": [[name, value] for name, value in result.observed.items()],
        "also": [[name, frame] for name, frame in result.also_in.items()],
        "deciding": -1,
        "deciding_frame": result.frame or 0,
    }


def without_packets(
    results: Sequence[Result], known: Mapping[str, Requirement], base: Sequence[str], besides: Collection[int]
) -> dict[int, Detail]:
    """Details of the results that have none, `besides` those that have: texts only."""
    found = {}
    for number, result in enumerate(results):
        if number not in besides:
            found[number] = _texts(result, known, base)
            if result.capture:
                found[number]["no_events"] = PACKETS_ON_DEMAND
    return found


def _order(results: Sequence[Result], first: Collection[str], *, everything: bool) -> list[int]:
    """Numbers of the results that get details, the most important first. `first`: captures that show a cause."""

    def weight(number: int) -> tuple[bool, bool, int, str]:
        one = results[number]  # results of one capture follow each other: it is read once
        return one.verdict not in WORTH_A_LOOK, one.capture not in first, -one.verdict, one.capture or ""

    return [n for n in sorted(range(len(results)), key=weight) if everything or results[n].verdict in WORTH_A_LOOK]


def of_results(
    folder: Path,
    results: Sequence[Result],
    base: Sequence[str],
    first: Collection[str] = (),
    progress: Progress = lambda _done, _of: None,
    *,
    everything: bool = False,
    dissect: bool = False,
    delay_ns: int | None = None,
    pair: tuple[str, str] | None = None,
    captured_at: str = "",
    enough: Callable[[], bool] = lambda: False,
) -> dict[int, Detail]:
    """Details by the number of the result, the most important first: of all that did not pass, or of `everything`.
    `folder` holds the captures. `dissect`: with tshark's view of the deciding frames. `delay_ns`: what a packet takes
    one way, on a link in virtual time. `pair`: the captures of both ends of one path.
    `captured_at`: where the others were made; empty: not known. `enough`: whether to leave out what is not done yet."""
    known = catalogue.requirements()
    numbers = _order(results, first, everything=everything)
    reader = Reader(folder, delay_ns, pair, captured_at)
    beside = Beside(folder, virtual=delay_ns is not None)
    found: dict[int, Detail] = {}
    for done, number in enumerate(numbers, 1):
        if enough():
            return found
        result = results[number]
        texts = _texts(result, known, base)
        if result.capture:
            texts |= _from_files(folder / result.capture, result)
        drawn = None if texts.get("no_events") else reader.of_result(result)
        if result.verdict in AGAINST and result.origin is not Origin.CHECK:
            more = beside.text(result)
            texts["expected"] = f"{_ended(texts['expected'])} {more}" if more else texts["expected"]
        found[number] = {**(drawn or {}), **texts}
        if drawn:  # only that states which event decided, and what it excludes
            found[number] |= {key: drawn[key] for key in ("deciding", "deciding_frame", "excuses")}
            excluded = drawn["excuses"] if result.verdict in AGAINST else ()
            found[number]["sentence"] = sentence(result, known.get(result.requirement), excluded)
        progress(done, len(numbers))
    if dissect:
        # The report is complete without; that tshark is missing has its own ERROR.
        with contextlib.suppress(JudgeError):
            _add_trees(folder, results, found)
    return found


def _ended(text: str) -> str:
    """The text as a sentence, where another one may follow."""
    return f"{text}." if text and not text.endswith(".") else text


def _from_files(capture: Path, result: Result) -> Detail:
    """The shrunk schedule beside the capture of a sweep, and why a capture is not drawn."""
    found: Detail = {}
    schedule = capture.with_suffix(".toml")
    if result.origin is Origin.SWEEP and schedule.is_file():
        found["schedule"] = schedule.read_text(encoding="utf-8")
        found["command"] = f"netblt-conformance replay {schedule.name}"
    if capture.is_file() and capture.stat().st_size > CAPTURE_BYTES_MOST:
        found["no_events"] = "The capture is too large to be drawn here."
    return found


def _add_trees(folder: Path, results: Sequence[Result], found: Mapping[int, Detail]) -> None:
    places = {
        number: (folder / str(results[number].capture), results[number].frame or 0)
        for number, detail in found.items()
        if results[number].frame and detail.get("events")
    }
    decoded = trees(list(places.values()))
    for number, place in places.items():
        found[number]["tree"] = decoded.get(place, "")
