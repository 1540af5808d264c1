# SPDX-License-Identifier: GPL-2.0-or-later
"""`netblt send` and `recv` with --passive have one place: a forged OPEN must not keep it from an honest peer."""

from __future__ import annotations

import os
import socket
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
from selftest.netblt_command_packets import go_packet, open_packet
from selftest.netblt_listen_puppets import SERVER, Flood, Puppet

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


@pytest.mark.parametrize("write", [False, True])
def test_forged_opens_that_never_end_keep_nobody_out(udp_lab: Lab, tmp_path: Path, write: bool) -> None:
    source, target = make_file(tmp_path / "source", 200_000), tmp_path / "target"
    flood = Flood(udp_lab, [b""] * 500, write=write)
    passive, active = (("recv", target), ("send", source)) if write else (("send", source), ("recv", target))
    waiting = udp_lab.wait_for_peer(udp_lab.there, *passive)
    with flood.going_on(per_second=1000):
        waiting.wait_until(lambda: flood.sent > 1500, "there are more forged OPENs than unvalidated connections")
        opening = udp_lab.start(udp_lab.there, *active, SERVER)
        assert opening.wait() == DONE, opening.errors
        assert waiting.wait() == DONE, waiting.errors
    assert target.read_bytes() == source.read_bytes()


def test_the_first_peer_that_is_validated_gets_the_place(udp_lab: Lab, tmp_path: Path) -> None:
    receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
    first, second, third = (Puppet(udp_lab, local_port=30000 + i) for i in range(3))
    for puppet in (first, second):
        assert puppet.open(b"") == ""
    second.validate()
    second.send_data()

    assert first.abort_reason() == "busy with another transfer"
    assert third.open(b"") == "busy with another transfer"
    assert second.is_heard()
    assert receiver.popen.poll() is None
    for puppet in (first, second, third):
        puppet.close()


def test_a_file_is_sent_whole_after_forged_peers_asked_for_its_first_buffer(udp_lab: Lab, tmp_path: Path) -> None:
    source, target = make_file(tmp_path / "source", 200_000), tmp_path / "target"
    sender = udp_lab.wait_for_peer(udp_lab.there, "send", source)
    with udp_lab.here.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as forger:
        for port in range(20000, 20020):
            for packet in (open_packet(port, 1, write=False), go_packet(port, 1, buffer=0, seq=1)):
                forger.sendto(packet, (udp_lab.there.address, udp_lab.udp_port))
    receiver = udp_lab.start(udp_lab.here, "recv", target, udp_lab.there.address)

    assert receiver.wait() == DONE, receiver.errors
    assert sender.wait() == DONE, sender.errors
    assert target.read_bytes() == source.read_bytes()
