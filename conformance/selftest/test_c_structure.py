# SPDX-License-Identifier: GPL-2.0-or-later
"""All C code of the repository has a direction (c_floors.toml): no folder includes one above it, no file includes
itself by way of others, and no file calls functions of another that calls its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build"
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
DEFINED = "TDBRVWC"  # nm: kinds of symbols that an object gives to others
UNIT_TESTS = ("*_test.c", "*/tests/*")  # lie beside what they test

Graph = dict[str, set[str]]


@dataclass(frozen=True)
class Part:
    name: str
    folders: tuple[str, ...]
    roots: tuple[str, ...]
    uses: tuple[str, ...]
    benches: bool = False


class Floors:
    """What may include what."""

    def __init__(self, parts: Iterable[Part], circles: Iterable[str] = ()) -> None:
        self.circles = frozenset(circles)
        self.parts = {part.name: part for part in parts}
        self.part_of = {folder: part for part in self.parts.values() for folder in part.folders}

    def allows(self, file: str, other: str) -> bool:
        """Whether a file may include another; both by their path in the repository."""
        here, there = str(Path(file).parent), str(Path(other).parent)
        part, used = self.part_of[here], self.part_of[there]
        if part is used:
            return part.folders.index(here) <= part.folders.index(there)
        is_test = any(fnmatch(file, pattern) for pattern in UNIT_TESTS)
        return used.name in part.uses or (is_test and used.name == "tests")


def load() -> Floors:
    data = tomllib.loads((Path(__file__).parent / "c_floors.toml").read_text(encoding="utf-8"))
    parts = [
        Part(
            entry["name"],
            tuple(entry["folders"]),
            tuple(entry["roots"]),
            tuple(entry["uses"]),
            entry.get("benches", False),
        )
        for entry in data["part"]
    ]
    return Floors(parts, data["circles"])


@cache
def sources() -> tuple[str, ...]:
    listed = subprocess.run(
        [
            "git",
            "-C",
            REPOSITORY,
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.c",
            "*.h",
            "*.cc",
            "*.cpp",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    if listed.returncode != 0:
        pytest.skip("not a git work tree")
    return tuple(name for name in listed.stdout.splitlines() if (REPOSITORY / name).is_file())


def includes(floors: Floors) -> tuple[dict[str, set[str]], list[str]]:
    """The files of the repository that each file includes, and includes of files that are not there."""
    known, graph, missing = set(sources()), {}, []
    for file in sources():
        folder = str(Path(file).parent)
        found = set()
        for quote, name in INCLUDE.findall((REPOSITORY / file).read_text(encoding="utf-8")):
            roots = [folder, *floors.part_of[folder].roots] if quote == '"' else floors.part_of[folder].roots
            places = [os.path.normpath(Path(root) / name) for root in roots]
            hit = next((place for place in places if place in known), None)
            if hit is not None:
                found.add(hit)
            elif quote == '"' and Path(name).name not in generated():
                missing.append(f"{file}: {name}")
        graph[file] = found
    return graph, missing


@cache
def generated() -> frozenset[str]:
    """Names of headers that the build has made."""
    return frozenset(path.name for path in BUILD.rglob("*.h"))


def module(file: str) -> str:
    """A source and its header together."""
    return str(Path(file).with_suffix(""))


def modules(graph: Mapping[str, Iterable[str]]) -> Graph:
    merged: Graph = defaultdict(set)
    for file, others in graph.items():
        merged[module(file)] |= {module(other) for other in others} - {module(file)}
    return merged


def checked(floors: Floors, graph: Graph) -> Graph:
    """Without the folders whose circles are known."""
    return {node: others for node, others in graph.items() if str(Path(node).parent) not in floors.circles}


def backward(floors: Floors, graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Includes that no floor allows."""
    return [
        f"{file} includes {other}"
        for file, others in sorted(graph.items())
        for other in sorted(others)
        if not floors.allows(file, other)
    ]


def circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """One circle; empty when there is none."""
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        for other in sorted(graph.get(node, ())):
            if found := walk(other, [*path, node]):
                return found
        done.add(node)
        return []

    return next((found for node in sorted(graph) if (found := walk(node, []))), [])


# ---- calls, from the object files ---------------------------------------------------------------------------------


def objects() -> Iterator[tuple[str, Path]]:
    """Each source of the repository with its object file."""
    known = set(sources())
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        source = Path(entry["file"])
        if not source.is_relative_to(REPOSITORY) or str(source.relative_to(REPOSITORY)) not in known:
            continue
        words = shlex.split(entry["command"])
        made = Path(entry["directory"]) / words[words.index("-o") + 1]
        if made.is_file():
            yield str(source.relative_to(REPOSITORY)), made


def calls(found: Iterable[tuple[str, Path]]) -> Graph:
    """Which source takes functions or data from which other one. A test's own version of a function of the C library
    is taken by no one else."""
    gives: dict[str, set[str]] = defaultdict(set)
    takes: dict[str, set[str]] = defaultdict(set)
    sources_of = {str(made): source for source, made in found}
    listed = subprocess.run(["nm", "-A", *sources_of], capture_output=True, text=True, check=True, timeout=600).stdout
    for line in listed.splitlines():
        made, _, symbol = line.rpartition(":")
        source, words = sources_of[made], symbol.split()
        if len(words) == 2 and words[0] == "U":
            takes[source].add(words[1])
        elif len(words) == 3 and words[1] in DEFINED:
            gives[words[2]].add(source)
    graph: Graph = {}
    for source, names in takes.items():
        here = Path(source).parent
        graph[source] = set()
        for name in names:
            givers = {giver for giver in gives.get(name, ()) if "/tests" not in giver or "/tests" in source}
            beside = {giver for giver in givers if Path(giver).parent == here} or givers
            if len(beside) == 1:
                graph[source] |= beside - {source}
    return graph


# ---- the tests ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def floors() -> Floors:
    return load()


def test_each_folder_with_c_code_has_a_floor(floors: Floors) -> None:
    folders = {str(Path(file).parent) for file in sources()}
    assert folders == set(floors.part_of)


def test_each_part_uses_only_parts_below_it(floors: Floors) -> None:
    names = list(floors.parts)
    wrong = [
        f"{part.name} uses {used}"
        for part in floors.parts.values()
        for used in part.uses
        if names.index(used) <= names.index(part.name)
    ]
    assert wrong == []


def test_only_tests_and_benches_of_the_implementation_use_the_suite(floors: Floors) -> None:
    suite = {part.name for part in floors.parts.values() if part.folders[0].startswith("conformance/")}
    users = {
        part.name
        for part in floors.parts.values()
        if part.folders[0].startswith("reference_impl/") and suite & set(part.uses)
    }
    assert users == {part.name for part in floors.parts.values() if part.benches}


def test_no_build_file_of_the_implementation_names_the_suite() -> None:
    """But those of its tests and benches."""
    found = [
        f"{file.relative_to(REPOSITORY)}: {line.strip()}"
        for file in sorted((REPOSITORY / "reference_impl").rglob("CMakeLists.txt"))
        if not {"tests", "bench"} & set(file.relative_to(REPOSITORY).parts)
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r"conformance/|flakeway", line.split("#")[0])
    ]
    assert found == []


def test_each_include_is_found(floors: Floors) -> None:
    assert includes(floors)[1] == []


def test_no_folder_includes_a_folder_above_it(floors: Floors) -> None:
    assert backward(floors, includes(floors)[0]) == []


def test_no_file_includes_itself_by_way_of_others(floors: Floors) -> None:
    found = circle(checked(floors, modules(includes(floors)[0])))
    assert found == []


def test_no_file_calls_itself_by_way_of_others(floors: Floors) -> None:
    if not (BUILD / "compile_commands.json").is_file():
        pytest.skip("nothing is built")
    found = dict(objects())
    assert len(found) > 150
    assert circle(checked(floors, calls(found.items()))) == []


PARTS = Floors(
    [
        Part("top", ("a/upper", "a/lower"), ("a",), ("bottom",)),
        Part("bottom", ("b",), ("b",), ()),
    ]
)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a/upper/x.c": {"a/upper/x.h", "a/lower/y.h", "b/z.h"}}, []),
        ({"a/lower/y.c": {"a/upper/x.h"}}, ["a/lower/y.c includes a/upper/x.h"]),
        ({"b/z.c": {"a/lower/y.h"}}, ["b/z.c includes a/lower/y.h"]),
    ],
)
def test_an_include_upwards_is_found(graph: Graph, expected: list[str]) -> None:
    assert backward(PARTS, graph) == expected


def test_a_circle_inside_one_folder_is_found() -> None:
    graph = modules({"r/a.c": {"r/a.h", "r/b.h"}, "r/b.c": {"r/c.h"}, "r/c.h": {"r/a.h"}})
    assert circle(graph) == ["r/a", "r/b", "r/c", "r/a"]


def test_a_circle_of_calls_that_headers_hide_is_found(tmp_path: Path) -> None:
    texts = {
        "a.c": "int g(void); int f(void); int f(void) { return g(); }",
        "b.c": "int f(void); int g(void); int g(void) { return f() + 1; }",
    }
    found = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        subprocess.run(["cc", "-O0", "-c", name, "-o", f"{name}.o"], cwd=tmp_path, check=True, timeout=60)
        found.append((f"r/{name}", tmp_path / f"{name}.o"))
    assert circle(calls(found)) == ["r/a.c", "r/b.c", "r/a.c"]


def test_the_architecture_names_each_folder_of_core_and_dissector(floors: Floors) -> None:
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = [*floors.parts["core"].folders, *floors.parts["dissector"].folders]
    assert [name for name in folders if f"`{name}`" not in text] == []
