# SPDX-License-Identifier: GPL-2.0-or-later
"""Labs as pytest fixtures, for test modules that name this one in pytest_plugins."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import needs_root
from selftest.netblt_command_lab import Lab, make_lab


@contextmanager
def bounded_lab(directory: Path, encap: str) -> Iterator[Lab]:
    """A lab in which nothing hangs for ever: a test that takes too long fails, and its processes end with the lab."""

    def too_long(_number: int, _frame: object) -> None:
        raise TimeoutError("this test takes too long")

    lab = make_lab(directory, encap)
    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(100)
    try:
        yield lab
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        lab.close()


@pytest.fixture(params=[pytest.param("ip", marks=needs_root), "udp"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    """Two hosts, once with raw IP and once with UDP."""
    with bounded_lab(tmp_path, request.param) as made:
        yield made


@pytest.fixture
def udp_lab(tmp_path: Path) -> Iterator[Lab]:
    """For what does not depend on the encapsulation: needs no privilege."""
    with bounded_lab(tmp_path, "udp") as made:
        yield made


@pytest.fixture
def raw_lab(tmp_path: Path) -> Iterator[Lab]:
    """For raw IP only; mark the test with needs_root."""
    with bounded_lab(tmp_path, "ip") as made:
        yield made
