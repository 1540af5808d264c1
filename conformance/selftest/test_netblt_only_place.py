# SPDX-License-Identifier: GPL-2.0-or-later
"""`netblt send` and `recv` with --passive have one place: a forged OPEN must not keep it from an honest peer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import (
    DONE,
    SLOW,
    UNREACHABLE,
    forge_opens,
    has_received,
    leftovers,
    make_file,
    one_line,
)
from selftest.netblt_command_lab import Lab

pytest_plugins = ["selftest.netblt_command_fixtures"]


@pytest.mark.parametrize("forged", [1, 3])
def test_an_honest_sender_gets_the_place_that_a_forged_open_took(udp_lab: Lab, tmp_path: Path, forged: int) -> None:
    source, target = make_file(tmp_path / "source", 200_000), tmp_path / "target"
    receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", target, "--json")
    forge_opens(udp_lab, [b""] * forged, write=True)
    sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address)

    assert sender.wait() == DONE, sender.errors
    assert receiver.wait() == DONE, receiver.errors
    assert target.read_bytes() == source.read_bytes()
    assert receiver.report["result"] == "done"
    assert leftovers(tmp_path) == []


def test_an_honest_receiver_gets_all_of_a_stream_that_a_forged_open_asked_for(udp_lab: Lab, tmp_path: Path) -> None:
    source, target = make_file(tmp_path / "source", 200_000), tmp_path / "target"
    with subprocess.Popen(["cat", source], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        sender = udp_lab.wait_for_peer(udp_lab.there, "send", "-", stdin=writer.stdout.fileno())
        forge_opens(udp_lab, [b""], write=False)
        receiver = udp_lab.start(udp_lab.here, "recv", target, udp_lab.there.address)

        assert receiver.wait() == DONE, receiver.errors
        assert sender.wait() == DONE, sender.errors
    assert target.read_bytes() == source.read_bytes()


def test_a_stream_to_stdout_holds_only_what_the_honest_peer_sent(udp_lab: Lab, tmp_path: Path) -> None:
    source = make_file(tmp_path / "source", 200_000)
    with (tmp_path / "target").open("wb") as out:
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", "-", stdout=out.fileno())
    forge_opens(udp_lab, [b""], write=True)
    sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--buffer-size", "5000")

    assert sender.wait() == DONE, sender.errors
    assert receiver.wait() == DONE, receiver.errors
    assert (tmp_path / "target").read_bytes() == source.read_bytes()


def test_a_peer_that_answers_keeps_its_place(udp_lab: Lab, tmp_path: Path) -> None:
    source = make_file(tmp_path / "source", 300_000)
    receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
    first = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, *SLOW)
    receiver.wait_until(lambda: has_received(receiver), "data has arrived")
    second = udp_lab.start(udp_lab.here, "send", os.devnull, udp_lab.there.address)

    assert second.wait() == UNREACHABLE
    assert "busy with another transfer" in one_line(second)
    assert first.wait() == DONE, first.errors
    assert receiver.wait() == DONE, receiver.errors
