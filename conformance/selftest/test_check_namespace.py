# SPDX-License-Identifier: GPL-2.0-or-later
"""Root of a user namespace that holds no other user, as in a rootless container, cannot run tshark as nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from netblt_conformance import paths

CONFORMANCE = Path(__file__).resolve().parents[1]
VIOLATION = paths.root() / "pcaps" / "violations" / "abort01-data-after-abort.pcapng"


def test_root_of_a_namespace_of_its_own_judges_too() -> None:
    alone = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no user namespaces here")
    done = subprocess.run(
        [*alone, sys.executable, "-m", "netblt_conformance", "check", str(VIOLATION)],
        env={**os.environ, "PYTHONPATH": str(CONFORMANCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "ABORT-01" in done.stdout
