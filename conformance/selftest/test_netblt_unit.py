# SPDX-License-Identifier: GPL-2.0-or-later
"""The systemd units of `netblt listen`: systemd understands them, and finds little that an intruder could use."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from selftest.netblt_command_lab import NETBLT

UNITS = NETBLT.parent.parent / "reference_impl" / "systemd"
NAMES = ["netblt-listen", "netblt-listen-ip"]
# 0 is a service that can do nothing, 10 one that can do everything; a server that only
# has sockets and the host's network about 1. A tenth is left for versions of systemd, which weigh differently.
EXPOSURE_MAX = {"netblt-listen": 1.2, "netblt-listen-ip": 1.7}


def unit_text(name: str) -> str:
    file = UNITS / f"{name}.service"
    if not file.is_file():
        pytest.skip(f"{file} is not built: run tools/build")
    return file.read_text()


def settings(name: str, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit_text(name), re.MULTILINE)


@pytest.fixture(params=NAMES)
def unit(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The unit as it would be installed where the built program lies."""
    text, replaced = re.subn(r"^ExecStart=\S+", f"ExecStart={NETBLT}", unit_text(request.param), flags=re.MULTILINE)
    assert replaced == 1
    file = tmp_path / f"{request.param}.service"
    file.write_text(text)
    return file


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    return subprocess.run(
        ["systemd-analyze", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


def test_systemd_understands_every_line(unit: Path) -> None:
    done = analyze("verify", "--man=no", unit)
    complaints = [line for line in (done.stdout + done.stderr).splitlines() if unit.name in line]
    assert (done.returncode, complaints) == (0, [])


def test_little_is_exposed(unit: Path) -> None:
    done = analyze("security", "--offline=true", "--no-pager", unit)
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    if found is None and "offline" in done.stderr:
        pytest.skip("this systemd-analyze cannot judge a file")
    assert found is not None, done.stderr
    assert float(found.group(1)) <= EXPOSURE_MAX[unit.stem], done.stdout


def test_udp_has_no_capability_and_raw_ip_one() -> None:
    for key in ("CapabilityBoundingSet", "AmbientCapabilities"):
        assert settings("netblt-listen", key) == [""]
        assert settings("netblt-listen-ip", key) == ["CAP_NET_RAW"]


@pytest.mark.parametrize("name", NAMES)
def test_what_netblt_needs_to_confine_itself_is_allowed(name: str) -> None:
    last = settings(name, "SystemCallFilter")[-1].split()
    assert {"seccomp", "landlock_restrict_self"} <= set(last)
    assert ("capset" in last) == (name == "netblt-listen-ip"), "behind @privileged, which takes it away"
