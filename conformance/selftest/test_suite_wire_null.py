# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that do nothing right, with real packets: each role is played by another one, and none passes anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.common.verdicts import Verdict

if TYPE_CHECKING:
    from selftest.conftest import Command

NULL = """
import os, socket, sys, time
how, address = sys.argv[1:3]
if how == "crashing":
    os.abort()
if how == "lying":
    sys.exit(0)
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, 30)
raw.bind((address, 0))
give_up = time.monotonic() + 60
while time.monotonic() < give_up:
    packet, peer = raw.recvfrom(65535)
    if how == "echoing":
        raw.sendto(packet[20:], peer)
"""
PLAYED_BY = {
    "passive-sender": "silent",
    "passive-receiver": "echoing",
    "active-sender": "crashing",
    "active-receiver": "lying",
}


@pytest.mark.long
@pytest.mark.usefixtures("built_writer", "namespaces")
def test_no_null_program_passes_anything_on_the_wire(command: Command, tmp_path: Path) -> None:
    (tmp_path / "null.py").write_text(NULL, encoding="utf-8")
    text = 'name = "null"\n'
    for role, how in PLAYED_BY.items():
        words = f'["{{python}}", "{{adapter_dir}}/null.py", "{how}", "{{local_address}}"]'
        text += f"[wire.roles.{role}]\ncommand = {words}\n"
    # Who does nothing does not do it sooner or later either: no need to wait for it as long as for others.
    text += "[pixit]\nsetup_max_s = 2\nopen_retry_max_s = 2\n"
    adapter = tmp_path / "adapter.toml"
    adapter.write_text(text, encoding="utf-8")
    done = command(
        "run",
        "--link",
        "wire",
        "--adapter",
        str(adapter),
        "--select",
        "two_packets_set_a_connection_up",
        "--no-dissector",
    )
    assert done.status == 1, done.output + done.errors
    by_role = {role: [r for r in done.results if r.role == role] for role in PLAYED_BY}
    for role, how in PLAYED_BY.items():
        verdicts = {result.verdict for result in by_role[role]}
        assert verdicts, how
        assert verdicts <= {Verdict.FAIL, Verdict.INCONC}, (how, done.output)
    assert any("SIGABRT" in result.seen for result in by_role["active-sender"])
    for role in ("passive-sender", "passive-receiver", "active-sender"):
        assert Verdict.FAIL in {result.verdict for result in by_role[role]}, (role, done.output)
