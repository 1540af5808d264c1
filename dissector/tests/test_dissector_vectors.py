# SPDX-License-Identifier: GPL-2.0-or-later
"""Every byte vector, wrapped in IPv4, is read field by field as its author meant it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dissector.tests import forge
from dissector.tests.forge import Frame
from dissector.tests.reader import ROOT, Reader

FILES = [path for path in sorted((ROOT / "pcaps" / "vectors").glob("*.json")) if path.name != "schema.json"]
VECTORS: list[dict[str, Any]] = [vector for path in FILES for vector in json.loads(path.read_text(encoding="utf-8"))]

HEADER = {
    "checksum": "checksum",
    "version": "version",
    "type_code": "type.code",
    "length": "length",
    "local_port": "local_port",
    "foreign_port": "foreign_port",
}
BODY = {
    "unique_id": "uid",
    "buffer_size": "buffer_size",
    "transfer_size": "transfer_size",
    "packet_size": "packet_size",
    "burst_size": "burst_size",
    "burst_interval_ms": "burst_interval",
    "death_timer_s": "death_timer",
    "max_buffers": "max_buffers",
    "buffer": "buffer",
    "high_seq": "high_seq",
    "packet": "packet",
    "data_checksum": "data_checksum",
}
FLAGS = {"write": "flags.write", "data_checksum_flag": "flags.data_checksum", "last_buffer": "flags.last_buffer"}
RESERVED = {"OPEN": 0xFFFC, "RESPONSE": 0xFFFC, "DATA": 0xFFFE, "LDATA": 0xFFFE}
MESSAGE = {
    "seq": "seq",
    "buffer": "buffer",
    "burst_size": "burst_size",
    "burst_interval_ms": "burst_interval",
    "control_timer_ms": "timer",
    "count": "resend.count",
}
DIALECTS = {"rfc998": "RFC 998", "etftp": "RFC 1986 (ETFTP)", "version4": "version 4"}
COMPLAINTS = {
    "short": {"netblt.short"},
    "length": {"netblt.length_beyond", "netblt.length_below"},
    "type": {"netblt.type_unknown"},
    "checksum": {"netblt.checksum_bad"},
    "message": {"netblt.control.residue", "netblt.control.unknown", "netblt.control.overrun"},
}
NAMES = sorted(
    {f"netblt.{name}" for table in (HEADER, BODY, FLAGS) for name in table.values()}
    | {f"netblt.control.{name}" for name in MESSAGE.values()}
    | {name for names in COMPLAINTS.values() for name in names}
    | {"netblt", "netblt.padding", "netblt.flags", "netblt.client_string", "netblt.reason", "netblt.data"}
    | {"netblt.control.type", "netblt.control.resend.packet", "netblt.checksum.status", "netblt.data_checksum.status"}
    | {"netblt.type", "netblt.dialect", "_ws.malformed", "netblt.string_unterminated"}
)


def addresses(index: int) -> tuple[str, str]:
    return f"10.1.{index >> 8}.{index & 255}", "10.2.0.1"


def wrapped(index: int, vector: dict[str, Any]) -> list[Frame]:
    """The vector in IPv4; before it, where data checksums matter, an OPEN and a RESPONSE that negotiate them."""
    source, target = addresses(index)
    frames = []
    if vector.get("data_checksum") in ("good", "bad"):
        here, there = vector["fields"]["local_port"], vector["fields"]["foreign_port"]
        body = forge.open_body(index, data_checksum=True)
        opened = forge.ipv4(forge.packet(forge.OPEN, body, here, there), source, target, 1)
        answer = forge.ipv4(forge.packet(forge.RESPONSE, body, there, here), target, source, 1)
        frames += [Frame(forge.NS, opened), Frame(forge.NS, answer)]
    return [*frames, Frame(forge.NS, forge.ipv4(bytes.fromhex(vector["hex"]), source, target, 2))]


@pytest.fixture(scope="module")
def rows(reader: Reader) -> list[dict[str, list[str]]]:
    frames: list[Frame] = []
    numbers = []
    for index, vector in enumerate(VECTORS):
        frames += wrapped(index, vector)
        numbers.append(len(frames))
    path = forge.write_pcapng(reader.home / "vectors.pcapng", frames)
    found = reader.rows(path, *NAMES)
    assert len(found) == len(frames)
    return [found[number - 1] for number in numbers]


def test_there_are_vectors_of_every_type() -> None:
    assert {vector["type"] for vector in VECTORS} >= {
        *("OPEN", "RESPONSE", "KEEPALIVE", "QUIT", "QUITACK", "ABORT"),
        *("DATA", "LDATA", "NULL-ACK", "CONTROL", "REFUSED", "DONE"),
    }


def number(text: str) -> int:
    return int(text, 0)


def check_messages(row: dict[str, list[str]], messages: list[dict[str, Any]], flawless: bool) -> None:
    codes = {"GO": 0, "OK": 1, "RESEND": 2}
    shown: dict[str, list[int]] = {
        name: [number(value) for value in row[f"netblt.control.{name}"]]
        for name in ["type", *MESSAGE.values(), "resend.packet"]
    }
    assert shown["type"] == [codes[message["type"]] for message in messages]
    for key, name in MESSAGE.items():
        assert shown[name] == [message[key] for message in messages if key in message], key
    assert shown["resend.packet"] == [entry for message in messages for entry in message.get("packets", [])]
    assert flawless == (not any(row[name] for name in COMPLAINTS["message"]))


def check_fields(row: dict[str, list[str]], vector: dict[str, Any]) -> None:
    fields, kind = vector["fields"], vector["type"]
    for key, name in {**HEADER, **BODY}.items():
        if key in fields:
            assert [number(value) for value in row[f"netblt.{name}"]] == [fields[key]], key
    assert row["netblt.type"] == [str(forge.TYPE_NAMES.index(kind))]
    if "padding" in fields:
        assert number(row["netblt.padding"][0]) == fields["padding"]
    for key, name in FLAGS.items():
        if key in fields:
            assert row[f"netblt.{name}"] == [str(int(fields[key]))], key
    if "reserved_flags" in fields:
        assert number(row["netblt.flags"][0]) & RESERVED[kind] == fields["reserved_flags"]
    if "string" in fields:
        name = "netblt.client_string" if kind in ("OPEN", "RESPONSE") else "netblt.reason"
        assert "".join(row[name]) == fields["string"]
    if "data_hex" in fields:
        assert "".join(row["netblt.data"]) == fields["data_hex"]
    if "messages" in fields:
        check_messages(row, fields["messages"], vector["error"] != "message")


@pytest.mark.parametrize("index", range(len(VECTORS)), ids=[vector["name"] for vector in VECTORS])
def test_a_vector_is_read_as_it_is_meant(index: int, rows: list[dict[str, list[str]]]) -> None:
    vector, row = VECTORS[index], rows[index]
    assert row["_ws.malformed"] == []
    if vector["hex"] == "":
        return  # an IPv4 packet without payload never reaches a dissector
    assert row["netblt"]
    assert row["netblt.dialect"] == [DIALECTS[vector["dialect"]]] or len(vector["hex"]) < 24
    error = vector["error"]
    for kind, names in COMPLAINTS.items():
        complained = {name for name in names if row[name]}
        assert bool(complained) == (kind == error) or (kind == "checksum" and error in ("length", "short", "type")), (
            complained
        )
    if error in (None, "checksum", "message"):
        check_fields(row, vector)
        assert row["netblt.checksum.status"] == ["0" if error == "checksum" else "1"]
    if vector.get("data_checksum"):
        expected = {"bad": "0", "good": "1", "unchecked": "2"}[vector["data_checksum"]]
        assert row["netblt.data_checksum.status"] == [expected]


def test_the_folder_of_vectors_is_where_it_is_looked_for() -> None:
    assert FILES, f"no vectors in {Path('pcaps/vectors')}"
