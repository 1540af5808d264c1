# SPDX-License-Identifier: GPL-2.0-or-later
"""The folders of the plugin have a direction: a folder includes only folders below it, and no file includes itself by
way of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "src"
FOLDERS = (".", "reports", "tree", "rules", "connection", "decode", "wireshark")  # from the top downwards
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)

Graph = dict[str, set[str]]  # a module (rules/judge: .c and .h together) to those that it includes


def read(sources: Path) -> tuple[Graph, list[str]]:
    """The graph of the modules, and includes of files that are not there."""
    graph: Graph = {}
    missing = []
    for file in sorted(sources.rglob("*.[ch]")):
        module = str(file.relative_to(sources).with_suffix(""))
        included = INCLUDE.findall(file.read_text(encoding="utf-8"))
        missing += [f"{module}: {name}" for name in included if not (sources / name).is_file()]
        graph.setdefault(module, set()).update(str(Path(name).with_suffix("")) for name in included)
    return {module: others - {module} for module, others in graph.items()}, missing


def backward(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Includes of a folder above one's own."""

    def floor(module: str) -> int:
        return FOLDERS.index(str(Path(module).parent))

    return [
        f"{module} includes {other}"
        for module, others in sorted(graph.items())
        for other in sorted(others)
        if floor(other) < floor(module)
    ]


def circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """One circle of modules; empty when there is none."""
    done: set[str] = set()

    def walk(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        for other in sorted(graph.get(module, ())):
            if found := walk(other, [*path, module]):
                return found
        done.add(module)
        return []

    return next((found for module in sorted(graph) if (found := walk(module, []))), [])


def test_each_file_lies_in_a_folder_that_has_a_floor() -> None:
    folders = {str(file.relative_to(SOURCES).parent) for file in SOURCES.rglob("*.[ch]")}
    assert folders == set(FOLDERS)


def test_includes_name_files_by_their_folder() -> None:
    assert read(SOURCES)[1] == []


def test_no_folder_includes_a_folder_above_it() -> None:
    assert backward(read(SOURCES)[0]) == []


def test_no_file_includes_itself_by_way_of_others() -> None:
    assert circle(read(SOURCES)[0]) == []


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"rules/a": {"decode/b"}, "decode/b": {"wireshark/c"}}, []),
        ({"rules/a": {"rules/b"}, "rules/b": {"decode/c"}, "decode/c": {"rules/a"}}, ["decode/c includes rules/a"]),
    ],
)
def test_an_include_upwards_is_found(graph: Graph, expected: list[str]) -> None:
    assert backward(graph) == expected


def test_a_circle_inside_one_folder_is_found() -> None:
    assert circle({"rules/a": {"rules/b"}, "rules/b": {"rules/c"}, "rules/c": {"rules/a"}}) == [
        "rules/a",
        "rules/b",
        "rules/c",
        "rules/a",
    ]


def test_the_architecture_names_each_folder() -> None:
    text = (SOURCES.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert [name for name in FOLDERS[1:] if f"`dissector/src/{name}`" not in text] == []
