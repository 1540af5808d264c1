# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler options that make a simulation give the same numbers on each machine."""

from __future__ import annotations

import json
import platform
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from netblt_conformance.common import paths

COMMANDS = paths.root() / "build" / "compile_commands.json"
FOLDERS = ("reference_impl/core", "conformance/flakeway", "conformance/sim")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="-mfma is an option for x86-64")
@pytest.mark.skipif(not COMMANDS.exists(), reason="needs the compile commands of the build")
def test_no_source_of_a_simulation_is_compiled_to_a_fused_multiply_add() -> None:
    sources = {}
    for entry in json.loads(COMMANDS.read_text()):
        source = Path(entry["file"])
        if any(source.is_relative_to(paths.root() / folder) for folder in FOLDERS) and re.search(
            r"\bdouble\b", source.read_text()
        ):
            sources[source] = entry
    assert any(source.name == "rate_auto.c" for source in sources)
    fused = []
    for source, entry in sources.items():
        words = shlex.split(entry["command"])
        words[words.index("-o") + 1] = "-"
        words[words.index("-c")] = "-S"
        done = subprocess.run([*words, "-mfma"], cwd=entry["directory"], capture_output=True, text=True, check=True)
        if re.search(r"\bvfn?m(add|sub)", done.stdout):
            fused.append(source.name)
    assert fused == []
