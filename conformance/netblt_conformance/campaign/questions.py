# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of a campaign as tables of DuckDB, and prepared questions about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netblt_conformance.campaign.errors import CampaignError, library
from netblt_conformance.campaign.folder import Folder
from netblt_conformance.campaign.kind import class_of
from netblt_conformance.campaign.rows import OF_BLOCK, TEXTS

SHOWN_MOST = 200  # rows of a table on a terminal


@dataclass(frozen=True, slots=True)
class Question:
    """One prepared question."""

    about: str
    sql: str
    kinds: tuple[str, ...] = ()  # those that it is for; empty: all


_COUNTS = ", ".join(
    f"count(*) filter (verdict = '{label}') as \"{label}\""
    for label in ("PASS", "WARN", "INCONC", "FAIL", "ERROR", "N/A")
)
QUESTIONS = {
    "summary": Question(
        "units by name and verdict",
        f"select name, count(*) as units, {_COUNTS} from units group by name order by name",
    ),
    "total": Question("all units by verdict", f"select count(*) as units, {_COUNTS} from units"),
    "failures": Question(
        "units that failed",
        "select unit, name, verdict, requirement, reason from units where verdict in ('FAIL', 'ERROR') order by unit",
    ),
    "reasons": Question(
        "each reason: how many units, and the first of them",
        "select verdict, requirement, count(*) as units, min(unit) as first, reason from units "
        "where verdict not in ('PASS', 'N/A') group by verdict, requirement, reason order by units desc, first",
    ),
    "requirements": Question(
        "requirements that were violated: how many units, and the first of them",
        "select requirement, count(*) as units, min(unit) as first from units "
        "where verdict = 'FAIL' and requirement <> '' group by requirement order by units desc, requirement",
    ),
    "crashes": Question(
        "units in which the implementation crashed or did not end",
        "select unit, name, reason from units where cause = 'crash' order by unit",
    ),
    "slowest": Question(
        "blocks that took most processor time for a unit",
        "select block, first, units, round(1000 * cpu_s / units, 3) as cpu_ms_per_unit, round(wall_s, 2) as wall_s, "
        "worker, host from blocks order by cpu_s / units desc, block limit 20",
    ),
    "workers": Question(
        "what each worker did",
        "select host, worker, count(*) as blocks, sum(units)::bigint as units, round(sum(cpu_s), 1) as cpu_s, "
        "round(sum(units) / sum(cpu_s), 1) as units_per_cpu_s from blocks group by host, worker order by host, worker",
    ),
    "longest": Question(
        "units that took longest in virtual time",
        "select unit, name, round(virtual_s, 3) as virtual_s, packets, verdict from units "
        "order by virtual_s desc nulls last, unit limit 20",
        ("sweep",),
    ),
    "kills": Question(
        "each mutant: killed or not, and by what",
        "select name, requirement, if(verdict = 'PASS', 'killed', 'survived') as result, tries, reason from units "
        "order by result desc, name",
        ("mutants",),
    ),
    "means": Question(
        "each run of a scenario: mean and deviation of what the transfers achieved",
        "select name, count(*) as seeds, avg(goodput) as goodput, stddev_pop(goodput) as deviation, "
        "avg(of_capacity) as of_capacity, avg(loss) as loss, avg(rxm) as retransmitted from units "
        "group by name order by name",
        ("experiment",),
    ),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A table."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


class Results:
    """The blocks of a folder that have ended when this is made."""

    def __init__(self, folder: Folder) -> None:
        self._duckdb = library("duckdb")
        self.state = folder.state()
        files = sorted(str(folder.blocks / f"{block:08}.parquet") for block in folder.finished())
        if not files:
            raise CampaignError(f"{folder.path}: no block of units has ended yet")
        self._connection = self._duckdb.connect()
        measures = class_of(self.state.description.kind).measures
        own = ", ".join(f'"{name}"' for name in ("unit", *TEXTS, *measures))
        about = ", ".join(f"any_value({name}) as {name}" for name in OF_BLOCK if name != "block")
        everything = self._connection.read_parquet(files)
        everything.create_view("everything")
        self._connection.execute(f"create view units as select {own} from everything")
        self._connection.execute(
            f"create view blocks as select block, min(unit) as first, count(*) as units, {about} "
            "from everything group by block"
        )

    def questions(self) -> dict[str, Question]:
        """Those that fit the kind of campaign."""
        kind = self.state.description.kind
        return {name: one for name, one in QUESTIONS.items() if not one.kinds or kind in one.kinds}

    def ask(self, words: str, parameters: Sequence[Any] = ()) -> Answer:
        """The answer to a prepared question, or to a query in SQL over the tables units and blocks."""
        sql = words
        if " " not in words.strip():
            known = self.questions()
            if words not in known:
                raise CampaignError(f"there is no question {words!r}; there are {', '.join(known)}, or give SQL")
            sql = known[words].sql
        try:
            done = self._connection.execute(sql, parameters)
            if done.description is None:
                raise CampaignError("the query has no result: give a select")
            return Answer([column[0] for column in done.description], done.fetchall())
        except self._duckdb.Error as error:
            raise CampaignError(f"DuckDB: {error}") from None

    def verdicts(self) -> dict[str, int]:
        """Units by verdict."""
        return dict(self.ask("select verdict, count(*) from units group by verdict").rows)
