# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures drawn by matplotlib: SVG without scripts and without fonts or files from elsewhere, PNG or PDF.

matplotlib, because it writes plain SVG by itself: others need a browser or a JavaScript bundle for it, or put scripts,
the date and a description of each point into the file. The same data give the same bytes: identifiers are hashed with
a fixed salt, and no date is written."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure

SUFFIXES = (".svg", ".png", ".pdf")
# Text stays text (searchable, small); identifiers do not depend on the moment.
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "netblt-plan",
    "font.family": "sans-serif",
    "font.size": 9,
}


def _written(made: Figure, to: Any, form: str) -> None:
    import matplotlib

    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
    with matplotlib.rc_context(_SETTINGS):
        made.savefig(to, format=form, metadata=metadata)


def save(made: Figure, file: Path) -> None:
    """Writes the figure in the format of the file's suffix, one of SUFFIXES."""
    _written(made, file, file.suffix.removeprefix("."))


def svg(made: Figure) -> str:
    """The figure as an SVG document without its XML prologue, so that it can also be in an HTML page."""
    out = io.StringIO()
    _written(made, out, "svg")
    text = out.getvalue()
    return text[text.index("<svg") :]
