# SPDX-License-Identifier: GPL-2.0-or-later
"""No decision of the suite rests on the text of a message: text is made from typed fields where it is shown."""

from __future__ import annotations

import ast
import string
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import paths, wording
from netblt_conformance.common.model import PASSIVE_SENDER
from netblt_conformance.common.tolerances import DEFAULT
from netblt_conformance.common.verdicts import Cause, Judgement, Result, Verdict
from netblt_conformance.oracles import Monitor
from netblt_conformance.oracles.base import Check, Oracle
from netblt_conformance.oracles.monitor import ORACLES
from netblt_conformance.oracles.session import Session

SOURCES = paths.root() / "conformance" / "netblt_conformance"
# Attributes that hold text for people: of results, violations, findings and exceptions.
TEXTS = frozenset({"reason", "expected", "text", "why", "words"})
# What a peer has seen is a list of packets; what a result has seen is text.
SEEN_BY = frozenset({"result", "row", "judgement", "unmet", "first", "one"})
# Of these classes' own texts. A packet's `text` is a field of the protocol.
PROTOCOL = ("packets/packets.py",)
PREDICATES = frozenset(
    {"startswith", "endswith", "find", "index", "count", "split", "partition", "rpartition", "removeprefix"}
)
MATCHES = frozenset({"search", "match", "fullmatch", "findall"})
# What makes its first argument the key of a set or a mapping.
COLLECTS = frozenset({"add", "setdefault"})
# Where a text decides on purpose: file, function, why.
ALLOWED = {
    ("run/known.py", "judge"): "the pattern is the user's, about the text that the report shows",
}


def _is_text(node: ast.AST) -> bool:
    """Whether the expression is such an attribute, or text that is made of a result."""
    if isinstance(node, ast.Attribute):
        owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        return node.attr in TEXTS or (node.attr == "seen" and owner in SEEN_BY)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "reason" and isinstance(node.func.value, ast.Name) and node.func.value.id == "wording"
    return False


def _has_text(node: ast.AST) -> bool:
    """The same for a tuple with such an element."""
    return any(map(_is_text, node.elts)) if isinstance(node, ast.Tuple) else _is_text(node)


def _compares(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return any(map(_has_text, [node.left, *node.comparators]))
    if isinstance(node, ast.Match):
        return _is_text(node.subject)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        asked = node.func.attr in PREDICATES and _is_text(node.func.value)
        matched = node.func.attr in MATCHES and any(map(_is_text, node.args))
        return asked or matched or (node.func.attr in COLLECTS and any(map(_has_text, node.args[:1])))
    if isinstance(node, ast.Assign):
        return _has_text(node.value) and any(isinstance(one, ast.Name) and "key" in one.id for one in node.targets)
    return isinstance(node, ast.Subscript) and _has_text(node.slice)


def _functions(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Each function, with its own name only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node


def decisions(source: str, file: str = "") -> list[str]:
    """Places at which a text is compared, matched, split, or made the key of something."""
    return [
        f"{file}:{node.lineno} in {name}()"
        for name, function in _functions(ast.parse(source))
        if (file, name) not in ALLOWED
        for node in ast.walk(function)
        if isinstance(node, ast.expr | ast.stmt) and _compares(node)
    ]


def test_no_decision_rests_on_a_text() -> None:
    found: list[str] = []
    files = sorted(SOURCES.rglob("*.py"))
    assert len(files) > 100
    for path in files:
        file = str(path.relative_to(SOURCES))
        if file not in PROTOCOL:
            found += decisions(path.read_text(encoding="utf-8"), file)
    assert found == []


def test_what_is_allowed_exists() -> None:
    for (file, function), why in ALLOWED.items():
        names = [name for name, _ in _functions(ast.parse((SOURCES / file).read_text(encoding="utf-8")))]
        assert function in names, (file, why)


@pytest.mark.parametrize(
    "body",
    [
        "return row.reason == 'late'",
        "return 'late' in row.seen",
        "return case.judgement.seen == 'late'",
        "return 'late' in row.reason",
        "return row.reason.startswith('late')",
        "return pattern.search(row.reason)",
        "seen.add((row.requirement, row.reason))",
        "key = row.requirement, row.reason",
        "return seen[row.reason]",
        "return 'late' in wording.reason(row)",
        "match row.reason:\n        case 'late':\n            return 1",
    ],
)
def test_a_decision_by_text_is_found(body: str) -> None:
    assert decisions(f"def judge(row):\n    {body}\n")


@pytest.mark.parametrize(
    "body", ["return f'{row.reason}.'", "return row.verdict is FAIL", "return worsen(FAIL, row.reason)"]
)
def test_text_may_be_shown_and_passed_on(body: str) -> None:
    assert decisions(f"def show(row):\n    {body}\n") == []


AGAINST = [Verdict.WARN, Verdict.FAIL]


@pytest.mark.parametrize("verdict", AGAINST)
@pytest.mark.parametrize(("expected", "seen"), [("", "an OK"), ("no OK", ""), ("", "")])
def test_nothing_is_held_against_an_implementation_without_what_was_expected_and_seen(
    verdict: Verdict, expected: str, seen: str
) -> None:
    with pytest.raises(ValueError, match="without what was expected"):
        Judgement(verdict, seen, expected=expected)
    with pytest.raises(ValueError, match="without what was expected"):
        Judgement().worsen(verdict, seen, expected=expected)
    with pytest.raises(ValueError, match="without what was expected"):
        Judgement(Verdict.ERROR, "first").worsen(verdict, seen, expected=expected)  # that is worse already
    with pytest.raises(ValueError, match="without what was expected"):
        Result("case", ["CTRL-04"], "active-sender", verdict, seen, expected=expected)
    with pytest.raises(ValueError, match="without what was expected"):
        Result("case", [], "active-sender", Verdict.INCONC, seen, expected=expected).noted(verdict=verdict)


def checks() -> Iterator[Check]:
    """Every check of every oracle."""
    for oracle in ORACLES:
        for value in vars(sys.modules[oracle.__module__]).values():
            found = value.values() if isinstance(value, dict) else [value]
            yield from (one for one in found if isinstance(one, Check))


def test_every_check_of_an_oracle_says_what_is_expected_and_seen() -> None:
    found = list(checks())
    assert len(found) > 70
    known = catalogue.requirements()
    for check in found:
        assert check.requirement in known
        assert check.verdict in AGAINST
        assert check.expected, check
        assert check.seen, check
        assert "{" not in check.expected, check


def reports(source: str) -> Iterator[tuple[ast.expr, set[str]]]:
    """The check and the names of the values of each report."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "report":
            yield node.args[0], {one.arg for one in node.keywords if one.arg is not None}


def test_every_report_gives_the_values_that_the_text_of_its_check_names() -> None:
    judged = 0
    for oracle in ORACLES:
        module = sys.modules[oracle.__module__]
        for check, values in reports(Path(module.__file__ or "").read_text(encoding="utf-8")):
            named = vars(module).get(check.id) if isinstance(check, ast.Name) else None
            if isinstance(named, Check):
                wanted = {name for _, name, _, _ in string.Formatter().parse(named.seen) if name}
                assert wanted == values, named
                judged += 1
    assert judged > 60


def test_a_violation_is_the_same_again_when_its_values_are() -> None:
    session = Session(PASSIVE_SENDER, 1, 2, 0, real_time=False, tolerances=DEFAULT)
    monitor = Monitor(session)
    oracle = Oracle(session, monitor.report)
    first, other = (Check("CTRL-04", "all", "not all: {seq}") for _ in range(2))
    for check, seq, frame in ((first, 1, 7), (first, 1, 8), (first, 2, 9), (other, 1, 10)):
        oracle.report(check, frame, seq=seq)
    assert [one.frame for one in monitor.violations] == [7, 9, 10]


def test_a_text_says_what_was_expected_and_what_was_seen() -> None:
    values = (("packets", (1, 2)), ("flags", 3))
    assert wording.filled("{packets}, 0x{flags:04x}", values) == "[1, 2], 0x0003"
    assert wording.judgement(Judgement(Verdict.FAIL, "two OKs", expected="one OK")) == "two OKs; expected: one OK"
    absence = Judgement(Verdict.FAIL, "not within 5 s", cause=Cause.ABSENCE, expected="OK")
    assert wording.judgement(absence) == "expected OK: not within 5 s"
    assert wording.judgement(Judgement(Verdict.ERROR, "no socket")) == "no socket"
