# SPDX-License-Identifier: GPL-2.0-or-later
"""First divergences: two captures of one role in virtual time are alike, or differ first at a known frame."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from netblt_conformance.bakeoff import differences
from netblt_conformance.bakeoff.divergence import Divergence, How, first
from netblt_conformance.bakeoff.exchange import exchange
from netblt_conformance.bakeoff.explanation import Class, explain
from netblt_conformance.bakeoff.model import (
    LISTENER_ADDRESS,
    OPENER_ADDRESS,
    PATHS,
    Completion,
    Implementation,
    Meeting,
    Outcome,
    Pair,
)
from netblt_conformance.common import paths
from netblt_conformance.common.model import ACTIVE_SENDER, Encapsulation
from netblt_conformance.mutants.mutants import Variant, load_variants
from netblt_conformance.mutants.mutation import Workshop, workshop
from netblt_conformance.packets import captures
from netblt_conformance.packets.packets import Type
from netblt_conformance.simlib import Flakeway, IutLibrary, IutParams, PcapngWriter, run_pair
from netblt_conformance.trace.frames import Frame, frames

NAMES = ("x", "y")


@pytest.fixture(scope="module")
def made(built_library: Path) -> Iterator[Workshop]:
    del built_library
    with workshop(paths.core()) as found:
        yield found


@pytest.fixture(scope="module")
def base_1000(made: Workshop) -> Path:
    """It numbers buffers from 1000."""
    return made.build(variant("base-1000"))


def variant(name: str) -> Variant:
    return next(one for one in load_variants(paths.variants()) if one.name == name)


def played(
    sender: Path, receiver: Path, folder: Path, name: str = "run", *, seed: int = 1, packet_size: int = 512
) -> list[Frame]:
    """The capture of both sides of a clean path. The active end sends."""
    writer = PcapngWriter()
    here, there = OPENER_ADDRESS, LISTENER_ADDRESS
    one = IutParams(True, True, seed=seed, packet_size=packet_size, local_address=here, foreign_address=there)
    other = IutParams(seed=seed + 1, local_address=there, foreign_address=here)
    with (
        IutLibrary(sender).start(one, bytes(range(256)) * 80) as a,
        IutLibrary(receiver).start(other) as b,
    ):
        run_pair(a, b, Flakeway(1, "latency 5ms"), capture=writer)
    writer.save(folder / f"{name}.pcapng")
    return frames(captures.read(folder / f"{name}.pcapng"))


def compared(x: list[Frame], y: list[Frame], address: str) -> Divergence | None:
    return first(exchange(x, address), exchange(y, address), NAMES)


@pytest.mark.parametrize("address", [OPENER_ADDRESS, LISTENER_ADDRESS])
def test_an_implementation_does_not_differ_from_itself(built_library: Path, tmp_path: Path, address: str) -> None:
    one = played(built_library, built_library, tmp_path)
    other = played(built_library, built_library, tmp_path, seed=7)  # other unique IDs and ports
    assert len(exchange(one, address).sent) > 5
    assert compared(one, other, address) is None


def test_a_planted_difference_is_found_at_its_frame(built_library: Path, tmp_path: Path) -> None:
    one = played(built_library, built_library, tmp_path)
    step = [step for step in exchange(one, OPENER_ADDRESS).sent if step.packet.type is Type.DATA][9]
    other = [
        dataclasses.replace(frame, packet=dataclasses.replace(frame.packet, high_seq=77))
        if frame.number == step.frame
        else frame
        for frame in one
    ]
    found = compared(one, other, OPENER_ADDRESS)
    assert found is not None
    assert (found.how, found.frames, found.fields) == (
        How.CONTENT,
        (step.frame, step.frame),
        frozenset({"high_seq"}),
    )
    assert f"y sends DATA {step.packet.buffer}/{step.packet.packet} hs 77" in found.sentence
    assert "which differ in high_seq" in found.sentence
    assert explain(found, ((), ())).kind is Class.AMBIGUITY
    judged = explain(found, ((), [("DATA-01", step.frame)]))  # what is proven comes first
    assert (judged.kind, judged.identifiers) == (Class.VIOLATION, ("DATA-01",))


def test_a_packet_that_one_sends_too_late_is_found(built_library: Path, tmp_path: Path) -> None:
    one = played(built_library, built_library, tmp_path)
    step = exchange(one, OPENER_ADDRESS).sent[8]
    late_ns = 300_000_000
    other = [
        dataclasses.replace(frame, time_ns=frame.time_ns + late_ns) if frame.number >= step.frame else frame
        for frame in one
    ]
    found = compared(one, other, OPENER_ADDRESS)
    assert found is not None
    assert (found.how, found.frames) == (How.TIME, (step.frame, step.frame))


def test_random_first_buffers_are_no_difference_where_buffers_are_counted_from_the_first(
    made: Workshop, base_1000: Path, tmp_path: Path
) -> None:
    one = played(made.library, made.library, tmp_path)
    other = played(made.library, base_1000, tmp_path, "variant")
    for address in (OPENER_ADDRESS, LISTENER_ADDRESS):
        x, y = (exchange(found, address, relative=True) for found in (one, other))
        assert first(x, y, NAMES) is None
    plain = compared(one, other, LISTENER_ADDRESS)
    assert plain is not None
    assert explain(plain, ((), ())).identifiers == ("AMB-09",)


@pytest.mark.parametrize(
    ("name", "address", "ambiguity"),
    [
        ("version-1", OPENER_ADDRESS, "AMB-01"),
        ("no-padding", OPENER_ADDRESS, "AMB-02"),
        ("length-rounded-up", OPENER_ADDRESS, "AMB-02"),
        ("sums-data-too", OPENER_ADDRESS, "AMB-04"),
    ],
)
def test_the_choice_of_a_legal_variant_is_explained_by_its_ambiguity(
    made: Workshop, tmp_path: Path, name: str, address: str, ambiguity: str
) -> None:
    ends = [made.library, made.library]
    ends[address == LISTENER_ADDRESS] = made.build(variant(name))
    size = 511  # so that data packets have padding
    one = played(made.library, made.library, tmp_path, packet_size=size)
    other = played(ends[0], ends[1], tmp_path, "variant", packet_size=size)
    found = compared(one, other, address)
    assert found is not None
    explained = explain(found, ((), ()))
    assert explained.kind is Class.AMBIGUITY
    assert explained.identifiers[0] == ambiguity, found.sentence


def test_buffers_that_are_divided_into_other_packets_are_alike(built_library: Path, tmp_path: Path) -> None:
    """The first buffer has twice as many packets, which take longer: what follows from that comes after it."""
    one = played(built_library, built_library, tmp_path)
    halves = played(built_library, built_library, tmp_path, packet_size=256)
    found = compared(one, halves, OPENER_ADDRESS)
    assert found is not None
    assert [answer.packet.buffer for answer in found.answers if answer is not None] == [1, 1]


def test_other_sizes_explain_what_follows_from_them(built_library: Path, tmp_path: Path) -> None:
    one = played(built_library, built_library, tmp_path)
    other = played(built_library, built_library, tmp_path, packet_size=256)
    found = compared(one, other, OPENER_ADDRESS)
    assert found is not None
    explained = explain(found, ((), ()))
    assert explained.kind is Class.SIZES
    assert "packet_size" in explained.text


# ---- of a bakeoff ----


def test_implementations_with_one_part_are_compared_on_the_clean_path_only(built_library: Path, tmp_path: Path) -> None:
    """Two implementations open to one partner and send."""
    x, y, z = (Implementation(name, Path(f"{name}.toml")) for name in ("x", "y", "z"))
    played(built_library, built_library, tmp_path, "x")
    played(built_library, built_library, tmp_path, "y", packet_size=256)
    outcomes = [
        Outcome(
            Meeting(Pair(one, z, opener_sends=True), PATHS[path], Encapsulation.IP, 1),
            Completion.COMPLETED,
            capture=f"{one.name}.pcapng",
        )
        for one in (x, y)
        for path in ("clean", "lossy")
    ]
    found = differences.differences(outcomes, tmp_path)
    assert [(one.names, one.partner, one.role) for one in found] == [(("x", "y"), "z", ACTIVE_SENDER)]
    disturbed = [dataclasses.replace(one, disturbed=True) for one in outcomes]
    assert differences.differences(disturbed, tmp_path) == []
    assert "no two implementations" in differences.summary([])


def test_kinds_are_counted_and_the_most_frequent_one_is_first(built_library: Path, tmp_path: Path) -> None:
    x, y = (Implementation(name, Path(f"{name}.toml")) for name in ("x", "y"))
    played(built_library, built_library, tmp_path, "x")
    played(built_library, built_library, tmp_path, "y", packet_size=256)
    partners = [Implementation(f"z{number}", Path("z.toml")) for number in range(3)]
    outcomes = [
        Outcome(
            Meeting(Pair(one, partner, opener_sends=True), PATHS["clean"], Encapsulation.IP, 1),
            Completion.COMPLETED,
            capture=f"{one.name}.pcapng",
        )
        for partner in partners
        for one in (x, y)
    ]
    found = differences.differences(outcomes, tmp_path)
    (group,) = differences.groups(found)
    assert group.count == 3
    shown = "\n".join(differences.table(found))
    assert "9 comparisons: 6 alike, 3 sizes" in shown  # the partners played one role with x, and with y
    assert differences.records(found)[0]["captures"] == ["x.pcapng", "y.pcapng"]
