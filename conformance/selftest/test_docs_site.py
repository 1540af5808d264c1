# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation as a site: it builds, its pictures are those that its scenes give, and its commands work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from netblt_conformance.common import paths
from netblt_conformance.draw import scenes

ROOT = paths.root()
DOCS = ROOT / "docs"
START = sorted((DOCS / "start").glob("*.md"))
EXECUTED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w*)$", re.MULTILINE)
LIMIT_S = 300


def test_the_site_builds_and_each_link_leads_somewhere() -> None:
    built = subprocess.run([ROOT / "tools" / "docs"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert built.returncode == 0, built.stderr
    assert (ROOT / "build" / "site" / "protocol" / "05-control.html").is_file()


def test_the_pictures_are_those_that_the_scenes_give(tmp_path: Path) -> None:
    """tools/docs --figures writes them."""
    scenes.main([str(DOCS / "figures" / "scenes.toml"), str(tmp_path)])
    drawn = sorted(tmp_path.glob("*.svg"))
    assert len(drawn) > 8
    assert [one.name for one in drawn if one.read_bytes() != (DOCS / "figures" / one.name).read_bytes()] == []


def environment() -> dict[str, str]:
    path = f"{paths.build() / 'bin'}:{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"
    return os.environ | {"NETBLT": str(ROOT), "PATH": path}


@pytest.mark.parametrize("page", START, ids=lambda page: page.stem)
def test_the_commands_of_a_start_page_work(page: Path, tmp_path: Path) -> None:
    """Blocks of code marked `sh` are executed, in their order. `console` is what a reader has to adapt first."""
    script = "set -e\n" + "".join(EXECUTED.findall(page.read_text()))
    if script == "set -e\n":
        pytest.skip("it shows nothing that can be executed as it is")
    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    assert shutil.which("netblt-conformance", path=environment()["PATH"])


@pytest.mark.parametrize("page", START, ids=lambda page: page.stem)
def test_each_block_of_a_start_page_states_what_it_is(page: Path) -> None:
    opened = FENCE.findall(page.read_text())[::2]
    assert [kind for kind in opened if kind not in ("sh", "console", "toml", "text")] == []
