# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion in bash, zsh and fish: what each shell completes, and where `cmake --install` puts it."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from types import ModuleType

import pytest
from netblt_conformance.commands.describe import describe
from selftest.netblt_command_lab import REPOSITORY
from selftest.texts import help_of

WRITER = REPOSITORY / "tools" / "completion" / "completion.py"
MADE = REPOSITORY / "build" / "completion"
COMMANDS = [
    *(("netblt", command) for command in ("send", "recv", "listen", "perf")),
    *(("netblt-conformance", command) for command in ("run", "check", "watch", "diff", "mutants")),
    *(("netblt-plan", command) for command in ("plan", "run", "compare")),
]
PROGRAMS = sorted({program for program, _ in COMMANDS})
# Words before the cursor (the last one is incomplete), and what completes it.
CASES = [
    ("netblt ", {"send", "recv", "listen", "perf"}),
    ("netblt pe", {"perf"}),
    ("netblt --ver", {"--version"}),
    ("netblt send --enc", {"--encap"}),
    ("netblt send --encap ", {"ip", "udp"}),
    ("netblt send --encap u", {"udp"}),
    ("netblt send --encap=u", {"udp"}),
    ("netblt send --json --sandbox re", {"require"}),
    ("netblt send --encap udp fi", {"file one", "file2"}),
    ("netblt send fi", {"file one", "file2"}),
    ("netblt send file2 fi", {"file one", "file2"}),
    ("netblt send file2 file2 dir", {"directory"}),
    ("netblt recv fi", {"file one", "file2"}),
    ("netblt send --pcap fi", {"file one", "file2"}),
    ("netblt listen --root dir", {"directory"}),
    ("netblt listen --roo", {"--root"}),
    ("netblt perf --roo", set()),
    ("netblt send --user roo", {"root"}),
    ("netblt-conformance sh", {"shrink"}),
    ("netblt-conformance run --link pi", {"pipe"}),
    ("netblt-conformance check fi", {"file one", "file2"}),
    ("netblt-plan plan --encap ", {"ip", "udp"}),
    ("netblt-plan plan --rt", {"--rtt"}),
]
# Only of bash: completion in fish ignores how many words there are before, and names no loopback host.
CASES_OF_BASH = [
    ("netblt send file2 localh", {"localhost"}),
    ("netblt recv localh", {"localhost"}),
    ("netblt recv file2 localh", {"localhost"}),
    ("netblt recv file2 fi", set()),
]


def needs(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with two files and a directory."""
    (tmp_path / "file one").touch()
    (tmp_path / "file2").touch()
    (tmp_path / "directory").mkdir()
    return tmp_path


def run(shell: str, script: str, place: Path) -> list[str]:
    done = subprocess.run(
        [needs(shell), *(["--norc"] if shell == "bash" else []), "-c", script],
        cwd=place, capture_output=True, text=True, timeout=60, check=False, env=os.environ | {"HOME": str(place)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def complete_in_bash(typed: str, place: Path) -> set[str]:
    """As bash does it: words split at spaces and at "=", and the function called with the three arguments."""
    program = typed.split()[0]
    words = [part for word in re.split(r" +", typed) for part in (re.split(r"(=)", word) if "=" in word else [word])]
    script = (
        f"source {shlex.quote(str(MADE / 'bash' / program))}\n"
        f"compopt() {{ :; }}\n"
        f"COMP_WORDS=({' '.join(map(shlex.quote, words))}) COMP_CWORD={len(words) - 1}\n"
        f"_{program.replace('-', '_')} {program} {shlex.quote(words[-1])} {shlex.quote(words[-2])}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    return {line for line in run("bash", script, place) if line}


def complete_in_fish(typed: str, place: Path) -> set[str]:
    program = typed.split()[0]
    script = f"source {MADE / 'fish' / f'{program}.fish'}; complete -C {shlex.quote(typed)}"
    found = {line.partition("\t")[0].removesuffix("/") for line in run("fish", script, place)}
    return {re.sub(r"^--\w+=", "", word) if "=" in typed else word for word in found}


def line_of_zsh(typed: str, place: Path) -> str:
    """What an interactive zsh makes of `typed` when Tab is pressed; the next key removes a suffix = or /."""
    master, slave = pty.openpty()
    start = f"fpath=({MADE / 'zsh'} $fpath); autoload -Uz compinit; compinit -u -D; PS1='%%'; print ready"
    shell = subprocess.Popen(
        [needs("zsh"), "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=place, start_new_session=True,
        env=os.environ | {"TERM": "dumb", "HOME": str(place)},
    )  # fmt: skip
    os.close(slave)
    written = ""

    def read_until(pattern: str) -> re.Match[str]:
        nonlocal written
        end = time.monotonic() + 60
        while (found := re.search(pattern, written)) is None:
            assert time.monotonic() < end, written
            if select.select([master], [], [], 1)[0]:
                written += os.read(master, 65536).decode(errors="replace")
        return found

    try:
        os.write(master, start.encode() + b"\n")
        read_until(r"\nready\r")
        os.write(master, typed.encode() + b"\t\x01print -r -- '<' \x05 '>'\n")
        return read_until(r"\n< (.*?) ?>\r").group(1)
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


class TestEachShell:
    @pytest.mark.parametrize(("typed", "wanted"), CASES + CASES_OF_BASH)
    def test_bash_completes(self, place: Path, typed: str, wanted: set[str]) -> None:
        assert complete_in_bash(typed, place) == wanted

    @pytest.mark.parametrize(("typed", "wanted"), CASES)
    def test_fish_completes(self, place: Path, typed: str, wanted: set[str]) -> None:
        needs("fish")
        assert complete_in_fish(typed, place) == wanted

    @pytest.mark.parametrize(
        ("typed", "wanted"),
        [
            ("netblt pe", "netblt perf"),
            ("netblt send --enc", "netblt send --encap"),
            ("netblt send --encap=u", "netblt send --encap=udp"),
            ("netblt send --json --sandbox re", "netblt send --json --sandbox require"),
            ("netblt send file2 dir", "netblt send file2 directory"),
            ("netblt recv dir", "netblt recv directory"),
            ("netblt recv file2 localh", "netblt recv file2 localhost"),
            ("netblt listen --root dir", "netblt listen --root directory"),
            ("netblt perf --roo", "netblt perf --roo"),
            ("netblt-conformance run --link pi", "netblt-conformance run --link pipe"),
            ("netblt-plan plan --rt", "netblt-plan plan --rtt"),
        ],
    )
    def test_zsh_completes(self, place: Path, typed: str, wanted: str) -> None:
        assert line_of_zsh(typed, place).rstrip() == wanted

    @pytest.mark.parametrize("program", PROGRAMS)
    def test_the_shells_can_read_their_files(self, program: str, place: Path) -> None:
        for shell, name in (("bash", program), ("zsh", f"_{program}"), ("fish", f"{program}.fish")):
            if shutil.which(shell) is not None:
                subprocess.run([shell, "-n", str(MADE / shell / name)], check=True, timeout=60, cwd=place)


class TestOptions:
    @pytest.mark.parametrize(("program", "command"), COMMANDS)
    def test_bash_knows_the_options_of_help(self, program: str, command: str, place: Path) -> None:
        in_help = set(re.findall(r"^ {2,6}(?:-\w(?: \w+)?, )?(--[\w-]+)", help_of(program, command), re.MULTILINE))
        assert len(in_help) >= 5
        assert complete_in_bash(f"{program} {command} --", place) == in_help

    def test_fish_and_zsh_have_those_of_bash(self) -> None:
        """One description makes all three files."""
        for program in PROGRAMS:
            about = json.loads((MADE / f"{program}.json").read_text())
            zsh = (MADE / "zsh" / f"_{program}").read_text()
            fish = (MADE / "fish" / f"{program}.fish").read_text()
            for command in about["commands"]:
                section = re.search(rf"^        {command['name']}\)\n(.*?);;", zsh, re.MULTILINE | re.DOTALL)
                assert section is not None
                for option in command["options"]:
                    for name in option["names"]:
                        assert f"'*{name}" in section[1]
                        short = f"-l {name[2:]} " if name.startswith("--") else f"-s {name[1:]} "
                        within = rf"^.*__fish_seen_subcommand_from {command['name']}'.* {short}"
                        assert re.search(within, fish, re.MULTILINE), (command["name"], name)


def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("completion", WRITER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestTexts:
    def test_no_text_of_an_option_ends_a_quoted_string(self, tmp_path: Path) -> None:
        """Quotes, brackets and dollar signs of a help text are text in each shell."""
        text = 'it\'s [a] "b" $(touch broken) `touch broken` \\ c: %'
        parser = argparse.ArgumentParser(prog="odd-one")
        parser.add_argument("--top", metavar="A:B", help=text.replace("%", "%%"))
        commands = parser.add_subparsers()
        sub = commands.add_parser("go", help=text)
        sub.add_argument("--deep", choices=["x", "y"], help=text.replace("%", "%%"))
        sub.add_argument("--hidden", help=argparse.SUPPRESS)
        sub.add_argument("name", type=Path)
        for name, content in writer().files_of(describe(parser)).items():
            shell = name.split("/")[0]
            assert "hidden" not in content
            if shutil.which(shell) is None:
                continue
            file = tmp_path / name
            file.parent.mkdir()
            file.write_text(content)
            subprocess.run([shell, "-n", str(file)], check=True, timeout=60, cwd=tmp_path)
            if shell == "zsh":  # outside of the line editor the functions of completion cannot run
                script = (
                    f"_arguments() {{ print -rl -- $@; }}; _describe() {{ :; }}; words=(go)\nf() {{ {content} }}; f"
                )
                script = script.replace("local curcontext=$curcontext state line", "local state=arguments line")
                assert text.replace("[a]", r"\[a\]").replace("c:", r"c\:") in "\n".join(run("zsh", script, tmp_path))
            elif shell == "fish":
                script = f"source {file}; complete -C 'odd-one '"
                assert f"go\t{text}" in run("fish", script, tmp_path)
        assert not (tmp_path / "broken").exists()


def test_install_puts_them_where_the_shells_look(tmp_path: Path) -> None:
    build = REPOSITORY / "build"
    if not (build / "cmake_install.cmake").is_file():
        pytest.skip("not built")
    command = ["cmake", f"-DCMAKE_INSTALL_PREFIX={tmp_path}", "-P", str(build / "tools/completion/cmake_install.cmake")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    files = {path.relative_to(tmp_path / "share").as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {
        *(f"bash-completion/completions/{program}" for program in PROGRAMS),
        *(f"zsh/site-functions/_{program}" for program in PROGRAMS),
        *(f"fish/vendor_completions.d/{program}.fish" for program in PROGRAMS),
    }
