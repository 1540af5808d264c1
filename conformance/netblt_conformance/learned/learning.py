# SPDX-License-Identifier: GPL-2.0-or-later
"""Learns the machine of one role with AALpy: the algorithm of Kearns and Vazirani. Its equivalence oracle plays a whole
transfer with every input at every place first, then tours over all transitions and random sequences."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from netblt_conformance.cases.case import Profile
from netblt_conformance.common.errors import HarnessError, LinkUnavailableError
from netblt_conformance.common.model import Role
from netblt_conformance.learned import machine, sequences
from netblt_conformance.learned.alphabet import TIME, transfer
from netblt_conformance.learned.connection import Connection
from netblt_conformance.learned.machine import Machine, Word
from netblt_conformance.links.base import LinkFactory

# Random sequences from each state of a hypothesis.
PER_STATE = 8
OnWord = Callable[[Sequence[str]], None]


def library() -> Any:
    """AALpy. LinkUnavailableError names the extra that installs it."""
    try:
        import aalpy
        import aalpy.learning_algs
        import aalpy.oracles
    except ImportError:
        raise LinkUnavailableError(
            "AALpy is not installed: run tools/setup, or pip install 'netblt-conformance[learn]'"
        ) from None
    return aalpy


def learn(
    factory: LinkFactory, role: Role, profile: Profile, names: Sequence[str], seed: int, on_word: OnWord
) -> Machine:
    """`names`: the inputs. `on_word` gets each sequence of inputs before it is played. NotSupportedError when the
    implementation does not play the role; HarnessError when the same inputs have different outputs."""
    aalpy = library()

    class Implementation(aalpy.base.SUL):  # type: ignore[misc]
        """What AALpy learns."""

        def __init__(self) -> None:
            super().__init__()
            self.began = ""
            self._connection: Connection | None = None
            self._word: list[str] = []

        def pre(self) -> None:
            on_word(self._word)
            self._word = []
            self._connection = Connection(factory, role, profile)
            self.began = self._connection.began

        def step(self, letter: str) -> str:
            assert self._connection is not None
            self._word.append(letter)
            return self._connection.do(letter)

        def post(self) -> None:
            if self._connection is not None:
                self._connection.case.close()

    guides = guiding(role, names)

    class Tests(aalpy.base.Oracle):  # type: ignore[misc]
        """What AALpy tests a hypothesis with."""

        def find_cex(self, hypothesis: Any) -> Any:
            hypothetical = _machine(hypothesis, role, "", names)
            for word in itertools.chain(guides, sequences.suite(hypothetical, seed, PER_STATE)):
                self.num_queries += 1
                self.num_steps += len(word)
                seen, wanted = self.sul.query(word), hypothetical.run(word)
                if seen != wanted:
                    return word[: next(n for n, output in enumerate(wanted, 1) if seen[n - 1] != output)]
            return None

    subject = Implementation()
    oracle = Tests(list(names), subject)
    run = aalpy.learning_algs.run_KV
    try:
        found, data = run(list(names), subject, oracle, "mealy", return_data=True, print_level=0)
    except SystemExit as error:  # how AALpy reports it
        raise HarnessError(f"{role}: the same inputs have different outputs, so there is no machine: {error}") from None
    learned = _machine(found, role, subject.began, names)
    learned.facts = {
        "states": len(learned.steps),
        "seed": seed,
        "sequences": subject.num_queries,
        "inputs": subject.num_steps,
        "rounds": data["learning_rounds"],
    }
    return learned


def _machine(found: Any, role: Role, began: str, names: Sequence[str]) -> Machine:
    """Of AALpy's machine."""
    steps = {
        state.state_id: {name: (state.output_fun[name], state.transitions[name].state_id) for name in names}
        for state in found.states
    }
    return machine.from_steps(str(role), began, names, steps, found.initial_state.state_id)


def guiding(role: Role, names: Sequence[str]) -> list[Word]:
    """A transfer with each input at each place, and how it goes on from there."""
    whole = [name for name in transfer(role) if name in names]
    words = [(*whole[:place], name, *whole[place:], TIME, "QUIT") for place in range(len(whole) + 1) for name in names]
    return sorted({tuple(one for one in word if one in names) for word in words}, key=lambda word: (len(word), word))
