# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenario files: what is wrong is named with its file and key; what is right means what it states."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from netblt_conformance.commands import cli as suite
from netblt_plan import cli as plan
from netblt_plan import metrics, scenario, simulate
from netblt_plan.experiments import chosen
from netblt_plan.metrics import capacity, steady
from netblt_plan.native import Buffer
from netblt_plan.scenario import ScenarioError
from netblt_plan.simulate import changes, statements

GOOD = """
title = "a test"
[link.line]
rate = "10Mbit"
delay = "5ms"
[host.a]
[host.b]
[flow.main]
from = "a"
to = "b"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "key", "what"),
    [
        (("[host.a]", '[host.a]\nspeed = "fast"'), "host.a.speed", "there is no such field"),
        (('rate = "10Mbit"', 'rate = "10"'), "link.line.rate", "is not a rate"),
        (('delay = "5ms"', 'delay = "5"'), "link.line", "without its unit"),
        (('delay = "5ms"', 'delay = "5ms"\nloss = "200%"'), "link.line", "more than 100%"),
        (('delay = "5ms"', 'delay = "5ms"\nqueue = "256cells"'), "link.line.forward.queue", "has no `cells`"),
        (('delay = "5ms"', 'frames = "1ms 100bits"'), "link.line.forward.frames", "excludes `rate`"),
        (('delay = "5ms"', 'delay = "5ms"\nrules = ["drop DATTA"]'), "link.line.rules[0]", "DATTA"),
        (('delay = "5ms"', 'changes = [{ delay = "9ms" }]'), "link.line.changes[0].at", "is missing"),
        (('to = "b"', 'to = "c"'), "flow.main.to", "there is no host 'c'"),
        (('to = "b"', 'to = "a"'), "flow.main.to", "is the host that sends"),
        (('to = "b"', 'to = "b"\nroute = ["road"]'), "flow.main.route", "there is no link 'road'"),
        (('to = "b"', 'to = "b"\nburst_size = 0'), "flow.main.burst_size", "not between 1 and 65535"),
        (('to = "b"', 'to = "b"\nmax_buffers = 2.5'), "flow.main.max_buffers", "is not a whole number"),
        (('to = "b"', 'to = "b"\nbytes = 0'), "flow.main.bytes", "is not between 1 and"),
        (('delay = "5ms"', 'delay = "5ms"\nmtu = 576'), "link.line.mtu", "with its unit"),
        (('to = "b"', 'to = "b"\n[cross.other]\nrate = "1000Gbit"'), "cross.other.rate", "packets in"),
        (('to = "b"', 'to = "b"\npacket_size = 900\nbuffer_size = 100'), "flow.main.packet_size", "larger than the"),
        (("[host.a]", "[host.a]\nsend_ms = 1.0\n[host.a.fitted]\nsend_ms = 2.0"), "host.a.send_ms", "given and fitted"),
        (("[host.a]", '[host.a]\nlike = "z"'), "host.a.like", "there is no other host"),
        (('title = "a test"', 'title = "a test"\nmeasure_from = "60s"'), "run[0].measure_from", "before the end"),
        (('title = "a test"', "about = 'x'"), "title", "is missing"),
        (('to = "b"', 'to = "b"\n[cross.other]\nkind = "cbr"'), "cross.other.rate", "is missing"),
        (('to = "b"', 'to = "b"\n[[run]]\nset = { "link.road.loss" = "1%" }'), "run[0].set", "there is no 'road'"),
        (('to = "b"', 'to = "b"\n[[run]]\nexpect = [{ metric = "goodput" }]'), "run[0].expect[0]", "expects nothing"),
        (('to = "b"', 'to = "b"\n[[run]]\n[[run]]'), "run.name", "two runs are called"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_key(tmp_path: Path, change: tuple[str, str], key: str, what: str) -> None:
    assert change[0] in GOOD
    path = written(tmp_path, GOOD.replace(*change))
    with pytest.raises(ScenarioError) as caught:
        scenario.load(path)
    assert str(path) in str(caught.value)
    assert key in str(caught.value)
    assert what in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_file_without_a_mistake_is_accepted(tmp_path: Path) -> None:
    assert len(scenario.load(written(tmp_path, GOOD)).runs) == 1


def test_a_line_that_loses_everything_carries_nothing(tmp_path: Path) -> None:
    lost = GOOD.replace('delay = "5ms"', 'delay = "5ms"\nloss = "100%"')
    run = scenario.load(written(tmp_path, lost)).runs[0]
    figures = metrics.of(run, simulate.simulate(run, seed=1))
    assert figures["goodput"] == 0
    assert math.isnan(figures["of_attainable"])


def test_every_scenario_of_the_project_can_be_read() -> None:
    for name in scenario.names():
        assert scenario.load(scenario.find(name)).runs, name


def test_an_unknown_scenario_or_row_is_refused_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"there are: .*ring"):
        scenario.find("rong")
    with pytest.raises(ScenarioError, match="no row '99'"):
        chosen(scenario.load(scenario.find("ring")), "99")
    with pytest.raises(ScenarioError, match="no such file"):
        scenario.find(str(tmp_path / "nothing.toml"))


def test_a_direction_overrides_what_both_have(tmp_path: Path) -> None:
    text = GOOD.replace('delay = "5ms"', 'delay = "5ms"\n[link.line.back]\nrate = "1Mbit"')
    link = scenario.load(written(tmp_path, text)).runs[0].tables["link"]["line"]
    assert statements(link) == ["rate 10Mbit a>b", "latency 5ms a>b", "rate 1Mbit b>a", "latency 5ms b>a"]


def test_changes_repeat_at_their_distance(tmp_path: Path) -> None:
    text = GOOD.replace('delay = "5ms"', 'changes = [{ at = "15s", every = "30s", times = 3, delay = "40ms" }]')
    link = scenario.load(written(tmp_path, text)).runs[0].tables["link"]["line"]
    assert changes(link) == [(15.0, "latency 40ms"), (45.0, "latency 40ms"), (75.0, "latency 40ms")]


def test_runs_override_the_file_and_nothing_else(tmp_path: Path) -> None:
    text = (
        GOOD + '[[run]]\nname = "one"\nset = { "link.line.loss" = "1%", "link.line.delay" = "" }\n[[run]]\nname = "two"'
    )
    one, two = scenario.load(written(tmp_path, text)).runs
    assert "loss 1% a>b" in statements(one.tables["link"]["line"])
    assert "latency 5ms a>b" not in statements(one.tables["link"]["line"])
    assert statements(two.tables["link"]["line"])[:2] == ["rate 10Mbit a>b", "latency 5ms a>b"]


def test_rows_of_a_table_vary_in_what_the_rfc_varied_and_in_their_loss_only() -> None:
    runs = scenario.load(scenario.find("wideband")).runs
    assert len(runs) == 28
    hosts = [run.tables["host"] for run in runs]
    assert all(one == hosts[0] for one in hosts)
    for run in runs:
        link = run.tables["link"]["satellite"]
        assert {**link["forward"], "loss": ""} == {**runs[0].tables["link"]["satellite"]["forward"], "loss": ""}
    row = runs[0].row
    assert row is not None
    assert row.loss_share == pytest.approx(9 / (358 + 10))
    assert float(runs[0].tables["link"]["satellite"]["forward"]["loss"].rstrip("%")) == pytest.approx(
        100 * row.loss_share, rel=1e-4
    )


def test_a_fragmented_row_loses_as_many_packets_as_it_says() -> None:
    run = scenario.load(scenario.find("wideband")).runs[9]  # 1434 bytes: two fragments
    assert run.row is not None
    of_fragments = float(run.tables["link"]["satellite"]["forward"]["loss"].rstrip("%")) / 100
    assert 1 - (1 - of_fragments) ** 2 == pytest.approx(run.row.loss_share, rel=1e-4)


def test_a_third_of_every_table_is_held_out_and_fitted_parameters_are_marked() -> None:
    for name, rows in (("ring", 39), ("ethernet", 29), ("wideband", 28)):
        file = scenario.load(scenario.find(name))
        held_out = sum(run.row is not None and run.row.held_out for run in file.runs)
        assert len(file.runs) == rows
        assert 0.3 < held_out / rows < 0.4
        assert file.fitted


def test_steady_state_leaves_out_setup_and_the_last_buffer() -> None:
    at = [1.0, 3.0, 4.0, 5.0, 9.0]
    buffers = [Buffer(t, t, t, t, 1000) for t in at[:-1]] + [Buffer(9.0, 9.0, 9.0, 9.0, 500)]
    assert steady(buffers) == pytest.approx(8 * 2 * 1000 / 2.0)  # buffers 1 and 2, from 3.0 to 5.0


def test_buffers_that_all_begin_in_one_burst_have_no_steady_state() -> None:
    assert math.isnan(steady([Buffer(1.0, 1.0, 1.0, 1.0, 1000) for _ in range(4)]))


def test_capacity_knows_framing_cells_and_frames(tmp_path: Path) -> None:
    def of(line: str) -> float:
        text = GOOD.replace('rate = "10Mbit"\ndelay = "5ms"', line).replace('to = "b"', 'to = "b"\npacket_size = 1456')
        run = scenario.load(written(tmp_path, text)).runs[0]
        return capacity(run.tables, run.tables["flow"]["main"])

    assert of('rate = "10Mbit"') == pytest.approx(1e7 * 1456 / 1500)
    assert of('rate = "10Mbit"\nframing = "38B"') == pytest.approx(1e7 * 1456 / 1538)
    assert of('rate = "10Mbit"\nframing = "16B"\ncells = "48/53"') == pytest.approx(1e7 * 1456 / (32 * 53))
    assert of('frames = "20ms 24054bits"') == pytest.approx(2 * 1456 * 8 / 0.020)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([], ["list"]),
        (["--help"], ["--help"]),
        (["ring", "--row", "25"], ["run", "ring", "--row", "25"]),
        (["fit", "ring", "--write"], ["fit", "ring", "--write"]),
        (["compare"], ["compare"]),
    ],
)
def test_the_old_name_means_a_command_of_netblt_plan(old: list[str], new: list[str]) -> None:
    assert plan.renamed(old) == new


def test_the_old_name_still_runs_a_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan.main(["run", "ring", "--row", "25"]) == 0
    wanted = capsys.readouterr().out
    assert suite.main(["experiment", "ring", "--row", "25"]) == 0
    assert capsys.readouterr().out == wanted
    assert suite.main(["experiment"]) == 0
    assert "geostationary " in capsys.readouterr().out
