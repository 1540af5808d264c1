# SPDX-License-Identifier: GPL-2.0-or-later
"""The combinations of parameters that the suite transfers with: conformance/suite/pairs.toml."""

from __future__ import annotations

import itertools
from typing import Any

from netblt_conformance.common import paths, toml_file
from selftest.scripts import nightly_script

FILE = paths.suite() / "pairs.toml"


def test_each_value_of_a_parameter_meets_each_value_of_every_other_in_some_row() -> None:
    rows: list[dict[str, Any]] = toml_file.parse(FILE)["row"]
    factors: dict[str, list[Any]] = nightly_script("pairs").FACTORS
    missing = [
        f"{one} {a} with {other} {b}"
        for one, other in itertools.combinations(factors, 2)
        for a, b in itertools.product(factors[one], factors[other])
        if not any(row[one] == a and row[other] == b for row in rows)
    ]
    assert not missing


def test_the_rows_are_those_that_the_covering_array_library_gives() -> None:
    assert FILE.read_text(encoding="utf-8") == nightly_script("pairs").text(), "run conformance/nightly/pairs.py again"
