# SPDX-License-Identifier: GPL-2.0-or-later
"""Data of tree transfers as a hostile peer makes them (docs/tree-transfer.md), and a process that sends them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from blake3 import blake3
from selftest.netblt_command_lab import NETBLT, Lab, Process

TREE_PEER = NETBLT.parent / "tree_peer"

CONTENT, HELD = 1, 2
FILE, DIRECTORY, LINK = 1, 2, 3
HEADER_BYTES = 56
PIECE_BYTES = 65536
NOTHING_HELD = bytes(8)


def hash_of(data: bytes) -> bytes:
    return blake3(data).digest()


@dataclass(frozen=True)
class Header:
    data: int = CONTENT
    sum: int = 1
    flags: int = 1
    list_bytes: int = 0
    offset: int = 0
    manifest_id: bytes = bytes(16)
    held_id: bytes = NOTHING_HELD
    magic: bytes = b"NBTT"
    version: int = 1

    def encode(self) -> bytes:
        front = self.magic + struct.pack(
            "!BBBBQQ16s8s", self.version, self.data, self.sum, self.flags, self.list_bytes, self.offset,
            self.manifest_id, self.held_id,
        )  # fmt: skip
        return front + hash_of(front)[:8]


def decode_header(data: bytes) -> Header:
    assert hash_of(data[:48])[:8] == data[48:HEADER_BYTES], "the header's own hash"
    version, kind, file_sum, flags, list_bytes, offset, manifest_id, held_id = struct.unpack("!BBBBQQ16s8s", data[4:48])
    return Header(kind, file_sum, flags, list_bytes, offset, manifest_id, held_id, data[:4], version)


@dataclass(frozen=True)
class Entry:
    path: bytes
    kind: int = FILE
    data: bytes = b""
    target: bytes = b""
    mode: int = 0o644
    seconds: int = 1_000_000_000
    nanoseconds: int = 5
    size: int | None = None  # None: that of the data
    holes: tuple[tuple[int, int], ...] = ()

    def encode(self) -> bytes:
        encoded = (
            struct.pack("!BHqIH", self.kind, self.mode, self.seconds, self.nanoseconds, len(self.path)) + self.path
        )
        if self.kind == LINK:
            encoded += struct.pack("!H", len(self.target)) + self.target
        if self.kind == FILE:
            encoded += struct.pack("!QI", len(self.data) if self.size is None else self.size, len(self.holes))
            for first, count in self.holes:
                encoded += struct.pack("!QQ", first, count)
        return encoded


def directory(path: bytes) -> Entry:
    return Entry(path, DIRECTORY, mode=0o755)


def link(path: bytes, target: bytes) -> Entry:
    return Entry(path, LINK, target=target, mode=0o777)


def encode_manifest(entries: Sequence[Entry], count: int | None = None) -> bytes:
    return struct.pack("!I", len(entries) if count is None else count) + b"".join(e.encode() for e in entries)


def encode_content(entries: Iterable[Entry]) -> bytes:
    """Only of files of one piece at most: the hash of a single piece is the file's."""
    parts = []
    for entry in entries:
        if entry.kind == FILE and entry.data:
            assert len(entry.data) <= PIECE_BYTES
            parts += [entry.data, hash_of(entry.data), hash_of(entry.data)]
    return b"".join(parts)


def header_of(manifest: bytes) -> Header:
    return Header(list_bytes=len(manifest), manifest_id=hash_of(manifest)[:16])


def first_step(entries: Sequence[Entry]) -> bytes:
    """As it should be."""
    manifest = encode_manifest(entries)
    return header_of(manifest).encode() + manifest + encode_content(entries)


def held_step(manifest: bytes, held: bytes, **changes: object) -> bytes:
    header = Header(HELD, flags=0, list_bytes=len(held), manifest_id=hash_of(manifest)[:16],
                    held_id=hash_of(held)[:8])  # fmt: skip
    return replace(header, **changes).encode() + held  # type: ignore[arg-type]


def encode_held(complete: Iterable[int], count: int | None = None) -> bytes:
    numbers = list(complete)
    listed = struct.pack("!I", len(numbers) if count is None else count)
    return listed + b"".join(struct.pack("!IB", number, 1) for number in numbers)


# ---- processes -------------------------------------------------------------------------------------------------------


def push(lab: Lab, name: str, data: bytes) -> Process:
    """Sends any bytes to the server as the data of a tree transfer."""
    source = lab.directory / f"forged-{len(lab.processes)}"
    source.write_bytes(data)
    return _start(lab, "send", name, source)


def pull(lab: Lab, name: str) -> Process:
    """Its stdout is what the server sends."""
    return _start(lab, "recv", name, None)


def _start(lab: Lab, what: str, name: str, source: Path | None) -> Process:
    arguments = [what, lab.there.address, str(lab.udp_port), name]
    return lab.start_raw(lab.here, arguments, stdin=source, program=TREE_PEER)


def end_of(process: Process) -> str:
    """The result and the reason, when the process has ended."""
    process.wait()
    lines = process.errors.splitlines()
    assert lines, "no result"
    return lines[-1]
