# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutated packets under the sanitizers: no crash, no exception that escapes, the same in both passes."""

from __future__ import annotations

import json
import random
import struct

import pytest

from dissector.fuzz import mutate
from dissector.tests import forge, sanitized
from dissector.tests.reader import Reader

SHARDS, PACKETS = 2, 12_000  # dissector/nightly/fuzz.py goes on for longer
TAPS = ("summary", "buffers,json", "redundancy", "srt", "tree", "table,summary", "table,buffers", "table,messages")


@pytest.fixture(scope="module")
def strict(reader: Reader) -> Reader:
    """The same home with the sanitized plugin."""
    home = reader.home / "sanitized"
    home.mkdir()
    home.chmod(0o777)
    return Reader(home, sanitized.build())


@pytest.mark.parametrize("seed", range(1, SHARDS + 1))
def test_mutated_packets_never_escape(strict: Reader, seed: int) -> None:
    capture = strict.home / f"fuzz-{seed}.pcapng"
    mutate.write(seed, PACKETS, capture)
    # Every field, every expert item and every line of our tree is made, in both passes.
    done = strict.run("tshark", "-n", "-2", "-r", str(capture), "-O", "netblt", **sanitized.environment())
    assert done.returncode == 0, done.stderr[-3000:]
    assert sanitized.complaints(done.stderr) == []
    assert done.stdout.count("\nFrame ") + 1 >= PACKETS
    # Exceptions that escape the plugin, for missing bytes of the packet and of the capture.
    assert "[Malformed Packet: NETBLT" not in done.stdout
    assert "[Packet size limited during capture: NETBLT" not in done.stdout
    assert "issector bug" not in done.stdout
    # Most of them get past the header: else the mutation is too coarse to find anything.
    assert done.stdout.count("NETBLT Bulk Data Transfer Protocol, ") > 0.9 * PACKETS
    assert done.stdout.count("\n    Checksum Status: Good") + done.stdout.count("[correct]") > 0.5 * PACKETS


@pytest.mark.parametrize("seed", [101, 102])
def test_statistics_of_mutated_packets_come_to_an_end(strict: Reader, seed: int) -> None:
    capture = strict.home / f"taps-{seed}.pcapng"
    mutate.write(seed, PACKETS // 4, capture)
    taps = [argument for name in TAPS for argument in ("-z", f"netblt,{name}")]
    taps += ["-z", "conv,netblt", "-z", "endpoints,netblt"]
    done = strict.run("tshark", "-n", "-q", "-r", str(capture), *taps, **sanitized.environment())
    assert done.returncode == 0, done.stderr[-3000:]
    assert sanitized.complaints(done.stderr) == []
    for title in (
        "NETBLT connections, in the columns",
        '"report": "buffers"',
        "NETBLT SRT Statistics",
        "NETBLT Packet Counter",
    ):
        assert title in done.stdout


def test_mutated_packets_can_be_read_in_any_order(strict: Reader) -> None:
    count = 1500
    capture = strict.home / "order.pcapng"
    mutate.write(201, count, capture)
    frames = list(range(1, count + 1))
    random.Random(1).shuffle(frames)
    asked = [{"jsonrpc": "2.0", "id": 1, "method": "load", "params": {"file": str(capture)}}]
    asked += [
        {"jsonrpc": "2.0", "id": 2, "method": "frame", "params": {"frame": frame, "proto": True, "bytes": True}}
        for frame in frames
    ]
    lines = "".join(json.dumps(line) + "\n" for line in asked)
    done = strict.run("sharkd", "-", stdin=lines, **sanitized.environment())
    assert sanitized.complaints(done.stderr) == []
    assert len(done.stdout.splitlines()) == count + 1, done.stderr[-3000:]


def test_mutation_reaches_the_far_corners() -> None:
    frames = mutate.mutated_frames(5, 6000)
    payloads = [frame.data[20:] for frame in frames if len(frame.data) > 32 and frame.data[9] == 30]
    assert {raw[3] for raw in payloads} >= set(range(13))
    assert {raw[2] for raw in payloads} >= {0, 2, 4, 5}
    assert {frame.data[9] for frame in frames if frame.data[0] >> 4 == 4} >= {1, 4, 17, 30}
    assert any(frame.data[0] >> 4 == 6 for frame in frames)
    assert any(raw[3] == forge.CONTROL and len(raw) > 300 for raw in payloads)
    repaired = sum(raw == mutate.repaired(raw) for raw in payloads)
    assert 0.5 < repaired / len(payloads) < 0.98


@pytest.mark.parametrize("dialect", ["rfc998", "etftp", "version4"])
def test_bad_checksums_of_every_type_are_counted_within_bounds(strict: Reader, dialect: str) -> None:
    """Each type code follows an intact OPEN and RESPONSE, six times with a wrong header checksum."""
    types = range(1, 16)
    version = {"rfc998": 2, "etftp": 3, "version4": 5}[dialect]
    frames: list[forge.Frame] = []
    for code in types:
        ports = 2000 + code, 3000 + code
        for sender, kind in ((0, 1), (1, 2), *[(side, code) for _ in range(6) for side in (0, 1)]):
            here, there = ports[sender], ports[1 - sender]
            body = bytes(2) + struct.pack(">BBHHHH", version, kind, 48, here, there, 0) + bytes(36)
            checksum = forge.checksum(body) ^ (0 if kind < 3 else 0x0101)
            payload = struct.pack(">H", checksum) + body[2:]
            addresses = ("10.0.0.1", "10.0.0.2") if sender == 0 else ("10.0.0.2", "10.0.0.1")
            frames.append(forge.Frame(forge.NS, forge.ipv4(payload, *addresses, len(frames))))
    capture = forge.write_pcapng(strict.home / f"bad-{dialect}.pcapng", frames)
    done = strict.run("tshark", "-n", "-2", "-r", str(capture), "-O", "netblt", **sanitized.environment())
    assert done.returncode == 0, done.stderr[-3000:]
    assert sanitized.complaints(done.stderr) == []
    assert done.stdout.count("Checksum Status: Bad") + done.stdout.count("[incorrect") >= 6 * len(types)
