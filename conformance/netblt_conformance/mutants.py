# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants: wrong variants of the reference core, kept as data outside its sources. Each must be killed by a case of the
requirement that it breaks; a mutant that survives shows a case that proves nothing."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from netblt_conformance import catalogue, paths
from netblt_conformance.engine import Plan
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.model import ALL_ROLES
from netblt_conformance.running import VIRTUAL_CASE_LIMIT_S
from netblt_conformance.selection import Selection
from netblt_conformance.verdicts import ExitCode, Result, Verdict
from netblt_conformance.worker import Supervisor, collect

SEED = 1


class MutantError(Exception):
    """The mutants cannot be judged; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Edit:
    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    requirement: str
    about: str
    edits: tuple[Edit, ...]


def _edit(entry: Any, where: str) -> Edit:
    if not isinstance(entry, dict) or set(entry) != {"file", "old", "new"}:
        raise MutantError(f"{where}: an edit has exactly the keys file, old and new")
    edit = Edit(**entry)
    if not all(isinstance(value, str) for value in entry.values()) or not edit.old or edit.old == edit.new:
        raise MutantError(f"{where}: old and new must be different strings, old not empty")
    return edit


def _mutant(entry: dict[str, Any], file: Path) -> Mutant:
    where = f"{file.name}: {entry.get('name', 'a mutant without name')}"
    if set(entry) != {"name", "requirement", "about", "edit"}:
        raise MutantError(f"{where}: a mutant has exactly the keys name, requirement, about and [[mutant.edit]]")
    if entry["requirement"] not in catalogue.requirements():
        raise MutantError(f"{where}: unknown requirement {entry['requirement']!r}")
    edits = tuple(_edit(edit, where) for edit in entry["edit"])
    return Mutant(entry["name"], entry["requirement"], entry["about"], edits)


def load(folder: Path) -> list[Mutant]:
    """All mutants, in the order of the files. MutantError names what is wrong."""
    mutants: list[Mutant] = []
    for file in sorted(folder.glob("*.toml")):
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise MutantError(f"{file.name}: {error}") from None
        mutants += [_mutant(entry, file) for entry in document.get("mutant", [])]
    names = [mutant.name for mutant in mutants]
    for name in names:
        if names.count(name) > 1:
            raise MutantError(f"two mutants are named {name!r}")
    if not mutants:
        raise MutantError(f"{folder}: no mutants (*.toml) here")
    return mutants


def apply(mutant: Mutant, core: Path, copy: Path) -> None:
    """Copies the core and edits it. MutantError unless each old text is there exactly once."""
    shutil.copytree(core, copy)
    for edit in mutant.edits:
        target = copy / edit.file
        if not target.is_file():
            raise MutantError(f"mutant {mutant.name}: {edit.file} is no file of {core}")
        text = target.read_text(encoding="utf-8")
        count = text.count(edit.old)
        if count != 1:
            raise MutantError(
                f"mutant {mutant.name}: its old text is {count} times in {edit.file}, once is needed: the core has "
                "changed, so bring the mutant up to date"
            )
        target.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


def _builder() -> ModuleType:
    """conformance/sim/build_iut.py, which is a script beside the package and no part of it."""
    path = paths.sim_sources() / "build_iut.py"
    spec = importlib.util.spec_from_file_location("netblt_build_iut", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise MutantError(f"{path} is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_cases(library: Path, select: str, report: Path) -> list[Result]:
    """The results of the selected cases on the sim link."""
    plan = Plan(SimLinkFactory(library), SEED, Selection(select), ALL_ROLES, report)
    report.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []

    def take(event: dict[str, Any]) -> None:
        if event["event"] == "result":
            results.append(Result.from_json(event["result"]))
        elif event["event"] == "crash":
            name, _, role = event["key"].rstrip("]").partition("[")
            results.append(Result(name, [select], role, Verdict.FAIL, event["why"]))

    Supervisor(plan, 1, VIRTUAL_CASE_LIMIT_S, take).run()
    return results


def _kill(mutant: Mutant, results: Sequence[Result]) -> Result | None:
    """The first result that convicts the mutant of what it breaks."""
    grade = catalogue.requirements()[mutant.requirement].grade
    enough = (Verdict.FAIL,) if grade == "must" else (Verdict.WARN, Verdict.FAIL)
    for result in results:
        if mutant.requirement in result.requirements and result.verdict in enough:
            return result
    return None


def _check_cases(mutants: Sequence[Mutant], library: Path, work: Path) -> None:
    """Every mutant has cases, and the reference itself passes them: else a kill would mean nothing."""
    for requirement in sorted({mutant.requirement for mutant in mutants}):
        plan = Plan(SimLinkFactory(library), SEED, Selection(requirement), ALL_ROLES, work)
        if not collect(plan)["keys"]:
            raise MutantError(f"no case tests {requirement}, which a mutant breaks")
    select = ",".join(sorted({mutant.requirement for mutant in mutants}))
    failed = [r for r in run_cases(library, select, work / "reference") if r.verdict > Verdict.WARN]
    if failed:
        worst = failed[0]
        raise MutantError(f"the reference itself does not pass: {worst.case} ({worst.role}): {worst.reason}")


def _first_error(words: str) -> str:
    """The line of the compiler's words that names the mistake."""
    return next((line for line in words.splitlines() if "error:" in line), words)


def _judge(mutant: Mutant, core: Path, work: Path, builder: ModuleType) -> Result | None:
    folder = work / mutant.name
    apply(mutant, core, folder / "core")
    library = folder / "libmutant.so"
    try:
        builder.build_iut(folder / "core", library, cache=work / "objects")
    except builder.CompileError as error:
        raise MutantError(f"mutant {mutant.name} does not compile: {_first_error(str(error))}") from None
    killer = _kill(mutant, run_cases(library, mutant.requirement, folder / "report"))
    shutil.rmtree(folder)
    return killer


def run(names: Sequence[str], core: Path, *, verbose: bool) -> int:
    """Judges the mutants; 1 when one survives."""
    known = load(paths.mutants())
    for name in names:
        if name not in {mutant.name for mutant in known}:
            raise MutantError(f"no mutant is named {name!r}")
    chosen = [mutant for mutant in known if not names or mutant.name in names]
    if not core.is_dir():
        raise MutantError(f"{core}: no folder with the core's sources")
    builder, began, survived = _builder(), time.monotonic(), 0
    stale: list[str] = []
    with tempfile.TemporaryDirectory(prefix="netblt-mutants-") as folder:
        work = Path(folder)
        # One state of the core for all, whoever edits it meanwhile.
        core = Path(shutil.copytree(core, work / "core"))
        reference = work / "libreference.so"
        try:
            builder.build_iut(core, reference, cache=work / "objects")
        except builder.CompileError as error:
            raise MutantError(f"the core does not compile:\n{error}") from None
        _check_cases(chosen, reference, work)
        for mutant in chosen:
            try:
                killer = _judge(mutant, core, work, builder)
            except MutantError as error:
                stale.append(str(error))
                print(f"{'stale':<9} {mutant.requirement:<10} {mutant.name}", flush=True)
                continue
            survived += killer is None
            print(f"{'survived' if killer is None else 'killed':<9} {mutant.requirement:<10} {mutant.name}", flush=True)
            if killer is None:
                print(f"          {mutant.about}; no case of {mutant.requirement} noticed")
            elif verbose:
                print(f"          by {killer.case} ({killer.role}): {killer.reason}")
    seconds = time.monotonic() - began
    print(f"{len(chosen) - survived - len(stale)} of {len(chosen)} mutants killed in {seconds:.1f} s")
    if stale:
        raise MutantError("; ".join(stale))
    return ExitCode.FAILED if survived else ExitCode.HOLDS
