# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes to an implementation that numbers packets from 1, or sums header and data, and what comes from it."""

from __future__ import annotations

import itertools

import pytest
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Forge, Kind, Message, Packet, Type
from netblt_conformance.packets.spelling import PLAIN, Covers, Spelling, spelling_of
from netblt_conformance.wire import checksum_ok
from netblt_conformance.wire.fast import sums_to_ffff

FORGE = Forge(2, 3000, 4000)
SPELLINGS = [Spelling(*choice) for choice in itertools.product((0, 1), Covers)]
FROM_ONE = Spelling(first_packet=1)


def data(number: int, content: bytes = b"\x01\x02\xff\xfe\x05", kind: Type = Type.DATA) -> bytes:
    values = Packet(b"", type=kind, buffer=7, packet=number, high_seq=3, data=content)
    return FORGE.data(values)


def requests(*numbers: int) -> bytes:
    messages = [
        Message(Kind.GO, 1, 9),
        Message(Kind.RESEND, 2, 7, packets=numbers),
        Message(Kind.RESEND, 3, 8, packets=(4,)),
    ]
    return FORGE.control(messages)


PACKETS = {
    "even data": data(3, bytes(range(64))),
    "odd data": data(3, bytes(range(63))),
    "no data": data(0, b"", Type.LDATA),
    "data that sum to nothing": data(3, bytes(8)),
    "requests": requests(0, 5, 65534),
    "OPEN": FORGE.opening(Type.OPEN, Packet(b"", unique_id=77, buffer_size=1024, packet_size=256)),
    "KEEPALIVE": FORGE.packet(Type.KEEPALIVE),
}


@pytest.mark.parametrize("octets", PACKETS.values(), ids=PACKETS)
@pytest.mark.parametrize("spelling", SPELLINGS, ids=str)
@pytest.mark.parametrize("summed", [False, True])
def test_what_was_spelt_for_the_wire_reads_as_it_was(octets: bytes, spelling: Spelling, summed: bool) -> None:
    assert spelling.from_wire(spelling.to_wire(octets, summed), summed) == octets


def test_packet_numbers_go_out_and_come_in_from_one() -> None:
    sent = packets.read(FROM_ONE.to_wire(data(3), summed=False))
    assert (sent.packet, sent.checksum_good) == (4, True)
    asked = packets.read(FROM_ONE.to_wire(requests(0, 2), summed=False))
    assert [message.packets for message in asked.messages] == [(), (1, 3), (5,)]
    assert asked.checksum_good
    assert packets.read(FROM_ONE.from_wire(data(3), summed=False)).packet == 2


@pytest.mark.parametrize(
    ("covers", "summed", "whole"),
    [
        (Covers.HEADER, True, False),
        (Covers.DATA_IF_SUMMED, False, False),
        (Covers.DATA_IF_SUMMED, True, True),
        (Covers.DATA, False, True),
        (Covers.DATA, True, True),
    ],
)
@pytest.mark.parametrize("name", ["even data", "odd data"])
def test_the_header_checksum_covers_what_was_chosen(covers: Covers, summed: bool, whole: bool, name: str) -> None:
    octets = Spelling(covers=covers).to_wire(PACKETS[name], summed)
    length = packets.read(octets).length
    assert sums_to_ffff(octets[:length] + b"\0" * (length % 2)) == whole
    assert checksum_ok(octets) != whole


@pytest.mark.parametrize("name", ["even data", "odd data", "requests"])
@pytest.mark.parametrize("spelling", SPELLINGS[1:], ids=str)
def test_a_wrong_checksum_stays_wrong(name: str, spelling: Spelling) -> None:
    spoilt = packets.spoil(PACKETS[name])
    assert spelling.from_wire(spelling.to_wire(spoilt, summed=True), summed=True)[:2] == spoilt[:2]
    assert not checksum_ok(spelling.from_wire(spoilt, summed=True))


@pytest.mark.parametrize("size", [0, 5, 12, 20, 23, 40])
def test_what_cannot_be_read_is_left_as_it_is(size: int) -> None:
    for octets in (data(3, bytes(range(64)))[:size], requests(1, 2)[:size]):
        assert Spelling(1, Covers.DATA).to_wire(octets, summed=True) == octets


def read_all(*octets: bytes) -> list[Packet]:
    return [packets.read(one) for one in octets]


def test_a_buffer_whose_numbers_begin_with_one_tells_the_spelling_of_its_sender() -> None:
    whole = read_all(data(1), data(2), data(3, kind=Type.LDATA))
    assert spelling_of(whole, summed=False, known=PLAIN) == FROM_ONE


def test_a_buffer_whose_first_packet_is_missing_tells_nothing_before_its_end_is_known() -> None:
    assert spelling_of(read_all(data(1), data(2)), summed=False, known=PLAIN) == PLAIN
    assert spelling_of(read_all(data(1), data(3, kind=Type.LDATA)), summed=False, known=PLAIN) == PLAIN
    assert spelling_of([], summed=False, known=PLAIN) == PLAIN


@pytest.mark.parametrize(("summed", "covers"), [(False, Covers.DATA), (True, Covers.DATA_IF_SUMMED)])
def test_checksums_over_header_and_data_tell_the_spelling_of_their_sender(summed: bool, covers: Covers) -> None:
    spelt = [Spelling(covers=Covers.DATA).to_wire(one, summed) for one in (data(0), data(1, kind=Type.LDATA))]
    assert spelling_of(read_all(*spelt), summed, PLAIN) == Spelling(covers=covers)
    mixed = read_all(data(0), spelt[1])
    assert spelling_of(mixed, summed, PLAIN) == PLAIN
