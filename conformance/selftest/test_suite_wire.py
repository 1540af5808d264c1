# SPDX-License-Identifier: GPL-2.0-or-later
"""The wire link: real packets, the program's end in words, nothing left behind, and what happens without rights."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance import paths
from netblt_conformance.links import netns
from netblt_conformance.links.base import LinkUnavailableError
from netblt_conformance.verdicts import Verdict

if TYPE_CHECKING:
    from selftest.conftest import Command

CONFORMANCE = Path(__file__).resolve().parents[1]
PROGRAM = paths.build() / "bin" / "netblt"
FEW = "CKSUM-06,CTRL-04,RESEND-02"


@pytest.fixture(scope="module", autouse=True)
def wire_is_possible(built_writer: None) -> None:
    del built_writer
    if not PROGRAM.is_file():
        pytest.skip("netblt is not built: run tools/build")
    probe = subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False)
    if os.geteuid() != 0 and probe.returncode != 0:
        pytest.skip("neither root nor user namespaces here")


def adapter(tmp_path: Path, command: str) -> str:
    """An adapter whose program is a shell script, in the role of a passive receiver."""
    path = tmp_path / "adapter.toml"
    script = tmp_path / "program"
    script.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    script.chmod(0o755)
    text = f'name = "script"\n[wire]\nready_s = 1\n[wire.roles.passive-receiver]\ncommand = ["{script}"]\n'
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_program_passes_with_real_packets(command: Command) -> None:
    done = command("run", "--link", "wire", "--select", FEW)
    assert done.status == 0, done.output + done.errors
    assert {result.verdict for result in done.results} == {Verdict.PASS}
    assert len(list(done.report.glob("*.pcapng"))) == len(done.results)


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("echo cannot do that >&2; exit 127", 2, "cannot do that"),
        ("echo unknown option >&2; exit 2", 2, "refuses its command line: unknown option"),
        ("kill -SEGV $$", 1, "SIGSEGV"),
        ("echo 'x.c:1: runtime error: shift exponent' >&2; exit 1", 1, "runtime error: shift exponent"),
        ("sleep 60", 2, "did not listen within 1 s"),
    ],
)
def test_the_end_of_a_program_is_told_in_words(
    command: Command, tmp_path: Path, script: str, status: int, words: str
) -> None:
    file = adapter(tmp_path, script)
    done = command("run", "--link", "wire", "--adapter", file, "--select", "OPEN-02", "--role", "passive-receiver")
    assert done.status == status, done.output + done.errors
    assert words in done.output + done.errors


def test_a_program_that_is_not_there_is_named(command: Command, tmp_path: Path) -> None:
    file = adapter(tmp_path, "true")
    (tmp_path / "program").unlink()
    done = command("run", "--link", "wire", "--adapter", file, "--select", "OPEN-02")
    assert done.status == 2
    assert str(tmp_path / "program") in done.errors


def running_with(test_id: str) -> list[int]:
    """Processes whose environment holds this test ID."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"NETBLT_TEST_ID={test_id}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def test_nothing_is_left_when_the_suite_is_killed(tmp_path: Path) -> None:
    words = ["run", "--link", "wire", "--select", "OPEN-03", "--role", "active-sender", "--report", str(tmp_path / "r")]
    suite = subprocess.Popen(
        [sys.executable, "-m", "netblt_conformance", *words, "--seed", str(os.getpid())],
        env={**os.environ, "PYTHONPATH": str(CONFORMANCE)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    name = "an_open_without_answer_is_repeated_and_then_given_up[active-sender]"
    try:
        give_up = time.monotonic() + 20
        while not running_with(name) and time.monotonic() < give_up:
            time.sleep(0.05)
        assert running_with(name)
    finally:
        suite.send_signal(signal.SIGKILL)
        suite.wait()
    give_up = time.monotonic() + 5
    while running_with(name) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not running_with(name)


def test_without_rights_the_other_links_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        @staticmethod
        def unshare(flags: int) -> int:
            del flags
            return -1

    monkeypatch.setattr(netns, "_libc", Refusing)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LinkUnavailableError, match="--link sim and --link pipe need no rights"):
        netns.become_root_of_a_user_namespace()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder for another user: pytest's own lie in closed ones."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root to become someone else")
def test_an_ordinary_user_gets_the_wire_link_through_a_user_namespace(open_folder: Path) -> None:
    words = ["run", "--link", "wire", "--select", "CKSUM-06", "--role", "passive-receiver", "-q"]
    become = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    probe = subprocess.run([*become, "unshare", "-rn", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("no user namespaces for ordinary users here")
    if subprocess.run([*become, "test", "-r", str(PROGRAM)], check=False).returncode != 0:
        pytest.skip("the build folder is closed to other users")
    done = subprocess.run(
        [*become, sys.executable, "-m", "netblt_conformance", *words, "--report", str(open_folder / "r")],
        env={**os.environ, "PYTHONPATH": str(CONFORMANCE), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(open_folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
