# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever is in a scenario's field, either it can be run or one line names the field."""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from netblt_plan import fields, line, metrics, possible, scenario
from netblt_plan.fields import Check
from netblt_plan.scenario import ScenarioError
from netblt_plan.simulate import simulate

BASE: dict[str, Any] = {
    "title": "t",
    "duration": "1s",
    "link": {"l": {"delay": "5ms"}},
    "host": {"a": {}, "b": {}},
    "flow": {"f": {"from": "a", "to": "b", "bytes": 20000, "buffer_size": 10000}},
    "cross": {"c": {"rate": "1Mbit", "start": "0.1s", "stop": "0.2s"}},
    "run": [{"name": "r", "expect": [{"metric": "goodput", "at_least": 0.1}]}],
}
# Wrong types, wrong units, too much, too little, and what would slip into the flakeway's language.
ODD: tuple[Any, ...] = (
    *(-1, 0, 1, 1e300, math.nan, math.inf, -0.5, 2**63, True, False, [], [1], ["x"], {}, {"x": 1}),
    *("", " ", "x", "5", "0s", "-1s", "0Mbit", "1e9Mbit", "0%", "101%", "nan%", "99999999999999999999s"),
    *("5 packets", "0packets", "1B", "48/53", "0/0", "53/48", "0ms 0bits", "21ms 10bits", "\n", "x\ny", "DATA"),
    *("1% a>b", "10ms both", "5ms", "10Mbit", "1%", "1% 1%", "20B", "64packets", "10ms 24000bits", "100B"),
)
# These make another field impossible, and the complaint is about that one.
SHOWN_ELSEWHERE = [("packet_size", 1), ("duration", "5ms")]
TABLES: list[tuple[str, Mapping[str, Check], tuple[str | int, ...]]] = [
    ("link.l", fields.LINK, ("link", "l")),
    ("link.l.forward", fields.DIRECTION, ("link", "l", "forward")),
    ("link.l.back", fields.DIRECTION, ("link", "l", "back")),
    ("link.l.changes[0]", fields.CHANGE, ("link", "l", "changes", 0)),
    ("host.a", fields.HOST, ("host", "a")),
    ("flow.f", fields.FLOW, ("flow", "f")),
    ("cross.c", fields.CROSS, ("cross", "c")),
    ("", fields.TOP, ()),
    ("run[0]", fields.RUN, ("run", 0)),
    ("run[0].expect[0]", fields.EXPECT, ("run", 0, "expect", 0)),
]


def test_the_delay_of_a_link_may_be_called_latency() -> None:
    changes = [{"at": "1s", "latency": "4ms"}]
    table = {"latency": "5ms", "back": {"latency": "6ms"}, "changes": changes, "rate": "10M"}
    wanted = {"delay": "5ms", "back": {"delay": "6ms"}, "changes": [{"at": "1s", "delay": "4ms"}], "rate": "10M"}
    assert fields.with_delay(table) == wanted
    both = {"latency": "5ms", "delay": "5ms"}
    assert fields.with_delay(both) == both, "two of them are a mistake, which whoever checks the keys names"


def test_a_rate_may_leave_out_its_bit() -> None:
    for short, full in (("10M", "10Mbit"), ("9.6k", "9.6kbit"), ("1G", "1gbit/s")):
        assert fields.bits_per_second(short) == fields.bits_per_second(full)


def with_value(way: tuple[str | int, ...], key: str, value: Any) -> dict[str, Any]:
    raw = copy.deepcopy(BASE)
    table: Any = raw
    for step in way:
        if isinstance(table, dict) and step not in table:
            table[step] = [{"at": "0.1s", "delay": "6ms"}] if step == "changes" else {}
        table = table[step]
    table[key] = value
    return raw


@pytest.mark.parametrize(("where", "known", "way"), TABLES, ids=[name or "top" for name, _, _ in TABLES])
def test_an_odd_value_runs_or_is_refused_by_name(
    where: str, known: Mapping[str, Check], way: tuple[str | int, ...]
) -> None:
    ran = 0
    complaints: list[tuple[str, Any, str]] = []
    for key in known:
        for value in ODD:
            try:
                file = scenario.from_tables(Path("odd.toml"), with_value(way, key, value))
            except ScenarioError as error:
                complaints.append((key, value, str(error)))
                continue
            if file.runs[0].duration_s <= 5:
                ran += 1
                simulate(file.runs[0], 1)  # must not raise
    for key, value, complaint in complaints:
        assert re.fullmatch(r"odd\.toml: [^\n]+", complaint), (key, value)
        named = key in complaint or where in complaint or (key, value) in SHOWN_ELSEWHERE
        assert named, (key, value, complaint)
    assert len(complaints) > 10 * len(known)
    assert ran > 0


TOGETHER: list[tuple[tuple[str | int, ...], dict[str, Any], str, str]] = [
    (("link", "l"), {"loss": "1% a>b"}, "link.l.loss", "names a direction"),
    (("link", "l"), {"jitter": "1ms both"}, "link.l.jitter", "names a direction"),
    (("link", "l"), {"corrupt": "DATA"}, "link.l.corrupt", "does not begin with a share"),
    (("host", "a"), {"card_reenable_ms": 1}, "host.a.card_reenable_ms", "half-duplex"),
    (("host", "a"), {"card_hold_ms": 1}, "host.a.card_hold_ms", "card_receive_buffers"),
    (("link", "l"), {"changes": [{"at": "1s"}]}, "link.l.changes[0].at", "changes nothing"),
    (("link", "l"), {"changes": [{"at": "1s", "times": 3, "loss": "1%"}]}, "link.l.changes[0].every", "is missing"),
    (("link", "l"), {"frames": "10ms 8000bits"}, "flow.f.packet_size", "does not fit the frames"),
    (("cross", "c"), {"start": "3s", "stop": "2s"}, "cross.c.stop", "not after its start"),
    (("flow", "f"), {"buffer_size": 2**27}, "flow.f.buffer_size", "more than 65535 packets"),
    (("flow", "f"), {"start": "1s"}, "flow.f.start", "not before the end"),
    (("link", "l"), {"delay": "30s"}, "flow.f.death_timer_s", "before a round trip of 60 s"),
    (("flow", "f"), {"open_timeout": "9ms"}, "flow.f.open_timeout", "before a round trip of 0.01 s"),
    (("run", 0, "expect", 0), {"metric": "goodness"}, "run[0].expect[0].metric", "there are asymptote, "),
    (("run", 0, "expect", 0), {"metric": "fairness"}, "run[0].expect[0].metric", "no metric 'fairness'"),
]


@pytest.mark.parametrize(("way", "values", "key", "what"), TOGETHER)
def test_what_is_impossible_together_is_named(
    way: tuple[str | int, ...], values: dict[str, Any], key: str, what: str
) -> None:
    raw = copy.deepcopy(BASE)
    table: Any = raw
    for step in way:
        table = table[step]
    table.update(values)
    with pytest.raises(ScenarioError) as caught:
        scenario.from_tables(Path("odd.toml"), raw)
    assert str(caught.value).startswith(f"odd.toml: {key}: ")
    assert what in str(caught.value)


@pytest.mark.parametrize("name", ["cross-traffic", "sharing", "section8", "atm-streams"])
def test_the_metrics_that_are_known_are_those_that_are_measured(name: str) -> None:
    run = dataclasses.replace(scenario.load(scenario.find(name)).runs[0], duration_s=13.0, measure_from_s=0.0)
    assert set(simulate(run, 1).metrics) == possible.metric_names(run.tables)


def test_capacity_and_chance_know_fragments_and_bad_times() -> None:
    size = 1434  # 1478 bytes with headers: 1476 and 22
    assert line.pieces({"mtu": "1476B"}, size) == [1476, 22]
    assert line.pieces({"mtu": "1478B"}, size) == [1478]
    assert line.capacity({"mtu": "1476B", "rate": "1Mbit"}, size) == pytest.approx(1e6 * 1434 / 1498)
    assert line.chance_of_loss({"mtu": "1476B", "loss": "10%"}, size) == pytest.approx(0.19)
    assert line.chance_of_loss({"gilbert": "1% 9% bad=50%"}, size) == pytest.approx(0.05)
    assert line.chance_of_loss({"gilbert": "1% 9% good=1%", "loss": "10%"}, size) == pytest.approx(1 - 0.9 * 0.891)


def test_attainable_leaves_out_what_bad_times_lose() -> None:
    run = scenario.load(scenario.find("wifi")).runs[0]
    flow = run.tables["flow"]["main"]
    assert metrics.loss_of(run.tables, flow) == pytest.approx(0.002 / 0.102 / 2)
