# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that stall in a real program: the suite holds the opposite end of its standard input or output."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.links.client import SlowReader, SlowWriter, StallingClient
from netblt_conformance.links.process import Process

if TYPE_CHECKING:
    from selftest.conftest import Command, Outcome

PIPE_MOST = 1 << 20
STALL_S = 1.5
# A busy machine may start a program only after a stall: then the next longer one shows it.
LONGER_STALLS_S = (STALL_S, 10.0, 60.0)


def begun(client: StallingClient, command: list[str], *, reads: bool) -> Process:
    end = client.program_end
    process = Process(command, {}, given_input=end if reads else None, given_output=None if reads else end)
    client.start()
    return process


def ended(client: StallingClient, process: Process) -> None:
    process.free()
    client.close()


def test_a_slow_writer_gives_the_first_bytes_and_the_others_after_the_stall() -> None:
    data = os.urandom(PIPE_MOST)
    script = "import sys, time; first = sys.stdin.buffer.read1(1 << 20); first_s = time.monotonic(); "
    script += "rest = sys.stdin.buffer.read(); print(len(first), len(rest), first_s, time.monotonic())"
    for stall_s in LONGER_STALLS_S:
        until_s = time.monotonic() + stall_s
        client = SlowWriter(data, 1000, until_s)
        process = begun(client, ["python3", "-c", script], reads=True)
        try:
            assert process.wait(stall_s + 60) == 0
            first, rest, first_s, end_s = process.output().split()
        finally:
            ended(client, process)
        assert int(first) + int(rest) == len(data)
        assert float(end_s) >= until_s
        if float(first_s) < until_s:
            assert int(first) == 1000
            return
    pytest.fail("the program never read before the end of the stall")


def test_a_slow_reader_holds_a_program_up_and_loses_nothing() -> None:
    until_s = time.monotonic() + STALL_S
    client = SlowReader(until_s)
    script = "import os, sys, time; data = b'0123456789abcdef' * 4096; sys.stdout.buffer.write(data); "
    script += "sys.stdout.flush(); print(time.monotonic(), file=sys.stderr)"
    process = begun(client, ["python3", "-c", script], reads=False)
    try:
        assert process.wait(10) == 0
        assert float(process.errors()) >= until_s
        assert client.received == b"0123456789abcdef" * 4096
    finally:
        ended(client, process)


def test_what_a_program_left_in_the_pipe_is_waited_for_to_the_end_of_the_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was sent may fit into the pipe: then the program is done with it long before its client takes it."""
    monkeypatch.setattr("netblt_conformance.links.client._END_LIMIT_S", 2 * STALL_S)
    client = SlowReader(time.monotonic() + 3 * STALL_S)
    process = begun(client, ["python3", "-c", "print('x' * 3071)"], reads=False)
    try:
        assert process.wait(60) == 0
        assert client.received == b"x" * 3071 + b"\n"
    finally:
        ended(client, process)


@pytest.mark.parametrize("reads", [True, False], ids=["writer", "reader"])
def test_a_client_ends_with_its_case_however_the_program_behaves(reads: bool) -> None:
    """Neither a stall of an hour nor a program that neither reads nor writes nor ends keeps the suite."""
    far_s = time.monotonic() + 3600
    client = SlowWriter(b"x" * PIPE_MOST, PIPE_MOST, far_s) if reads else SlowReader(far_s)
    process = begun(client, ["sleep", "3600"], reads=reads)
    ended(client, process)
    never = SlowReader(far_s)  # its program could not be started
    never.close()


# ---- whole cases ----

RECEIVE = '"$1" recv - --passive --port "$3" --bind "$4" --quiet --buffer-size 4096 --packet-size 1024'


def passive_receiver(command: Command, tmp_path: Path, script: str, more: str) -> Outcome:
    program, adapter = tmp_path / "program", tmp_path / "adapter.toml"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    words = f'command = ["{program}", "{{bin}}/netblt", "{{file_out}}", "{{local_port}}", "{{local_address}}"]'
    text = f'name = "script"\n[wire]\n{more}\n[wire.roles.passive-receiver]\n{words}\n'
    adapter.write_text(text, encoding="utf-8")
    select = ["--select", "no_go_without_a_client_buffer", "--role", "passive-receiver", "--no-dissector"]
    return command("run", "--link", "wire", "--adapter", str(adapter), *select)


TO_A_FILE = RECEIVE.replace("recv - ", 'recv "$2" ')


@pytest.mark.usefixtures("wire_is_possible")
def test_without_a_name_for_standard_output_the_case_does_not_apply(command: Command, tmp_path: Path) -> None:
    done = passive_receiver(command, tmp_path, f"exec {TO_A_FILE}", "")
    assert [result.verdict for result in done.results] == [Verdict.NA], done.output
    assert "client stall" in done.results[0].seen


@pytest.mark.usefixtures("wire_is_possible")
def test_a_program_that_hoards_what_it_receives_proves_nothing(command: Command, tmp_path: Path) -> None:
    hoards = f'case "$2" in -) {RECEIVE} > hoard && cat hoard;; *) exec {TO_A_FILE};; esac'
    done = passive_receiver(command, tmp_path, hoards, 'stall_file = "-"')
    assert [result.verdict for result in done.results] == [Verdict.INCONC], done.output
    assert "although its client reads nothing" in done.results[0].seen
