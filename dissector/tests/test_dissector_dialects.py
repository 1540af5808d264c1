# SPDX-License-Identifier: GPL-2.0-or-later
"""RFC 998, ETFTP and version 4 are distinguished by themselves, or by the preference."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from dissector.tests import forge
from dissector.tests.forge import Frame, text_field
from dissector.tests.reader import ROOT, Reader

DIALECTS = ROOT / "pcaps" / "dialects"
NAMES = {"etftp": "RFC 1986 (ETFTP)", "version4": "version 4"}
PROTOCOLS = {"etftp": "ETFTP", "version4": "NETBLTv4"}
VECTORS: list[dict[str, Any]] = [
    vector for name in NAMES for vector in json.loads((DIALECTS / f"{name}.json").read_text(encoding="utf-8"))
]
A, B = "10.0.0.1", "10.0.0.2"
FIELDS = {
    "version": "version",
    "type_code": "type.code",
    "length": "length",
    "unique_id": "uid",
    "buffer_size": "buffer_size",
    "transfer_size": "transfer_size",
    "packet_size": "packet_size",
    "burst_size": "burst_size",
    "burst_interval_ms": "burst_interval",
    "death_timer_s": "death_timer",
    "write": "flags.write",
    "data_checksum_flag": "flags.data_checksum",
    "binary": "flags.binary",
    "renegotiate": "flags.renegotiate",
    "radio_delay_s": "radio_delay",
    "max_buffers": "max_buffers",
    "buffer": "buffer",
    "high_seq": "high_seq",
    "packet": "packet",
    "last_buffer": "flags.last_buffer",
    "last_touched": "last_touched",
}
MESSAGE = {
    "seq": "seq",
    "buffer": "buffer",
    "burst_size": "burst_size",
    "burst_interval_ms": "burst_interval",
    "control_timer_ms": "timer",
    "packet_size": "packet_size",
}


def over_udp(payload: bytes, source: int, target: int, ip_id: int = 1) -> Frame:
    return Frame(forge.NS, forge.ipv4(forge.udp(payload, source, target), A, B, ip_id, protocol=17))


@pytest.fixture(scope="module")
def rows(reader: Reader) -> list[dict[str, list[str]]]:
    frames = []
    for number, vector in enumerate(VECTORS):
        octets = bytes.fromhex(vector["hex"])
        udp = vector["dialect"] == "etftp"
        frames.append(over_udp(octets, 1818, 20_000 + number) if udp else Frame(forge.NS, forge.ipv4(octets, A, B, 1)))
    path = forge.write_pcapng(reader.home / "dialects.pcapng", frames)
    names = {"dialect", "client_string", "reason", "data", "checksum.status", "control.resend.packet", "undecoded"}
    names.add("type")
    names |= set(FIELDS.values()) | {f"control.{name}" for name in MESSAGE.values()} | {"padding_set", "reserved_set"}
    return reader.rows(path, *(f"netblt.{name}" for name in sorted(names)))


@pytest.mark.parametrize("index", range(len(VECTORS)), ids=[f"{v['dialect']}-{v['type']}" for v in VECTORS])
def test_a_packet_of_another_dialect_is_read_as_it_is_meant(index: int, rows: list[dict[str, list[str]]]) -> None:
    row = {name.removeprefix("netblt."): values for name, values in rows[index].items()}
    vector = VECTORS[index]
    fields = vector["fields"]
    assert row["dialect"] == [NAMES[vector["dialect"]]]
    assert row["checksum.status"] == ["1"]
    assert row["type"] == [str(forge.TYPE_NAMES.index(vector["type"]))]
    assert row["undecoded"] == row["padding_set"] == row["reserved_set"] == []
    for key, name in FIELDS.items():
        assert [int(value, 0) for value in row[name]] == ([int(fields[key])] if key in fields else []), key
    if "string" in fields:
        assert "".join(row["client_string"] + row["reason"]) == fields["string"]
    if "data_hex" in fields:
        assert row["data"] == [fields["data_hex"]]
    messages = fields.get("messages", [])
    for key, name in MESSAGE.items():
        wanted = [message[key] for message in messages if key in message]
        assert [int(value) for value in row[f"control.{name}"]] == wanted, key
    assert [int(value) for value in row["control.resend.packet"]] == [
        entry for message in messages for entry in message.get("packets", [])
    ]


@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one-pass", "two-passes"])
def test_a_whole_transfer_is_followed(reader: Reader, name: str, passes: tuple[str, ...]) -> None:
    facts = json.loads((DIALECTS / f"{name}-transfer.facts.json").read_text(encoding="utf-8"))
    path = reader.home / f"{name}-transfer.pcapng"
    path.write_bytes((DIALECTS / path.name).read_bytes())
    columns = ("netblt.dialect", "netblt.stream", "netblt.analysis.retransmission", "netblt.data_checksum.status")
    found = reader.rows(path, "_ws.col.Info", "_ws.col.Protocol", *columns, "netblt.analysis.flags", options=passes)
    assert [row["_ws.col.Info"][0].split()[0] for row in found] == facts["types"]
    assert {row["netblt.dialect"][0] for row in found} == {NAMES[name]}
    assert [row["_ws.col.Protocol"] for row in found] == [[PROTOCOLS[name]]] * len(facts["types"])
    assert {row["netblt.stream"][0] for row in found} == {"0"}
    assert [n for n, row in enumerate(found, 1) if row["netblt.analysis.retransmission"]] == facts[
        "retransmitted_frames"
    ]
    assert {status for row in found for status in row["netblt.data_checksum.status"]} == {"1"}
    assert not any(row["netblt.analysis.flags"] for row in found)


@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.parametrize("kind", ["DATA", "LDATA", "CONTROL", "DONE"])
def test_the_name_of_a_type_finds_the_same_packets_in_every_dialect(reader: Reader, name: str, kind: str) -> None:
    facts = json.loads((DIALECTS / f"{name}-transfer.facts.json").read_text(encoding="utf-8"))
    path = DIALECTS / f"{name}-transfer.pcapng"
    found = reader.rows(path, "frame.number", options=("-Y", f'netblt.type == "{kind}"'))
    wanted = [number for number, one in enumerate(facts["types"], 1) if one == kind]
    assert wanted
    assert [int(row["frame.number"][0]) for row in found] == wanted


def test_a_code_that_no_dialect_knows_is_no_type(reader: Reader, capture: Path) -> None:
    """12 is the place of MESSAGE, which only version 5 has."""
    frame = Frame(forge.NS, forge.ipv4(forge.packet(12, b"", 1000, 1), A, B, 1))
    (row,) = reader.rows(forge.write_pcapng(capture, [frame]), "netblt.type", "netblt.type.code")
    assert row == {"netblt.type": [], "netblt.type.code": ["12"]}
    assert "Type Code: 12 (unknown)" in reader.tshark(capture, "-V")


def etftp_open(string: bytes, *, flags: int = 0x000D, delay: int = 4, kind: int = forge.OPEN) -> bytes:
    fixed = struct.pack(">IIIHHHHHHHH", 7, 4096, 0, 512, 4, 50, 30, flags, 2, delay, 0)
    return forge.packet(kind, fixed + text_field(string), 1000, 1)


def dialects(reader: Reader, capture: Path, frames: list[Frame], *options: str) -> list[str]:
    rows = reader.rows(forge.write_pcapng(capture, frames), "netblt.dialect", options=options)
    return [row["netblt.dialect"][0] for row in rows]


def test_an_open_shows_by_itself_what_it_is(reader: Reader, capture: Path) -> None:
    plain = forge.packet(forge.OPEN, forge.open_body(7, client=b"name"), 1000, 1)
    short = forge.packet(forge.OPEN, forge.open_body(7)[:24], 1000, 1)
    frames = [
        over_udp(plain, 9980, 9980),
        over_udp(plain, 1818, 5001),  # RFC 998 on ETFTP's port: there is no string where ETFTP has it
        over_udp(etftp_open(b"name"), 9980, 5002),
        over_udp(etftp_open(b"name", delay=0), 9980, 5003),
        over_udp(etftp_open(b"name"), 1818, 5004),
        over_udp(short, 1818, 5005),  # no room for ETFTP's fields
    ]
    rfc998, etftp = "RFC 998", NAMES["etftp"]
    assert dialects(reader, capture, frames) == [rfc998, rfc998, etftp, etftp, etftp, rfc998]


def test_rfc_1986_turns_the_meaning_of_m(reader: Reader, capture: Path) -> None:
    opens = [
        *(
            forge.packet(forge.OPEN, forge.open_body(7, client=b"name", write=write), 1000, 1)
            for write in (True, False)
        ),
        etftp_open(b"name", flags=0x000D),
        etftp_open(b"name", flags=0x000C),
    ]
    path = forge.write_pcapng(capture, [over_udp(octets, 9980, 5300 + n) for n, octets in enumerate(opens)])
    modes = [("WRITE", "sends"), ("READ", "receives"), ("GET", "receives"), ("PUT", "sends")]
    told = re.findall(r" = M: (\w+): the end that opened (\w+)", reader.tshark(path, "-V"))
    assert told == modes
    infos = [row["_ws.col.Info"][0].split()[4] for row in reader.rows(path, "_ws.col.Info")]
    assert infos == [word for word, _ in modes]


@pytest.mark.parametrize("dialect", sorted(NAMES))
def test_a_null_ack_tells_in_one_line_what_it_confirms(reader: Reader, dialect: str) -> None:
    """The packet size is there in ETFTP only."""
    (fields,) = (v["fields"] for v in VECTORS if (v["dialect"], v["type"]) == (dialect, "NULL-ACK"))
    size = f" pkt {fields['packet_size']}" if "packet_size" in fields else ""
    path = DIALECTS / f"{dialect}-transfer.pcapng"
    infos = [row["_ws.col.Info"][0] for row in reader.rows(path, "_ws.col.Info")]
    confirmed = f"burst {fields['burst_size']}/{fields['burst_interval_ms']} ms"
    assert [info for info in infos if info.startswith("NULL-ACK")] == [
        f"NULL-ACK ack {fields['high_seq']}{size} {confirmed}"
    ]


def test_reserved_bits_alone_do_not_make_etftp(reader: Reader, capture: Path) -> None:
    strings = (b"", b"a", b"abc", b"abcdefg")
    payloads = [
        forge.packet(forge.OPEN, forge.open_body(7, client=string, flags=0x000C), 1000, 1) for string in strings
    ]
    frames = [over_udp(payload, 9980, 5100 + number) for number, payload in enumerate(payloads)]
    assert set(dialects(reader, capture, frames)) == {"RFC 998"}


def test_a_connection_keeps_its_dialect(reader: Reader, capture: Path) -> None:
    """An OK with a packet size, and an answer whose string shows nothing, belong to the OPEN's dialect."""
    answer = etftp_open(b"", kind=forge.RESPONSE)
    answer = forge.packet(forge.RESPONSE, answer[12:], 1, 1000)
    control = forge.packet(forge.CONTROL, forge.ok(1, 0)[:-2] + struct.pack(">H", 256), 1, 1000)
    back = [
        Frame(forge.NS, forge.ipv4(forge.udp(payload, 5200, 9980), B, A, 1, protocol=17))
        for payload in (answer, control)
    ]
    path = forge.write_pcapng(capture, [over_udp(etftp_open(b"name"), 9980, 5200), *back])
    rows = reader.rows(path, "netblt.dialect", "netblt.control.packet_size", "netblt.stream")
    assert [row["netblt.dialect"] for row in rows] == [[NAMES["etftp"]]] * 3
    assert rows[2]["netblt.control.packet_size"] == ["256"]
    assert {row["netblt.stream"][0] for row in rows} == {"0"}


def test_the_checksum_decides_where_the_version_byte_misleads(reader: Reader, capture: Path) -> None:
    """RFC 998 assigns no version: DATA with version 4 whose checksum covers RFC 998's header is RFC 998's."""
    data = forge.data_body(0, 3, 1, bytes(range(100)))
    plain = forge.packet(forge.DATA, data, 1000, 1, version=4, covered=24)
    newer = forge.packet(5, bytes(20) + b"text", 1000, 1, version=4, covered=32)
    frames = [Frame(forge.NS, forge.ipv4(payload, A, B, 1)) for payload in (plain, newer)]
    assert dialects(reader, capture, frames) == ["RFC 998", "version 4"]


def test_version_5_has_a_message_of_its_own(reader: Reader, capture: Path) -> None:
    payloads = [forge.packet(11, text_field(b"hello"), 1000, 1, version=version) for version in (4, 5)]
    frames = [Frame(forge.NS, forge.ipv4(payload, A, B, 1)) for payload in payloads]
    rows = reader.rows(forge.write_pcapng(capture, frames), "_ws.col.Info")
    assert rows[1]["_ws.col.Info"] == ['MESSAGE "hello"']
    assert not rows[0]["_ws.col.Info"][0].startswith("MESSAGE")


def test_a_packet_of_version_5_changes_nothing_in_a_connection_of_rfc_998(reader: Reader, capture: Path) -> None:
    """A MESSAGE has a type code that RFC 998 does not have: intact or damaged, only its version byte is judged."""
    intact = forge.packet(11, text_field(b"hello"), 1000, 1, version=5)
    damaged = bytes([intact[0] ^ 1]) + intact[1:]
    opening = forge.packet(forge.OPEN, forge.open_body(7), 1000, 1)
    unknown = forge.packet(12, b"", 1000, 1)
    path = forge.write_pcapng(
        capture,
        [
            Frame(forge.NS * number, forge.ipv4(payload, A, B, number))
            for number, payload in enumerate((opening, damaged, intact, unknown, opening), 1)
        ],
    )
    rows = reader.rows(path, "netblt.dialect", "netblt.stream", "netblt.analysis.requirement")
    rfc998, newer = ["RFC 998"], [NAMES["version4"]]
    assert [row["netblt.dialect"] for row in rows] == [rfc998, newer, newer, rfc998, rfc998]
    assert {row["netblt.stream"][0] for row in rows} == {"0"}
    assert [row["netblt.analysis.requirement"] for row in rows] == [[], [], ["WIRE-02"], ["WIRE-03"], []]


@pytest.mark.parametrize(("value", "name"), [("rfc998", "RFC 998"), ("etftp", NAMES["etftp"]), ("v4", "version 4")])
def test_the_preference_overrules(reader: Reader, capture: Path, value: str, name: str) -> None:
    plain = forge.packet(forge.OPEN, forge.open_body(7, client=b"name and more"), 1000, 1)
    newer = forge.packet(forge.OPEN, forge.open_body(7, client=b"name and more"), 1000, 1, version=4)
    frames = [over_udp(plain, 9980, 9980), over_udp(newer, 9980, 5300), over_udp(etftp_open(b"name"), 1818, 5301)]
    assert set(dialects(reader, capture, frames, "-o", f"netblt.dialect:{value}")) == {name}


# --- ports ----------------------------------------------------------------------------------------------------------


def shown(reader: Reader, capture: Path, frames: list[Frame], *options: str) -> list[bool]:
    rows = reader.rows(forge.write_pcapng(capture, frames), "netblt", options=options)
    return [bool(row["netblt"]) for row in rows]


def test_netblt_is_found_on_any_port_by_a_flawless_packet(reader: Reader, capture: Path) -> None:
    good = forge.packet(forge.OPEN, forge.open_body(7), 1000, 1)
    bad = good[:14] + bytes([good[14] ^ 1]) + good[15:]
    frames = [over_udp(bad, 40_000, 40_001), over_udp(good, 40_000, 40_001), over_udp(bad, 40_000, 40_001)]
    assert shown(reader, capture, frames) == [False, True, True]
    assert shown(reader, capture, frames, "--disable-heuristic", "netblt_udp") == [False, False, False]
    assert shown(reader, capture, frames, "-d", "udp.port==40000,netblt") == [True, True, True]
    assert shown(reader, capture, frames, "-o", "netblt.udp.port:40001") == [True, True, True]


def test_other_traffic_is_left_alone(reader: Reader, capture: Path) -> None:
    zeros, ones, text = bytes(12), b"\xff" * 40, b"GET / HTTP/1.0\r\n\r\n    "
    version = forge.packet(forge.KEEPALIVE, b"", 1000, 1, version=9)
    frames = [over_udp(payload, 40_000, 40_001) for payload in (zeros, ones, text, version)]
    assert shown(reader, capture, frames) == [False] * 4


# --- rules ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "slugs"),
    [
        ("etftp-wire05-not-a-multiple", {"wire_multiple", "r1986_aligned"}),
        ("v4-wire05-not-a-multiple", {"wire_multiple"}),
        ("wire05-not-a-multiple", {"wire_multiple"}),
        ("etftp-ctrl03-newest-first", {"ctrl_fifo", "r1030_redundant"}),
        ("v4-ctrl03-newest-first", {"ctrl_fifo"}),
    ],
)
def test_a_breach_is_found_by_every_rule_of_its_dialect_that_says_the_same(
    reader: Reader, name: str, slugs: set[str]
) -> None:
    all_of_them = ("wire_multiple", "r1986_aligned", "ctrl_fifo", "r1030_redundant")
    columns = [f"netblt.analysis.{slug}" for slug in all_of_them]
    rows = reader.rows(ROOT / "pcaps" / "violations" / f"{name}.pcapng", *columns)
    found = {slug for slug, column in zip(all_of_them, columns, strict=True) if any(row[column] for row in rows)}
    assert found == slugs


@pytest.mark.parametrize(
    ("name", "silent", "held"),
    [
        ("etftp-like-998-kept", {"CTRL-06", "DATA-13", "TIMER-03", "CLOSE-03", "WIRE-09"}, {"CTRL-04", "R1986-20"}),
        ("v4-like-998-lossy", {"CTRL-04", "WIRE-03", "R1986-20"}, {"CTRL-02", "DATA-09", "WIRE-02", "CKSUM-04"}),
        ("v4-like-rfc998", {"CTRL-02", "DATA-09", "WIRE-02", "NEG-02"}, set()),
    ],
)
def test_a_rule_that_does_not_hold_in_the_dialect_is_not_put_to_the_test(
    reader: Reader, name: str, silent: set[str], held: set[str]
) -> None:
    path = ROOT / "pcaps" / "violations" / f"{name}.pcapng"
    document = json.loads(reader.tshark(path, "-q", "-z", "netblt,verdict,json"))
    verdicts = {rule["requirement"]: rule["verdict"] for rule in document["connections"][0]["requirements"]}
    assert {verdicts[rule] for rule in silent} == {"not observable"}
    assert {verdicts[rule] for rule in held} <= {"passed"}
