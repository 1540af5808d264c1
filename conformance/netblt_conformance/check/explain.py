# SPDX-License-Identifier: GPL-2.0-or-later
"""check --explain: the reference core beside each end of the connections in a capture."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from netblt_conformance.check.folders import Listed
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.common.words import fit
from netblt_conformance.reference.beside import explain
from netblt_conformance.reference.outcome import Followed

LAYOUT_VERSION = 1


def command(where: Listed, options: argparse.Namespace) -> ExitCode:
    """Explains each file. 1: a packet is outside of what a conforming implementation may have sent; 2: a file could not
    be read, or none holds a connection; else 0."""
    found: list[tuple[str, list[Followed]]] = []
    failed = bool(where.empty)
    for folder in where.empty:
        _complain(folder, "holds no capture")
    for name in where.captures:
        try:
            found.append((name, _explained(name, options.captured_at)))
        except JudgeError as error:
            failed = True
            _complain(name, str(error).removeprefix(f"{name}: "))
        except OSError as error:
            failed = True
            _complain(name, error.strerror or str(error))
    if options.json:
        json.dump(_document(found), sys.stdout, indent=1)
        print()
    else:
        print("\n".join(line for name, ends in found for line in text(name, ends)))
    if any(end.outside is not None for _, ends in found for end in ends):
        return ExitCode.FAILED
    nothing = not any(ends for _, ends in found)
    return ExitCode.COULD_NOT_RUN if failed or nothing else ExitCode.HOLDS


def _complain(name: str, why: str) -> None:
    print(fit(f"error: {name}: {why}"), file=sys.stderr)


def _explained(name: str, position: str | None) -> list[Followed]:
    if name == "-":
        raise JudgeError("--explain reads files, not standard input")
    return explain(Path(name), position)


def text(name: str, ends: Sequence[Followed]) -> Iterator[str]:
    """Lines about one file."""
    yield fit(name)
    if not ends:
        yield "  holds no connection of RFC 998"
    for end in ends:
        role = f", data {end.role}" if end.role != "-" else ""
        yield f"  {end.end}{role}, to {end.peer}: {end.packets} packets"
        if end.outside is None:
            yield "    a conforming implementation may have sent all of them"
        else:
            yield f"    frame {end.outside.frame} leaves what a conforming implementation may have sent"
            yield f"      requirement: {end.outside.requirement}"
            yield fit(f"      expected:    {end.outside.expected}")
            yield fit(f"      observed:    {end.outside.observed}")
        for ambiguity, choice in sorted(end.choices.items()):
            yield fit(f"    choice {ambiguity}: {choice}")
        for limit in end.limits:
            yield f"    not checked in full: {limit}"


def _document(found: Sequence[tuple[str, list[Followed]]]) -> dict[str, object]:
    files = [{"file": name, "ends": [dataclasses.asdict(end) for end in ends]} for name, ends in found]
    return {"kind": "explanation", "layout": LAYOUT_VERSION, "files": files}
