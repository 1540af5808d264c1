# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that the documents show, and whether the options of the command allow them.

Blocks of code marked `sh` are executed by a test (test_docs_site.py). Blocks marked `console` are for readers to adapt:
they are read here. A line is a command, or output where the block has prompts. In synopses, brackets mark what may be
left out, and words in capitals stand for values."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from netblt_conformance.commands import cli
from netblt_conformance.commands.describe import Json, describe
from netblt_conformance.common import destinations, paths
from netblt_plan import cli as plan

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *REPOSITORY.glob("*.md"),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    REPOSITORY / "pcaps" / "README.md",
]
PARSED = {"netblt-conformance": cli.build_parser, "netblt-plan": plan.build_parser}
PROGRAMS = ("netblt", *PARSED, "flakeway", "netblt-paths")
# Scripts whose options are read by another file.
READERS = {
    "tools/bench": ("tools/bench", "reference_impl/bench/runner/**/*.py"),
    "tools/nightly": ("tools/nightly.py",),
    "tools/tshark": (),  # those of tshark
}
SCRIPT = re.compile(r"(?:\./)?((?:tools|conformance|dissector|reference_impl|pcaps)/[\w./-]+)")
PROMPT = re.compile(r"^[\w@-]*[$#]\s+")
SYNOPSIS = re.compile(r"[\[\]]|\.\.\.|<|…")
OPTION = re.compile(r"--?[a-zA-Z][\w-]*")
OPERATORS = "();<>|&"
FENCE = re.compile(r"^```(\w*)$")
INDENT = "    "
NEWLINE = "\n"
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Block:
    """Lines of code of a document: `kind` is the word of the fence, or "indented"."""

    file: str
    line: int
    kind: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """One command as a document shows it."""

    place: str
    words: tuple[str, ...]
    synopsis: bool  # it has brackets or dots, which no parser reads


def blocks(document: Path) -> Iterator[Block]:
    """Every block of code of a document."""
    name = document.relative_to(REPOSITORY).as_posix()
    kind, begin, kept = "", 0, list[str]()
    for number, line in enumerate([*document.read_text(encoding="utf-8").splitlines(), "."], 1):
        fence = FENCE.match(line)
        if kind and kind != "indented":
            if fence:
                yield Block(name, begin, kind, tuple(kept))
                kind = ""
            else:
                kept.append(line)
        elif fence:
            kind, begin, kept = fence[1] or "unmarked", number + 1, []
        elif line.startswith(INDENT):
            kind, begin, kept = "indented", begin if kind else number, [*(kept if kind else []), line[len(INDENT) :]]
        elif kind and line:
            yield Block(name, begin, kind, tuple(kept))
            kind = ""


def command_lines(block: Block) -> Iterator[tuple[int, str]]:
    """The lines of a block that are commands, each with what continues it."""
    prompts = any(PROMPT.match(line) for line in block.lines)
    whole, begin = "", 0
    for number, line in enumerate(block.lines, block.line):
        if prompts and not whole and not PROMPT.match(line):
            continue
        begin = begin if whole else number
        whole += PROMPT.sub("", line) if not whole else " " + line.strip()
        if whole.endswith("\\"):
            whole = whole[:-1]
            continue
        yield begin, whole
        whole = ""


def split(line: str) -> Iterator[list[str]]:
    """The simple commands of a line of shell, without assignments before them, redirections and comments."""
    reader = shlex.shlex(re.sub(r"\s{2,}(?:#|or ).*", "", line), posix=True, punctuation_chars=OPERATORS)
    reader.whitespace_split = True
    reader.commenters = "#"
    words: list[str] = []
    for word in reader:
        if set(word) <= set(OPERATORS) and not set(word) & set("<>"):
            yield words
            words = []
        elif words or not re.fullmatch(r"\w+=.*|sudo|there|here|time|nice|then|do|if|!", word):
            words.append(word)
    yield words


def program_of(word: str) -> str | None:
    """The program or script of this project that a word names."""
    name = word.rpartition("/")[2]
    script = SCRIPT.fullmatch(word.removeprefix("$NETBLT/"))
    if script is not None:
        return script[1]
    return name if name in PROGRAMS and (name == word or word.startswith(("build/", ".venv/", "$"))) else None


def shown_in(block: Block) -> Iterator[Shown]:
    for number, line in command_lines(block):
        try:
            commands = list(split(line))
        except ValueError:  # a quotation mark that is not closed: no shell
            continue
        for words in commands:
            name = program_of(words[0]) if words else None
            if name is None and len(words) > 1 and words[0].endswith("python"):
                words, name = words[1:], program_of(words[1])
            if name is not None:
                yield Shown(f"{block.file}:{number}", (name, *words[1:]), SYNOPSIS.search(line) is not None)


def shown_in_text(document: Path) -> Iterator[Shown]:
    """Commands with options, between backticks in the text of a document. Most leave out what is clear from the text:
    they are read as synopses."""
    name, text = document.relative_to(REPOSITORY).as_posix(), document.read_text(encoding="utf-8")
    outside = "\n".join("" if line.startswith(INDENT) else line for line in CODE.sub(_blank, text).split("\n"))
    for span in SPAN.finditer(outside):
        place = f"{name}:{outside.count(NEWLINE, 0, span.start()) + 1}"
        for shown in shown_in(Block(name, 0, "text", (span[1].replace("\n", " "),))):
            if any(options_of(shown.words[1:])):
                yield Shown(place, shown.words, True)


def _blank(code: re.Match[str]) -> str:
    return NEWLINE * code[0].count(NEWLINE)


@cache
def description(program: str) -> Json:
    """The options of a program, in the form of tools/completion."""
    if program in PARSED:
        return describe(PARSED[program]())
    binary = paths.build() / "bin" / program
    if program == "netblt":
        output = subprocess.run([binary, "--describe-options"], capture_output=True, text=True, check=True).stdout
        found: Json = json.loads(output)
        return found
    usage = subprocess.run([binary, "--help"], capture_output=True, text=True, check=True).stdout
    return {"commands": [], "options": [{"names": re.findall(r"--[a-z][\w-]*", usage), "value": None}]}


@cache
def script_options(script: str) -> frozenset[str]:
    """The words that look like options in the files that read a script's options."""
    files = [file for pattern in READERS.get(script, (script,)) for file in REPOSITORY.glob(pattern)]
    return frozenset(option for file in files for option in OPTION.findall(file.read_text(encoding="utf-8")))


def mistakes(shown: Shown) -> Iterator[str]:
    """What the command would refuse."""
    program, *words = shown.words
    if program not in PROGRAMS:
        yield from _script_mistakes(program, words)
        return
    if program in PARSED and not shown.synopsis:
        yield from _parser_mistakes(program, words)
        return
    about = description(program)
    known, rest = about["options"], words
    if about["commands"] and words and re.match("[a-z]", words[0]):
        found = [command for command in about["commands"] if command["name"] == words[0]]
        if not found and words[0] != "experiment":
            yield f"{program} has no command '{words[0]}'"
            return
        known, rest = [option for command in found for option in command["options"]], words[1:]
    elif about["commands"]:  # the command is clear from the text, or COMMAND
        known = known + [option for command in about["commands"] for option in command["options"]]
    names = {name for option in known for name in option["names"]} | {"--help", "-h", "--version"}
    for option in options_of(rest):
        if option not in names:
            command = f"{program} {words[0]}" if rest is not words else program
            yield f"{command} has no option {option}"


def options_of(words: Sequence[str]) -> Iterator[str]:
    """The options among the words of a command or of its synopsis."""
    for word in words:
        if word == "--":
            return
        bare = word.strip("[]().,").partition("=")[0]
        if OPTION.fullmatch(bare):
            yield bare


class _RefusalError(Exception):
    pass


def _untried(path: Path) -> None:
    del path


def _parser_mistakes(program: str, words: list[str]) -> Iterator[str]:
    """The parser's own error."""

    def refuse(_parser: argparse.ArgumentParser, message: str) -> None:
        raise _RefusalError(message)

    given = plan._with_command(words) if program == "netblt-plan" else words
    before, tried = argparse.ArgumentParser.error, (destinations._try_file, destinations._try_folder)
    argparse.ArgumentParser.error = refuse  # type: ignore[assignment, method-assign]
    destinations._try_file = destinations._try_folder = _untried  # files of the reader, not of this machine
    try:
        PARSED[program]().parse_args(given)
    except _RefusalError as refusal:
        yield f"{program} {' '.join(given[:1])}: {refusal}"
    except SystemExit:
        pass  # --help, --version
    finally:
        argparse.ArgumentParser.error = before  # type: ignore[method-assign]
        destinations._try_file, destinations._try_folder = tried


def _script_mistakes(script: str, words: list[str]) -> Iterator[str]:
    if not (REPOSITORY / script).is_file():
        yield f"there is no {script}"
    elif READERS.get(script) != ():
        for option in options_of(words):
            if option not in script_options(script) | {"--help"}:
                yield f"{script} has no option {option}"
