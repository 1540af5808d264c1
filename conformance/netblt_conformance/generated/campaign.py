# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays scripts in child processes, many at a time. A crash or a hang of the implementation is the failure of the
script that caused it; the others go on in a fresh child.

Scripts are invented in blocks. Inside a block the choice of moves is guided by what the scripts before have done; each
block begins with no knowledge. So the scripts depend on the seed and on the implementation only, never on the number of
processes."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from netblt_conformance.cases.case import Profile
from netblt_conformance.cases.probe import probe
from netblt_conformance.common import wording
from netblt_conformance.common.child import ENDING, Child, Emit, Event, finish, run_each
from netblt_conformance.common.errors import HarnessError
from netblt_conformance.common.model import Role
from netblt_conformance.common.verdicts import Cause
from netblt_conformance.common.words import last_lines
from netblt_conformance.generated import play
from netblt_conformance.generated.disregarded import Losing
from netblt_conformance.generated.play import Chosen, Fault, Played, kinds
from netblt_conformance.generated.script import Move, Script, begin, from_text, move
from netblt_conformance.generated.second import Found, Merged
from netblt_conformance.links.base import LinkFactory

BLOCK_SCRIPTS = 100
# Real time after which one script, which takes some milliseconds, counts as hung.
SCRIPT_LIMIT_S = 30.0
# Crashes and hangs of one block after which the rest of it is left alone: it would show nothing new.
BREAKS_MAX = 10


@dataclass(frozen=True, slots=True)
class Campaign:
    """What is played."""

    factory: LinkFactory
    roles: tuple[Role, ...]
    seed: int
    dissector: bool = True
    illegal: bool = False  # illegal moves too
    first_only: bool = False  # a block ends at its first failure
    warns: str = ""  # the requirement of which a WARN is a failure as well


@dataclass(frozen=True, slots=True)
class Failure:
    """One script that failed. `kinds`: see Played.kinds; `reasons`: one sentence for each fault."""

    number: int
    script: Script
    kinds: frozenset[str]
    reasons: tuple[str, ...]

    def beside(self, known: Failure | None) -> Failure:
        """It, and what was known of the same script before."""
        if known is None:
            return self
        if self.kinds <= known.kinds:
            return known
        return replace(known, kinds=known.kinds | self.kinds, reasons=(*known.reasons, *self.reasons))


@dataclass(frozen=True, slots=True)
class Block:
    """Scripts with these numbers, and where their captures go (Merged.save)."""

    numbers: range
    stem: Path
    texts: dict[int, str] = field(default_factory=dict)  # of the scripts that were played to their end
    moves: dict[int, int] = field(default_factory=dict)  # how many they had
    unsupported: set[int] = field(default_factory=set)  # scripts that the implementation cannot take part in

    def is_mistake(self, found: Found) -> bool:
        """Whether the generator made this mistake itself."""
        return found.is_mistake_in(from_text(self.texts[found.number]))

    def failure(self, found: Found) -> Failure:
        """That of the script in which the dissector finds this violation, by the implementation or by the generator."""
        return Failure(found.number, from_text(self.texts[found.number]), found.kinds, (found.reason,))

    def take(self, findings: Iterable[Found], failures: dict[int, Failure], mistakes: dict[int, Failure]) -> None:
        """Adds what the dissector finds to what is known of the scripts, by number."""
        for found in findings:
            if found.by_implementation:
                failures[found.number] = self.failure(found).beside(failures.get(found.number))
            elif self.is_mistake(found):
                mistakes[found.number] = self.failure(found).beside(mistakes.get(found.number))


def blocks(folder: Path, count: int) -> Iterator[Block]:
    """Scripts from 0 on, with the files of their captures in this folder."""
    for first in range(0, count, BLOCK_SCRIPTS):
        yield Block(range(first, min(first + BLOCK_SCRIPTS, count)), folder / f"block{first}")


@dataclass(slots=True)
class Counts:
    """What was played so far."""

    scripts: int = 0
    moves: int = 0
    not_supported: int = 0
    states: set[int] = field(default_factory=set)  # pairs of situation and move that came about, as hashes


class _Profiles:
    """Wire conventions of the implementation, detected when a role is first played."""

    def __init__(self, factory: LinkFactory, seed: int) -> None:
        self._factory = factory
        self._seed = seed
        self._known: dict[Role, Profile] = {}

    def of(self, role: Role) -> Profile:
        if role not in self._known:
            self._known[role] = probe(self._factory, role, self._seed)[0]
        return self._known[role]


def _reasons(faults: list[Fault]) -> list[str]:
    return [f"{requirement or 'outcome'}: {wording.judgement(one)}" for requirement, one in faults]


class _BlockChild(Child):
    """Invents and plays the scripts of a block, from one on."""

    def __init__(self, campaign: Campaign, block: Block, first: int, breaks: int = 0) -> None:
        self._campaign = campaign
        self.block = block
        self._first = first
        self.breaks = breaks  # crashes and hangs of this block so far
        self.number = first  # script that it is at
        self.text = ""  # of this script, without its moves
        self.moves: list[Move] = []  # so far
        self.done = False
        self.trace = ""  # the exception that ended it
        super().__init__(SCRIPT_LIMIT_S)
        self.began()

    def work(self, emit: Emit) -> None:
        campaign, merged, seen = self._campaign, Merged(), Chosen()
        profiles = _Profiles(campaign.factory, campaign.seed)
        for number in range(self._first, self.block.numbers.stop):
            chance = random.Random(f"{campaign.seed} {number}")
            one = begin(chance, campaign.roles, illegal=campaign.illegal)
            emit({"event": "at", "number": number, "script": one.text()})
            moves: list[Move] = []

            def chose(m: Move, moves: list[Move] = moves) -> None:
                moves.append(m)
                emit({"event": "move", "m": str(m)})

            profile = profiles.of(one.role)
            try:
                played = play.invent(one, campaign.factory, profile, chance, seen, chose, illegal=campaign.illegal)
            except HarnessError:
                raise
            except Exception as error:  # of the suite: the script shows it, and the others go on
                emit(_broke(number, one.with_moves(tuple(moves)), error))
                continue
            faults = played.faults + played.warnings(campaign.warns)
            emit(_ran(number, played, faults))
            if played.supported and campaign.dissector and not played.script.has_illegal_moves:
                merged.add(number, played.script, played.capture)
            if faults and campaign.first_only:
                break
        merged.save(self.block.stem.with_name(f"{self.block.stem.name}.{self._first}"))
        emit({"event": "done", "states": sorted(hash_of(state, name) for state, name in seen.situations)})


def _ran(number: int, played: Played, faults: list[Fault]) -> Event:
    return {
        "event": "ran",
        "number": number,
        "script": played.script.text(),
        "moves": len(played.done),
        "supported": played.supported,
        "kinds": sorted(kinds(faults)),
        "reasons": _reasons(faults),
    }


def _broke(number: int, script: Script, error: Exception) -> Event:
    return {
        "event": "ran",
        "number": number,
        "script": script.text(),
        "moves": len(script.moves),
        "supported": True,
        "kinds": sorted(BROKEN),
        "reasons": [_sentence(error)],
    }


def _sentence(error: Exception) -> str:
    """An exception of the suite, and where it was raised."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(at.filename).name}, line {at.lineno})"


def hash_of(state: tuple[int, ...], name: str) -> int:
    """The same in each process, which hash() of a string is not."""
    return random.Random(f"{state} {name}").getrandbits(48)


def _raise(broken: Failure) -> None:
    raise HarnessError(f"script {broken.number}: {'; '.join(broken.reasons)}")


class Pool:
    """At most `jobs` children at a time. `on_failure` gets each script that failed, `on_progress` is called now and
    then, `on_block` gets each block that has ended, whose captures are complete. `on_broken` gets each script in which
    the suite itself went wrong; without it that is a HarnessError."""

    def __init__(
        self,
        campaign: Campaign,
        jobs: int,
        on_failure: Callable[[Failure], None],
        on_progress: Callable[[Counts], None],
        on_block: Callable[[Block], None],
        on_broken: Callable[[Failure], None] | None = None,
    ) -> None:
        self._on_broken = on_broken or _raise
        self.counts = Counts()
        self._campaign = campaign
        self._jobs = jobs
        self._on_failure = on_failure
        self._on_progress = on_progress
        self._on_block = on_block

    def run(self, blocks: Iterator[Block]) -> None:
        """HarnessError when a child fails by itself."""
        run_each(
            blocks,
            self._jobs,
            lambda block: _BlockChild(self._campaign, block, block.numbers.start),
            self._serve,
            self._after,
            lambda child: self._on_block(child.block),
        )

    def _serve(self, child: _BlockChild) -> bool:
        """Takes what a child reports; False when it has exited."""
        events = child.events()
        if events is None:
            return False
        for event in events:
            self._take(child, event)
        self._on_progress(self.counts)
        return True

    def _take(self, child: _BlockChild, event: Event) -> None:
        counts = self.counts
        match event["event"]:
            case "at":
                child.number, child.text, child.moves = event["number"], event["script"], []
                child.began()
            case "move":
                child.moves.append(move(event["m"]))
            case "ran":
                counts.scripts += 1
                counts.moves += event["moves"]
                counts.not_supported += not event["supported"]
                child.block.texts[event["number"]] = event["script"]
                child.block.moves[event["number"]] = event["moves"]
                if not event["supported"]:
                    child.block.unsupported.add(event["number"])
                if event["kinds"]:
                    found, reasons = frozenset(event["kinds"]), tuple(event["reasons"])
                    failure = Failure(event["number"], from_text(event["script"]), found, reasons)
                    (self._on_broken if found == BROKEN else self._on_failure)(failure)
            case "done":
                child.done = True
                counts.states.update(event["states"])
            case "trace":
                child.trace = event["what"]

    def _after(self, child: _BlockChild) -> _BlockChild | None:
        """A child that ended early broke in the script it was at; the rest of its block is another child's."""
        ended = child.reap()
        if child.done:
            return None
        if -ended.code in ENDING:  # what ends this process reaches the children too, perhaps first
            raise KeyboardInterrupt
        fault = ended.fault("the script", child.limit_s)
        if fault is None or not child.text:
            raise HarnessError(child.trace or last_lines(ended.errors) or f"a child ended with exit code {ended.code}")
        script = from_text(child.text).with_moves(tuple(child.moves))
        self.counts.scripts += 1
        self._on_failure(Failure(child.number, script, CRASHES, (f"the implementation {fault}",)))
        rest, breaks = child.number + 1, child.breaks + 1
        if rest == child.block.numbers.stop or breaks == BREAKS_MAX or self._campaign.first_only:
            return None
        return _BlockChild(self._campaign, child.block, rest, breaks)


CRASHES = frozenset({str(Cause.CRASH)})
# The suite itself raised an exception in a script.
BROKEN = frozenset({str(Cause.SUITE)})
OWN_MISTAKE = "the generator made a mistake, not the implementation"


# ---- one script ----


class _OnceChild(Child):
    """Plays one script and writes its capture."""

    def __init__(self, factory: LinkFactory, script: Script, capture: Path) -> None:
        self._factory = factory
        self._script = script
        self._capture = capture
        super().__init__(SCRIPT_LIMIT_S)
        self.began()

    def work(self, emit: Emit) -> None:
        profile = probe(self._factory, self._script.role, self._script.seed)[0]
        try:
            played = play.replay(self._script, self._factory, profile)
        except HarnessError:
            raise
        except Exception as error:
            emit({**_broke(0, self._script, error), "left_out": 0, "lost": 0})
            return
        played.capture.write(self._capture)
        left_out = len(self._script.moves) - len(played.done)
        lost = self._factory.lost if isinstance(self._factory, Losing) else 0
        emit({**_ran(0, played, played.faults), "left_out": left_out, "lost": lost})


@dataclass(frozen=True, slots=True)
class Once:
    """What came of one script that was played again. `kinds` is BROKEN where the suite itself went wrong."""

    kinds: frozenset[str]
    reasons: tuple[str, ...]
    supported: bool = True
    left_out: int = 0  # moves that were not legal when their turn came
    lost: int = 0  # packets that the network lost (disregarded.Losing)


def play_once(factory: LinkFactory, script: Script, capture: Path) -> Once:
    """Plays a script in a child process. `capture` is written unless the implementation crashes. HarnessError when the
    child fails by itself."""
    child, found, trace = _OnceChild(factory, script, capture), None, ""
    events, ended = finish(child)
    for event in events:
        if event["event"] == "trace":
            trace = event["what"]
        else:
            failed, reasons = frozenset(event["kinds"]), tuple(event["reasons"])
            found = Once(failed, reasons, event["supported"], event["left_out"], event["lost"])
    if fault := ended.fault("the script", child.limit_s):
        return Once(CRASHES, (f"the implementation {fault}",))
    if found is None:
        raise HarnessError(trace or last_lines(ended.errors) or f"a child ended with exit code {ended.code}")
    return found
