# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of the dissector tests: tshark with the plugin, and folders for its captures."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dissector.tests.reader import PLUGINS, Reader


@pytest.fixture(scope="session")
def reader() -> Iterator[Reader]:
    if shutil.which("tshark") is None:
        pytest.fail("tshark is not installed: run tools/setup")
    if not list(PLUGINS.glob("*/epan/netblt.so")):
        pytest.fail(f"{PLUGINS} holds no plugin: run tools/build, or set NETBLT_PLUGIN_DIR")
    with tempfile.TemporaryDirectory(prefix="netblt-dissector-") as name:
        os.umask(0o022)
        yield Reader(Path(name))


@pytest.fixture
def capture(reader: Reader, request: pytest.FixtureRequest) -> Path:
    """Where a test may write its capture."""
    return reader.home / f"{abs(hash(request.node.nodeid))}.pcapng"
