# SPDX-License-Identifier: GPL-2.0-or-later
"""Manual pages, --help and the parser agree."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from selftest.netblt_command_lab import NETBLT, REPOSITORY

MANUALS = REPOSITORY / "reference_impl" / "man"
COMMANDS = ["send", "recv", "listen", "perf"]
PAGES = ["netblt", *(f"netblt-{command}" for command in COMMANDS)]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(NETBLT), *arguments], capture_output=True, text=True, timeout=60, check=False)


def options_of_help(command: str) -> dict[str, bool]:
    """Name of each option, and whether it takes a value."""
    found = re.findall(r"^ {2,6}(?:-\w, )?--([\w-]+)(=\S+)?(?= |$)", run(command, "--help").stdout, re.MULTILINE)
    return {name: value != "" for name, value in found}


def options_of_manual(command: str) -> dict[str, bool]:
    text = (MANUALS / f"netblt-{command}.1").read_text()
    found = re.findall(r"^\.It (?:Fl \w , )?Fl Fl ([\w-]+)(.*)$", text, re.MULTILINE)
    return {name: bool(value.strip()) for name, value in found}


class TestOptions:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_the_manual_lists_the_options_of_help(self, command: str) -> None:
        in_help = options_of_help(command)
        assert len(in_help) > 15
        assert options_of_manual(command) == in_help

    @pytest.mark.parametrize("command", COMMANDS)
    def test_the_parser_knows_the_options_of_help(self, command: str) -> None:
        """Each option is taken, with a value exactly if help has one; the words keep it from doing anything."""
        for name, takes_value in options_of_help(command).items():
            if name in ("help", "version"):
                continue
            alone = run(command, "too", "many", "words", "here", f"--{name}")
            assert ("needs a value" in alone.stderr) == takes_value, f"--{name}: {alone.stderr}"
            if takes_value:
                continue
            assert "unknown option" in run(command, f"--{name}=x").stderr, name

    @pytest.mark.parametrize("command", COMMANDS)
    def test_options_of_other_commands_are_refused(self, command: str) -> None:
        everywhere = {name: value for other in COMMANDS for name, value in options_of_help(other).items()}
        for name, takes_value in everywhere.items():
            if name in options_of_help(command):
                continue
            values = {"allow": "10.0.0.0/8", "client-string": "x", "root": ".", "hash": "sha256", "part-size": "1M"}
            words = [f"--{name}", values.get(name, "1")] if takes_value else [f"--{name}"]
            needed = {"send": ["f", "h"], "recv": ["f", "h"], "listen": ["--root", "."], "perf": ["h"]}[command]
            done = run(command, *needed, *words)
            assert done.returncode == 2
            assert f"no option of netblt {command}" in done.stderr, (name, done.stderr)

    def test_help_of_all_names_each_command(self) -> None:
        text = run("--help").stdout
        for command in COMMANDS:
            assert f"netblt {command} " in text


class TestPages:
    @pytest.mark.parametrize("page", PAGES)
    def test_groff_has_nothing_to_complain_of(self, page: str) -> None:
        if shutil.which("groff") is None:
            pytest.skip("groff is not installed")
        done = subprocess.run(
            ["groff", "-mdoc", "-Tutf8", "-ww", "-z", str(MANUALS / f"{page}.1")],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")

    @pytest.mark.parametrize("page", PAGES)
    def test_mandoc_has_nothing_to_complain_of(self, page: str) -> None:
        if shutil.which("mandoc") is None:
            pytest.skip("mandoc is not installed")
        done = subprocess.run(
            ["mandoc", "-Tlint", "-W", "warning", str(MANUALS / f"{page}.1")],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "")

    @pytest.mark.parametrize("page", PAGES)
    def test_each_page_tells_all_exit_codes_and_its_neighbours(self, page: str) -> None:
        text = (MANUALS / f"{page}.1").read_text()
        assert re.findall(r"^\.It (\d+)$", text, re.MULTILINE) == ["0", "1", "2", "3", "127", "130"]
        for other in re.findall(r"^\.Xr (\S+) 1", text, re.MULTILINE):
            assert other in PAGES, "a page that does not exist"
