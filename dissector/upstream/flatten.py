# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns the plugin's folders of C sources into flat files of Wireshark's epan/dissectors.

Wireshark keeps C sources of epan/dissectors in that folder itself; its sub-folders hold input of code generators. Its
checkers look for names that begin with "packet-". So src/decode/parse.c becomes packet-netblt-decode-parse.c: the
folder stays visible in the name, and two folders may hold files of one name.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ENTRY = "packet-netblt"  # the file that registers the protocol keeps its name
INCLUDE = re.compile(r'^(\s*#\s*include\s+)"([^"]+)"', re.MULTILINE)
# A line that states which program made the file is dropped: Wireshark's tree does not have that program.
HEADING = re.compile(
    r"\A(?:/\* Generated [^\n]*\*/\n)?/\* SPDX-License-Identifier: (?P<license>\S+) \*/\n(?:/\*(?P<about>.*?)\*/\n)?",
    re.DOTALL,
)


class LayoutError(Exception):
    """The sources cannot be laid out; the text names the file and the reason."""


@dataclass(frozen=True)
class Source:
    """One file of the plugin and what becomes of it."""

    path: PurePosixPath  # below src/
    name: str  # in epan/dissectors
    text: str  # as it is in the plugin


def flat_name(path: PurePosixPath) -> str:
    """The file's name in epan/dissectors."""
    if path.stem == ENTRY:
        return path.name
    return "-".join((ENTRY, *path.parent.parts, path.name))


def read_sources(folder: Path, without: tuple[str, ...]) -> list[Source]:
    """Every .c and .h file below the folder, but for those that only a plugin needs."""
    found = []
    for file in sorted(folder.rglob("*.[ch]")):
        path = PurePosixPath(file.relative_to(folder).as_posix())
        if str(path) not in without:
            found.append(Source(path, flat_name(path), file.read_text(encoding="utf-8")))
    names = [source.name for source in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise LayoutError(f"two files would become {', '.join(twice)}")
    return found


def included(source: Source, wanted: str, names: Mapping[str, str]) -> str:
    """The path below src/ of the file that an include of ours means: beside the file itself, or from src/ on."""
    beside = posixpath.normpath(posixpath.join(str(source.path.parent), wanted))
    for candidate in (beside, posixpath.normpath(wanted)):
        if candidate in names:
            return candidate
    raise LayoutError(f'{source.path} includes "{wanted}", which is not in src/')


def rewrite_includes(source: Source, names: Mapping[str, str]) -> str:
    """The text with each include of one of our files under its new name. `names`: new names by path below src/."""
    return INCLUDE.sub(lambda match: f'{match[1]}"{names[included(source, match[2], names)]}"', source.text)


def rewrite_heading(name: str, text: str) -> str:
    """The text with the comment that begins every file of Wireshark, and config.h before all other headers."""
    match = HEADING.match(text)
    if match is None:
        raise LayoutError(f"{name} does not begin with its licence")
    about = [line.strip().removeprefix("* ").rstrip() for line in (match["about"] or "").splitlines()]
    lines = [name, *(line for line in about if line not in ("", "*"))]
    lines += ["", "Wireshark - Network traffic analyzer", "By Gerald Combs <gerald@wireshark.org>"]
    lines += ["Copyright 1998 Gerald Combs", "", f"SPDX-License-Identifier: {match['license']}"]
    heading = "/* " + "\n".join(f" * {line}".rstrip() for line in lines)[3:] + "\n */\n"
    config = '\n#include "config.h"\n\n' if name.endswith(".c") else ""
    return heading + config + text[match.end() :].lstrip("\n" if config else "")
