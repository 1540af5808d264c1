# SPDX-License-Identifier: GPL-2.0-or-later
"""What tshark -z netblt,... reports, against what was forged or against a second computation from the frames."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from dissector.tests import forge
from dissector.tests.forge import CONTROL, DATA, DONE, LDATA, NS, RESPONSE, Frame, Trace, write_pcapng
from dissector.tests.reader import ROOT, Reader
from dissector.tests.traffic import POSITIONS, Transfer, random_settings

PACKETS, PACKET_BYTES = 4, 512  # of a full buffer
STEP_S = 0.001  # between the frames of a Trace


def report(reader: Reader, path: Path, name: str, *arguments: str) -> list[dict[str, Any]]:
    found = json.loads(reader.tshark(path, "-q", "-z", ",".join(("netblt", name, "json", *arguments))))
    assert found["report"] == name
    assert found["filter"] == (arguments[0] if arguments else None)
    connections: list[dict[str, Any]] = found["connections"]
    return connections


def moment(frame: int) -> Any:
    return pytest.approx((frame - 1) * STEP_S)


class Forged:
    """Three buffers; a packet of the first never reached the capture, and its RESEND was sent twice."""

    def __init__(self, home: Path) -> None:
        t = self.trace = Trace(packet_size=PACKET_BYTES)
        self.open, self.response = t.open(), t.response()
        raw = t.frames[-1].data[20:]
        self.burst_size, self.interval_ms, _, _, self.max_buffers = struct.unpack(">5H", raw[26:36])
        assert struct.unpack(">I", raw[16:20]) == (PACKETS * PACKET_BYTES,)
        self.go = t.control(forge.go(1, 0), forge.go(2, 1))
        self.first = t.buffer(0, 2, PACKETS, skip=[2])
        self.second = t.buffer(1, 2, PACKETS)
        self.resend = t.control(forge.resend(3, 0, [2]))
        self.resend_again = t.control(forge.resend(3, 0, [2]), forge.ok(4, 1), forge.go(5, 2))
        self.repair = t.data(0, 2, 5)
        self.ok = t.control(forge.ok(6, 0))
        self.third = t.buffer(2, 6, 3, last=True)
        self.last_ok = t.control(forge.ok(7, 2))
        self.ack = t.null_ack(7)
        self.late = t.control(forge.ok(7, 2))
        self.done = t.header_only(DONE, by_sender=False)
        self.path = t.save(home / "forged.pcapng")


@pytest.fixture(scope="module")
def forged(reader: Reader) -> Forged:
    return Forged(reader.home)


def test_the_summary_has_the_columns_of_rfc_1030(reader: Reader, forged: Forged) -> None:
    (row,) = report(reader, forged.path, "summary")
    assert row["ends"] == {"sender": "10.0.0.1:1000", "receiver": "10.0.0.2:1"}
    assert row["bs_bi"] == f"{forged.burst_size}/{forged.interval_ms}"
    assert (row["psz"], row["bfsz"], row["nbufs"]) == (PACKET_BYTES, PACKETS * PACKET_BYTES, forged.max_buffers)
    sent = (2 * PACKETS + 3) * PACKET_BYTES
    assert row["xfsz"] == pytest.approx(sent / 1000)
    assert (row["loss"], row["rxm"], row["dtmos"], row["buffers"], row["end"]) == (1, 1, 1, 3, "DONE")
    real_s = (forged.done - forged.open) * STEP_S
    assert row["real_mbps"] == pytest.approx(sent * 8 / real_s / 1e6, rel=1e-6)
    # One full buffer lies between the first packets of the first and of the second, which is the last full one.
    steady_s = (forged.second[0] - forged.first[0]) * STEP_S
    assert row["steady_mbps"] == pytest.approx(PACKETS * PACKET_BYTES * 8 / steady_s / 1e6, rel=1e-6)
    assert {"loss", "dtmos"} <= set(row["estimates"])
    assert row["unknown"] == []


def test_what_the_capture_cannot_show_is_marked(reader: Reader) -> None:
    trace = Trace(packet_size=PACKET_BYTES)
    trace.control(forge.go(1, 0))
    trace.buffer(0, 1, PACKETS)
    path = trace.save(reader.home / "headless.pcapng")
    (row,) = report(reader, path, "summary")
    assert {"bs_bi", "psz", "bfsz", "nbufs", "steady_mbps"} <= set(row["unknown"])
    assert row["psz"] is None
    assert "real_mbps" in row["estimates"]
    text = reader.tshark(path, "-q", "-z", "netblt,summary")
    assert re.search(r"10\.0\.0\.1:1000 +10\.0\.0\.2:1 +\? +\? +\?", text)


@pytest.mark.parametrize(("numbers", "estimated"), [((0, 7, 14), False), ((0, 1, 2), False), ((0, 7, 9), True)])
def test_buffers_are_counted_by_their_gos(
    reader: Reader, capture: Path, numbers: tuple[int, ...], estimated: bool
) -> None:
    """RFC 998 8: numbers increase by whatever step. In the last transfer the data of buffer 8 were not captured."""
    trace = Trace(packet_size=PACKET_BYTES)
    trace.open()
    trace.response()
    trace.control(
        *(forge.go(1 + at, number) for at, number in enumerate((*numbers[:2], 8, 9) if estimated else numbers))
    )
    for number in numbers:
        trace.buffer(number, 1, PACKETS, last=number == numbers[-1])
    trace.control(*(forge.ok(10 + at, number) for at, number in enumerate(numbers)))
    trace.header_only(DONE, by_sender=False)
    (row,) = report(reader, trace.save(capture), "summary")
    assert ("real_mbps" in row["estimates"]) == estimated, row


def test_each_buffer_is_listed_with_its_times(reader: Reader, forged: Forged) -> None:
    (connection,) = report(reader, forged.path, "buffers")
    first, second, third = connection["buffers"]
    assert (first["buffer"], first["go"], first["go_frame"]) == (0, moment(forged.go), forged.go)
    assert (first["first_data"], first["first_data_frame"]) == (moment(forged.first[0]), forged.first[0])
    assert (first["ldata"], first["ldata_frame"]) == (moment(forged.first[-1]), forged.first[-1])
    assert (first["resends"], first["first_resend_frame"]) == (1, forged.resend)
    assert (first["first_resend"], first["last_resend"]) == (moment(forged.resend), moment(forged.resend))
    assert (first["ok"], first["ok_frame"]) == (moment(forged.ok), forged.ok)
    assert first["go_to_data_ms"] == pytest.approx((forged.first[0] - forged.go) * STEP_S * 1000)
    assert first["go_to_ok_ms"] == pytest.approx((forged.ok - forged.go) * STEP_S * 1000)
    assert (first["packets"], first["bytes"], first["retransmitted"]) == (PACKETS, PACKETS * PACKET_BYTES, 1)
    assert (second["resends"], second["first_resend"], second["first_resend_frame"]) == (0, None, None)
    assert (second["ok_frame"], third["packets"], third["go_frame"]) == (forged.resend_again, 3, forged.resend_again)


def test_redundancy_says_how_often_and_at_what_cost(reader: Reader, forged: Forged) -> None:
    (connection,) = report(reader, forged.path, "redundancy")
    messages = {message["seq"]: message for message in connection["messages"]}
    assert list(messages) == [1, 2, 3, 4, 5, 6, 7]
    resend = messages[3]
    assert (resend["message"], resend["buffer"], resend["packets_named"], resend["times_sent"]) == ("RESEND", 0, 1, 2)
    assert (resend["first_frame"], resend["acknowledged_frame"]) == (forged.resend, forged.repair)
    took_ms = (forged.repair - forged.resend) * STEP_S * 1000
    assert resend["acknowledgement_ms"] == resend["effect_ms"] == pytest.approx(took_ms)
    # The quickest acknowledgement of the connection took one step.
    assert resend["extra_ms"] == pytest.approx(took_ms - STEP_S * 1000)
    assert (resend["packets_came"], resend["effect_frame"]) == (1, forged.repair)
    last = messages[7]
    assert (last["times_sent"], last["sent_after_acknowledgement"], last["acknowledged_frame"]) == (2, 1, forged.ack)
    assert messages[2]["effect_frame"] == forged.second[0]
    by_type = {row["message"]: row for row in connection["types"]}
    assert {name: row["messages"] for name, row in by_type.items()} == {"GO": 3, "OK": 3, "RESEND": 1}
    assert {name: row["sent"] for name, row in by_type.items()} == {"GO": 3, "OK": 4, "RESEND": 2}
    assert by_type["OK"]["unacknowledged"] == 0


def test_a_filter_chooses_connections_and_the_report_is_about_all_of_their_packets(
    reader: Reader, forged: Forged
) -> None:
    assert report(reader, forged.path, "summary", "netblt.stream == 7") == []
    (row,) = report(reader, forged.path, "summary", "netblt.buffer == 1 || netblt.uid")
    (whole,) = report(reader, forged.path, "summary")
    assert row["buffers"] == whole["buffers"] > 1
    text = reader.tshark(forged.path, "-q", "-z", "netblt,buffers,netblt.stream == 0")
    assert "Filter: netblt.stream == 0" in text


@pytest.mark.parametrize("argument", ["netblt,summary,netblt.nonsense == 1", "netblt,buffersjson"])
def test_a_wrong_argument_is_named(reader: Reader, forged: Forged, argument: str) -> None:
    done = reader.run("tshark", "-q", "-r", str(forged.path), "-z", argument)
    assert done.returncode != 0
    assert argument.rsplit(",", 1)[1] in done.stderr


def plain_steady(seen: list[tuple[int, bytes]]) -> float | None:
    """The definition computed again: bits of all full buffers but the last, between first transmissions of packets
    0."""
    size = next(int.from_bytes(raw[16:20], "big") for _, raw in seen if raw[3] == RESPONSE)
    started: dict[int, int] = {}
    data: dict[tuple[int, int], int] = {}
    for when, raw in seen:
        if raw[3] in (DATA, LDATA):
            buffer, number = int.from_bytes(raw[12:16], "big"), int.from_bytes(raw[18:20], "big")
            data[buffer, number] = len(raw) - 24
            if number == 0:
                started.setdefault(buffer, when)
    sizes: dict[int, int] = {}
    for (buffer, _), length in data.items():
        sizes[buffer] = sizes.get(buffer, 0) + length
    full = [buffer for buffer in sorted(sizes) if sizes[buffer] == size or buffer != max(sizes)]
    if len(full) < 2 or started[full[-1]] == started[full[0]]:
        return None
    bits = 8 * sum(sizes[buffer] for buffer in full[:-1])
    return bits / ((started[full[-1]] - started[full[0]]) / NS) / 1e6


def calm_transfers(count: int) -> tuple[list[Frame], dict[str, list[tuple[int, bytes]]]]:
    """At the sender, nothing lost by the capture: the frames hold the truth. By the sender's address what it saw."""
    frames: list[Frame] = []
    seen: dict[str, list[tuple[int, bytes]]] = {}
    for number in range(count):
        settings = random_settings(7000 + number, capture_loss=0.0, start_late=False, ids="count")
        for segment in settings.segments:
            segment.duplicate = segment.corrupt = 0.0
        ends = (f"10.7.{number}.1", f"10.7.{number}.2")
        transfer = Transfer(settings, ends, 2000)
        finished = transfer.run()
        captured = transfer.captures["sender"]
        if finished and any(raw[20 + 3] == RESPONSE for _, raw in captured):
            frames += [Frame((number + 1) * NS + when, raw, 0) for when, raw in captured]
            seen[ends[0]] = [(when, raw[20:]) for when, raw in captured]
    return frames, seen


def by_sender(connections: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {connection["ends"]["sender"].split(":")[0]: connection for connection in connections}


def test_figures_of_random_transfers_equal_a_second_computation(reader: Reader) -> None:
    frames, transfers = calm_transfers(40)
    path = write_pcapng(reader.home / "random.pcapng", frames, interfaces=POSITIONS)
    summary, redundancy = (by_sender(report(reader, path, name)) for name in ("summary", "redundancy"))
    assert summary.keys() == redundancy.keys() == transfers.keys()
    assert len(transfers) > 20
    for sender, seen in transfers.items():
        row = summary[sender]
        data = [raw for _, raw in seen if raw[3] in (DATA, LDATA)]
        different = {raw[12:16] + raw[18:20]: len(raw) - 24 for raw in data}
        assert row["xfsz"] == pytest.approx(sum(different.values()) / 1000)
        assert row["rxm"] == len(data) - len(different)
        steady = plain_steady(seen)
        assert row["steady_mbps"] == (None if steady is None else pytest.approx(steady, rel=1e-6))
        sent = sum(message["times_sent"] for message in redundancy[sender]["messages"])
        assert sent == sum(count_messages(raw) for _, raw in seen if raw[3] == CONTROL)


def count_messages(raw: bytes) -> int:
    at, count = 12, 0
    while at < len(raw):
        named = int.from_bytes(raw[at + 8 : at + 10], "big")
        at += {forge.GO: 8, forge.OK: 16}.get(raw[at], 12 + (2 * named + 3) // 4 * 4)
        count += 1
    return count


FramesOf = dict[tuple[int, str, str], set[int]]  # stream, requirement, verdict


def found_in_frames(reader: Reader, path: Path) -> tuple[FramesOf, dict[tuple[int, str], set[str]]]:
    """The frames with findings, and the offenders, as the fields of the frames state them."""
    frames: FramesOf = {}
    blamed: dict[tuple[int, str], set[str]] = {}
    names = [f"netblt.analysis.{name}" for name in ("requirement", "verdict", "offender")]
    for row in reader.rows(path, "frame.number", "netblt.stream", *names):
        for requirement, verdict, offender in zip(*(row[name] for name in names), strict=True):
            stream = int(row["netblt.stream"][0])
            frames.setdefault((stream, requirement, verdict), set()).add(int(row["frame.number"][0]))
            blamed.setdefault((stream, requirement), set()).add(offender)
    return frames, blamed


def test_the_verdict_sums_up_what_the_frames_say(reader: Reader) -> None:
    """Of all captures with violations at once: requirement, verdict, frames and offender; the same as text."""
    path = reader.home / "violations.pcapng"
    captures = sorted((ROOT / "pcaps" / "violations").glob("*.pcapng"))
    path.write_bytes(b"".join(capture.read_bytes() for capture in captures))
    frames, blamed = found_in_frames(reader, path)
    assert len({requirement for _, requirement, verdict in frames if verdict == "violation"}) >= 2
    connections = report(reader, path, "verdict")
    said: set[tuple[str, int]] = set()
    violated_rules: set[str] = set()
    for connection in connections:
        stream = connection["stream"]
        for row in connection["requirements"]:
            requirement = row["requirement"]
            assert set(row["suspicion_frames"] or []) >= frames.get((stream, requirement, "suspected"), set())
            assert bool(row["violation_frames"]) == (row["verdict"] == "violation")
            assert row["verdict"] == "violation" or (stream, requirement, "violation") not in frames
            assert row["verdict"] in ("violation", "suspected") or (stream, requirement, "suspected") not in frames
            assert set((row["offender"] or "").split(", ")) - {""} == blamed.get((stream, requirement), set())
            said |= {(requirement, frame) for frame in row["suspicion_frames"] or []}
            violated_rules |= {requirement} if row["verdict"] == "violation" else set()
        verdicts = [row["verdict"] for row in connection["requirements"]]
        assert connection["totals"][0]["violations"] == verdicts.count("violation")
    assert said == {
        (rule, frame) for (_, rule, verdict), numbers in frames.items() for frame in numbers if verdict == "suspected"
    }
    assert violated_rules == {rule for _, rule, verdict in frames if verdict == "violation"}
    text = reader.tshark(path, "-q", "-z", "netblt,verdict")
    violated = [r["requirement"] for c in connections for r in c["requirements"] if r["verdict"] == "violation"]
    assert re.findall(r"^([A-Z0-9]+-\d+) +violation ", text, re.MULTILINE) == violated


def test_the_verdict_tells_kept_from_never_tested(reader: Reader, forged: Forged) -> None:
    (connection,) = report(reader, forged.path, "verdict")
    standing = {row["requirement"]: row for row in connection["requirements"]}
    assert standing["CTRL-04"]["verdict"] == "passed"
    assert standing["CTRL-04"]["observations"] >= 3
    assert standing["CTRL-04"]["first_passed_frame"] == forged.go
    assert standing["QUIT-01"]["verdict"] == "not observable"
    (totals,) = connection["totals"]
    counted = [row["verdict"] for row in connection["requirements"]]
    assert totals["passed"] == counted.count("passed")
    assert totals["not_observable"] == counted.count("not observable")


@pytest.mark.parametrize("dialect", ["etftp", "version4"])
def test_the_verdict_tells_the_dialect_and_its_rules(reader: Reader, dialect: str) -> None:
    path = ROOT / "pcaps" / "dialects" / f"{dialect}-transfer.pcapng"
    (connection,) = report(reader, path, "verdict")
    (name,) = {row["netblt.dialect"][0] for row in reader.rows(path, "netblt.dialect")}
    assert connection["totals"][0]["dialect"] == name != "RFC 998"
    judged = {row["requirement"].partition("-")[0] for row in connection["requirements"] if row["observations"]}
    assert {"WIRE", "CKSUM", "NEG", "DATA", "CTRL"} <= judged
    assert ("R1986" in judged) == ("RESEND" in judged) == (dialect == "etftp")


def test_conversations_and_endpoints_count_packets(reader: Reader, forged: Forged) -> None:
    text = reader.tshark(forged.path, "-q", "-z", "conv,netblt", "-z", "endpoints,netblt")
    by_sender = sum(frame.data[15] == 1 for frame in forged.trace.frames)
    total = len(forged.trace.frames)
    assert re.search(rf"10\.0\.0\.1 +<-> 10\.0\.0\.2 +{total - by_sender} .* {by_sender} .* {total} ", text)
    assert re.search(rf"^10\.0\.0\.1 +{total} +\d+ (?:bytes)? *{by_sender} ", text, re.MULTILINE)  # 4.6: bytes


def test_the_tree_counts_types_and_messages(reader: Reader, forged: Forged) -> None:
    text = reader.tshark(forged.path, "-q", "-z", "netblt,tree")
    counted = dict(re.findall(r"^ ?([A-Za-z -]+?) {2,}(\d+) ", text, re.MULTILINE))
    assert counted["Packets"] == str(len(forged.trace.frames))
    assert (counted["LDATA"], counted["CONTROL"], counted["NULL-ACK"], counted["DONE"]) == ("3", "6", "1", "1")
    assert (counted["GO"], counted["OK"], counted["RESEND"]) == ("3", "4", "2")
    assert counted["sound"] == counted["Packets"]


def test_response_times_are_measured_from_request_to_answer(reader: Reader, forged: Forged) -> None:
    text = reader.tshark(forged.path, "-q", "-z", "netblt,srt")
    pattern = r"^ +\d+  (.{16,}?) +(\d+) +[\d.]+ +([\d.]+)"
    found = re.findall(pattern, text, re.MULTILINE)
    calls = {name.strip(): int(number) for name, number, _ in found}
    most = {name.strip(): float(longest) for name, _, longest in found}
    assert calls["OPEN to RESPONSE"] == 1
    assert most["OPEN to RESPONSE"] == pytest.approx((forged.response - forged.open) * STEP_S)
    assert calls["GO to first packet of the buffer"] == 3
    assert most["GO to first packet of the buffer"] == pytest.approx((forged.second[0] - forged.go) * STEP_S)
    assert calls["GO to OK of the buffer"] == 3
    assert calls["RESEND to last requested packet"] == 1
    assert most["RESEND to last requested packet"] == pytest.approx((forged.repair - forged.resend) * STEP_S)
    assert calls["Control message to acknowledgement"] == 7


def test_the_flow_graph_shows_the_info_column(reader: Reader, forged: Forged) -> None:
    text = reader.tshark(forged.path, "-q", "-z", "flow,netblt,network")
    assert text.count("CONTROL #3 RESEND 0 {2}") >= 1
    assert text.count("NETBLT: ") == len(forged.trace.frames)


def test_copies_are_no_retransmissions(reader: Reader, forged: Forged) -> None:
    """A port mirror shows every packet twice: same IP ID, same content."""
    twice = [frame for frame in forged.trace.frames for _ in range(2)]
    path = write_pcapng(reader.home / "twice.pcapng", twice)
    (once,), (row,) = report(reader, forged.path, "summary"), report(reader, path, "summary")
    for key in ("xfsz", "loss", "rxm", "dtmos", "steady_mbps"):
        assert row[key] == once[key]
