# SPDX-License-Identifier: GPL-2.0-or-later
"""Remembered paths: what a transfer notes of the path, and how the next one begins."""

from __future__ import annotations

import json
import socket
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from selftest.netblt_command_helpers import DONE, make_file, needs_root
from selftest.netblt_command_lab import Lab, Process
from selftest.netblt_command_relay import LossyRelay

pytest_plugins = ["selftest.netblt_command_fixtures"]

USUAL_PAIR = (48, 15)
SLOW_BPS = 1e6  # 0.75 of it are 6 packets in 96 ms, or a little longer
DELAY_S = 0.01
OPENING_TYPES = (0, 1)
ID_WORD = 7  # the lower half of the unique ID, after the header and the upper half


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache directory of the user; the tests' own setting is off."""
    monkeypatch.delenv("NETBLT_NO_PATH_MEMORY", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "netblt" / "paths.json"


class UnmarkedRelay(LossyRelay):
    """Changes the unique ID of OPEN and RESPONSE, so that each end takes the other one for another implementation."""

    def _pass_on(self, leaving: socket.socket, datagram: bytes) -> None:
        if datagram[3] in OPENING_TYPES:
            words = list(struct.unpack(">8H", datagram[:16]))
            before = words[ID_WORD]
            words[ID_WORD] ^= 1
            total = (~words[0] & 0xFFFF) + (~before & 0xFFFF) + words[ID_WORD]  # RFC 1624
            while total >> 16:
                total = (total & 0xFFFF) + (total >> 16)
            words[0] = ~total & 0xFFFF
            datagram = struct.pack(">8H", *words) + datagram[16:]
        super()._pass_on(leaving, datagram)


def entry(lab: Lab, role: str, **changes: Any) -> dict[str, Any]:
    now = int(time.time())
    whole = {
        "peer": lab.there.address, "local": lab.here.address, "role": role, "bits_per_second": SLOW_BPS,
        "round_trip_s": 0.05, "is_least": False, "measured_at": now, "used_at": now,
    }  # fmt: skip
    return whole | changes


def remember(cache: Path, *entries: dict[str, Any]) -> None:
    cache.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    cache.write_text(json.dumps({"version": 1, "paths": entries}))


def transfer(lab: Lab, tmp_path: Path, role: str, *options: str) -> Process:
    """A small file between `here`, which opens as `role`, and `there`."""
    source, target = make_file(tmp_path / "source", 20_000), tmp_path / "target"
    if role == "sender":
        lab.wait_for_peer(lab.there, "recv", target)
        client = lab.start(lab.here, "send", source, lab.there.address, "--json", *options)
    else:
        lab.wait_for_peer(lab.there, "send", source)
        client = lab.start(lab.here, "recv", target, lab.there.address, "--json", *options)
    assert client.wait() == DONE, client.errors
    assert target.read_bytes() == source.read_bytes()
    target.unlink()
    return client


def pair(client: Process) -> tuple[int, int]:
    agreed = client.report["negotiated"]
    return agreed["burst_size"], agreed["burst_interval_ms"]


def pair_bps(client: Process) -> float:
    size, interval_ms = pair(client)
    return size * 1500 * 8 / (interval_ms / 1e3)


class TestBeginning:
    @pytest.mark.parametrize("role", ["sender", "receiver"])
    def test_a_transfer_begins_below_the_rate_that_the_path_has_carried(
        self, udp_lab: Lab, cache: Path, tmp_path: Path, role: str
    ) -> None:
        remember(cache, entry(udp_lab, role))
        client = transfer(udp_lab, tmp_path, role)
        assert 0.6 * SLOW_BPS < pair_bps(client) < 0.8 * SLOW_BPS

    @pytest.mark.parametrize(
        "changes",
        [{"local": "192.0.2.9"}, {"peer": "192.0.2.9"}, {"measured_at": 1}, {"is_least": True}],
    )
    def test_what_is_known_of_something_else_changes_nothing(
        self, udp_lab: Lab, cache: Path, tmp_path: Path, changes: dict[str, Any]
    ) -> None:
        """The other direction, other addresses, an old measurement, and one that was too short to show a slow path."""
        remember(cache, entry(udp_lab, "sender", **changes), entry(udp_lab, "receiver"))
        size, interval_ms = pair(transfer(udp_lab, tmp_path, "sender"))
        assert size / interval_ms == pytest.approx(USUAL_PAIR[0] / USUAL_PAIR[1], rel=0.01)

    @pytest.mark.parametrize("way", ["option", "variable", "path"])
    def test_it_can_be_switched_off(
        self, udp_lab: Lab, cache: Path, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        options = {"option": ["--no-path-memory"], "path": ["--path", "75M,60ms"]}.get(way, [])
        if way == "variable":
            monkeypatch.setenv("NETBLT_NO_PATH_MEMORY", "1")
        remember(cache, entry(udp_lab, "sender"))
        before = cache.read_bytes()
        client = transfer(udp_lab, tmp_path, "sender", *options)
        assert pair_bps(client) > 30e6
        assert cache.read_bytes() == before, "too short to show anything"


class TestTheFile:
    @pytest.mark.parametrize("role", ["sender", "receiver"])
    def test_a_transfer_notes_what_the_path_carried(self, udp_lab: Lab, cache: Path, tmp_path: Path, role: str) -> None:
        source, target = make_file(tmp_path / "source", 4_000_000), tmp_path / "target"
        passive, active = (("recv", target), ("send", source))[:: 1 if role == "sender" else -1]
        with LossyRelay(udp_lab.there, udp_lab.udp_port, delay_s=DELAY_S) as relay:
            udp_lab.wait_for_peer(udp_lab.there, *passive)
            words = [str(active[0]), str(active[1]), udp_lab.there.address, "--encap", "udp", "--json"]
            client = udp_lab.start_raw(udp_lab.here, [*words, "--udp-port", str(relay.port)])
            assert client.wait() == DONE, client.errors
        (noted,) = json.loads(cache.read_text())["paths"]
        assert (noted["peer"], noted["local"]) == (udp_lab.there.address, udp_lab.here.address)
        assert noted["role"] == role
        assert 0.5 * client.report["goodput_bps"] < noted["bits_per_second"] < 100e9
        assert 2 * DELAY_S <= noted["round_trip_s"] < 5
        assert cache.stat().st_mode & 0o777 == 0o600
        assert cache.parent.stat().st_mode & 0o777 == 0o700
        assert [path.name for path in cache.parent.iterdir()] == [cache.name]

    def test_a_receiver_whose_rate_is_fixed_slows_down_no_later_transfer(
        self, udp_lab: Lab, cache: Path, tmp_path: Path
    ) -> None:
        """Neither end has measured what the path carries beyond the pair of the receiver."""
        source, target = make_file(tmp_path / "source", 600_000), tmp_path / "target"
        fixed = ("--rate", "fixed", "--burst-size", "8", "--burst-interval", "10", "--buffer-size", "14560")
        for _ in range(2):
            udp_lab.wait_for_peer(udp_lab.there, "recv", target, *fixed)
            client = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--json")
            assert client.wait() == DONE, client.errors
            (noted,) = json.loads(cache.read_text())["paths"]
            assert noted["is_least"]
            assert pair_bps(client) == pytest.approx(8 * 1500 * 8 / 0.015)  # its size, and the usual interval

    @pytest.mark.parametrize("foreign", [True, False])
    def test_the_rate_of_a_foreign_sender_is_not_that_of_the_path(
        self, udp_lab: Lab, cache: Path, tmp_path: Path, foreign: bool
    ) -> None:
        """It may keep to the pair that was agreed, and would be slower each time that this one is proposed."""
        source, target = make_file(tmp_path / "source", 4_000_000), tmp_path / "target"
        relay_kind = UnmarkedRelay if foreign else LossyRelay
        with relay_kind(udp_lab.there, udp_lab.udp_port, delay_s=DELAY_S) as relay:
            udp_lab.wait_for_peer(udp_lab.there, "send", source)
            words = ["recv", str(target), udp_lab.there.address, "--encap", "udp", "--json"]
            client = udp_lab.start_raw(udp_lab.here, [*words, "--udp-port", str(relay.port)])
            assert client.wait() == DONE, client.errors
        assert target.read_bytes() == source.read_bytes()
        assert cache.exists() != foreign

    def test_a_damaged_file_is_reported_and_does_no_harm(self, udp_lab: Lab, cache: Path, tmp_path: Path) -> None:
        remember(cache)
        cache.write_bytes(b'{"version": 1, "paths": [')
        client = transfer(udp_lab, tmp_path, "sender")
        assert pair(client) == USUAL_PAIR
        assert "damaged" in client.errors

    @needs_root
    def test_a_cache_of_another_user_is_left_alone(self, udp_lab: Lab, cache: Path, tmp_path: Path) -> None:
        import os

        cache.parents[1].mkdir()
        os.chown(cache.parents[1], 65534, 65534)
        assert pair(transfer(udp_lab, tmp_path, "sender")) == USUAL_PAIR
        assert list(cache.parents[1].iterdir()) == []
