# SPDX-License-Identifier: GPL-2.0-or-later
"""What explains a first divergence: a violation that a judge found in one of both packets, or an ambiguity of RFC 998
that leaves the choice."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netblt_conformance.bakeoff.divergence import Divergence, How, X, Y
from netblt_conformance.bakeoff.exchange import DAMAGED
from netblt_conformance.catalogue import catalogue
from netblt_conformance.packets.packets import Kind, Type

_OPENING = frozenset({Type.OPEN, Type.RESPONSE})
_DATA = frozenset({Type.DATA, Type.LDATA})
_ENDS = frozenset({Type.ABORT, Type.QUIT, Type.QUITACK, Type.REFUSED})


class Class(enum.StrEnum):
    """How far a divergence is explained."""

    VIOLATION = "violation"  # by one of both
    AMBIGUITY = "ambiguity"  # RFC 998 leaves the choice
    SIZES = "sizes"  # the ends agreed on other sizes, which is negotiated
    PEER = "peer"  # both answered alike
    CROSSING = "crossing"  # packets crossed in another order, so the stimulus was not the same
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Explanation:
    """`identifiers`: requirements that are violated, or ambiguities that may explain it, the likeliest first."""

    kind: Class
    identifiers: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Rule:
    """Ambiguities that explain a divergence of this shape. What is empty may be anything."""

    ambiguities: tuple[str, ...]
    types: frozenset[Type] = frozenset()  # one of these is in it
    fields: frozenset[str] = frozenset()  # one of these differs
    messages: frozenset[Kind] = frozenset()  # one of these control messages
    how: frozenset[How] = frozenset()

    def fits(self, divergence: Divergence) -> bool:
        return (
            (not self.how or divergence.how in self.how)
            and (not self.types or bool(self.types & divergence.types))
            and (not self.fields or bool(self.fields & divergence.fields))
            and (not self.messages or bool(self.messages & divergence.messages))
        )


def _set(*names: str) -> frozenset[str]:
    return frozenset(names)


_CONTROL = frozenset({Type.CONTROL})
_OTHER_TIME = frozenset({How.TIME, How.ABSENT})
# In this order: the first one that fits is the likeliest.
_RULES = (
    _Rule(("AMB-04", "AMB-06", "AMB-05"), fields=_set(DAMAGED)),
    _Rule(("AMB-01",), fields=_set("version")),
    _Rule(("AMB-16",), fields=_set("header_padding", "padding")),
    _Rule(("AMB-26", "AMB-25"), types=frozenset({Type.REFUSED})),
    _Rule(("AMB-03", "AMB-61"), types=_OPENING | _ENDS, fields=_set("string")),
    _Rule(("AMB-15",), types=_OPENING, fields=_set("transfer_size")),
    _Rule(("AMB-24", "AMB-08"), types=_OPENING, fields=_set("flags")),
    _Rule(("AMB-10", "AMB-68", "AMB-72"), types=_DATA, fields=_set("packet")),
    _Rule(("AMB-02",), types=_DATA, fields=_set("length", "trailer")),
    _Rule(("AMB-07",), types=_DATA, fields=_set("data_checksum")),
    _Rule(("AMB-34", "AMB-36"), types=_DATA, fields=_set("high_seq")),
    _Rule(("AMB-09",), fields=_set("GO buffer")),
    _Rule(("AMB-43", "AMB-49", "AMB-11"), fields=_set("OK burst size", "OK burst interval")),
    _Rule(("AMB-34", "AMB-62"), types=frozenset({Type.NULL_ACK})),
    _Rule(("AMB-51", "AMB-46"), types=frozenset({Type.KEEPALIVE})),
    _Rule(("AMB-30", "AMB-54"), types=frozenset({Type.DONE}), messages=frozenset({Kind.GO})),
    _Rule(("AMB-54", "AMB-53"), types=frozenset({Type.DONE})),
    _Rule(("AMB-69", "AMB-44", "AMB-33"), types=_CONTROL, how=frozenset({How.TIME})),
    _Rule(("AMB-31", "AMB-45", "AMB-32", "AMB-69"), types=_CONTROL, messages=frozenset({Kind.RESEND})),
    _Rule(("AMB-29", "AMB-30", "AMB-69", "AMB-44"), types=_CONTROL, messages=frozenset({Kind.GO})),
    _Rule(("AMB-69", "AMB-44", "AMB-33"), types=_CONTROL, how=_OTHER_TIME),
    _Rule(("AMB-33", "AMB-69", "AMB-46"), types=_CONTROL),
    _Rule(("AMB-71", "AMB-52", "AMB-25"), types=frozenset({Type.ABORT})),
    _Rule(("AMB-73", "AMB-56", "AMB-57"), types=_ENDS),
    _Rule(("AMB-49", "AMB-11", "AMB-72", "AMB-35"), types=_DATA, how=_OTHER_TIME),
    _Rule(("AMB-41", "AMB-42"), types=_DATA),
)
# With other sizes these differ in many ways that no ambiguity is needed for.
_OF_SIZES = frozenset({"type", "buffer", "packet", "high_seq", "messages", "RESEND packets"})

# Of one implementation in one capture: (requirement, frame) of what is proven.
Proven = Sequence[tuple[str, int]]


def explain(divergence: Divergence, proven: tuple[Proven, Proven]) -> Explanation:
    """`proven`: violations of X and of Y in their captures."""
    violated = tuple(dict.fromkeys(_violated(divergence, proven)))
    if violated:
        text = "; ".join(f"{name} violates {requirement}" for requirement, name in violated)
        return Explanation(Class.VIOLATION, tuple(requirement for requirement, _ in violated), text)
    other_sizes = f"the connections differ in what was agreed: {', '.join(divergence.sizes)}"
    if divergence.how is How.PEER:
        if divergence.sizes:
            return Explanation(Class.SIZES, (), other_sizes)
        return Explanation(Class.PEER, (), "both answer alike until their peer differs")
    if divergence.how is How.CROSSING:
        return Explanation(Class.CROSSING, (), "one had received more packets than the other when it answered")
    if divergence.sizes and not divergence.types & (_OPENING | _ENDS) and divergence.fields <= _OF_SIZES:
        return Explanation(Class.SIZES, (), other_sizes)
    for rule in _RULES:
        if rule.fits(divergence):
            titles = catalogue.ambiguities()
            text = "; ".join(f"{one} {titles[one].title}" for one in rule.ambiguities)
            return Explanation(Class.AMBIGUITY, rule.ambiguities, text)
    return Explanation(Class.UNEXPLAINED, (), "no judge found a violation, and no ambiguity of the catalogue fits")


def _violated(divergence: Divergence, proven: tuple[Proven, Proven]) -> Iterator[tuple[str, str]]:
    """(requirement, implementation) of each violation in the packet in which one of both differs."""
    for end in (X, Y):
        step = divergence.answers[end]
        for requirement, frame in proven[end]:
            if step is not None and frame in step.copies:
                yield requirement, divergence.names[end]
