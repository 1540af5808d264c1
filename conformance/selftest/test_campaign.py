# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns: the file, the same results whatever ends at whatever moment, refusal of other versions, queries."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from netblt_conformance.campaign import description, estimate, kind, prepared
from netblt_conformance.campaign.errors import CampaignError, MismatchError, RunnerError
from netblt_conformance.campaign.folder import Folder
from netblt_conformance.campaign.kind import KINDS, Subject, class_of
from netblt_conformance.campaign.messages import Order
from netblt_conformance.campaign.questions import Results
from netblt_conformance.campaign.rows import Row
from netblt_conformance.campaign.worker import Package, Place, Runner, Task
from netblt_conformance.common import paths
from netblt_conformance.common.model import ALL_ROLES
from netblt_conformance.common.toml_file import Table
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.generated.campaign import Block, Campaign, Pool
from netblt_conformance.links.sim import SimLinkFactory
from selftest.scripts import nightly_script

if TYPE_CHECKING:
    from selftest.conftest import Command

disturb: Any = nightly_script("campaign")
FAULTY_SOURCE = Path(__file__).with_name("test_suite_faulty_iut.c")
SCRIPTS = 25  # the first ones of a block
PLAN = disturb.Plan(units=2_000, block=100, workers=2, kills=1, dissector=False)


def write(folder: Path, text: str) -> Path:
    path = folder / "campaign.toml"
    path.write_text(text, encoding="utf-8")
    return path


def small(units: int = 60, block: int = 20, more: str = "") -> str:
    text: str = disturb.SWEEP.format(seed=3, units=units, block=block, dissector="false")
    return text.replace("[parameters]", f"{more}\n[parameters]")


# ---- the file ----


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("layout = 1", "layout = 2", "layout"),
        ('kind = "sweep"', 'kind = "weep"', "there is no kind of campaign 'weep'; there are sweep"),
        ("units = 60", "units = 0", "units: 0 must be from 1 to"),
        ("units = 60", "unit = 60", "unknown key 'unit'; did you mean 'units'?"),
        ("seed = 3", 'seed = "3"', "seed: '3' must be a whole number"),
        ("singles = false", "single = false", "parameters: single: unknown key 'single'; did you mean 'singles'?"),
        ("singles = false", 'roles = ["sender"]', "unknown role 'sender'"),
        ("[parameters]", '[target]\nlibrary = "no.so"\n[parameters]', "no.so: no such file"),
        ("[parameters]", '[target]\nlibrary = "a"\nadapter = "b"\n[parameters]', "give one of them"),
        ("block = 20", "block = ", "line"),
    ],
)
def test_a_mistake_in_a_campaign_file_is_named(
    tmp_path: Path, built_library: Path, old: str, new: str, named: str
) -> None:
    del built_library
    text = small()
    assert old in text
    path = write(tmp_path, text.replace(old, new))
    with pytest.raises(CampaignError) as caught:
        prepared.prepare(description.read(path), str(path))
    assert named in str(caught.value)
    assert str(path) in str(caught.value) or "kind of campaign" in named


def test_a_kind_without_end_needs_a_number_of_units(tmp_path: Path, built_library: Path) -> None:
    del built_library
    path = write(tmp_path, 'layout = 1\nkind = "generated"\n')
    with pytest.raises(CampaignError, match="units: missing: how many scripts"):
        prepared.prepare(description.read(path), str(path))


def test_blocks_of_scripts_are_multiples_of_the_blocks_in_which_they_are_invented(
    tmp_path: Path, built_library: Path
) -> None:
    del built_library
    path = write(tmp_path, 'layout = 1\nkind = "generated"\nunits = 1000\nblock = 150\n')
    with pytest.raises(CampaignError, match="block: 150 must be a multiple of 100"):
        prepared.prepare(description.read(path), str(path))


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_states_what_its_units_and_columns_are(name: str) -> None:
    cls = class_of(name)
    assert cls.unit
    assert cls.about
    assert cls.block % cls.multiple == 0
    assert issubclass(cls.Parameters, Table)
    assert all(cls.measures.values())


def test_a_random_schedule_depends_on_its_number_and_not_on_its_block(tmp_path: Path, built_library: Path) -> None:
    del built_library
    wanted = description.read(write(tmp_path, small()))
    one, other = (kind.make(wanted, Subject(), "x") for _ in range(2))
    one.count()
    last = one.schedule(5_000)  # type: ignore[attr-defined]
    assert other.schedule(5_000) == last  # type: ignore[attr-defined]
    assert one.schedule(5_001) != last  # type: ignore[attr-defined]


# ---- running ----


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, built_library: Path) -> Path:
    """A campaign that nothing disturbed, by one worker; its file is beside it. Made once, whichever of pytest's workers
    asks first."""
    del built_library
    worker = "PYTEST_XDIST_WORKER" in os.environ
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if worker else base) / "campaign"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            disturb.undisturbed(PLAN, folder)
            (folder / "ready").touch()
    return folder / "undisturbed"


@pytest.mark.nightly
def test_a_killed_worker_changes_no_result(finished: Path) -> None:
    """Two workers, of which one is killed while it runs units."""
    found, kills = disturb.kill_workers(PLAN, finished.parent)
    assert kills == 1, "the campaign was over before a worker could be killed"
    assert [row[0] for row in found] == list(range(PLAN.units))
    assert found == disturb.content(finished)


def test_ctrl_c_leaves_a_folder_that_can_be_resumed(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    output, file = tmp_path / "out", str(finished.parent / "campaign.toml")
    process = disturb.start("run", file, "--output", str(output), "--workers", "2")
    disturb.wait_until(lambda: disturb.blocks(output) >= 2 or process.poll() is not None)
    started = disturb.below(process.pid)
    process.send_signal(signal.SIGINT)
    status, text = disturb.ended(process)
    assert status == 2
    assert "interrupted: " in text
    assert f"campaign resume {output}" in text
    assert disturb.alive(started) == []
    assert not list(temporary.iterdir())
    assert 2 <= disturb.blocks(output) < PLAN.units // PLAN.block

    process = disturb.start("resume", str(output), "--workers", "1")
    assert disturb.ended(process)[0] == 0
    assert disturb.content(output) == disturb.content(finished)


def test_a_campaign_that_has_ended_is_not_run_again(command: Command, finished: Path) -> None:
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (finished / "blocks").iterdir())
    done = command("campaign", "run", str(finished.parent / "campaign.toml"), "--output", str(finished))
    assert done.status == 0
    assert f"{PLAN.units} of {PLAN.units} units, 0 failed" in done.output
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (finished / "blocks").iterdir()) == before


def test_another_campaign_is_not_mixed_into_a_folder(command: Command, finished: Path, tmp_path: Path) -> None:
    text = (finished.parent / "campaign.toml").read_text(encoding="utf-8")
    other = write(tmp_path, text.replace("seed = 1", "seed = 2"))
    done = command("campaign", "run", str(other), "--output", str(finished))
    assert done.status == 2
    assert "holds a campaign that differs: the campaign file" in done.errors


def test_one_command_at_a_time_runs_a_campaign(finished: Path) -> None:
    with (
        Folder(finished).locked(),
        pytest.raises(CampaignError, match="another command runs this campaign now"),
        Folder(finished).locked(),
    ):
        pass


def state_of(folder: Path, text: str, subject: Subject | None = None) -> tuple[Folder, Package]:
    """A folder of results before its first run."""
    state, found = prepared.prepare(description.read(write(folder, text)), "x")
    made = Folder(folder / "out")
    made.create(state, subject or found)
    return made, prepared.package(state, made.subject(state))


def test_a_block_that_is_stored_twice_counts_once_and_half_a_file_not_at_all(
    tmp_path: Path, built_library: Path
) -> None:
    del built_library
    folder, package = state_of(tmp_path, small(units=40))
    place = Place(package)
    try:
        content = place.run(Task(package.id, 0, 0, 20), "0")
    finally:
        place.end()
    (folder.blocks / "00000001.parquet.partial").write_bytes(content[:100])
    folder.store(0, content)
    folder.store(0, content)
    with folder.locked():
        assert folder.finished() == {0}
        assert len(list(folder.blocks.iterdir())) == 1, "what was half written is removed"
    assert Results(folder).ask("select count(*), count(distinct unit) from units").rows == [(20, 20)]


@pytest.mark.parametrize("what", ["sources", "implementation under test"])
def test_a_worker_of_another_version_runs_nothing(tmp_path: Path, built_library: Path, what: str) -> None:
    del built_library
    _, package = state_of(tmp_path, small())
    fields = {name: getattr(package, name) for name in Package.__dataclass_fields__}
    if what == "sources":
        fields["project"] = {**package.project, "sources": "0123456789abcdef"}
    else:
        fields["content"] = package.content + b"x"
    place = Place(Package(**fields))
    try:
        with pytest.raises(MismatchError, match=f"{what} .* instead of"):
            place.run(Task(package.id, 0, 0, 20), "0")
    finally:
        place.end()


def crashing(folder: Path) -> Path:
    """A library that crashes at its first packet."""
    library = folder / "crash.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    include = f"-I{paths.sim_sources()}"
    subprocess.run(
        [*compiler, "-shared", "-fPIC", "-DFAULT=3", include, str(FAULTY_SOURCE), "-o", str(library)], check=True
    )
    return library


def test_a_crash_of_the_implementation_is_the_result_of_its_unit(tmp_path: Path, built_library: Path) -> None:
    """Ten crashes end a block: the units after them are N/A, and the worker goes on."""
    del built_library
    library = crashing(tmp_path)
    roles = 'roles = ["passive-sender"]'
    text = small(units=40, more=f'[target]\nlibrary = "{library}"\n').replace("[parameters]", f"[parameters]\n{roles}")
    folder, package = state_of(tmp_path, text, Subject(library=library))
    place = Place(package)
    try:
        for block in (0, 1):
            folder.store(block, place.run(Task(package.id, block, 20 * block, 20 * block + 20), "0"))
    finally:
        place.end()
    results = Results(folder)
    # Of the second transfer the first block has the undisturbed one only, which crashes too.
    assert results.verdicts() == {"FAIL": 21, "N/A": 19}
    crashes = results.ask("crashes")
    assert len(crashes.rows) == 21
    assert "the implementation crashed with SIGABRT" in crashes.rows[0][2]


@pytest.fixture
def runner(tmp_path: Path, built_library: Path) -> Iterator[tuple[Runner, int]]:
    """A runner that has run one block, and its process."""
    del built_library
    folder, package = state_of(tmp_path, small())
    one = Runner(package, folder.subject(folder.state()), tmp_path)
    try:
        assert one.run(Order(0, 0, 20, "0", "-"))
        [process] = disturb.below(os.getpid(), disturb.RUNNER)
        yield one, process
    finally:
        one.end()


def test_the_end_of_a_runner_is_reported_and_the_next_block_gets_another(runner: tuple[Runner, int]) -> None:
    one, process = runner
    os.kill(process, signal.SIGKILL)
    with pytest.raises(RunnerError, match="SIGKILL"):
        one.run(Order(1, 20, 40, "0", "-"))


def test_ctrl_c_does_not_reach_a_runner_and_its_priority_is_that_of_the_command(runner: tuple[Runner, int]) -> None:
    """A process group of its own gets no Ctrl-C. Linux shares a processor between sessions, and only then by "nice"."""
    _, process = runner
    assert os.getpgid(process) == process
    assert os.getsid(process) == os.getsid(0)


# ---- queries, estimate ----


def test_prepared_questions_and_sql_have_the_same_tables(finished: Path) -> None:
    results = Results(Folder(finished))
    for name in results.questions():
        results.ask(name)
    assert results.ask("total").rows[0][0] == PLAN.units
    assert sum(row[1] for row in results.ask("summary").rows) == PLAN.units
    assert results.ask("select sum(units)::bigint from blocks").rows == [(PLAN.units,)]
    assert results.ask("select count(*) from units where virtual_s > 0 and packets > 4").rows == [(PLAN.units,)]


def test_the_answer_to_a_query_can_be_json_and_csv(command: Command, finished: Path) -> None:
    words = ("query", str(finished), "select count(*) as units, min(unit) as first from units")
    assert json.loads(command(*words, "--json").output) == [{"units": PLAN.units, "first": 0}]
    assert list(csv.reader(io.StringIO(command(*words, "--csv").output))) == [
        ["units", "first"],
        [str(PLAN.units), "0"],
    ]


@pytest.mark.parametrize(
    ("question", "named"),
    [("failure", "there is no question 'failure'; there are summary"), ("select x from units", "Binder Error")],
)
def test_a_bad_question_is_refused(finished: Path, question: str, named: str) -> None:
    with pytest.raises(CampaignError, match=named):
        Results(Folder(finished)).ask(question)


def test_a_failed_unit_can_be_run_again_from_its_file(tmp_path: Path, built_library: Path, command: Command) -> None:
    del built_library
    library = crashing(tmp_path)
    text = small(units=20, more=f'[target]\nlibrary = "{library}"\n')
    folder, package = state_of(tmp_path, text, Subject(library=library))
    place = Place(package)
    try:
        folder.store(0, place.run(Task(package.id, 0, 0, 20), "0"))
    finally:
        place.end()
    [(unit,)] = Results(folder).ask("select min(unit) from units where verdict = 'FAIL'").rows
    kept = tmp_path / "unit.toml"
    done = command("campaign", "extract", str(folder.path), "--unit", str(unit), "--output", str(kept))
    assert done.status == 0, done.errors
    assert command("replay", str(kept), "--iut-library", str(library)).status == 1


def test_an_estimate_is_computed_from_measured_blocks(finished: Path) -> None:
    folder = Folder(finished)
    measured = estimate.of_folder(folder)
    assert measured.units == PLAN.units
    one, hundred = (
        estimate.lines(folder.state(), "schedule", estimate.Measured(1000, 2.0, 5000), machines, 10)
        for machines in (1, 100)
    )
    assert "2 ms for each" in one[0]
    assert one[2] == "processor time: 4 s"
    assert "1 machines with 10 cores: 0.4 s" in one[3]
    assert "100 machines with 10 cores: 0.004 s" in hundred[3]


@pytest.mark.parametrize("action", ["run", "estimate"])
def test_the_plugin_judges_and_no_temporary_file_is_left(
    tmp_path: Path, built_library: Path, command: Command, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    del built_library
    file = tmp_path / "campaign.toml"
    file.write_text('layout = 1\nkind = "sweep"\nseed = 1\nunits = 40\nblock = 20\n')
    further = ["--sample", "0.5"] if action == "estimate" else ["--workers", "1", "--output", str(tmp_path / "out")]
    with tempfile.TemporaryDirectory() as temporary:  # tshark, which root runs as nobody, can pass no folder of pytest
        Path(temporary).chmod(0o711)
        monkeypatch.setenv("TMPDIR", temporary)
        done = command("campaign", action, str(file), *further)
        assert done.status == 0, done.errors
        assert not list(Path(temporary).iterdir())


def test_the_sample_of_an_estimate_covers_the_whole_campaign() -> None:
    order = list(estimate._spread(6))
    assert order[0] == 0
    assert sorted(order[1:]) == list(range(6))
    assert order[1:3] == [0, 4]


def rows(folder: Path, text: str, units: range) -> list[Row]:
    """Of these units, run in this process; the kind runs children of its own."""
    wanted = description.read(write(folder, text))
    made, found = kind.make(wanted, Subject(), "x"), list[Row]()
    kind.plan(made, wanted, "x")
    made.serve(lambda: found.extend(made.run(units)))
    return found


def test_captures_are_units_of_a_campaign(tmp_path: Path, built_library: Path) -> None:
    """A capture with a violation fails and names the requirement; one that has none passes."""
    del built_library
    bad, good = (
        paths.root() / "pcaps" / name
        for name in ("violations/abort03-acknowledged.pcapng", "golden/lossy-transfer.pcapng")
    )
    text = f'layout = 1\nkind = "captures"\n[parameters]\nfiles = ["{bad}", "{good}"]\n'
    first, second = rows(tmp_path, text, range(2))
    assert (first.name, first.verdict, first.requirement) == (str(bad), Verdict.FAIL, "ABORT-03")
    assert first.measures == {"connections": 1.0, "violations": 1.0}
    assert (second.name, second.verdict) == (str(good), Verdict.PASS)


def test_a_unit_of_an_experiment_is_a_run_with_one_seed(tmp_path: Path, built_library: Path) -> None:
    del built_library
    text = 'layout = 1\nkind = "experiment"\n[parameters]\nscenarios = ["two-pairs"]\nseeds = 2\n'
    one, other = rows(tmp_path, text, range(2))
    assert one.verdict is other.verdict is Verdict.PASS
    assert one.name == other.name
    assert one.measures["goodput"] > 0


def test_scripts_of_a_campaign_are_those_of_the_command_generate(tmp_path: Path, built_library: Path) -> None:
    """What a script does depends on those before it in its block."""
    del built_library
    text = 'layout = 1\nkind = "generated"\nseed = 5\nunits = 100\n[parameters]\ndissector = false\n'
    found = rows(tmp_path, text, range(SCRIPTS))
    assert {row.verdict for row in found} <= {Verdict.PASS, Verdict.NA}
    block = Block(range(SCRIPTS), tmp_path / "block")
    Pool(Campaign(SimLinkFactory(paths.iut_library()), ALL_ROLES, 5, dissector=False), 1, no, no, no).run(iter([block]))
    assert [row.measures["moves"] for row in found] == [block.moves[number] for number in range(SCRIPTS)]


def no(_what: object) -> None:
    """Nothing is noted."""


@pytest.mark.parametrize(
    ("kind_name", "found", "verdict"),
    [
        ("mutants", "script 3: CTRL-04", Verdict.PASS),
        ("mutants", "", Verdict.FAIL),
        ("variants", "script 3: CTRL-04", Verdict.FAIL),
        ("variants", "", Verdict.PASS),
    ],
)
def test_a_mutant_passes_when_it_is_killed_and_a_variant_when_nothing_fails(
    kind_name: str, found: str, verdict: Verdict
) -> None:
    wanted = description.Description(layout=1, kind=kind_name)
    made: Any = kind.make(wanted, Subject(), "x")
    units, _ = kind.plan(made, wanted, "x")
    assert units == len(made._entries())
    row = made._row(0, made._entries()[0], found, "", 4)
    assert row.verdict is verdict
    assert row.measures == {"tries": 4.0}
    assert made._row(0, made._entries()[0], "", "it does not compile", 0).verdict is Verdict.ERROR
