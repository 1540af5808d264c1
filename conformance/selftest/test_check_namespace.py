# SPDX-License-Identifier: GPL-2.0-or-later
"""Root of a user namespace that holds no other user, as in a rootless container, cannot run tshark as nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from netblt_conformance.common import paths

CONFORMANCE = Path(__file__).resolve().parents[1]
VIOLATION = paths.root() / "pcaps" / "violations" / "ctrl01-from-zero.pcapng"
ALONE = ["unshare", "--user", "--map-root-user"]


def run_alone(*command: str) -> subprocess.CompletedProcess[str]:
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no user namespaces here")
    environment = {**os.environ, "PYTHONPATH": str(CONFORMANCE)}
    return subprocess.run([*ALONE, *command], env=environment, capture_output=True, text=True, check=False)


def test_root_of_a_namespace_of_its_own_judges_too() -> None:
    done = run_alone(sys.executable, "-m", "netblt_conformance", "check", str(VIOLATION))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "CTRL-01" in done.stdout


def test_root_of_a_namespace_of_its_own_reads_captures_too() -> None:
    done = run_alone(str(paths.root() / "tools" / "tshark"), "-r", str(VIOLATION), "-Y", "netblt.analysis.flags")
    assert done.returncode == 0, done.stderr
    assert "NETBLT" in done.stdout
