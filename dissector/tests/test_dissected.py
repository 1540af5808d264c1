# SPDX-License-Identifier: GPL-2.0-or-later
"""What is shown of the committed captures changes only on purpose."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from dissector.tests import dissected
from dissector.tests.reader import PLUGINS, Reader


# What one pass shows is a part of what two passes show (test_passes.py), and 300 starts of tshark take long.
@pytest.mark.parametrize(
    "number", [pytest.param(0, marks=pytest.mark.nightly, id="one pass"), pytest.param(1, id="two passes")]
)
def test_every_capture_is_shown_as_before_and_changes_are_written_down(reader: Reader, number: int) -> None:
    known = json.loads(dissected.DIGESTS.read_text(encoding="utf-8"))
    if known["wireshark"] != dissected.wireshark(reader):
        pytest.skip(f"pcaps/dissected.json was made with Wireshark {known['wireshark']}")
    before = {name: [both[number]] for name, both in known["captures"].items()}
    found = dissected.digests(reader, dissected.captures(), [dissected.PASSES[number]])
    differing = dissected.changed(before, found)
    assert differing == [], "if this is meant: dissector/tests/dissected.py --write, and name the change in the commit"


def test_a_capture_that_is_shown_otherwise_or_is_new_or_gone_is_named() -> None:
    known = {"a": ["1", "2"], "b": ["1", "2"], "c": ["1", "2"]}
    assert dissected.changed(known, {"a": ["1", "2"], "b": ["1", "3"], "d": ["1", "2"]}) == ["b", "c", "d"]


@pytest.fixture
def home(reader: Reader) -> Path:
    """A folder for another plugin that a user without rights can read."""
    return Path(tempfile.mkdtemp(dir=reader.home))


def test_two_plugins_that_show_the_same_do_not_differ(reader: Reader, home: Path) -> None:
    path = dissected.captures()[0]
    assert dissected.compare(Reader(home, PLUGINS), reader, [path]) == 0


class Unverified(Reader):
    """Shows something else: it leaves checksums unverified."""

    def tshark(self, path: Path, *options: str) -> str:
        return super().tshark(path, "-o", "netblt.check_checksum:FALSE", *options)


def test_a_capture_that_two_plugins_show_otherwise_is_named_with_its_lines(
    reader: Reader, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dissected.captures()[0]
    assert dissected.compare(Unverified(home, PLUGINS), reader, [path]) == 1
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"{dissected.name(path)}:"
    assert any("[correct]" in line for line in lines)
