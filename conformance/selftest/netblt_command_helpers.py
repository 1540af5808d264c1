# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the command `netblt` share: exit codes, JSON keys, files, one whole transfer."""

from __future__ import annotations

import contextlib
import hashlib
import random
import socket
from pathlib import Path

import blake3
import pytest
from selftest.netblt_command_lab import Lab, Process, is_root
from selftest.netblt_command_packets import open_packet

DONE, FAILED, LOCAL, UNREACHABLE, UNSUPPORTED, INTERRUPTED = 0, 1, 2, 3, 127, 130

KEYS = {
    "result", "reason", "role", "active", "bytes", "sha256", "seconds", "goodput_bps", "steady_bps", "packets_sent",
    "packets_retransmitted", "packets_duplicate", "data_timeouts", "wire_bytes", "negotiated", "blake3", "files",
    "bytes_held", "resumed", "transfers", "sums",
}  # fmt: skip
NEGOTIATED_KEYS = {
    "buffer_size", "packet_size", "burst_size", "burst_interval_ms", "death_timer_s", "max_buffers", "data_checksum",
    "peer_string",
}  # fmt: skip

# Slow enough to be caught in the act: 4 packets of 1000 bytes in 20 ms.
SLOW = [
    "--packet-size", "1000", "--buffer-size", "8000", "--max-buffers", "16",
    "--burst-size", "4", "--burst-interval", "20",
]  # fmt: skip


needs_root = pytest.mark.skipif(not is_root(), reason="needs root: raw IP sockets, network namespaces")


def make_file(path: Path, size: int, seed: int = 1) -> Path:
    path.write_bytes(random.Random(seed).randbytes(size))
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def blake3_sum(path: Path) -> str:
    return str(blake3.blake3(path.read_bytes()).hexdigest())


def leftovers(directory: Path) -> list[str]:
    """Temporary files that a receiver gave a name; what an interrupted transfer can go on with is meant to stay."""
    names = [path.name for path in directory.iterdir()]
    return [name for name in names if ".netblt-" in name and not name.startswith(".netblt-partial-")]


def one_line(process: Process) -> str:
    lines = process.error_lines
    assert len(lines) == 1, f"one clear line was wanted: {lines}"
    assert lines[0].startswith("netblt: ")
    return lines[0]


def move(
    lab: Lab, source: Path, target: Path, *, active: str, options: list[str] | None = None
) -> tuple[Process, Process]:
    """One transfer from `here` to `there`; `active` ("sender", "receiver") opens it. Answers (sender, receiver)."""
    more = [*(options or []), "--json"]
    if active == "sender":
        receiver = lab.wait_for_peer(lab.there, "recv", target, "--json")
        sender = lab.start(lab.here, "send", source, lab.there.address, *more)
    else:
        sender = lab.wait_for_peer(lab.here, "send", source, "--json")
        receiver = lab.start(lab.there, "recv", target, lab.here.address, *more)
    for process in (sender, receiver):
        assert process.wait() == DONE, process.errors
    return sender, receiver


def open_files(process: Process) -> list[tuple[str, int]]:
    """What a process has open at this moment, and how large it is. It may close some while we look."""
    found = []
    for descriptor in Path(f"/proc/{process.popen.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append((str(descriptor.readlink()), descriptor.stat().st_size))
    return found


def temporary_files(process: Process) -> list[int]:
    """Sizes of the files that a receiver writes to before they have their name: nameless where that is possible."""
    return [
        size
        for link, size in open_files(process)
        if link.startswith("/") and (link.endswith(" (deleted)") or ".netblt-" in link)
    ]


def has_received(process: Process) -> bool:
    return any(size > 0 for size in temporary_files(process))


def forge_opens(lab: Lab, names: list[bytes], *, write: bool) -> None:
    """OPENs whose sender never sends anything else, each as if from a port of its own."""
    with lab.here.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for i, name in enumerate(names):
            opening = open_packet(20000 + i, 1, write=write, client_string=name)
            stranger.sendto(opening, (lab.there.address, lab.udp_port))
