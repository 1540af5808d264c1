# SPDX-License-Identifier: GPL-2.0-or-later
"""Ends of ETFTP and version 4 that keep to their rules are never called violators, whatever path and capture do."""

from __future__ import annotations

from collections import Counter

import pytest

from dissector.tests.dialect_endpoints import captured, random_plan
from dissector.tests.reader import Reader
from pcaps.tools.dialects import ETFTP, VERSION4, Dialect

TRANSFERS = 100
DIALECTS = pytest.mark.parametrize("dialect", [ETFTP, VERSION4], ids=lambda dialect: dialect.name)


def found(reader: Reader, dialect: Dialect, *, calm: bool) -> Counter[str]:
    """What is reported of all transfers together, read as sections of one file: requirement and verdict."""
    made = [captured(random_plan(dialect, seed, calm=calm)) for seed in range(TRANSFERS)]
    assert all(delivered for _, delivered in made)
    path = reader.home / f"{dialect.name}-{calm}.pcapng"
    path.write_bytes(b"".join(octets for octets, _ in made))
    told: Counter[str] = Counter()
    judged: set[str] = set()
    for row in reader.rows(path, "frame.section_number", "netblt.dialect", *VERDICTS):
        judged.update(row["netblt.dialect"])
        told.update(" ".join(one) for one in zip(*(row[name] for name in VERDICTS), strict=True))
    assert len(judged) == 1
    return told


VERDICTS = ("netblt.analysis.requirement", "netblt.analysis.verdict")


@DIALECTS
def test_over_a_good_path_in_full_view_nothing_is_even_suspected(reader: Reader, dialect: Dialect) -> None:
    assert found(reader, dialect, calm=True) == Counter()


@DIALECTS
def test_no_conforming_transfer_is_called_a_violation(reader: Reader, dialect: Dialect) -> None:
    told = found(reader, dialect, calm=False)
    assert [one for one in told if one.endswith("violation")] == []
    if dialect is ETFTP:
        assert told.total() > 10  # the plugin had reasons to suspect something
