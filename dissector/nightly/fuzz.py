#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Fuzzes the plugin for a night: mutated captures under tshark with the sanitizers, then libFuzzer on the dissection.

Exit 0: nothing was found. What was found is kept in the folder that --keep names.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from dissector.fuzz import corpus, mutate  # noqa: E402
from dissector.tests import sanitized  # noqa: E402
from dissector.tests.reader import Reader  # noqa: E402

PER_CAPTURE = 50_000
INPUT_BYTES = 8192
ESCAPED = ("[Malformed Packet: NETBLT", "[Packet size limited during capture: NETBLT", "issector bug")


def captures(packets: int, first_seed: int, home: Path, keep: Path) -> int:
    """Reads captures of mutated packets; the number of those that did harm."""
    reader = Reader(home, sanitized.build())
    bad = done_packets = 0
    seed = first_seed
    while done_packets < packets:
        capture = home / f"mutated-{seed}.pcapng"
        mutate.write(seed, PER_CAPTURE, capture)
        # Both passes, every line of the tree, and every statistic.
        taps = ["-z", "netblt,summary", "-z", "netblt,buffers", "-z", "netblt,redundancy", "-z", "conv,netblt"]
        done = reader.run("tshark", "-n", "-2", "-r", str(capture), "-V", *taps, **sanitized.environment())
        complaints = sanitized.complaints(done.stderr)
        if done.returncode or complaints or any(words in done.stdout for words in ESCAPED):
            bad += 1
            keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(capture, keep)
            (keep / f"mutated-{seed}.stderr").write_text(done.stderr)
            print(f"fuzz: seed {seed}: tshark ended with {done.returncode}; {complaints[:1]}", flush=True)
        capture.unlink()
        done_packets += PER_CAPTURE
        seed += 1
        if done_packets % 1_000_000 == 0:
            print(f"fuzz: {done_packets} packets, {bad} captures did harm", flush=True)
    print(f"fuzz: {done_packets} mutated packets from seed {first_seed}, {bad} captures did harm")
    return bad


def build_fuzzer() -> Path:
    folder = ROOT / "build-fuzz"
    configure = ["cmake", "-S", str(ROOT / "dissector"), "-B", str(folder), "-G", "Ninja", "-DNETBLT_FUZZ=ON"]
    for command in (configure, ["cmake", "--build", str(folder), "--target", "netblt_fuzz"]):
        subprocess.run(command, check=True, env={**os.environ, "CC": "clang"}, stdout=subprocess.DEVNULL)
    return folder / "fuzz" / "netblt_fuzz"


def guided(seconds: int, home: Path, keep: Path) -> int:
    """Coverage-guided; 1 when something was found."""
    inputs = home / "corpus"
    corpus.write(inputs)
    keep.mkdir(parents=True, exist_ok=True)
    command = [
        *(str(build_fuzzer()), f"-max_total_time={seconds}", f"-max_len={INPUT_BYTES}", "-timeout=20"),
        *("-rss_limit_mb=6000", "-print_final_stats=1", f"-artifact_prefix={keep}/", str(inputs)),
    ]
    environment = {**os.environ, "HOME": str(home), "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    stats = [line for line in done.stderr.splitlines() if line.startswith("stat::number_of_executed_units")]
    covered = [line for line in done.stderr.splitlines() if " cov: " in line]
    print(f"fuzz: libFuzzer, {seconds} s: {' '.join(stats[-1:])}; {covered[-1].split(' corp:')[0] if covered else ''}")
    if done.returncode:
        (keep / "libfuzzer.stderr").write_text(done.stderr)
        print(f"fuzz: libFuzzer found something: see {keep}")
    return done.returncode != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=5_000_000)
    parser.add_argument("--seconds", type=int, default=1800, help="of libFuzzer; 0: not at all")
    parser.add_argument(
        "--seed", type=int, default=int(time.time()) // 86400 * 1000, help="default: another one each day"
    )
    parser.add_argument("--keep", type=Path, default=ROOT / "build-fuzz" / "found")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="netblt-fuzz-") as name:
        os.umask(0o022)
        home = Path(name)
        bad = captures(arguments.packets, arguments.seed, home, arguments.keep) if arguments.packets else 0
        bad += guided(arguments.seconds, home, arguments.keep) if arguments.seconds else 0
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
