# SPDX-License-Identifier: GPL-2.0-or-later
"""Generated scripts that fail because the implementation acts upon packets that count as lost name the requirement
about these."""

from __future__ import annotations

from pathlib import Path

import pytest
from netblt_conformance.commands import cli
from netblt_conformance.common.model import ROLES_BY_NAME
from netblt_conformance.generated import copies, script
from netblt_conformance.generated.disregarded import (
    DISREGARDED,
    OtherPorts,
    has_bad_header,
    has_impossible_length,
    is_damaged,
)
from netblt_conformance.generated.script import Script, move
from netblt_conformance.generated.second import Found
from netblt_conformance.judges.findings import Conclusion, Finding
from netblt_conformance.links.base import TESTER_ADDRESS
from netblt_conformance.packets.packets import HEADER_BYTES, Forge, Packet, Type, data_checksum, read, spoil
from selftest.faulty import faulty_library
from selftest.small_scripts import TERMS


def requirements_of(folder: Path, mutant: str, seed: int, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, ...]]:
    """Those of every script that is kept. `seed`: one whose first scripts find the mutant; each failure is shrunk."""
    library = faulty_library(folder, mutant)
    words = ("--count", "6", "--seed", str(seed), "--no-dissector", "--output", str(folder / "found"), "-j", "1")
    assert cli.main(["generate", "--iut-library", str(library), *words]) == 1
    output = capsys.readouterr().out
    kept = [script.load(path) for path in sorted((folder / "found").glob("script.*.toml"))]
    assert kept, output
    about = [name for name, _ in DISREGARDED]
    assert output.count("packets that count as lost had an effect") == sum(one.requirements[0] in about for one in kept)
    return [one.requirements for one in kept]


@pytest.mark.parametrize(
    ("mutant", "seed", "requirements"),
    [
        ("checksum-not-verified", 12, {"CKSUM-06"}),
        ("data-checksum-not-verified", 6, {"CKSUM-07"}),
        ("abort-from-any-port", 11, {"DEMUX-01", "DEMUX-02"}),  # nor does it look at the address
    ],
)
def test_the_requirement_about_packets_that_count_as_lost_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mutant: str, seed: int, requirements: set[str]
) -> None:
    assert {found[0] for found in requirements_of(tmp_path, mutant, seed, capsys)} <= requirements


def test_a_fault_that_such_packets_do_not_cause_is_not_ascribed_to_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requirements = str(requirements_of(tmp_path, "pace-ignored", 8, capsys))
    assert not [name for name, _ in DISREGARDED if name in requirements]


def test_packets_between_ports_without_an_opening_are_of_other_connections() -> None:
    """Stimulus: an OPEN and a KEEPALIVE of one connection, then a KEEPALIVE between other ports, which opens later."""
    ours, other = Forge(2, 1, 2), Forge(2, 1, 3)
    is_other = OtherPorts()
    packets = [one.opening(Type.OPEN, Packet(b"")) for one in (ours, other)]
    alive = [one.packet(Type.KEEPALIVE) for one in (ours, other)]
    sent = packets[0], alive[0], alive[1], packets[1], alive[1]
    assert [is_other(one, TESTER_ADDRESS) for one in sent] == [False, False, True, False, False]


def test_length_is_impossible_where_less_came_or_its_type_needs_more() -> None:
    """Stimulus: a KEEPALIVE, the same whose Length is larger than the packet, and an OPEN of the size of its header."""
    forge = Forge(2, 1, 2)
    alive = forge.packet(Type.KEEPALIVE)
    longer = alive[:4] + (HEADER_BYTES + 1).to_bytes(2, "big") + alive[6:]
    assert [has_impossible_length(one) for one in (alive, longer, forge.packet(Type.OPEN))] == [False, True, True]


def test_a_packet_is_damaged_where_a_checksum_is_wrong() -> None:
    forge, content = Forge(2, 1, 2), b"12345678"
    fields = Packet(b"", type=Type.DATA, data=content, data_checksum=data_checksum(content))
    sound, keepalive = forge.data(fields), forge.packet(Type.KEEPALIVE)
    bad_data = sound[:-1] + b"9"
    packets = sound, keepalive, bad_data, spoil(sound), spoil(keepalive), sound[:30], b"\0"
    assert [has_bad_header(one) for one in packets[:5]] == [False, False, False, True, True]
    assert [is_damaged(one) for one in packets[:5]] == [False, False, True, True, True]
    assert all(has_bad_header(one) for one in packets[5:])


def test_a_checksum_of_zero_is_wrong_also_where_the_changed_packet_had_it_by_chance() -> None:
    """Stimulus: KEEPALIVEs from every port, each with one bit changed; of one of them 0 is the right checksum."""
    bit, by_chance = 8 * HEADER_BYTES - 1, 0
    for port in range(65536):
        packet = Forge(2, port, 2).packet(Type.KEEPALIVE)
        by_chance += not has_bad_header(b"\0\0" + copies.flipped(packet, bit, data_summed=False)[2:])
        assert has_bad_header(copies.zeroed(packet, bit, data_summed=False))
    assert by_chance == 1


def test_data_that_are_all_zero_get_no_checksum_of_zero() -> None:
    """Both zeros may count as the same (AMB-05). Stimulus: one byte, of which one bit is set."""
    fields = Packet(b"", type=Type.LDATA, data=b"\x80", data_checksum=data_checksum(b"\x80"))
    assert read(copies.zeroed_data(Forge(2, 1, 2).data(fields), 0)).data == b"\xc0"


@pytest.mark.parametrize(("moves", "mistake"), [(["damaged 2 101"], False), (["data-zeroed 1 0 9"], False), ([], True)])
def test_a_checksum_of_the_tester_that_fits_another_reading_is_a_mistake_where_nothing_was_damaged(
    moves: list[str], mistake: bool
) -> None:
    one = Script(ROLES_BY_NAME["passive-sender"], 1, 96, TERMS, TERMS, moves=tuple(move(text) for text in moves))
    finding = Finding(1, "sim", 0, "CKSUM-01", Conclusion.VIOLATED, "192.0.2.1 receiver")
    assert Found(0, finding).is_mistake_in(one) is mistake
