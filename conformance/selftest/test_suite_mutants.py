# SPDX-License-Identifier: GPL-2.0-or-later
"""Proof that the cases can fail: null implementations never pass, mutants are killed, stale mutants are an error."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance import mutants, paths
from netblt_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from selftest.conftest import Command

NULL_SOURCE = Path(__file__).with_name("test_suite_faulty_iut.c")
FAULTS = {"silent": 1, "echoing": 2, "crashing": 3, "lying": 4}
CORE = paths.root() / "reference_impl" / "core"


@pytest.fixture(params=FAULTS)
def null_library(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    library = tmp_path / "libnull.so"
    command = ["cc", "-std=gnu17", "-shared", "-fPIC", f"-DFAULT={FAULTS[request.param]}", f"-I{paths.sim_sources()}"]
    subprocess.run([*command, str(NULL_SOURCE), "-o", str(library)], check=True)
    return request.param, library


@pytest.mark.usefixtures("built_writer")
def test_a_null_implementation_never_passes_a_transfer(null_library: tuple[str, Path], command: Command) -> None:
    name, library = null_library
    done = command("run", "--iut-library", str(library), "--select", "OPEN-01,DATA-08,CTRL-04,RESEND-02")
    assert done.status in (1, 2), done.output
    assert not [result for result in done.results if result.verdict in (Verdict.PASS, Verdict.WARN)], done.output
    if name == "crashing":
        assert any("SIGABRT" in result.reason for result in done.results)


@pytest.mark.usefixtures("built_writer")
def test_a_null_implementation_fails_a_whole_run(null_library: tuple[str, Path], command: Command) -> None:
    assert command("run", "--iut-library", str(null_library[1]), "-q", "--select", "OPEN,QUIT").status == 1


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
        (ONE.replace('about = "something"\n', ""), "exactly the keys"),
        (ONE.replace('new = "int b;"\n', ""), "exactly the keys file, old and new"),
        (ONE.replace("int b;", "int a;"), "must be different"),
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


def test_every_mutant_applies_to_the_core(tmp_path: Path) -> None:
    for mutant in mutants.load(paths.mutants()):
        mutants.apply(mutant, CORE, tmp_path / mutant.name)
        shutil.rmtree(tmp_path / mutant.name)


@pytest.mark.usefixtures("built_writer")
def test_a_mutant_that_changes_nothing_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = ONE.replace("a.c", "control_queue.c").replace("int a;", "assert(count > 0);").replace("int b;", "")
    folder = tmp_path / "mutants"
    folder.mkdir()
    mutants_folder(folder, text)
    monkeypatch.setattr(paths, "mutants", lambda: folder)
    assert mutants.run([], CORE, verbose=False) == 1


@pytest.mark.usefixtures("built_writer")
def test_the_mutants_are_killed(command: Command) -> None:
    done = command("mutants")
    assert done.status == 0, done.output + done.errors
