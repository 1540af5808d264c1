# SPDX-License-Identifier: GPL-2.0-or-later
"""Proof that the cases can fail: null implementations never pass, mutants are killed, stale mutants are an error."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from netblt_conformance.common import paths
from netblt_conformance.common.model import ALL_ROLES, PASSIVE_SENDER
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.mutants import mutants, mutation
from netblt_conformance.run.engine import Plan
from netblt_conformance.run.selection import Selection
from netblt_conformance.run.worker import Supervisor
from netblt_conformance.sweep.plan import SweepPlan

if TYPE_CHECKING:
    from selftest.conftest import Command

NULL_SOURCE = Path(__file__).with_name("test_suite_faulty_iut.c")
FAULTS = {"silent": 1, "echoing": 2, "crashing": 3, "lying": 4}
CORE = paths.root() / "reference_impl" / "core"


@pytest.fixture(params=FAULTS)
def null_library(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    return request.param, build_null(tmp_path, FAULTS[request.param])


def build_null(folder: Path, fault: int) -> Path:
    library = folder / "libnull.so"
    command = ["cc", "-std=gnu17", "-shared", "-fPIC", f"-DFAULT={fault}", f"-I{paths.sim_sources()}"]
    subprocess.run([*command, str(NULL_SOURCE), "-o", str(library)], check=True)
    return library


TRANSFERS = "OPEN-01,DATA-08,CTRL-04,RESEND-02"


@pytest.mark.usefixtures("built_writer")
def test_a_null_implementation_fails_a_run_and_never_passes_a_transfer(
    null_library: tuple[str, Path], command: Command
) -> None:
    name, library = null_library
    done = command("run", "--iut-library", str(library), "--select", f"{TRANSFERS},OPEN,QUIT")
    assert done.status == 1, done.output
    transfers = [one for one in done.results if not {*one.requirements}.isdisjoint(TRANSFERS.split(","))]
    assert transfers
    assert not [one for one in transfers if one.verdict in (Verdict.PASS, Verdict.WARN)], done.output
    if name == "crashing":
        assert any("SIGABRT" in result.seen for result in transfers)


@pytest.mark.usefixtures("built_writer")
def test_an_implementation_that_hangs_is_ended_and_failed(tmp_path: Path) -> None:
    library = build_null(tmp_path, 5)
    plan = Plan(SimLinkFactory(library), 1, Selection("OPEN-02"), (PASSIVE_SENDER,), tmp_path)
    events: list[dict[str, Any]] = []
    Supervisor(plan, 1, 1.0, events.append).run()
    [crash, *_] = [event for event in events if event["event"] == "crash"]
    assert "hangs, or sends without end: the case took more than 1 s" in crash["why"]


@pytest.mark.usefixtures("built_writer")
def test_a_crash_under_damaged_packets_names_the_packet(tmp_path: Path) -> None:
    [mutant] = [m for m in mutants.load(paths.mutants()) if m.name == "garbage-crashes"]
    with mutation.workshop(CORE) as made:
        outcome = mutation.run_cases(made.build(mutant), "damaged_packets_whose", tmp_path, jobs=1)
    reasons = [result.seen for result in outcome.results if result.verdict is Verdict.FAIL]
    assert reasons
    assert all(re.search(r"crashed with SIG\w+, after \S+ with .*\([0-9a-f]+\)", reason) for reason in reasons)


def test_a_variant_names_ambiguities_and_what_must_be_observed(tmp_path: Path) -> None:
    text = ONE.replace("mutant", "variant").replace('requirement = "CTRL-01"', 'ambiguities = ["AMB-09"]')
    [variant] = mutants.load_variants(mutants_folder(tmp_path, text))
    assert variant.ambiguities == ("AMB-09",)
    with pytest.raises(mutants.MutantError, match="unknown ambiguity 'AMB-99'"):
        mutants.load_variants(mutants_folder(tmp_path, text.replace("AMB-09", "AMB-99")))
    text = text.replace('["AMB-09"]', '[]\npermitted_by = ["NEG-99"]')
    with pytest.raises(mutants.MutantError, match="unknown requirement 'NEG-99'"):
        mutants.load_variants(mutants_folder(tmp_path, text))


@pytest.mark.parametrize(("sweep", "verdicts"), [(True, [Verdict.PASS, Verdict.FAIL]), (False, [Verdict.PASS])])
def test_what_a_sweep_finds_counts_against_a_variant_where_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, sweep: bool, verdicts: list[Verdict]
) -> None:
    library = tmp_path / "variant.so"
    variant = mutants.load_variants(paths.variants())[0]
    made = mutation.Workshop(tmp_path, CORE, library, {}, sweep=sweep)

    def result(verdict: Verdict) -> Result:
        return Result("case", ["OPEN-03"], "active-sender", verdict, "it gave up", expected="a success")

    class Swept:
        def __init__(self, plan: SweepPlan, _progress: object) -> None:
            assert (plan.iut, plan.roles, plan.pairs) == (library, ALL_ROLES, True)

        def run(self) -> list[Result]:
            return [result(Verdict.FAIL)]

    monkeypatch.setattr(mutation.Workshop, "build", lambda *_: library)
    monkeypatch.setattr(mutation, "run_cases", lambda *_, **__: mutation.Outcome("", [result(Verdict.PASS)]))
    monkeypatch.setattr(mutation, "disagreements", lambda *_: [])
    monkeypatch.setattr(mutation, "Sweep", Swept)
    assert [one.verdict for one in mutation.both_judges(made, variant).results] == verdicts


def test_every_variant_applies_to_the_core() -> None:
    for variant in mutants.load_variants(paths.variants()):
        assert mutants.edited(variant, CORE)


def mutants_folder(tmp_path: Path, text: str) -> Path:
    (tmp_path / "one.toml").write_text(text, encoding="utf-8")
    return tmp_path


ONE = """
[[mutant]]
name = "one"
requirement = "CTRL-01"
about = "something"
[[mutant.edit]]
file = "a.c"
old = "int a;"
new = "int b;"
"""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (ONE.replace("CTRL-01", "CTRL-99"), "unknown requirement 'CTRL-99'"),
        (ONE.replace('about = "something"\n', ""), "one.toml: mutant one.about: missing"),
        (ONE.replace('new = "int b;"\n', ""), "one.toml: mutant one.edit 1.new: missing"),
        (ONE.replace("int b;", "int a;"), "must be different"),
        (ONE.replace("about", "abuot"), "mutant one.abuot: unknown key 'abuot'; did you mean 'about'"),
        (ONE + ONE, "two mutants are named 'one'"),
        ("", "no mutants"),
    ],
)
def test_a_mistake_in_a_mutant_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(mutants.MutantError, match=complaint):
        mutants.load(mutants_folder(tmp_path, text))


@pytest.mark.parametrize(("source", "count"), [("int c;", 0), ("int a; int a;", 2)])
def test_old_text_that_is_not_there_exactly_once_is_an_error(tmp_path: Path, source: str, count: int) -> None:
    core = tmp_path / "core"
    core.mkdir()
    (core / "a.c").write_text(source, encoding="utf-8")
    mutant = mutants.load(mutants_folder(tmp_path, ONE))[0]
    with pytest.raises(mutants.MutantError, match=f"is {count} times in a.c"):
        mutants.apply(mutant, core, tmp_path / "copy")


def test_every_mutant_applies_to_the_core() -> None:
    for mutant in mutants.load(paths.mutants()):
        assert mutants.edited(mutant, CORE)


@pytest.mark.usefixtures("built_writer")
def test_a_mutant_that_changes_nothing_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = ONE.replace("a.c", "control_queue.c").replace("int a;", "assert(count > 0);").replace("int b;", "")
    folder = tmp_path / "mutants"
    folder.mkdir()
    mutants_folder(folder, text)
    monkeypatch.setattr(paths, "mutants", lambda: folder)
    assert mutation.run(mutation.Wanted([], CORE, verbose=False)) == 1


# Killed by a verdict, by a WARN, by a monitor in another case, by a crash; seen on the wire; one that edits a header.
A_FEW = ["only-new-messages", "packed-apart", "sequence-numbers-skip", "garbage-crashes", "checksum-not-verified"]


@pytest.mark.usefixtures("built_writer")
def test_some_mutants_are_killed(command: Command) -> None:
    """All of them: the step `mutants` of tools/test."""
    done = command("mutants", *A_FEW)
    assert done.status == 0, done.output + done.errors
    assert f"{len(A_FEW)} of {len(A_FEW)} mutants killed" in done.output


@pytest.mark.usefixtures("built_writer")
def test_a_done_that_comes_too_early_is_named(command: Command) -> None:
    """What it should have sent instead, and never will, is not the news."""
    done = command("mutants", "-v", "done-before-the-last-ack")
    assert "DONE although the last OK is not acknowledged" in done.output, done.output


@pytest.mark.usefixtures("built_writer")
def test_what_kills_the_reference_too_kills_nothing(tmp_path: Path) -> None:
    [mutant] = [m for m in mutants.load(paths.mutants()) if m.name == "only-new-messages"]
    [edit] = mutant.edits
    core = shutil.copytree(CORE, tmp_path / "core")
    source = mutants.source_file(core, edit.file)
    broken = source.read_text(encoding="utf-8").replace(edit.old, edit.new)
    source.write_text(f"{broken}\n/* {edit.old} */\n", encoding="utf-8")
    with pytest.raises(mutants.MutantError, match="the reference itself does not pass"):
        mutation.run(mutation.Wanted([mutant.name], core, verbose=False))


@pytest.mark.nightly
@pytest.mark.usefixtures("built_writer")
def test_a_matrix_asks_for_no_mutant_of_cases_that_did_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mutation.matrix(tmp_path / "matrix.json", ["only-new-messages"], CORE)
    output = capsys.readouterr().out
    assert "kills nothing: each_connection_request_has_another_unique_id" in output
    assert "sixteen_bits" not in output
