# SPDX-License-Identifier: GPL-2.0-or-later
"""First divergence: where two implementations that play the same role against the same peer over the same path answer
the same stimulus differently for the first time."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

from netblt_conformance.bakeoff.exchange import DAMAGED, MESSAGE_PARTS, SIZES, Exchange, Step
from netblt_conformance.packets.packets import Kind as MessageKind
from netblt_conformance.packets.packets import Type
from netblt_conformance.trace.labels import UNREADABLE

X, Y = 0, 1
_US_PER_MS = 1_000


@dataclass(frozen=True, slots=True)
class Tolerance:
    """By how much two reactions to one packet may differ in time: so much, and this share of the longer one."""

    us: int = 5_000
    share: float = 0.1
    crossing: bool = False  # which packets had arrived before an answer may be chance

    def exceeded(self, one_us: int, other_us: int) -> bool:
        return abs(one_us - other_us) > self.us + self.share * max(one_us, other_us)


VIRTUAL = Tolerance()
# A machine with other work delays programs by tens of milliseconds.
REAL = Tolerance(us=100_000, share=0.5, crossing=True)


class How(enum.StrEnum):
    """In which way two ends differ."""

    CONTENT = "another packet"
    ABSENT = "a packet of one only"
    TIME = "another time"
    CROSSING = "packets cross in another order"  # one had received more than the other: no common stimulus
    PEER = "the peer differs first"  # both answered alike, as far as times within the tolerance show


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where X and Y differ first. A step is None where an end sends nothing (more)."""

    how: How
    names: tuple[str, str]
    stimuli: tuple[Step | None, Step | None]  # the last packet that both had received
    answers: tuple[Step | None, Step | None]
    same: int  # packets of each that were alike before
    sizes: tuple[str, ...] = ()  # in which the connections differ

    @property
    def frames(self) -> tuple[int, int]:
        """In the captures of X and Y; 0 where there is no packet."""
        x, y = self.answers
        return x.frame if x else 0, y.frame if y else 0

    @property
    def sentence(self) -> str:
        x, y = self.names
        if self.how is How.PEER:
            return f"After {self.same} packets that are alike, the peer sends {_shown(self.stimuli[X])} to {x} and " + (
                f"{_shown(self.stimuli[Y])} to {y}."
            )
        other = f", which differ in {' and '.join(sorted(self.fields))}" if self.fields else ""
        return f"{self._stimulus()}, {x} {self._answer(X)}, {y} {self._answer(Y)}{other}."

    def _stimulus(self) -> str:
        x, y = self.stimuli
        if x is None or y is None:
            return "At the start"
        return f"After {x.text} (frames {x.frame} and {y.frame})"

    def _answer(self, end: int) -> str:
        step = self.answers[end]
        if step is None:
            return "sends nothing more"
        return f"sends {step.text} after {self._after_us(step) / _US_PER_MS:g} ms (frame {step.frame})"

    @property
    def fields(self) -> frozenset[str]:
        """In which fields two packets of one type differ."""
        x, y = self.answers
        if self.how is not How.CONTENT or x is None or y is None or x.packet.type is not y.packet.type:
            return frozenset()
        if (DAMAGED in x.fields) != (DAMAGED in y.fields):
            return frozenset({DAMAGED})
        names = x.fields.keys() | y.fields.keys()
        found = frozenset(name for name in names if x.fields.get(name) != y.fields.get(name))
        return found - {"messages"} | _parts(x, y) if "messages" in found else found

    @property
    def types(self) -> frozenset[Type]:
        """Of the packets in which they differ."""
        return frozenset(step.packet.type for step in self._in_question if step.packet.type is not None)

    @property
    def messages(self) -> frozenset[MessageKind]:
        """Kinds of the control messages that only one of both has, or that come at another time."""
        held = [set(step.fields.get("messages", ())) for step in self._in_question]
        both = set.intersection(*held) if self.how is How.CONTENT and held else set()
        return frozenset(message[0] for message in set().union(*held) - both)

    @property
    def _in_question(self) -> list[Step]:
        """Both answers. Where one was sent later than the other, only that of the first one."""
        steps = [step for step in self.answers if step is not None]
        return [min(steps, key=self._after_us)] if self.how is How.ABSENT else steps

    def _after_us(self, step: Step) -> int:
        stimulus = self.stimuli[self.answers.index(step)]
        return step.time_us - (stimulus.time_us if stimulus else 0)


def _parts(x: Step, y: Step) -> frozenset[str]:
    """In which parts the control messages of two packets differ, where they are of the same kinds."""
    mine, others = x.fields["messages"], y.fields["messages"]
    if [message[0] for message in mine] != [message[0] for message in others]:
        return frozenset({"messages"})
    return frozenset(
        f"{one[0].name} {name}"
        for one, other in zip(mine, others, strict=True)
        for name, part, its in zip(MESSAGE_PARTS, one, other, strict=True)
        if part != its
    )


def _shown(step: Step | None) -> str:
    return UNREADABLE if step is None else f"{step.text} (frame {step.frame})"


def first(x: Exchange, y: Exchange, names: tuple[str, str], tolerance: Tolerance = VIRTUAL) -> Divergence | None:
    """None: all answers are the same."""
    sizes = tuple(name for name in SIZES if x.agreed.get(name) != y.agreed.get(name))
    if {"buffer_size", "packet_size"} & set(sizes):
        x, y = _by_buffers(x), _by_buffers(y)
    found = _first(x, y, names, tolerance)
    return found and replace(found, sizes=sizes)


def _first(x: Exchange, y: Exchange, names: tuple[str, str], tolerance: Tolerance) -> Divergence | None:
    sent, received = (x.sent, y.sent), (x.received, y.received)
    for same in range(max(map(len, sent))):
        answers = sent[X][same : same + 1], sent[Y][same : same + 1]
        pair = (answers[X][0] if answers[X] else None), (answers[Y][0] if answers[Y] else None)
        known = min(step.received if step else len(came) for step, came in zip(pair, received, strict=True))
        other = _first_other(received, known)
        if other is not None:
            return Divergence(How.PEER, names, (received[X][other], received[Y][other]), (None, None), same)
        stimuli = (received[X][known - 1], received[Y][known - 1]) if known else (None, None)
        how = _how(pair, stimuli, tolerance)
        if how is not None:
            return Divergence(how, names, stimuli, pair, same)
    return None


def _how(
    answers: tuple[Step | None, Step | None], stimuli: tuple[Step | None, Step | None], tolerance: Tolerance
) -> How | None:
    x, y = answers
    if x is None or y is None:
        return How.ABSENT
    if tolerance.crossing and x.received != y.received and x.fields != y.fields:
        return How.CROSSING
    after = [
        step.time_us - (stimulus.time_us if stimulus else 0) for step, stimulus in zip((x, y), stimuli, strict=True)
    ]
    late = tolerance.exceeded(*after)
    if x.fields == y.fields:
        return How.TIME if late else None
    return How.ABSENT if late else How.CONTENT


def _first_other(received: tuple[Sequence[Step], Sequence[Step]], known: int) -> int | None:
    """The first of the packets that both had received in which they differ."""
    return next((i for i in range(known) if received[X][i].fields != received[Y][i].fields), None)


# ---- other sizes ----


def _by_buffers(one: Exchange) -> Exchange:
    """The data packets of a buffer that follow each other are one step, and a request names no packets."""
    steps: list[Step] = []
    dropped = [0]  # packets that were received and belong to the step before
    for step in one.steps:
        if step.packet.is_data:
            fields = {"type": Type.DATA, "buffer": step.packet.buffer}
            before = next((known for known in reversed(steps) if known.sent == step.sent), None)
            if before is not None and before.fields == fields:
                dropped[0] += not step.sent
                continue
            step = replace(step, fields=fields)
        elif "messages" in step.fields:
            messages = tuple((*message[:-1], ()) for message in step.fields["messages"])
            step = replace(step, fields={**step.fields, "messages": messages})
        steps.append(replace(step, received=step.received - dropped[0]))
    return Exchange(tuple(steps), one.sizes)
