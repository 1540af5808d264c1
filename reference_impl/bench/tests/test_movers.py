# SPDX-License-Identifier: BSD-2-Clause
"""Movers of files: copies are compared byte by byte, and what happens on the way happens."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from runner.lab import Line  # noqa: E402
from runner.movers.__main__ import shown  # noqa: E402
from runner.movers.tools import Netblt, Stage  # noqa: E402
from runner.movers.trial import Event, Trial, try_once  # noqa: E402
from runner.movers.workloads import difference, make_file, make_tree, make_zoo  # noqa: E402
from runner.peers import Build  # noqa: E402
from runner.plan import Cell  # noqa: E402
from runner.processes import BenchError, Program  # noqa: E402

BUILD = Build(Path(os.environ.get("NETBLT_BUILD") or BENCH.parents[1] / "build"))
namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or not BUILD.flakeway.exists(), reason="needs root for network namespaces, and flakeway"
)
LINE = Line("", 40, 10)
LIMIT_S = 40.0


class TestDifference:
    def test_equal_trees(self, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        one = make_tree(tmp_path, 50, 100_000)
        other = make_tree(tmp_path / "other", 50, 100_000)
        assert one.bytes == pytest.approx(100_000, rel=0.01)
        assert difference(one.source, other.source) is None

    @pytest.mark.parametrize(
        ("fault", "words"),
        [
            (lambda root: (root / "d0" / "f3").unlink(), "1 of 50 files are missing, such as 'd0/f3'"),
            (lambda root: (root / "d0" / "more").touch(), "1 files too many, such as 'd0/more'"),
            (lambda root: (root / "d1" / "f41").write_bytes(b""), "'d1/f41' has other bytes"),
        ],
    )
    def test_each_difference_is_named(self, tmp_path: Path, fault: object, words: str) -> None:
        (tmp_path / "other").mkdir()
        one, other = make_tree(tmp_path, 50, 100_000), make_tree(tmp_path / "other", 50, 100_000)
        assert callable(fault)
        fault(other.source)
        assert difference(one.source, other.source) == words

    def test_one_changed_byte(self, tmp_path: Path) -> None:
        file = make_file(tmp_path, 2_000_000)
        copy = tmp_path / "copy"
        content = bytearray(file.source.read_bytes())
        copy.write_bytes(content)
        assert difference(file.source, copy) is None
        content[-1] ^= 1
        copy.write_bytes(content)
        assert difference(file.source, copy) == "'file-2MB' has other bytes"

    def test_one_of_each_has_what_movers_lose(self, tmp_path: Path) -> None:
        root = make_zoo(tmp_path).source
        assert (root / "hole").stat().st_blocks * 512 < (root / "hole").stat().st_size
        assert (root / "link").is_symlink()


class TestCells:
    def test_a_transfer_that_is_not_done_shows_how_far_it_came(self) -> None:
        late = Trial(60.0, 500, 1000, done=False, arrived_bytes=720, last_try_bytes=0)
        done = Trial(2.0, 1100, 1000, done=True, arrived_bytes=1000, last_try_bytes=0)
        assert shown(Cell([done])) == "2.0 s (1.10x)"
        assert shown(Cell([done, late])) == "> 60 s (72%)"
        assert shown(Cell(trouble="not installed (x)")) == "-"
        assert shown(Cell(trouble="x: failed 3 times")) == "fails"


class Liar(Netblt):
    """Reports success and moves nothing."""

    def sender(self, stage: Stage) -> Program:
        return stage.start(["sleep", "0.3"], sends=True)

    def receiver(self, stage: Stage) -> Program:
        return stage.start(["true"], sends=False)


class Quitter(Liar):
    def sender(self, stage: Stage) -> Program:
        return stage.start(["sh", "-c", "echo no way >&2; exit 1"], sends=True)


@namespaces
class TestTransfers:
    def test_bytes_on_the_line_are_counted_both_ways(self, tmp_path: Path) -> None:
        trial = try_once(BUILD, Netblt(), make_file(tmp_path, 1_000_000), LINE, 1, None, LIMIT_S)
        assert trial.done
        assert 1.01 < trial.wire_ratio < 3

    def test_an_outage_takes_its_time(self, tmp_path: Path) -> None:
        event = Event(0.4, outage_s=2.0)
        trial = try_once(BUILD, Netblt(), make_file(tmp_path, 2_000_000), LINE, 1, event, LIMIT_S)
        assert trial.done
        assert trial.seconds > 2.0

    def test_both_ends_are_killed_and_started_again(self, tmp_path: Path) -> None:
        trial = try_once(BUILD, Netblt(), make_file(tmp_path, 2_000_000), LINE, 1, Event(0.4, kills=True), LIMIT_S)
        assert trial.done
        assert trial.wire_bytes - trial.last_try_bytes >= 0.4 * trial.payload_bytes

    def test_success_without_the_bytes_is_found(self, tmp_path: Path) -> None:
        with pytest.raises(BenchError, match="reported success, and 1 of 1 files are missing"):
            try_once(BUILD, Liar(), make_file(tmp_path, 1000), LINE, 1, None, LIMIT_S)

    def test_failure_is_tried_again_and_named(self, tmp_path: Path) -> None:
        with pytest.raises(BenchError, match="failed 3 times: no way"):
            try_once(BUILD, Quitter(), make_file(tmp_path, 1000), LINE, 1, None, LIMIT_S)
