# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs tshark with the project's plugin over a capture and reads its findings and reports."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from netblt_conformance.common import nobody, paths
from netblt_conformance.common.child import die_with_parent
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.judges.findings import Conclusion, Finding, FindingReader, read_findings
from netblt_conformance.judges.limits import Watched, limits

__all__ = ["Finding", "JudgeError", "Tshark", "plugin_folder"]

_WORDS_BYTES_MOST = 1 << 16  # of tshark's standard error
FINDINGS = "findings"  # the plugin's report of what it finds while it reads


def plugin_folder() -> Path:
    """Where the plugin lies: $NETBLT_PLUGIN_DIR, else what tools/build left."""
    return Path(os.environ.get("NETBLT_PLUGIN_DIR") or paths.build() / "plugins")


class Tshark:
    """tshark with the plugin loaded. Root runs it as the user nobody (`nobody.py`), with a copy of the plugin that this
    user can read. A context manager: the copy goes at its end."""

    def __init__(self) -> None:
        self._program = shutil.which(os.environ.get("NETBLT_TSHARK", "tshark"))
        if self._program is None:
            raise JudgeError("tshark is not installed; run tools/setup")
        self._plugins = plugin_folder().resolve()
        if not list(self._plugins.glob("*/epan/netblt.so")):
            raise JudgeError(f"there is no Wireshark plugin in {self._plugins}; run tools/build")
        self.dies_with_this_process = False  # for a forked child without threads, which may be killed
        self._home = tempfile.TemporaryDirectory(prefix="netblt-judge-")
        if nobody.changes_user():
            home = Path(self._home.name)
            home.chmod(0o755)
            shutil.copytree(self._plugins, home / "plugins")
            self._plugins = home / "plugins"
            for copied in (self._plugins, *self._plugins.rglob("*")):
                # A build with the umask 077 is for its owner only.
                copied.chmod(0o755 if copied.is_dir() else 0o644)

    def __enter__(self) -> Tshark:
        return self

    def __exit__(self, *_: object) -> None:
        self._home.cleanup()

    def start(self, stdin: int | IO[bytes], *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """tshark over what comes in as standard input: the user nobody need not be able to read the file. Its memory is
        limited, its time is not (Watched)."""
        return self._popen([str(self._program), "-n", "-r", "-", *arguments], stdin, **options)

    def ask(self, *arguments: str) -> str:
        """What tshark prints about itself; no capture is read."""
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
        before_exec = die_with_parent if self.dies_with_this_process else None
        process: subprocess.Popen[bytes] = subprocess.Popen(
            nobody.command(limits().confined(command)),
            stdin=stdin,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=self._home.name,  # the other user may have no access to the current folder
            start_new_session=True,  # Ctrl-C is for this process, which ends tshark
            **{"preexec_fn": before_exec, **nobody.credentials(), **options},
        )
        return process

    def run(self, capture: Path, *arguments: str) -> str:
        """What tshark prints about a capture. JudgeError when it fails."""
        with opened(capture) as file:
            process = self.start(file, *arguments, stderr=subprocess.PIPE)
            with Watched(process) as watched:
                output, words = process.communicate()
        why = watched.why(words)
        if why:
            raise JudgeError(f"tshark could not read {capture}: {why}")
        return output.decode("utf-8", "replace")

    def findings(self, capture: Path, *arguments: str, violations: bool = False) -> list[Finding]:
        """All findings in the order of the capture, or only the violations."""
        with opened(capture) as file:
            found = self.judge(file, str(capture), (), FindingReader(), *arguments)
        return [one for one in found if not violations or one.verdict is Conclusion.VIOLATED]

    def judge(
        self, file: IO[bytes], name: str, reports: Sequence[str], reader: FindingReader, *arguments: str
    ) -> list[Finding]:
        """The findings; the reports (-z netblt,NAME,lines) go to the reader's rows in the same go. UnreadableError when
        tshark fails; it then holds what was found until then."""
        with tempfile.TemporaryFile() as errors:
            process = self.start(file, *self.judging(reports), *arguments, stderr=errors)
            with process, Watched(process) as watched:
                assert process.stdout is not None
                found = list(read_findings(process.stdout, reader))
            errors.seek(0)
            why = watched.why(errors.read(_WORDS_BYTES_MOST))
        if why:
            self.complain_of_age(reports)
            raise UnreadableError(name, why, found)
        reader.end()
        return found

    def judging(self, reports: Sequence[str]) -> list[str]:
        """Arguments: what the plugin finds as it finds it, and these reports at the end."""
        words = ["-q", "-z", f"netblt,{FINDINGS}"]
        return words + [word for report in reports for word in ("-z", f"netblt,{report},lines")]

    def complain_of_age(self, reports: Sequence[str]) -> None:
        """JudgeError when the plugin does not know one of these reports. For a tshark that failed: to ask before each
        one costs as much time as to check a small capture."""
        missing = {FINDINGS, *reports} - self.reports
        if missing:
            raise JudgeError(
                f"the Wireshark plugin in {plugin_folder()} has no report {', '.join(sorted(missing))}: it is older "
                "than this suite; run tools/build"
            )

    @functools.cached_property
    def reports(self) -> frozenset[str]:
        """The names of the plugin's reports (-z netblt,NAME)."""
        process = self.start(subprocess.DEVNULL, "-z", "help", stderr=subprocess.PIPE)
        output, words = process.communicate()
        lines = (output + words).decode("utf-8", "replace").splitlines()
        return frozenset(line.strip().removeprefix("netblt,") for line in lines if line.strip().startswith("netblt,"))


class UnreadableError(JudgeError):
    """tshark gave up on a capture, or was ended. What it had found before is kept."""

    def __init__(self, name: str, why: str, found: list[Finding]) -> None:
        super().__init__(f"tshark could not read {name}: {why}")
        self.why = why
        self.findings = found


@contextlib.contextmanager
def opened(capture: Path) -> Iterator[IO[bytes]]:
    try:
        with capture.open("rb") as file:
            yield file
    except OSError as error:
        raise JudgeError(f"{capture}: {error.strerror or error}") from None
