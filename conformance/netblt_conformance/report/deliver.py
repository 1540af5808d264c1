# SPDX-License-Identifier: GPL-2.0-or-later
"""Results to a file or to standard output, as an option asks for."""

from __future__ import annotations

import sys
from pathlib import Path

from netblt_conformance.common.errors import LinkUnavailableError


def deliver(text: str, where: str | None) -> bool:
    """Writes to a file, or to standard output for "-"; True when standard output was used."""
    if where is None:
        return False
    if where == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return True
    try:
        Path(where).write_text(text, encoding="utf-8")
    except OSError as error:
        raise LinkUnavailableError(f"{where}: {error.strerror}") from None
    return False
