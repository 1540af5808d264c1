# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports as lines (-z netblt,NAME,lines) and findings while the capture is read (-z netblt,findings): they state what
the JSON document and the packets show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dissector.tests.forge import Trace, write_pcapng
from dissector.tests.reader import ROOT, Reader

CAPTURES = [
    ROOT / "pcaps" / "golden" / "lossy-transfer.pcapng",
    ROOT / "pcaps" / "violations" / "ctrl04-lowest-forgotten.pcapng",
    ROOT / "pcaps" / "offload" / "offloaded-transfer.pcapng",
]


def lines(reader: Reader, path: Path, what: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in reader.tshark(path, "-q", "-z", f"netblt,{what}").splitlines()]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_lines_and_the_document_say_the_same_of_every_rule_that_was_tested(reader: Reader, path: Path) -> None:
    document = json.loads(reader.tshark(path, "-q", "-z", "netblt,verdict,json"))
    header, *rows = lines(reader, path, "verdict,lines")
    constants = {rule["requirement"]: rule for rule in header["requirements"]}
    assert len(rows) == len(document["connections"])
    for row, connection in zip(rows, document["connections"], strict=True):
        tested = {rule["requirement"]: rule for rule in row["requirements"]}
        assert (row["stream"], row["ends"]) == (connection["stream"], connection["ends"])
        for rule in connection["requirements"]:
            short = {**constants[rule["requirement"]], **tested.get(rule["requirement"], {})}
            assert (rule["verdict"] == "not observable") == (rule["requirement"] not in tested)
            for key in rule.keys() - {"verdict", "estimates", "unknown"}:
                assert (short.get(key) or None) == (rule[key] or None)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_the_summary_as_lines_is_the_summary(reader: Reader, path: Path) -> None:
    document = json.loads(reader.tshark(path, "-q", "-z", "netblt,summary,json"))
    header, *rows = lines(reader, path, "summary,lines")
    assert header == {"report": "summary", "filter": None}
    assert [{"estimates": [], "unknown": [], **row} for row in rows] == document["connections"]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_findings_are_those_of_the_packets(reader: Reader, path: Path) -> None:
    found = [
        (row["frame"], row["requirement"], row["verdict"], row["offender"]) for row in lines(reader, path, "findings")
    ]
    shown = [(one.frame, one.requirement, one.verdict, one.offender) for one in reader.findings(path)]
    assert found == shown


def test_a_damaged_packet_is_a_line_with_its_addresses(reader: Reader, capture: Path) -> None:
    trace = Trace()
    trace.open()
    bad = trace.response(corrupt=True)
    row = next(row for row in lines(reader, trace.save(capture), "findings") if "damaged" in row)
    assert (row["frame"], row["damaged"], row["source"], row["destination"]) == (bad, "header", "10.0.0.2", "10.0.0.1")


def test_the_name_of_an_interface_cannot_steer_a_terminal(reader: Reader, capture: Path) -> None:
    trace = Trace()
    trace.open(corrupt=False)
    trace.response(corrupt=True)
    name = "eth\x1b[2J\u202e\u0085\u200b0"
    text = reader.tshark(write_pcapng(capture, trace.frames, interfaces=(name,)), "-q", "-z", "netblt,findings")
    assert text.replace("\n", "").isprintable()
    assert name in {json.loads(line)["interface"] for line in text.splitlines()}
