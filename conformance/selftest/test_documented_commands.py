# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command that a document shows is one that the program takes, and every block states whether it is executed."""

from __future__ import annotations

import re

import pytest
from netblt_conformance.catalogue.catalogue import requirements
from netblt_conformance.commands.commands import sweep_candidates
from netblt_conformance.run.loaded import Loaded, with_cases
from netblt_conformance.run.selection import Candidate, Selection
from selftest import documented_commands as documented
from selftest.documented_commands import DOCUMENTS, Block, Shown, blocks, mistakes, shown_in, shown_in_text

EXECUTED, ADAPTED, OUTPUT = "sh", "console", "text"
KINDS = {EXECUTED, ADAPTED, OUTPUT, "toml", "python", "c", "json", "unmarked", "indented"}


def candidates(loaded: Loaded) -> list[Candidate]:
    return [*loaded.candidates(), *sweep_candidates()]


pytestmark = pytest.mark.usefixtures("built_writer")
ALL = [block for document in DOCUMENTS for block in blocks(document)]


def test_each_command_of_a_document_is_one_that_the_program_takes() -> None:
    commands = [shown for block in ALL if block.kind in (EXECUTED, ADAPTED) for shown in shown_in(block)]
    assert len(commands) > 100
    assert {shown.words[0] for shown in commands} >= set(documented.PROGRAMS)
    assert [f"{shown.place}: {mistake}" for shown in commands for mistake in mistakes(shown)] == []


def test_each_option_of_a_command_in_the_text_of_a_document_is_one_that_the_program_has() -> None:
    commands = [shown for document in DOCUMENTS for shown in shown_in_text(document)]
    assert len(commands) > 50
    assert [f"{shown.place}: {mistake}" for shown in commands for mistake in mistakes(shown)] == []


def test_what_a_document_selects_is_there() -> None:
    texts = {document: document.read_text(encoding="utf-8") for document in DOCUMENTS}
    found = {one.strip("'") for text in texts.values() for one in re.findall(r"--select ('[^']+'|[^\s`\[]+)", text)}
    assert len(found) > 8
    with_cases(
        lambda loaded: [Selection(one).check(candidates(loaded), requirements()) for one in found if one != "EXPR"]
    )


def test_each_block_with_commands_states_whether_it_is_executed() -> None:
    """`sh` is executed (test_docs_site.py does that, for the start pages), `console` is to be adapted first. Other
    words state that it is no shell; `text` is what a command printed."""
    assert [f"{block.file}:{block.line}: {block.kind}" for block in ALL if block.kind not in KINDS] == []
    silent = [block for block in ALL if block.kind in ("unmarked", "indented") and any(shown_in(block))]
    assert [f"{block.file}:{block.line}" for block in silent] == []
    assert {block.file.rpartition("/")[0] for block in ALL if block.kind == EXECUTED} == {"docs/start"}


def refused(line: str) -> list[str]:
    """What is wrong with the commands of one line of a block marked `console`."""
    shown = list(shown_in(Block("a.md", 1, ADAPTED, tuple(line.split("\n")))))
    assert shown, line
    return [mistake for one in shown for mistake in mistakes(one)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("netblt-conformance run --no-such", "unrecognized arguments: --no-such"),
        ("true && netblt-conformance rum", "invalid choice: 'rum'"),
        ("netblt-conformance run --link tin", "argument --link: invalid choice"),
        ("netblt-conformance check FILE... [--no-such] [--json]", "netblt-conformance check has no option --no-such"),
        ("netblt-conformance run \\\n    --no-such", "unrecognized arguments: --no-such"),
        ("here$ netblt send photos there --no-such", "netblt send has no option --no-such"),
        ("netblt sned x", "netblt has no command 'sned'"),
        ("netblt-plan --rate 20M --rtt 5ms --size 1M --rrt 5ms", "unrecognized arguments: --rrt 5ms"),
        ("flakeway --left a --right b --los 2%", "flakeway has no option --los"),
        ("tools/bench --movers --no-such", "tools/bench has no option --no-such"),
        ("netblt --no-such [FILE]", "netblt has no option --no-such"),
        ("tools/package-all", "there is no tools/package-all"),
        ("A=1 .venv/bin/netblt-conformance list --no-such | head", "unrecognized arguments: --no-such"),
    ],
)
def test_a_command_that_is_not_taken_is_found(line: str, reason: str) -> None:
    (mistake,) = refused(line)
    assert reason in mistake


@pytest.mark.parametrize(
    "line",
    [
        "netblt-conformance run --link sim                 # --no-such is a comment",
        "$ netblt-conformance explain CTRL-04\nnetblt-conformance prints --no-such",
        "netblt-conformance check --explain FILE... [--captured-at sender|receiver|path] [--json]",
        "netblt send photos there --encap udp &",
        "netblt-plan --rate 20M --rtt 560ms --loss 0.3% --size 100M",
        "tools/test && tools/nightly --list",
    ],
)
def test_a_command_that_is_taken_is_not_reported(line: str) -> None:
    assert refused(line) == []


def test_a_command_that_a_prompt_precedes_is_one_command() -> None:
    block = Block("a.md", 7, ADAPTED, ("$ netblt-conformance list \\", "    --select must", "output"))
    assert list(shown_in(block)) == [Shown("a.md:7", ("netblt-conformance", "list", "--select", "must"), False)]
