# SPDX-License-Identifier: GPL-2.0-or-later
"""The hashes that the C tests of tree transfers expect are those of the Python package `blake3`."""

from __future__ import annotations

import runpy
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "reference_impl" / "cli" / "tests"


def test_the_vectors_are_those_of_the_package() -> None:
    text = runpy.run_path(str(TESTS / "blake3_vectors.py"))["text"]()
    assert text == (TESTS / "blake3_vectors.h").read_text(encoding="utf-8")
