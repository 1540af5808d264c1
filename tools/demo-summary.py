# SPDX-License-Identifier: BSD-2-Clause
"""Prints what the summaries of one demo transfer state, in a few lines: demo-summary.py DIR."""

import json
import sys
from pathlib import Path


def main() -> int:
    folder = Path(sys.argv[1])
    sender = json.loads((folder / "sender.json").read_text())
    receiver = json.loads((folder / "receiver.json").read_text())
    print(
        f"{receiver['bytes']:,} bytes in {receiver['seconds']:.2f} s: goodput {receiver['goodput_bps'] / 1e6:.1f} Mb/s"
        f", {sender['packets_sent']:,} packets sent, {sender['packets_retransmitted']:,} of them again, "
        f"{receiver['data_timeouts']:,} data timeouts"
    )
    flakeway = folder / "flakeway.json"
    if flakeway.exists() and flakeway.stat().st_size:
        told = json.loads(flakeway.read_text())
        for direction, name in (("a_to_b", "to the receiver"), ("b_to_a", "to the sender")):
            counts = told[direction]
            print(
                f"flakeway, {name}: " + ", ".join(f"{key} {counts[key]:,}" for key in ("seen", "dropped", "reordered"))
            )
    return 0


sys.exit(main())
