# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of this project that readers see, by place: documents, help, catalogue, reasons, findings, headers."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import os
import re
import subprocess
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
COLUMNS = 80  # of a terminal that a reader may have
COMMANDS = {
    "netblt-plan": ("plan", "list", "run", "fit", "compare"),
    "netblt": ("send", "recv", "listen", "perf"),
    "netblt-conformance": (
        *("run", "doctor", "check", "watch", "list", "coverage", "explain", "replay", "shrink", "experiment"),
        *("experiment fit", "experiment compare", "mutants", "campaign", "query", "skeleton"),
    ),
    "flakeway": (),
}
# Comments, character constants and string literals of C, whichever begins first.
C_TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|'(?:[^'\\\n]|\\.)+'|\"((?:[^\"\\\n]|\\.)*)\"", re.DOTALL)
C_INCLUDE = re.compile(r"^\s*#\s*include[^\n]*", re.MULTILINE)
# What a line of a document or of a comment begins with before its text: indentation, "*" of a comment in C.
LINE_START = re.compile(r"^[ \t]*(?:/?\*+(?= |$)[ \t]*)?", re.MULTILINE)
# A name in a document: of a file, a mutant, an option. It may contain any word.
NAME = re.compile(r"`[^`\s]*[-_./][^`\s]*`")
# Keys of TOML files whose values are names, references or quoted source.
TOML_NAMES = ("slug", "id", "dialects", "ambiguities", "same_as", "binds", "reach", "file", "old", "new", "name")

# What a build makes, and what other projects wrote.
NOT_OURS = ("build", ".venv", "reference_impl/third_party", "dissector/upstream/wireshark")


@dataclass(frozen=True)
class Text:
    """A piece of text: `file` is a path in the repository or a command, `line` is where the text begins in it."""

    file: str
    line: int
    text: str


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _name(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def _files(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in REPOSITORY.glob(pattern))


def plain(text: str) -> str:
    """`text` without what its lines begin with, so that a phrase is found when it continues on the next line."""
    return LINE_START.sub("", text)


def documents() -> list[Path]:
    """Every document that a reader opens."""
    return _files("docs/**/*.md", "*.md", "*/README.md", "dissector/upstream/README.md", "conformance/**/*.md.in")


def docs() -> Iterator[Text]:
    for path in documents():
        yield Text(_name(path), 1, NAME.sub("`name`", plain(_read(path))))


def manual() -> Iterator[Text]:
    for path in _files("reference_impl/man/*.1"):
        yield Text(_name(path), 1, plain(_read(path)))


def _python_help(program: str, words: list[str]) -> str:
    """What a command in Python prints. It runs in this process: as a process of its own it would import all again."""
    from netblt_conformance.commands import cli
    from netblt_plan import cli as plan

    main = {"netblt-conformance": cli.main, "netblt-plan": plan.main}[program]
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv("COLUMNS", str(COLUMNS))  # argparse reads it whenever it formats
        with pytest.raises(SystemExit) as ended:
            main(words)
    assert not ended.value.code, (program, words)
    return printed.getvalue()


@functools.cache
def help_of(program: str, command: str) -> str:
    """What `program command --help` prints on a terminal of 80 columns."""
    words = [*command.split(), "--help"]
    if program in ("netblt-conformance", "netblt-plan"):
        return _python_help(program, words)
    run = [str(REPOSITORY / "build/bin" / program), *words]
    environment = os.environ | {"COLUMNS": str(COLUMNS)}
    return subprocess.run(run, capture_output=True, text=True, timeout=60, check=True, env=environment).stdout


def commands() -> list[tuple[str, str]]:
    return [(program, command) for program, known in COMMANDS.items() for command in ("", *known)]


def helps() -> Iterator[Text]:
    for program, command in commands():
        yield Text(" ".join([program, *command.split(), "--help"]), 1, plain(help_of(program, command)))


def toml_texts(source: str) -> Iterator[tuple[int, str]]:
    """The values of a TOML file that are text, one for each line. Comments are text too."""
    for number, line in enumerate(source.splitlines(), 1):
        key, equals, _ = line.partition(" = ")
        if not (equals and key in TOML_NAMES) and not line.startswith("["):
            yield number, line


def catalogue() -> Iterator[Text]:
    for path in _files("conformance/**/catalogue/*.toml"):
        for line, text in toml_texts(_read(path)):
            yield Text(_name(path), line, text)


def python_strings(source: str) -> Iterator[tuple[int, str]]:
    """Texts (strings with a space) of a Python program without its docstrings; a value in an f-string is {}."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if isinstance(parents[node], ast.JoinedStr | ast.Expr):  # a part of an f-string, a docstring
                continue
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield node.lineno, text


def reasons() -> Iterator[Text]:
    """What the suite prints and reports: reasons of verdicts, reports, errors."""
    for path in _files(
        "conformance/netblt_conformance/**/*.py", "conformance/netblt_plan/**/*.py", "conformance/suite/*.py"
    ):
        for line, text in python_strings(_read(path)):
            yield Text(_name(path), line, text)


def c_strings(source: str) -> Iterator[tuple[int, str]]:
    """Texts (string literals with a space) of a C source, without comments and includes; adjacent literals are one."""
    source = C_INCLUDE.sub("", source)
    text, start, end = "", 0, 0
    for token in C_TOKEN.finditer(source):
        if token[1] is None:
            continue
        between = C_TOKEN.sub("", source[end : token.start()])
        if text and not between.strip():
            text += token[1]
        else:
            if " " in text.strip():
                yield source.count("\n", 0, start) + 1, text
            text, start = token[1], token.start()
        end = token.end()
    if " " in text.strip():
        yield source.count("\n", 0, start) + 1, text


def _c_texts(*patterns: str) -> Iterator[Text]:
    for path in _files(*patterns):
        if not path.name.endswith("_test.c"):
            for line, text in c_strings(_read(path)):
                yield Text(_name(path), line, text)


def findings() -> Iterator[Text]:
    """What the Wireshark plugin shows."""
    yield from _c_texts("dissector/src/**/*.[ch]")


def program() -> Iterator[Text]:
    """What the command netblt prints."""
    yield from _c_texts("reference_impl/cli/**/*.[ch]", "reference_impl/io/**/*.[ch]")


def c_comments(source: str) -> Iterator[tuple[int, str]]:
    """The comments of a C source."""
    for token in C_TOKEN.finditer(source):
        if token[0].startswith(("/*", "//")):
            yield source.count("\n", 0, token.start()) + 1, token[0]


def python_comments(source: str) -> Iterator[tuple[int, str]]:
    """The comments of a Python program; those of adjacent lines are one."""
    text, start, end = "", 0, 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        comment = token.string.lstrip("#").strip()
        if text and line == end + 1 and not token.line[: token.start[1]].strip():
            text += f"\n{comment}"
        else:
            if text:
                yield start, text
            text, start = comment, line
        end = line
    if text:
        yield start, text


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings of a Python program."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            yield first.lineno, first.value.value


def comments() -> Iterator[Text]:
    """What programmers read in source files."""
    for path in _files("*/**/*.[ch]", "*/**/*.py"):
        name = _name(path)
        if name.startswith(NOT_OURS):
            continue
        readers = (python_comments, docstrings) if path.suffix == ".py" else (c_comments,)
        for read in readers:
            for line, text in read(_read(path)):
                yield Text(name, line, NAME.sub("`name`", plain(text)))


def headers() -> Iterator[Text]:
    for path in _files("reference_impl/include/netblt/*.h"):
        yield Text(_name(path), 1, plain(_read(path)))


def faults() -> Iterator[Text]:
    """What mutants, legal variants and planted bugs are about."""
    folders = _files("conformance/mutants/*.toml", "conformance/variants/*.toml", "conformance/dialects/**/*.toml")
    for path in [*folders, REPOSITORY / "reference_impl/fuzz/planted.toml"]:
        for number, line in enumerate(_read(path).splitlines(), 1):
            if line.startswith("about = "):
                yield Text(_name(path), number, line)


PLACES: dict[str, Callable[[], Iterator[Text]]] = {
    "docs": docs,
    "manual": manual,
    "help": helps,
    "catalogue": catalogue,
    "reasons": reasons,
    "findings": findings,
    "program": program,
    "headers": headers,
    "comments": comments,
    "faults": faults,
}
