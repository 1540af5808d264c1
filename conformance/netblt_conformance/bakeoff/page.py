# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a bakeoff: the matrix, the points, and each meeting with its packets (assets/bakeoff.html.jinja)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance import __version__
from netblt_conformance.bakeoff import differences, text
from netblt_conformance.bakeoff.contestants import Contestant
from netblt_conformance.bakeoff.differences import Difference
from netblt_conformance.bakeoff.model import (
    LISTENER_ADDRESS,
    OPENER_ADDRESS,
    PATHS,
    Completion,
    Implementation,
    Meeting,
    Outcome,
)
from netblt_conformance.bakeoff.scorecard import TASKS, Card, Division, by_pair, ranking
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.model import Encapsulation
from netblt_conformance.common.verdicts import GRADED, ExitCode, Origin, Result, Verdict
from netblt_conformance.common.words import fit_lines
from netblt_conformance.report.deliver import deliver
from netblt_conformance.report.page import blocks, details, render
from netblt_conformance.report.page.blocks import Detail

ASSETS = Path(__file__).with_name("assets")
WAYS = {Encapsulation.IP: "raw IP", Encapsulation.UDP: "UDP"}
_EXPECTED = "both clients learn of the success, and the receiver has exactly what was sent"
_VERDICTS = {
    Completion.COMPLETED: Verdict.PASS,
    Completion.FAILED: Verdict.FAIL,
    Completion.ERROR: Verdict.ERROR,
    Completion.UNSUPPORTED: Verdict.NA,
}


def result_of(outcome: Outcome) -> Result:
    """A meeting as a row of the list. What is proven against an implementation makes it a FAIL, at the first such
    frame."""
    meeting, proven = outcome.meeting, outcome.proven
    verdict = _VERDICTS[outcome.completion]
    seen, expected = outcome.why, _EXPECTED if verdict is Verdict.FAIL else ""
    if proven and verdict is Verdict.PASS:
        verdict, expected, seen = Verdict.FAIL, catalogue.demand(proven[0].requirement), proven[0].text
    first = proven[0] if proven else None
    return Result(
        case=f"{_title(meeting)}, {meeting.path.name}, {WAYS[meeting.encapsulation]}",
        requirements=list(dict.fromkeys(one.requirement for one in proven)),
        role=f"{_address(meeting, first.implementation)} {first.role}" if first and first.implementation else "-",
        verdict=verdict,
        seen=seen,
        expected=expected,
        capture=outcome.capture or None,
        frame=first.frame if first else None,
        seconds=outcome.seconds,
        origin=Origin.CHECK,
    )


def _title(meeting: Meeting) -> str:
    way = "sends to" if meeting.pair.opener_sends else "fetches from"
    return f"{meeting.pair.opener.name} {way} {meeting.pair.listener.name}"


def _address(meeting: Meeting, name: str) -> str:
    return OPENER_ADDRESS if name == meeting.pair.opener.name else LISTENER_ADDRESS


# ---- what the template shows ----


@dataclass(frozen=True, slots=True)
class Row:
    """One meeting in the list, in the form of render.Row."""

    result: Result
    outcome: Outcome
    places: tuple[str, ...]

    @property
    def key(self) -> str:
        return self.outcome.meeting.key

    @property
    def role(self) -> str:
        return "" if self.outcome.goodput_bps is None else f"{text.figures(self.outcome)}"

    @property
    def part(self) -> str:
        """What the first filter compares."""
        return self.outcome.meeting.path.name

    @property
    def origin(self) -> str:
        """What the second filter compares."""
        return self.outcome.meeting.encapsulation.value

    @property
    def label(self) -> str:
        return self.result.case


@dataclass(frozen=True, slots=True)
class Cell:
    """One meeting in a table of pairs and paths."""

    key: str
    verdict: Verdict
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class Table:
    """The meetings of one encapsulation: a row for each pair of roles, a column for each path."""

    way: str
    paths: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]


def _cell(outcome: Outcome) -> Cell:
    result = result_of(outcome)
    shown = text.figures(outcome) if outcome.completion is Completion.COMPLETED else result.verdict.label
    return Cell(outcome.meeting.key, result.verdict, shown, outcome.why or f"{result.case}: {shown}")


def _tables(implementations: Sequence[Implementation], outcomes: Sequence[Outcome]) -> Iterator[Table]:
    names = text.letters(implementations)
    for way in dict.fromkeys(outcome.meeting.encapsulation for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.meeting.encapsulation is way]
        paths = tuple(dict.fromkeys(outcome.meeting.path.name for outcome in own))
        rows: dict[str, dict[str, Cell]] = {}
        for outcome in own:
            cells = rows.setdefault(text.pair_words(outcome.meeting.pair, names), {})
            cells[outcome.meeting.path.name] = _cell(outcome)
        yield Table(
            WAYS[way], paths, tuple((pair, tuple(cells.get(path) for path in paths)) for pair, cells in rows.items())
        )


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the supported meetings of two implementations hold."""

    text: str
    verdict: Verdict


def _matrix(
    implementations: Sequence[Implementation], outcomes: Sequence[Outcome]
) -> list[tuple[str, str, list[Share]]]:
    """Letter and name of an implementation, and its shares as the active end with each other one."""
    names, found = text.letters(implementations), by_pair(outcomes)
    rows = []
    for opener in implementations:
        row = []
        for listener in implementations:
            met = found.get((opener, listener), [])
            graded = [result_of(outcome).verdict for outcome in met]
            worst = max((one for one in graded if one in GRADED), default=Verdict.NA)
            row.append(Share(text.share(met), worst))
        rows.append((names[opener], opener.name, row))
    return rows


# ---- the details of a meeting ----


def again(outcome: Outcome) -> str:
    """The command that plays a meeting again, with those of the same implementations and path."""
    meeting = outcome.meeting
    files = dict.fromkeys((str(meeting.pair.opener.file), str(meeting.pair.listener.file)))
    way = "raw" if meeting.encapsulation is Encapsulation.IP else "udp"
    words = ["netblt-conformance bakeoff", *files, "--paths", meeting.path.name, "--encapsulation", way]
    return " ".join([*words, "--seed", str(meeting.seed)])


def _sentence(outcome: Outcome) -> str:
    pair, done = outcome.meeting.pair, outcome.completion
    what = f"{pair.sender.name} sends data to {pair.receiver.name}; {pair.opener.name} opens the connection"
    if done is not Completion.COMPLETED:
        return f"{what}. {done.value.capitalize()}: {outcome.why}."
    proven = [f"{one.implementation} ({one.role}) violates {one.requirement}: {one.text}" for one in outcome.proven]
    return ". ".join([what, "The data arrived, and both clients learned of the success", *proven]) + "."


def _facts(outcome: Outcome) -> list[list[str]]:
    pair, path = outcome.meeting.pair, outcome.meeting.path
    facts = [[f"{OPENER_ADDRESS}", f"{pair.opener.name}, {pair.opener_role}"]]
    facts += [[f"{LISTENER_ADDRESS}", f"{pair.listener.name}, {pair.listener_role}"]]
    facts += [["path", f"{path.summary} ({'; '.join(path.rules)})"]]
    if outcome.goodput_bps is not None:
        facts += [["goodput", f"{outcome.goodput_bps / 1000:.0f} kbit/s"]]
        facts += [["bytes on the line for each byte delivered", f"{outcome.cost or 0:.3f}"]]
    facts += [["reached", ", ".join(sorted(outcome.milestones)) or "nothing"]]
    for one in outcome.violations:
        known = "violates" if one.certain else "suspected of violating"
        frame = f" (frame {one.frame})" if one.frame else ""
        facts += [[f"{known} {one.requirement}", f"{one.implementation} {one.role}{frame}: {one.text}"]]
    return facts + [["note", note] for note in outcome.notes]


def _details(
    folder: Path, outcomes: Sequence[Outcome], results: Sequence[Result], *, everything: bool
) -> dict[int, Detail]:
    found = details.of_results(folder, results, (), everything=everything, dissect=True)
    found |= details.without_packets(results, catalogue.requirements(), (), set(found))
    for number, detail in found.items():
        outcome = outcomes[number]
        detail |= {"sentence": _sentence(outcome), "facts": [*_facts(outcome), *detail.get("facts", [])]}
        detail["command"] = "" if outcome.completion is Completion.UNSUPPORTED else again(outcome)
    return found


def write(
    file: Path,
    contestants: Sequence[Contestant],
    outcomes: Sequence[Outcome],
    cards: Sequence[Card],
    found: Sequence[Difference] = (),
    *,
    seed: int,
    status: ExitCode,
    everything: bool = False,
) -> None:
    """Writes the page beside the captures. `everything`: with the packets also of meetings that hold."""
    implementations = [one.implementation for one in contestants]
    results = [result_of(outcome) for outcome in outcomes]
    packed = blocks.pack(_details(file.parent, outcomes, results, everything=everything).items())
    order = sorted(range(len(results)), key=lambda n: (-results[n].verdict if results[n].verdict in GRADED else 1, n))
    counts = Counter(result.verdict for result in results)
    present = [verdict for verdict in (*reversed(GRADED), Verdict.NA) if counts[verdict]]
    named = list(dict.fromkeys(one for result in results for one in result.requirements))
    paths = [PATHS[name] for name in dict.fromkeys(one.meeting.path.name for one in outcomes) if name in PATHS]
    shown = (
        render.environment(ASSETS)
        .get_template("bakeoff.html.jinja")
        .render(
            what="bakeoff",
            title=f"{len(implementations)} implementations",
            filters=("path", "encapsulation"),
            worst=max((one for one in counts if one in GRADED), default=Verdict.NA),
            summary=text.summary(outcomes),
            header=[
                ("suite", f"netblt-conformance {__version__}"),
                ("seed", str(seed)),
                ("exit status", str(int(status))),
            ],
            tiles=[(verdict, counts[verdict]) for verdict in present],
            contestants=list(zip(text.letters(implementations).values(), contestants, strict=True)),
            matrix=_matrix(implementations, outcomes),
            tables=list(_tables(implementations, outcomes)),
            paths=paths,
            differences=differences.groups(found),
            compared=differences.summary(found),
            divisions=list(Division),
            tasks=TASKS,
            cards=ranking(cards),
            verdicts=[(render.css(verdict), verdict.label) for verdict in present],
            requirements=_titled(named),
            row_roles=[(path.name, path.name) for path in paths],
            origins=[(way.value, words) for way, words in WAYS.items()],
            known=render.known_of(results, catalogue.requirements()),
            rows=[Row(results[n], outcomes[n], packed.places.get(n, ())) for n in order],
            blocks=list(enumerate(packed.blocks)),
            scripts=render.SCRIPTS,
        )
    )
    deliver(fit_lines(shown), str(file))


def _titled(named: Sequence[str]) -> list[tuple[str, str]]:
    known: Mapping[str, catalogue.Requirement] = catalogue.requirements()
    return [(one, f"{one} {known[one].title}" if one in known else one) for one in named]
