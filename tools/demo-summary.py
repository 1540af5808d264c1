# SPDX-License-Identifier: BSD-2-Clause
"""Prints what the summaries of one demo transfer say, in a few lines: demo-summary.py DIR."""

import json
import sys
from pathlib import Path


def main() -> int:
    folder = Path(sys.argv[1])
    sender = json.loads((folder / "sender.json").read_text())
    receiver = json.loads((folder / "receiver.json").read_text())
    print(
        f"{receiver['bytes']:,} bytes in {receiver['seconds']:.2f} s: goodput {receiver['goodput_bps'] / 1e6:.1f} Mb/s, "
        f"{sender['packets_sent']:,} packets sent, {sender['packets_retransmitted']:,} of them again, "
        f"{receiver['data_timeouts']:,} data timeouts"
    )
    flakeway = folder / "flakeway.json"
    if flakeway.exists() and flakeway.stat().st_size:
        for direction, counts in json.loads(flakeway.read_text()).get("directions", {}).items():
            told = ", ".join(f"{name} {count:,}" for name, count in counts.items())
            print(f"flakeway {direction}: {told}")
    return 0


sys.exit(main())
