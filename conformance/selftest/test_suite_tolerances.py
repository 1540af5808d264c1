# SPDX-License-Identifier: GPL-2.0-or-later
"""Tolerances belong to a run: two runs in one process, with different adapters, do not influence each other."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from netblt_conformance.adapter import adapter_file
from netblt_conformance.cases.case import Case, Profile
from netblt_conformance.common.model import Digest, Feature, Role, Start, Status, Stop
from netblt_conformance.common.tolerances import ADJUSTABLE, DEFAULT, Tolerances
from netblt_conformance.links.base import NEVER_US
from netblt_conformance.links.pipe import PipeLinkFactory
from netblt_conformance.links.virtual import Output, SteppedEndpoint
from netblt_conformance.packets.capture import Capture
from netblt_conformance.peer import ReceiverPeer

ACTIVE_SENDER = Role(active=True, sender=True)
S = 1_000_000


class SilentEndpoint(SteppedEndpoint):
    """An implementation that does nothing."""

    features: frozenset[Feature] = frozenset()

    def start(self, start: Start, now_us: int) -> list[Output]:
        del start, now_us
        return []

    def packet(self, source: bytes, packet: bytes, now_us: int) -> list[Output]:
        del source, packet, now_us
        return []

    def advance(self, now_us: int) -> list[Output]:
        del now_us
        return []

    def stop(self, how: Stop, reason: str, now_us: int) -> list[Output]:
        del how, reason, now_us
        return []

    def deadline_us(self) -> int:
        return NEVER_US

    def status(self) -> Status:
        return Status.OPENING

    def reason(self) -> str:
        return ""

    def digest(self) -> Digest:
        return Digest.of(b"")

    def peer_string(self) -> str | None:
        return None

    def close(self) -> None:
        pass


def factory_of(path: Path, pixit: str, monkeypatch: pytest.MonkeyPatch) -> PipeLinkFactory:
    path.write_text(f'name = "silent"\n[pipe]\ncommand = ["/bin/true"]\n[pixit]\n{pixit}\n', encoding="utf-8")
    factory = PipeLinkFactory(adapter_file.read(path))
    monkeypatch.setattr(factory, "endpoint", SilentEndpoint)
    return factory


def case_of(factory: PipeLinkFactory) -> Case:
    return Case("first_open", (), ACTIVE_SENDER, "stimulus", factory.make(Capture()), 1, Profile())


def wait_for_open(case: Case) -> int:
    """How long the case waits for the first OPEN, which never comes."""
    case.run(lambda: case.receiver().connect())
    assert case.judgement.expected == "OPEN"
    return case.link.clock.now_us()


def test_two_runs_with_different_tolerances_wait_for_different_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = factory_of(tmp_path / "patient.toml", "setup_max_s = 9", monkeypatch)
    usual = factory_of(tmp_path / "usual.toml", "", monkeypatch)
    hasty = factory_of(tmp_path / "hasty.toml", "setup_max_s = 2", monkeypatch)
    cases = [case_of(factory) for factory in (patient, usual, hasty)]
    assert [wait_for_open(case) for case in cases] == [9 * S, DEFAULT.setup_max_us, 2 * S]


def test_case_peer_and_oracles_have_the_tolerances_of_their_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = factory_of(tmp_path / "slow.toml", "clock_slack_ms = 20\nreaction_max_s = 7", monkeypatch)
    usual = factory_of(tmp_path / "usual.toml", "", monkeypatch)
    for factory in (slow, usual):
        case = case_of(factory)
        peer = case.receiver()
        assert isinstance(peer, ReceiverPeer)
        for holder in (case, peer, peer.monitor.session):
            assert holder.tolerances is factory.tolerances
    assert slow.tolerances == Tolerances(crossing_us=70_000, reaction_max_us=7 * S)
    assert usual.tolerances == DEFAULT


def test_no_part_of_a_run_can_change_its_tolerances() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEFAULT.setup_max_us = 1  # type: ignore[misc]


def test_an_adapter_may_set_every_tolerance_in_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f"{key} = 3" for key in ADJUSTABLE.values())
    found = factory_of(tmp_path / "all.toml", text, monkeypatch).tolerances
    assert set(ADJUSTABLE) == {field.name for field in dataclasses.fields(Tolerances)} - {"crossing_us"}
    assert all(getattr(found, name) == 3 * S for name in ADJUSTABLE)
