# SPDX-License-Identifier: BSD-2-Clause
"""Random trees of files, what a copy of one must be at the end, and what it may show at any moment."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PIECE_BYTES = 65536  # unit of resume (docs/tree-transfer.md)
OWN_PREFIX = ".netblt-"  # names that netblt may use in a target's directory while it stores
LOOK_S = 0.003
SIZES = (0, 1, 100, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES)
SMALL_BYTES = 4096  # the largest file of a tree of many
SMALL_COST_BYTES = 15_000  # what one of them takes of the tree's bytes: bounds their number
MODES = (0o644, 0o600, 0o755, 0o640, 0o444, 0o400, 0o777, 0o511)
DIRECTORY_MODES = (0o755, 0o700, 0o750, 0o500, 0o555)
ODD_NAMES = (" leading space", "line\nbreak", "-rf", "*", "quote'\"", "é", "日本", "tab\t", "a" * 255,
             os.fsdecode(b"latin-\xe9"), ".hidden", "...", "back\\slash")  # fmt: skip
LINKS, LINKS_OUT = ("nowhere", "n1", "x/" * 150), ("../up", "/etc/hostname")
YEAR_S = 365 * 86400
NS = 10**9


@dataclass(frozen=True)
class Entry:
    """What one name of a tree holds. `sum`: of a file's bytes, or a link's target."""

    kind: str
    mode: int
    mtime_ns: int
    sum: str


def entry_of(path: Path) -> Entry:
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        return Entry("link", 0, info.st_mtime_ns, str(path.readlink()))
    kind = "directory" if stat.S_ISDIR(info.st_mode) else "file"
    content = "" if kind == "directory" else hashlib.blake2b(path.read_bytes()).hexdigest()
    return Entry(kind, stat.S_IMODE(info.st_mode), info.st_mtime_ns, content)


def names_below(root: Path) -> Iterator[Path]:
    """All names of a tree but those of netblt, relative to it; some may vanish meanwhile."""
    for folder, directories, files in os.walk(root):
        directories[:] = [name for name in directories if not name.startswith(OWN_PREFIX)]
        for name in (*directories, *files):
            if not name.startswith(OWN_PREFIX):
                yield Path(folder, name).relative_to(root)


def snapshot(root: Path) -> dict[str, Entry]:
    """The whole tree, its root included."""
    return {".": entry_of(root), **{str(name): entry_of(root / name) for name in names_below(root)}}


def differences(wanted: dict[str, Entry], got: dict[str, Entry]) -> list[str]:
    """Every difference between a tree and its copy, as text."""
    found = [f"{name!r} is missing" for name in wanted.keys() - got.keys()]
    found += [f"{name!r} should not be there" for name in got.keys() - wanted.keys()]
    for name in wanted.keys() & got.keys():
        one, other = wanted[name], got[name]
        for what in ("kind", "sum", "mode", "mtime_ns"):
            if getattr(one, what) != getattr(other, what):
                found.append(f"{name!r}: {what} is {getattr(other, what)!r}, not {getattr(one, what)!r}")
                break
    return sorted(found)


def leftovers(root: Path) -> list[str]:
    """Names of netblt's own in a directory and below."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.name.startswith(OWN_PREFIX))


# ---- making one ----------------------------------------------------------------------------------------------------


def _any_time_ns(chance: random.Random) -> int:
    return chance.randrange(1, 55 * YEAR_S) * NS + chance.randrange(NS)


def write_file(path: Path, size: int, chance: random.Random) -> None:
    """Random bytes, now and then with a hole of whole pieces."""
    with path.open("wb") as file:
        if size > 3 * PIECE_BYTES and chance.random() < 0.3:
            file.write(chance.randbytes(PIECE_BYTES))
            file.seek(chance.randrange(2, 1 + size // PIECE_BYTES) * PIECE_BYTES)
            file.write(chance.randbytes(max(0, size - file.tell())))
            file.truncate(size)
        else:
            file.write(chance.randbytes(size))


def _size(chance: random.Random, largest: int) -> int:
    if largest > SMALL_BYTES and chance.random() < 0.4:
        return chance.choice(SIZES)
    return int(2 ** chance.uniform(0, largest.bit_length() - 1))


def make_tree(root: Path, chance: random.Random, total_bytes: int, *, served: bool = False) -> None:
    """A tree of about so many bytes. `served`: one that `netblt listen` serves and stores, without the names and links
    that it refuses."""
    root.mkdir()
    directories, left = [root], total_bytes
    largest = chance.choice([total_bytes, total_bytes, SMALL_BYTES])
    odd = [name for name in ODD_NAMES if not served or all(" " <= sign != "\x7f" for sign in name)]
    chance.shuffle(odd)
    while left > 0:
        parent = chance.choice(directories)
        name = odd.pop() if odd and chance.random() < 0.2 else f"n{chance.randrange(10**6)}"
        path = parent / name
        if os.path.lexists(path):
            continue
        kind = chance.random()
        if kind < 0.15 and len(path.parts) < len(root.parts) + 6:
            path.mkdir()
            directories.append(path)
        elif kind < 0.22:
            path.symlink_to(chance.choice(LINKS if served else LINKS + LINKS_OUT))
        else:
            size = min(_size(chance, largest), left)
            write_file(path, size, chance)
            left -= max(size, 1000 if largest > SMALL_BYTES else SMALL_COST_BYTES)
    finish(root, chance)


def finish(root: Path, chance: random.Random) -> None:
    """Modes and times, from the leaves up."""
    for path in sorted([root, *root.rglob("*")], key=lambda path: len(path.parts), reverse=True):
        if path.is_symlink():
            os.utime(path, ns=(_any_time_ns(chance),) * 2, follow_symlinks=False)
            continue
        path.chmod(chance.choice(DIRECTORY_MODES if path.is_dir() else MODES))
        os.utime(path, ns=(_any_time_ns(chance),) * 2)


def make_old(source: Path, target: Path, chance: random.Random) -> None:
    """Some files of the tree in an older version, as a copy of last year would have them."""
    target.mkdir(parents=True, exist_ok=True)
    for name in names_below(source):
        path = source / name
        if path.is_symlink() or not path.is_file() or chance.random() > 0.2:
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        write_file(target / name, chance.randrange(1, 50_000), chance)


def edit(source: Path, chance: random.Random) -> int:
    """Writes to the file, or to a file of the tree, and returns its new size."""
    files = [path for path in source.rglob("*") if path.is_file() and not path.is_symlink()] if source.is_dir() else []
    path = chance.choice(files) if files else source
    if path.is_dir():
        return 0
    size = chance.choice([path.stat().st_size, chance.randrange(1, 200_000)])
    write_file(path, size, chance)
    os.utime(path, ns=(_any_time_ns(chance),) * 2)
    return size


def stored_bytes(root: Path) -> int:
    """What a transfer has to carry: data without holes, as far as the file system knows them."""
    return sum(
        min(path.lstat().st_size, path.lstat().st_blocks * 512)
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    )


# ---- watching one --------------------------------------------------------------------------------------------------


@dataclass
class Watcher:
    """Looks at the names of a copy all the time: each is the old version or the new one, at no moment a part."""

    # A source that is edited between two tries has several new versions: see allow().

    root: Path
    old: dict[str, Entry]
    new: dict[str, Entry]
    violations: list[str] = field(default_factory=list)
    looks: int = 0
    _earlier: list[dict[str, Entry]] = field(default_factory=list)
    _seen: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)

    def allow(self, new: dict[str, Entry]) -> None:
        """From now on the new version is this one. What has come of the one before may be there."""
        self._earlier.append(self.new)
        self.new = new

    def look(self) -> None:
        """Reads each file that is not the one it was at the last look."""
        self.looks += 1
        for name in names_below(self.root):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                self._look_at(str(name), self.root / name)
        for known in self.old.keys() & self.new.keys():
            if not os.path.lexists(self.root / known):
                self._report(f"{known!r} had an old version and has none")

    def _look_at(self, name: str, path: Path) -> None:
        info = path.lstat()
        state = (info.st_ino, info.st_size, info.st_mtime_ns)
        if stat.S_ISDIR(info.st_mode) or self._seen.get(name) == state:
            return
        entry = entry_of(path)
        versions = [version.get(name) for version in (self.old, self.new, *self._earlier)]
        allowed = {(version.kind, version.sum) for version in versions if version is not None}
        if (entry.kind, entry.sum) not in allowed:
            self._report(f"{name!r} is neither old nor new: {entry.kind} of {info.st_size} bytes")
        self._seen[name] = state

    def _report(self, words: str) -> None:
        if words not in self.violations:
            self.violations.append(words)

    def _run(self) -> None:
        while not self._over.wait(LOOK_S):
            self.look()

    def __enter__(self) -> Watcher:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.look()
