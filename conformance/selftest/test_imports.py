# SPDX-License-Identifier: GPL-2.0-or-later
"""The folders of the Python package have a direction: a folder imports only folders below it, and no module imports
itself by way of others."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from netblt_conformance.common import paths

PACKAGE = "netblt_conformance"
SOURCES = paths.root() / "conformance" / PACKAGE
# Modules that come with a library of another name.
LIBRARY_OF = {"markupsafe": "jinja2", "pcapng": "python-pcapng", "pydantic_core": "pydantic"}
# Only the commands in these folders need the libraries of an extra.
EXTRA_OF = {"learned": "learn", "campaign": "campaign"}
PLANNER = "netblt_plan"  # a tool beside the suite
PLANNER_SOURCES = paths.root() / "conformance" / PLANNER
# From the top downwards; folders of one row do not import each other.
FLOORS = (
    (".",),
    ("commands",),
    ("campaign",),
    ("generated", "bakeoff", "learned"),
    ("mutants", "doctor", "skeleton", "watch"),
    ("run", "check"),
    ("baseline",),
    ("cases", "sweep", "report", "draw"),
    ("reference",),
    ("peer", "judges"),
    ("trace",),
    ("pairing",),
    ("links", "oracles"),
    ("packets", "adapter", "diagnosis"),
    ("catalogue",),
    ("wire", "simlib"),
    ("common",),
)

Graph = dict[str, set[str]]


def _imported(tree: ast.AST, modules: Mapping[str, Path], package: str) -> Iterator[str]:
    """Modules of `package` that a module names, wherever the import is in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield whole if whole in modules else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] == package)


def _files(sources: Path, package: str) -> dict[str, Path]:
    return {
        ".".join([package, *file.relative_to(sources).with_suffix("").parts]).removesuffix(".__init__"): file
        for file in sorted(sources.rglob("*.py"))
    }


def read(sources: Path, package: str = PACKAGE, of: str | None = None) -> Graph:
    """Each module of `package`, and those of the same package, or of the package `of`, that it imports. A folder's
    __init__ is the folder's name."""
    files = _files(sources, package)
    known = files if of is None else _files(sources.parent / of, of)
    return {
        name: set(_imported(ast.parse(file.read_text(encoding="utf-8")), known, of or package)) - {name}
        for name, file in files.items()
    }


def folder(module: str) -> str:
    parts = module.split(".")
    inside = len(parts) > 2 or (len(parts) == 2 and (SOURCES / parts[1]).is_dir())
    return parts[1] if inside else "."


def upward(graph: Mapping[str, set[str]], floors: tuple[tuple[str, ...], ...] = FLOORS) -> list[str]:
    """Imports of a folder above one's own, or beside it."""
    floor = {name: number for number, row in enumerate(floors) for name in row}
    return [
        f"{module} imports {other}"
        for module, others in sorted(graph.items())
        for other in sorted(others)
        # The version is in the package itself.
        if other != PACKAGE and folder(module) != folder(other) and floor[folder(other)] <= floor[folder(module)]
    ]


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """One circle of modules; empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_each_folder_has_a_floor() -> None:
    assert {folder(module) for module in read(SOURCES)} == {name for row in FLOORS for name in row}


def test_no_folder_imports_a_folder_above_or_beside_it() -> None:
    assert upward(read(SOURCES)) == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circle(read(SOURCES)) == []


def test_no_module_of_the_planner_imports_itself_by_way_of_others() -> None:
    graph = read(PLANNER_SOURCES, PLANNER)
    assert sum(len(others) for others in graph.values()) > 10
    assert circle(graph) == []


def test_the_planner_imports_only_common_parts_of_the_suite() -> None:
    graph = read(PLANNER_SOURCES, PLANNER, of=PACKAGE)
    folders = {folder(other) for others in graph.values() for other in others if other != PACKAGE}
    assert folders == {"common"}


def test_the_suite_imports_the_planner_for_the_old_name_and_for_campaigns_only() -> None:
    graph = read(SOURCES, of=PLANNER)
    importers = {module for module, others in graph.items() if others}
    assert importers == {f"{PACKAGE}.commands.cli", f"{PACKAGE}.campaign.experiments"}
    assert graph[f"{PACKAGE}.commands.cli"] == {f"{PLANNER}.cli"}


def _libraries(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    named = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    named |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    known = {*sys.stdlib_module_names, PACKAGE, PLANNER}
    return {LIBRARY_OF.get(name, name) for name in {name.split(".")[0] for name in named} - known}


def test_each_library_that_the_suite_imports_is_installed_with_it() -> None:
    """A wheel brings what `dependencies` states, and nothing that only the tests of the suite need."""
    project = tomllib.loads((paths.root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: set(map(_name, needed)) for name, needed in project["optional-dependencies"].items()}
    always = set(map(_name, project["dependencies"]))
    missing = {
        f"{file.relative_to(SOURCES.parent)}: {library}"
        for folder in (SOURCES, PLANNER_SOURCES, paths.suite())
        for file in folder.rglob("*.py")
        for library in _libraries(file) - always - extras.get(EXTRA_OF.get(file.parent.name, ""), set())
    }
    assert missing == set()


def _name(requirement: str) -> str:
    return re.split(r"[=<>;\[ ]", requirement, maxsplit=1)[0]


@pytest.mark.parametrize(
    ("module", "other"), [("links.base", "peer.base"), ("watch.judge", "doctor.command"), ("common.paths", "wire.data")]
)
def test_an_import_upwards_or_sideways_is_found(module: str, other: str) -> None:
    module, other = f"{PACKAGE}.{module}", f"{PACKAGE}.{other}"
    assert upward({module: {other}}) == [f"{module} imports {other}"]


def test_a_circle_inside_one_folder_is_found() -> None:
    assert len(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == 4


def test_imports_inside_functions_count(tmp_path: Path) -> None:
    (tmp_path / "upper.py").write_text(f"def late():\n    from {PACKAGE} import lower\n", encoding="utf-8")
    (tmp_path / "lower.py").write_text(f"import {PACKAGE}.upper\n", encoding="utf-8")
    graph = read(tmp_path)
    assert graph == {f"{PACKAGE}.upper": {f"{PACKAGE}.lower"}, f"{PACKAGE}.lower": {f"{PACKAGE}.upper"}}
    assert circle(graph)


def test_the_architecture_names_each_folder() -> None:
    text = (paths.root() / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = [name for row in FLOORS for name in row if name != "."]
    assert [name for name in names if f"`conformance/netblt_conformance/{name}`" not in text] == []


@pytest.mark.parametrize("module", [f"{PACKAGE}.commands.cli", f"{PLANNER}.cli"])
def test_the_options_of_a_command_can_be_read_before_anything_is_compiled(module: str) -> None:
    """The build makes the completion of the shells from them."""
    look = (
        f"import sys, {module}; from {PACKAGE}.commands.describe import describe; "
        f"describe({module}.build_parser()); sys.exit('{PACKAGE}.simlib._native' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0
