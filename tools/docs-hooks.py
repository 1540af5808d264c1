# SPDX-License-Identifier: BSD-2-Clause
"""What mkdocs does besides: pages that lie outside docs/, and links to files that are no page."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {"pcaps.md": ROOT / "pcaps" / "README.md", "contributing.md": ROOT / "CONTRIBUTING.md"}
# Links to documents, wherever they lie. Those of the text in code are in no such form.
LINK = re.compile(r"\]\(\s*((?!https?:|#|mailto:)[^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that lie elsewhere in the repository."""
    for name, source in OUTSIDE.items():
        files.append(File.generated(config, name, abs_src_path=str(source)))
    return files


def on_page_markdown(text: str, page: Any, **_others: Any) -> str:
    """A link to a page outside docs/ leads to its copy; one to a source file shows the file's name."""
    source = OUTSIDE.get(page.file.src_uri)
    here = (source or ROOT / "docs" / page.file.src_uri).parent

    def replaced(found: re.Match[str]) -> str:
        target = (here / found[1]).resolve()
        anchor = found[2] or ""
        for name, path in OUTSIDE.items():
            if target == path:
                return f"]({_relative(page.file.src_uri, name)}{anchor})"
        if target.is_relative_to(ROOT / "docs"):
            inside = target.relative_to(ROOT / "docs").as_posix()
            return f"]({_relative(page.file.src_uri, inside)}{anchor})"
        if not target.exists():
            return found[0]  # mkdocs reports it
        return "]"

    return re.sub(r"\[([^\]]*)\]$", r"\1", LINK.sub(replaced, text), flags=re.MULTILINE)


def _relative(page: str, target: str) -> str:
    up = len(PurePosixPath(page).parts) - 1
    return "../" * up + target
