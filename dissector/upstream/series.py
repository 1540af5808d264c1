# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the commits of the series: which files belong to which patch, and what they look like in Wireshark's tree."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from netblt_conformance.common import toml_file
from netblt_conformance.common.toml_file import Table, Text, Texts
from pydantic.types import Strict

from dissector.upstream import edits, flatten, versions
from dissector.upstream.repository import Repository

HERE = Path(__file__).resolve().parent
DISSECTORS = Path("epan") / "dissectors"


@dataclass(frozen=True)
class Patch:
    """What one patch of the series brings in."""

    name: str
    folders: tuple[str, ...]  # of src/
    author_of: str  # for AUTHORS.src
    message: str
    words: tuple[str, ...]  # that are not in the dictionary of Wireshark's check
    captures: Mapping[str, str]  # name in test/captures: path in our repository


@dataclass(frozen=True)
class Plan:
    """The whole series."""

    title: str  # for the release note
    without: tuple[str, ...]
    shared: tuple[str, ...]  # folders whose files come with the first patch that needs them
    patches: tuple[Patch, ...]


class _Patch(Table):
    name: Text
    folders: Texts
    author_of: Text
    subject: Text
    body: Text
    words: Texts
    captures: dict[str, Text]


class _File(Table):
    title: Text
    without: Texts
    shared: Texts
    patch: Annotated[tuple[_Patch, ...], Strict(False)]


def read_plan(file: Path = HERE / "series.toml") -> Plan:
    """TomlError names what is wrong with the file."""
    told = toml_file.read(file, _File)
    patches = tuple(
        Patch(
            one.name,
            one.folders,
            one.author_of,
            f"{one.subject}\n\n{one.body.strip()}\n",
            one.words,
            one.captures,
        )
        for one in told.patch
    )
    return Plan(told.title, told.without, told.shared, patches)


def needed(mine: Sequence[flatten.Source], shared: Sequence[flatten.Source]) -> list[flatten.Source]:
    """Of the shared files, those that these include, directly or not: headers, and the sources of the same name."""
    found: list[flatten.Source] = []
    ahead = list(mine)
    while ahead:
        text = ahead.pop().text
        stems = {match[2].removesuffix(".h") for match in flatten.INCLUDE.finditer(text)}
        new = [one for one in shared if str(one.path.with_suffix("")) in stems and one not in found]
        found += new
        ahead += new
    return found


def sort_into(plan: Plan, sources: Sequence[flatten.Source]) -> dict[str, list[flatten.Source]]:
    """The files of each patch, by their folder."""
    shared = [source for source in sources if str(source.path.parent) in plan.shared]
    home = {folder: patch.name for patch in plan.patches for folder in patch.folders}
    for source in sources:
        folder = str(source.path.parent)
        if folder not in home and source not in shared:
            raise flatten.LayoutError(f"no patch of series.toml brings in the folder {folder} ({source.path})")
    made: dict[str, list[flatten.Source]] = {}
    for patch in plan.patches:
        mine = [source for source in sources if home.get(str(source.path.parent)) == patch.name]
        with_them = needed(mine, shared)
        shared = [source for source in shared if source not in with_them]
        made[patch.name] = mine + with_them
    if shared:
        raise flatten.LayoutError(f"no patch needs {shared[0].path}")
    return made


def wireshark_text(source: flatten.Source, names: Mapping[str, str], version: tuple[int, int]) -> str:
    """The file as it is in the tree of this version."""
    try:
        text = versions.resolve(flatten.rewrite_includes(source, names), version)
    except versions.VersionError as problem:
        raise flatten.LayoutError(f"{source.path}: {problem}") from None
    return flatten.rewrite_heading(source.name, text)


def rewrite(file: Path, text: str) -> None:
    """Writes it where it is another one: what is written, ninja builds again."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def edit_tree(tree: Path, root: Path, plan: Plan, patch: Patch, texts: dict[str, str], author: tuple[str, str]) -> None:
    """Everything that the patch changes."""
    for name, text in texts.items():
        rewrite(tree / DISSECTORS / name, text)
    listed = tree / DISSECTORS / "CMakeLists.txt"
    rewrite(listed, edits.add_sources(listed.read_text(encoding="utf-8"), texts))
    authors = tree / "AUTHORS.src"
    rewrite(authors, edits.add_author(authors.read_text(encoding="utf-8"), *author, patch.author_of))
    if patch is plan.patches[0]:
        notes = tree / "docbook" / "release-notes.adoc"
        rewrite(notes, edits.add_release_note(notes.read_text(encoding="utf-8"), plan.title))
    words = tree / "tools" / "wireshark_words.txt"
    rewrite(words, edits.add_words(words.read_text(encoding="utf-8"), patch.words))
    suite = tree / "test" / "suite_dissection.py"
    tests = (HERE / "suite" / f"{patch.name}.py.in").read_text(encoding="utf-8")
    rewrite(suite, edits.add_tests(suite.read_text(encoding="utf-8"), tests))
    for name, path in patch.captures.items():
        shutil.copyfile(root / path, tree / "test" / "captures" / name)


def commit_series(repository: Repository, root: Path, version: tuple[int, int], plan: Plan) -> dict[str, list[str]]:
    """One commit for each patch, from the baseline on; the names of the files of each in epan/dissectors."""
    sources = flatten.read_sources(root / "dissector" / "src", plan.without)
    names = {str(source.path): source.name for source in sources}
    made: dict[str, list[str]] = {}
    repository.reset()
    for patch in plan.patches:
        mine = sort_into(plan, sources)[patch.name]
        texts = {source.name: wireshark_text(source, names, version) for source in mine}
        edit_tree(repository.tree, root, plan, patch, texts, repository.author())
        repository.commit(patch.message)
        made[patch.name] = sorted(texts)
    return made
