# SPDX-License-Identifier: GPL-2.0-or-later
"""What is shown of the committed captures changes only on purpose."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from dissector.tests import dissected
from dissector.tests.reader import PLUGINS, Reader


class Unverified(Reader):
    """Shows something else: its settings leave checksums unverified."""

    def __init__(self, home: Path, plugins: Path) -> None:
        super().__init__(home, plugins)
        settings = home / ".config" / "wireshark" / "preferences"
        settings.parent.mkdir(parents=True)
        settings.write_text("netblt.check_checksum: FALSE\n", encoding="utf-8")


@pytest.fixture
def home(reader: Reader) -> Path:
    """A folder for another plugin that a user without rights can read."""
    return Path(tempfile.mkdtemp(dir=reader.home))


# The texts take 660 starts of tshark. What sharkd answers has all that is in them but the report as JSON.
@pytest.mark.parametrize("kind", [pytest.param("texts", marks=pytest.mark.nightly), "answers"])
def test_every_capture_is_shown_as_before_and_changes_are_written_down(reader: Reader, kind: str) -> None:
    known = json.loads(dissected.DIGESTS.read_text(encoding="utf-8"))
    if known["wireshark"] != dissected.wireshark(reader):
        pytest.skip(f"pcaps/dissected.json was made with Wireshark {known['wireshark']}")
    found = dissected.KINDS[kind](reader, dissected.captures())
    differing = dissected.changed(known[kind], found)
    assert differing == [], "if this is meant: dissector/tests/dissected.py --write, and name the change in the commit"


def test_the_answers_about_a_capture_depend_on_what_is_shown_of_it_alone(reader: Reader, home: Path) -> None:
    first, second = dissected.captures()[:2]
    both = dissected.answers(reader, [second, first])
    assert both == {**dissected.answers(reader, [first]), **dissected.answers(reader, [second])}
    otherwise = dissected.answers(Unverified(home, PLUGINS), [first, second])
    assert dissected.changed(both, otherwise) == [dissected.name(path) for path in (first, second)]


def test_a_capture_that_is_shown_otherwise_or_is_new_or_gone_is_named() -> None:
    known = {"a": ["1", "2"], "b": ["1", "2"], "c": ["1", "2"]}
    assert dissected.changed(known, {"a": ["1", "2"], "b": ["1", "3"], "d": ["1", "2"]}) == ["b", "c", "d"]


def test_two_plugins_that_show_the_same_do_not_differ(reader: Reader, home: Path) -> None:
    path = dissected.captures()[0]
    assert dissected.compare(Reader(home, PLUGINS), reader, [path]) == 0


def test_a_capture_that_two_plugins_show_otherwise_is_named_with_its_lines(
    reader: Reader, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dissected.captures()[0]
    assert dissected.compare(Unverified(home, PLUGINS), reader, [path]) == 1
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"{dissected.name(path)}:"
    assert any("[correct]" in line for line in lines)
