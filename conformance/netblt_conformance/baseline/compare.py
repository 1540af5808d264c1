# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares two runs by the typed fields of their results. docs/conformance.md, "Yesterday against today", has the
rules as text."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from netblt_conformance.baseline.noise import is_same_observation, is_slower, is_virtual
from netblt_conformance.baseline.records import Header, Record
from netblt_conformance.common.remarks import Remark
from netblt_conformance.common.verdicts import KNOWN, Cause, Origin, Result, Verdict, harden
from netblt_conformance.report import alike
from netblt_conformance.report.files import flat

# Of the first line: what is no parameter of a run.
_NO_PARAMETERS = ("kind", "layout", "observed", "causes", "baseline")


class Kind(enum.StrEnum):
    """What became of a result. The first of them fails a comparison."""

    NEW_FAILURE = "new failure"
    FIXED = "fixed"
    STILL_FAILING = "still failing"
    WORSE = "worse"  # no failure, but no longer as good
    NOT_JUDGED = "no longer judged"
    JUDGED = "judged now"
    NEW = "new"  # the baseline has no result of it
    GONE = "gone"


class _Standing(enum.IntEnum):
    """What a result means for the implementation, the worst first."""

    FAILS = 0
    FAILS_AS_KNOWN = 1  # the adapter lists it
    WARNS = 2
    HOLDS = 3
    UNKNOWN = 4  # nothing is known


_STANDINGS: Mapping[Verdict, _Standing] = MappingProxyType(
    {Verdict.FAIL: _Standing.FAILS, Verdict.WARN: _Standing.WARNS, Verdict.PASS: _Standing.HOLDS}
)
# Rows of these exist only where something is wrong.
_ONLY_IF_WRONG = (*alike.SEEN_ASIDE, Origin.KNOWN)
# What two results are matched by.
_Identity = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One result that is not as it was, or still fails."""

    kind: Kind
    before: Result | None
    now: Result | None

    @property
    def row(self) -> Result:
        """The result that tables show: the one of now, if there is one."""
        row = self.now or self.before
        assert row is not None
        return row

    @property
    def cause_changed(self) -> bool:
        """Still failing, but the evidence is of another kind or of another requirement."""
        if self.before is None or self.now is None or self.kind is not Kind.STILL_FAILING:
            return False
        return _why(self.before) != _why(self.now)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A field of the first line that differs. Empty: the run has none."""

    name: str
    before: str
    now: str


@dataclass(frozen=True, slots=True)
class Observation:
    """A choice of the implementation that differs. Empty: it was not observed."""

    name: str
    before: str
    now: str
    where: tuple[str, ...]  # keys of results, or roles


@dataclass(frozen=True, slots=True)
class Slower:
    """A case that passes as before but takes longer, on the clock of the link."""

    key: str
    before_s: float
    now_s: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs and what differs."""

    before: Record
    now: Record
    parameters: Sequence[Parameter]
    changes: Sequence[Change]  # in the order of the run
    unchanged: int
    observations: Sequence[Observation]
    slower: Sequence[Slower] | None  # None: the clocks of the links cannot be compared

    def of_kind(self, kind: Kind) -> list[Change]:
        return [change for change in self.changes if change.kind is kind]

    @property
    def fails(self) -> bool:
        return any(change.kind is Kind.NEW_FAILURE for change in self.changes)


def compare(before: Record, now: Record) -> Comparison:
    old, new = _by_identity(before, strict=now.header.strict), _by_identity(now, strict=now.header.strict)
    changes, unchanged = [], 0
    for identity in dict.fromkeys((*new, *old)):
        kind = _kind(old.get(identity), new.get(identity), now)
        if kind is None:
            unchanged += 1
        else:
            changes.append(Change(kind, old.get(identity), new.get(identity)))
    pairs = [(old[identity], new[identity]) for identity in new if identity in old]
    return Comparison(
        before,
        now,
        list(_parameters(before.header, now.header)),
        changes,
        unchanged,
        _observations(before.header, now.header, pairs),
        _slower(before.header, now.header, pairs),
    )


def _by_identity(record: Record, *, strict: bool) -> dict[_Identity, Result]:
    """The results, graded as a run with or without --strict does; of several of one identity the worst."""
    found: dict[_Identity, Result] = {}
    for result in record.results:
        graded = _graded(result, strict=strict)
        identity = _identity(result)
        if identity not in found or _standing(graded) < _standing(found[identity]):
            found[identity] = graded
    return found


def _graded(result: Result, *, strict: bool) -> Result:
    if strict:
        return result if result.has(Remark.KNOWN) else harden(result)
    if result.has(Remark.STRICT) and result.verdict is Verdict.FAIL:
        return result.noted(verdict=Verdict.WARN)
    return result


def _identity(result: Result) -> _Identity:
    """A case by its name, variant, role and arm. What was seen aside by requirement and role, as in the report. An
    entry of the known failures by its link. What belongs to no run by its requirement."""
    if result.origin in alike.SEEN_ASIDE:
        return result.origin, result.requirement, alike.role_of(result)
    if result.origin is Origin.KNOWN:
        return result.origin, result.observed.get(KNOWN, ""), result.role, *result.requirements
    return result.origin, result.key, result.requirement if result.role == alike.ALL_ROLES else ""


def _standing(result: Result) -> _Standing:
    if result.verdict is Verdict.WARN and result.has(Remark.KNOWN):
        return _Standing.FAILS_AS_KNOWN
    return _STANDINGS.get(result.verdict, _Standing.UNKNOWN)


def _why(result: Result) -> tuple[str, ...]:
    return result.cause, result.requirement, result.due_by


def _kind(before: Result | None, now: Result | None, run: Record) -> Kind | None:
    """None: nothing that has to be reported."""
    if now is None:
        assert before is not None
        return Kind.FIXED if _is_gone_because_fixed(before, run) else Kind.GONE
    if _standing(now) is _Standing.FAILS:
        return Kind.STILL_FAILING if before is not None and _excuses(before, now) else Kind.NEW_FAILURE
    if before is None:
        return Kind.WORSE if now.origin in _ONLY_IF_WRONG else Kind.NEW
    return _kind_of_two(before, now)


def _excuses(before: Result, now: Result) -> bool:
    """Whether a failure is that of the baseline. A crash is excused by a crash only."""
    crashes = now.cause is Cause.CRASH and before.cause is not Cause.CRASH
    return _standing(before) is _Standing.FAILS and not crashes


def _kind_of_two(before: Result, now: Result) -> Kind | None:
    """Of two results, when the second does not fail."""
    was, is_ = _standing(before), _standing(now)
    if is_ is _Standing.UNKNOWN:
        return Kind.NOT_JUDGED if before.verdict is not now.verdict else None
    if was is _Standing.UNKNOWN:
        return Kind.JUDGED
    if is_ is _Standing.FAILS_AS_KNOWN and was <= is_:
        return Kind.STILL_FAILING
    if is_ == was:
        return None
    return Kind.FIXED if is_ > was else Kind.WORSE


def _is_gone_because_fixed(before: Result, run: Record) -> bool:
    """Whether a row that exists only where something is wrong is missing for the right reason: the run that it was
    found in was judged again, by the same judge."""
    if before.origin is Origin.KNOWN:
        return run.header.complete
    if before.origin in (Origin.DISSECTOR, Origin.JUDGES) and not run.judged_by_dissector:
        return False
    return any(
        result.origin is Origin.CASE and result.key == before.key and _standing(result) is not _Standing.UNKNOWN
        for result in run.results
    )


def _parameters(before: Header, now: Header) -> Iterator[Parameter]:
    old, new = _flat(before), _flat(now)
    for name in dict.fromkeys((*old, *new)):
        if old.get(name, "") != new.get(name, ""):
            yield Parameter(name, old.get(name, ""), new.get(name, ""))


def _flat(header: Header) -> dict[str, str]:
    return dict(flat({name: value for name, value in header.model_dump().items() if name not in _NO_PARAMETERS}))


def _observations(before: Header, now: Header, pairs: Sequence[tuple[Result, Result]]) -> list[Observation]:
    """Equal changes of several results are one."""
    virtual = is_virtual(before.link) and is_virtual(now.link)
    chosen = [(role, before.observed[role], now.observed[role]) for role in now.observed if role in before.observed]
    chosen += [
        (new.key, old.observed, new.observed)
        for old, new in pairs
        if _Standing.UNKNOWN not in (_standing(old), _standing(new)) and new.origin is not Origin.KNOWN
    ]
    found: dict[tuple[str, str, str], list[str]] = {}
    for where, old_values, new_values in chosen:
        for name in dict.fromkeys((*old_values, *new_values)):
            old_value, new_value = old_values.get(name, ""), new_values.get(name, "")
            if name != KNOWN and not is_same_observation(name, old_value, new_value, virtual=virtual):
                found.setdefault((name, old_value, new_value), []).append(where)
    return [Observation(*what, tuple(where)) for what, where in found.items()]


def _slower(before: Header, now: Header, pairs: Sequence[tuple[Result, Result]]) -> list[Slower] | None:
    """Cases that passed twice, those that lost most first. The time of a failure is no measure of speed."""
    if before.link != now.link or _flat(before).get("schedule.delay") != _flat(now).get("schedule.delay"):
        return None
    found = [
        Slower(new.key, old.seconds, new.seconds)
        for old, new in pairs
        if old.verdict is new.verdict is Verdict.PASS
        and new.origin is Origin.CASE
        and is_slower(old.seconds, new.seconds, virtual=is_virtual(now.link))
    ]
    return sorted(found, key=lambda one: one.before_s - one.now_s)
