# SPDX-License-Identifier: GPL-2.0-or-later
"""What can go wrong in the middle of a transfer of the command `netblt`: one clear line, the right exit code, no ruins.

As root two network namespaces are the two hosts; otherwise raw IP is skipped and UDP runs over loopback.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import (
    DONE,
    FAILED,
    INTERRUPTED,
    LOCAL,
    SLOW,
    has_received,
    leftovers,
    make_file,
    move,
    needs_root,
    one_line,
    open_files,
    temporary_files,
)
from selftest.netblt_command_lab import DEADLINE_S, Lab, Process
from selftest.netblt_command_packets import TYPE_DATA
from selftest.netblt_command_relay import LossyRelay
from selftest.netblt_tree_helpers import names_in, partial_directories

pytest_plugins = ["selftest.netblt_command_fixtures"]


def limit_files_to_100_kb() -> None:
    """In the child: like a full disk, for any user."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


class TestFailureInTheMiddle:
    def test_a_full_disk_fails_both_ends_and_leaves_no_file(self, lab: Lab, tmp_path: Path) -> None:
        target_directory = tmp_path / "to"
        target_directory.mkdir()
        receiver = lab.wait_for_peer(
            lab.there, "recv", target_directory / "target", "--json", prepare=limit_files_to_100_kb
        )
        sender = lab.start(lab.here, "send", make_file(tmp_path / "source", 500_000), lab.there.address)

        assert receiver.wait() == FAILED
        assert "File too large" in one_line(receiver)
        assert receiver.report["result"] == "local-error"
        assert sender.wait() == FAILED
        assert "cannot store" in one_line(sender)
        assert names_in(target_directory) == [path.name for path in partial_directories(target_directory)]

    @needs_root
    def test_a_disk_that_is_really_full(self, udp_lab: Lab, tmp_path: Path) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk], check=True)
        try:
            receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", disk / "target")
            udp_lab.start(udp_lab.here, "send", make_file(tmp_path / "source", 900_000), udp_lab.there.address)
            assert receiver.wait() == FAILED
            assert "No space left" in one_line(receiver)
            assert names_in(disk) == [path.name for path in partial_directories(disk)]
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_a_pipe_that_closes_early_fails_both_ends(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 500_000)
        out_read, out_write = os.pipe()
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", "-", stdout=out_write)
        os.close(out_write)
        os.close(out_read)
        sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address)

        assert receiver.wait() == FAILED
        assert "stdout" in one_line(receiver)
        assert sender.wait() == FAILED
        assert "aborted" in one_line(sender)

    def test_a_file_that_shrinks_fails_both_ends(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 2_000_000), tmp_path / "target"
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", target)
        sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, *SLOW)
        receiver.wait_until(lambda: has_received(receiver), "data has arrived")
        os.truncate(source, 40_000)

        assert sender.wait() == FAILED
        assert "became shorter" in one_line(sender)
        assert receiver.wait() == FAILED
        assert not target.exists()
        assert leftovers(tmp_path) == []

    def test_a_target_directory_that_goes_away_fails_both_ends(self, udp_lab: Lab, tmp_path: Path) -> None:
        directory = tmp_path / "goes-away"
        directory.mkdir()
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", directory / "target")
        source = make_file(tmp_path / "source", 400_000)
        sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, *SLOW)
        receiver.wait_until(lambda: has_received(receiver), "data has arrived")
        shutil.rmtree(directory)

        assert receiver.wait() == FAILED
        assert "cannot store" in one_line(receiver)
        assert sender.wait() == FAILED, "the peer's file has no name: this is no success"
        assert "aborted" in one_line(sender)

    @pytest.mark.parametrize("closed", [[0, 2], [1, 2], [0, 1, 2]])
    def test_messages_never_end_up_in_the_file_when_standard_streams_are_closed(
        self, udp_lab: Lab, tmp_path: Path, closed: list[int]
    ) -> None:
        source, target = make_file(tmp_path / "source", 10), tmp_path / "target"
        receiver = udp_lab.start(udp_lab.there, "recv", target, "--passive", prepare=lambda: close_all(closed))
        receiver.wait_until(lambda: temporary_files(receiver) != [] and has_udp_port(receiver), "it waits for a peer")
        sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address)

        assert sender.wait() == DONE
        assert receiver.wait() == DONE
        assert target.read_bytes() == source.read_bytes()

    @pytest.mark.parametrize(("role", "fd"), [("recv", 1), ("send", 0)])
    def test_a_closed_stdin_or_stdout_is_no_file(self, udp_lab: Lab, role: str, fd: int) -> None:
        process = udp_lab.start(udp_lab.here, role, "-", "--passive", prepare=lambda: close_all([fd]))

        assert process.wait() == LOCAL
        assert "Bad file descriptor" in one_line(process)

    def test_nothing_shows_under_the_final_name_before_the_end(self, lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 300_000), make_file(tmp_path / "target", 77, seed=5)
        before = target.read_bytes()
        receiver = lab.wait_for_peer(lab.there, "recv", target)
        sender = lab.start(lab.here, "send", source, lab.there.address, *SLOW)
        receiver.wait_until(lambda: has_received(receiver), "data has arrived")
        during = target.read_bytes()

        assert (sender.wait(), receiver.wait()) == (DONE, DONE)
        assert during == before
        assert target.read_bytes() == source.read_bytes()

    def test_a_peer_that_dies_is_given_up(self, lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 4_000_000), tmp_path / "target"
        receiver = lab.wait_for_peer(lab.there, "recv", target, "--death-timer", "2", "--json")
        sender = lab.start(lab.here, "send", source, lab.there.address, *SLOW)
        receiver.wait_until(lambda: has_received(receiver), "data has arrived")
        sender.send_signal(signal.SIGKILL)

        assert receiver.wait() == FAILED
        assert receiver.error_lines[-1].endswith("silent for 2 s: gave it up")
        assert len(receiver.error_lines) <= 2, "at most one line about what ICMP said, and the end"
        assert receiver.report["result"] == "peer-dead"
        assert not target.exists()
        assert leftovers(tmp_path) == []

    @needs_root
    def test_a_short_loss_of_the_cable_does_no_harm(self, lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 300_000), tmp_path / "target"
        receiver = lab.wait_for_peer(lab.there, "recv", target)
        sender = lab.start(lab.here, "send", source, lab.there.address, *SLOW)
        receiver.wait_until(lambda: has_received(receiver), "data has arrived")
        lab.here.ip("link", "set", "left", "down")  # takes the route with it: ENETUNREACH
        sender.wait_until(lambda: any("continuing" in line for line in sender.error_lines), "a line on stderr")
        lab.here.ip("link", "set", "left", "up")

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        assert target.read_bytes() == source.read_bytes()
        assert len([line for line in sender.error_lines if "continuing" in line]) == 1

    @needs_root
    def test_a_full_interface_queue_loses_nothing(self, lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 500_000), tmp_path / "target"
        large_bursts = ["--burst-size", "64", "--burst-interval", "20"]  # 90 kB at once for a queue of 10 kB
        with lab.here.inside():
            subprocess.run(
                "tc qdisc add dev left root tbf rate 200mbit burst 5k limit 10k", shell=True, check=True, timeout=10
            )

        # UDP runs would be cut up after the socket: the shaper drops pieces without a report.
        options = [*large_bursts, "--transmit", "single"]
        for _ in range(5):  # a receiver that gets no processor loses some too, but not each time
            sender, _receiver = move(lab, source, target, active="sender", options=options)
            assert target.read_bytes() == source.read_bytes()
            if sender.report["packets_retransmitted"] == 0:
                break
        assert sender.report["packets_retransmitted"] == 0, "what the queue refused was offered again"


class TestKilled:
    def test_a_killed_receiver_leaves_no_file(self, udp_lab: Lab, tmp_path: Path) -> None:
        directory = tmp_path / "target"
        directory.mkdir()
        for there_before in (False, True):
            if there_before:
                make_file(directory / "file", 10)
            receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", directory / "file")
            sender = udp_lab.start(
                udp_lab.here, "send", make_file(tmp_path / "source", 4_000_000), udp_lab.there.address, *SLOW
            )
            receiver.wait_until(lambda process=receiver: has_received(process), "data has arrived")  # type: ignore[misc]
            receiver.popen.kill()
            receiver.popen.wait()
            sender.end()

            names = [name for name in names_in(directory) if not name.startswith(".netblt-partial-")]
            assert names == (["file"] if there_before else [])
            assert leftovers(directory) == []

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_a_signal_that_comes_before_anything_else_is_an_interrupt_too(
        self, udp_lab: Lab, tmp_path: Path, number: signal.Signals
    ) -> None:
        """Opening a FIFO waits for its other end: the program has not come so far that it watches signals."""
        os.mkfifo(tmp_path / "fifo")
        process = udp_lab.start(udp_lab.here, "send", tmp_path / "fifo", udp_lab.there.address, "--json")
        process.wait_until(lambda: "wait_for_partner" in wait_channel(process) or fifo_wait(process), "it waits")
        process.send_signal(number)

        assert process.wait() == INTERRUPTED
        assert process.report["result"] == "interrupted"
        assert "interrupted" in one_line(process)


class TestInterrupt:
    def test_waiting_ends_at_once(self, lab: Lab, tmp_path: Path) -> None:
        receiver = lab.wait_for_peer(lab.there, "recv", tmp_path / "target", "--json")
        receiver.send_signal(signal.SIGINT)

        assert receiver.wait() == INTERRUPTED
        assert receiver.report["result"] == "interrupted"
        assert leftovers(tmp_path) == []

    @pytest.mark.parametrize("interrupted", ["sender", "receiver"])
    def test_one_interrupt_quits_with_a_reason(self, lab: Lab, tmp_path: Path, interrupted: str) -> None:
        source, target = make_file(tmp_path / "source", 4_000_000), tmp_path / "target"
        receiver = lab.wait_for_peer(lab.there, "recv", target, "--json")
        sender = lab.start(lab.here, "send", source, lab.there.address, "--json", *SLOW)
        receiver.wait_until(lambda: has_received(receiver), "data has arrived")
        quitter, other = (sender, receiver) if interrupted == "sender" else (receiver, sender)
        quitter.send_signal(signal.SIGINT)

        assert quitter.wait() == INTERRUPTED
        assert other.wait() == FAILED
        assert quitter.report["result"] == "local-quit"
        assert other.report["result"] == "peer-quit"
        assert "interrupted by the user" in other.report["reason"]
        assert other.report["sha256"] is None
        assert not target.exists()
        assert leftovers(tmp_path) == []

    def test_a_second_interrupt_aborts(self, udp_lab: Lab, tmp_path: Path) -> None:
        lab = udp_lab
        source, target = make_file(tmp_path / "source", 4_000_000), tmp_path / "target"
        receiver = lab.wait_for_peer(lab.there, "recv", target, "--json")
        # One packet in two seconds: a buffer that no QUIT may cut short (QUIT-04) lasts long.
        slow = ["--packet-size", "1000", "--buffer-size", "100k", "--burst-size", "1", "--burst-interval", "2000"]
        with LossyRelay(lab.there, lab.udp_port) as relay:
            lab.udp_port = relay.port
            sender = lab.start(lab.here, "send", source, lab.there.address, "--json", *slow)
            sender.wait_until(lambda: TYPE_DATA in relay.types, "data is on its way")
            sender.send_signal(signal.SIGINT)
            sender.wait_until_signals_are_taken()
            time.sleep(0.3)
            assert sender.popen.poll() is None, "the buffer under way is finished first"
            sender.send_signal(signal.SIGINT)

            assert sender.wait() == INTERRUPTED
            assert receiver.wait() == FAILED
        assert receiver.report["result"] == "peer-aborted"
        assert "interrupted by the user" in receiver.report["reason"]

    def test_an_interrupt_while_opening_ends_it(self, udp_lab: Lab, tmp_path: Path) -> None:
        with udp_lab.there.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind((udp_lab.there.address, udp_lab.udp_port))
            sender = udp_lab.start(
                udp_lab.here, "send", make_file(tmp_path / "source", 10), udp_lab.there.address, "--json"
            )
            silent.settimeout(DEADLINE_S)
            silent.recv(65535)  # its OPEN
            sender.send_signal(signal.SIGINT)
            assert sender.wait() == INTERRUPTED
            assert "interrupted" in one_line(sender)  # there is no peer that could be asked to stop
            assert sender.report["result"] == "interrupted"


def wait_channel(process: Process) -> str:
    return Path(f"/proc/{process.popen.pid}/wchan").read_text()


def fifo_wait(process: Process) -> bool:
    """Where the kernel does not state what a process waits for: it sleeps with its socket open."""
    state = Path(f"/proc/{process.popen.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    links = [link for link, _ in open_files(process)]
    return state == "S" and any(link.startswith("anon_inode:[eventpoll]") for link in links)


def close_all(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def has_udp_port(process: Process) -> bool:
    """For a process that cannot report that it waits: some socket of its network is a bound UDP socket of its own."""
    table = Path(f"/proc/{process.popen.pid}/net/udp").read_text().splitlines()[1:]
    bound = {line.split()[9] for line in table}
    links = [link for link, _ in open_files(process)]
    return any(link == f"socket:[{inode}]" for inode in bound for link in links)
