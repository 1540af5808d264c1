# SPDX-License-Identifier: GPL-2.0-or-later
"""Generated peers whose packets are peculiar, and rare illegal packets: each finds the fault that it is there for."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from netblt_conformance.common.model import Parameters
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated.play import Played
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.packets import packets
from netblt_conformance.packets.packets import Forge, Kind, Message, Packet, Type
from netblt_conformance.packets.reserved import reserved_set
from selftest.small_scripts import TERMS, replayed, with_faults

FORGE = Forge(2, 1000, 2000)
FAULTS = (
    "null-ack-padding-refused",
    "quit-reason-overrun",
    "skipping-go-held",
    "resend-counts-as-go",
    "message-zero-counts-as-one",
    "an-empty-request-ends-the-connection",
    "a-receiver-quits-inside-a-buffer",
    "silent-while-the-client-stalls",
)
STALLED = dataclasses.replace(TERMS, client_stall_from=1, client_stall_until_us=9_000_000, death_timer_s=2)
TWO = dataclasses.replace(TERMS, max_buffers=2)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> SimLinkFactory:
    """It has all of FAULTS."""
    del built_library
    return with_faults(tmp_path_factory.mktemp("peculiar"), *FAULTS)


def played(factory: SimLinkFactory, role: str, opening: str, moves: list[str], iut: Parameters) -> Played:
    own = dataclasses.replace(iut, client_stall_from=0, client_stall_until_us=0)
    return replayed(factory, role, *moves, iut=iut, own=own, opening=opening)


@pytest.mark.parametrize(
    ("role", "opening", "moves", "requirement", "verdict", "iut"),
    [
        # All reserved bits of a sender are set: its NULL-ACKs count all the same.
        ("passive-receiver", "padded", ["wait 400000", "ack 1"], "ROBUST-04", Verdict.WARN, TERMS),
        # Buffer numbers in steps of 257 (AMB-47).
        ("active-sender", "steps 1", ["go", "control"], "DATA-06", Verdict.WARN, TERMS),
        ("passive-sender", "", ["go", "control", "bad.quit-endless"], "ROBUST-05", Verdict.FAIL, TERMS),
        ("passive-sender", "", ["go", "control", "bad.early-resend 0", "wait 20000"], "DATA-01", Verdict.FAIL, TWO),
        ("passive-sender", "", ["bad.zero 0", "go", "control"], "CTRL-06", Verdict.FAIL, TERMS),
        ("active-sender", "", ["go", "control", "bad.empty-resend 0"], "RESEND-02", Verdict.FAIL, TERMS),
        ("passive-receiver", "", ["wait 400000", "data 0 0", "client-quit 0"], "QUIT-04", Verdict.FAIL, TERMS),
        # Its client has nothing to send for 9 s, the death timers are 2 s.
        ("passive-sender", "", ["go", "control"], "TIMER-11", Verdict.FAIL, STALLED),
    ],
)
def test_the_fault_that_needs_it_is_found_and_the_reference_passes(
    factory: SimLinkFactory,
    wrong: SimLinkFactory,
    role: str,
    opening: str,
    moves: list[str],
    requirement: str,
    verdict: Verdict,
    iut: Parameters,
) -> None:
    found = played(wrong, role, opening, moves, iut)
    assert found.verdict is verdict
    assert requirement in [name for name, _ in found.faults + found.warnings(requirement)]
    passed = played(factory, role, opening, moves, iut)
    assert ([str(one) for one in passed.done], passed.faults) == (moves, [])


def test_packets_of_wrong_types_come_while_the_client_quits(factory: SimLinkFactory) -> None:
    """All but the QUITACK that it waits for; then the QUITACK."""
    result = played(factory, "active-sender", "", ["go", "control", "bad.pester", "client-quit 0"], TERMS)
    whole = [packets.read(frame.packet[20:]) for frame in result.capture.frames if frame.sent]
    sent = [packet.type for packet in whole if packet.checksum_good]
    after = sent[max(at for at, kind in enumerate(sent) if kind is Type.CONTROL) + 1 :]
    assert after == [Type.DATA, Type.LDATA, Type.NULL_ACK, Type.REFUSED, Type.DONE, Type.QUITACK]
    assert result.faults == []


@pytest.mark.parametrize(
    "packet",
    [
        FORGE.data(Packet(b"", type=Type.LDATA, buffer=5, packet=1, high_seq=3, data=bytes(48), flags=1)),
        FORGE.null_ack(3, 5, 7),
        FORGE.control([Message(Kind.GO, 1, 5), Message(Kind.RESEND, 2, 5, packets=(1,)), Message(Kind.OK, 3, 5)]),
        FORGE.packet(Type.KEEPALIVE),
    ],
)
def test_reserved_bits_change_nothing_that_has_a_meaning(packet: bytes) -> None:
    before, after = packets.read(packet), packets.read(reserved_set(packet))
    assert (after.error, after.checksum_good) == (None, True)
    assert reserved_set(packet) != packet
    same = ("type", "buffer", "packet", "high_seq", "data", "last_buffer", "burst_size", "burst_interval_ms")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert [one.identity for one in after.messages] == [one.identity for one in before.messages]


def test_what_cannot_be_read_keeps_its_bits() -> None:
    assert reserved_set(b"\x01\x02") == b"\x01\x02"
