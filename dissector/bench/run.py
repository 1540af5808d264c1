# SPDX-License-Identifier: GPL-2.0-or-later
"""Speed and memory of the plugin against Wireshark's own TCP and SCTP dissectors.

Every figure is CPU time (user and system) of tshark printing one line per packet, net of start-up: `tshark -q` alone
does not dissect, and wall time is the machine's business. Runs are interleaved and the fastest of each kind counts:
whatever disturbs makes runs slower. With --old FOLDER the plugin in FOLDER (it holds <version>/epan/netblt.so) takes
turns with this one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.common import nobody

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dissector.bench.captures import write
from dissector.tests.reader import PLUGINS, Reader

AT_LEAST_SCTP = 1.2  # times as fast
AT_LEAST_TCP = 3.0
AT_LEAST_OLD = 1.0
BYTES_PER_PACKET = 80
CONTROL_BYTES_PER_PACKET = 130  # two messages and a buffer for every third packet
LINEAR = 0.10  # ten times the packets cost ten times the time, within this
MANY_CONNECTIONS = 10_000
OLD = "old "  # before the name of a run with the old plugin
OF_OLD = ("netblt", "netblt-control")


@dataclass
class Cost:
    cpu_s: float
    rss_kb: int


@dataclass
class Bench:
    reader: Reader
    rounds: int
    packets: int
    has_old: bool = False  # the reader's folder old-plugins holds the old plugin

    def capture(self, kind: str, packets: int, connections: int = 1, turn: int = 10) -> Path:
        path = self.reader.home / f"{kind}-{packets}-{connections}-{turn}.pcap"
        if not path.exists():
            write(path, kind, packets, connections, turn)
            path.chmod(0o644)
        return path

    def once(self, path: Path, *options: str, old: bool = False) -> Cost:
        """One run of tshark; output goes nowhere."""
        settings = self.reader.options()
        if old:
            settings["env"]["WIRESHARK_PLUGIN_DIR"] = str(self.reader.home / "old-plugins")
        process = subprocess.Popen(
            nobody.command(["tshark", "-n", "-r", str(path), *options]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **settings,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"bench: tshark {' '.join(options)} on {path.name} failed with {process.returncode}")
        return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss)

    def compare(self, paths: dict[str, Path], *options: str) -> dict[str, Cost]:
        """The least cost of each, taking turns."""
        best: dict[str, Cost] = {}
        for _ in range(self.rounds):
            for name, path in paths.items():
                cost = self.once(path, *options, old=name.startswith(OLD))
                known = best.get(name, cost)
                best[name] = Cost(min(known.cpu_s, cost.cpu_s), min(known.rss_kb, cost.rss_kb))
        return best


def net(costs: dict[str, Cost], name: str) -> float:
    return costs[name].cpu_s - costs["start"].cpu_s


def protocols(bench: Bench, *options: str) -> dict[str, float]:
    paths = {kind: bench.capture(kind, bench.packets) for kind in ("netblt", "netblt-control", "tcp", "sctp", "plain")}
    if bench.has_old:
        paths |= {OLD + kind: paths[kind] for kind in OF_OLD}
    costs = bench.compare({**paths, "start": bench.capture("plain", 1)}, *options)
    rates = {kind: bench.packets / net(costs, kind) for kind in paths}
    over = {kind: (costs[kind].rss_kb - costs["plain"].rss_kb) * 1024 / bench.packets for kind in paths}
    for kind in paths:
        print(f"  {kind:18} {net(costs, kind):7.2f} s  {rates[kind]:10.0f} packets/s  {over[kind]:6.0f} bytes/packet")
    return {
        "netblt_to_sctp": rates["netblt"] / rates["sctp"],
        "netblt_to_tcp": rates["netblt"] / rates["tcp"],
        "netblt_control_to_sctp": rates["netblt-control"] / rates["sctp"],
        "netblt_control_to_tcp": rates["netblt-control"] / rates["tcp"],
        "netblt_bytes_per_packet": over["netblt"],
        "netblt_control_bytes_per_packet": over["netblt-control"],
        "netblt_packets_per_s": rates["netblt"],
        **({f"{kind}_to_old": rates[kind] / rates[OLD + kind] for kind in OF_OLD} if bench.has_old else {}),
    }


def growth(bench: Bench) -> dict[str, float]:
    """Ten times the packets; and the same packets spread over many connections, which costs every protocol something:
    SCTP's and no dissector's at all show how much."""
    kinds = ("netblt", "sctp", "plain")
    paths = {
        "start": bench.capture("plain", 1),
        "ten": bench.capture("netblt", bench.packets * 10),
        **{kind: bench.capture(kind, bench.packets) for kind in kinds},
        **{f"{kind}-many": bench.capture(kind, bench.packets, MANY_CONNECTIONS) for kind in kinds},
        **{f"{kind}-alternating": bench.capture(kind, bench.packets, MANY_CONNECTIONS, turn=1) for kind in kinds},
    }
    if bench.has_old:
        paths |= {OLD + name: paths[name] for name in ("netblt", "netblt-many", "netblt-alternating")}
    costs = bench.compare(paths)

    def share(kind: str, shape: str) -> float:
        return net(costs, f"{kind}-{shape}") / net(costs, kind)

    return {
        "ten_times_packets_cost": net(costs, "ten") / net(costs, "netblt"),
        "many_connections_cost": share("netblt", "many"),
        "sctp_many_connections_cost": share("sctp", "many"),
        "plain_many_connections_cost": share("plain", "many"),
        # Each packet of another connection than the one before: what waits for memory waits for all of it.
        "alternating_connections_cost": share("netblt", "alternating"),
        "sctp_alternating_connections_cost": share("sctp", "alternating"),
        "plain_alternating_connections_cost": share("plain", "alternating"),
        **(
            {
                f"{shape}_connections_to_old": net(costs, f"{OLD}netblt-{shape}") / net(costs, f"netblt-{shape}")
                for shape in ("many", "alternating")
            }
            if bench.has_old
            else {}
        ),
    }


def judge(result: dict[str, float]) -> list[str]:
    wrong = []
    if result["netblt_to_sctp"] < AT_LEAST_SCTP:
        wrong.append(f"{result['netblt_to_sctp']:.2f} times as fast as SCTP, below {AT_LEAST_SCTP}")
    if result["netblt_to_tcp"] < AT_LEAST_TCP:
        wrong.append(f"{result['netblt_to_tcp']:.2f} times as fast as TCP, below {AT_LEAST_TCP}")
    for kind in OF_OLD:
        if (ratio := result.get(f"{kind}_to_old", AT_LEAST_OLD)) < AT_LEAST_OLD:
            wrong.append(f"{kind}: {ratio:.2f} times as fast as the old plugin, below {AT_LEAST_OLD}")
    for shape, most in (("netblt", BYTES_PER_PACKET), ("netblt_control", CONTROL_BYTES_PER_PACKET)):
        used = result[f"{shape}_bytes_per_packet"]
        if used > most:
            wrong.append(f"{shape}: {used:.0f} bytes per packet, above {most}")
    if abs(result.get("ten_times_packets_cost", 10) / 10 - 1) > LINEAR:
        wrong.append(f"ten times the packets cost {result['ten_times_packets_cost']:.2f} times the time")
    if result.get("many_connections_cost", 1) > 1 + LINEAR:
        wrong.append(f"{MANY_CONNECTIONS} connections cost {result['many_connections_cost']:.2f} times the time of one")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--growth", action="store_true", help="also ten times the packets (11 GB of disk) and 10,000 connections"
    )
    parser.add_argument("--two-passes", action="store_true", help="also with -2")
    parser.add_argument("--old", type=Path, help="folder of plugins to compare with")
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    if not list(PLUGINS.glob("*/epan/netblt.so")):
        raise SystemExit(f"bench: {PLUGINS} holds no plugin: run tools/build, or set NETBLT_PLUGIN_DIR")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="netblt-bench-") as home:
        os.umask(0o022)
        if arguments.old:
            shutil.copytree(arguments.old, Path(home) / "old-plugins")
        bench = Bench(Reader(Path(home)), arguments.rounds, arguments.packets, has_old=arguments.old is not None)
        print(f"{arguments.packets} packets, best of {arguments.rounds}, CPU time net of start-up:")
        result = protocols(bench)
        if arguments.two_passes:
            print("with -2:")
            result |= {f"two_passes_{name}": value for name, value in protocols(bench, "-2").items()}
        if arguments.growth:
            result |= growth(bench)
    for name, value in result.items():
        print(f"  {name} {value:.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    wrong = judge(result)
    for line in wrong:
        print(f"bench: {line}", file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
