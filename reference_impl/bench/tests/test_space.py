# SPDX-License-Identifier: BSD-2-Clause
"""Paths of satellites: what is physically possible, what is computed, and ends that are driven in virtual time."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from runner.lab import Line  # noqa: E402
from runner.movers.trial import Trial  # noqa: E402
from runner.movers.workloads import make_file  # noqa: E402
from runner.peers import Build  # noqa: E402
from runner.plan import Cell, Step  # noqa: E402
from runner.processes import BenchError  # noqa: E402
from runner.space import cfdp, computed, features, netblt_sim  # noqa: E402
from runner.space.__main__ import Row, shown  # noqa: E402
from runner.space.paths import (  # noqa: E402
    PATHS,
    Phase,
    SpacePath,
    hand_overs,
    least_s,
    outage,
    passes,
    steady,
)
from runner.space.together import carry_out_together  # noqa: E402
from runner.space.virtual import Clock, VirtualLine, VirtualRun  # noqa: E402

BUILD = Build(Path(os.environ.get("NETBLT_BUILD") or BENCH.parents[1] / "build"))
# 12 kb/s carry one packet of full size, 1,472 bytes of data, each second.
LINE = Line("", 0.012, 4000)
PACKET = 1472


def path(bytes_: int, phases: tuple[Phase, ...], line: Line = LINE) -> SpacePath:
    return SpacePath("x", "x", line, bytes_, phases, 1000, real=False)


class TestLeast:
    def test_each_packet_takes_the_line_and_the_last_one_the_way(self) -> None:
        assert least_s(path(10 * PACKET, steady(LINE))) == pytest.approx(10 + 2)

    def test_lost_packets_are_sent_again(self) -> None:
        assert least_s(path(10 * PACKET, steady(LINE), replace(LINE, loss_percent=50))) == pytest.approx(20 + 2)

    def test_nothing_is_sent_while_the_line_is_down(self) -> None:
        assert least_s(path(10 * PACKET, outage(LINE, 4, 100))) == pytest.approx(4 + 100 + 6 + 2)
        assert least_s(path(4 * PACKET, outage(LINE, 4, 100))) == pytest.approx(4 + 2)

    def test_a_file_takes_as_many_passes_as_it_needs(self) -> None:
        phases = passes(LINE, up_s=3, period_s=50, count=3)
        assert least_s(path(7 * PACKET, phases)) == pytest.approx(2 * 50 + 1 + 2)

    def test_the_last_packets_have_the_delay_of_their_phase(self) -> None:
        phases = hand_overs((4000, 8000), every_s=5, gap_s=0.5, count=2)
        assert [(phase.begin_s, phase.up, phase.round_trip_ms) for phase in phases] == [
            (0, True, 4000), (5, False, 4000), (5.5, True, 8000), (10, False, 8000), (10.5, True, 4000),
        ]  # fmt: skip
        assert least_s(path(6 * PACKET, phases)) == pytest.approx(5.5 + 1 + 4)

    def test_no_pass_is_left(self) -> None:
        assert least_s(path(7 * PACKET, passes(LINE, 3, 50, 2))) == float("inf")

    def test_each_path_can_carry_its_file_within_its_limit(self) -> None:
        for one in PATHS:
            assert least_s(one) < one.limit_s, one.key
            assert one.phases[0].begin_s == 0
            assert list(one.phases) == sorted(one.phases, key=lambda phase: phase.begin_s)


class TestComputed:
    def test_waits_double_up_to_the_most(self) -> None:
        assert computed.doubling_s(1, 7) == 127
        assert computed.doubling_s(0.2, 16, 120) == pytest.approx(924.6)

    def test_tcp_cannot_open_where_an_answer_comes_after_the_last_syn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(computed, "setting", lambda _name, usual: usual)
        assert computed.tcp(path(1, steady(Line("", 1, 960_000)))) == (
            "cannot open: gives up after 127 s (computed)"
        )  # fmt: skip

    def test_tcp_ends_in_a_gap_that_is_longer_than_its_retransmissions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(computed, "setting", lambda _name, usual: usual)
        gap = passes(LINE, up_s=5, period_s=5000, count=3)
        assert computed.tcp(path(10 * PACKET, gap)) == "ends in each gap after 925 s, with at most 50% (computed)"
        assert computed.tcp(path(10 * PACKET, passes(LINE, up_s=5, period_s=900, count=3))) == "-"


class Numbers:
    """Sends the numbers up to `count`, one for each free moment of the line; notes what arrives."""

    def __init__(self, count: int, clock: Clock) -> None:
        self._left = list(range(count))
        self._clock = clock
        self.arrived: dict[int, float] = {}

    def take(self, packet: bytes) -> None:
        self.arrived[packet[0]] = self._clock.now_s

    def give(self) -> bytes | None:
        return bytes([self._left.pop(0)]) + bytes(99) if self._left else None


def drive(
    phases: tuple[Phase, ...], count: int, until_s: float, line: Line = LINE, back: int = 0
) -> tuple[Numbers, VirtualLine]:
    clock = Clock()
    ends = Numbers(count, clock), Numbers(back, clock)
    virtual = VirtualLine(path(1, phases, line), ends, clock, 50, 1)
    while clock.now_s < until_s:
        virtual.step()
    return ends[1], virtual


class TestVirtualLine:
    """100 bytes and 50 of headers take 0.1 s of a line of 12 kb/s."""

    def test_packets_follow_each_other_at_the_rate_of_the_line(self) -> None:
        end, virtual = drive(steady(LINE), 3, 10)
        assert end.arrived == {0: pytest.approx(2.1), 1: pytest.approx(2.2), 2: pytest.approx(2.3)}
        assert virtual.wire_bytes == 3 * 150

    def test_what_arrives_meanwhile_makes_no_packet_earlier(self) -> None:
        line = replace(LINE, round_trip_ms=4010)
        end, _ = drive(steady(line), 30, 10, line, back=5)
        assert list(end.arrived.values()) == [pytest.approx(2.105 + number * 0.1) for number in range(30)]

    def test_what_is_sent_while_the_line_is_down_is_lost(self) -> None:
        end, _ = drive(outage(LINE, 0.15, 0.2), 6, 10)
        assert sorted(end.arrived) == [0, 1, 4, 5]

    def test_a_longer_delay_begins_with_its_phase(self) -> None:
        end, _ = drive((Phase(0, True, 4000), Phase(0.15, True, 8000)), 3, 10)
        assert end.arrived[1] == pytest.approx(2.2)
        assert end.arrived[2] == pytest.approx(4.3)

    def test_packets_are_lost_by_chance(self) -> None:
        end, _ = drive(steady(LINE), 100, 20, replace(LINE, loss_percent=30))
        assert 50 < len(end.arrived) < 90


@pytest.mark.skipif(cfdp.missing(BUILD) is not None, reason="needs cfdp-py (tools/bench --space)")
class TestCfdp:
    """8 minutes one way: a transfer of hours in a moment."""

    def test_without_loss_the_file_takes_the_least_and_its_directives(self, tmp_path: Path) -> None:
        line = Line("", 1, 960_000)
        one = replace(path(100_000, steady(line), line), limit_s=10_000)
        run = cfdp.run_virtual(BUILD, make_file(tmp_path, 100_000), one, 1)
        assert run.done
        assert least_s(one) < run.seconds < least_s(one) + 0.1
        assert 1.02 < run.wire_bytes / one.bytes < 1.05

    def test_a_lost_part_takes_another_round_trip(self, tmp_path: Path) -> None:
        line = Line("", 1, 960_000, 5)
        one = replace(path(100_000, steady(line), line), limit_s=30_000)
        run = cfdp.run_virtual(BUILD, make_file(tmp_path, 100_000), one, 1)
        assert run.done
        assert run.seconds > 3 * 480


class TestNetbltSimulated:
    def test_the_scenario_has_the_phases_of_the_path(self) -> None:
        line = Line("", 100, 40, 0.1)
        text = netblt_sim.scenario(path(5000, hand_overs((40, 80), 15, 0.1, 1), line), "auto")
        assert '{ at = "15s", delay = "20ms", loss = "100%" }, { at = "15.1s", delay = "40ms", loss = "0.1%" }' in text
        assert "bytes = 5000" in text

    def test_a_transfer_that_has_not_ended_is_not_done(self) -> None:
        def text(finished: int, seconds: str) -> str:
            return f'{{"runs": [{{"metrics": {{"finished": {finished}, "seconds": {seconds}, "sent": 2}}}}]}}'

        assert netblt_sim.read_result(text(1, "7.5")) == VirtualRun(True, 7.5, 3000)
        assert not netblt_sim.read_result(text(0, "null")).done


class TestTables:
    def test_each_protocol_has_each_feature_and_a_source(self) -> None:
        columns, protocols = features.read()
        assert {"resume", "trees", "acknowledgement", "congestion control", "one way only", "security"} == set(columns)
        assert [one["name"] for one in protocols] == ["netblt", "CFDP", "NORM", "uftp", "QUIC", "TCP"]

    def test_a_feature_that_is_not_stated_is_named(self, tmp_path: Path) -> None:
        file = tmp_path / "features.toml"
        file.write_text('columns = ["trees"]\n[[protocol]]\nname = "x"\nsource = "y"\n')
        with pytest.raises(BenchError, match=r"protocol 1 \(x\): missing or unknown: trees"):
            features.read(file)

    def test_times_are_shown_against_the_least(self) -> None:
        one = path(10 * PACKET, steady(LINE))
        row = Row("uftp", "uftp")
        assert shown(row, one) == "-"
        row.cells["x"] = Cell([VirtualRun(True, 24, 20 * PACKET)])
        assert shown(row, one) == "24.0 s = 2.00 (2.00x)"
        row.cells["x"] = Cell([Trial(1000, 5, 5, done=False, arrived_bytes=5 * PACKET, last_try_bytes=0)])
        assert shown(row, one) == "> 1000 s (50%)"
        row.cells["x"] = Cell(trouble="uftp: failed 3 times: no")
        assert shown(row, one) == "fails"
        row.cells["x"] = Cell(trouble="not installed (uftp)")
        assert shown(row, one) == "-"


class TestTogether:
    def test_what_fails_is_noted_and_costs_no_other_row(self) -> None:
        def bad() -> int:
            raise BenchError("no way")

        cells = [Cell(), Cell(), Cell()]
        carry_out_together([
            Step("x", "good", 1, cells[0], lambda: 7),
            Step("x", "bad", 1, cells[1], bad),
            Step("x", "dies", 1, cells[2], lambda: os._exit(3)),
        ])  # fmt: skip
        assert cells[0].samples == [7]
        assert cells[1].trouble == "no way"
        assert cells[2].trouble == "the measurement ended with status 3"
