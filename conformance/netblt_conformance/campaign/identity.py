# SPDX-License-Identifier: GPL-2.0-or-later
"""What must be the same on every machine of a campaign: the project's sources, and the implementation under test."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from netblt_conformance import __version__
from netblt_conformance.adapter import adapter_file
from netblt_conformance.campaign.kind import Subject
from netblt_conformance.common import paths

_DIGITS = 16  # of a SHA-256 that distinguishes two versions
# Everything that decides a result. What compilers make of them may differ between machines.
_SOURCES = (
    "conformance/catalogue",
    "conformance/suite",
    "conformance/mutants",
    "conformance/variants",
    "conformance/scenarios",
    "conformance/flakeway",
    "conformance/guided",
    "conformance/sim",
    "dissector/src",
    "reference_impl/core",
    "reference_impl/include",
)
_PACKAGES = ("netblt_conformance", "netblt_plan")  # beside each other, in the repository or where they are installed
_SUFFIXES = (".py", ".c", ".h", ".toml", ".csv", ".ini")


def digest(files: Iterable[tuple[str, bytes]]) -> str:
    """Of names and contents."""
    found = hashlib.sha256()
    for name, content in files:
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()[:_DIGITS]


@functools.cache
def project() -> dict[str, str]:
    """Of this machine, by name: what workers compare before they run anything."""
    root, package = paths.root(), Path(__file__).resolve().parents[1]
    folders = [(root, root / name) for name in _SOURCES]
    folders += [(package.parent, package.parent / name) for name in _PACKAGES]
    found = digest(
        (path.relative_to(base).as_posix(), path.read_bytes())
        for base, folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in _SUFFIXES and paths.INSTALLED not in path.relative_to(base).parts
    )
    return {"version": __version__, "sources": found}


def of_subject(subject: Subject) -> str:
    """Of the implementation under test: the library, or the adapter and the files that its command names. The
    reference is part of the sources; its library is sent like any other."""
    if subject.adapter is None:
        library = subject.library or paths.iut_library()
        return digest([("library", library.read_bytes())])
    described = adapter_file.read(subject.adapter)
    words = described.pipe_command() if described.pipe else []
    files = [subject.adapter, *(Path(word) for word in words if word != sys.executable and Path(word).is_file())]
    return digest((str(number), path.read_bytes()) for number, path in enumerate(files))


def differences(wanted: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """As text: what differs."""
    return [f"{name} {found.get(name, 'none')} instead of {value}" for name, value in wanted.items()
            if found.get(name) != value]  # fmt: skip
