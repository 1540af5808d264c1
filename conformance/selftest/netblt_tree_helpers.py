# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of tree transfers share: trees, and whether two are the same."""

from __future__ import annotations

import os
import random
import stat
from pathlib import Path

from selftest.netblt_command_lab import NETBLT, Lab, Process

EXAMPLES = NETBLT.parents[1] / "examples"  # programs of the library that know nothing of tree transfers
PIECE = 65536

# About 1 Mb/s: slow enough to be caught in the act.
STEADY = ["--packet-size", "1000", "--buffer-size", "20000", "--burst-size", "8", "--burst-interval", "10"]


def make_tree(directory: Path, seed: int = 1) -> Path:
    """Files of all kinds of sizes, directories, links, modes and times."""
    dice = random.Random(seed)
    for name, size in (
        ("empty", 0), ("one", 1), ("piece", PIECE), ("more", PIECE + 1), ("sub/large", 5 * PIECE - 7),
        ("sub/deep/x", 9), ("sub-file", 77), ("\N{LATIN SMALL LETTER E WITH ACUTE} t\u00e9", 1000),
    ):  # fmt: skip
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dice.randbytes(size))
        os.utime(path, ns=(0, dice.randrange(10**18)))
    (directory / "none").mkdir()
    (directory / "link").symlink_to("sub/large")
    (directory / "sub" / "dangling").symlink_to("../nowhere")
    (directory / "one").chmod(0o604)
    (directory / "sub" / "deep").chmod(0o750)
    for path in (directory / "sub" / "deep", directory / "sub", directory / "none", directory):
        os.utime(path, ns=(0, dice.randrange(10**18)))
    return directory


def bytes_of(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file() and not path.is_symlink())


def tree_bytes(name: str, size: int) -> int:
    """Bytes of a tree transfer of one file: header, manifest with one entry, content with hashes, the file's sum."""
    entry = 1 + 2 + 8 + 4 + 2 + len(name) + 8 + 4
    return 56 + 4 + entry + size + 32 * -(-size // PIECE) + (32 if size > 0 else 0)


def look(path: Path) -> tuple[object, ...]:
    """All that a transfer preserves of one entry."""
    status = path.lstat()
    if path.is_symlink():
        return ("link", path.readlink())
    content = path.read_bytes() if path.is_file() else b""
    return (stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), status.st_mtime_ns, content)


def listing(directory: Path) -> dict[str, tuple[object, ...]]:
    found = {str(path.relative_to(directory)): look(path) for path in sorted(directory.rglob("*"))}
    return {".": look(directory), **found}


def assert_same_tree(one: Path, other: Path) -> None:
    left, right = listing(one), listing(other)
    assert left.keys() == right.keys()
    for name in left:
        assert left[name] == right[name], name


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def partial_directories(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if path.name.startswith(".netblt-partial-")]


def partial_bytes(directory: Path) -> int:
    """Of incomplete files, as they are stored at this moment."""
    total = 0
    for partial in partial_directories(directory):
        for path in partial.iterdir():
            try:
                total += path.stat().st_blocks * 512
            except FileNotFoundError:  # it got its name meanwhile
                continue
    return total


def send(lab: Lab, *arguments: str | Path, options: list[str] | None = None) -> Process:
    return lab.start(lab.here, "send", *arguments, lab.there.address, "--json", *(options or []))


def receive(lab: Lab, dest: Path | str, *options: str) -> Process:
    return lab.wait_for_peer(lab.there, "recv", dest, "--json", *options)
