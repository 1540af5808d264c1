# SPDX-License-Identifier: GPL-2.0-or-later
"""The command doctor: what it shows of programs that work and of programs that do not."""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from netblt_conformance.common import paths, words
from netblt_conformance.common.model import ACTIVE_SENDER, ALL_ROLES
from netblt_conformance.doctor import advice, child, frames
from netblt_conformance.doctor.transfer import Examined, Stage
from netblt_conformance.links.base import Account, LinkFactory
from netblt_conformance.packets.ipv4 import wrap
from selftest.conftest import Command, Outcome

WIRE = 'name = "mine"\n[wire]\nencapsulation = "ip"\n'


def wire_adapter(folder: Path, script: str) -> Path:
    """One program, a shell script, in an active and in a passive role."""
    program = folder / "mine"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    text = WIRE
    for role, word in (("active-sender", "{peer_address}"), ("passive-receiver", "{local_address}")):
        text += f'[wire.roles.{role}]\ncommand = ["{{adapter_dir}}/mine", "{word}"]\nready_s = 1\n'
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return file


def pipe_adapter(folder: Path, script: str) -> Path:
    (folder / "mine.py").write_text(script, encoding="utf-8")
    file = folder / "mine.toml"
    file.write_text('name = "mine"\n[pipe]\ncommand = ["{python}", "{adapter_dir}/mine.py"]\n', encoding="utf-8")
    return file


def last_line(done: Outcome, role: str) -> str:
    """What the summary gives of a role, in one line: its text wraps."""
    lines = done.output.splitlines()
    begin = max(number for number, line in enumerate(lines) if line.startswith(role))
    rest = itertools.takewhile(lambda line: line.startswith(" "), lines[begin + 1 :])
    return " ".join([lines[begin], *(line.strip() for line in rest)])


@pytest.mark.usefixtures("built_library")
def test_the_reference_works_in_every_role_and_its_packets_are_shown(command: Command, tmp_path: Path) -> None:
    done = command("doctor", "--captures", str(tmp_path / "captures"))
    assert done.status == 0, done.output + done.errors
    assert done.output.startswith("testing: netblt reference endpoint; ")
    for role in ALL_ROLES:
        assert last_line(done, str(role)).split(maxsplit=1)[1] == "works"
        assert (tmp_path / "captures" / f"doctor.{role}.pcapng").stat().st_size > 0
    assert done.output.count(" OPEN(") == done.output.count(" RESPONSE(") == len(ALL_ROLES)


@pytest.mark.usefixtures("wire_is_possible")
def test_a_program_that_prints_an_error_and_exits_is_shown_with_its_command_line(
    command: Command, tmp_path: Path
) -> None:
    file = wire_adapter(tmp_path, "echo made of words; echo 'cannot open config file' >&2; exit 3")
    done = command("doctor", "--adapter", str(file))
    assert done.status == 1, done.errors
    assert f"{tmp_path.resolve()}/mine 192.0.2.1" in done.output
    for role in ("active-sender", "passive-receiver"):
        line = last_line(done, role)
        assert "does not work" in line
        assert "exit status 3, standard error: cannot open config file" in line
    assert done.output.count("standard output made of words") == 2
    assert "not supported: mine.toml describes no active-receiver" in last_line(done, "active-receiver")


@pytest.mark.usefixtures("wire_is_possible")
@pytest.mark.parametrize(
    ("script", "active", "passive"),
    [
        ("exit 0", "the program ended with exit status 0", "does not listen: the program ended with exit status 0"),
        ("kill -SEGV $$", "crashed with SIGSEGV", "crashed with SIGSEGV"),
        ("kill -KILL $$", "the program ended with SIGKILL", "the program ended with SIGKILL"),
        ("exec sleep 100", "expected OPEN: not within", "did not listen within 1 s"),
        (
            r"printf '\033[31m\000\n' >&2; exit 1",
            r"standard error: \u001b[31m\u0000;",
            r"standard error: \u001b[31m\u0000",
        ),
    ],
)
def test_the_summary_says_how_each_program_ended(
    command: Command, tmp_path: Path, script: str, active: str, passive: str
) -> None:
    done = command("doctor", "--adapter", str(wire_adapter(tmp_path, script)))
    assert done.status == 1, done.errors
    assert active in last_line(done, "active-sender")
    assert passive in last_line(done, "passive-receiver")
    assert "\033" not in done.output


@pytest.mark.usefixtures("wire_is_possible")
def test_a_program_that_ends_is_not_waited_for(command: Command, tmp_path: Path) -> None:
    """The reason is the end of the program, not the time after which the wait would have ended."""
    file = wire_adapter(tmp_path, "echo 'no such host' >&2; exit 1")
    done = command("run", "--adapter", str(file), "--select", "OPEN-01", "--role", "active-sender", "--no-dissector")
    reasons = {result.seen for result in done.results}
    assert len(reasons) == 1, reasons
    reason = reasons.pop()
    assert "the program ended with exit status 1, standard error: no such host" in reason
    assert "not within" not in reason


@pytest.mark.usefixtures("wire_is_possible")
def test_a_program_that_goes_on_in_the_background_works(command: Command, tmp_path: Path) -> None:
    netblt = paths.build() / "bin" / "netblt"
    program = tmp_path / "background"
    program.write_text(f'#!/bin/sh\n(sleep 0.6; exec {shlex.quote(str(netblt))} "$@") >&2 &\n', encoding="utf-8")
    program.chmod(0o755)
    text = (paths.adapters() / "reference.toml").read_text(encoding="utf-8").replace("{bin}/netblt", str(program))
    file = tmp_path / "background.toml"
    file.write_text(text.replace("version_command", "# "), encoding="utf-8")
    done = command("doctor", "--adapter", str(file), "--role", "active-sender", "--role", "passive-receiver")
    assert done.status == 0, done.output + done.errors


@pytest.mark.usefixtures("wire_is_possible")
def test_what_a_program_leaves_in_the_background_is_ended(command: Command, tmp_path: Path) -> None:
    mark = "31.0071"  # seconds: no other program sleeps that long
    file = wire_adapter(tmp_path, f"sleep {mark} & (setsid sleep {mark} &); exit 1")
    done = command("doctor", "--adapter", str(file), "--role", "active-sender")
    assert "exit status 1" in done.output
    assert not [pid for pid, line in command_lines() if line == ["sleep", mark]]


def command_lines() -> Iterator[tuple[int, list[str]]]:
    """Of all processes."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words_ = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1]
            yield int(entry.name), words_


@pytest.mark.usefixtures("wire_is_possible")
def test_a_program_that_is_not_there_or_not_executable_ends_with_2(command: Command, tmp_path: Path) -> None:
    file = wire_adapter(tmp_path, "exit 0")
    (tmp_path / "mine").chmod(0o644)
    not_executable = command("doctor", "--adapter", str(file))
    (tmp_path / "mine").unlink()
    not_there = command("doctor", "--adapter", str(file))
    assert (not_executable.status, not_there.status) == (2, 2)
    assert "is not executable" in not_executable.errors
    assert "no program" in not_there.errors


@pytest.mark.usefixtures("built_writer")
@pytest.mark.parametrize(
    ("script", "words_"),
    [
        ("print('starting up', flush=True); import sys; sys.stdin.read()", "wrote text on the pipe: 'starting up'"),
        ("print('ok', flush=True); import sys; sys.stdin.read()", "wrote text on the pipe: 'ok'"),
        ("import sys; sys.exit('no config file')", "exit code 1 before its answer was complete: no config file"),
    ],
)
def test_a_pipe_program_that_speaks_no_frames_is_told_so(
    command: Command, tmp_path: Path, script: str, words_: str
) -> None:
    done = command("doctor", "--adapter", str(pipe_adapter(tmp_path, script)))
    assert done.status == 2
    assert words_ in done.errors


@pytest.mark.usefixtures("built_writer")
def test_the_frames_of_the_pipe_are_written_in_words(command: Command, tmp_path: Path) -> None:
    file, trace = paths.adapters() / "example_pipe.toml", tmp_path / "trace"
    done = command("doctor", "--adapter", str(file), "--role", "active-receiver", "--trace", str(trace))
    assert done.status == 0, done.output + done.errors
    lines = [line.partition(" ")[2] for line in trace.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == "> HELLO"
    assert lines[1].startswith("< HELLO version 1, features 0x7f, plain Python example")
    assert "< OUTPUT to 192.0.2.1 OPEN" in lines
    assert lines[-1].startswith("< STATE")
    assert command("doctor", "--trace", str(trace)).status == 2


class _Factory(LinkFactory):
    """Does something to the process that would make a link."""

    name = "sim"

    def __init__(self, what: str) -> None:
        self._what = what

    def check(self) -> None:
        pass

    def testing(self) -> dict[str, str]:
        return {}

    def make(self, capture: object) -> object:  # type: ignore[override]

        import time

        os.write(2, b"last words\n")
        if self._what == "abort":
            os.abort()
        if self._what == "exit":
            os._exit(7)
        time.sleep(1000)
        return capture


@pytest.mark.parametrize(
    ("what", "reason"),
    [("abort", "crashed with SIGABRT"), ("exit", "ended the process, exit status 7"), ("hang", "hangs: ")],
)
def test_a_library_that_takes_its_process_down_is_a_crash(what: str, reason: str) -> None:
    found = child.look_at(_Factory(what), ACTIVE_SENDER, 1, limit_s=2.0 if what == "hang" else 60.0)
    assert found.examined.stage is Stage.CRASHED
    assert found.examined.reason.startswith(reason)
    assert "last words" in found.examined.account.errors


def test_each_stage_has_an_advice() -> None:
    for stage in set(Stage) - {Stage.WORKS, Stage.NOT_SUPPORTED}:
        for link in ("sim", "pipe", "wire"):
            for role in ALL_ROLES:
                assert advice.to_do(Examined(role, stage), link)
                assert advice.to_do(Examined(role, stage, account=Account(exit_status=1)), link)


def test_a_packet_that_is_no_netblt_is_shown_as_what_it_is() -> None:
    source, destination = bytes([192, 0, 2, 2]), bytes([192, 0, 2, 1])
    assert frames.content(wrap(b"\x03\x03" + bytes(30), source, destination, 1, 1)) == "ICMP port unreachable"
    assert frames.content(wrap(bytes(8), source, destination, 1, 6)) == "TCP, 8 bytes, 192.0.2.2 > 192.0.2.1"
    assert "no header" in frames.content(wrap(bytes(3), source, destination, 1))
    assert frames.content(b"x") == "1 bytes: no IPv4 header"


def test_of_a_long_output_the_end_is_shown() -> None:
    assert words.shown_lines("a\n\nb\x07\nc\n") == ["a", "b\\u0007", "c"]
    assert words.shown_lines("a\nb\nc\n", 2) == ["... 1 lines before", "b", "c"]
