# SPDX-License-Identifier: GPL-2.0-or-later
"""The copy of the Wireshark plugin with which root runs tshark as another user."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from netblt_conformance.common import nobody
from netblt_conformance.judges.tshark import Tshark


@pytest.mark.skipif(shutil.which("tshark") is None, reason="no tshark")
def test_the_copy_of_a_plugin_that_only_its_owner_may_read_is_for_everyone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = tmp_path / "plugins" / "4.0" / "epan" / "netblt.so"
    plugin.parent.mkdir(parents=True)
    plugin.touch(0o600)
    for folder in plugin.parents[:3]:
        folder.chmod(0o700)
    monkeypatch.setenv("NETBLT_PLUGIN_DIR", str(tmp_path / "plugins"))
    monkeypatch.setattr(nobody, "changes_user", lambda: True)
    with Tshark() as tshark:
        (copied,) = Path(tshark._home.name).rglob("netblt.so")
        assert copied.stat().st_mode & 0o777 == 0o644
        assert [folder.stat().st_mode & 0o777 for folder in copied.parents[:3]] == [0o755] * 3
