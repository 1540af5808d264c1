# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries of other projects that the repository holds are the ones that vendor.toml records (tools/vendor)."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = sorted(path for path in (REPOSITORY / "reference_impl/third_party").iterdir() if path.is_dir())


def test_there_are_libraries() -> None:
    assert [folder.name for folder in FOLDERS] == ["blake3"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_a_library_is_the_one_that_is_recorded(folder: Path) -> None:
    recorded = tomllib.loads((folder / "vendor.toml").read_text(encoding="utf-8"))
    files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    assert files.pop("vendor.toml")
    assert files == recorded["sha256"], "see tools/vendor"
    assert any(name.startswith("LICENSE") for name in files)
    assert any(recorded["version"] in (folder / name).read_text(encoding="utf-8") for name in files)
