# SPDX-License-Identifier: GPL-2.0-or-later
"""The pytest plugin of `pytest conformance/suite`: each case is a test in this process, so that -k, -x and --pdb
work as in any test suite. `netblt-conformance run` uses `engine` alone, which isolates and repeats the cases."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import pytest

from netblt_conformance.cases.case import Case, CaseOverError
from netblt_conformance.common import paths, wording
from netblt_conformance.common.errors import LinkUnavailableError, NotSupportedError
from netblt_conformance.common.model import ALL_ROLES, MICROSECONDS_PER_MS
from netblt_conformance.common.verdicts import Judgement, Result, Verdict
from netblt_conformance.common.waits import DecidedError
from netblt_conformance.oracles.base import told_once
from netblt_conformance.packets import ipv4, packets
from netblt_conformance.packets.capture import Capture, Frame
from netblt_conformance.peer.exchange import UnmetError
from netblt_conformance.run.engine import Engine, Plan, Run, runs_in
from netblt_conformance.run.selection import Selection
from netblt_conformance.run.target import DEFAULT_SEED, choose

_SHOWN_PACKETS = 12


class CaseFailedError(AssertionError):
    """A requirement is not met. The text has the verdict, the reason and the last packets."""


class NotMetWarning(UserWarning):
    """A "should" is not met."""


class PlainEngine(Engine):
    """The cases as ordinary tests on the sim link."""

    def __init__(self) -> None:
        super().__init__()
        self._results: list[Result] = []  # of the case that is set up
        self._full_trace = False
        self.emit = self._receive

    def _receive(self, event: dict[str, Any]) -> None:
        if event["event"] == "result":
            self._results.append(Result.from_json(event["result"]))

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        self.add_marker(config)
        self._full_trace = config.option.fulltrace
        library = config.getoption("iut_library")
        factory = choose("sim", None, Path(library) if library else None).factory()
        try:
            factory.check()
        except LinkUnavailableError as error:
            raise pytest.UsageError(str(error)) from None
        seed: int = config.getoption("seed")
        self.plan = Plan(factory, seed, Selection(""), ALL_ROLES, Path())

    def pytest_report_header(self) -> str:
        """The implementation that is tested."""
        return "testing: " + ", ".join(self.plan.factory.testing().values())

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        super().pytest_collection_modifyitems(items)
        items[:] = [item for item, run in self.items if runs_in(run, self.plan.dialect)]
        for item, run in self.items:
            item.extra_keyword_matches.update((*run.requirements, run.file))

    @contextlib.contextmanager
    def _case(self, run: Run, node: pytest.Item) -> Iterator[Case | None]:
        self._results = []
        with super()._case(run, node) as case:
            yield case

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        if "t" not in pyfuncitem.funcargs:
            return None
        case = cast("Case | None", pyfuncitem.funcargs["t"])
        if case is None:
            self._not_run_here()
            return True
        run = cast("Run", pyfuncitem.callspec.params["t"])
        raised: list[Exception] = []

        def watched(case: Case) -> None:
            raised.clear()
            try:
                pyfuncitem.obj(t=case)
            except Exception as error:
                raised.append(error)
                raise

        try:
            case = self._played(run, case, watched)
        except NotSupportedError as reason:
            pytest.skip(str(reason))
        self._judge(run, case, raised[0] if raised else None)
        return True

    def _not_run_here(self) -> None:
        """The case did not begin: N/A, or the implementation does not work."""
        for result in self._results:
            if result.verdict is Verdict.NA:
                pytest.skip(wording.reason(result))
            raise CaseFailedError(f"{result.verdict.label}: {wording.reason(result)}")

    def _judge(self, run: Run, case: Case, raised: Exception | None) -> None:
        """Fails the test if the case or a rule for each packet found a violation; warns of each "should"."""
        others = [violation for violation in case.settle() if violation.verdict is not Verdict.PASS]
        found = [(identifier_of(run, case.judgement), case.judgement)] if case.judgement.verdict else []
        found += [(one.requirement, one.judgement) for one in told_once(others)]
        for identifier, judgement in found:
            if judgement.verdict is Verdict.WARN:
                warnings.warn(NotMetWarning(f"{identifier}: {wording.judgement(judgement)}"), stacklevel=1)
        failures = [one for one in found if one[1].verdict > Verdict.WARN]
        if failures:
            text = "\n".join(self._lines(failures, case.link.capture))
            where = raised.__traceback__ if raised is not None else None
            cause = raised if not isinstance(raised, CaseOverError | DecidedError | UnmetError) else None
            raise CaseFailedError(text).with_traceback(self._in_the_suite(where)) from cause

    def _lines(self, failures: list[tuple[str, Judgement]], capture: Capture) -> list[str]:
        lines = []
        for identifier, judgement in failures:
            summary = self.known[identifier].title if identifier in self.known else ""
            lines += [
                f"{judgement.verdict.label} {identifier}: {wording.judgement(judgement)}",
                f"  {identifier}: {summary}",
            ]
        decisive = {judgement.frame for _, judgement in failures}
        first = max(0, min([len(capture.frames), *(frame for frame in decisive if frame is not None)]) - _SHOWN_PACKETS)
        lines.append("packets (> sent by the tester, < by the implementation):")
        for number, frame in list(enumerate(capture.frames))[first:][: 2 * _SHOWN_PACKETS]:
            mark = "   <== here" if number in decisive else ""
            lines.append(f"  {number + 1:>4} {packet_line(frame)}{mark}")
        return lines

    def _in_the_suite(self, trace: TracebackType | None) -> TracebackType | None:
        """The traceback without the frames below the suite's own, where --pdb would stop; all of it: --full-trace."""
        last, entry = None, trace
        while entry is not None:
            if Path(entry.tb_frame.f_code.co_filename).is_relative_to(paths.suite()):
                last = entry
            entry = entry.tb_next
        if last is not None and not self._full_trace:
            last.tb_next = None
        return trace


def identifier_of(run: Run, judgement: Judgement) -> str:
    """The requirement that the judgement is about."""
    return judgement.requirement or judgement.due_by or (run.requirements[0] if run.requirements else run.name)


def packet_line(frame: Frame) -> str:
    """Time in ms, direction, and the packet."""
    payload = ipv4.unwrap(frame.packet).payload
    arrow = ">" if frame.sent else "<"
    return f"{frame.time_us / MICROSECONDS_PER_MS:10.3f} ms {arrow} {packets.read(payload)}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of a plain run."""
    group = parser.getgroup("netblt", "NETBLT conformance cases on the sim link")
    group.addoption("--seed", type=int, default=DEFAULT_SEED, help=f"seed of all randomness (default: {DEFAULT_SEED})")
    group.addoption(
        "--iut-library",
        metavar="FILE",
        help="the implementation: a library as of netblt-conformance run --iut-library (default: the reference core)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Makes the cases tests, unless netblt-conformance runs them."""
    if not any(isinstance(plugin, Engine) for plugin in config.pluginmanager.get_plugins()):
        config.pluginmanager.register(PlainEngine(), "netblt-plain")
