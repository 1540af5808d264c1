# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables as plain text for a terminal of 80 columns: no colour, no lines, words that wrap in their column."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

from netblt_conformance.common.words import fit

WIDTH = 80  # columns of a terminal
_LEAST = 10  # columns that a wide one keeps when the others leave less


class Column(NamedTuple):
    """`wide`: its text wraps at words, at the latest at `most` columns. The others hold names and figures, which are
    never cut."""

    head: str = ""
    right: bool = False
    wide: bool = False
    most: int | None = None


def lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, indent: int = 0, gap: int = 2) -> list[str]:
    """A line of heads, where there are any, and the rows, all after `indent` spaces; `gap` spaces between columns.
    The lines do not depend on the terminal. They are longer than 80 columns only if the columns that do not wrap leave
    no room."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    heads = any(column.head for column in columns)
    table = Table(box=None, show_header=heads, pad_edge=False, padding=(0, gap, 0, 0))
    for column in columns:
        table.add_column(
            Text(column.head),
            justify="right" if column.right else "left",
            no_wrap=not column.wide,
            max_width=column.most,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(fit(cell)) for cell in row))
    room = max(WIDTH - indent, _least(columns, rows, gap))
    file = io.StringIO()
    Console(file=file, width=room, color_system=None, force_terminal=False, force_jupyter=False).print(table)
    return [(" " * indent + line).rstrip() for line in file.getvalue().splitlines()]


def _least(columns: Sequence[Column], rows: Sequence[Sequence[str]], gap: int) -> int:
    """Columns of the terminal that the table needs."""
    from rich.cells import cell_len

    cells = zip(*([column.head for column in columns], *rows), strict=True)
    widths = [max(cell_len(fit(cell)) for cell in column) for column in cells]
    return sum(
        (min(width, _LEAST) if column.wide else width) + gap for column, width in zip(columns, widths, strict=True)
    )
