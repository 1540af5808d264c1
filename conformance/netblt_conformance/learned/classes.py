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
from netblt_conformance.learned import outputs
from netblt_conformance.learned.alphabet import inputs
from netblt_conformance.learned.differences import Difference, changes
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


# What is missing in a reaction, as a regular expression, and the requirement by which it is due. Only where a legal
# sequence of inputs leads there.
_DUE = (
    (r"OPEN again", "OPEN-03"),
    (r"OPEN", "OPEN-01"),
    (r"RESPONSE again", "OPEN-07"),
    (r"RESPONSE", "OPEN-01"),
    (r"QUITACK again", "QUIT-03"),
    (r"QUITACK", "QUIT-01"),
    (r"QUIT again", "QUIT-02"),
    (r"QUIT", "QUIT-06"),
    (r"NULL-ACK", "CTRL-10"),
    (r"L?DATA .* again", "RESEND-02"),
    (r"L?DATA ", "OPEN-01"),
    (r"CONTROL\[.*new RESEND", "TIMER-07"),
    (r"CONTROL\[.*new OK", "CTRL-14"),
    (r"CONTROL\[(?!.*new )", "TIMER-01"),
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
)


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
    came = {part.removesuffix(outputs.AGAIN) for one in judged for part in one.later}
    absent = [part for part in missing if part.removesuffix(outputs.AGAIN) not in came]
    if is_legal(difference) and (due := _matching(_DUE, absent)):
        return Explanation(Class.FORBIDDEN, (due[1],), f"{due[0]!r} did not come; {catalogue.demand(due[1])}")
    if absent != missing:
        return Explanation(Class.NEW, (), "what the reference sends at once came later")
    return Explanation(Class.NEW, (), "no requirement is violated, and no ambiguity names it")


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
