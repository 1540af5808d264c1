# SPDX-License-Identifier: GPL-2.0-or-later
"""How packets are shown: Info column, carriers, padding, checksums, cut and broken packets, passes that agree."""

from __future__ import annotations

import random
import re
import struct
from pathlib import Path

import pytest

from dissector.tests import forge
from dissector.tests.forge import Frame, Trace
from dissector.tests.reader import Reader

A, B = "10.0.0.1", "10.0.0.2"


def save(path: Path, *payloads: bytes) -> Path:
    return forge.write_pcapng(path, [Frame(forge.NS, forge.ipv4(p, A, B, 7 + i)) for i, p in enumerate(payloads)])


def info(reader: Reader, path: Path) -> list[str]:
    return [row["_ws.col.Info"][0] if row["_ws.col.Info"] else "" for row in reader.rows(path, "_ws.col.Info")]


def every_type() -> list[bytes]:
    opened = forge.open_body(0xCAFE0001, client=b"file.tar")
    reason = forge.text_field(b"no room")
    # Connections of their own, or these would be the packets of a very unusual one.
    control = forge.ok(3, 3) + forge.go(4, 5) + forge.resend(5, 4, [2, 9])
    return [
        forge.packet(forge.OPEN, opened, 4096, 1),
        forge.packet(forge.RESPONSE, opened, 4096, 1),
        forge.packet(forge.KEEPALIVE, b"", 4098, 1),
        forge.packet(forge.QUIT, reason, 4099, 1),
        forge.packet(forge.QUITACK, b"", 4100, 1),
        forge.packet(forge.ABORT, reason, 4101, 1),
        forge.packet(forge.DATA, forge.data_body(2, 12, 7, b"x" * 8), 4102, 1, covered=24),
        forge.packet(forge.LDATA, forge.data_body(3, 12, 8, b"x" * 5, last=True), 4103, 1, covered=24) + bytes(3),
        forge.packet(forge.NULL_ACK, struct.pack(">HHHH", 12, 5, 40, 0), 4104, 1),
        forge.packet(forge.CONTROL, control, 4105, 1),
        forge.packet(forge.REFUSED, reason, 4106, 1),
        forge.packet(forge.DONE, b"", 4107, 1),
    ]


def test_the_info_column_tells_each_packet_in_one_line(reader: Reader, capture: Path) -> None:
    opened = '4096 -> 1 WRITE buf 4096 pkt 512 burst 8/10 ms, 4 buffers "file.tar" uid 0xcafe0001'
    assert info(reader, save(capture, *every_type())) == [
        f"OPEN {opened}",
        f"RESPONSE {opened}",
        "KEEPALIVE",
        'QUIT "no room"',
        "QUITACK",
        'ABORT "no room"',
        "DATA buf 2 pkt 7 ack 12",
        "LDATA buf 3 pkt 8 ack 12 last buffer",
        "NULL-ACK ack 12 burst 5/40 ms",
        "CONTROL #3 OK 3, #4 GO 5, #5 RESEND 4 {2,9}",
        'REFUSED "no room"',
        "DONE",
    ]


def control_tree(reader: Reader, capture: Path) -> str:
    text = reader.tshark(save(capture, every_type()[9]), "-V")
    (tree,) = re.findall(r"^\S.*, CONTROL.*(?:\n .*)*", text, re.MULTILINE)
    return str(tree)


def test_the_tree_calls_messages_as_the_info_column_does(reader: Reader, capture: Path) -> None:
    root, *lines = control_tree(reader, capture).splitlines()
    assert root == ("NETBLT Bulk Data Transfer Protocol, CONTROL #3 OK 3, #4 GO 5, #5 RESEND 4 {2,9}")
    assert [line.strip() for line in lines if "#" in line] == ["#3 OK 3", "#4 GO 5", "#5 RESEND 4 {2,9}"]


ENUMERATIONS = {
    "netblt.type": list(forge.TYPE_NAMES),
    "netblt.dialect": ["RFC 998", "RFC 1986 (ETFTP)", "version 4"],
    "netblt.role": ["unknown", "sender", "receiver"],
    "netblt.capture_position": ["unknown", "sender", "receiver", "between"],
    "netblt.analysis.verdict": ["suspected", "violation"],
    "netblt.control.type": ["GO", "OK", "RESEND"],
}


@pytest.fixture(scope="module")
def values(reader: Reader) -> list[list[str]]:
    """The names of numbers that tshark lists, of all fields."""
    return [line.split("\t") for line in reader.run("tshark", "-G", "values").stdout.splitlines()]


@pytest.mark.parametrize("field", sorted(ENUMERATIONS))
def test_an_enumeration_is_a_number_with_names(reader: Reader, values: list[list[str]], field: str) -> None:
    assert [line[3] for line in values if line[:2] == ["V", field]] == ENUMERATIONS[field]
    assert reader.field_types()[field] == "FT_UINT8"


@pytest.mark.parametrize(
    ("names", "frames"), [('"sender"', [4]), ('"receiver"', [3]), ('"unknown", "sender"', [1, 2, 4])]
)
def test_a_filter_takes_the_name_of_a_number(reader: Reader, names: str, frames: list[int]) -> None:
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(forge.go(1, 0))
    trace.data(0, 0, 1)
    path = trace.save(reader.home / "roles.pcapng")
    rows = reader.rows(path, "frame.number", options=("-Y", f"netblt.role in {{{names}}}"))
    assert [int(row["frame.number"][0]) for row in rows] == frames


def test_each_kind_of_message_has_a_field_of_its_own_for_its_buffer(reader: Reader, capture: Path) -> None:
    """For graphs and filters: one CONTROL holds several messages."""
    names = tuple(f"netblt.control.{kind}" for kind in ("ok", "go", "resend"))
    rows = reader.rows(save(capture, every_type()[9]), *names)
    assert [rows[0][name] for name in names] == [["3"], ["5"], ["4"]]
    assert "Buffer of the" not in control_tree(reader, capture), "they repeat what is shown"


UNITS = {
    "Buffer Size": "bytes",
    "DATA Packet Size": "bytes",
    "Burst Size": "packets",
    "Burst Interval": "ms",
    "Death Timer": "s",
}


def test_amounts_have_units(reader: Reader, capture: Path) -> None:
    """In the OPEN, and what was agreed, in the connection."""
    text = reader.tshark(save(capture, every_type()[0], every_type()[1]), "-V")
    for label, unit in UNITS.items():
        assert re.findall(rf"{label}: \d+ ?([a-z]+)", text) == [unit] * 3, label
    assert re.findall(r"Offered Burst Interval: 10 ?ms\n *Control Timer: 100 ?ms", control_tree(reader, capture))


RESPONSE = 1  # in the list above; it comes from the end that opened (OPEN-01), which is no matter of its format


def test_sound_packets_of_every_type_raise_no_complaint(reader: Reader, capture: Path) -> None:
    rows = reader.rows(save(capture, *every_type()), "_ws.expert.message", "netblt.checksum.status")
    assert [row["_ws.expert.message"] for row in rows if row is not rows[RESPONSE]] == [[]] * 11
    assert all("from the end that opened" in text for text in rows[RESPONSE]["_ws.expert.message"])
    assert [row["netblt.checksum.status"] for row in rows] == [["1"]] * 12


def test_bytes_beyond_length_are_alignment(reader: Reader, capture: Path) -> None:
    for beyond, noted in ((0, False), (1, False), (3, False), (4, True)):
        path = save(capture, forge.packet(forge.DONE, b"", 1, 2) + bytes(beyond))
        (row,) = reader.rows(path, "netblt.alignment", "netblt.trailing", "netblt.checksum.status")
        assert len("".join(row["netblt.alignment"])) == 2 * beyond
        assert bool(row["netblt.trailing"]) == noted
        assert row["netblt.checksum.status"] == ["1"]


@pytest.mark.parametrize("carrier", ["ip4", "ip6", "udp", "udp-decode-as", "ethernet"])
def test_it_is_found_over_every_carrier(reader: Reader, capture: Path, carrier: str) -> None:
    payload = every_type()[6]
    options: tuple[str, ...] = ()
    link = forge.LINKTYPE_RAW
    if carrier == "ip6":
        raw = forge.ipv6(payload, bytes(15) + b"\1", bytes(15) + b"\2")
    elif carrier.startswith("udp"):
        port = 9980 if carrier == "udp" else 5555
        raw = forge.ipv4(forge.udp(payload, 40000, port), A, B, 1, protocol=17)
        options = () if carrier == "udp" else ("-d", "udp.port==5555,netblt")
    else:
        raw = forge.ipv4(payload, A, B, 1)
    if carrier == "ethernet":
        raw = bytes(12) + b"\x08\x00" + raw
        link = forge.LINKTYPE_ETHERNET
    forge.write_pcapng(capture, [Frame(forge.NS, raw)], link=link)
    (row,) = reader.rows(capture, "netblt.packet", "netblt.stream", options=options)
    assert row == {"netblt.packet": ["7"], "netblt.stream": ["0"]}


def test_ethernet_fill_is_no_part_of_the_packet(reader: Reader, capture: Path) -> None:
    raw = bytes(12) + b"\x08\x00" + forge.ipv4(every_type()[11], A, B, 1)
    forge.write_pcapng(capture, [Frame(forge.NS, raw.ljust(60, b"\0"))], link=forge.LINKTYPE_ETHERNET)
    (row,) = reader.rows(capture, "netblt.alignment", "_ws.expert.message")
    assert row == {"netblt.alignment": [], "_ws.expert.message": []}


# --- checksums ------------------------------------------------------------------------------------------------------


def flipped(raw: bytes, at: int) -> bytes:
    return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


def test_any_flipped_bit_under_the_checksum_is_noticed(reader: Reader, capture: Path) -> None:
    payloads = [flipped(raw, at) for raw in every_type() for at in (0, 8, 11)]
    rows = reader.rows(save(capture, *payloads), "netblt.checksum.status", "netblt.checksum_bad")
    assert {tuple(row["netblt.checksum.status"]) for row in rows} == {("0",)}
    assert all(row["netblt.checksum_bad"] for row in rows)


def test_both_zeros_are_accepted(reader: Reader, capture: Path) -> None:
    """A sum of all ones gives 0x0000, which is as good as 0xFFFF and does not mean "none" (AMB-05)."""
    body = forge.packet(forge.KEEPALIVE, b"", 0, 0)
    port = 0xFFFF - forge.ones_sum(b"\0\0" + body[2:])
    raw = forge.packet(forge.KEEPALIVE, b"", port, 0)
    assert raw[:2] == b"\0\0"
    rows = reader.rows(save(capture, raw, b"\xff\xff" + raw[2:]), "netblt.checksum.status")
    assert [row["netblt.checksum.status"] for row in rows] == [["1"], ["1"]]


def test_a_checksum_over_the_data_too_is_named_a_variant(reader: Reader, capture: Path) -> None:
    raw = forge.packet(forge.DATA, forge.data_body(1, 2, 3, b"abcde"), 5, 6)
    path = save(capture, raw)
    (row,) = reader.rows(path, "netblt.checksum.status", "netblt.checksum_variant", "netblt.checksum_bad")
    assert row["netblt.checksum.status"] == ["1"]
    assert row["netblt.checksum_variant"]
    assert not row["netblt.checksum_bad"]
    assert "covers data: variant" in reader.tshark(path, "-V")


def test_the_preference_switches_verification_off(reader: Reader, capture: Path) -> None:
    path = save(capture, flipped(every_type()[0], 8))
    options = ("-o", "netblt.check_checksum:FALSE")
    (row,) = reader.rows(path, "netblt.checksum.status", "netblt.checksum_bad", options=options)
    assert row == {"netblt.checksum.status": ["2"], "netblt.checksum_bad": []}


@pytest.mark.parametrize(
    ("negotiated", "spoilt", "status"), [(True, 0, "1"), (True, 1, "0"), (False, 0, "2"), (False, 1, "2")]
)
def test_data_checksums_count_when_the_response_says_so(
    reader: Reader, capture: Path, negotiated: bool, spoilt: int, status: str
) -> None:
    trace = Trace(data_checksum=negotiated)
    trace.open()
    trace.response()
    data = b"odd"
    body = forge.data_body(0, 0, 0, data, data_sum=(forge.checksum(data) + spoilt) & 0xFFFF)
    trace.put(forge.packet(forge.LDATA, body, 1000, 1, covered=24) + b"\0", trace.sender, trace.receiver)
    rows = reader.rows(trace.save(capture), "netblt.data_checksum.status", "netblt.data_checksum_bad")
    assert rows[2]["netblt.data_checksum.status"] == [status]
    assert bool(rows[2]["netblt.data_checksum_bad"]) == (status == "0")


# --- broken, cut, quoted --------------------------------------------------------------------------------------------


def test_a_packet_cut_by_the_capture_anywhere_blames_nobody(reader: Reader, capture: Path) -> None:
    frames = []
    for raw in every_type():
        whole = forge.ipv4(raw, A, B, 1)
        frames += [Frame(forge.NS, whole[:length], 0, len(whole)) for length in range(21, len(whole))]
    forge.write_pcapng(capture, frames)
    rows = reader.rows(capture, "netblt.cut", "_ws.malformed", "_ws.expert.severity", "netblt", "netblt.alignment")
    assert len(rows) == len(frames)
    for row in rows:
        assert row["netblt"]
        assert not row["_ws.malformed"]
        assert all(int(severity) <= 0x400000 for severity in row["_ws.expert.severity"])  # a note at most
    assert sum(bool(row["netblt.cut"]) for row in rows) >= len(rows) - 3  # alone the alignment of one LDATA may be cut


def test_a_packet_that_ends_early_on_the_wire_is_named_so(reader: Reader, capture: Path) -> None:
    payloads = [raw[:length] for raw in every_type() for length in range(1, int.from_bytes(raw[4:6], "big"))]
    rows = reader.rows(save(capture, *payloads), "netblt.short", "netblt.length_beyond", "_ws.malformed")
    for payload, row in zip(payloads, rows, strict=True):
        assert bool(row["netblt.short"]) == (len(payload) < 12)
        assert bool(row["netblt.length_beyond"]) == (len(payload) >= 12)
        assert not row["_ws.malformed"]


def test_every_value_of_length_type_and_count_is_survived(reader: Reader, capture: Path) -> None:
    payloads = []
    for kind in range(256):
        payloads += [
            struct.pack(">HBBHHHH", 0, 2, kind, length, 1, 2, 0) + bytes(40) for length in (0, 12, 24, 36, 52, 53)
        ]
    for count in (0, 1, 5, 0x7FFF, 0xFFFF):
        message = forge.resend(1, 0, [1, 2, 3], count)
        payloads += [forge.packet(forge.CONTROL, message, 1, 2), forge.packet(forge.CONTROL, message * 9, 1, 2)]
    rows = reader.rows(save(capture, *payloads), "netblt", "_ws.malformed")
    assert len(rows) == len(payloads)
    assert all(row["netblt"] and not row["_ws.malformed"] for row in rows)


def test_a_packet_quoted_by_icmp_changes_nothing(reader: Reader, capture: Path) -> None:
    """The quoted CONTROL leaves out messages; were it taken for real, the next packets would contradict it."""
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(forge.go(1, 0), forge.go(2, 1))
    quoted = forge.ipv4(forge.packet(forge.CONTROL, forge.go(3, 2), 1, 1000), B, A, 0x7777)
    icmp = struct.pack(">BBHI", 3, 1, 0, 0) + quoted
    trace.frames.append(Frame(trace.time_ns + 1, forge.ipv4(icmp, A, B, 9, protocol=1)))
    trace.buffer(0, 2)
    trace.control(forge.ok(3, 0))
    rows = reader.rows(trace.save(capture), "netblt.stream", "_ws.expert.message", "netblt.control.seq")
    assert rows[3]["netblt.control.seq"] == ["3"]
    assert rows[3]["netblt.stream"] == []
    assert reader.findings(capture) == []


def test_fragments_are_put_together_or_left_alone(reader: Reader, capture: Path) -> None:
    raw = forge.packet(forge.LDATA, forge.data_body(0, 0, 0, bytes(40)), 1, 2, covered=24)
    first = forge.ipv4(raw[:32], A, B, 5, frag=0x2000)
    second = forge.ipv4(raw[32:], A, B, 5, frag=4)
    forge.write_pcapng(capture, [Frame(forge.NS, first), Frame(forge.NS + 1, second)])
    rows = reader.rows(capture, "netblt.data", "netblt.checksum.status", "netblt.length_beyond", "_ws.malformed")
    assert any("".join(row["netblt.data"]) == "00" * 40 and row["netblt.checksum.status"] == ["1"] for row in rows)
    apart = reader.rows(
        capture, "netblt.checksum.status", "netblt.length_beyond", "netblt.cut", options=("-o", "ip.defragment:FALSE")
    )
    assert apart[0]["netblt.cut"]
    assert apart[0]["netblt.length_beyond"] == []
    assert apart[0]["netblt.checksum.status"] == ["2"]


# --- streams --------------------------------------------------------------------------------------------------------


def test_a_new_unique_id_on_the_same_ports_is_a_new_stream(reader: Reader, capture: Path) -> None:
    trace = Trace()
    for uid in (1, 2):
        trace.uid = uid
        trace.open()
        trace.response()
        trace.control(forge.go(1, 0))
        trace.buffer(0, 1, last=True)
        trace.control(forge.ok(2, 0))
        trace.null_ack(2)
        trace.header_only(forge.DONE, by_sender=False)
    streams = ["".join(row["netblt.stream"]) for row in reader.rows(trace.save(capture), "netblt.stream")]
    assert streams == ["0"] * 10 + ["1"] * 10
    assert reader.findings(capture) == []


def test_a_refused_second_open_leaves_the_live_connection_alone(reader: Reader, capture: Path) -> None:
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(forge.go(1, 0))
    trace.uid += 1
    trace.open()
    trace.put(forge.packet(forge.REFUSED, forge.text_field(b"busy"), 1, 1000), trace.receiver, trace.sender)
    trace.buffer(0, 1)
    streams = ["".join(row["netblt.stream"]) for row in reader.rows(trace.save(capture), "netblt.stream")]
    assert streams == ["0", "0", "0", "1", "1", "0", "0", "0", "0"]


def test_each_capture_interface_is_judged_by_itself(reader: Reader, capture: Path) -> None:
    frames = []
    for interface in (0, 1):
        trace = Trace(interface=interface)
        trace.open()
        trace.response()
        frames += trace.frames
    frames.sort(key=lambda frame: frame.time_ns)
    forge.write_pcapng(capture, frames, interfaces=("left", "right"))
    rows = reader.rows(capture, "netblt.stream", "frame.interface_name", "netblt.analysis.copy_of")
    assert {(row["frame.interface_name"][0], row["netblt.stream"][0]) for row in rows} == {
        ("left", "0"),
        ("right", "1"),
    }
    assert not any(row["netblt.analysis.copy_of"] for row in rows)


def test_a_duplicate_in_the_capture_is_told_from_a_retransmission(reader: Reader, capture: Path) -> None:
    trace = Trace()
    trace.open()
    trace.response()
    trace.control(forge.go(1, 0))
    number = trace.data(0, 0, 1)
    trace.data(0, 0, 1, ip_id=trace.sender.ip_id)  # the same packet again
    trace.data(0, 0, 1)  # the same content, retransmitted
    rows = reader.rows(trace.save(capture), "netblt.analysis.copy_of")
    assert [row["netblt.analysis.copy_of"] for row in rows[3:]] == [[], [str(number)], []]


@pytest.mark.parametrize(("delays", "position"), [((1, 40), "sender"), ((40, 1), "receiver"), ((20, 20), "between")])
def test_the_capture_position_is_inferred_from_response_times(
    reader: Reader, capture: Path, delays: tuple[int, int], position: str
) -> None:
    """Delays in ms: until the sender answers, until the receiver answers. Everything passes as many ms later."""
    trace = Trace(gap_ns=0)
    by_sender, by_receiver = (delay * 1_000_000 for delay in delays)
    trace.open()
    trace.time_ns += by_receiver
    trace.response()
    trace.time_ns += by_sender
    trace.control(forge.go(1, 0))
    trace.time_ns += by_sender
    trace.data(0, 0, 1)
    rows = reader.rows(trace.save(capture), "netblt.capture_position")
    assert rows[3]["netblt.capture_position"] == [position]
    rows = reader.rows(capture, "netblt.capture_position", options=("-o", "netblt.capture_position:between"))
    assert rows[0]["netblt.capture_position"] == ["between"]


# --- passes ---------------------------------------------------------------------------------------------------------


FUTURE = (
    *("Completeness", "Retransmitted in", "First retransmission in", "Answered in", "Times sent", "Acknowledged in"),
    *("Time to acknowledgement", "First DATA in", "OK of this buffer in"),
)


def past(text: str) -> list[str]:
    """All lines but those about later packets: only a second look can show them."""
    return [line for line in text.splitlines() if not line.strip().startswith(tuple(f"[{name}" for name in FUTURE))]


def test_one_pass_two_passes_and_random_access_agree(reader: Reader, capture: Path) -> None:
    trace = Trace(data_checksum=True)
    trace.open()
    trace.response()
    trace.control(*(forge.go(1 + i, i) for i in range(3)))
    trace.buffer(0, 3, skip=[1])
    trace.buffer(1, 3)
    trace.control(forge.resend(4, 0, [1]))
    trace.data(2, 0, 4)
    trace.data(0, 1, 4)
    trace.control(forge.ok(6, 1))
    for _ in range(10):
        trace.null_ack(4)
    path = trace.save(capture)
    assert past(reader.tshark(path, "-V")) == past(reader.tshark(path, "-2", "-V"))
    order = list(range(1, len(trace.frames) + 1))
    forwards = reader.sharkd(path, order)
    random.Random(4).shuffle(order)
    assert reader.sharkd(path, order) == forwards
    assert any("ORDER-02" in text for text in forwards.values())


def test_a_capture_that_ends_in_the_middle_of_a_packet_is_read_up_to_there(reader: Reader, capture: Path) -> None:
    save(capture, *every_type())
    capture.write_bytes(capture.read_bytes()[:-20])
    done = reader.run("tshark", "-r", str(capture))
    assert done.returncode != 0
    assert "cut short" in done.stderr
    assert len(done.stdout.splitlines()) == 11


@pytest.mark.parametrize(
    ("client", "guarded"),
    [
        (b"a server guard=0123456789abcdef", True),
        (b" guard=0123456789abcdef", True),
        (b"a server", False),
        (b"guard=0123456789abcdef", False),
        (b"a server guard=0123456789abcdeg", False),
        (b"a server guard=0123456789abcdef.", False),
    ],
)
def test_the_padding_of_a_null_ack_may_hold_a_hash_where_the_response_announces_it(
    reader: Reader, capture: Path, client: bytes, guarded: bool
) -> None:
    """Two netblt commands check NULL-ACKs by it (docs/security.md); other padding is noted as in any connection."""
    opened = forge.packet(forge.OPEN, forge.open_body(7, client=b"file"), 4096, 1)
    response = forge.packet(forge.RESPONSE, forge.open_body(7, client=client), 1, 4096)
    null_ack = forge.packet(forge.NULL_ACK, struct.pack(">HHHH", 0, 8, 10, 0x1234), 4096, 1)
    frames = [
        Frame(forge.NS, forge.ipv4(opened, A, B, 1)),
        Frame(2 * forge.NS, forge.ipv4(response, B, A, 1)),
        Frame(3 * forge.NS, forge.ipv4(null_ack, A, B, 2)),
    ]
    rows = reader.rows(forge.write_pcapng(capture, frames), "netblt.padding", "netblt.padding_set")
    assert [len(row["netblt.padding_set"]) for row in rows] == [0, 0, 0 if guarded else 1]
    assert int(rows[2]["netblt.padding"][-1], 0) == 0x1234
