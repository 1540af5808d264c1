# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutated packets: no crash, no exception that escapes, the same in both passes."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from dissector.tests import forge
from dissector.tests.forge import DATA, LDATA, Frame, checksum, write_pcapng
from dissector.tests.reader import Reader
from dissector.tests.traffic import POSITIONS, random_settings, run_transfers

PACKETS = 25_000


def repaired(raw: bytes) -> bytes:
    """With a checksum that fits, so that the packet gets past the first gate."""
    if len(raw) < 12:
        return raw
    length = min(int.from_bytes(raw[4:6], "big"), len(raw))
    covered = raw[2 : 24 if raw[3] in (DATA, LDATA) else length]
    return checksum(b"\0\0" + covered).to_bytes(2, "big") + raw[2:]


def mutated(rng: random.Random, raw: bytes) -> bytes:
    out = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(out)) if rng.random() < 0.5 else rng.randrange(min(len(out), 40))
        out[at] = rng.choice((0, 1, 2, 255, 127, 128, rng.randrange(256)))
    if rng.random() < 0.2 and len(out) > 3:
        out[3] = rng.randrange(13)
    if rng.random() < 0.2:
        del out[rng.randrange(1, len(out) + 1) :]
    if rng.random() < 0.1:
        out += rng.randbytes(rng.randrange(40))
    return repaired(bytes(out)) if rng.random() < 0.7 else bytes(out)


def mutated_frames(seed: int, count: int) -> list[Frame]:
    rng = random.Random(seed)
    frames, _ = run_transfers([random_settings(seed + number) for number in range(120)])
    assert len(frames) > 3000
    out = []
    for number in range(count):
        frame = frames[number % len(frames)]
        head, raw = frame.data[:20], frame.data[20:]
        if rng.random() < 0.6:
            raw = mutated(rng, raw)
        whole = head[:2] + (20 + len(raw)).to_bytes(2, "big") + head[4:] + raw
        kept = whole if rng.random() < 0.95 else whole[: rng.randrange(20, len(whole) + 1)]
        out.append(Frame(frame.time_ns + number, kept, frame.interface, len(whole)))
    return out


STRICT = {"WIRESHARK_DEBUG_WMEM_OVERRIDE": "strict", "WIRESHARK_ABORT_ON_DISSECTOR_BUG": "1"}


def asan_library() -> str:
    found = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return os.path.realpath(found)


@pytest.mark.parametrize("options", [(), ("-2",)], ids=["one-pass", "two-passes"])
def test_mutated_packets_never_escape(reader: Reader, capture: Path, options: tuple[str, ...]) -> None:
    write_pcapng(capture, mutated_frames(5, PACKETS), interfaces=POSITIONS)
    sanitized = "NETBLT_PLUGIN_ASAN" in os.environ
    environment = {**STRICT, "ASAN_OPTIONS": "detect_leaks=0"}
    if sanitized:
        environment["LD_PRELOAD"] = asan_library()
        environment["WIRESHARK_PLUGIN_DIR"] = os.environ["NETBLT_PLUGIN_ASAN"]
    names = ("frame.number", "_ws.malformed", "_ws.expert.message", "netblt")
    columns = [argument for name in names for argument in ("-e", name)]
    done = reader.run("tshark", "-n", "-r", str(capture), *options, "-T", "fields", *columns, **environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "ERROR" not in done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == PACKETS
    assert not [line for line in lines if line.split("\t")[1]]
    assert "issector bug" not in done.stdout
    assert sum(bool(line.split("\t")[3]) for line in lines) > 0.95 * PACKETS


def test_the_full_tree_of_mutated_packets_can_be_printed(reader: Reader, capture: Path) -> None:
    write_pcapng(capture, mutated_frames(6, 3000), interfaces=POSITIONS)
    done = reader.run("tshark", "-n", "-r", str(capture), "-V", "-x", **STRICT)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "[Malformed Packet" not in done.stdout
    assert "issector bug" not in done.stdout


def test_mutation_reaches_the_far_corners() -> None:
    kinds = {frame.data[23] for frame in mutated_frames(5, 5000) if len(frame.data) > 24}
    assert kinds >= set(range(12))
    assert forge.CONTROL in kinds
