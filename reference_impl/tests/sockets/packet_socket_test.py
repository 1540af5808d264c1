# SPDX-License-Identifier: BSD-2-Clause
"""Raw IP sent by a packet socket: it arrives, and it does pass the interface's queue by."""

from __future__ import annotations

import json
import sys

import lab

MEMORY = sys.argv[2]


def packets_through_queue(host: lab.Host) -> int:
    (queue,) = json.loads(host.run("tc", "-s", "-j", "qdisc", "show", "dev", "eth"))
    return int(queue["packets"])


def transfer(left: lab.Host, right: lab.Host, *more: str) -> tuple[int, int]:
    """Packets that NETBLT sent, and those that went through the queue."""
    before = packets_through_queue(left)
    receiver = right.start(MEMORY, "recv", "--encap", "ip")
    lab.wait_until(lambda: lab.has_raw_socket(receiver), "it can be reached")
    sender = left.start(MEMORY, "send", "--encap", "ip", "--interval", "2", *more, "10.30.0.2", "0.3")
    said, _ = sender.communicate(timeout=lab.PATIENCE_S)
    assert sender.returncode == 0, said
    receiver.communicate(timeout=lab.PATIENCE_S)
    assert receiver.returncode == 0
    result = json.loads(said)
    assert result["result"] == "done"
    return int(result["packets_sent"]), packets_through_queue(left) - before


def main() -> None:
    lab.enter_user_namespace()
    left, right = lab.joined_hosts()
    left.run("tc", "qdisc", "add", "dev", "eth", "root", "pfifo", "limit", "1000")
    sent, queued = transfer(left, right)
    assert queued >= sent, (sent, queued)
    sent, queued = transfer(left, right, "--af-packet")
    assert sent > 500, sent
    assert queued < sent / 2, (sent, queued)  # the first ones, until the neighbour is known, do go through
    print("ok raw IP by a packet socket passes the queue by")


main()
