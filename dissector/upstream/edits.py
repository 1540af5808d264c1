# SPDX-License-Identifier: GPL-2.0-or-later
"""What changes in Wireshark's own files when a dissector comes in: build list, authors, release note, tests."""

from __future__ import annotations

import re
from collections.abc import Sequence

REGISTERS = re.compile(r"^void\s+proto_register_\w+\s*\(\s*void\s*\)\s*\{", re.MULTILINE)  # as tools/make-regs.py
LISTED = "\t${CMAKE_CURRENT_SOURCE_DIR}/"


class EditError(Exception):
    """A file of Wireshark does not look as expected."""


def insert_sorted(cmake: str, variable: str, names: Sequence[str]) -> str:
    """epan/dissectors/CMakeLists.txt with the files in this list, each before the first that sorts after it."""
    begin = cmake.find(f"set({variable}\n")
    end = cmake.find("\n)", begin)
    if begin < 0 or end < 0:
        raise EditError(f"epan/dissectors/CMakeLists.txt has no list {variable}")
    head, *lines = cmake[begin:end].split("\n")
    for name in names:
        after = (i for i, line in enumerate(lines) if line.startswith(LISTED) and line > LISTED + name)
        place = next(after, len(lines))
        lines.insert(place, LISTED + name)
    return cmake[:begin] + "\n".join([head, *lines]) + cmake[end:]


def add_sources(cmake: str, texts: dict[str, str]) -> str:
    """With all .c files: the list of those that are searched for registrations, and the list of the others."""
    sources = [name for name in texts if name.endswith(".c")]
    registering = [name for name in sources if REGISTERS.search(texts[name])]
    others = [name for name in sources if name not in registering]
    if registering:
        cmake = insert_sorted(cmake, "DISSECTOR_SRC", registering)
    return insert_sorted(cmake, "DISSECTOR_SUPPORT_SRC", others)


def add_author(authors: str, name: str, address: str, what: str) -> str:
    """AUTHORS.src with an entry after the last one that states what it is for; with one line more when it is there."""
    entry = f"{name}\t<{address.replace('@', '[AT]')}> {{\n"
    if entry in authors:
        begin = authors.index("}\n", authors.index(entry))
        return f"{authors[:begin]}\t{what}\n{authors[begin:]}"
    end = authors.rindex("\n}\n") + len("\n}\n")
    return f"{authors[:end]}\n{entry}\t{what}\n}}\n{authors[end:]}"


def add_release_note(notes: str, title: str) -> str:
    """docbook/release-notes.adoc with the protocol under "New Protocol Support"."""
    heading = "=== New Protocol Support\n"
    begin = notes.find(heading)
    end = notes.find("\n=== ", begin + len(heading))
    if begin < 0 or end < 0:
        raise EditError("docbook/release-notes.adoc has no section on new protocols")
    section = notes[begin:end]
    none = "There are no new protocols in this release.\n"
    if none in section:
        section = section.replace(none, f"[commaize]\n--\n{title}\n--\n")
    elif "\n--\n" in section:
        first, listed, rest = section.split("--\n", 2)
        names = sorted([*listed.splitlines(), title], key=str.casefold)
        section = first + "--\n" + "".join(f"{name}\n" for name in names) + "--\n" + rest
    else:
        raise EditError("the section on new protocols of docbook/release-notes.adoc has no list")
    return notes[:begin] + section + notes[end:]


def add_tests(suite: str, tests: str) -> str:
    """test/suite_dissection.py with these classes at its end; without the lines that only our file needs."""
    body = re.sub(r"\A(?:#.*\n)*\n*", "", tests)
    return f"{suite.rstrip()}\n\n\n{body.rstrip()}\n"


def add_words(known: str, words: Sequence[str]) -> str:
    """tools/wireshark_words.txt with these words, each before the first that sorts after it."""
    lines = known.splitlines()
    for word in words:
        if word not in lines:
            lines.insert(next((i for i, line in enumerate(lines) if line > word), len(lines)), word)
    return "".join(f"{line}\n" for line in lines)
