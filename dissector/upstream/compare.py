# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what the dissector built into Wireshark prints with what the plugin prints, on every capture we have."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "conformance"))

from dissector.tests.reader import PLUGINS, Reader  # noqa: E402

# Two passes, every line of the tree, and the reports with the most content.
OPTIONS = ("-2", "-V", "-z", "netblt,summary", "-z", "netblt,verdict", "-z", "netblt,findings")


@dataclass
class Comparison:
    captures: int = 0
    characters: int = 0
    differ: list[str] = field(default_factory=list)
    not_run: str = ""


def version_of(program: str) -> str:
    """ "4.0.17"; empty when there is no such program."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    words = done.stdout.replace("(Wireshark) ", "").split()
    return words[1].rstrip(".") if len(words) > 1 else ""


def compare(built_in: Path) -> Comparison:
    """Both must be of one version, since Wireshark itself prints most of the tree."""
    installed, built = version_of("tshark"), version_of(str(built_in))
    if installed != built:
        return Comparison(not_run=f"the installed tshark is {installed or 'missing'}, the built one {built}")
    if not list(PLUGINS.glob("*/epan/netblt.so")):
        return Comparison(not_run=f"no plugin in {PLUGINS}: run tools/build")
    result = Comparison()
    with tempfile.TemporaryDirectory(prefix="netblt-compare-") as home:
        reader = Reader(Path(home))
        nothing = Path(home) / "nothing"
        nothing.mkdir(mode=0o755)
        for capture in sorted((ROOT / "pcaps").rglob("*.pcapng")):
            arguments = ("-n", "-r", str(reader.readable(capture)), *OPTIONS)
            plugin = reader.run("tshark", *arguments)
            other = reader.run(str(built_in), *arguments, WIRESHARK_PLUGIN_DIR=str(nothing))
            result.captures += 1
            result.characters += len(plugin.stdout)
            if (plugin.stdout, plugin.returncode, 0) != (other.stdout, other.returncode, plugin.returncode):
                result.differ.append(capture.name)
    return result
