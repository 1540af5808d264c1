# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs tshark with the project's plugin over a capture and reads its findings and reports."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from netblt_conformance import nobody, paths
from netblt_conformance.judges.findings import Finding, FindingReader, JudgeError, read_findings

__all__ = ["Finding", "JudgeError", "Tshark", "plugin_folder"]

ANY_VERDICT = "netblt.analysis.requirement"
DAMAGED = "netblt.checksum.status == 0 || netblt.data_checksum.status == 0"
VIOLATIONS = 'netblt.analysis.verdict == "violation"'


def plugin_folder() -> Path:
    """Where the plugin lies: $NETBLT_PLUGIN_DIR, else what tools/build left."""
    return Path(os.environ.get("NETBLT_PLUGIN_DIR") or paths.build() / "plugins")


def last_line(words: str) -> str:
    """What a program said last, where it says why it failed. Root is told each time that it is root; and what tshark
    knows as its standard input has a name here."""
    lines = [line for line in words.strip().splitlines() if not line.startswith("Running as user")]
    return (lines or ["no reason given"])[-1].removeprefix("tshark: ").replace("The standard input", "it")


class Tshark:
    """tshark with the plugin loaded. Root runs it as nobody (nobody.py), with a copy of the plugin that nobody can
    read. A context manager: the copy goes at its end."""

    def __init__(self) -> None:
        self._program = shutil.which(os.environ.get("NETBLT_TSHARK", "tshark"))
        if self._program is None:
            raise JudgeError("tshark is not installed; run tools/setup")
        self._plugins = plugin_folder().resolve()
        if not list(self._plugins.glob("*/epan/netblt.so")):
            raise JudgeError(f"there is no Wireshark plugin in {self._plugins}; run tools/build")
        self._home = tempfile.TemporaryDirectory(prefix="netblt-judge-")
        if nobody.changes_user():
            home = Path(self._home.name)
            home.chmod(0o755)
            shutil.copytree(self._plugins, home / "plugins")
            self._plugins = home / "plugins"

    def __enter__(self) -> Tshark:
        return self

    def __exit__(self, *_: object) -> None:
        self._home.cleanup()

    def start(self, stdin: int | IO[bytes], *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """tshark over what comes in as standard input: nobody need not be able to read the file."""
        return self._popen([str(self._program), "-n", "-r", "-", *arguments], stdin, **options)

    def ask(self, *arguments: str) -> str:
        """What tshark says of itself; no capture is read."""
        process = self._popen([str(self._program), *arguments], subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return process.communicate()[0].decode("utf-8", "replace")

    def _popen(self, command: list[str], stdin: int | IO[bytes], **options: Any) -> subprocess.Popen[bytes]:
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": self._home.name,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "WIRESHARK_PLUGIN_DIR": str(self._plugins),
        }
        process: subprocess.Popen[bytes] = subprocess.Popen(
            nobody.command(command),
            stdin=stdin,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=self._home.name,  # the current folder may be closed to nobody
            **{**nobody.credentials(), **options},
        )
        return process

    def run(self, capture: Path, *arguments: str) -> str:
        """What tshark says about a capture. JudgeError when it fails."""
        with opened(capture) as file:
            process = self.start(file, *arguments, stderr=subprocess.PIPE)
            output, words = process.communicate()
        if process.returncode:
            raise JudgeError(f"tshark could not read {capture}: {last_line(words.decode('utf-8', 'replace'))}")
        return output.decode("utf-8", "replace")

    def findings(self, capture: Path, which: str = ANY_VERDICT, *arguments: str) -> list[Finding]:
        """All findings of this kind, in the order of the capture."""
        with opened(capture) as file:
            found, _ = self.judge(file, str(capture), which, (), *arguments)
        # A filter picks frames: beside the violation that it looks for, a frame may hold a suspicion of somebody else.
        return [one for one in found if which != VIOLATIONS or one.verdict == "violation"]

    def judge(
        self,
        file: IO[bytes],
        name: str,
        which: str,
        reports: Sequence[str],
        *arguments: str,
        reader: FindingReader | None = None,
    ) -> tuple[list[Finding], dict[str, Any]]:
        """Findings and reports (-z netblt,NAME,json; by name) in one go. JudgeError when tshark fails; it then holds
        what was found until then as `findings` and `reports`. A `reader` keeps what else the PDML holds."""
        words = [word for report in reports for word in ("-z", f"netblt,{report},json")]
        reader = reader or FindingReader()
        with tempfile.TemporaryFile() as errors:
            process = self.start(file, *pdml_options(which), *words, *arguments, stderr=errors)
            with process:
                assert process.stdout is not None
                found = list(read_findings(process.stdout, reader))
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace")
        told = read_reports(reader.rest)
        if process.returncode:
            raise UnreadableError(name, last_line(said), found, told)
        return found, told

    @functools.cached_property
    def reports(self) -> frozenset[str]:
        """The names of the plugin's reports (-z netblt,NAME)."""
        process = self.start(subprocess.DEVNULL, "-z", "help", stderr=subprocess.PIPE)
        output, words = process.communicate()
        lines = (output + words).decode("utf-8", "replace").splitlines()
        return frozenset(line.strip().removeprefix("netblt,") for line in lines if line.strip().startswith("netblt,"))


class UnreadableError(JudgeError):
    """tshark gave up on a capture. What it had found before is kept."""

    def __init__(self, name: str, why: str, found: list[Finding], reports: dict[str, Any]) -> None:
        super().__init__(f"tshark could not read {name}: {why}")
        self.why = why
        self.findings = found
        self.reports = reports


def pdml_options(which: str) -> tuple[str, ...]:
    """Findings as PDML, nothing but what FindingReader needs."""
    return ("-Y", which, "-T", "pdml", "-J", "frame ip ipv6 netblt")


def read_reports(text: bytes) -> dict[str, Any]:
    """The JSON documents that stand one behind the other, by the name of the report."""
    decoder, words, at = json.JSONDecoder(), text.decode("utf-8", "replace"), 0
    reports: dict[str, Any] = {}
    while (at := words.find("{", at)) >= 0:
        try:
            document, at = decoder.raw_decode(words, at)
        except ValueError as error:
            raise JudgeError(f"a report of the plugin is no JSON: {error}") from None
        reports[str(document.get("report"))] = document
    return reports


@contextlib.contextmanager
def opened(capture: Path) -> Iterator[IO[bytes]]:
    try:
        with capture.open("rb") as file:
            yield file
    except OSError as error:
        raise JudgeError(f"{capture}: {error.strerror or error}") from None
