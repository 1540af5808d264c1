# SPDX-License-Identifier: BSD-2-Clause
"""Several processes on one host: each keeps to its own NETBLT ports, and none answers for another."""

from __future__ import annotations

import itertools
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lab

NETBLT = sys.argv[1]
PROTOCOL = 30
OPEN, ABORT, DATA, REFUSED = 0, 5, 6, 10
VERSION = 2
IN_USE = 2


def checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(kind: int, local_port: int, foreign_port: int, body: bytes = b"") -> bytes:
    unsummed = struct.pack(">HBBHHHH", 0, VERSION, kind, 12 + len(body), local_port, foreign_port, 0) + body
    return struct.pack(">H", checksum(unsummed)) + unsummed[2:]


def open_packet(local_port: int, foreign_port: int) -> bytes:
    body = struct.pack(">IIIHHHHHH", 0x30303030, 4096, 0, 512, 4, 10, 30, 3, 2) + bytes(4)
    return packet(OPEN, local_port, foreign_port, body)


class Passive:
    """A netblt process that waits on a port."""

    def __init__(self, host: lab.Host, folder: str, port: int, *more: str) -> None:
        self.target = Path(folder, f"target-{port}")
        self.process = host.start(NETBLT, "recv", self.target, "--passive", "--port", str(port), *more)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert "waiting" in line, line

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def answers_to(
    host: lab.Host, family: socket.AddressFamily, address: str, sent: bytes, wait_s: float, wanted: int = 0
) -> list[bytes]:
    """What comes back for our port when `sent` goes to `address`: what is wanted, and more within `wait_s`. Ours is
    another address of the same host, so that no process takes our packets for its peer's."""
    got: list[bytes] = []

    def exchange() -> None:
        with socket.socket(family, socket.SOCK_RAW, PROTOCOL) as raw:
            raw.bind(("127.0.0.99" if family == socket.AF_INET else "::1", 0))
            raw.sendto(sent, (address, 0))
            until = time.monotonic() + (lab.PATIENCE_S if wanted else wait_s)
            while (left := until - time.monotonic()) > 0:
                if select.select([raw], [], [], left)[0]:
                    data = raw.recv(65536)
                    data = data[(data[0] & 15) * 4 :] if family == socket.AF_INET else data
                    if data[8:10] == sent[6:8] and data[3] != OPEN:
                        got.append(data)
                        until = time.monotonic() + wait_s if len(got) == wanted else until

    host.call(exchange)
    return got


def two_transfers_at_once_on_one_host_do_not_disturb_each_other(host: lab.Host, folder: str) -> None:
    source = Path(folder, "source")
    source.write_bytes(os.urandom(2_000_000))
    receivers = [Passive(host, folder, port) for port in (1, 2)]
    senders = [
        host.start(NETBLT, "send", source, address, "--port", str(port), "--burst-interval", "1")
        for port, address in ((1, "127.0.0.1"), (2, "::1"))
    ]
    for process in [*senders, *(receiver.process for receiver in receivers)]:
        _, said = process.communicate(timeout=lab.PATIENCE_S)
        assert process.returncode == 0, said
    for receiver in receivers:
        assert receiver.target.read_bytes() == source.read_bytes()


def a_port_in_use_is_refused_to_a_second_process(host: lab.Host, folder: str) -> None:
    for first, second, works in (
        ((), (), False),
        (("--bind", "127.0.0.1"), ("--bind", "127.0.0.1"), False),
        (("--bind", "::1"), ("--bind", "::1"), False),
        ((), ("--bind", "::1"), False),
        (("--bind", "127.0.0.1"), (), False),
        (("--bind", "127.0.0.1"), ("--bind", "0.0.0.0"), False),
        (("--bind", "::"), ("--bind", "::1"), False),
        (("--bind", "127.0.0.1"), ("--bind", "127.0.0.2"), True),
        (("--bind", "127.0.0.1"), ("--bind", "::1"), True),
        (("--bind", "0.0.0.0"), ("--bind", "::1"), True),
    ):
        owner = Passive(host, folder, 7, *first)
        other = host.start(NETBLT, "recv", Path(folder, "other"), "--passive", "--port", "7", *second)
        assert other.stderr is not None
        line = other.stderr.readline()
        if works:
            assert "waiting" in line, (first, second, line)
            other.kill()
        else:
            assert "port 7 is in use" in line, (first, second, line)
            assert other.wait(lab.PATIENCE_S) == IN_USE
        other.communicate()
        owner.end()


def opens_for_nobody_are_refused_and_those_for_another_process_are_left_to_it(host: lab.Host, folder: str) -> None:
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        owner, other = Passive(host, folder, 7), Passive(host, folder, 8)
        kinds = [answer[3] for answer in answers_to(host, family, address, open_packet(5000, 9), 0.5, wanted=1)]
        assert set(kinds) == {REFUSED}, kinds  # by both or one of them, as no process owns port 9
        os.kill(owner.process.pid, signal.SIGSTOP)
        answers = answers_to(host, family, address, open_packet(5001, 7), 0.5)
        assert answers == [], "another process answered for port 7"
        os.kill(owner.process.pid, signal.SIGCONT)
        owner.end()
        other.end()


def queued_bytes(process: subprocess.Popen[str], table: str) -> int:
    """In the receive queue of the process's raw socket."""
    inodes = set()
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        target = str(link.readlink())
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    queued = 0
    for line in Path(f"/proc/{process.pid}/net/{table}").read_text().splitlines()[1:]:
        words = line.split()
        if words[9] in inodes:
            queued += int(words[4].split(":")[1], 16)
    return queued


def a_process_is_not_woken_for_the_ports_of_others(host: lab.Host, folder: str) -> None:
    for family, address, table in ((socket.AF_INET, "127.0.0.1", "raw"), (socket.AF_INET6, "::1", "raw6")):
        owner, other = Passive(host, folder, 7), Passive(host, folder, 8)
        for process in (owner.process, other.process):
            os.kill(process.pid, signal.SIGSTOP)
        data = packet(DATA, 5000, 7, bytes(12) + bytes(1000))
        answers_to(host, family, address, data, 0.05)
        assert queued_bytes(owner.process, table) > 0
        assert queued_bytes(other.process, table) == 0
        answers_to(host, family, address, open_packet(5000, 7), 0.05)
        assert queued_bytes(other.process, table) > 0  # an OPEN might be for no process
        owner.end()
        other.end()


def no_privilege_is_left_once_it_waits(host: lab.Host, folder: str) -> None:
    owner = Passive(host, folder, 7)
    status = dict(line.split(":\t") for line in Path(f"/proc/{owner.process.pid}/status").read_text().splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, (name, status[name])
    assert status["NoNewPrivs"] == "1"
    owner.end()


def opening_port(host: lab.Host, folder: str) -> int:
    """The NETBLT port of one active end: the Local Port of its OPEN."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, PROTOCOL) as listening:
        source = Path(folder, "source")
        source.write_bytes(b"nobody wants this")
        sender = host.start(NETBLT, "send", source, "127.0.0.1")
        listening.settimeout(lab.PATIENCE_S)
        opened = listening.recv(2048)[20:]
        sender.kill()
        sender.communicate()
    assert opened[3] == OPEN
    return int.from_bytes(opened[6:8], "big")


def an_active_end_takes_a_port_that_nobody_can_foresee(host: lab.Host, folder: str) -> None:
    ports: list[int] = []
    host.call(lambda: ports.extend(opening_port(host, folder) for _ in range(8)))
    assert all(1024 <= port <= 65535 for port in ports), ports
    steps = {after - before for before, after in itertools.pairwise(ports)}
    assert len(set(ports)) >= 7, ports  # two of eight are the same once in 600 times, three never
    assert len(steps) >= 5, ports
    assert max(ports) - min(ports) > 1000, ports


def main() -> None:
    lab.enter_user_namespace()
    tests: list[Callable[[lab.Host, str], None]] = [
        two_transfers_at_once_on_one_host_do_not_disturb_each_other,
        a_port_in_use_is_refused_to_a_second_process,
        opens_for_nobody_are_refused_and_those_for_another_process_are_left_to_it,
        a_process_is_not_woken_for_the_ports_of_others,
        no_privilege_is_left_once_it_waits,
        an_active_end_takes_a_port_that_nobody_can_foresee,
    ]
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            test(lab.Host(), folder)
        print(f"ok {test.__name__}", flush=True)


main()
