# SPDX-License-Identifier: GPL-2.0-or-later
"""What a difference means: permitted by what leaves the choice, forbidden by a requirement, or new to the catalogue."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import paths
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.learned import elements, outputs
from netblt_conformance.learned.alphabet import TIME, inputs
from netblt_conformance.learned.differences import Difference, changes, parts
from netblt_conformance.learned.judged import Judged, Violation

PERMITTED_FILE = "permitted.json"
_AMBIGUITY = re.compile(r"\bAMB-\d\d\b")


class Class(enum.StrEnum):
    PERMITTED = "permitted"
    FORBIDDEN = "forbidden"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The class of a difference, the identifiers that it rests on, and a sentence."""

    kind: Class
    identifiers: tuple[str, ...]
    text: str


# What is missing in a reaction, as a regular expression of its elements, and the requirement by which it is due. Only
# where a legal sequence of inputs leads there.
_DUE = (
    (r"OPEN again", "OPEN-03"),
    (r"OPEN", "OPEN-01"),
    (r"RESPONSE again", "OPEN-07"),
    (r"RESPONSE", "OPEN-01"),
    (r"QUITACK again", "QUIT-03"),
    (r"QUITACK", "QUIT-01"),
    (r"QUIT again", "QUIT-02"),
    (r"QUIT", "QUIT-06"),
    (elements.ACKNOWLEDGEMENT, "CTRL-10"),
    (r"L?DATA .* again", "RESEND-02"),
    (r"L?DATA ", "OPEN-01"),
    (r"new RESEND", "TIMER-07"),
    (r"new OK", "CTRL-14"),
    (elements.REPETITION, "TIMER-01"),
    (r"ABORT", "OPEN-09"),
    (r"KEEPALIVE", "TIMER-11"),
    (r"client: failure", "TIMER-10"),
    (r"client: success", "OPEN-01"),
)
# What may not be there in any reaction.
_WRONG = (
    (r".*\(wrong data\)|.*with wrong data", "DATA-08"),
    (r".*\(bad checksum\)", "CKSUM-01"),
    (r".*\(bad data checksum\)", "CKSUM-04"),
    (r"unreadable packet", "WIRE-04"),
    (r"CONTROL\[.*\(gap\)", "CTRL-01"),
    (r"CONTROL\[.*changed", "CTRL-02"),
    (r"OPEN changed", "OPEN-04"),
    (r"RESPONSE changed", "OPEN-07"),
    (r".*closed before the control timer", "CLOSE-04"),
)
# A time-out ends with the first new packet: what else the reference did until its connection ended may still come.
_UNTIL_THE_END = ("client: ", "KEEPALIVE", elements.REPETITION)
_TRANSFERS = ("DATA", "BUFFER", "GO", "OK", "RESEND")  # inputs that belong to buffers


def permitted_table() -> list[dict[str, Any]]:
    """Differences that legal variants of the reference show, with what leaves the choice; learn --variants --save
    writes them."""
    file = paths.learned() / PERMITTED_FILE
    return list(json.loads(file.read_text(encoding="utf-8"))["differences"]) if file.is_file() else []


def leaving(row: dict[str, Any]) -> tuple[str, ...]:
    """What leaves the choice that a row of the table shows: ambiguities, and requirements by their own words."""
    return (*row["ambiguities"], *row.get("requirements", ()))


def key(difference: Difference) -> tuple[str, str]:
    """What two differences of different implementations have in common when they are the same one."""
    return difference.role, " ".join(difference.kind)


def explain(
    difference: Difference, judged: Sequence[Judged], reference: Sequence[Judged], table: Sequence[dict[str, Any]]
) -> Explanation:
    """`judged`, `reference`: the cases of the implementation and of the reference with the same inputs."""
    fault = next((one.fault for one in judged if one.fault), "")
    if fault:
        return Explanation(Class.FORBIDDEN, ("ROBUST-02",), f"the implementation {fault}")
    if difference.word and reference and reference[0].outputs[-1:] == (difference.seen,):
        return Explanation(
            Class.NEW, (), "the reference reacts in the same way: its stored machine is incomplete; learn it again"
        )
    harmless = {violation.requirement for one in reference for violation in one.violations}
    found = [violation for one in judged for violation in one.violations if violation.requirement not in harmless]
    if failures := [violation for violation in found if violation.fails]:
        return _of_violations(Class.FORBIDDEN, failures)
    role, kind = key(difference)
    if same := next((row for row in table if (row["role"], row["kind"]) == (role, kind)), None):
        names = ", ".join(same["variants"])
        if not leaving(same):
            return Explanation(Class.NEW, (), f"like the legal variant {names}, which no ambiguity names")
        return Explanation(Class.PERMITTED, leaving(same), f"like the legal variant {names}")
    missing, more = changes(difference.expected, difference.seen)
    if wrong := _matching(_WRONG, more):
        return Explanation(Class.FORBIDDEN, (wrong[1],), f"{wrong[0]!r}; {catalogue.demand(wrong[1])}")
    if found:
        return _of_violations(Class.PERMITTED, found)
    later = elements.elements(
        part for one in judged for part in (*one.later, *parts(one.outputs[-1] if one.outputs else ""))
    )
    if choice := _choice(difference, later):
        return choice
    came = (*elements.elements(parts(difference.seen)), *later)
    wanted = elements.lacking(elements.elements(missing), came)
    absent = [one for one in wanted if not elements.is_there(one, came) and _may_be_due(one, difference)]
    if is_legal(difference) and (due := _matching(_DUE, absent)):
        return Explanation(Class.FORBIDDEN, (due[1],), f"{due[0]!r} did not come; {catalogue.demand(due[1])}")
    return Explanation(Class.NEW, (), "no requirement is violated, and no ambiguity names it")


def _choice(difference: Difference, later: Sequence[str]) -> Explanation | None:
    """What leaves the form of the difference, where both ends do the same. `later`: elements of what
    came after the reaction."""
    wanted, seen = (elements.elements(parts(output)) for output in (difference.expected, difference.seen))
    missing, more = elements.lacking(wanted, seen), elements.lacking(seen, wanted)
    last = difference.word[-1] if difference.word else ""
    stops = any(one.startswith("client ") for one in difference.word)
    not_yet = elements.lacking(missing, later)
    late = bool(missing) and all(elements.is_there(one, later) for one in not_yet)
    name = text = ""
    if not missing and not more and any(map(elements.is_message, wanted)):
        name, text = "AMB-33", "the same messages, in other packets"
    elif late and not more and all(map(elements.is_message, missing)):
        name, text = "AMB-69", "the same messages, which leave later"
    elif late and not more and all(map(elements.is_data, missing)):
        name, text = "RATE-01", "the same data, which leave later"
    elif late and not more:
        name, text = "AMB-78", "the same, later"
    elif not missing and more and all(one.startswith("new GO") for one in more):
        name, text = "AMB-29", "more GOs at a time"
    elif "GO skipping" in difference.word and all(_is_served(one) for one in (*missing, *more)):
        name, text = "AMB-47", "a GO whose number is far beyond the one before is served at another time"
    elif last == "QUIT other version" and not more:
        name, text = "AMB-01", "packets of another version are discarded"
    elif last.startswith("client ") and missing and not _is_open(difference) and {*missing} <= {"QUIT", "ABORT"}:
        name, text = "AMB-76", "its client stops before the connection is open"
    elif stops and more and not missing and all(one.startswith("client: failure") for one in more):
        name, text = "AMB-77", "its client learns of the end at another moment"
    elif missing == ["QUIT"] and any(one.startswith(_TRANSFERS) for one in difference.word):
        name, text = "AMB-56", "a QUIT may wait for the end of a buffer"
    return Explanation(Class.PERMITTED, (name,), text) if name else None


def _is_served(element: str) -> bool:
    return elements.is_data(element) or element == elements.ACKNOWLEDGEMENT


def _is_open(difference: Difference) -> bool:
    opening = "RESPONSE" if ROLES_BY_NAME[difference.role].active else "OPEN"
    return any(one.startswith(opening) for one in difference.word)


def _may_be_due(element: str, difference: Difference) -> bool:
    """Whether the situation demands it, if anything does."""
    last = difference.word[-1] if difference.word else ""
    if element == "ABORT":
        return last == "OPEN other ID"
    if element == "QUIT":
        return _is_open(difference)  # before, there is no transfer to end
    waits_on = last == TIME and any(outputs.is_new(part) for part in parts(difference.seen))
    return not (waits_on and element.startswith(_UNTIL_THE_END))


def is_legal(difference: Difference) -> bool:
    """Whether a conforming peer can bring the implementation there."""
    legal = {one.name for one in inputs(ROLES_BY_NAME[difference.role]) if one.legal}
    return all(name in legal for name in difference.word)


def _matching(rules: Sequence[tuple[str, str]], texts: Sequence[str]) -> tuple[str, str] | None:
    """The first text that a rule is about, and the rule's requirement."""
    return next(
        ((text, identifier) for text in texts for pattern, identifier in rules if re.match(pattern, text)), None
    )


def _of_violations(kind: Class, found: Sequence[Violation]) -> Explanation:
    identifiers = dict.fromkeys(violation.requirement or "a transfer" for violation in found)
    text = "; ".join(dict.fromkeys(f"{violation.text} ({violation.by})" for violation in found))
    if kind is Class.PERMITTED:
        named = dict.fromkeys(_AMBIGUITY.findall(text))
        for name in identifiers:
            if not named and (known := catalogue.requirements().get(name)) is not None:
                named |= dict.fromkeys(known.ambiguities)
        identifiers = {**named, **identifiers}
    return Explanation(kind, tuple(identifiers), text)


def save_permitted(rows: Sequence[dict[str, Any]], path: Path) -> None:
    lines = ",\n".join(json.dumps(row, sort_keys=True) for row in rows)
    path.write_text(f'{{\n"layout": 1,\n"differences": [\n{lines}\n]\n}}\n', encoding="utf-8")
