# SPDX-License-Identifier: GPL-2.0-or-later
"""The pytest plugin that runs cases: parametrises them by role and arm, judges them, writes their captures."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from netblt_conformance.cases.case import MARKER, Case, Profile
from netblt_conformance.cases.probe import probe
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import wording
from netblt_conformance.common.errors import HarnessError, ImplementationError, NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S, ROLES_BY_NAME, Feature, Role
from netblt_conformance.common.remarks import Note, Remark
from netblt_conformance.common.sizes import Limits, SizesError
from netblt_conformance.common.verdicts import AGAINST, RUNS_ON, Cause, Judgement, Origin, Result, Verdict
from netblt_conformance.common.waits import Awaited, Watch
from netblt_conformance.links.base import Link, LinkFactory
from netblt_conformance.oracles.base import Violation, told_once
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.dialect import RFC998, Dialect
from netblt_conformance.run import confirm
from netblt_conformance.run.selection import Candidate, Selection

STIMULUS, CONTROL = "stimulus", "control"
ATTEMPTS = 3  # at sizes that fit: those that were proposed the second time may be rounded once more


# Virtual cases take milliseconds; real ones wait for real timers; long ones have 100,000 packets.
VIRTUAL_CASE_LIMIT_S = 60.0
WIRE_CASE_LIMIT_S = 300.0
LONG_CASE_LIMIT_S = 1200.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, decided before pytest starts."""

    factory: LinkFactory
    seed: int
    selection: Selection
    roles: tuple[Role, ...]
    report: Path
    only: frozenset[str] | None = None  # of the selected runs these, by key; None: all
    dialect: Dialect = RFC998
    long: bool = False  # cases of more than a minute run as well

    @property
    def case_limit_s(self) -> float:
        """Real time after which a case counts as hung."""
        if self.long:
            return LONG_CASE_LIMIT_S
        return WIRE_CASE_LIMIT_S if self.factory.name == "wire" else VIRTUAL_CASE_LIMIT_S


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is to run next, and what is known by now of the roles."""

    key: str
    profiles: dict[Role, Profile]

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Order:
        return cls(
            given["key"], {ROLES_BY_NAME[role]: Profile.from_json(row) for role, row in given["profiles"].items()}
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One case in one role and arm."""

    name: str
    file: str
    requirements: tuple[str, ...]
    role: Role
    arm: str
    variant: str = ""
    kills_nothing: str = ""
    dialects: tuple[str, ...] = catalogue.DIALECTS
    long: bool = False  # takes more than a minute

    @property
    def title(self) -> str:
        """The case's name with its variant: what the reports show."""
        return self.name + (f": {self.variant}" if self.variant else "")

    @property
    def key(self) -> str:
        return f"{self.title}[{self._role_and_arm}]"

    @property
    def parameters(self) -> str:
        """What distinguishes the runs of one case: the name of a parameter set for pytest."""
        return (f"{self.variant}-" if self.variant else "") + self._role_and_arm

    @property
    def _role_and_arm(self) -> str:
        return f"{self.role}{'' if self.arm == STIMULUS else '-' + self.arm}"

    @property
    def capture_name(self) -> str:
        identifier = self.requirements[0] if self.requirements else "none"
        arm = "" if self.arm == STIMULUS else f".{self.arm}"
        variant = "." + self.variant.replace(" ", "_") if self.variant else ""
        return f"{identifier}.{self.name}{variant}.{self.role}{arm}.pcapng"


Emit = Callable[[dict[str, Any]], None]


def candidate(run: Run) -> Candidate:
    """What --select sees of a run."""
    return Candidate(run.name, run.file, run.requirements, run.variant, str(run.role))


def runs_in(run: Run, dialect: Dialect) -> bool:
    """Whether the run means something in this dialect."""
    return dialect.name in run.dialects and dialect.holds(run.requirements)


class Engine:
    """Registered with pytest. Everything it finds goes out through `emit`, one event at a time."""

    def __init__(self) -> None:
        self.plan: Plan  # given when something is to be run
        self.emit: Emit = lambda _event: None
        self.known = catalogue.requirements()
        self.items: list[tuple[pytest.Item, Run]] = []  # everything that there is
        self.broken: list[str] = []  # files of the suite that cannot be loaded
        self._profiles: dict[Role, Profile] = {}
        self._postponed: Callable[[], bool] = lambda: False
        self._held: list[Result] | None = None  # results of a run that is postponed

    def run(
        self, plan: Plan, emit: Emit, next_order: Callable[[], Order | None], postponed: Callable[[], bool]
    ) -> None:
        """Runs what it is given until there is no more. `postponed`: whether the run under way is to end."""
        self.plan, self.emit, self._profiles, self._postponed = plan, emit, {}, postponed
        items = {run.key: item for item, run in self.items}
        while (order := next_order()) is not None:
            for role in order.profiles.keys() - self._profiles.keys():
                self._adopt(role, order.profiles[role])
            item = items[order.key]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)

    def chosen(self, plan: Plan) -> list[tuple[pytest.Item, Run]]:
        """What the plan picks, in the order of the suite."""
        plan.selection.knowing(candidate(run) for _, run in self.items)
        return [(item, run) for item, run in self.items if self._picks(plan, run)]

    @staticmethod
    def add_marker(config: pytest.Config) -> None:
        """The marker of a case."""
        config.addinivalue_line(
            "markers",
            f"{MARKER}(*requirements, roles, control, needs, variants, kills_nothing, dialects): a conformance case",
        )

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        self.add_marker(config)
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            config.pluginmanager.unregister(reporter)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        mark = metafunc.definition.get_closest_marker(MARKER)
        if mark is None:
            return
        arms = (CONTROL, STIMULUS) if mark.kwargs["control"] else (STIMULUS,)
        name = metafunc.function.__name__.removeprefix("test_")
        file = Path(metafunc.module.__file__ or "").name
        idle, dialects, long = (
            mark.kwargs["kills_nothing"],
            mark.kwargs["dialects"],
            Feature.LONG in mark.kwargs["needs"],
        )
        runs = [
            Run(name, file, tuple(mark.args), role, arm, variant, idle, dialects, long)
            for variant in mark.kwargs["variants"]
            for role in mark.kwargs["roles"]
            for arm in arms
        ]
        metafunc.parametrize("t", runs, indirect=True, ids=[run.parameters for run in runs])

    @pytest.fixture
    def t(self, request: pytest.FixtureRequest) -> Iterator[Case | None]:
        """The case under way; made here, judged in pytest_pyfunc_call."""
        run: Run = request.param
        self.emit({"event": "start", "key": run.key})
        with self._case(run, request.node) as case:
            yield case

    def _profile(self, role: Role) -> Profile:
        """Detected with the first case of each role: the silent choices that the tester has to follow."""
        if role not in self._profiles:
            profile, observed = probe(self.plan.factory, role, self.plan.seed, self.plan.dialect)
            self._profiles[role] = profile
            found = profile.to_json()
            self.emit({"event": "observed", "role": str(role), "observed": observed, "profile": found})
        return self._profiles[role]

    def _adopt(self, role: Role, profile: Profile) -> None:
        """Another worker has detected how the implementation plays this role."""
        self._profiles[role] = profile
        if profile.works:
            self.plan.factory.worked(role)

    @contextlib.contextmanager
    def _case(self, run: Run, node: pytest.Item) -> Iterator[Case | None]:
        if run.requirements[:1] and run.requirements[0] in self._unclaimed:
            why = f"the adapter's PICS does not claim it: {run.requirements[0]}"
            self._emit_result(self._not_run(run, why))
            yield None
            return
        try:
            profile = self._profile(run.role)
            link = self._link(run)
        except ImplementationError as fault:
            self._emit_result(
                self._result(
                    run, Judgement(Verdict.FAIL, f"the implementation {fault}", cause=Cause.CRASH, expected=RUNS_ON)
                )
            )
            yield None
            return
        except HarnessError as fault:
            self._emit_result(self._result(run, Judgement(Verdict.ERROR, str(fault), cause=Cause.SUITE)))
            yield None
            return
        try:
            needs = node.get_closest_marker(MARKER)
            here = link.features | ({Feature.LONG} if self.plan.long else set())
            missing = [feature for feature in needs.kwargs["needs"] if feature not in here] if needs else []
            if missing:
                words = ", ".join(feature.value for feature in missing)
                self._emit_result(self._not_run(run, f"not available here: {words}"))
                yield None
                return
            yield self._begun(run, link, profile)
        finally:
            link.close()

    def _link(self, run: Run) -> Link:
        return self.plan.factory.make(Capture(self.plan.dialect.udp_ports(active=run.role.active)))

    def _begun(self, run: Run, link: Link, profile: Profile, limits: Limits | None = None) -> Case:
        judged = tuple(self.known[identifier] for identifier in run.requirements)
        seed, dialect = self.plan.seed, self.plan.dialect
        case = Case(run.name, judged, run.role, run.arm, link, seed, profile, run.variant, dialect, limits)
        if self.plan.factory.real_time:
            link.watch = self._watch(run, case)
        case.on_note = lambda text: self.emit({"event": "note", "text": text})
        return case

    def _played(self, run: Run, case: Case, body: Callable[[Case], object]) -> Case:
        """Runs the case. Where both ends agreed on sizes that are too small for it, it runs again in sizes that fit.
        The case that counts; NotSupportedError, the first one, when there is none. A second run that ends INCONC does
        not count: an implementation may have no use for sizes so small."""
        first: NotSupportedError | None = None
        for _ in range(ATTEMPTS):
            try:
                case.run(functools.partial(body, case))
            except NotSupportedError as lacking:
                first = first or lacking
                if not isinstance(lacking, SizesError) or not lacking.others_fit:
                    break
                limits = lacking.agreed
            else:
                if first is None or case.judgement.verdict is not Verdict.INCONC or case.postponed is not None:
                    return case
                break
            finally:
                case.close()  # first: its last packets belong to the case
            try:
                case = self._begun(run, self._link(run), case.profile, limits)
            except (ImplementationError, HarnessError):
                break
        assert first is not None
        raise first

    def _watch(self, run: Run, case: Case) -> Watch:
        def report(state: str, awaited: Awaited, seconds: float, limit_s: float) -> None:
            what = {"state": state, "awaited": awaited.name, "seconds": seconds, "limit_s": limit_s}
            self.emit({"event": "wait", "key": run.key, "role": str(run.role), **what})

        return Watch(report, self._postponed, lambda: case.is_decided)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        if "t" not in pyfuncitem.funcargs:
            return None
        case = cast("Case | None", pyfuncitem.funcargs["t"])
        if case is None:
            return True
        run = cast("Run", pyfuncitem.callspec.params["t"])
        try:
            case = self._played(run, case, lambda case: pyfuncitem.obj(t=case))
        except NotSupportedError as reason:
            self._emit_result(self._not_run(run, str(reason)))
            return True
        self._held = []
        self._finish(run, case)
        held, self._held = self._held, None
        if case.postponed is not None and case.judgement.verdict is Verdict.INCONC:
            rows = [result.to_json() for result in held]
            what = {"role": str(run.role), "awaited": case.postponed.name}
            self.emit({"event": "postponed", "key": run.key, **what, "results": rows})
        else:
            for result in held:
                self._emit_result(result)
        return True

    @property
    def _unclaimed(self) -> tuple[str, ...]:
        """Requirements that the implementation does not claim to meet."""
        adapter = self.plan.factory.adapter
        return adapter.pics.unsupported if adapter else ()

    def _finish(self, run: Run, case: Case) -> None:
        others = [violation for violation in case.settle() if violation.requirement not in self._unclaimed]
        held_up_us, bearable_us = case.link.held_up_us, case.tolerances.crossing_us
        judgement = case.judgement
        dropped = case.link.dropped_packets
        if dropped and judgement.verdict in AGAINST:
            judgement = dataclasses.replace(judgement, notes=(*judgement.notes, Note(Remark.DROPPED, dropped)))
            case.judgement = judgement
        if run.arm == CONTROL and judgement.verdict is Verdict.FAIL:
            # Without the stimulus nothing is proven about the requirement: the exchange itself does not work.
            judgement = dataclasses.replace(
                judgement, verdict=Verdict.INCONC, notes=(*judgement.notes, Note(Remark.CONTROL_ARM)), due_by=""
            )
            case.judgement = judgement
        self._write_capture(run, case, others)
        seconds = case.link.clock.now_us() / MICROSECONDS_PER_S
        result = dataclasses.replace(
            self._result(run, judgement, seconds),
            capture=run.capture_name,
            observed=case.observed,
            provoked=sorted(set().union(*(monitor.disabled for monitor in case.monitors))),
        )
        self._emit_result(confirm.with_disturbance(result, held_up_us, bearable_us))
        for violation in told_once(others):
            row = dataclasses.replace(
                self._result(run, violation.judgement, seconds),
                origin=Origin.MONITOR,
                requirements=[violation.requirement],
                capture=run.capture_name,
            )
            self._emit_result(confirm.with_disturbance(row, held_up_us, bearable_us))

    def _write_capture(self, run: Run, case: Case, others: list[Violation]) -> None:
        capture = case.link.capture
        own = run.requirements[0] if run.requirements else case.judgement.due_by or run.name
        judged = [(own, case.judgement), *((one.requirement, one.judgement) for one in others)]
        marks = [(one.frame, f"{one.verdict.label} {name}: {wording.judgement(one)}") for name, one in judged]
        for frame, text in marks:
            if frame is not None:
                capture.comment(frame, text)
        capture.write(self.plan.report / run.capture_name)

    def _not_run(self, run: Run, why: str) -> Result:
        """What the case needs is missing: N/A."""
        return self._result(run, Judgement(Verdict.NA, why))

    def _result(self, run: Run, judgement: Judgement, seconds: float = 0.0) -> Result:
        frame = judgement.frame
        named = judgement.requirement or ("" if run.requirements else judgement.due_by)
        return Result(
            case=run.title,
            requirements=list(dict.fromkeys((*run.requirements, *filter(None, [named])))),
            role=str(run.role),
            verdict=judgement.verdict,
            seen=judgement.seen,
            arm=run.arm,
            frame=None if frame is None else frame + 1,
            seconds=round(seconds, 6),
            cause=judgement.cause,
            violated=judgement.requirement,
            due_by=judgement.due_by,
            expected=judgement.expected,
            notes=judgement.notes,
        )

    def _emit_result(self, result: Result) -> None:
        if self._held is not None:
            self._held.append(result)
        else:
            self.emit({"event": "result", "result": result.to_json()})

    # ---- selection ----

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.items = [(item, run) for item in items if (run := self._run_of(item)) is not None]

    @staticmethod
    def _run_of(item: pytest.Item) -> Run | None:
        callspec = getattr(item, "callspec", None)
        run = callspec.params.get("t") if callspec is not None else None
        return run if isinstance(run, Run) else None

    def _picks(self, plan: Plan, run: Run) -> bool:
        if run.role not in plan.roles or (plan.only is not None and run.key not in plan.only):
            return False
        return runs_in(run, plan.dialect) and plan.selection.picks(candidate(run), self.known)

    # ---- mistakes of the suite itself ----

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.broken.append(f"{report.nodeid}: {str(report.longrepr).strip().splitlines()[-1]}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            key = next((run.key for item, run in self.items if item.nodeid == report.nodeid), "")
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message.splitlines()[0] if crash is not None and crash.message else ""
            what = f"{report.nodeid} ({report.when}):\n{report.longreprtext}"
            self.emit({"event": "trace", "what": what, "key": key, "why": why})
