# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets that the suite damages: the seed alone decides what is done to them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from netblt_conformance.packets import fuzz, packets
from netblt_conformance.packets.packets import Forge, Type
from selftest.conftest import CONFORMANCE

REASONS = {kind.name: Forge(2, 1025, 1).reason(kind, "fuzz") for kind in (Type.QUIT, Type.ABORT, Type.REFUSED)}
PRINTED = "from netblt_conformance.packets import fuzz; print(hash(repr(fuzz.recipes(7))))"


def test_another_process_in_another_folder_does_the_same_damage(tmp_path: Path) -> None:
    """It has loaded other modules, and nothing of the repository is below its folder."""
    environment = {"PYTHONPATH": str(CONFORMANCE), "PYTHONHASHSEED": "0"}
    both = [
        subprocess.run(
            [sys.executable, "-c", before + PRINTED], cwd=folder, env=environment, stdout=subprocess.PIPE, check=True
        ).stdout
        for before, folder in (("", tmp_path), ("import netblt_conformance.peer\n", CONFORMANCE))
    ]
    assert both[0] == both[1]


def test_another_seed_does_other_damage_of_every_kind() -> None:
    one, other = fuzz.recipes(7), fuzz.recipes(8)
    assert set(one) != set(other)
    assert len(set(one)) == fuzz.POOL
    assert {how for steps in one for how, _, _ in steps} == set(fuzz.STEPS)


@pytest.mark.parametrize("sealed", [True, False])
def test_a_damaged_packet_differs_from_the_sound_one_and_shows_it_unless_it_is_sealed(*, sealed: bool) -> None:
    found = fuzz.generate(7, Random(1), REASONS, 50, sealed=sealed)
    assert len({one.packet for one in found}) == len(found) == 50
    for one in found:
        assert one.packet != REASONS[one.name.split()[0]]
        assert " with " in one.name
        if not sealed:
            assert not packets.read(one.packet).checksum_good


def test_each_packet_is_tried_with_the_checksum_zero() -> None:
    found = {one.packet for one in fuzz.generate(7, Random(1), REASONS, 50, sealed=False)}
    assert {bytes(2) + packet[2:] for packet in REASONS.values()} <= found
