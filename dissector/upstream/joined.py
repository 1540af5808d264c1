# SPDX-License-Identifier: GPL-2.0-or-later
"""Our sources as the one file that Wireshark's checkers expect a dissector to be.

They read one file at a time, and look only at fields that are defined there, "static" and one to a line. A dissector of
several files would pass unread. So all files are joined, and the shared definitions made static.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

NAME = "packet-netblt.c"
DEFINITIONS = re.compile(r"^(?:static )?(int|gint|expert_field) ((?:hf|ett|ei)_[^;{}()\[\]]*);$", re.MULTILINE)
MASK = re.compile(r"^#define (NB_\w+) (0x[0-9A-Fa-f]+)\b", re.MULTILINE)
OURS = re.compile(r'^#include "(?!config\.h).*"\n', re.MULTILINE)


def split_definitions(text: str) -> str:
    """One static definition to a line."""

    def lines(match: re.Match[str]) -> str:
        return "\n".join(f"static {match[1]} {' '.join(one.split())};" for one in match[2].split(","))

    return DEFINITIONS.sub(lines, text)


def join(sources: Iterable[str], headers: Iterable[str] = ()) -> str:
    """With plain names for arguments, as the checkers overlook view->tree, and with numbers for masks."""
    text = "\n".join(OURS.sub("", split_definitions(source)) for source in sources)
    masks = {name: value for header in headers for name, value in MASK.findall(header)}
    text = re.sub(r"\bNB_\w+", lambda match: masks.get(match[0], match[0]), text)
    return re.sub(r"(?<=\w)->", "_", text)


def make_tree(folder: Path, tree: Path, sources: Iterable[str], headers: Iterable[str]) -> Path:
    """A folder that looks to the checkers like a source tree, with this one dissector; the dissector in it."""
    dissector = folder / "epan" / "dissectors" / NAME
    dissector.parent.mkdir(parents=True, exist_ok=True)
    dissector.write_text(join(sources, headers), encoding="utf-8")
    for link, target in ((folder / "tools", tree / "tools"), (folder / "epan" / "tfs.c", tree / "epan" / "tfs.c")):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    return dissector
