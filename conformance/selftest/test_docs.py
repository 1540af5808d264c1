# SPDX-License-Identifier: GPL-2.0-or-later
"""What the documents name exists: files of the architecture, targets of links."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BUILT = ("build/", ".venv/")  # left by tools/build and tools/setup
SOURCE_NAME = re.compile(r"[\w*.-]+\.(?:c|h|py|toml)")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def tracked_files() -> list[str]:
    try:
        listed = subprocess.run(
            ["git", "-C", REPOSITORY, "ls-files"], capture_output=True, text=True, check=True, timeout=30
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git work tree")
    return listed.splitlines()


def exists(name: str, files: list[str]) -> bool:
    """A file's name alone, a path, a folder; with * in it, at least one of them."""
    name = name.rstrip("/")
    if name.startswith(BUILT):
        return True
    return any(fnmatch(f"/{file}", f"*/{name}") or fnmatch(f"/{file}", f"*/{name}/*") for file in files)


def test_the_architecture_names_what_is_there() -> None:
    files = tracked_files()
    text = (REPOSITORY / "docs" / "architecture.md").read_text()
    quoted = re.findall(r"`([^`\s]+)`", text)
    named = {name for name in quoted if SOURCE_NAME.fullmatch(name) or name.startswith(("docs/", "conformance/"))}
    rooms = {re.split(r"`, `", row)[0] for row in re.findall(r"^\| `([^|]+)` \|", text, re.MULTILINE)}

    assert len(named) > 40
    assert len(rooms) > 15
    assert [name for name in sorted(named | rooms) if not exists(name, files)] == []


@pytest.mark.parametrize("folder", ["reference_impl/core", "reference_impl/io"])
def test_the_architecture_mentions_every_part_of_the_endpoint(folder: str) -> None:
    """A source file of the core or of the drivers that the document does not mention is a gap in the map."""
    text = (REPOSITORY / "docs" / "architecture.md").read_text()
    quoted = re.findall(r"`([^`\s]+)`", text)
    parts = [path.name for path in (REPOSITORY / folder).rglob("*.c")]

    assert [part for part in sorted(parts) if not any(fnmatch(part, name) for name in quoted)] == []


def test_links_between_documents_lead_somewhere() -> None:
    dead = []
    for document in [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")]:
        for target in LINK.findall(document.read_text()):
            if "://" not in target and not (document.parent / target).exists():
                dead.append(f"{document.name}: {target}")
    assert dead == []
