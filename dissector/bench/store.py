# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs to keep records of packets and connections: in the plugin's own way, and by Wireshark's API.

Builds dissector/bench/store, a dissector that parses each packet and keeps something of it in one of these ways. Runs
take turns, the fastest of each counts, and the figures are net of parsing alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dissector.bench.run import MANY_CONNECTIONS, Bench, Cost
from dissector.tests.reader import Reader

WAYS = {
    "record.c": 1,
    "p_add_proto_data": 2,
    "stream.c": 3,
    "find_conversation_full": 4,
    "find_conversation": 5,
    "fragment_add_seq_check": 6,
}
SOURCE = Path(__file__).resolve().parent / "store"


def build(folder: Path) -> Path:
    """The plugin folder."""
    for command in (["cmake", "-S", str(SOURCE), "-B", str(folder), "-G", "Ninja"], ["cmake", "--build", str(folder)]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"store: {' '.join(command)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return folder / "plugins"


def compare(bench: Bench, path: Path, *options: str) -> dict[str, Cost]:
    """The least cost of each way, and of none of them, taking turns."""
    best: dict[str, Cost] = {}
    for _ in range(bench.rounds):
        for name, way in {"none": 0, **WAYS}.items():
            cost = bench.once(path, "-o", f"store.way:{way}", *options)
            known = best.get(name, cost)
            best[name] = Cost(min(known.cpu_s, cost.cpu_s), min(known.rss_kb, cost.rss_kb))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures there")
    given = parser.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory(prefix="netblt-store-") as home:
        os.umask(0o022)
        Path(home).chmod(0o755)
        plugins = build(Path(home) / "build")
        (Path(home) / "reader").mkdir()
        bench = Bench(Reader(Path(home) / "reader", plugins), given.rounds, given.packets)
        captures = {
            "one connection": bench.capture("netblt", given.packets),
            f"{MANY_CONNECTIONS} connections by turns": bench.capture("netblt", given.packets, MANY_CONNECTIONS, 1),
        }
        for about, path in captures.items():
            for passes in ((), ("-2",)):
                costs = compare(bench, path, *passes)
                print(f"{about}, {given.packets} packets{', two passes' if passes else ''}:")
                for name in WAYS:
                    each_ns = (costs[name].cpu_s - costs["none"].cpu_s) / given.packets * 1e9
                    each_bytes = (costs[name].rss_kb - costs["none"].rss_kb) * 1024 / given.packets
                    figures[f"{about}{' -2' if passes else ''}, {name}"] = (each_ns, each_bytes)
                    print(f"  {name:24} {each_ns:7.0f} ns  {each_bytes:6.0f} bytes a packet")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
