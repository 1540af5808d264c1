# SPDX-License-Identifier: BSD-2-Clause
"""What is moved: a file, a tree of many files, a small tree of everything that a file system has; and comparing."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 1_000_000
CHUNK_BYTES = 1 << 20
TREE_SEED = 998
FILES_IN_A_DIRECTORY = 40
HOLE_BYTES = 4 << 20
OLD_S, OLD_NS = 1_000_000_000, 123_456_789  # a modification time that no transfer of today has
MARKER = b"NETBLT-BENCH-PLAIN-TEXT-MARKER\n"


@dataclass(frozen=True)
class Workload:
    """A file or a directory that is moved under its own name. `bytes`: what its files hold."""

    name: str
    source: Path
    bytes: int

    @property
    def is_tree(self) -> bool:
        return self.source.is_dir()


def write_random(path: Path, size: int, source: random.Random) -> None:
    """Bytes that no tool can compress."""
    with path.open("wb") as file:
        while size > 0:
            file.write(source.randbytes(min(size, CHUNK_BYTES)))
            size -= CHUNK_BYTES


def make_file(folder: Path, size: int) -> Workload:
    path = folder / f"file-{size // MEGABYTE}MB"
    write_random(path, size, random.Random(size))
    return Workload(f"file of {size // MEGABYTE} MB", path, size)


def make_tree(folder: Path, files: int, total: int) -> Workload:
    """Sizes from one byte up, each order of magnitude as likely as the next, scaled to `total`."""
    source = random.Random(TREE_SEED)
    root = folder / f"tree-{files}"
    weights = [10 ** source.uniform(0, 4) for _ in range(files)]
    sizes = [max(1, round(weight / sum(weights) * total)) for weight in weights]
    for number, size in enumerate(sizes):
        path = root / f"d{number // FILES_IN_A_DIRECTORY}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_random(path, size, source)
    return Workload(f"tree of {files:,} files, {total // MEGABYTE} MB", root, sum(sizes))


def whole(name: str, root: Path) -> Workload:
    return Workload(name, root, sum(path.stat().st_size for path in plain_files(root).values()))


def make_names(folder: Path, name: str) -> Workload:
    """A directory with one file of an unusual name."""
    root = folder / "names"
    root.mkdir()
    (root / name).write_bytes(MARKER)
    (root / "usual").write_bytes(MARKER)
    return whole(f"a file {name!r}", root)


def make_zoo(folder: Path) -> Workload:
    """One of each: what a mover may lose besides the bytes."""
    root = folder / "zoo"
    root.mkdir()
    (root / "plain").write_bytes(MARKER * 1000)
    (root / "script").write_bytes(b"#!/bin/sh\n")
    (root / "script").chmod(0o4751)
    (root / "old").write_bytes(b"old\n")
    os.utime(root / "old", ns=(OLD_S * 10**9 + OLD_NS, OLD_S * 10**9 + OLD_NS))
    (root / "link").symlink_to("plain")
    (root / "empty-directory").mkdir()
    (root / "empty-file").touch()
    with (root / "hole").open("wb") as file:
        file.truncate(HOLE_BYTES)
        file.seek(HOLE_BYTES)
        file.write(b"end\n")
    return whole("one of each", root)


def plain_files(root: Path) -> dict[str, Path]:
    """Every regular file of a tree by its relative name; a file by its own name is under ''."""
    if not root.is_dir():
        return {"": root} if root.is_file() else {}
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                found[str(path.relative_to(root))] = path
    return found


def same_bytes(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as a, other.open("rb") as b:
        while chunk := a.read(CHUNK_BYTES):
            if chunk != b.read(CHUNK_BYTES):
                return False
    return True


def difference(source: Path, target: Path) -> str | None:
    """What is wrong with the bytes of the copy, or None."""
    wanted, got = plain_files(source), plain_files(target)
    if missing := sorted(wanted.keys() - got.keys()):
        return f"{len(missing)} of {len(wanted)} files are missing, such as {missing[0] or source.name!r}"
    if extra := sorted(got.keys() - wanted.keys()):
        return f"{len(extra)} files too many, such as {extra[0]!r}"
    for name, path in wanted.items():
        if not same_bytes(path, got[name]):
            return f"{name or source.name!r} has other bytes"
    return None


def arrived_bytes(folder: Path) -> int:
    """What has arrived so far, under whatever names."""
    return sum(path.stat().st_blocks * 512 for path in plain_files(folder).values())
