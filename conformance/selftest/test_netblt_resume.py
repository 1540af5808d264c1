# SPDX-License-Identifier: GPL-2.0-or-later
"""Transfers that are interrupted, and the same command again."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import DONE, FAILED, INTERRUPTED, UNREACHABLE, make_file, needs_root
from selftest.netblt_command_lab import Lab, Process
from selftest.netblt_tree_helpers import (
    PIECE,
    STEADY,
    assert_same_tree,
    bytes_of,
    make_tree,
    names_in,
    partial_bytes,
    partial_directories,
)

pytest_plugins = ["selftest.netblt_command_fixtures"]

SIZE = 60 * PIECE
QUICK_DEATH = ["--death-timer", "2"]
# Buffers that were under way, pieces that were not complete, and what the journal did not have yet.
LOST_MAX = 20 * PIECE


def start_both(
    lab: Lab, source: Path, target: Path | str, *, active: str, options: list[str]
) -> tuple[Process, Process]:
    """Sender and receiver."""
    if active == "sender":
        receiver = lab.wait_for_peer(lab.there, "recv", target, "--json", *QUICK_DEATH)
        sender = lab.start(lab.here, "send", source, lab.there.address, "--json", *QUICK_DEATH, *options)
    else:
        sender = lab.wait_for_peer(lab.here, "send", source, "--json", *QUICK_DEATH)
        receiver = lab.start(lab.there, "recv", target, lab.here.address, "--json", *QUICK_DEATH, *options)
    return sender, receiver


def wait_for_half(process: Process, directory: Path) -> None:
    process.wait_until(lambda: partial_bytes(directory) > SIZE // 2, "half of it is stored")


@pytest.mark.parametrize("active", ["sender", "receiver"])
@pytest.mark.parametrize("killed", ["sender", "receiver"])
def test_the_same_commands_go_on_after_one_end_was_killed(
    udp_lab: Lab, tmp_path: Path, active: str, killed: str
) -> None:
    source, target = make_file(tmp_path / "source", SIZE), tmp_path / "target"
    sender, receiver = start_both(udp_lab, source, target, active=active, options=STEADY)
    wait_for_half(receiver, tmp_path)
    victim, other = (sender, receiver) if killed == "sender" else (receiver, sender)
    victim.send_signal(signal.SIGKILL)
    assert other.wait() == FAILED, other.errors
    assert not target.exists()
    assert len(partial_directories(tmp_path)) == 1
    sender, receiver = start_both(udp_lab, source, target, active=active, options=[])

    assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
    assert target.read_bytes() == source.read_bytes()
    assert partial_directories(tmp_path) == []
    for process in (sender, receiver):
        report = process.report
        assert report["resumed"] is True
        assert report["bytes"] + report["bytes_held"] == SIZE
        assert 0 < report["bytes"] < SIZE // 2 + LOST_MAX
    assert sender.report["wire_bytes"] < SIZE // 2 + LOST_MAX


def test_an_interrupted_tree_goes_on_although_its_directory_is_there(udp_lab: Lab, tmp_path: Path) -> None:
    source, target = make_tree(tmp_path / "source"), tmp_path / "target"
    make_file(source / "sub" / "zz", SIZE)
    sender, receiver = start_both(udp_lab, source, target, active="sender", options=STEADY)
    wait_for_half(receiver, tmp_path)
    receiver.send_signal(signal.SIGINT)
    assert receiver.wait() == INTERRUPTED
    assert sender.wait() == FAILED
    kept = re.search(r"([0-9.]+) MB of [0-9.]+ MB are kept, the same command goes on from there", receiver.errors)
    assert kept is not None, receiver.errors
    sender, receiver = start_both(udp_lab, source, target, active="sender", options=[])

    assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
    assert_same_tree(source, target)
    assert receiver.report["bytes_held"] > SIZE // 3
    assert abs(receiver.report["bytes_held"] / 1e6 - float(kept[1])) < 0.11
    assert partial_directories(tmp_path) == []


def test_a_file_that_changed_meanwhile_begins_anew(udp_lab: Lab, tmp_path: Path) -> None:
    source, target = make_file(tmp_path / "source", SIZE), tmp_path / "target"
    sender, receiver = start_both(udp_lab, source, target, active="sender", options=STEADY)
    wait_for_half(receiver, tmp_path)
    receiver.send_signal(signal.SIGKILL)
    assert sender.wait() == FAILED
    make_file(source, SIZE, seed=2)
    sender, receiver = start_both(udp_lab, source, target, active="sender", options=[])

    assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
    assert target.read_bytes() == source.read_bytes()
    assert receiver.report["bytes"] == SIZE


def test_no_resume_begins_anew(udp_lab: Lab, tmp_path: Path) -> None:
    source, target = make_file(tmp_path / "source", SIZE), tmp_path / "target"
    sender, receiver = start_both(udp_lab, source, target, active="sender", options=STEADY)
    wait_for_half(receiver, tmp_path)
    receiver.send_signal(signal.SIGKILL)
    assert sender.wait() == FAILED
    receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", target, "--json", "--no-resume")
    sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--json")

    assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
    assert receiver.report["bytes"] == SIZE
    assert receiver.report["resumed"] is False


@pytest.mark.parametrize("active", ["sender", "receiver"])
def test_retry_goes_on_when_the_passive_end_is_there_again(udp_lab: Lab, tmp_path: Path, active: str) -> None:
    source, target = make_file(tmp_path / "source", SIZE), tmp_path / "target"
    options = [*STEADY, "--retry", "60"]
    sender, receiver = start_both(udp_lab, source, target, active=active, options=options)
    wait_for_half(receiver, tmp_path)
    opening, waiting = (sender, receiver) if active == "sender" else (receiver, sender)
    waiting.send_signal(signal.SIGKILL)
    waiting.wait()
    again = (
        udp_lab.wait_for_peer(udp_lab.there, "recv", target)
        if active == "sender"
        else udp_lab.wait_for_peer(udp_lab.here, "send", source)
    )

    assert (opening.wait(), again.wait()) == (DONE, DONE), opening.errors + again.errors
    assert target.read_bytes() == source.read_bytes()
    assert opening.report["resumed"] is True
    assert opening.report["transfers"] >= 4
    assert any("trying again" in line for line in opening.error_lines)


def test_a_passive_end_with_retry_waits_for_the_peer_to_come_again(udp_lab: Lab, tmp_path: Path) -> None:
    source, target = make_file(tmp_path / "source", SIZE), tmp_path / "target"
    receiver = udp_lab.wait_for_peer(
        udp_lab.there, "recv", target, "--json", "--retry", "forever", *QUICK_DEATH
    )  # fmt: skip
    sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, *STEADY, *QUICK_DEATH)
    wait_for_half(receiver, tmp_path)
    sender.send_signal(signal.SIGKILL)
    receiver.wait_until(lambda: "waiting for the peer to go on" in receiver.errors, "it has missed the peer")
    sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address)

    assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
    assert target.read_bytes() == source.read_bytes()


def test_retry_ends_when_its_time_is_over(udp_lab: Lab, tmp_path: Path) -> None:
    source = make_file(tmp_path / "source", 1000)
    sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--retry", "3", "--json")

    assert sender.wait(30) == 3
    assert sender.report["result"] == "unreachable"


def test_an_interrupt_ends_waiting(udp_lab: Lab, tmp_path: Path) -> None:
    source = make_file(tmp_path / "source", 1000)
    sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--retry", "forever", "--json")
    sender.wait_until(lambda: "trying again" in sender.errors, "it waits")
    sender.send_signal(signal.SIGINT)

    assert sender.wait() == INTERRUPTED
    assert sender.report["result"] == "interrupted"


def test_what_does_not_pass_by_itself_is_not_tried_again(udp_lab: Lab, tmp_path: Path) -> None:
    """A directory has the name of the file."""
    source, target = make_file(tmp_path / "source", SIZE), tmp_path / "target"
    target.mkdir()
    (target / "source").mkdir()
    receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", f"{target}/")
    sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--retry", "forever")

    assert sender.wait() == FAILED
    assert receiver.wait() == FAILED
    assert "cannot store" in sender.errors
    assert bytes_of(target) == 0
    assert names_in(target) == ["source"]


def test_a_schedule_moves_data_in_its_windows_only(udp_lab: Lab, tmp_path: Path) -> None:
    source, target = make_file(tmp_path / "source", SIZE), tmp_path / "target"
    now = int(time.time())
    first, second = now + 2, now + 8
    windows = ",".join(
        f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(start))}+{length}"
        for start, length in ((first, "3s"), (second, "5m"))
    )
    receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", target, "--json", *QUICK_DEATH)
    sender = udp_lab.start(
        udp_lab.here, "send", source, udp_lab.there.address, "--json", "--schedule", windows, *STEADY
    )  # fmt: skip
    receiver.wait_until(lambda: partial_bytes(tmp_path) > 0, "data move")
    assert time.time() >= first
    while time.time() < second - 1:
        time.sleep(0.1)
    stored = partial_bytes(tmp_path)
    assert 0 < stored < SIZE
    time.sleep(0.8)
    assert partial_bytes(tmp_path) == stored, "nothing moves between the windows"

    assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
    assert time.time() >= second
    assert target.read_bytes() == source.read_bytes()
    assert sender.report["resumed"] is True
    assert sum("for a window of --schedule" in line for line in sender.errors.splitlines()) == 2


def test_a_schedule_whose_windows_have_passed_is_an_error(udp_lab: Lab, tmp_path: Path) -> None:
    source = make_file(tmp_path / "source", 10)
    sender = udp_lab.start(
        udp_lab.here, "send", source, udp_lab.there.address, "--schedule", "2020-01-01T00:00:00Z+1h"
    )  # fmt: skip
    assert sender.wait() == 2
    assert "no window" in sender.errors


@needs_root
@pytest.mark.parametrize("active", ["sender", "receiver"])
def test_retry_goes_on_after_the_link_was_down(udp_lab: Lab, tmp_path: Path, active: str) -> None:
    """For longer than both death timers: both ends find the peer dead, and the active one a network that is down."""
    source, target = make_file(tmp_path / "source", SIZE), tmp_path / "target"
    patient = ["--json", "--retry", "forever", *QUICK_DEATH]
    if active == "sender":
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", target, *patient)
        sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, *patient, *STEADY)
    else:
        sender = udp_lab.wait_for_peer(udp_lab.here, "send", source, *patient)
        receiver = udp_lab.start(udp_lab.there, "recv", target, udp_lab.here.address, *patient, *STEADY)
    wait_for_half(receiver, tmp_path)
    udp_lab.here.ip("link", "set", "left", "down")
    for process in (sender, receiver):
        process.wait_until(lambda p=process: len(p.error_lines) > 0, "it has missed the peer")  # type: ignore[misc]
    time.sleep(3)
    udp_lab.here.ip("link", "set", "left", "up")

    assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
    assert target.read_bytes() == source.read_bytes()
    assert sender.report["resumed"] is True
    assert sender.report["bytes"] < SIZE + LOST_MAX


@needs_root
def test_retry_waits_for_a_route_to_the_peer(udp_lab: Lab, tmp_path: Path) -> None:
    """A host that has just started has no route yet, and no name server."""
    source, target, far_away = make_file(tmp_path / "source", 20_000), tmp_path / "target", "10.8.0.2"
    udp_lab.there.ip("address", "add", f"{far_away}/32", "dev", udp_lab.there.interface)
    udp_lab.wait_for_peer(udp_lab.there, "recv", target)
    hopeless = udp_lab.start(udp_lab.here, "send", source, far_away)
    assert hopeless.wait() == UNREACHABLE
    client = udp_lab.start(udp_lab.here, "send", source, far_away, "--retry", "60")
    client.wait_until(lambda: "no way to reach" in client.errors, "it has no route")
    assert "trying again" in client.errors
    udp_lab.here.ip("route", "add", far_away, "dev", udp_lab.here.interface)
    assert client.wait() == DONE, client.errors
    assert target.read_bytes() == source.read_bytes()
