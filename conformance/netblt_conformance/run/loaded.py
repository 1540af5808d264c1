# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite's cases, collected by pytest once in a process and held ready: a fork can run them at once.
Starting pytest for every mutant, and again after every crash, took most of the time of a run."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Generic, TypeVar

import pytest

from netblt_conformance.common import paths
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.packets.dialect import Dialect
from netblt_conformance.run.engine import Emit, Engine, Order, Plan, candidate, runs_in
from netblt_conformance.run.schedule import Planned
from netblt_conformance.run.selection import Candidate, Share

_Answer = TypeVar("_Answer")


class Loaded:
    """All cases."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def run(
        self, plan: Plan, emit: Emit, next_order: Callable[[], Order | None], postponed: Callable[[], bool]
    ) -> None:
        """Runs in this process what it is given."""
        self._engine.run(plan, emit, next_order, postponed)

    def keys(self, plan: Plan) -> list[str]:
        """The runs that the plan picks."""
        return [run.key for _, run in self._engine.chosen(plan)]

    def planned(self, plan: Plan) -> list[Planned]:
        """The same, with what their order is decided by."""
        return [
            Planned(run.key, run.name, run.title, run.requirements[0] if run.requirements else run.name, str(run.role))
            for _, run in self._engine.chosen(plan)
        ]

    def shared(self, plan: Plan, share: Share) -> list[str]:
        """Those of them in one part of several; a stimulus and its control stay together."""
        runs = [run for _, run in self._engine.chosen(plan)]
        first = {run.key: run.requirements[0] if run.requirements else run.name for run in runs}
        taken = share.takes((first[run.key], f"{run.title} {run.role}") for run in runs)
        return [run.key for run in runs if f"{run.title} {run.role}" in taken]

    def candidates(self) -> list[Candidate]:
        """What --select chooses among."""
        return [candidate(run) for _, run in self._engine.items]

    @property
    def broken(self) -> list[str]:
        """Files of the suite that cannot be loaded, and why."""
        return self._engine.broken

    @property
    def cases(self) -> dict[str, tuple[str, ...]]:
        """Name -> file and requirements of every case."""
        return {run.name: (run.file, *run.requirements) for _, run in self._engine.items}

    def cases_in(self, dialect: Dialect) -> dict[str, tuple[str, ...]]:
        """Those of them that run in this dialect."""
        names = {run.name for _, run in self._engine.items if runs_in(run, dialect)}
        return {name: words for name, words in self.cases.items() if name in names}

    @property
    def long(self) -> frozenset[str]:
        """The keys of the runs that take more than a minute."""
        return frozenset(run.key for _, run in self._engine.items if run.long)

    @property
    def long_cases(self) -> frozenset[str]:
        """The names of their cases."""
        return frozenset(run.name for _, run in self._engine.items if run.long)

    @property
    def kills_nothing(self) -> dict[str, str]:
        """Name -> why no mutant of the reference can fail it."""
        return {run.name: run.kills_nothing for _, run in self._engine.items if run.kills_nothing}


class _Holder(Generic[_Answer]):
    """Where pytest would run what it has collected, `body` runs."""

    def __init__(self, engine: Engine, body: Callable[[Loaded], _Answer]) -> None:
        self._engine = engine
        self._body = body
        self.answers: list[_Answer] = []
        self.fault: BaseException | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool:
        global _loaded
        _loaded = Loaded(self._engine)
        gc.freeze()  # children share what is there
        try:
            self.answers.append(self._body(_loaded))
        except BaseException as fault:
            self.fault = fault  # pytest would turn it into words
        finally:
            _loaded = None
            gc.unfreeze()
        return True


_loaded: Loaded | None = None


def with_cases(body: Callable[[Loaded], _Answer]) -> _Answer:
    """Calls `body` with the cases; inside it, asking again costs nothing."""
    if _loaded is not None:
        return body(_loaded)
    engine = Engine()
    holder = _Holder(engine, body)
    ended = pytest.main(_arguments(), plugins=[engine, holder])
    if holder.fault is not None:
        raise holder.fault
    if ended == pytest.ExitCode.INTERRUPTED and not holder.answers:  # pytest turned the signal into words
        raise KeyboardInterrupt
    if not holder.answers:
        raise LinkUnavailableError(f"pytest cannot load the cases in {paths.suite()}")
    return holder.answers[0]


def _arguments() -> list[str]:
    # What a case prints, and what kills its process, is the worker's to take care of.
    return [
        str(paths.suite()),
        "-c",
        str(paths.suite() / "pytest.ini"),
        "--strict-markers",
        "--import-mode=importlib",
        "--assert=plain",  # cases do not assert, and to rewrite whatever they import takes a second
        "--capture=no",
        *("-p", "no:cacheprovider"),
        *("-p", "no:faulthandler"),
    ]
