# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes pcaps/golden/lossy-transfer: the reference implementation through a bad network, captured on both sides.

What is expected of the capture is what the run itself knows: the flakeway's decisions, the endpoints' parameters, the
digest of what was delivered. Needs a build (tools/build). Run it with
.venv/bin/python pcaps/tools/make_golden.py [--check]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from netblt_conformance.common import paths

try:
    from netblt_conformance.simlib import (
        ActionKind,
        Direction,
        Flakeway,
        Iut,
        IutError,
        IutLibrary,
        IutParams,
        PairEnd,
        PairResult,
        PcapngWriter,
        run_pair,
    )
except ImportError as error:
    raise SystemExit(f"make_golden: {error}") from None

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
NAME = "lossy-transfer"
SEED = 1988
RULES = ("latency 15ms", "loss 6%", "reorder 5% by 12ms a>b", "reorder 15% by 60ms b>a", "drop nth=2 OK")
TRANSFER_BYTES = 59_999  # a short last packet in a short last buffer
START_US = 563_000_000 * 1_000_000  # November 1987
LIMIT_US = START_US + 600_000_000
LARGEST_FILE_BYTES = 300_000
SIDES = {Direction.A_TO_B: "left", Direction.B_TO_A: "right"}  # where a packet of this direction enters
SENDER = IutParams(
    active=True,
    sender=True,
    data_checksum=True,
    local_port=1024,
    foreign_port=1,
    buffer_size=4096,
    packet_size=512,
    burst_size=4,
    burst_interval_ms=10,
    max_buffers=4,
    seed=SEED,
    local_address="10.0.0.1",
    foreign_address="10.0.0.2",
    client_string="lossy-transfer",
)
RECEIVER = IutParams(
    active=False,
    sender=False,
    data_checksum=True,
    local_port=1,
    buffer_size=4096,
    packet_size=512,
    burst_size=4,
    burst_interval_ms=10,
    max_buffers=4,
    seed=SEED + 1,
    local_address="10.0.0.2",
)


def transfer_data() -> bytes:
    """What is sent: the digests of 0, 1, 2, ... one after the other."""
    blocks = (hashlib.sha256(str(number).encode()).digest() for number in range(TRANSFER_BYTES // 32 + 1))
    return b"".join(blocks)[:TRANSFER_BYTES]


def run(library: IutLibrary) -> tuple[bytes, dict[str, Any]]:
    """One transfer: the capture and what must be found in it."""
    data = transfer_data()
    flakeway = Flakeway(SEED, *RULES)
    writer = PcapngWriter()
    with library.start(SENDER, data, START_US) as sender, library.start(RECEIVER, b"", START_US) as receiver:
        result = run_pair(sender, receiver, flakeway, start_us=START_US, limit_us=LIMIT_US, capture=writer)
        complain_unless_golden(sender, receiver, flakeway, result)
    capture = writer.bytes()
    if len(capture) > LARGEST_FILE_BYTES:
        raise SystemExit(f"the capture has {len(capture)} bytes; {LARGEST_FILE_BYTES} are the most")
    return capture, expectation(flakeway, result, data)


def complain_unless_golden(sender: Iut, receiver: Iut, flakeway: Flakeway, result: PairResult) -> None:
    """A golden capture shows a transfer that succeeded, and a network that was bad both ways."""
    if result.end is not PairEnd.CLOSED or not sender.status.succeeded or not receiver.status.succeeded:
        ends = f"sender: {sender.status.name} {sender.reason}; receiver: {receiver.status.name} {receiver.reason}"
        raise SystemExit(f"the transfer failed ({result.end.name}); {ends}")
    if receiver.delivered != transfer_data():
        raise SystemExit("the receiver was given something else than the sender sent")
    for direction in Direction:
        stats = flakeway.stats(direction)
        if not stats.dropped or not stats.reordered:
            raise SystemExit(f"the network was too good in direction {direction.name}: take another seed")


def expectation(flakeway: Flakeway, result: PairResult, data: bytes) -> dict[str, Any]:
    """Every packet is there once where it entered, and once more for each time that it left on the other side."""
    delivered = {SIDES[direction]: flakeway.stats(direction).delivered for direction in Direction}
    dropped = [
        {"interface": SIDES[event.direction], "time_us": event.now_us, "rule": event.text}
        for event in flakeway.events
        if event.action is ActionKind.DROP
    ]
    return {
        "about": "59999 bytes cross a network that loses and reorders in both directions; no end violates a rule.",
        "packets": sum(result.packets) + sum(delivered.values()),
        "findings": [],
        "tolerated": [],
        "seed": SEED,
        "rules": list(RULES),
        "parameters": {"left": asdict(SENDER), "right": asdict(RECEIVER)},
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "emitted": {"left": result.packets[0], "right": result.packets[1]},
        "delivered": delivered,
        "dropped": dropped,
    }


def same(path: Path, contents: bytes) -> bool:
    """Whether a file is there and holds this."""
    return path.is_file() and path.read_bytes() == contents


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0: written, or nothing differs; 1: the run differs or failed."""
    parser = argparse.ArgumentParser(description="write or check the golden capture")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when this build gives another run")
    parser.add_argument("--directory", type=Path, default=GOLDEN, help="where the capture lies")
    parser.add_argument("--library", type=Path, default=paths.iut_library(), help="the implementation to run")
    options = parser.parse_args(arguments)
    try:
        capture, wanted = run(IutLibrary(options.library))
    except IutError as problem:
        raise SystemExit(f"make_golden: {problem}; run tools/build") from None
    files = {f"{NAME}.pcapng": capture, f"{NAME}.expected.json": (json.dumps(wanted, indent=1) + "\n").encode()}
    if options.check:
        changed = [name for name, contents in files.items() if not same(options.directory / name, contents)]
        for name in changed:
            print(f"{options.directory}: this build's run is not {name}", file=sys.stderr)
        return 1 if changed else 0
    options.directory.mkdir(parents=True, exist_ok=True)
    for name, contents in files.items():
        (options.directory / name).write_bytes(contents)
    return 0


if __name__ == "__main__":
    sys.exit(main())
