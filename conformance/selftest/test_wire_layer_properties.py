# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds of the scapy layer for any packet, not only for those of the vectors."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from netblt_conformance.wire import (
    NETBLT,
    NETBLTAbort,
    NETBLTControl,
    NETBLTData,
    NETBLTGo,
    NETBLTLData,
    NETBLTNullAck,
    NETBLTOk,
    NETBLTOpen,
    NETBLTQuit,
    NETBLTRefused,
    NETBLTResend,
    NETBLTResponse,
    Verbatim,
    checksum_ok,
    data_checksum_ok,
    peek,
)
from netblt_conformance.wire.netblt import wire_form
from scapy.config import conf
from scapy.packet import Padding, Raw

U8, U16, U32 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32))
TEXT = st.binary(max_size=40).filter(lambda octets: 0 not in octets)
# A Verbatim that is the wire form of a text is read as that text.
VERBATIM = st.binary(max_size=40).filter(lambda octets: wire_form(octets.partition(b"\0")[0]) != octets).map(Verbatim)
STRING = TEXT | VERBATIM
PORTS = {"local_port": U16, "foreign_port": U16, "padding": U16}

setup_bodies = st.sampled_from([NETBLTOpen, NETBLTResponse]).flatmap(
    lambda body: st.builds(
        body,
        unique_id=U32,
        buffer_size=U32,
        transfer_size=U32,
        packet_size=U16,
        burst_size=U16,
        burst_interval_ms=U16,
        death_timer_s=U16,
        flags=U16,
        max_buffers=U16,
        string=STRING,
    )
)
reason_bodies = st.sampled_from([NETBLTQuit, NETBLTAbort, NETBLTRefused]).flatmap(
    lambda body: st.builds(body, string=STRING)
)
messages = st.lists(
    st.builds(NETBLTGo, pad=U8, seq=U16, buffer=U32)
    | st.builds(
        NETBLTOk,
        pad=U8,
        seq=U16,
        buffer=U32,
        burst_size=U16,
        burst_interval_ms=U16,
        control_timer_ms=U16,
        tail=U16,
    )
    | st.builds(NETBLTResend, pad=U8, seq=U16, buffer=U32, packets=st.lists(U16, max_size=150), pad2=U16),
    max_size=8,
)
control_bodies = st.builds(NETBLTControl, messages=messages)
null_ack_bodies = st.builds(NETBLTNullAck, high_seq=U16, burst_size=U16, burst_interval_ms=U16, tail=U16)
data_bodies = st.sampled_from([NETBLTData, NETBLTLData]).flatmap(
    lambda body: st.builds(
        lambda layer, octets: layer / Raw(octets) if octets else layer,
        st.builds(body, buffer=U32, high_seq=U16, packet=U16, flags=U16, data_checksum=st.none()),
        st.binary(max_size=60),
    )
)
headers = st.builds(NETBLT, version=U8.filter(lambda version: version not in (4, 5)), **PORTS)
packets = st.builds(
    lambda head, body: head / body,
    headers,
    setup_bodies | reason_bodies | control_bodies | null_ack_bodies | data_bodies,
)


def read(octets: bytes) -> Any:
    """Reads with scapy's safety net taken away."""
    before = conf.debug_dissector
    conf.debug_dissector = True
    try:
        return NETBLT(octets)
    finally:
        conf.debug_dissector = before


def layers(packet: Any) -> list[tuple[type, dict[str, Any]]]:
    """Layers and fields, without what fills itself in."""
    found = []
    for layer in packet.iterpayloads():
        if isinstance(layer, Padding):
            continue
        automatic = ("checksum", "length", "data_checksum", "messages")
        fields = {field.name: layer.getfieldval(field.name) for field in layer.fields_desc}
        found.append((type(layer), {name: value for name, value in fields.items() if name not in automatic}))
        for message in fields.get("messages", []):
            names = [field.name for field in message.fields_desc if field.name not in ("count", "fill")]
            found.append((type(message), {name: message.getfieldval(name) for name in names}))
    return found


@given(packets)
def test_what_was_built_is_read_back_field_by_field(packet: Any) -> None:
    octets = bytes(packet)
    again = read(octets)
    assert layers(again) == layers(packet)
    assert bytes(again) == octets


@given(packets)
def test_what_was_built_verifies_and_is_a_multiple_of_four(packet: Any) -> None:
    octets = bytes(packet)
    assert checksum_ok(octets)
    assert len(octets) % 4 == 0 or any(isinstance(getattr(layer, "string", None), Verbatim) for layer in packet)
    header = peek(octets)
    assert header is not None
    if header.type in (6, 7):
        assert data_checksum_ok(octets)


@given(packets, st.data())
def test_one_turned_bit_under_the_checksum_is_noticed(packet: Any, choice: st.DataObject) -> None:
    octets = bytes(packet)
    header = peek(octets)
    assert header is not None
    reach = 24 if header.type in (6, 7) else header.length
    # A turned bit in Type or Length moves the end of what is summed; that is another packet, not a spoilt one.
    bit = choice.draw(st.integers(0, reach * 8 - 1).filter(lambda bit: bit // 8 not in (3, 4, 5)))
    spoilt = bytearray(octets)
    spoilt[bit // 8] ^= 1 << bit % 8
    assert not checksum_ok(bytes(spoilt))


@given(data_bodies, st.data())
def test_one_turned_bit_of_the_data_is_noticed_by_the_data_checksum_alone(body: Any, choice: st.DataObject) -> None:
    octets = bytes(NETBLT() / body)
    header = peek(octets)
    assert header is not None
    if header.length == 24:
        return
    bit = choice.draw(st.integers(24 * 8, header.length * 8 - 1))
    spoilt = bytearray(octets)
    spoilt[bit // 8] ^= 1 << bit % 8
    assert checksum_ok(bytes(spoilt))
    assert not data_checksum_ok(bytes(spoilt))


@given(st.binary(max_size=120))
def test_any_octets_are_read_and_given_back(octets: bytes) -> None:
    if octets:
        assert bytes(read(octets)) == octets
    peek(octets)
    checksum_ok(octets)
    data_checksum_ok(octets)


@given(packets, st.data())
def test_a_packet_changed_anywhere_is_read_and_given_back(packet: Any, choice: st.DataObject) -> None:
    octets = bytearray(bytes(packet))
    for _ in range(choice.draw(st.integers(1, 4))):
        octets[choice.draw(st.integers(0, len(octets) - 1))] = choice.draw(U8)
    cut = bytes(octets[: choice.draw(st.integers(1, len(octets)))])
    assert bytes(read(cut)) == cut


@given(packets, st.binary(min_size=1, max_size=7))
def test_bytes_beyond_length_are_padding_whatever_they_hold(packet: Any, beyond: bytes) -> None:
    octets = bytes(packet)
    header = peek(octets)
    assert header is not None
    again = read(octets[: header.length] + beyond)
    assert again[Padding].load == beyond
    assert layers(again) == layers(packet)
