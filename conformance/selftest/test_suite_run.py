# SPDX-License-Identifier: GPL-2.0-or-later
"""netblt-conformance run on the sim link: verdicts, files, determinism, and what it reports when it cannot run."""

from __future__ import annotations

import argparse
import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.run.running import Listener

if TYPE_CHECKING:
    from netblt_conformance.run.engine import Plan
    from selftest.conftest import Command, Outcome

# All that virtual time cannot show.
NEEDS_REAL_PACKETS = {
    "a_storm_of_duplicates_does_no_harm",
    "a_storm_of_an_earlier_connection_does_no_harm",
    "a_flood_ends_no_worse_than_in_a_clean_failure",
    "every_packet_rides_in_ip_protocol_30",
}
LONG = {  # run --long
    "numbers_go_on_beyond_sixteen_bits",
    "acknowledgements_go_on_beyond_sixteen_bits",
    "packet_numbers_of_a_request_have_16_bits",
}

FEW = "CKSUM-06,CTRL-04,RESEND-01"


def test_the_reference_passes_every_case_in_every_role(whole_run: Outcome) -> None:
    done = whole_run
    assert done.status == 0, done.output + done.errors
    other = [result for result in done.results if result.verdict is not Verdict.PASS]
    assert {result.verdict for result in other} <= {Verdict.NA}
    assert {result.case for result in other} == NEEDS_REAL_PACKETS | LONG
    assert len({result.case for result in done.results}) > 60


@pytest.mark.usefixtures("built_library")
def test_select_given_twice_runs_what_either_picks(command: Command) -> None:
    done = command("run", "--select", "OPEN-02", "--select", "NEG-01")
    assert {name for result in done.results for name in result.requirements} >= {"OPEN-02", "NEG-01"}


@pytest.mark.usefixtures("built_library")
def test_the_files_agree_with_each_other(command: Command) -> None:
    done = command("run", "--select", FEW)
    cases = ET.fromstring(done.junit).findall("testcase")
    assert len(cases) == len(done.results)
    for result in done.results:
        assert result.capture is not None
        assert (done.report / result.capture).stat().st_size > 100
    header = json.loads((done.report / "results.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert header["seed"] == 1
    assert header["link"] == "sim"


@pytest.mark.usefixtures("built_library")
def test_json_lines_and_junit_go_where_they_are_told(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "my.xml"
    done = command("run", "--select", "CTRL-04", "--json-lines", "--junit", str(file))
    rows = [json.loads(line) for line in done.output.splitlines()]
    assert {row["kind"] for row in rows} == {"run", "result"}
    assert file.read_text(encoding="utf-8") == done.junit


@pytest.mark.usefixtures("built_writer")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "--select", "CTRL-99"), "CTRL-99"),
        (("run", "--select", "nonsense_name"), "nonsense_name"),
        (("run", "--select", "OPEN-03", "--role", "passive-sender"), "nothing selected"),
        (("run", "--iut-library", "/no/such.so"), "/no/such.so is not there"),
        (("run", "--iut-library", "/etc/hostname"), "tools/build"),
        (("run", "--link", "pipe", "--adapter", "/no/such.toml"), "/no/such.toml: No such file"),
        (("explain", "CTRL-99"), "this area has CTRL-01 to CTRL-16"),
        (("mutants", "nobody"), "no mutant or variant is named 'nobody'"),
    ],
)
def test_what_cannot_run_says_why_in_one_line(command: Command, arguments: tuple[str, ...], complaint: str) -> None:
    done = command(*arguments)
    assert done.status == 2
    assert complaint in done.errors
    assert len(done.errors.strip().splitlines()) == 1


@pytest.mark.usefixtures("built_library")
def test_a_report_that_cannot_be_written_is_named(command: Command, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder", encoding="utf-8")
    done = command("run", "--select", "CTRL-04", "--report", str(blocked))
    assert done.status == 2
    assert str(blocked) in done.errors


@pytest.mark.usefixtures("built_writer")
def test_wire_without_rights_names_the_fallback(command: Command) -> None:
    if os.geteuid() == 0:
        pytest.skip("this user has the rights")
    done = command("run", "--link", "wire", "--select", "CKSUM-01")
    assert done.status == 0 or "--link sim" in done.errors


def test_list_and_explain_know_the_cases(command: Command) -> None:
    listed = command("list", "--select", "CTRL-04")
    assert listed.status == 0
    assert "every control carries all messages" in listed.output
    explained = command("explain", "ctrl-04")
    assert explained.status == 0
    assert f"CTRL-04  {catalogue.requirements()['CTRL-04'].title}" in explained.output
    assert "every control carries all messages" in explained.output


def test_what_ended_a_case_before_it_had_a_result_stands_in_its_row() -> None:
    key, options = "a case[active-sender]", argparse.Namespace(strict=False, quiet=True, verbose=False)
    listener = Listener(cast("Plan", None), [key], {"a case": ("open.py", "OPEN-01")}, options, live=False)
    listener({"event": "trace", "what": "a long story", "key": key, "why": "KeyError: 7"})
    [result] = listener.ordered()
    assert (result.verdict, result.seen) == (Verdict.ERROR, "the case left no result: KeyError: 7")
    assert result.expected == "", "no implementation is meant"
