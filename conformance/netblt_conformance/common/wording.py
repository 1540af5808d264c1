# SPDX-License-Identifier: GPL-2.0-or-later
"""The text of a result, made from its fields. Only what prints or writes results uses this."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.verdicts import Result


def _runs(text: str, note: Note) -> str:
    where = f"; also as {', '.join(note.names)}" if note.names else ""
    return f"{text} (in {note.count} runs{where})"


_WORDS: Mapping[Remark, Callable[[str, Note], str]] = MappingProxyType(
    {
        Remark.ALIKE: lambda text, note: f"{text} (and {note.count} more like it)",
        Remark.CONTROL_ARM: lambda text, _note: f"the control arm, without the stimulus, fails too: {text}",
        Remark.STRICT: lambda text, _note: f"{text} (a should; --strict)",
        Remark.UNCONFIRMED: lambda text, _note: f"not confirmed, passes when it runs again; before: {text}",
        Remark.KNOWN: lambda text, note: f"known failure, {note.link}: {text}",
        Remark.OTHER_THAN_KNOWN: lambda text, note: (
            f"{text} (known is another failure, {note.names[0]!r}, {note.link})"
        ),
        Remark.RUNS: _runs,
        Remark.SIGHTINGS: lambda text, note: f"{text}; seen at {' and '.join(note.names)}",
        Remark.CONNECTIONS: lambda text, note: f"{note.count} more connections alike; the first: {text}",
    }
)


def with_notes(text: str, notes: Iterable[Note]) -> str:
    """The text with what was added to it, in order."""
    for note in notes:
        text = _WORDS[note.remark](text, note)
    return text


def reason(result: Result) -> str:
    """Why the result is what it is; empty for a plain pass."""
    return with_notes(result.reason, result.notes)


def row(result: Result) -> dict[str, Any]:
    """The result for a published format: `reason` is the whole text."""
    return {**result.to_json(), "reason": reason(result)}
