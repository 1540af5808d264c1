# SPDX-License-Identifier: GPL-2.0-or-later
"""What is inferred from one capture point, against what the simulated network did; and captures of other layouts."""

from __future__ import annotations

import dataclasses
import struct
from collections import Counter
from pathlib import Path

import pytest
from netblt_conformance.common import paths
from netblt_conformance.packets.captures import CapturedPacket, Interface
from netblt_conformance.packets.ipv4 import wrap_udp
from netblt_conformance.packets.packets import Packet
from netblt_conformance.trace import build, encode, labels
from netblt_conformance.trace.frames import frames
from netblt_conformance.trace.model import Event, Fate, Known, Position, Trace
from selftest.test_trace_network import A, through

# Delays that differ by more than the path takes can be taken for loss: seldom, and never for data.
WRONG_MOST = 0.01
SETTLED_DATA = 0.95


def one_side(captured: list[CapturedPacket], name: str) -> list[CapturedPacket]:
    """What a capture at one side of the network has: nothing of what the network reports."""
    return [dataclasses.replace(one, packet_id=0, comments=()) for one in captured if one.interface.name == name]


def events(trace: Trace) -> dict[int, Event]:
    return {event.sent_frame: event for event in trace.events if event.sent_frame and event.copy_of is None}


def lost(fate: Fate) -> bool:
    return fate in (Fate.LOST, Fate.DAMAGED)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("place", [Position.UNKNOWN, Position.FIRST])
def test_inferred_fates_are_those_of_the_network(
    built_library: Path, tmp_path: Path, side: str, place: Position
) -> None:
    counts: Counter[str] = Counter()
    for seed in range(6):
        rules = (f"latency {(1, 10, 40)[seed % 3]}ms", f"loss {(2, 8)[seed % 2]}%", "corrupt 1%", "duplicate 1%")
        truth, _ = through(built_library, rules, seed, tmp_path)
        captured = build.read(tmp_path / "run.pcapng")
        known = events(truth)
        if place is not Position.UNKNOWN:
            place = Position.FIRST if side == "left" else Position.SECOND
        for frame, event in events(build.build(one_side(captured, side), place=place)).items():
            if frame not in known or event.known is not Known.INFERRED:
                counts["data, open"] += frame in known and event.packet.is_data
                continue
            counts["right"] += event.fate is known[frame].fate or (event.fate is Fate.LOST) == lost(known[frame].fate)
            counts["all"] += 1
            counts["lost"] += event.fate is Fate.LOST
            if event.packet.is_data:
                counts["data"] += 1
                assert lost(event.fate) == lost(known[frame].fate), (seed, frame, event.remarks)
    assert counts["all"] - counts["right"] <= WRONG_MOST * counts["all"]
    assert counts["lost"] > 0
    if side == "left":
        assert counts["data"] > 1000
        assert counts["data"] >= SETTLED_DATA * (counts["data"] + counts["data, open"])


def test_what_the_network_copied_is_known_by_its_identification(built_library: Path, tmp_path: Path) -> None:
    truth, _ = through(
        built_library, ("latency 10ms", "duplicate a>b every=9", "delay 15ms a>b DATA nth=5"), 1, tmp_path
    )
    trace = build.build(one_side(build.read(tmp_path / "run.pcapng"), "right"))
    copies = [event.frame for event in trace.events if event.copy_of is not None]
    assert copies == [event.arrived_frame for event in truth.events if event.copy_of is not None]
    assert len(copies) > 5
    late = [event.frame for event in trace.events if event.late and event.copy_of is None]
    assert late == [event.arrived_frame for event in truth.events if event.late and event.copy_of is None]
    assert len(late) == 1


def test_identifications_show_how_many_packets_the_capture_lacks(built_library: Path, tmp_path: Path) -> None:
    truth, _ = through(built_library, ("latency 10ms", "loss 5% a>b"), 1, tmp_path)
    trace = build.build(one_side(build.read(tmp_path / "run.pcapng"), "right"))
    missing = sum(event.fate is Fate.LOST and event.source == 0 for event in truth.events)
    assert missing > 3
    assert f"by their IP identifications {missing} packets of {A} port 1 are not in the capture" in trace.notes


def with_hops(captured: list[CapturedPacket], hops: dict[str, int]) -> list[CapturedPacket]:
    """As if routers had been passed, which take 1 away."""
    found = []
    for one in captured:
        source = ".".join(map(str, one.data[12:16]))
        data = bytearray(one.data)
        data[8] = hops[source]
        found.append(dataclasses.replace(one, data=bytes(data)))
    return found


@pytest.mark.parametrize(
    ("hops", "place"),
    [((64, 60), Position.FIRST), ((250, 128), Position.SECOND), ((60, 60), Position.BETWEEN), ((64, 64), None)],
)
def test_routers_show_where_the_capture_was_taken(
    built_library: Path, tmp_path: Path, hops: tuple[int, int], place: Position | None
) -> None:
    through(built_library, ("latency 10ms",), 1, tmp_path)
    captured = one_side(build.read(tmp_path / "run.pcapng"), "left")
    trace = build.build(with_hops(captured, dict(zip((A, "10.0.0.2"), hops, strict=True))))
    assert trace.position is (place or Position.UNKNOWN)
    if place is None:
        assert any(note.startswith(f"probably captured near {A}") for note in trace.notes)
    if place is Position.SECOND:
        assert {event.known for event in trace.events if event.source == 0} == {Known.CAPTURED}
        assert all(event.arrived_frame and not event.sent_frame for event in trace.events if event.source == 0)


# ---- layouts ----

LINKS = {1: bytes(12), 113: bytes(14), 276: b"", 0: b"\x02\0\0\0", 101: b""}


def on_link(one: CapturedPacket, link: int, octets: bytes) -> CapturedPacket:
    version = octets[0] >> 4
    kind = b"\x86\xdd" if version == 6 else b"\x08\x00"
    head = LINKS[link] + {1: kind, 113: kind, 276: kind + bytes(18)}.get(link, b"")
    data = head + octets
    return dataclasses.replace(one, interface=Interface(0, "any", link), data=data, original_length=len(data))


def over_ipv6(octets: bytes) -> bytes:
    """The same payload under an IPv6 header, after a destination option."""
    header, payload = octets[:20], octets[20:]
    ends = b"".join(b"\xfd" + bytes(11) + header[at : at + 4] for at in (12, 16))
    extension = bytes([header[9], 0, 1, 4, 0, 0, 0, 0])
    return struct.pack(">IHBB", 6 << 28, len(payload) + 8, 60, 64) + ends + extension + payload


def over_udp(octets: bytes, port: int = 9980) -> bytes:
    return wrap_udp(octets[20:], octets[12:16], octets[16:20], (port, port), int.from_bytes(octets[4:6], "big"))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("carrier", [bytes, over_ipv6, over_udp, lambda octets: over_udp(octets, 7000)])
def test_every_carrier_and_link_gives_the_same_trace(
    built_library: Path, tmp_path: Path, link: int, carrier: object
) -> None:
    assert callable(carrier)
    through(built_library, ("latency 10ms", "loss 3%"), 2, tmp_path)
    captured = one_side(build.read(tmp_path / "run.pcapng"), "left")
    plain = build.build(captured)
    other = build.build([on_link(one, link, carrier(one.data)) for one in captured])
    assert [event.packet for event in other.events] == [event.packet for event in plain.events]
    assert [(event.source, event.fate, event.repeated) for event in other.events] == [
        (event.source, event.fate, event.repeated) for event in plain.events
    ]
    assert other.terms == plain.terms
    assert encode.packets(other, captured[4].number)["deciding"] == 4


def test_a_datagram_of_many_packets_gives_each_of_them() -> None:
    path = paths.root() / "pcaps" / "offload" / "offloaded-transfer.pcapng"
    found = frames(build.read(path))
    facts = (path.with_name("offloaded-transfer.facts.json")).read_text(encoding="utf-8")
    assert f'"packets": {len(found)},' in facts
    assert not any(frame.packet.error for frame in found)
    deciding = next(frame.number for frame in found if found.count(frame) and frame.packet.is_data)
    assert build.build(build.read(path), deciding).index_of(deciding) >= 0


def test_what_is_cut_or_no_packet_at_all_does_not_raise(built_library: Path, tmp_path: Path) -> None:
    through(built_library, ("latency 10ms",), 1, tmp_path)
    captured = one_side(build.read(tmp_path / "run.pcapng"), "left")
    for length in range(0, 70):
        cut = [dataclasses.replace(one, data=one.data[:length]) for one in captured]
        trace = build.build(cut, 7)
        encode.packets(trace, 7)
    for length in range(20, 60, 3):
        short = [dataclasses.replace(one, data=one.data[:length], original_length=length) for one in captured]
        row = encode.packets(build.build(short, 7), 7)
        kinds = {event[encode.FIELDS.index("kind")] for event in row["events"]}
        assert labels.UNREADABLE in kinds
    assert build.build([]).events == ()
    assert Packet(b"").error is None  # the default; what is read has one
