# SPDX-License-Identifier: GPL-2.0-or-later
"""What the suite reads and forges agrees with the byte vectors, and reading never raises."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from netblt_conformance.common import paths
from netblt_conformance.packets import fuzz, packets
from netblt_conformance.packets.packets import Forge, Kind, Message, Packet, Type
from netblt_conformance.wire import (
    NETBLT,
    NETBLTControl,
    NETBLTGo,
    NETBLTLData,
    NETBLTNullAck,
    NETBLTOk,
    NETBLTResend,
)
from scapy.packet import Padding

# schema.json lies beside the vectors; vector files hold lists.
FILES = [
    json.loads(path.read_text(encoding="utf-8")) for path in sorted((paths.root() / "pcaps" / "vectors").glob("*.json"))
]
CASES = [vector for file in FILES if isinstance(file, list) for vector in file]
RFC998 = [vector for vector in CASES if vector.get("dialect") == "rfc998"]


@pytest.mark.parametrize("vector", RFC998, ids=lambda vector: vector["name"])
def test_a_vector_reads_as_it_says(vector: dict[str, Any]) -> None:
    packet = packets.read(bytes.fromhex(vector["hex"]))
    if vector["valid"]:
        assert packet.error is None
        assert packet.type is Type[vector["type"].replace("-", "_")]
        assert packet.checksum_good
    elif vector["error"] == "checksum":
        assert not packet.checksum_good
    elif vector["error"] in ("short", "length", "message"):
        assert packet.error is not None
    for name in ("buffer", "high_seq", "packet", "unique_id", "max_buffers", "version", "local_port", "foreign_port"):
        if name in vector.get("fields", {}) and packet.error is None:
            assert getattr(packet, name) == vector["fields"][name], name


def test_there_are_vectors() -> None:
    assert len(RFC998) > 30


@pytest.mark.parametrize("vector", [v for v in CASES if v["valid"]], ids=lambda vector: vector["name"])
def test_no_truncation_makes_the_reader_raise(vector: dict[str, Any]) -> None:
    raw = bytes.fromhex(vector["hex"])
    for end in range(len(raw)):
        packets.read(raw[:end])


def test_what_is_forged_reads_back() -> None:
    forge = Forge(version=7, local_port=10, foreign_port=20)
    messages = [
        Message(Kind.GO, 1, 5),
        Message(Kind.OK, 2, 4, burst_size=3, burst_interval_ms=40, control_timer_ms=500),
        Message(Kind.RESEND, 3, 6, packets=(1, 2, 9)),
    ]
    packet = packets.read(forge.control(messages))
    assert (packet.version, packet.local_port, packet.foreign_port) == (7, 10, 20)
    assert [str(m) for m in packet.messages] == ["#1 GO(5)", "#2 OK(4)", "#3 RESEND(6:1,2,9)"]
    assert [m.size for m in packet.messages] == [8, 16, 20]
    assert packet.checksum_good


@pytest.mark.parametrize("version", [0, 2, 4, 5, 255])
def test_any_version_byte_is_read_as_rfc_998(version: int) -> None:
    fields = Packet(b"", type=Type.LDATA, buffer=3, high_seq=2, packet=1, flags=1, data=b"abcde")
    packet = packets.read(Forge(version, 1, 2).data(fields))
    assert (packet.type, packet.buffer, packet.data, packet.last_buffer) == (Type.LDATA, 3, b"abcde", True)
    assert len(packet.raw) % 4 == 0
    assert packet.checksum_good


def test_a_spoilt_packet_has_a_bad_checksum_and_sealing_repairs_it() -> None:
    good = Forge(2, 1, 2).packet(Type.KEEPALIVE)
    assert not packets.read(packets.spoil(good)).checksum_good
    assert packets.seal(packets.spoil(good)) == good


PAIRS = {  # of the layer's field and ours, where the names differ
    "type": "type_code",
    "padding": "header_padding",
}


def as_the_layers_read(raw: bytes) -> dict[str, Any]:
    """Header and body of a packet from the scapy layers, by the names of `Packet`."""
    layer: Any = NETBLT(raw[:2] + bytes([packets.READ_AS_VERSION]) + raw[3:])
    found = {PAIRS.get(f.name, f.name): layer.getfieldval(f.name) for f in layer.fields_desc}
    found["version"] = raw[2]
    body = layer.payload
    names = {f.name for f in getattr(body, "fields_desc", ())} & set(Packet.__dataclass_fields__) - {
        "string",
        "messages",
    }
    found.update({name: int(body.getfieldval(name)) for name in names})
    if layer.type in packets.DATA_TYPES:
        found["data"] = b"" if isinstance(body.payload, Padding) else bytes(getattr(body.payload, "load", b""))
    if layer.type == Type.NULL_ACK:
        found["padding"] = body.tail.to_bytes(2, "big")
    if layer.type == Type.CONTROL:
        found["sequence"] = [message.seq for message in body.messages]
    return found


@pytest.mark.parametrize("name", ["OPEN", "RESPONSE", "DATA", "LDATA", "NULL-ACK", "CONTROL", "KEEPALIVE", "QUIT"])
def test_the_reader_agrees_with_the_layers_on_damaged_packets(name: str) -> None:
    sound = [bytes.fromhex(v["hex"]) for v in RFC998 if v["valid"] and v["type"] == name]
    mutated = fuzz.generate(1, random.Random(name), {str(n): raw for n, raw in enumerate(sound)}, 150, sealed=True)
    compared = 0
    for raw in [*sound, *(m.packet for m in mutated)]:
        packet = packets.read(raw)
        if packet.error is not None:
            continue
        compared += 1
        for field, value in as_the_layers_read(raw).items():
            if field == "sequence":
                assert [message.seq for message in packet.messages] == value
            else:
                assert getattr(packet, field) == value, (field, raw.hex())
    assert compared > len(sound)


def forged_by_the_layers(kind: Type, body: Any) -> bytes:
    packet = NETBLT(type=kind, local_port=FORGE.local_port, foreign_port=FORGE.foreign_port) / body
    return packets.seal(bytes(packet))


FORGE = Forge(packets.READ_AS_VERSION, 1000, 2000)


def random_message(chance: random.Random) -> tuple[Message, Any]:
    """A message, and the same as a layer."""
    seq, buffer = chance.randrange(1 << 16), chance.randrange(1 << 32)
    kind = chance.choice(list(Kind))
    if kind is Kind.GO:
        return Message(kind, seq, buffer), NETBLTGo(seq=seq, buffer=buffer)
    if kind is Kind.RESEND:
        numbers = tuple(chance.randrange(1 << 16) for _ in range(chance.randrange(6)))
        return Message(kind, seq, buffer, packets=numbers), NETBLTResend(seq=seq, buffer=buffer, packets=list(numbers))
    burst, interval_ms, timer_ms = (chance.randrange(1 << 16) for _ in range(3))
    layer = NETBLTOk(seq=seq, buffer=buffer, burst_size=burst, burst_interval_ms=interval_ms, control_timer_ms=timer_ms)
    return Message(kind, seq, buffer, burst, interval_ms, timer_ms), layer


def test_what_is_forged_is_what_the_layers_build() -> None:
    chance = random.Random(1)
    for _ in range(100):
        messages, layers = zip(*(random_message(chance) for _ in range(chance.randrange(1, 5))), strict=True)
        assert FORGE.control(messages) == forged_by_the_layers(Type.CONTROL, NETBLTControl(messages=list(layers)))
        data, flags = chance.randbytes(chance.randrange(20)), chance.randrange(2)
        values = Packet(b"", type=Type.LDATA, buffer=7, high_seq=8, packet=9, data_checksum=10, flags=flags, data=data)
        body = NETBLTLData(buffer=7, high_seq=8, packet=9, data_checksum=10, flags=flags)
        assert FORGE.data(values) == forged_by_the_layers(Type.LDATA, body / data if data else body)
        ack = [chance.randrange(1 << 16) for _ in range(3)]
        body = NETBLTNullAck(high_seq=ack[0], burst_size=ack[1], burst_interval_ms=ack[2])
        assert FORGE.null_ack(*ack) == forged_by_the_layers(Type.NULL_ACK, body)


def test_control_messages_are_read_as_the_layers_read_them() -> None:
    chance = random.Random(2)
    for _ in range(300):
        count = chance.randrange(1, 4)
        body = bytearray(FORGE.control([random_message(chance)[0] for _ in range(count)])[packets.HEADER_BYTES :])
        for _ in range(chance.randrange(3)):
            body[chance.randrange(len(body))] = chance.choice((0, 1, 2, 3, 255))
        packet = packets.read(FORGE.packet(Type.CONTROL, bytes(body)))
        layers = NETBLTControl(bytes(body)).messages
        assert [(m.kind, m.seq, m.buffer) for m in packet.messages] == [(m.type, m.seq, m.buffer) for m in layers]
        for message, layer in zip(packet.messages, layers, strict=True):
            names = {"packets", "burst_size", "burst_interval_ms", "control_timer_ms"} & set(layer.fields)
            assert {n: getattr(layer, n) for n in names} == {
                n: list(message.packets) if n == "packets" else getattr(message, n) for n in names
            }


@pytest.mark.parametrize(("size", "asked"), [(15, [(7,)]), (14, [(7,)]), (13, [])])
def test_a_last_resend_without_its_padding_is_a_message_and_a_mistake(size: int, asked: list[tuple[int]]) -> None:
    """Its numbers are there, so an implementation may act upon it; RFC 998 8 asks for the padding all the same.
    Without one byte of the numbers there is no message."""
    body = bytes.fromhex("02000005 00000001 00010000 00070000")[:size]
    header = bytes([0, 0, 2, Type.CONTROL, 0, 12 + size, 0, 10, 0, 20, 0, 0])
    packet = packets.read(packets.seal(header + body))
    assert [message.packets for message in packet.messages] == asked
    assert packet.error is not None
