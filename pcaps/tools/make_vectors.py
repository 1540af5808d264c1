# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes pcaps/vectors/*.json, or with --check prints which of them differ from what it would write.

Run it with .venv/bin/python pcaps/tools/make_vectors.py [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from pcaps.tools import vectors_broken, vectors_control, vectors_data, vectors_setup
from pcaps.tools.vector import Vector

VECTORS = Path(__file__).resolve().parent.parent / "vectors"
SCHEMA_NAME = "schema.json"


def all_files() -> dict[str, list[Vector]]:
    """File name and contents, one file per packet type or topic."""
    files = {
        "open.json": vectors_setup.open_vectors(),
        "response.json": vectors_setup.response_vectors(),
        "header_only.json": vectors_setup.header_only_vectors(),
        "reason.json": vectors_setup.reason_vectors(),
        "data.json": vectors_data.data_vectors("DATA"),
        "ldata.json": vectors_data.data_vectors("LDATA"),
        "null_ack.json": vectors_data.null_ack_vectors(),
        "control.json": vectors_control.control_vectors(),
        "bad_checksum.json": vectors_broken.checksum_vectors(),
        "bad_length.json": [
            *vectors_broken.short_vectors(),
            *vectors_broken.length_vectors(),
            *vectors_broken.length_beyond_vectors(),
        ],
        "unknown_type.json": vectors_broken.unknown_type_vectors(),
        "version4.json": vectors_broken.dialect_vectors(),
    }
    names = Counter(entry["name"] for entries in files.values() for entry in entries)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise ValueError(f"vector names used twice: {', '.join(twice)}")
    return files


def as_text(entries: list[Vector]) -> str:
    """One vector per line, so that a change shows as one line."""
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    return f"[\n{lines}\n]\n"


def differences(directory: Path) -> list[str]:
    """One sentence for each file that is not what this tool writes."""
    wanted = {name: as_text(entries) for name, entries in all_files().items()}
    present = {path.name for path in directory.glob("*.json")} - {SCHEMA_NAME}
    complaints = [f"{name} is missing" for name in sorted(wanted.keys() - present)]
    complaints += [f"{name} is not made by this tool" for name in sorted(present - wanted.keys())]
    for name in sorted(wanted.keys() & present):
        if (directory / name).read_text(encoding="utf-8") != wanted[name]:
            complaints.append(f"{name} differs from what this tool writes")
    return complaints


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0: written, or nothing differs; 1: something differs."""
    parser = argparse.ArgumentParser(description="write or check the byte vectors")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file differs")
    parser.add_argument("--directory", type=Path, default=VECTORS, help="where the vector files lie")
    options = parser.parse_args(arguments)
    if options.check:
        complaints = differences(options.directory)
        for complaint in complaints:
            print(f"{options.directory}: {complaint}; run pcaps/tools/make_vectors.py", file=sys.stderr)
        return 1 if complaints else 0
    options.directory.mkdir(parents=True, exist_ok=True)
    for name, entries in all_files().items():
        (options.directory / name).write_text(as_text(entries), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
