# SPDX-License-Identifier: GPL-2.0-or-later
"""The first lines of each source file: its licence, and in one comment or docstring what the file is."""

from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
C_FOLDERS = (
    *("reference_impl/core", "reference_impl/io", "reference_impl/cli", "reference_impl/fuzz", "reference_impl/bench"),
    *("reference_impl/tests", "reference_impl/examples", "reference_impl/include"),
    *("conformance/flakeway", "conformance/sim", "conformance/adapters", "conformance/skeletons", "dissector"),
)
LAYER = "wire/netblt.py"  # begins as files of scapy/contrib begin
PYTHON_FOLDERS = (
    *("conformance/netblt_conformance", "conformance/netblt_plan", "conformance/suite", "conformance/selftest"),
    *("conformance/nightly", "conformance/skeletons", "dissector", "pcaps", "reference_impl", "tools"),
)
FEWEST_WORDS = 3


def describes(lines: list[str], *begins: str) -> bool:
    """The first line, beside licence and interpreter, begins a comment of some words: a name alone is no
    description."""
    first = next((line for line in lines if "SPDX-License-Identifier" not in line and not line.startswith("#!")), "")
    return first.startswith(begins) and len(first.strip('/*"# ').split()) >= FEWEST_WORDS


def files(folder: str, pattern: str) -> list[tuple[str, list[str]]]:
    found = sorted((REPOSITORY / folder).rglob(pattern))
    return [(path.relative_to(REPOSITORY).as_posix(), path.read_text(encoding="utf-8").split("\n")) for path in found]


@pytest.mark.parametrize("folder", C_FOLDERS)
def test_a_c_file_begins_with_what_it_is(folder: str) -> None:
    sources = files(folder, "*.[ch]")
    assert sources
    assert [name for name, lines in sources if not describes(lines, "/* ")] == []


@pytest.mark.parametrize("folder", PYTHON_FOLDERS)
def test_a_python_file_begins_with_what_it_is(folder: str) -> None:
    sources = [(name, lines) for name, lines in files(folder, "*.py") if len(lines) > 2 and not name.endswith(LAYER)]
    assert sources
    assert [name for name, lines in sources if not describes(lines, '"""', 'r"""')] == []
