#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the wheel twice, compares both, installs it into a fresh environment, and runs it where no compiler, no
repository and none of its programs are on the path.

Usage: wheel.py     after tools/build. Exit status: 0 all of it works, 1 something does not."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRIED = (
    ["netblt-conformance", "run", "--no-sweep", "--no-dissector"],
    ["netblt-conformance", "doctor", "--adapter", "{adapters}/example_pipe_c.toml"],
    ["netblt-conformance", "explain", "CTRL-04"],
    ["netblt-plan", "--rate", "20M", "--rtt", "100ms", "--loss", "0.3%", "--size", "1M"],
)


def wheel(folder: Path) -> Path:
    subprocess.run([sys.executable, ROOT / "tools" / "wheel.py", folder], check=True)
    (made,) = folder.glob("*.whl")
    return made


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="netblt-wheel-test-") as kept:
        here = Path(kept)
        first, second = wheel(here / "a"), wheel(here / "b")
        if first.read_bytes() != second.read_bytes():
            print(f"two builds of {first.name} differ", file=sys.stderr)
            return 1
        subprocess.run([sys.executable, "-m", "venv", here / "fresh"], check=True)
        bin_folder = here / "fresh" / "bin"
        subprocess.run([bin_folder / "pip", "install", "--quiet", first], check=True)
        (adapters,) = (here / "fresh").glob("lib/*/site-packages/netblt_conformance/installed/conformance/adapters")
        for words in TRIED:
            began_s = time.monotonic()
            command = [str(bin_folder / words[0]), *(word.format(adapters=adapters) for word in words[1:])]
            alone = {"PATH": str(bin_folder), "HOME": kept}
            ran = subprocess.run(command, cwd=here, env=alone, capture_output=True, text=True, check=False)
            print(f"{' '.join(words)}: exit status {ran.returncode}, {time.monotonic() - began_s:.1f} s")
            if ran.returncode:
                print(ran.stdout[-3000:], ran.stderr[-3000:], sep="\n", file=sys.stderr)
                return 1
        print(f"{first.name}: {first.stat().st_size} bytes, two builds are equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
