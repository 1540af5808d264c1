# SPDX-License-Identifier: GPL-2.0-or-later
"""Several packets in one UDP datagram, as hosts with segmentation offload show them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dissector.tests import forge
from dissector.tests.forge import DATA, LDATA, Frame, Trace, go, ok
from dissector.tests.reader import ROOT, Reader

OFFLOAD = ROOT / "pcaps" / "offload" / "offloaded-transfer.pcapng"
GOLDEN = ROOT / "pcaps" / "golden" / "lossy-transfer.pcapng"
FACTS = json.loads(OFFLOAD.with_suffix("").with_suffix(".facts.json").read_text(encoding="utf-8"))
A, B = "10.0.0.1", "10.0.0.2"
VERDICTS = ("netblt.analysis.requirement", "netblt.analysis.verdict")


def data(number: int, size: int, *, ldata: bool = False) -> bytes:
    kind = forge.LDATA if ldata else forge.DATA
    return forge.packet(kind, forge.data_body(0, 0, number, bytes([number + 1]) * size), 1000, 1, covered=24)


def over_udp(frame: Frame) -> Frame:
    """The same over UDP."""
    head, ip_id = frame.data[:20], int.from_bytes(frame.data[4:6], "big")
    source, target = (".".join(map(str, head[at : at + 4])) for at in (12, 16))
    return Frame(frame.time_ns, forge.ipv4(forge.udp(frame.data[20:]), source, target, ip_id, protocol=17))


def broken(packet: bytes) -> bytes:
    return packet[:13] + bytes([packet[13] ^ 1]) + packet[14:]


def numbers(reader: Reader, capture: Path, *payloads: bytes, captured: int | None = None) -> list[list[str]]:
    """Of each datagram, the packet numbers that are shown."""
    frames = []
    for at, payload in enumerate(payloads):
        raw = forge.ipv4(forge.udp(payload), A, B, 1 + 100 * at, protocol=17)
        frames.append(Frame(forge.NS + at, raw[:captured], original=len(raw)))
    rows = reader.rows(forge.write_pcapng(capture, frames), "netblt.packet", "_ws.malformed")
    assert not any(row["_ws.malformed"] for row in rows)
    return [row["netblt.packet"] for row in rows]


@pytest.mark.parametrize("size", [500, 501, 502, 503])
@pytest.mark.parametrize("aligned", [True, False], ids=["padded-to-four", "unpadded"])
def test_every_segment_is_a_packet(reader: Reader, capture: Path, size: int, aligned: bool) -> None:
    packets = [data(0, size), data(1, size), data(2, size), data(3, size // 2, ldata=True)]
    joined = b"".join(forge.pad4(packet) if aligned else packet for packet in packets)
    assert numbers(reader, capture, joined) == [["0", "1", "2", "3"]]


def test_a_segment_may_be_filled_with_zeros(reader: Reader, capture: Path) -> None:
    joined = b"".join(data(number, 100).ljust(200, b"\0") for number in range(4))
    assert numbers(reader, capture, joined) == [["0", "1", "2", "3"]]


def test_garbage_behind_a_packet_is_none(reader: Reader, capture: Path) -> None:
    single, other = data(0, 100), data(1, 100)
    payloads = [
        single + b"\xff" * 124,
        single + bytes(124),
        single + broken(other),
        single + other[:11],
        single + other[1:] + b"\0",
        data(0, 100) + data(1, 100) + broken(data(2, 100)),
    ]
    assert numbers(reader, capture, *payloads) == [["0"], ["0"], ["0"], ["0"], ["0"], ["0", "1"]]


def test_a_broken_packet_between_sound_ones_is_shown_and_changes_nothing(reader: Reader, capture: Path) -> None:
    packets = [data(0, 100), data(1, 100), broken(data(2, 100)), data(3, 100)]
    raw = forge.ipv4(forge.udp(b"".join(packets)), A, B, 7, protocol=17)
    path = forge.write_pcapng(capture, [Frame(forge.NS, raw)])
    (row,) = reader.rows(path, "netblt.checksum.status", "netblt.stream")
    assert row["netblt.checksum.status"] == ["1", "1", "0", "1"]


def test_ip_ids_count_on_inside_a_datagram(reader: Reader, capture: Path) -> None:
    """So a datagram that was captured twice is known packet by packet, and one sent twice is not taken for a copy."""
    joined = [b"".join(data(4 * half + number, 100) for number in range(4)) for half in (0, 1)]
    sent = [(joined[0], 100), (joined[1], 104), (joined[0], 100), (joined[0], 108)]
    frames = [Frame(forge.NS, forge.ipv4(forge.udp(payload), A, B, ip_id, protocol=17)) for payload, ip_id in sent]
    names = ("netblt.analysis.duplicate", "netblt.analysis.retransmission")
    rows = reader.rows(forge.write_pcapng(capture, frames), *names)
    assert [tuple(len(row[name]) for name in names) for row in rows] == [(0, 0), (0, 0), (4, 0), (0, 4)]


@pytest.mark.parametrize("together", [True, False], ids=["one-datagram", "apart"])
def test_the_order_inside_a_datagram_is_that_of_arrival(reader: Reader, capture: Path, together: bool) -> None:
    """A host puts together what arrives at one time, overtaken or not, under the IP ID of the first. So the same
    packets prove an order only when each has an identification of its own."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(go(1, 0))
    first, *others = (
        forge.packet(kind, forge.data_body(0, 1, number, bytes(512), last=True), 1000, 1, covered=24)
        for kind, number in ((DATA, 0), (DATA, 1), (LDATA, 3), (DATA, 2))
    )
    trace.put(first, trace.sender, trace.receiver)
    for payload in [b"".join(others)] if together else others:
        trace.put(payload, trace.sender, trace.receiver)
    trace.sender.ip_id += 2 if together else 0
    trace.control(ok(2, 0))
    for _ in range(4):
        trace.null_ack(2)
    frames = [over_udp(frame) for frame in trace.frames]
    rows = reader.rows(forge.write_pcapng(capture, frames), *VERDICTS)
    told = {pair for row in rows for pair in zip(*(row[name] for name in VERDICTS), strict=True)}
    assert ("ORDER-03", "suspected" if together else "violation") in told


def test_identifications_inside_datagrams_are_no_evidence(reader: Reader, capture: Path) -> None:
    """They are counted on by the reader itself, so that these do not show that this end counts."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(go(1, 0), go(2, 1))
    newer, older = (
        [forge.packet(DATA, forge.data_body(0, high, number, bytes(512)), 1000, 1, covered=24) for number in numbers]
        for high, numbers in ((2, (0, 1)), (1, (2,)))
    )
    trace.put(b"".join(newer), trace.sender, trace.receiver, ip_id=0x3000)
    trace.put(b"".join(older), trace.sender, trace.receiver, ip_id=0x3005)
    rows = reader.rows(forge.write_pcapng(capture, [over_udp(frame) for frame in trace.frames]), *VERDICTS)
    assert not any("violation" in row["netblt.analysis.verdict"] for row in rows)


def test_packets_of_unequal_size_are_shown_too(reader: Reader, capture: Path) -> None:
    """No offload makes these; an end that put them into one datagram wants them seen."""
    joined = data(0, 40) + data(1, 200) + data(2, 80)
    assert numbers(reader, capture, joined) == [["0", "1", "2"]]


def test_plain_ip_carries_one_packet_each(reader: Reader, capture: Path) -> None:
    raw = forge.ipv4(data(0, 100) + data(1, 100), A, B, 7)
    rows = reader.rows(forge.write_pcapng(capture, [Frame(forge.NS, raw)]), "netblt.packet", "netblt.trailing")
    assert rows[0]["netblt.packet"] == ["0"]
    assert rows[0]["netblt.trailing"]


def test_a_cut_datagram_shows_what_was_captured(reader: Reader, capture: Path) -> None:
    joined = b"".join(data(number, 476) for number in range(10))
    assert numbers(reader, capture, joined, captured=28 + 1200) == [["0", "1", "2"]]


def test_a_full_datagram_of_the_smallest_packets_is_read(reader: Reader, capture: Path) -> None:
    keepalive = forge.packet(forge.KEEPALIVE, b"", 1000, 1)
    raw = forge.ipv4(forge.udp(keepalive * 5400), A, B, 7, protocol=17)
    (row,) = reader.rows(forge.write_pcapng(capture, [Frame(forge.NS, raw)]), "netblt.type")
    assert len(row["netblt.type"]) == 5400


# --- the golden capture ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one-pass", "two-passes"])
def test_an_offloaded_transfer_is_the_transfer(reader: Reader, passes: tuple[str, ...]) -> None:
    """Packet by packet, the same is reported of both captures, but for frame numbers."""
    names = ("netblt.type", "netblt.local_port", "netblt.high_seq", "netblt.outstanding", "netblt.checksum.status")
    here = reader.rows(public(reader, OFFLOAD), *names, options=passes)
    wanted = set(map(str, FACTS["frames_in_golden"]))
    there = reader.rows(public(reader, GOLDEN), "frame.number", *names, options=passes)
    left = [row for row in there if row["frame.number"][0] in wanted]
    assert [len(row["netblt.type"]) for row in here] == FACTS["packets_per_frame"]
    for name in names:
        assert [value for row in here for value in row[name]] == [value for row in left for value in row[name]], name


def test_an_offloaded_transfer_has_the_same_retransmissions_and_no_findings(reader: Reader) -> None:
    wanted = set(map(str, FACTS["frames_in_golden"]))
    there = reader.rows(public(reader, GOLDEN), "frame.number", "netblt.analysis.retransmission")
    left = [row for row in there if row["frame.number"][0] in wanted]
    here = reader.rows(public(reader, OFFLOAD), "netblt.analysis.retransmission", "netblt.analysis.verdict")

    def count(rows: list[dict[str, list[str]]]) -> int:
        return sum(len(row["netblt.analysis.retransmission"]) for row in rows)

    assert count(here) == count(left) > 0
    assert not any("violation" in row["netblt.analysis.verdict"] for row in here)


def public(reader: Reader, path: Path) -> Path:
    """A copy that the user nobody can read."""
    copy = reader.home / path.name
    copy.write_bytes(path.read_bytes())
    return copy
