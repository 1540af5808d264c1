# SPDX-License-Identifier: GPL-2.0-or-later
"""No decision of the suite rests on the text of a message: text is made from typed fields where it is shown."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from netblt_conformance.common import paths

SOURCES = paths.root() / "conformance" / "netblt_conformance"
# Attributes that hold text for people: of results, violations, findings and exceptions.
TEXTS = frozenset({"reason", "expected", "text", "why", "words"})
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
    ("oracles/monitor.py", "_report"): "an oracle that reports the same values again tells nothing new",
}


def _is_text(node: ast.AST) -> bool:
    """Whether the expression is such an attribute, or text that is made of a result."""
    if isinstance(node, ast.Attribute):
        return node.attr in TEXTS
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
