# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of the terminal: 80 columns, wrapped at words, the same wherever they are printed."""

from __future__ import annotations

import pytest
from netblt_conformance.common import tables
from netblt_conformance.common.tables import Column

LONG = "every control carries all messages that are not acknowledged " * 3


def test_long_text_wraps_at_words_in_its_column() -> None:
    shown = tables.lines((Column("ID"), Column("TITLE", wide=True)), [("CTRL-04", LONG), ("CTRL-05", "short")])
    assert shown[0] == "ID       TITLE"
    assert max(map(len, shown)) <= tables.WIDTH
    assert all(line.startswith(" " * 9) for line in shown[2:-1])
    assert shown[-1] == "CTRL-05  short"
    assert " ".join(" ".join(line[9:] for line in shown[1:-1]).split()) == LONG.strip()


def test_a_column_wraps_at_its_own_limit() -> None:
    columns = (Column(wide=True, most=10), Column(wide=True))
    assert tables.lines(columns, [("one two three four", "five")]) == ["one two     five", "three four"]


def test_an_indent_counts_as_columns() -> None:
    shown = tables.lines((Column(wide=True),), [("a " * 100,)], indent=4)
    assert all(line.startswith("    ") for line in shown)
    assert 76 < max(map(len, shown)) <= tables.WIDTH


def test_a_name_of_words_stays_in_one_line_and_the_gap_is_the_wanted_one() -> None:
    shown = tables.lines((Column(), Column(wide=True)), [("a name of words " * 3 + "ends", LONG)], gap=1)
    assert shown[0].startswith("a name of words " * 3 + "ends every ")
    assert all(line.startswith(" " * 53) for line in shown[1:])


def test_figures_are_right_aligned_and_never_cut() -> None:
    assert tables.lines((Column("n", right=True), Column()), [("7", "a"), ("123", "b")]) == ["  n", "  7  a", "123  b"]
    figure = "9" * 45
    (line,) = tables.lines((Column(), Column(right=True)), [(figure, figure)])
    assert line == f"{figure}  {figure}"


def test_text_is_neither_markup_nor_control(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    cells = ("[bold]a[/bold] :smile: 192.0.2.1", "b\x1b[31m\u202e")
    assert tables.lines((Column(), Column()), [cells]) == [f"{cells[0]}  b\\u001b[31m\\u202e"]


def test_without_rows_only_the_heads_are_left() -> None:
    assert tables.lines((Column("ID"), Column("TITLE", wide=True)), []) == ["ID  TITLE"]
    assert tables.lines((Column(), Column(wide=True)), []) == []
