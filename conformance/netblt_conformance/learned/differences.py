# SPDX-License-Identifier: GPL-2.0-or-later
"""Where two machines differ: the shortest sequences of inputs after which they react differently, of each kind one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from netblt_conformance.common.errors import HarnessError
from netblt_conformance.learned.machine import Machine, Word, title
from netblt_conformance.learned.outputs import NOTHING
from netblt_conformance.learned.themes import MAIN


@dataclass(frozen=True, slots=True)
class Difference:
    """A word whose last input the two ends answer differently; all before it alike. No inputs: how they begin."""

    role: str
    word: Word
    expected: str  # the output of the machine that is compared with
    seen: str  # the output of the implementation
    theme: str = MAIN

    @property
    def title(self) -> str:
        """Role and theme."""
        return title(self.role, self.theme)

    @property
    def kind(self) -> tuple[str, ...]:
        """Differences of one kind are the same one in other states: what is missing, and what is there instead."""
        missing, more = changes(self.expected, self.seen)
        return (*self.word[-1:], *(f"-{part}" for part in missing), *(f"+{part}" for part in more))


def parts(output: str) -> list[str]:
    """The packets and reports of one output."""
    found, depth, begin = [], 0, 0
    for place, character in enumerate(output):
        depth += (character == "[") - (character == "]")
        if output.startswith(", ", place) and depth == 0 and not output[begin:place].startswith("client:"):
            found.append(output[begin:place])
            begin = place + 2
    found.append(output[begin:])
    return [part for part in found if part != NOTHING]


def changes(expected: str, seen: str) -> tuple[list[str], list[str]]:
    """What of the expected output is missing, and what is there that is not expected."""
    wanted, found = parts(expected), parts(seen)
    missing = [part for part in wanted if part not in found]
    return missing, [part for part in found if part not in wanted]


def differences(reference: Machine, learned: Machine) -> Iterator[Difference]:
    """The shortest word of each kind, by length. HarnessError when the inputs of the machines differ."""
    if set(reference.inputs) != set(learned.inputs):
        others = sorted(set(reference.inputs) ^ set(learned.inputs))
        raise HarnessError(f"the machines were learned with other inputs: {', '.join(others)}; learn both again")
    if reference.began != learned.began:
        yield Difference(learned.role, (), reference.began, learned.began, learned.theme)
    words: dict[tuple[int, int], Word] = {(0, 0): ()}
    waiting = deque([(0, 0)])
    kinds: set[tuple[str, ...]] = set()
    while waiting:
        pair = waiting.popleft()
        for name in reference.inputs:
            wanted, found = reference.steps[pair[0]][name], learned.steps[pair[1]][name]
            word, to = (*words[pair], name), (wanted.to, found.to)
            if wanted.output != found.output:
                one = Difference(learned.role, word, wanted.output, found.output, learned.theme)
                if one.kind not in kinds:
                    kinds.add(one.kind)
                    yield one
            elif to not in words:
                words[to] = word
                waiting.append(to)
