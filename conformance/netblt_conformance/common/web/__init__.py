# SPDX-License-Identifier: GPL-2.0-or-later
"""What HTML pages share: colours of both themes, small helpers of scripts, and the bundled library that draws plots."""

from __future__ import annotations

from pathlib import Path

import markupsafe

FOLDER = Path(__file__).parent
LIBRARY = FOLDER / "uplot"  # made by tools/vendor


def asset(folder: Path, name: str) -> markupsafe.Markup:
    """A style sheet or script of `folder`, or one of those that pages share, as it is."""
    file = folder / name
    return markupsafe.Markup((file if file.is_file() else FOLDER / name).read_text(encoding="utf-8"))
