# SPDX-License-Identifier: GPL-2.0-or-later
"""The history of the unpacked source: a commit with what Debian ships, and one for each of our patches.

The history lies outside the tree. Where Wireshark's build finds .git it puts the commit into its version, and would
compile again after each.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

BASELINE = "baseline"


class Repository:
    """git, for a tree whose history lies elsewhere."""

    def __init__(self, history: Path, tree: Path) -> None:
        self.history, self.tree = history, tree
        self.environment = os.environ | {"GIT_DIR": str(history), "GIT_WORK_TREE": str(tree)}

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.tree, env=self.environment, check=False, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"git {arguments[0]} failed: {done.stderr.strip()}")
        return done.stdout

    def begin(self, version: str) -> None:
        """A history whose first commit is the tree as it is."""
        self.git("init", "-q")
        self.git("config", "gc.auto", "0")
        (self.history / "info" / "exclude").write_text("/debian/\n", encoding="utf-8")
        self.git("add", "-A", ".")
        self.git("commit", "-q", "-m", f"Wireshark {version}, as Debian ships it")
        self.git("tag", "-f", BASELINE)

    def reset(self) -> None:
        """The tree as Debian ships it."""
        if (self.history / "rebase-apply").exists():
            self.git("am", "--quit")
        self.git("reset", "-q", "--hard", BASELINE)
        self.git("clean", "-q", "-fd", "epan", "test", "docbook")

    def commit(self, message: str) -> None:
        self.git("add", "-A", ".")
        self.git("commit", "-q", "--no-verify", "-m", message)

    def author(self) -> tuple[str, str]:
        """Name and address of the user who would commit."""
        name, _, rest = self.git("var", "GIT_AUTHOR_IDENT").partition(" <")
        return name, rest.partition(">")[0]

    def write_patches(self, folder: Path) -> list[Path]:
        """One file for each commit after the baseline."""
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.patch"):
            old.unlink()
        self.git("format-patch", "-q", "--no-signature", "--zero-commit", "-o", str(folder), BASELINE)
        return sorted(folder.glob("*.patch"))

    def apply(self, patch: Path) -> None:
        self.git("am", "-q", "--keep-cr", str(patch))

    def size_of(self, patch: Path) -> tuple[int, int]:
        """Files and lines that the patch adds; lines of binary files do not count."""
        rows = [line.split("\t") for line in self.git("apply", "--numstat", str(patch)).splitlines()]
        return len(rows), sum(int(row[0]) for row in rows if row[0] != "-")
