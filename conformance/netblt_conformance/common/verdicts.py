# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts only get worse, and the first judgement of the worst one stays."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from netblt_conformance.common.remarks import Note, Remark

# Keys of what was observed: the URL of a known failure; why the first transfer of a role failed.
KNOWN = "known failure"
FIRST_TRANSFER = "first transfer"


# What is expected of an implementation in every run.
RUNS_ON = "an implementation that runs until the end of the case"


class Verdict(enum.IntEnum):
    PASS = 0
    WARN = 1  # a should is not met
    INCONC = 2  # the preamble did not come about, nothing was learnt
    FAIL = 3  # a must is not met, or the implementation crashed or hung
    ERROR = 4  # the suite or its surroundings are at fault
    NA = -1  # the implementation or the link does not have what the case needs
    OBSERVED = -2  # the specification is silent: reported, never judged

    @property
    def label(self) -> str:
        return "N/A" if self is Verdict.NA else self.name


VERDICTS_BY_LABEL = {verdict.label: verdict for verdict in Verdict}
# Against the implementation: they state what was expected and what was seen.
AGAINST = (Verdict.WARN, Verdict.FAIL)
GRADED = (Verdict.PASS, Verdict.WARN, Verdict.INCONC, Verdict.FAIL, Verdict.ERROR)


class Cause(enum.StrEnum):
    """The kind of evidence that a result rests on."""

    JUDGEMENT = "judgement"  # a packet, a state or an outcome of the implementation
    ABSENCE = "absence"  # something that was expected did not come; the frame is the last one before the wait ended
    CRASH = "crash"  # the implementation ended, hung, broke the protocol of the link, or a sanitizer reported it
    SUITE = "suite"  # the suite, the adapter or the machine failed: nothing is known about the implementation


class Origin(enum.StrEnum):
    """Who made a result."""

    CASE = "case"  # the case itself, or an oracle for a requirement that the case judges
    MONITOR = "monitor"  # an oracle, for a requirement that the case does not judge
    DISSECTOR = "dissector"  # the Wireshark plugin, in the capture of a case that failed
    CHECK = "check"  # the Wireshark plugin, in a capture from anywhere
    JUDGES = "judges"  # the comparison of suite and dissector
    SWEEP = "sweep"  # transfers under every fault
    KNOWN = "known"  # an entry of the adapter's known failures

    @property
    def prefix(self) -> str:
        """What precedes the name of the case in a table."""
        return _PREFIXES.get(self, "")


_PREFIXES = {Origin.MONITOR: "monitor in ", Origin.DISSECTOR: "dissector on ", Origin.JUDGES: "judges on "}


def _state(verdict: Verdict, expected: str, seen: str) -> None:
    if verdict in AGAINST and not (expected and seen):
        raise ValueError(f"{verdict.label} without what was expected ({expected!r}) and seen ({seen!r})")


@dataclass(slots=True)
class Judgement:
    """The verdict of a run while it goes on."""

    verdict: Verdict = Verdict.PASS
    seen: str = ""  # what the implementation did, or why nothing is known about it
    frame: int | None = None  # the capture's frame that decided, counted from 0
    cause: Cause = Cause.JUDGEMENT
    requirement: str = ""  # the one that an oracle or the case found violated; empty: the first one of the case
    due_by: str = ""  # of an absence: the requirement by which it was due; empty: one of the case
    expected: str = ""  # what RFC 998 demands there; of an absence: what was waited for
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        _state(self.verdict, self.expected, self.seen)

    def worsen(
        self,
        verdict: Verdict,
        seen: str,
        frame: int | None = None,
        cause: Cause = Cause.JUDGEMENT,
        due_by: str = "",
        *,
        expected: str = "",
    ) -> bool:
        """Takes the verdict over if it is worse. N/A and OBSERVED are no steps on this ladder."""
        if verdict not in GRADED:
            raise ValueError(f"{verdict.label} cannot worsen a judgement")
        _state(verdict, expected, seen)
        if verdict <= self.verdict:
            return False
        self.verdict, self.expected, self.seen, self.frame, self.cause = verdict, expected, seen, frame, cause
        self.requirement, self.due_by = "", due_by
        return True

    def take_violation(self, requirement: str, found: Judgement) -> None:
        """What an oracle saw of a requirement that the case judges. A packet shows more than what did not come: the
        violation replaces an absence of the same verdict. Of the packet that the case suspects it states which
        requirement is violated."""
        if found.verdict is self.verdict and self.cause is Cause.ABSENCE:
            self.expected, self.seen, self.frame = found.expected, found.seen, found.frame
            self.cause, self.due_by = Cause.JUDGEMENT, ""
        elif not self.worsen(found.verdict, found.seen, found.frame, expected=found.expected):
            same_packet = found.frame is not None and (found.verdict, found.frame) == (self.verdict, self.frame)
            if not same_packet or self.requirement:
                return
        self.requirement = requirement


class Evidence(NamedTuple):
    """What a result rests on."""

    verdict: Verdict
    origin: Origin
    cause: Cause
    requirement: str
    due_by: str
    frame: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the verdict table. Decisions rest on the typed fields; `expected` and `seen` are for people, and
    wording.reason() makes the text of them."""

    case: str  # name of the case, with its variant
    requirements: list[str]
    role: str
    verdict: Verdict
    seen: str = ""  # what the implementation did, or why nothing is known about it
    arm: str = "stimulus"  # or "control": the same exchange without the stimulus
    capture: str | None = None  # file name inside the report
    frame: int | None = None  # deciding frame, counted from 1 as Wireshark does
    seconds: float = 0.0  # on the link's own clock: virtual on sim and pipe
    observed: dict[str, str] = field(default_factory=dict)
    origin: Origin = Origin.CASE
    cause: Cause = Cause.JUDGEMENT
    violated: str = ""  # of several requirements the one that an oracle or the case found violated
    due_by: str = ""  # of an absence: the requirement by which it was due; empty: one of the case
    # One row for all the runs in which the same was seen: how many, and capture -> frame of those besides the first.
    runs: int = 1
    also_in: dict[str, int | None] = field(default_factory=dict)
    # Real time, for a result that is no PASS: how much the machine may have added to any interval, in microseconds.
    # 0: less than two events may lie apart.
    held_up_us: int = 0
    # What the tester itself made undecidable in this capture (`Case.provokes`): no judge may hold it against anyone.
    provoked: list[str] = field(default_factory=list)
    expected: str = ""  # what RFC 998 demands there; of an absence: what was waited for
    notes: tuple[Note, ...] = ()  # what later stages added

    def __post_init__(self) -> None:
        _state(self.verdict, self.expected, self.seen)

    @property
    def key(self) -> str:
        """The run that this is a result of: case, variant, role and arm."""
        arm = "" if self.arm == "stimulus" else f"-{self.arm}"
        return f"{self.case}[{self.role}{arm}]"

    @property
    def evidence(self) -> Evidence:
        """What it rests on: two results of the same evidence were found in the same way, however they are worded."""
        return Evidence(self.verdict, self.origin, self.cause, self.requirement, self.due_by, self.frame)

    def noted(self, *notes: Note, verdict: Verdict | None = None) -> Result:
        """The result with these additions and, if given, this verdict."""
        return replace(self, notes=(*self.notes, *notes), verdict=self.verdict if verdict is None else verdict)

    def has(self, remark: Remark) -> bool:
        return any(note.remark is remark for note in self.notes)

    @property
    def base_name(self) -> str:
        """The name of the case without its variant."""
        return self.case.partition(": ")[0]

    @property
    def requirement(self) -> str:
        """The requirement that the verdict is about: the violated one, else the first of the case."""
        return self.violated or (self.requirements[0] if self.requirements else "")

    @property
    def label(self) -> str:
        """What tables call it: who made it, and the case."""
        return self.origin.prefix + self.case

    @property
    def disturbed(self) -> bool:
        """The machine may have caused it: nothing is known about the implementation."""
        return self.held_up_us > 0

    @classmethod
    def of_run(cls, key: str, cases: Mapping[str, Sequence[str]], verdict: Verdict, why: str, cause: Cause) -> Result:
        """For a run that left no result of its own: `why`. `cases`: name -> file and requirements. A mistake of the
        suite states nothing about what RFC 998 demands."""
        expected = "" if cause is Cause.SUITE else RUNS_ON
        title, _, rest = key.rstrip("]").partition("[")
        role, arm = (rest.removesuffix("-control"), "control") if rest.endswith("-control") else (rest, "stimulus")
        requirements = list(cases[title.partition(": ")[0]][1:])
        return cls(title, requirements, role, verdict, why, arm, cause=cause, expected=expected)

    def to_json(self) -> dict[str, Any]:
        row = asdict(self)
        row["verdict"] = self.verdict.label
        row["notes"] = [note.to_json() for note in self.notes]
        for name in ("violated", "due_by", "also_in", "provoked", "held_up_us", "expected", "seen", "notes"):
            if not row[name]:
                del row[name]
        if self.runs == 1:
            del row["runs"]
        return row

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Result:
        """A row of `to_json`, or one of a published file, in which the text is added."""
        typed = {
            "verdict": VERDICTS_BY_LABEL[row["verdict"]],
            "origin": Origin(row["origin"]),
            "cause": Cause(row["cause"]),
            "notes": tuple(map(Note.from_json, row.get("notes", ()))),
        }
        return cls(**{**{name: value for name, value in row.items() if name != "reason"}, **typed})


def harden(result: Result) -> Result:
    """--strict: a should that does not hold is a failure too."""
    if result.verdict is not Verdict.WARN:
        return result
    return result.noted(Note(Remark.STRICT), verdict=Verdict.FAIL)


class ExitCode(enum.IntEnum):
    HOLDS = 0
    FAILED = 1
    COULD_NOT_RUN = 2


def exit_code(results: list[Result]) -> ExitCode:
    """1: something failed. 2: the suite erred, nothing passed, or a whole role stayed inconclusive. Else 0."""
    verdicts = {result.verdict for result in results}
    if Verdict.FAIL in verdicts:
        return ExitCode.FAILED
    if Verdict.ERROR in verdicts or not verdicts & {Verdict.PASS, Verdict.WARN}:
        return ExitCode.COULD_NOT_RUN
    by_role: dict[str, set[Verdict]] = {}
    for result in results:
        if result.verdict in GRADED:
            by_role.setdefault(result.role, set()).add(result.verdict)
    if any(seen == {Verdict.INCONC} for seen in by_role.values()):
        return ExitCode.COULD_NOT_RUN
    return ExitCode.HOLDS
