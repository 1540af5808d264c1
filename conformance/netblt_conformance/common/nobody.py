# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs programs without root's rights. Wireshark programs ignore the plugin folders of the environment when they run
as root, so root runs them as the user nobody."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Sequence
from typing import Any

NOBODY = 65534
_RENAMED = ("unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--")


@functools.cache
def can_become_nobody() -> bool:
    """Root of a user namespace that holds no other user (a rootless container) cannot."""
    try:
        subprocess.run(["true"], user=NOBODY, group=NOBODY, extra_groups=[], check=False)
    except PermissionError:
        return False
    return True


def changes_user() -> bool:
    """Programs run as another user, who can read only what is open to all."""
    return os.geteuid() == 0 and can_become_nobody()


def credentials() -> dict[str, Any]:
    """Arguments for subprocess: those of the user nobody, where root can become nobody. Empty for other users."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if changes_user() else {}


def command(words: Sequence[str]) -> list[str]:
    """`words`, or where root cannot become nobody, `words` in a user namespace in which root is called nobody."""
    renamed = os.geteuid() == 0 and not can_become_nobody()
    return [*(_RENAMED if renamed else ()), *words]
