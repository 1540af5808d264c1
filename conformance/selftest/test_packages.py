# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages, as far as that shows without building them (tools/package builds them)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DEBIAN = REPOSITORY / "debian"


def version() -> str:
    header = (REPOSITORY / "reference_impl/include/netblt/version.h").read_text()
    return ".".join(re.findall(r"#define NETBLT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


def test_the_changelog_names_the_version_of_the_header() -> None:
    newest = (DEBIAN / "changelog").read_text().splitlines()[0]
    assert newest.startswith(f"netblt ({version()}) ")


def test_the_package_of_the_library_is_named_after_its_soname() -> None:
    major_and_minor = version().rpartition(".")[0]
    packages = re.findall(r"^Package: (\S+)$", (DEBIAN / "control").read_text(), re.MULTILINE)
    assert f"libnetblt{major_and_minor}" in packages
    assert (DEBIAN / f"libnetblt{major_and_minor}.install").exists()
    for package in packages:
        assert (DEBIAN / f"{package}.install").exists(), package


def test_each_test_of_the_packages_is_a_script() -> None:
    names = re.findall(r"^Tests: (\S+)$", (DEBIAN / "tests/control").read_text(), re.MULTILINE)
    assert {path.name for path in (DEBIAN / "tests").iterdir()} == {*names, "control"}
    for name in names:
        assert (DEBIAN / "tests" / name).stat().st_mode & 0o111 == 0o111, name


def test_another_kind_of_packages_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [REPOSITORY / "tools/package", "rpm"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "usage: tools/package deb" in done.stderr
