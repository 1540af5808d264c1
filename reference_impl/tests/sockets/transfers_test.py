# SPDX-License-Identifier: BSD-2-Clause
"""Two real processes over real sockets: each encapsulation, each address family, loopback and Ethernet."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lab

NETBLT = sys.argv[1]
FILE_BYTES = 3_000_001


def wait_until_waiting(receiver: subprocess.Popen[str]) -> None:
    """The passive end reports it on standard error."""
    assert receiver.stderr is not None
    line = receiver.stderr.readline()
    assert "waiting" in line, line


def transfer(
    sender_host: lab.Host, receiver_host: lab.Host, address: str, encap: str, *more: str, size: int = FILE_BYTES
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source"), Path(folder, "target")
        source.write_bytes((bytes(range(251)) * (size // 251 + 1))[:size])
        receiver = receiver_host.start(NETBLT, "recv", target, "--passive", "--encap", encap)
        wait_until_waiting(receiver)
        sender = sender_host.start(NETBLT, "send", source, address, "--encap", encap, "--burst-interval", "0", *more)
        _, said = sender.communicate(timeout=lab.PATIENCE_S)
        assert sender.returncode == 0, said
        _, said = receiver.communicate(timeout=lab.PATIENCE_S)
        assert receiver.returncode == 0, said
        assert source.read_bytes() == target.read_bytes()


def link_local_of(host: lab.Host) -> str:
    for _ in range(50):  # duplicate address detection takes a second or two
        for line in host.run("ip", "-6", "address", "show", "dev", "eth", "scope", "link").splitlines():
            words = line.split()
            if words[:1] == ["inet6"] and "tentative" not in words:
                return words[1].split("/")[0]
        time.sleep(0.1)
    raise AssertionError("no link-local address")


def main() -> None:
    lab.enter_user_namespace()
    alone = lab.Host()
    left, right = lab.joined_hosts()
    for size, buffer_bytes in (
        (0, 64),
        (1, 64),
        (32, 64),
        (33, 64),
        (63, 64),
        (64, 64),
        (127, 64),
        (100, 31),
        (64, 31),
        (20, 7),
    ):
        transfer(alone, alone, "127.0.0.1", "udp", "--buffer-size", str(buffer_bytes), size=size)
    print("ok the hash behind the data may begin and end in any buffer")
    for encap in ("ip", "udp"):
        for address in ("127.0.0.1", "127.0.0.7", "::1"):
            transfer(alone, alone, address, encap)
            print(f"ok {encap} over loopback to {address}")
        for address in ("10.30.0.2", "fd30::2"):
            transfer(left, right, address, encap)
            print(f"ok {encap} over Ethernet to {address}")
        local = link_local_of(right)
        transfer(left, right, f"{local}%eth", encap)
        print(f"ok {encap} over Ethernet to a link-local address")


main()
