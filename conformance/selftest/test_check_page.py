# SPDX-License-Identifier: GPL-2.0-or-later
"""check --html: the page that draws what happened in captures from anywhere."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.check import page
from netblt_conformance.check.judge import Checked
from netblt_conformance.common import paths
from netblt_conformance.judges.tshark import plugin_folder
from selftest.page_reader import PageReader

if TYPE_CHECKING:
    from selftest.conftest import Command

VIOLATIONS = paths.root() / "pcaps" / "violations"
VIOLATING = VIOLATIONS / "order02-progress-first.pcapng"
SUSPECTED = VIOLATIONS / "ctrl04-like-split-queue.pcapng"

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None or not list(plugin_folder().glob("*/epan/netblt.so")), reason="no tshark or plugin"
)


def shown(command: Command, file: Path, *captures: Path) -> PageReader:
    command("check", "--html", str(file), *map(str, captures))
    return PageReader(file.read_text(encoding="utf-8"))


def test_the_page_has_a_row_for_each_conclusion_and_draws_what_did_not_pass(command: Command, tmp_path: Path) -> None:
    found = shown(command, tmp_path / "page.html", VIOLATING, SUSPECTED)
    assert found.open == []
    assert found.fetched == []
    against = [row for row in found.rows if row["badge"] in ("FAIL", "INCONC")]
    assert {row["badge"] for row in against} == {"FAIL", "INCONC"}
    for row in against:
        detail = found.detail(row)
        assert detail["deciding"] >= 0
        assert f"frame {detail['deciding_frame']}" in detail["sentence"]
        assert detail["expected"]
        assert detail["observed"]
        assert "NETBLT" in detail["tree"]
        assert (tmp_path / detail["capture_link"]).resolve().parent == VIOLATIONS
    (violated,) = [row for row in against if row["badge"] == "FAIL"]
    assert violated["requirements"] == "ORDER-02"
    assert found.detail(violated)["sentence"].startswith("The sender at 10.0.0.1 violates ORDER-02")
    assert {row["badge"] for row in found.rows} == {"FAIL", "INCONC", "PASS"}


@pytest.mark.parametrize("form", ["pcap", "gz"])
def test_captures_of_other_formats_are_drawn_too(command: Command, tmp_path: Path, form: str) -> None:
    capture = tmp_path / f"capture.{form}"
    if form == "gz":
        capture.write_bytes(gzip.compress(VIOLATING.read_bytes()))
    else:
        subprocess.run(["editcap", "-F", "pcap", VIOLATING, capture], check=True)
    found = shown(command, tmp_path / "page.html", capture)
    (violated,) = [row for row in found.rows if row["badge"] == "FAIL"]
    assert len(found.detail(violated)["events"]) > 10


def test_of_very_many_rows_those_that_did_not_pass_are_kept(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = shown(command, tmp_path / "page.html", VIOLATING)
    assert len(whole.rows) > 20
    monkeypatch.setattr(page, "ROWS_MOST", 1)
    from netblt_conformance.check.judge import judge
    from netblt_conformance.judges.tshark import Tshark

    with Tshark() as tshark, VIOLATING.open("rb") as file:
        checked: Checked = judge(tshark, file, str(VIOLATING))
    page.write(tmp_path / "small.html", [checked], {})
    small = PageReader((tmp_path / "small.html").read_text(encoding="utf-8"))
    assert [row["badge"] for row in small.rows] == ["FAIL"]
    assert f"{len(whole.rows) - 1} rows; --json has all" in small.words


def test_a_page_that_cannot_be_written_is_named(command: Command, tmp_path: Path) -> None:
    done = command("check", "--html", str(tmp_path / "no" / "page.html"), str(VIOLATING))
    assert done.status == 2
    assert "page.html" in done.errors
