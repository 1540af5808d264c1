# SPDX-License-Identifier: GPL-2.0-or-later
"""The captures in a folder and in the folders below it, distinguished from other files by their first bytes."""

from __future__ import annotations

import gzip
import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from netblt_conformance.packets.formats import GZIP, MAGIC_BYTES, OTHER_COMPRESSED, PCAP, PCAPNG, SNOOP


@dataclass(slots=True)
class Listed:
    """What was named on the command line, folders replaced by what they hold."""

    captures: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)  # name and reason
    folders: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)  # folders without a capture
    found: set[str] = field(default_factory=set)  # those captures that were not named, only their folder


def is_capture(path: Path) -> bool:
    """OSError when it cannot be read."""
    with path.open("rb") as file:
        begin = file.read(MAGIC_BYTES)
    if begin.startswith(GZIP):
        try:
            with gzip.open(path, "rb") as packed:
                begin = packed.read(MAGIC_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return False
    if begin.startswith(OTHER_COMPRESSED):
        return ".pcap" in path.name or ".cap" in path.name
    return begin.startswith((PCAPNG, SNOOP, *PCAP))


def listed(names: list[str]) -> Listed:
    """Folders are searched whole, in the order of names; links to folders are not followed."""
    result = Listed()
    for name in names:
        if not Path(name).is_dir():
            result.captures.append(name)
            continue
        before = len(result.captures)
        result.folders.append(name)
        _search(Path(name), result)
        if len(result.captures) == before:
            result.empty.append(name)
    return result


def _search(folder: Path, result: Listed) -> None:
    def unreadable(error: OSError) -> None:
        result.skipped.append((str(error.filename), error.strerror or "cannot be read"))

    for where, below, files in os.walk(folder, onerror=unreadable):
        below.sort()
        for path in (Path(where, name) for name in sorted(files)):
            try:
                found = path.is_file() and is_capture(path)
                why = "not a capture"
            except OSError as error:
                found, why = False, error.strerror or "cannot be read"
            if found:
                result.captures.append(str(path))
                result.found.add(str(path))
            else:
                result.skipped.append((str(path), why))
