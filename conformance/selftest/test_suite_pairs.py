# SPDX-License-Identifier: GPL-2.0-or-later
"""The combinations of parameters that the suite transfers with: conformance/suite/pairs.toml."""

from __future__ import annotations

import importlib.util
import itertools
import tomllib
from types import ModuleType
from typing import Any

from netblt_conformance import paths

FILE = paths.suite() / "pairs.toml"


def generator() -> ModuleType:
    """conformance/nightly/pairs.py, which is a script and no part of the package."""
    spec = importlib.util.spec_from_file_location("pairs_generator", paths.root() / "conformance/nightly/pairs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_value_of_a_parameter_meets_each_value_of_every_other_in_some_row() -> None:
    rows: list[dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["row"]
    factors: dict[str, list[Any]] = generator().FACTORS
    missing = [
        f"{one} {a} with {other} {b}"
        for one, other in itertools.combinations(factors, 2)
        for a, b in itertools.product(factors[one], factors[other])
        if not any(row[one] == a and row[other] == b for row in rows)
    ]
    assert not missing


def test_the_rows_are_those_that_the_covering_array_library_gives() -> None:
    assert FILE.read_text(encoding="utf-8") == generator().text(), "run conformance/nightly/pairs.py again"
