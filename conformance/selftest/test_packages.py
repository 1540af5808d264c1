# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages, as far as that shows without building them (tools/package builds them)."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import netblt_conformance
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DEBIAN = REPOSITORY / "debian"
sys.path.insert(0, str(REPOSITORY / "tools"))
bundle = importlib.import_module("bundle")


def version() -> str:
    header = (REPOSITORY / "reference_impl/include/netblt/version.h").read_text()
    return ".".join(re.findall(r"#define NETBLT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


def test_the_changelog_names_the_version_of_the_header() -> None:
    newest = (DEBIAN / "changelog").read_text().splitlines()[0]
    assert newest.startswith(f"netblt ({version()}) ")


def test_every_part_has_the_version_of_the_header() -> None:
    assert netblt_conformance.__version__ == version()
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "netblt_conformance.__version__"
    for file in (REPOSITORY / "CMakeLists.txt", REPOSITORY / "dissector/CMakeLists.txt"):
        assert "VERSION ${version}" in file.read_text(), file
    assert re.findall(r"^## (\S+)", (REPOSITORY / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == version()


def test_the_symbols_of_the_library_are_its_public_names() -> None:
    """A name that is missing from the file stops dpkg-gensymbols from computing which version a program needs."""
    public = (REPOSITORY / "reference_impl/library/abi.txt").read_text().splitlines()
    (symbols,) = DEBIAN.glob("libnetblt*.symbols")
    listed = re.findall(r"^ (\w+)@Base \S+$", symbols.read_text(), re.MULTILINE)
    assert listed == sorted(name for name in public if name and not name.startswith("#"))


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_bundle_is_what_the_suite_needs_at_run_time(python: str) -> None:
    dependencies = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["dependencies"]
    chosen = bundle.runtime((REPOSITORY / "requirements.lock").read_text(), dependencies, python)
    names = [lines.partition("==")[0] for lines in chosen]
    assert len(names) == len(set(names)), "two versions of a library"
    assert {re.match(r"[a-z0-9-]+", text)[0] for text in dependencies} <= set(names)  # type: ignore[index]
    assert {"markupsafe", "pluggy", "contourpy", "pydantic-core", "fonttools"} <= set(names)  # of libraries
    assert not {"mypy", "ruff", "playwright", "distributed", "hypothesis"} & set(names)
    assert all("--hash=sha256:" in lines and ";" not in lines.partition("\n")[0] for lines in chosen)


def test_the_package_of_the_library_is_named_after_its_soname() -> None:
    major_and_minor = version().rpartition(".")[0]
    packages = re.findall(r"^Package: (\S+)$", (DEBIAN / "control").read_text(), re.MULTILINE)
    assert f"libnetblt{major_and_minor}" in packages
    assert (DEBIAN / f"libnetblt{major_and_minor}.install").exists()
    laid_out_by_rules = {"netblt-conformance"}
    for package in set(packages) - laid_out_by_rules:
        assert (DEBIAN / f"{package}.install").exists(), package


def test_each_test_of_the_packages_is_a_script() -> None:
    names = re.findall(r"^Tests: (\S+)$", (DEBIAN / "tests/control").read_text(), re.MULTILINE)
    assert {path.name for path in (DEBIAN / "tests").iterdir()} == {*names, "control"}
    for name in names:
        assert (DEBIAN / "tests" / name).stat().st_mode & 0o100, name


def test_another_kind_of_packages_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [REPOSITORY / "tools/package", "rpm"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "usage: tools/package deb" in done.stderr
