# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML page without a browser: blocks of details, packets of a capture, sentences, names, the bundled library."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

import pytest
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common import paths, web
from netblt_conformance.common.verdicts import Cause, Origin, Result, Verdict
from netblt_conformance.report.page import blocks, details, render
from netblt_conformance.trace.encode import Reader
from selftest import page_sample
from selftest.page_reader import PageReader

FAILED = paths.root() / "pcaps" / "violations" / "ctrl04-new-messages-alone.pcapng"
MEGABYTES = 1_000_000


def test_details_come_back_as_they_were_and_shared_packets_are_stored_once() -> None:
    first = page_sample.transfer(1)
    second = {**first, "deciding": 3, "expected": "something else"}
    packed = blocks.pack([(7, first), (9, second), (11, {"expected": "no capture"})])
    stored = dict(enumerate(packed.blocks))
    assert blocks.unpack(stored, packed.places[7]) == first
    assert blocks.unpack(stored, packed.places[9]) == second
    assert blocks.unpack(stored, packed.places[11]) == {"expected": "no capture"}
    assert packed.places[7][0] == packed.places[9][0]
    assert packed.places[7][1] != packed.places[9][1]


def test_a_page_that_would_be_too_large_loses_the_packets_of_the_last_results_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 8 * 1024)
    found = [(number, page_sample.transfer(number)) for number in range(60)]
    whole = blocks.pack(found)
    assert whole.without_packets == 0
    budget = sum(map(len, whole.blocks)) // 2
    packed = blocks.pack(found, budget)
    assert sum(map(len, packed.blocks)) <= budget
    assert 10 < packed.without_packets < 50
    stored = dict(enumerate(packed.blocks))
    assert "events" in blocks.unpack(stored, packed.places[0])
    last = blocks.unpack(stored, packed.places[59])
    assert "events" not in last
    assert "too large" in last["no_events"]
    assert last["expected"] == found[59][1]["expected"]


def test_a_thousand_rows_with_900_failures_are_at_most_5_mb() -> None:
    text = page_sample.page(1000, 900)
    reader = PageReader(text)
    assert len(reader.rows) == 1000
    assert len(text.encode()) <= 5 * MEGABYTES
    with_packets = [row for row in reader.rows if reader.detail(row).get("events")]
    assert len(with_packets) == 900


def test_the_sentence_names_who_which_rule_which_frame_and_the_excuses() -> None:
    rule = catalogue.requirements()["CTRL-04"]
    result = Result(
        "a_case", ["CTRL-04"], "active-receiver", Verdict.FAIL, "CONTROL leaves out #2", frame=13, expected="#2"
    )
    said = details.sentence(result, rule, ["it may have been lost: both ends were captured"])
    for part in (
        "as active-receiver",
        "violates CTRL-04",
        rule.title,
        rule.section,
        "frame 13",
        "leaves out #2",
        "Excluded",
    ):
        assert part in said


def test_each_result_gets_the_texts_that_its_verdict_needs(tmp_path: Path) -> None:
    (tmp_path / "a.pcapng").write_bytes(FAILED.read_bytes())
    (tmp_path / "broken.pcapng").write_bytes(b"no capture")
    (tmp_path / "sweep.x.pcapng").write_bytes(FAILED.read_bytes())
    (tmp_path / "sweep.x.toml").write_text('rules = ["drop nth=2 OK"]', encoding="utf-8")
    results = [
        Result("passed", ["CTRL-04"], "active-receiver", Verdict.PASS, capture="a.pcapng"),
        Result("absent", ["CTRL-04"], "active-receiver", Verdict.FAIL, capture="a.pcapng", frame=13,
               cause=Cause.ABSENCE, expected="OK(3)", seen="nothing"),
        Result("broken", ["CTRL-04"], "active-receiver", Verdict.FAIL, "x", capture="broken.pcapng", expected="y"),
        Result("swept", ["DATA-01"], "active-receiver", Verdict.FAIL, "x", capture="sweep.x.pcapng", expected="y",
               origin=Origin.SWEEP),
    ]  # fmt: skip
    found = details.of_results(tmp_path, results, ["netblt-conformance", "run"])
    assert sorted(found) == [1, 2, 3]
    assert (found[1]["expected"], found[1]["observed"]) == ("OK(3)", "nothing")
    assert found[1]["deciding"] == 12
    assert found[1]["finding_filter"].startswith("frame.number == 13 ||")
    assert "netblt.port ==" in found[1]["filter"]
    deciding = dict(zip(found[1]["fields"], found[1]["events"][12], strict=True))
    assert 13 in (deciding["sent_frame"], deciding["arrived_frame"])
    assert "--select absent" in found[1]["command"]
    assert "events" not in found[2]
    assert "drop nth=2 OK" in found[3]["schedule"]
    assert found[3]["command"] == "netblt-conformance replay sweep.x.toml"
    assert sorted(details.of_results(tmp_path, results, [], everything=True)) == [0, 1, 2, 3]


def test_names_of_results_are_unique_and_stay() -> None:
    results, _found = page_sample.run(50, 40)
    names = render.keys(results + results)
    assert len(set(names)) == len(names)
    assert render.keys(results) == names[: len(results)]
    assert render.keys([results[3]])[0] == names[3]


def test_the_bundled_library_is_the_one_that_is_recorded() -> None:
    folder = web.LIBRARY
    recorded = tomllib.loads((folder / "vendor.toml").read_text(encoding="utf-8"))
    assert recorded["licence"] == "MIT"
    assert set(recorded["sha256"]) == {file.name for file in folder.iterdir()} - {"vendor.toml"}
    for name, digest in recorded["sha256"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, f"{name}: see tools/vendor"
    assert f"v{recorded['version']}" in (folder / "uPlot.iife.min.js").read_text(encoding="utf-8")


def test_each_own_asset_states_its_licence_and_what_it_is_and_the_page_holds_the_librarys() -> None:
    shared = [web.FOLDER / "tools.js", web.FOLDER / "theme.css"]
    own = [*render.ASSETS.iterdir(), *shared]
    templates = {f"{name}.html.jinja" for name in ("page", "base", "macros")}
    assert {file.name for file in own} == {*render.SCRIPTS, "page.css", "theme.css", *templates}
    for file in own:
        first, second, *_rest = file.read_text(encoding="utf-8").splitlines()
        assert "SPDX-License-Identifier: GPL-2.0-or-later" in first, file.name
        assert len(second.split()) > 4, file.name
    text = page_sample.page(1, 1)
    assert (web.LIBRARY / "LICENSE").read_text(encoding="utf-8") in text


def test_details_are_json_that_a_browser_reads() -> None:
    """NaN and infinity are no JSON."""
    detail = Reader(FAILED.parent).of_result(
        Result("x", ["CTRL-04"], "active-receiver", Verdict.FAIL, "x", expected="y", capture=FAILED.name, frame=13)
    )
    assert json.loads(json.dumps(detail, allow_nan=False)) == detail


def test_a_capture_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(details, "CAPTURE_BYTES_MOST", 100)
    (tmp_path / "a.pcapng").write_bytes(FAILED.read_bytes())
    result = Result("x", ["CTRL-04"], "active-receiver", Verdict.FAIL, "x", expected="y", capture="a.pcapng", frame=13)
    (found,) = details.of_results(tmp_path, [result], []).values()
    assert "events" not in found
    assert "too large" in found["no_events"]
