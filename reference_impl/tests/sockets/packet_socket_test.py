# SPDX-License-Identifier: BSD-2-Clause
"""Raw IP sent by an AF_XDP socket, or by a packet socket where that cannot be: it arrives, and it does pass the
interface's queue by."""

from __future__ import annotations

import ctypes
import json
import mmap
import socket
import struct
import sys

import lab

MEMORY = sys.argv[2]
AF_XDP, SOL_XDP, XDP_UMEM_REG = 44, 283, 4
MEMORY_BYTES = 2 << 20  # as io/xdp_ring.c


def packets_through_queue(host: lab.Host) -> int:
    (queue,) = json.loads(host.run("tc", "-s", "-j", "qdisc", "show", "dev", "eth"))
    return int(queue["packets"])


def packets_sent(host: lab.Host) -> int:
    (link,) = json.loads(host.run("ip", "-s", "-j", "link", "show", "dev", "eth"))
    return int(link["stats64"]["tx"]["packets"])


def xdp_sockets(host: lab.Host) -> int:
    lines = host.run("cat", "/proc/net/protocols").splitlines()
    return sum(int(line.split()[2]) for line in lines if line.startswith("XDP "))


def can_use_xdp() -> bool:
    """The kernel has AF_XDP, and this user may lock as much memory as it takes (RLIMIT_MEMLOCK)."""
    memory = mmap.mmap(-1, MEMORY_BYTES)
    area = struct.pack("=QQIIII", ctypes.addressof(ctypes.c_char.from_buffer(memory)), MEMORY_BYTES, 2048, 0, 0, 0)
    try:
        with socket.socket(AF_XDP, socket.SOCK_RAW) as probe:
            probe.setsockopt(SOL_XDP, XDP_UMEM_REG, area)
    except OSError as problem:
        print(f"AF_XDP cannot be tested: {problem}")
        return False
    return True


def transfer(left: lab.Host, right: lab.Host, *more: str, before: tuple[str, ...] = ()) -> tuple[int, int, int]:
    """Packets that NETBLT sent, those that went through the queue, and AF_XDP sockets that it used: one that is of no
    use is closed at once."""
    queued, sent = packets_through_queue(left), packets_sent(left)
    receiver = right.start(MEMORY, "recv", "--encap", "ip")
    lab.wait_until(lambda: lab.has_raw_socket(receiver), "it can be reached")
    sender = left.start(*before, MEMORY, "send", "--encap", "ip", "--interval", "2", *more, "10.30.0.2", "1")
    lab.wait_until(lambda: packets_sent(left) > sent + 300, "data flow")
    used = xdp_sockets(left)
    said, _ = sender.communicate(timeout=lab.PATIENCE_S)
    assert sender.returncode == 0, said
    receiver.communicate(timeout=lab.PATIENCE_S)
    assert receiver.returncode == 0
    result = json.loads(said)
    assert result["result"] == "done"
    return int(result["packets_sent"]), packets_through_queue(left) - queued, used


def main() -> None:
    lab.enter_user_namespace()
    left, right = lab.joined_hosts()
    left.run("tc", "qdisc", "add", "dev", "eth", "root", "pfifo", "limit", "1000")
    sent, queued, used = transfer(left, right)
    assert queued >= sent, (sent, queued)
    assert used == 0
    # Without memory that may be locked there is no AF_XDP.
    unlocked = ("prlimit", "--memlock=0", "setpriv", "--bounding-set", "-ipc_lock", "--inh-caps", "-ipc_lock")
    for before, wanted in ((), int(can_use_xdp())), (unlocked, 0):
        sent, queued, used = transfer(left, right, "--af-packet", before=before)
        assert sent > 500, sent
        assert queued < sent / 2, (sent, queued)  # the first ones, until the neighbour is known, do go through
        assert used == wanted, (used, before)
    print("ok raw IP by an AF_XDP or packet socket passes the queue by")


main()
