# SPDX-License-Identifier: BSD-2-Clause
"""What happens to a network while a transfer runs: it goes on, or ends with a word.

Usage: troubles_test.py NETBLT [--alone]    --alone: the tests for which nothing else may run on the machine"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lab

NETBLT = sys.argv[1]
FILE_BYTES = 3_000_000
MORE_BYTES = 100_000_000
PACED = ("--burst-size", "8", "--burst-interval", "5")  # 1.3 s for the file
# More than a process reads at a time is in its socket when it comes to itself again.
FAST = ("--burst-size", "44", "--burst-interval", "1")
ATTEMPTS = 3
INTERRUPTED = 130
UNREACHABLE = 3


Words = tuple[str, ...]


class Transfer:
    """A file on its way from one host to the other, begun with certainty."""

    def __init__(
        self, folder: str, left: lab.Host, right: lab.Host, encap: str, address: str, pace: Words = PACED
    ) -> None:
        self.source, self.target = Path(folder, "source"), Path(folder, "target")
        self.source.write_bytes(os.urandom(FILE_BYTES if pace == PACED else MORE_BYTES))
        self.receiver = right.start(NETBLT, "recv", self.target, "--passive", "--encap", encap, "--json")
        assert self.receiver.stderr is not None
        assert "waiting" in self.receiver.stderr.readline()
        self.sender = left.start(NETBLT, "send", self.source, address, "--encap", encap, *pace)
        lab.wait_until(lambda: lab.has_received(self.receiver), "data has arrived")
        assert self.sender.poll() is None

    def must_succeed(self) -> str:
        """What the receiver printed."""
        printed = []
        for process in (self.sender, self.receiver):
            out, said = process.communicate(timeout=lab.PATIENCE_S)
            assert process.returncode == 0, said
            printed.append(out)
        assert self.source.read_bytes() == self.target.read_bytes()
        return printed[1]


Ways = tuple[tuple[str, str], ...]
IPV4_WAYS: Ways = (("ip", "10.30.0.2"), ("udp", "10.30.0.2"))
ALL_WAYS: Ways = (*IPV4_WAYS, ("ip", "fd30::2"), ("udp", "fd30::2"))


def a_link_that_is_down_for_a_while_delays_the_transfer(folder: str) -> None:
    for encap, address in IPV4_WAYS:  # an interface that goes down loses its IPv6 addresses permanently
        left, right = lab.joined_hosts()
        transfer = Transfer(folder, left, right, encap, address)
        left.run("ip", "link", "set", "eth", "down")
        time.sleep(0.7)
        left.run("ip", "link", "set", "eth", "up")
        transfer.must_succeed()


def duplicates_after_a_stop(folder: str, encap: str, address: str) -> int:
    """How many data packets arrive twice when the receiver is stopped for a while. What the kernel drops meanwhile is
    requested, and arrives once."""
    left, right = lab.joined_hosts()
    transfer = Transfer(folder, left, right, encap, address, FAST)
    transfer.receiver.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    transfer.receiver.send_signal(signal.SIGCONT)
    return int(json.loads(transfer.must_succeed())["packets_duplicate"])


def a_receiver_that_was_stopped_asks_for_nothing_that_its_socket_holds(folder: str) -> None:
    for encap, address in IPV4_WAYS:
        # A busy machine delays its reader further. A receiver that requests what it holds does so each time.
        counts = (duplicates_after_a_stop(folder, encap, address) for _ in range(ATTEMPTS))
        assert 0 in counts, f"{encap}: packets arrived twice in each of {ATTEMPTS} attempts"


def a_receiver_reports_the_quit_of_its_sender_before_it_stops_answering_repetitions(folder: str) -> None:
    transfer = Transfer(folder, *lab.joined_hosts(), *IPV4_WAYS[1])
    transfer.sender.send_signal(signal.SIGINT)
    assert transfer.receiver.stderr is not None
    assert "stopped the transfer: interrupted by the user" in transfer.receiver.stderr.readline()
    assert transfer.receiver.poll() is None
    transfer.receiver.send_signal(signal.SIGINT)
    transfer.receiver.communicate(timeout=lab.PATIENCE_S)
    assert transfer.receiver.returncode == INTERRUPTED
    transfer.sender.communicate(timeout=lab.PATIENCE_S)


def a_path_that_becomes_narrower_is_used_in_fragments(folder: str) -> None:
    for encap, address in ALL_WAYS:
        left, right = lab.joined_hosts()
        transfer = Transfer(folder, left, right, encap, address)
        left.run("ip", "link", "set", "eth", "mtu", "1300")
        transfer.must_succeed()


def a_termination_signal_at_any_moment_of_the_start_ends_the_process(folder: str) -> None:
    host = lab.Host()
    target = Path(folder, "target")
    for delay_ms in range(0, 40, 2):
        process = host.start(NETBLT, "recv", target, "--passive")
        time.sleep(delay_ms / 1000)
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=lab.PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"SIGTERM after {delay_ms} ms was lost") from None
        assert process.returncode in (INTERRUPTED, -signal.SIGTERM), process.returncode
        assert list(Path(folder).iterdir()) == []


def a_host_that_does_not_take_netblt_is_named_at_once(folder: str) -> None:
    left, _right = lab.joined_hosts()
    source = Path(folder, "source")
    source.write_bytes(b"nobody wants this")
    for encap, address in ALL_WAYS:
        # Without ICMP it would wait for longer than we do.
        sender = left.start(NETBLT, "send", source, address, "--encap", encap, "--open-timeout", "90")
        _, said = sender.communicate(timeout=lab.PATIENCE_S)
        assert sender.returncode == UNREACHABLE, (encap, address, said)
        assert address in said, said


def a_full_interface_queue_slows_the_transfer_down(folder: str) -> None:
    left, right = lab.joined_hosts()
    left.run("tc", "qdisc", "add", "dev", "eth", "root", "tbf", "rate", "20mbit", "burst", "5kb", "limit", "20kb")
    source, target = Path(folder, "source"), Path(folder, "target")
    source.write_bytes(os.urandom(1_000_000))
    receiver = right.start(NETBLT, "recv", target, "--passive")
    assert receiver.stderr is not None
    assert "waiting" in receiver.stderr.readline()
    sender = left.start(NETBLT, "send", source, "10.30.0.2", "--burst-interval", "0", "--burst-size", "64")
    for process in (sender, receiver):
        _, said = process.communicate(timeout=lab.PATIENCE_S)
        assert process.returncode == 0, said
    assert source.read_bytes() == target.read_bytes()


ALONE: list[Callable[[str], None]] = [
    # The socket has to hold what comes meanwhile: other processes would delay its reader further.
    a_receiver_that_was_stopped_asks_for_nothing_that_its_socket_holds,
]


def main() -> None:
    lab.enter_user_namespace()
    tests: list[Callable[[str], None]] = [
        a_link_that_is_down_for_a_while_delays_the_transfer,
        a_receiver_reports_the_quit_of_its_sender_before_it_stops_answering_repetitions,
        a_path_that_becomes_narrower_is_used_in_fragments,
        a_termination_signal_at_any_moment_of_the_start_ends_the_process,
        a_host_that_does_not_take_netblt_is_named_at_once,
        a_full_interface_queue_slows_the_transfer_down,
    ]
    for test in ALONE if "--alone" in sys.argv[2:] else tests:
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
        print(f"ok {test.__name__}", flush=True)


main()
