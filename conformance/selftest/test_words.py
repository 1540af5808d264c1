# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents, help and messages use plain technical English: the table of words, lengths of lines, 80 columns."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from selftest import texts
from selftest.conftest import made_once

LINE_MAX = 100  # characters of a line of documentation


@dataclass(frozen=True)
class Allowed:
    """A use of a word that is right, and why."""

    text: re.Pattern[str]
    reason: str


@dataclass(frozen=True)
class Word:
    """A word or phrase that texts do not use, and what they use instead."""

    write: str
    pattern: re.Pattern[str]
    places: frozenset[str]
    allowed: tuple[Allowed, ...]


def _compiled(pattern: str) -> re.Pattern[str]:
    """A space of the pattern may be the end of a line in the text."""
    return re.compile(pattern.replace(" ", r"\s"), re.IGNORECASE)


@functools.cache
def words() -> tuple[Word, ...]:
    entries = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))["word"]
    return tuple(
        Word(
            write=entry["write"],
            pattern=_compiled(entry["not"]),
            places=frozenset(entry.get("places", texts.PLACES)),
            allowed=tuple(Allowed(_compiled(one["text"]), one["reason"]) for one in entry.get("allowed", ())),
        )
        for entry in entries
    )


def _uses(word: Word, text: str) -> Iterator[re.Match[str]]:
    permitted = [found.span() for one in word.allowed for found in one.text.finditer(text)]
    for found in word.pattern.finditer(text):
        if not any(start <= found.start() and found.end() <= end for start, end in permitted):
            yield found


def wrong_words(place: str, text: texts.Text) -> Iterator[str]:
    """Each use of a word of the table in `text`: file, line, the word and what to write."""
    for word in words():
        if place in word.places:
            for found in _uses(word, text.text):
                line = text.line + text.text.count("\n", 0, found.start())
                yield f"{text.file}:{line}: '{' '.join(found[0].split())}': write {word.write}"


def long_lines(name: str, document: str) -> Iterator[str]:
    """Lines that are too long, but for tables, code blocks, links and images, which cannot be broken."""
    code = False
    for number, line in enumerate(document.splitlines(), 1):
        if line.startswith("```"):
            code = not code
        breakable = not code and not line.startswith(("|", "    ", "<!--")) and "](" not in line
        if breakable and len(line) > LINE_MAX:
            yield f"{name}:{number}: {len(line)} characters; a line has at most {LINE_MAX}"


TextsOf = Callable[[str], list[texts.Text]]


@pytest.fixture
def texts_of(tmp_path_factory: pytest.TempPathFactory) -> TextsOf:
    """The texts of a place. To read some of them takes seconds, so they are kept for all tests."""
    return lambda place: made_once(tmp_path_factory, f"texts-{place}", lambda _: list(texts.PLACES[place]()))


@pytest.mark.parametrize("place", texts.PLACES)
def test_texts_use_plain_words(texts_of: TextsOf, place: str) -> None:
    found = [complaint for text in texts_of(place) for complaint in wrong_words(place, text)]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("place", texts.PLACES)
def test_every_place_has_texts(texts_of: TextsOf, place: str) -> None:
    assert sum(len(text.text) for text in texts_of(place)) > 1000


def test_words_state_places_and_reasons() -> None:
    for word in words():
        assert word.write
        assert word.places <= set(texts.PLACES), word.write
        assert all(len(one.reason.split()) > 2 for one in word.allowed), word.write


def test_every_permitted_use_exists(texts_of: TextsOf) -> None:
    """An exception that nothing needs any more is removed from the table."""
    everything = [(place, text.text) for place in texts.PLACES for text in texts_of(place)]
    unused = [
        f"{word.write}: {one.text.pattern}"
        for word in words()
        for one in word.allowed
        if not any(
            word.pattern.search(found[0])
            for place, text in everything
            if place in word.places
            for found in one.text.finditer(text)
        )
    ]
    assert not unused


def test_lines_of_documents_are_short() -> None:
    found = [long for path in texts.documents() for long in long_lines(path.name, path.read_text(encoding="utf-8"))]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(("program", "command"), texts.commands())
def test_help_fits_a_terminal(program: str, command: str) -> None:
    lines = texts.help_of(program, command).splitlines()
    assert [line for line in lines if len(line) > texts.COLUMNS] == []


def test_a_phrase_is_found_across_lines() -> None:
    text = texts.Text("file.md", 7, texts.plain("Packets that\n  are sent\n * again."))
    assert [one.split(": ")[0] for one in wrong_words("reasons", text)] == ["file.md:8"]


def test_texts_of_python_are_its_strings() -> None:
    source = '"""A docstring."""\nx = 1  # a comment\nraise ValueError(f"the value {x} is" " wrong")\n'
    assert list(texts.python_strings(source)) == [(3, "the value {} is wrong")]


def test_texts_of_c_are_its_string_literals() -> None:
    source = (
        '#include "a b.h"\n/* "no text" */\nchar quote = \'"\';\nputs("one \\" " /* and */\n  "two"); puts("x y");\n'
    )
    assert list(texts.c_strings(source)) == [(4, 'one \\" two'), (5, "x y")]


def test_comments_of_adjacent_lines_are_one_and_docstrings_are_comments() -> None:
    source = 'x = "# none"  # one\n# more\n\n# two\ny = 1\n# three\n'
    assert list(texts.python_comments(source)) == [(1, "one\nmore"), (4, "two"), (6, "three")]
    program = '"""Of all."""\ntext = """no docstring"""\n\n\nasync def f():\n    """Of f,\n    two lines."""\n'
    assert list(texts.docstrings(program)) == [(1, "Of all."), (6, "Of f,\n    two lines.")]
    assert list(texts.c_comments('char *x = "/* none */"; /* one\n * more */\n// two\n')) == [
        (1, "/* one\n * more */"),
        (3, "// two"),
    ]


def test_lines_that_cannot_be_broken_may_be_long() -> None:
    long = "a" * LINE_MAX
    fine = [f"| {long} |", f"    {long}", "```", f"x {long}", "```", f"[x]({long})", long]
    assert list(long_lines("x.md", "\n".join(fine))) == []
    assert len(list(long_lines("x.md", f"{long}b"))) == 1
