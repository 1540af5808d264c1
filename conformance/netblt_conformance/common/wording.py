# SPDX-License-Identifier: GPL-2.0-or-later
"""The text of a result, made from its fields. Only what prints or writes results uses this."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.verdicts import Cause, Judgement, Origin, Result


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
            f"{text} (known is another failure, {', '.join(map(repr, note.names))}, {note.link})"
        ),
        Remark.DROPPED: lambda text, note: (
            f"{text} (the kernel dropped {note.count} packets: the receive buffer of the program's socket was full)"
        ),
        Remark.RUNS: _runs,
        Remark.SIGHTINGS: lambda text, note: f"{text}; seen at {' and '.join(note.names)}",
        Remark.CONNECTIONS: lambda text, note: f"{note.count} more connections alike; the first: {text}",
    }
)


# The plugin's sentence states by itself what is wrong, and the title of the rule is shown beside it.
_SAYS_ALL = (Origin.DISSECTOR, Origin.CHECK)


def filled(template: str, values: Iterable[tuple[str, object]]) -> str:
    """The template with these values in the places of their names; sequences as lists."""
    return template.format(**{name: list(value) if type(value) is tuple else value for name, value in values})


def sentence(expected: str, seen: str, cause: Cause = Cause.JUDGEMENT) -> str:
    """What was expected, and what was seen."""
    if not (expected and seen):
        return seen
    return f"expected {expected}: {seen}" if cause is Cause.ABSENCE else f"{seen}; expected: {expected}"


def judgement(found: Judgement) -> str:
    """Why the judgement is what it is."""
    return with_notes(sentence(found.expected, found.seen, found.cause), found.notes)


def with_notes(text: str, notes: Iterable[Note]) -> str:
    """The text with what was added to it, in order."""
    for note in notes:
        text = _WORDS[note.remark](text, note)
    return text


def reason(result: Result) -> str:
    """Why the result is what it is; empty for a plain pass."""
    expected = "" if result.origin in _SAYS_ALL else result.expected
    return with_notes(sentence(expected, result.seen, result.cause), result.notes)


def row(result: Result) -> dict[str, Any]:
    """The result for a published format: `reason` is the whole text."""
    return {**result.to_json(), "reason": reason(result)}
