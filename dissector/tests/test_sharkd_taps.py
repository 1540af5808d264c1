# SPDX-License-Identifier: GPL-2.0-or-later
"""The dialogs of the GUI, requested over JSON-RPC: sharkd fills the same tables, and reports the same as tshark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dissector.tests.reader import ROOT, Reader

GOLDEN = ROOT / "pcaps" / "golden" / "lossy-transfer.pcapng"
TAPS = {
    "tap0": "nstat:netblt,table,summary",
    "tap1": "nstat:netblt,table,buffers",
    "tap2": "nstat:netblt,table,messages",
    "tap3": "srt:netblt",
    "tap4": "stat:netblt",
    "tap5": "conv:NETBLT",
    "tap6": "endpt:NETBLT",
    "tap7": "seqa:netblt",
    "tap8": "nstat:netblt,table,verdict",
}


@pytest.fixture(scope="module")
def golden(reader: Reader) -> Path:
    return reader.readable(GOLDEN)


def ask(reader: Reader, path: Path, *requests: dict[str, Any]) -> list[Any]:
    """The answers to the requests; frames in between leave no trace in the tables."""
    load = {"method": "load", "params": {"file": str(path)}}
    lines = [json.dumps({"jsonrpc": "2.0", "id": i, **request}) for i, request in enumerate((load, *requests), 1)]
    done = reader.run("sharkd", "-", stdin="\n".join(lines) + "\n")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines), done.stdout[-500:] + done.stderr[-500:]
    return [answer["result"] for answer in answers[1:]]


def tables(result: Any) -> dict[str, Any]:
    return {tap["tap"].replace("stats:", "stat:"): tap for tap in result["taps"]}


def rows(tap: Any) -> list[list[str]]:
    return [[str(cell).strip() for cell in row] for row in tap["tables"][0]["i"]]


@pytest.fixture(scope="module")
def taps(reader: Reader, golden: Path) -> dict[str, Any]:
    found = tables(ask(reader, golden, {"method": "tap", "params": TAPS})[0])
    assert set(found) == set(TAPS.values())
    return found


def test_the_connection_table_equals_the_report(reader: Reader, golden: Path, taps: dict[str, Any]) -> None:
    report = json.loads(reader.tshark(golden, "-q", "-z", "netblt,summary,json"))["connections"]
    found = {row[0]: row for row in rows(taps["nstat:netblt,table,summary"])}
    assert len(found) == len(report) == 2
    for connection in report:
        row = found[str(connection["stream"])]
        assert row[1:3] == [connection["ends"]["sender"], connection["ends"]["receiver"]]
        assert row[3:6] == [connection["bs_bi"], str(connection["psz"]), str(connection["bfsz"])]
        assert [cell.rstrip("~") for cell in row[8:11]] == [str(connection[key]) for key in ("loss", "rxm", "dtmos")]
        assert row[8].endswith("~")
        assert float(row[12].rstrip("~")) == pytest.approx(connection["steady_mbps"], abs=1e-4)


@pytest.mark.parametrize(
    ("name", "table", "key"), [("buffers", "buffers", "buffer"), ("messages", "redundancy", "seq")]
)
def test_the_other_tables_have_a_row_for_each(
    reader: Reader, golden: Path, taps: dict[str, Any], name: str, table: str, key: str
) -> None:
    report = json.loads(reader.tshark(golden, "-q", "-z", f"netblt,{table},json"))["connections"]
    expected = [(str(c["stream"]), str(row[key])) for c in report for row in c[name]]
    assert sorted((row[0], row[1]) for row in rows(taps[f"nstat:netblt,table,{name}"])) == sorted(expected)


ORDER = ("not observable", "passed", "suspected", "violation")  # from good to bad


def summed_up(reader: Reader, path: Path) -> dict[str, list[str]]:
    """The rows of the verdict table, from the report of each connection: the worst verdict, counts, first frames."""
    found: dict[str, list[dict[str, Any]]] = {}
    for connection in json.loads(reader.tshark(path, "-q", "-z", "netblt,verdict,json"))["connections"]:
        for row in connection["requirements"]:
            found.setdefault(row["requirement"], []).append(row)
    table = {}
    for requirement, same in found.items():
        proofs, passed = ([row[key] for row in same if row[key]] for key in ("proof_frame", "first_passed_frame"))
        offenders = list(dict.fromkeys(one for row in same for one in (row["offender"] or "").split(", ") if one))
        cells = [
            max((row["verdict"] for row in same), key=ORDER.index),
            *(sum(row[key] for row in same) for key in ("violations", "suspicions", "observations")),
            min(proofs, default="-"),
            min(passed, default="-"),
            ", ".join(offenders) or "-",
            same[0]["summary"],
        ]
        table[requirement] = [str(cell) for cell in cells]
    return table


@pytest.mark.parametrize(
    "name", ["golden/lossy-transfer", "violations/ctrl04-new-messages-alone", "violations/order02-progress-first"]
)
def test_the_verdict_table_sums_up_the_report(reader: Reader, name: str) -> None:
    path = reader.readable(ROOT / "pcaps" / f"{name}.pcapng")
    tap = {"method": "tap", "params": {"tap0": "nstat:netblt,table,verdict"}}
    shown = rows(tables(ask(reader, path, tap)[0])["nstat:netblt,table,verdict"])
    wanted = summed_up(reader, path)
    assert [row[0] for row in shown] == list(wanted)
    assert {row[0]: [*row[1:5], row[6], *row[8:]] for row in shown} == wanted
    assert "passed" in {row[1] for row in shown}
    assert ("violation" in {row[1] for row in shown}) == name.startswith("violations")


def test_response_times_and_counts_come_too(reader: Reader, golden: Path, taps: dict[str, Any]) -> None:
    calls = {row["n"]: row["num"] for row in taps["srt:netblt"]["tables"][0]["r"]}
    assert calls["GO to OK of the buffer"] == 30
    nodes = {node["name"]: node["count"] for node in taps["stat:netblt"]["stats"]}
    frames = reader.rows(golden, "frame.number")
    assert nodes["Packets"] == len(frames)
    assert len(taps["conv:NETBLT"]["convs"]) == 2
    assert {end["host"] for end in taps["endpt:NETBLT"]["hosts"]} == {"10.0.0.1", "10.0.0.2"}
    assert len(taps["seqa:netblt"]["flows"]) == len(frames)


def test_asking_twice_and_in_between_changes_nothing(reader: Reader, golden: Path, taps: dict[str, Any]) -> None:
    tap = {"method": "tap", "params": TAPS}
    frames = [{"method": "frame", "params": {"frame": number, "proto": True}} for number in (300, 2, 160, 60)]
    answers = ask(reader, golden, *frames[:2], tap, *frames[2:], tap)
    for result in (answers[2], answers[5]):
        assert tables(result) == taps


def test_a_conversation_filter_finds_its_packets(reader: Reader, golden: Path, taps: dict[str, Any]) -> None:
    """What "Apply as filter" in the conversations dialog makes."""
    conversation = taps["conv:NETBLT"]["convs"][0]
    found = reader.rows(golden, "netblt.port", options=("-Y", conversation["filter"]))
    assert {port for row in found for port in row["netblt.port"]} == {"1", "1024"}
    assert len(found) == len(reader.rows(golden, "frame.number"))
