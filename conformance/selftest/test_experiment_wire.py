# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenarios over real packets: short, and with bands that a busy machine keeps."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from netblt_conformance import cli
from netblt_conformance.experiment import scenario, wire
from netblt_conformance.experiment.compare import Line, table
from netblt_conformance.experiment.scenario import ScenarioError

SCENARIO = """
title = "a slow line"
duration = "3s"
[link.line]
rate = "4Mbit"
delay = "5ms"
queue = "100ms"
[host.a]
[host.b]
[flow.main]
from = "a"
to = "b"
packet_size = 1024
buffer_size = 32768
burst_size = 2
burst_interval_ms = 10
[[run]]
name = "1.64 of 4 Mb/s"
expect = [{ metric = "goodput", at_least = 0.4, at_most = 1.7 }]
[[run]]
name = "two links"
"""

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("nsenter") is None or shutil.which("unshare") is None,
    reason="network namespaces need root and util-linux",
)


@needs_root
def test_a_run_over_real_packets_keeps_its_rate_and_leaves_a_capture(tmp_path: Path) -> None:
    file, capture = tmp_path / "line.toml", tmp_path / "line.pcapng"
    file.write_text(SCENARIO, encoding="utf-8")
    words = ["experiment", str(file), "--link", "wire", "--row", "1.64 of 4 Mb/s", "--capture", str(capture)]
    assert cli.main(words) == 0
    assert capture.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("[host.a]", '[link.other]\nrate = "1Mbit"\n[host.a]'), "exactly one link"),
        (('delay = "5ms"', 'changes = [{ at = "1s", delay = "9ms" }]'), "the relay cannot change"),
        (("packet_size = 1024", "packet_size = 4096"), "does not fit the 1500 bytes"),
        (("[[run]]", '[cross.c]\nrate = "1Mbit"\n[[run]]'), "no cross traffic"),
    ],
)
def test_what_real_packets_cannot_do_is_refused_before_anything_starts(
    tmp_path: Path, change: tuple[str, str], what: str
) -> None:
    file = tmp_path / "line.toml"
    text = SCENARIO.replace(change[0], change[1], 1).replace('to = "b"', 'to = "b"\nroute = ["line"]')
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=what):
        wire.run_once(scenario.load(file).runs[0], 1, 1.0, None)


def test_a_program_that_is_missing_stands_in_the_table_with_its_reason() -> None:
    text = table([Line("TCP", 1e6, 0.5, 0.25), Line("nuttcp", None, 0.0, 0.0, "nuttcp is not installed")])
    assert "1.000" in text
    assert "nuttcp is not installed" in text
