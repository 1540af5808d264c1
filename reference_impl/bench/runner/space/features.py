# SPDX-License-Identifier: BSD-2-Clause
"""The table of features, from features.toml: what the specifications and manuals state, and where."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from .. import report
from ..processes import BenchError

FILE = Path(__file__).with_name("features.toml")


def read(path: Path = FILE) -> tuple[list[str], list[dict[str, str]]]:
    """The columns, and a table for each protocol. BenchError names what is missing or unknown."""
    try:
        document: dict[str, Any] = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as problem:
        raise BenchError(f"{path}: {problem}") from None
    columns = [str(name) for name in document.get("columns", [])]
    wanted = {"name", "source", *columns}
    for number, protocol in enumerate(document.get("protocol", []), 1):
        if wrong := sorted(wanted ^ set(protocol)):
            raise BenchError(f"{path}: protocol {number} ({protocol.get('name', '?')}): missing or unknown: {wrong[0]}")
    return columns, document.get("protocol", [])


def tables() -> list[report.Table]:
    """Each feature of each protocol, and their sources."""
    columns, protocols = read()
    what = report.Table("Features, by the specifications and manuals", ["feature", "protocol", "what it has"])
    where = report.Table("Sources", ["protocol", "source"])
    for column in columns:
        for protocol in protocols:
            what.add([column, protocol["name"], protocol[column]], [])
    for protocol in protocols:
        where.add([protocol["name"], protocol["source"]], [])
    return [what, where]
