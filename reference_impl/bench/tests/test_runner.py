# SPDX-License-Identifier: BSD-2-Clause
"""The arithmetic of the benchmark, and that nothing of it remains."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from runner import report  # noqa: E402
from runner.files import FILE_BYTES, MOVERS  # noqa: E402
from runner.lab import Lab, Line, intervals_within  # noqa: E402
from runner.lateness import ROWS as PACED  # noqa: E402
from runner.lateness import PacedNetblt  # noqa: E402
from runner.measure import settled_bps  # noqa: E402
from runner.peers import Account, Build, buffers_for, merged, whole_bursts  # noqa: E402
from runner.plan import Cell, Step, carry_out, clock  # noqa: E402
from runner.processes import BenchError, Program, run  # noqa: E402

BUILD = Path(os.environ.get("NETBLT_BUILD") or BENCH.parents[1] / "build")
namespaces = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces (or run in unshare -Urn)")


class TestArithmetic:
    @pytest.mark.parametrize(
        "where", [["--json", "/tmp/x"], ["--json=/tmp/x"], ["--update-docs"], ["--update-docs", "--json", "--json"]]
    )
    def test_a_page_states_what_was_measured_and_not_where_it_was_written(self, where: list[str]) -> None:
        assert report.measuring(["--limit", "30", *where, "--full"]) == ["--limit", "30", "--full"]

    def test_intervals_count_only_for_the_part_that_lies_within(self) -> None:
        # 100 bytes in each of [10.0, 10.1), [10.1, 10.2), [10.2, 10.3)
        counts = [100, 100, 100]
        assert intervals_within(counts, 0.1, 10.0, 10.0, 10.3) == pytest.approx(300)
        assert intervals_within(counts, 0.1, 10.0, 10.05, 10.15) == pytest.approx(100)
        assert intervals_within(counts, 0.1, 10.0, 10.3, 11) == pytest.approx(0)
        assert intervals_within(counts, 0.1, 10.0, 9, 11) == pytest.approx(300)

    @pytest.mark.parametrize("mbit", [1, 10, 45.5, 100, 1000])
    def test_a_fixed_rate_never_exceeds_the_line_and_nearly_reaches_it(self, mbit: float) -> None:
        size, interval_ms = whole_bursts(Line("", mbit, 100), 1500)
        assert size >= 4
        assert 0.98 <= size * 1500 * 8 / interval_ms / 1000 / mbit <= 1 + 1e-9
        assert interval_ms >= 4  # forgives a millisecond of lateness

    @pytest.mark.parametrize(("round_trip_ms", "most_ms"), [(1, 6), (100, 12), (600, 75)])
    def test_bursts_come_often_in_a_round_trip(self, round_trip_ms: float, most_ms: int) -> None:
        # 100 Mb/s are 25 packets of 1,500 bytes in 3 ms, so every third interval fits exactly
        assert whole_bursts(Line("", 100, round_trip_ms), 1500) == (most_ms * 25 // 3, most_ms)

    def test_a_line_too_slow_for_bursts_is_named(self) -> None:
        with pytest.raises(BenchError, match=r"0\.1 Mb/s"):
            whole_bursts(Line("", 0.1, 100), 1500)

    def test_outstanding_buffers_hold_three_lines_full_and_two_more(self) -> None:
        line = Line("", 100, 600)
        assert buffers_for(line) * 88 * 1448 >= 3 * 100e6 / 8 * 0.6 + 88 * 1448

    @pytest.mark.parametrize("peer", PACED, ids=lambda peer: peer.key)
    def test_a_sender_whose_lateness_is_measured_has_its_own_pace(self, peer: PacedNetblt) -> None:
        words = peer.sender(Build(BUILD), None, 2)
        assert words.count("--interval") == words.count("--burst") == words.count("--lateness") == 1
        assert words[words.index("--interval") + 1] == str(peer.interval_ms) != "0"
        assert words[words.index("--burst") + 1] == str(peer.burst_packets)

    def test_only_iperf_may_leave_the_end_of_a_file_behind(self) -> None:
        assert [mover.key for mover in MOVERS if mover.least_bytes != FILE_BYTES] == ["iperf3-file"]

    def test_transfers_in_a_row_are_added_where_they_happened(self) -> None:
        one = Account(30, 5.0, 5.3, 0.1, [10, 10, 10])
        other = Account(20, 5.5, 5.7, 0.1, [5, 15])
        both = merged([one, other])
        assert both.bytes == 50
        assert both.intervals == [10, 10, 10, 0, 0, 5, 15]
        assert both.last_s == 5.7

    def test_the_second_half_leaves_the_start_out(self) -> None:
        # 4 intervals of 0.1 s: 10 and 30 bytes, then 100 and 60, the last of which came within half an interval
        account = Account(200, 5.0, 5.35, 0.1, [10, 30, 100, 60])
        assert settled_bps(account) == pytest.approx((15 + 100 + 60 * 0.5) * 8 / 0.2)
        assert settled_bps(Account(10, 5.0, 5.01, 0.1, [10])) == pytest.approx(8000)

    @pytest.mark.parametrize(("seconds", "text"), [(9, "9 s"), (61, "1 min 01 s"), (7260, "2 h 01 min")])
    def test_time_left_is_told_as_people_say_it(self, seconds: float, text: str) -> None:
        assert clock(seconds) == text


class TestPlan:
    def test_a_row_that_fails_costs_no_other(self, capsys: pytest.CaptureFixture[str]) -> None:
        def broken() -> float:
            raise BenchError("the peer is not well")

        bad, good = Cell(), Cell()
        carry_out([Step("r", "bad", 1, bad, broken), Step("r", "good", 1, good, lambda: 7.0)])
        assert (bad.samples, bad.trouble) == ([], "the peer is not well")
        assert good.samples == [7.0]
        told = capsys.readouterr().err
        assert "[1/2] r: bad" in told
        assert "the peer is not well" in told


class TestReport:
    def test_only_what_stands_between_the_marks_is_replaced(self, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
        report.update_page(page, "new")
        assert page.read_text() == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"

    def test_a_page_without_marks_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text("nothing\n")
        with pytest.raises(BenchError, match="marks"):
            report.update_page(page, "new")
        assert page.read_text() == "nothing\n"


class TestPrograms:
    def test_its_cpu_time_is_counted(self) -> None:
        with Program([sys.executable, "-c", "sum(range(5_000_000))"]) as program:
            ended = program.wait(60)
        assert ended is not None
        assert ended.status == 0
        assert 0.01 < ended.cpu_s < 60

    def test_one_that_ignores_being_asked_is_ended_all_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("runner.processes.GRACE_S", 0.3)
        with Program(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"]) as program:
            while "ready" not in program.peek():
                time.sleep(0.01)
            assert program.end().status == -signal.SIGKILL


def children(pid: int) -> set[int]:
    """Of all threads."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found |= {int(word) for word in task.read_text().split()}
    return found


@namespaces
class TestLab:
    def test_hosts_reach_each_other_and_nothing_else(self) -> None:
        with Lab() as lab:
            lab.connect()
            table = run(["ip", "-br", "address"], namespace=lab.a)
            assert "10.99.0.1/24" in table
            assert {line.split()[0].split("@")[0] for line in table.splitlines()} <= {"lo", "eth0"} | {
                name for name in table.split() if name.startswith(("tunl", "gre", "sit", "ip6", "erspan", "ip_vti"))
            }

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    @pytest.mark.skipif(not (BUILD / "bin" / "peers" / "tcp_memory").exists(), reason="not built (tools/build)")
    def test_however_it_ends_its_programs_and_namespaces_end_too(self, number: signal.Signals) -> None:
        argv = [sys.executable, "-m", "runner", "--build", str(BUILD), "--rows", "tcp-cubic", "--path-seconds", "30",
                "--seconds", "30"]  # fmt: skip
        bench = subprocess.Popen(argv, cwd=BENCH, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            seen: set[int] = set()
            until = time.monotonic() + 20
            while time.monotonic() < until and len(children(bench.pid)) < 4:  # two hosts, a receiver and a sender
                time.sleep(0.05)
            seen = children(bench.pid)
            assert len(seen) >= 4, "it never came so far"
            bench.send_signal(number)
            bench.wait(20)
            until = time.monotonic() + 5
            while time.monotonic() < until and any(Path(f"/proc/{pid}").exists() for pid in seen):
                time.sleep(0.05)
            assert [pid for pid in seen if Path(f"/proc/{pid}").exists()] == []
        finally:
            bench.kill()
            bench.wait()
        assert bench.returncode in (130, 143, -signal.SIGKILL)
