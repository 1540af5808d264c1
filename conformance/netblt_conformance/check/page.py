# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML page about captures: what a run's report shows of its cases, of captures from anywhere."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from netblt_conformance.check.judge import Checked
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.common.words import fit_lines
from netblt_conformance.report.deliver import deliver
from netblt_conformance.report.page import details, render
from netblt_conformance.report.page.blocks import Detail

# A page of more rows is no page: captures of very many connections have JSON. What did not pass comes first.
ROWS_MOST = 3000
_PCAPNG = b"\x0a\x0d\x0d\x0a"  # as a file begins


def write(
    file: Path,
    checked: Sequence[Checked],
    header: Mapping[str, Any],
    *,
    stored: Mapping[str, Path] | None = None,
    links: bool = True,
    both_ends: tuple[str, str] | None = None,
) -> None:
    """Writes the page. `stored`: where the captures lie that are not files of the name that results give them.
    `links`: the captures stay there. `both_ends`: the names of two captures of one path."""
    everything = [row for one in checked for row in one.results if row.verdict is not Verdict.NA]
    worst_first = sorted(everything, key=lambda row: row.verdict not in details.WORTH_A_LOOK)
    results = worst_first[:ROWS_MOST]
    places = {row.capture: Path(row.capture) for row in results if row.capture} | dict(stored or {})
    places |= {name: Path(name) for name in both_ends or ()}
    with tempfile.TemporaryDirectory(prefix="netblt-page-") as name:
        found = _details(results, places, Path(name), both_ends, str(header.get("captured_at", "")))
    for number, detail in found.items():
        capture = places.get(str(results[number].capture))
        detail["capture"] = results[number].capture or ""
        detail["capture_link"] = _link(capture, file) if links and capture and capture.is_file() else ""
    names = [one.name for one in checked]
    testing = {"name": names[0] if len(names) == 1 else f"{len(names)} captures"}
    more = len(everything) - len(results)
    left_out = {"left_out": f"{more} rows; --json has all"} if more else {}
    text = render.page({"testing": testing, **left_out, **header}, results, found)
    deliver(fit_lines(text), str(file))


def _link(capture: Path, file: Path) -> str:
    return Path(os.path.relpath(capture.resolve(), file.resolve().parent)).as_posix()


def _details(
    results: Sequence[Result],
    places: Mapping[str, Path],
    folder: Path,
    both_ends: tuple[str, str] | None,
    captured_at: str,
) -> dict[int, Detail]:
    """The details, from copies in `folder` that are pcapng: captures may have any format that Wireshark reads."""
    local = {}
    for number, (name, capture) in enumerate(places.items()):
        if capture.is_file() and capture.stat().st_size <= details.CAPTURE_BYTES_MOST:
            local[name] = f"{number}.pcapng"
            _as_pcapng(capture, folder / local[name])
    here = [dataclasses.replace(row, capture=local.get(str(row.capture))) for row in results]
    pair = (local[both_ends[0]], local[both_ends[1]]) if both_ends and local.keys() >= set(both_ends) else None
    return details.of_results(folder, here, (), dissect=True, pair=pair, captured_at=captured_at)


def _as_pcapng(capture: Path, copy: Path) -> None:
    with capture.open("rb") as file:
        known = file.read(len(_PCAPNG)) == _PCAPNG
    if known:
        copy.symlink_to(capture.resolve())
        return
    program = shutil.which("editcap")
    if program is None:
        raise JudgeError("editcap is not installed (package wireshark-common); run tools/setup")
    # What editcap cannot read to its end is drawn as far as it got.
    subprocess.run([program, "-F", "pcapng", str(capture), str(copy)], capture_output=True, check=False)
