# SPDX-License-Identifier: GPL-2.0-or-later
"""The command draw: pictures of a capture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from netblt_conformance.commands.cli import main
from netblt_conformance.common import paths
from netblt_conformance.draw.layout import ROW, layout
from netblt_conformance.trace.build import build, read

GOLDEN = paths.root() / "pcaps" / "golden" / "lossy-transfer.pcapng"


def dropped() -> int:
    """Packets that the network dropped, as the run that made the capture counted them."""
    return len(json.loads(GOLDEN.with_suffix(".expected.json").read_text())["dropped"])


def test_a_ladder_marks_each_packet_that_was_lost(tmp_path: Path) -> None:
    picture = tmp_path / "ladder.svg"
    assert main(["draw", str(GOLDEN), "--output", str(picture), "--title", "Losses"]) == 0
    text = picture.read_text()
    assert text.count("lost]") == dropped() > 5
    assert "Losses" in text
    assert "10.0.0.1 port" in text


def test_frames_choose_what_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "begin.svg"
    assert main(["draw", str(GOLDEN), "--frames", "1-2", "--output", str(picture)]) == 0
    text = picture.read_text()
    assert "OPEN" in text
    assert "DATA" not in text


def test_a_plot_shows_first_and_repeated_data(tmp_path: Path) -> None:
    picture = tmp_path / "plot.svg"
    assert main(["draw", str(GOLDEN), "--kind", "sequence", "--output", str(picture)]) == 0
    assert all(name in picture.read_text() for name in ("DATA, first time", "DATA, again", "RESEND arrives"))


def test_packets_of_one_end_have_room_for_their_labels_and_arrows_point_downwards() -> None:
    events = list(build(read(GOLDEN)).events)
    placed = layout(events)
    for end in (0, 1):
        heights = [
            place.leaves
            for event, place in zip(events, placed.places, strict=True)
            if event.source == end and event.copy_of is None
        ]
        steps = [after - before for before, after in zip(sorted(heights), sorted(heights)[1:], strict=False)]
        assert min(steps) >= ROW - 1e-6
    assert all(place.arrives > place.leaves for place in placed.places)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--frames", "9-3"], "must be from a frame to the same or a later one"),
        (["--frames", "x"], "must be a frame number, or two"),
        (["--connection-of", "90000"], "frame 90000 is not a packet of a NETBLT connection"),
        (["--frames", "90000-90001"], "there is no packet of a NETBLT connection in frames 90000 to 90001"),
        (["--output", "picture.gif"], "must end in .svg, .png, .pdf"),
        (["--output", "missing/folder.svg"], "missing/folder.svg: No such file or directory"),
    ],
)
def test_bad_input_gets_an_error_that_names_it(
    words: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status = main(["draw", str(GOLDEN), "--output", "a.svg", *words])
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    assert status == 2
    assert reason in capsys.readouterr().err


def test_a_file_that_is_no_capture_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "text.pcapng"
    file.write_text("not a capture")
    assert main(["draw", str(file), "--output", str(tmp_path / "a.svg")]) == 2
    assert "text.pcapng" in capsys.readouterr().err
