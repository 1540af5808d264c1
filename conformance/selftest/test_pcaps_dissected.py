# SPDX-License-Identifier: GPL-2.0-or-later
"""tshark with the plugin finds in every committed capture what its expectation says, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PCAPS = ROOT / "pcaps"
CAPTURES = sorted([*(PCAPS / "violations").glob("*.pcapng"), *(PCAPS / "golden").glob("*.pcapng")])
PLUGINS = Path(os.environ.get("NETBLT_PLUGIN_DIR", ROOT / "build" / "plugins"))
NOBODY = 65534
COLUMNS = (
    "frame.number",
    "ip.src",
    "netblt.analysis.requirement",
    "netblt.analysis.verdict",
    "netblt.analysis.offender",
)


@dataclass(frozen=True)
class Finding:
    """What the dissector says of one frame."""

    frame: int
    requirement: str
    verdict: str
    offender: str


@dataclass
class Tshark:
    """tshark with our plugin and nobody's settings.

    As root Wireshark ignores plugins outside of the system's folder, so it runs as nobody, who must be able to read
    what it is given: hence the copies.
    """

    home: Path

    def fields(self, path: Path, *options: str) -> list[list[str]]:
        """The columns of each frame."""
        copy = self.home / path.name
        shutil.copyfile(path, copy)
        copy.chmod(0o644)
        wanted = [argument for column in COLUMNS for argument in ("-e", column)]
        command = ["tshark", *options, "-r", str(copy), "-T", "fields", "-E", "aggregator=;", *wanted]
        as_whom: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "WIRESHARK_PLUGIN_DIR": str(self.home / "plugins"),
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            command, env=environment, cwd=self.home, capture_output=True, text=True, check=False, **as_whom
        )
        assert done.returncode == 0, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]


def findings_in(rows: list[list[str]]) -> list[Finding]:
    """All findings of a capture."""
    found = []
    for number, _, requirements, verdicts, offenders in rows:
        lists = [column.split(";") for column in (requirements, verdicts, offenders) if column]
        assert len({len(column) for column in lists}) <= 1, f"frame {number}: {lists}"
        found += [Finding(int(number), *values) for values in zip(*lists, strict=True)] if lists else []
    return found


@pytest.fixture(scope="module")
def tshark() -> Iterator[Tshark]:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: run tools/setup")
    if not list(PLUGINS.glob("*/epan/netblt.so")):
        told = "NETBLT_PLUGIN_DIR" in os.environ
        (pytest.fail if told else pytest.skip)(f"{PLUGINS} holds no plugin: run tools/build")
    with tempfile.TemporaryDirectory(prefix="netblt-pcaps-") as name:
        home = Path(name)
        home.chmod(0o755)
        shutil.copytree(PLUGINS, home / "plugins")
        yield Tshark(home)


def expectation(path: Path) -> dict[str, Any]:
    """What lies beside a capture."""
    found: dict[str, Any] = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    return found


def matches(finding: Finding, expected: dict[str, Any], address: str) -> bool:
    """Whether the dissector says it of the frame that is wrong, or of one that proves it."""
    return (
        finding.frame in (expected["frame"], *expected["proven_by"])
        and finding.requirement == expected["requirement"]
        and finding.verdict in (expected["verdict"], "suspected")
        and finding.offender == f"{address} {expected['offender_role']}"
    )


def blamed(expected: dict[str, Any], sources: dict[int, str]) -> str:
    """Who emitted the frame, unless it shows what somebody else did not do."""
    address: str = expected.get("offender_address", sources[expected["frame"]])
    return address


def compare(findings: list[Finding], wanted: dict[str, Any], sources: dict[int, str]) -> list[str]:
    """One sentence for everything that differs."""
    complaints = []
    accounted: set[Finding] = set()
    if wanted.get("suspicions_tolerated"):
        accounted |= {finding for finding in findings if finding.verdict == "suspected"}
    for expected in wanted["findings"]:
        hits = {finding for finding in findings if matches(finding, expected, blamed(expected, sources))}
        accounted |= hits
        if not any(finding.verdict == expected["verdict"] for finding in hits):
            complaints.append(f"not found: {expected}")
    for allowed in wanted["tolerated"]:
        address = blamed(allowed, sources)
        accounted |= {finding for finding in findings if matches(finding, allowed, address)}
    return complaints + [
        f"nothing speaks for {finding}" for finding in findings if finding not in accounted and not _of_pace(finding)
    ]


def _of_pace(finding: Finding) -> bool:
    """Forged senders take their time between buffers, which is suspicious and beside the point (ORDER-04, a should)."""
    return finding.requirement == "ORDER-04" and finding.verdict == "suspected"


def sources_in(rows: list[list[str]]) -> dict[int, str]:
    """Who emitted each frame."""
    return {int(row[0]): row[1] for row in rows}


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_two_passes_find_what_is_expected(tshark: Tshark, path: Path) -> None:
    wanted = expectation(path)
    rows = tshark.fields(path, "-2")
    assert len(rows) == wanted["packets"]
    assert compare(findings_in(rows), wanted, sources_in(rows)) == []


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_one_pass_finds_nothing_else(tshark: Tshark, path: Path) -> None:
    wanted = expectation(path)
    rows = tshark.fields(path)
    complaints = compare(findings_in(rows), wanted, sources_in(rows))
    assert [complaint for complaint in complaints if not complaint.startswith("not found")] == []


SOURCES = {1: "10.0.0.1", 2: "10.0.0.2", 3: "10.0.0.1"}
EXPECTED = {
    "findings": [
        {"frame": 2, "requirement": "CTRL-04", "verdict": "violation", "offender_role": "receiver", "proven_by": [3]}
    ],
    "tolerated": [],
}
RIGHT = Finding(2, "CTRL-04", "violation", "10.0.0.2 receiver")


@pytest.mark.parametrize(
    ("findings", "complaints"),
    [
        ([RIGHT], 0),
        ([Finding(3, "CTRL-04", "violation", "10.0.0.2 receiver")], 0),
        ([Finding(2, "CTRL-04", "suspected", "10.0.0.2 receiver"), RIGHT], 0),
        ([], 1),
        ([Finding(2, "CTRL-04", "suspected", "10.0.0.2 receiver")], 1),
        ([RIGHT, Finding(1, "CTRL-04", "violation", "10.0.0.2 receiver")], 1),
        ([RIGHT, Finding(3, "ORDER-02", "suspected", "10.0.0.1 sender")], 1),
        ([Finding(2, "CTRL-04", "violation", "10.0.0.1 receiver")], 2),
        ([Finding(2, "CTRL-04", "violation", "10.0.0.2 sender")], 2),
    ],
)
def test_the_comparison_names_what_differs(findings: list[Finding], complaints: int) -> None:
    assert len(compare(findings, EXPECTED, SOURCES)) == complaints


def test_tolerated_suspicions_excuse_no_violation() -> None:
    wanted = {"findings": [], "tolerated": [], "suspicions_tolerated": True}
    assert compare([Finding(1, "ORDER-02", "suspected", "10.0.0.1 sender")], wanted, SOURCES) == []
    assert len(compare([RIGHT], wanted, SOURCES)) == 1


def test_a_violation_where_a_suspicion_is_tolerated_is_a_fault() -> None:
    wanted = {"findings": [], "tolerated": [{**EXPECTED["findings"][0], "verdict": "suspected"}]}
    assert compare([Finding(2, "CTRL-04", "suspected", "10.0.0.2 receiver")], wanted, SOURCES) == []
    assert len(compare([RIGHT], wanted, SOURCES)) == 1
