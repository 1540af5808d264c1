# SPDX-License-Identifier: GPL-2.0-or-later
"""tshark with the plugin finds in every committed capture what its expectation states, and nothing else.

A start of tshark costs more than to read a capture. So all captures are read at once, as sections of one file, and a
test of its own sees to it that a capture by itself gives the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from netblt_conformance.catalogue import catalogue

from dissector.tests.reader import ROOT, Finding, Reader

PCAPS = ROOT / "pcaps"
CAPTURES = sorted([*(PCAPS / "violations").glob("*.pcapng"), *(PCAPS / "golden").glob("*.pcapng")])
VERDICTS = ("netblt.analysis.requirement", "netblt.analysis.verdict", "netblt.analysis.offender")
COLUMNS = ("frame.section_number", "ip.src", *VERDICTS)


class Reading:
    """What is reported of one capture; its frames are counted from 1."""

    def __init__(self) -> None:
        self.sources: dict[int, str] = {}
        self.findings: list[Finding] = []

    def take(self, source: str, requirements: list[str], verdicts: list[str], offenders: list[str]) -> None:
        """The next frame, who emitted it, and what is found in it."""
        frame = len(self.sources) + 1
        self.sources[frame] = source
        told = zip(requirements, verdicts, offenders, strict=True)
        self.findings += [Finding(frame, *values) for values in told]


def expectation(path: Path) -> dict[str, Any]:
    """What lies beside a capture."""
    found: dict[str, Any] = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    return found


def position_of(path: Path) -> str:
    """Where it was taken, as the preference calls it."""
    position: str = expectation(path).get("capture_position", "auto")
    return position


def read_together(reader: Reader, *options: str) -> dict[Path, Reading]:
    """Every capture, each a section of a file of those that were taken at the same place."""
    readings = {path: Reading() for path in CAPTURES}
    for position in sorted({position_of(path) for path in CAPTURES}):
        mine = [path for path in CAPTURES if position_of(path) == position]
        file = reader.home / f"sections-{position}.pcapng"
        file.write_bytes(b"".join(path.read_bytes() for path in mine))
        preference = ("-o", f"netblt.capture_position:{position}")
        for row in reader.rows(file, *COLUMNS, options=(*preference, *options)):
            section = int(row["frame.section_number"][0])
            readings[mine[section - 1]].take(row["ip.src"][0], *(row[name] for name in VERDICTS))
    return readings


@pytest.fixture(scope="module")
def one_pass(reader: Reader) -> dict[Path, Reading]:
    return read_together(reader)


@pytest.fixture(scope="module")
def two_passes(reader: Reader) -> dict[Path, Reading]:
    return read_together(reader, "-2")


def matches(finding: Finding, expected: dict[str, Any], address: str) -> bool:
    """Whether the dissector reports it at the frame that is wrong, or of one that proves it."""
    return (
        finding.frame in (expected["frame"], *expected["proven_by"])
        and finding.requirement == expected["requirement"]
        and finding.verdict in (expected["verdict"], "suspected")
        and finding.offender == f"{address} {expected['offender_role']}"
    )


def blamed(expected: dict[str, Any], sources: dict[int, str]) -> str:
    """Who emitted the frame, unless it shows what another end did not do."""
    address: str = expected.get("offender_address", sources[expected["frame"]])
    return address


def compare(findings: list[Finding], wanted: dict[str, Any], sources: dict[int, str]) -> list[str]:
    """One sentence for everything that differs."""
    complaints = []
    accounted: set[Finding] = set()
    for expected in wanted["findings"]:
        hits = {finding for finding in findings if matches(finding, expected, blamed(expected, sources))}
        accounted |= hits
        if not any(finding.verdict == expected["verdict"] for finding in hits):
            complaints.append(f"not found: {expected}")
    for allowed in wanted["tolerated"]:
        address = blamed(allowed, sources)
        accounted |= {finding for finding in findings if matches(finding, allowed, address)}
    return complaints + [f"nothing speaks for {finding}" for finding in findings if finding not in accounted]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_two_passes_find_what_is_expected(two_passes: dict[Path, Reading], path: Path) -> None:
    wanted, reading = expectation(path), two_passes[path]
    assert len(reading.sources) == wanted["packets"]
    assert compare(reading.findings, wanted, reading.sources) == []


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_one_pass_finds_nothing_else(one_pass: dict[Path, Reading], path: Path) -> None:
    wanted, reading = expectation(path), one_pass[path]
    complaints = compare(reading.findings, wanted, reading.sources)
    assert [complaint for complaint in complaints if not complaint.startswith("not found")] == []


def read_alone(reader: Reader, paths: list[Path]) -> dict[Path, list[Finding]]:
    """Each capture by itself, opened by one sharkd after the other as in the GUI."""
    columns = {f"column{number}": f"{name}:0" for number, name in enumerate(VERDICTS)}
    asked: list[dict[str, Any]] = []
    for number, path in enumerate(paths):
        copy = str(reader.readable(path))
        where = {"name": "netblt.capture_position", "value": position_of(path)}
        asked.append({"jsonrpc": "2.0", "id": 2_000_000 + number, "method": "setconf", "params": where})
        asked.append({"jsonrpc": "2.0", "id": 1_000_000 + number, "method": "load", "params": {"file": copy}})
        asked.append({"jsonrpc": "2.0", "id": number + 1, "method": "frames", "params": columns})
    done = reader.run("sharkd", "-", stdin="".join(json.dumps(line) + "\n" for line in asked))
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    found: dict[Path, list[Finding]] = {}
    for number, path in enumerate(paths):
        assert answers[1_000_000 + number]["result"] == {"status": "OK"}, path.name
        found[path] = []
        for row in answers[number + 1]["result"]:
            values = [text.split(",") if text else [] for text in row["c"]]
            found[path] += [Finding(row["num"], *one) for one in zip(*values, strict=True)]
    return found


def test_each_capture_by_itself_gives_what_it_gives_among_the_others(
    reader: Reader, two_passes: dict[Path, Reading]
) -> None:
    alone = read_alone(reader, CAPTURES)
    assert alone == {path: reading.findings for path, reading in two_passes.items()}
    assert sum(len(findings) for findings in alone.values()) > len(CAPTURES)


def rules_of_the_plugin() -> dict[str, str]:
    """Requirement and what a capture can prove of it at best."""
    known = catalogue.requirements()
    return {identifier: one.dissector.reach for identifier, one in known.items() if one.dissector}


@pytest.mark.parametrize("reach", ["violation", "suspected"])
def test_each_rule_that_blames_has_a_forged_capture(reach: str) -> None:
    wanted = {requirement for requirement, what in rules_of_the_plugin().items() if what == reach}
    forged = [finding for path in CAPTURES for finding in expectation(path)["findings"]]
    assert wanted - {finding["requirement"] for finding in forged if finding["verdict"] == reach} == set()
    assert len(wanted) > 10


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


def test_a_violation_where_a_suspicion_is_tolerated_is_a_fault() -> None:
    wanted = {"findings": [], "tolerated": [{**EXPECTED["findings"][0], "verdict": "suspected"}]}
    assert compare([Finding(2, "CTRL-04", "suspected", "10.0.0.2 receiver")], wanted, SOURCES) == []
    assert len(compare([RIGHT], wanted, SOURCES)) == 1
