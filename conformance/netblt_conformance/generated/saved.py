# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts that `generate` wrote, as cases of a run: `run --script FILE`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from netblt_conformance.cases.case import Case, case
from netblt_conformance.catalogue import catalogue
from netblt_conformance.common.errors import LinkUnavailableError, NotSupportedError
from netblt_conformance.common.toml_file import TomlError
from netblt_conformance.generated import play, script
from netblt_conformance.generated.script import Script
from netblt_conformance.report.causes import case_of_script

FILE = "scripts.py"  # of the suite, whose cases these are
_given: dict[str, Script] = {}  # by the name of its case


def loaded(paths: Iterable[Path]) -> list[tuple[Path, Script]]:
    """LinkUnavailableError names every mistake of a file."""
    try:
        return [(path, script.load(path)) for path in paths]
    except TomlError as error:
        raise LinkUnavailableError(str(error)) from None


def give(paths: Iterable[Path]) -> None:
    """Makes these scripts cases of the suite, which must not have been loaded yet."""
    for path, one in loaded(paths):
        unknown = [name for name in one.requirements if name not in catalogue.requirements()]
        if unknown:
            raise LinkUnavailableError(f"{path}: requirements: no such requirement: {', '.join(unknown)}")
        name = case_of_script(path)
        if name in _given:
            raise LinkUnavailableError(f"--script {path}: another script is called {path.stem} too")
        _given[name] = one


def cases() -> dict[str, Callable[[Case], None]]:
    """The functions that pytest finds in the suite, by their names."""
    return {f"test_{name}": _case(f"test_{name}", one) for name, one in _given.items()}


def _case(name: str, one: Script) -> Callable[[Case], None]:
    """Where the script states no requirement, what goes wrong has to name one."""

    @case(*one.requirements, roles=(one.role,))
    def test(t: Case) -> None:
        if t.link.real_time:
            raise NotSupportedError("a script needs virtual time")
        play.replay_in(t, one)

    test.__name__ = name
    return test
