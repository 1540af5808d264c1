# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of amplification bounds in docs/security.md has the values of the code."""

import ast
import re
from fractions import Fraction
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
CORE = REPOSITORY / "reference_impl" / "core"
TESTS = REPOSITORY / "reference_impl" / "tests"
ROW = re.compile(
    r"^\| (?P<bound>[^|]+) \| (?P<value>\d+) \| (?P<unit>[^|]+) \| `(?P<constant>\w+)` \| `(?P<file>[\w/.]+)` "
    r"\| `(?P<test>\w+)` \|$",
    re.MULTILINE,
)
ROWS_MIN = 11


def rows() -> list[dict[str, str]]:
    text = (REPOSITORY / "docs" / "security.md").read_text(encoding="utf-8")
    section = text.split("**Bounds of amplification.**")[1].split("**NAT rebinding.**")[0]
    return [match.groupdict() for match in ROW.finditer(section)]


def value_of(expression: str) -> Fraction:
    """The value of a C constant expression of numbers, * and /."""

    def value(node: ast.expr) -> Fraction:
        match node:
            case ast.Constant(value=int() | float() as number):
                return Fraction(number)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return value(left) * value(right)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return value(left) / value(right)
        raise ValueError(expression)

    plain = re.sub(r"/\*.*?\*/", "", re.sub(r"UINT64_C\((\d+)\)", r"\1", expression)).strip()
    return value(ast.parse(plain, mode="eval").body)


def constant(file: str, name: str) -> Fraction:
    text = (CORE / file).read_text(encoding="utf-8")
    found = re.findall(rf"^#define {name} (.+)$|^ +\.{name} = (.+),$", text, re.MULTILINE)
    assert len(found) == 1, f"{file} defines {name} {len(found)} times"
    return value_of("".join(found[0]))


def test_the_table_has_all_rows() -> None:
    names = [row["constant"] for row in rows()]
    assert len(names) >= ROWS_MIN
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["constant"])
def test_a_bound_is_as_the_table_states(row: dict[str, str]) -> None:
    value = constant(row["file"], row["constant"])
    assert (1 / value if value < 1 else value) == int(row["value"])
    assert (TESTS / f"{row['test']}.c").is_file()
