# SPDX-License-Identifier: GPL-2.0-or-later
"""Learns the machine of one role with AALpy: the algorithm of Kearns and Vazirani. Its equivalence oracle plays a whole
transfer with every input at every place first, then tours over all transitions and random sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from netblt_conformance.cases.case import Profile
from netblt_conformance.common.errors import HarnessError, LinkUnavailableError
from netblt_conformance.learned import machine, sequences
from netblt_conformance.learned.connection import Connection
from netblt_conformance.learned.machine import Machine, Word
from netblt_conformance.learned.themes import Part
from netblt_conformance.links.base import LinkFactory

# Random sequences from each state of a hypothesis.
PER_STATE = 25
# With more states a hypothesis is not tested any more. The largest machine of the reference has 98.
STATES_MOST = 250
OnWord = Callable[[Sequence[str]], None]


def library() -> Any:
    """AALpy. LinkUnavailableError names the extra that installs it."""
    try:
        import aalpy
        import aalpy.learning_algs
    except ImportError:
        raise LinkUnavailableError(
            "AALpy is not installed: run tools/setup, or pip install 'netblt-conformance[learn]'"
        ) from None
    return aalpy


class _Implementation:
    """What AALpy learns: the methods of its class SUL."""

    def __init__(self, factory: LinkFactory, part: Part, profile: Profile, on_word: OnWord) -> None:
        self.num_queries = self.num_steps = self.num_cached_queries = 0
        self._start: Callable[[], Connection] = lambda: Connection(factory, part, profile)
        self._on_word = on_word
        self._connection: Connection | None = None
        self._word: list[str] = []
        self.began = ""

    def pre(self) -> None:
        self._word = []
        self._connection = self._start()
        self.began = self._connection.began

    def step(self, letter: str) -> str:
        assert self._connection is not None
        self._word.append(letter)
        self._on_word(self._word)
        return self._connection.do(letter)

    def post(self) -> None:
        if self._connection is not None:
            self._connection.case.close()


class _Tests:
    """What AALpy tests a hypothesis with: the methods of its class Oracle."""

    sul: Any
    num_queries: int
    num_steps: int
    suite: Callable[[Any], tuple[Machine, Sequence[Word]]]
    guides: frozenset[Word]
    known: dict[Word, list[str]]  # outputs of those that ran: each hypothesis is tested with them again

    def find_cex(self, hypothesis: Any) -> Word | None:
        """Inputs whose last output the hypothesis does not predict."""
        hypothetical, words = self.suite(hypothesis)
        if len(hypothetical.steps) > STATES_MOST:
            return None
        for word in words:
            seen, wanted = self._outputs(word), hypothetical.run(word)
            if seen != wanted:
                return word[: next(n for n, output in enumerate(wanted, 1) if seen[n - 1] != output)]
        return None

    def _outputs(self, word: Word) -> Sequence[str]:
        if word in self.known:
            return self.known[word]
        self.num_queries += 1
        self.num_steps += len(word)
        found: list[str] = list(self.sul.query(word))
        if word in self.guides:
            self.known[word] = found
        return found


def learn(
    factory: LinkFactory, part: Part, profile: Profile, names: Sequence[str], seed: int, on_word: OnWord
) -> Machine:
    """`names`: the inputs. `on_word` gets the inputs so far, before each one is given. NotSupportedError when the
    implementation does not play the role; HarnessError when the same inputs have different outputs."""
    aalpy = library()
    subject = type("Implementation", (_Implementation, aalpy.SUL), {})(factory, part, profile, on_word)
    guides = sequences.guiding(part, names)

    def suite(hypothesis: Any) -> tuple[Machine, Any]:
        hypothetical = _machine(hypothesis, part, "", names)
        return hypothetical, sequences.suite(hypothetical, seed, PER_STATE, guides)

    values = {"suite": staticmethod(suite), "guides": frozenset(guides), "known": {}}
    oracle = type("Tests", (_Tests, aalpy.base.Oracle), values)(list(names), subject)
    run = aalpy.learning_algs.run_KV
    try:
        found, data = run(list(names), subject, oracle, "mealy", return_data=True, print_level=0)
    except SystemExit as error:  # how AALpy reports it
        raise HarnessError(f"{part}: the same inputs have different outputs, so there is no machine: {error}") from None
    learned = _machine(found, part, subject.began, names)
    learned.facts = {
        "states": len(learned.steps),
        "seed": seed,
        "sequences": subject.num_queries,
        "inputs": subject.num_steps,
        "rounds": data["learning_rounds"],
    }
    if len(learned.steps) > STATES_MOST:
        learned.facts["states_most"] = STATES_MOST
    return learned


def _machine(found: Any, part: Part, began: str, names: Sequence[str]) -> Machine:
    """Of AALpy's machine."""
    steps = {
        state.state_id: {name: (state.output_fun[name], state.transitions[name].state_id) for name in names}
        for state in found.states
    }
    first = found.initial_state.state_id
    return machine.from_steps(str(part.role), began, names, steps, first, part.theme.name)
