# SPDX-License-Identifier: GPL-2.0-or-later
"""What `netblt` shows while data move: the line on a terminal of any width, and the objects of --json-progress."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import pty
import re
import signal
import struct
import termios
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selftest.netblt_command_helpers import DONE, KEYS, SLOW, blake3_sum, make_file
from selftest.netblt_command_lab import Lab

pytest_plugins = ["selftest.netblt_command_fixtures"]

PROGRESS_KEYS = {
    "type", "role", "file", "seconds", "bytes", "total_bytes", "interval_seconds", "interval_bytes", "interval_bps",
    "seconds_left", "packets_retransmitted", "resends_sent", "file_number", "files", "file_bytes", "file_total_bytes",
}  # fmt: skip
RATE = r" {0,4}[\d.]+ [kM]?b/s"
LEFT = r"(?:[ \d]\d:\d\d|--:--) left"


def run_on_terminal(
    lab: Lab,
    arguments: list[str],
    *,
    columns: int = 0,
    environment: dict[str, str] | None = None,
    seen: Callable[[int, bytes], None] | None = None,
) -> str:
    """Runs the command with a terminal as stderr and returns what it wrote there. `seen` gets each piece."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminals here: {error}")
    if columns:
        resize(master, columns)

    def with_terminal() -> None:
        os.dup2(slave, 2)
        os.environ.update({"TERM": "xterm"} | (environment or {}))

    process = lab.start(lab.here, *arguments, prepare=with_terminal)
    os.close(slave)
    written = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the last writer has closed it
            break
        if not piece:
            break
        written += piece
        if seen is not None:
            seen(master, piece)
    os.close(master)
    assert process.wait() == DONE, written
    return written.decode()


def resize(terminal: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def drawn_lines(screen: str) -> list[str]:
    return [line for line in re.findall(r"\r([^\r]*?)\x1b\[K", screen) if line]


def cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


class TestTerminal:
    def test_progress_is_drawn_on_a_terminal_ten_times_a_second_at_most(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 200_000)
        udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
        started = time.monotonic()
        screen = run_on_terminal(udp_lab, ["send", str(source), udp_lab.there.address, *SLOW])
        seconds = time.monotonic() - started

        lines = drawn_lines(screen)
        assert 5 <= len(lines) <= seconds * 10 + 1
        assert any(
            re.search(r"\d+% \[=*>? *\] +[\d.]+ k?B of 200 kB +[\d.]+ [kM]b/s +\d+:\d\d left", line) for line in lines
        )
        assert re.search(r" \d+ retransmitted$", lines[-1])
        assert f"blake3 {blake3_sum(source)}" in screen

    @pytest.mark.parametrize(
        ("columns", "pattern"),
        [
            (20, rf"[ \d]{{3}}% {RATE}"),
            (40, rf"source [ \d]{{3}}% {RATE} {LEFT}"),
            (80, rf"source [ \d]{{3}}% \[[=> ]{{9}}\] .{{8}} of 100 kB {RATE} {LEFT} \d retransmitted"),
            (200, rf"source [ \d]{{3}}% \[[=> ]{{129}}\] .{{8}} of 100 kB {RATE} {LEFT} \d retransmitted"),
        ],
    )
    def test_the_line_has_the_width_of_the_terminal(
        self, udp_lab: Lab, tmp_path: Path, columns: int, pattern: str
    ) -> None:
        source = make_file(tmp_path / "source", 100_000)
        udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
        screen = run_on_terminal(udp_lab, ["send", str(source), udp_lab.there.address, *SLOW], columns=columns)

        lines = drawn_lines(screen)
        assert len(lines) > 2
        assert [line for line in lines if not re.fullmatch(pattern, line)] == []
        assert max(map(len, lines)) < columns

    def test_a_terminal_that_changes_its_width_gets_lines_of_that_width(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 200_000)
        udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
        drawn = 0

        def narrow(terminal: int, piece: bytes) -> None:
            nonlocal drawn
            drawn += piece.count(b"\r")
            if drawn >= 3:
                resize(terminal, 30)

        screen = run_on_terminal(udp_lab, ["send", str(source), udp_lab.there.address, *SLOW], columns=120, seen=narrow)
        lines = drawn_lines(screen)
        assert len(lines[0]) == 119
        assert 0 < len(lines[-1]) < 30

    def test_columns_states_the_width_of_a_terminal_that_does_not_know_it(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 100_000)
        for columns, stated, wanted in ((0, "120", 119), (100, "120", 99), (0, "wide", 79)):
            udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
            screen = run_on_terminal(
                udp_lab, ["send", str(source), udp_lab.there.address, *SLOW], columns=columns,
                environment={"COLUMNS": stated},
            )  # fmt: skip
            assert {len(line) for line in drawn_lines(screen)} == {wanted}

    def test_names_are_cut_by_the_cells_that_they_take(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "写真帳満載の長い名前の書庫.tar", 100_000)
        udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
        screen = run_on_terminal(udp_lab, ["send", str(source), udp_lab.there.address, *SLOW], columns=40)

        for line in drawn_lines(screen):
            assert line.startswith("写真帳満載...")
            assert cells(line) == 39

    def test_a_terminal_that_cannot_clear_a_line_gets_none(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 50_000)
        udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
        arguments = ["send", str(source), udp_lab.there.address, *SLOW]

        assert "\x1b" not in run_on_terminal(udp_lab, arguments, environment={"TERM": "dumb"})

    def test_quiet_says_nothing_even_on_a_terminal(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 50_000)
        udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")

        assert run_on_terminal(udp_lab, ["send", str(source), udp_lab.there.address, "--quiet"]) == ""

    def test_without_a_terminal_only_the_summary_is_written(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 200_000)
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
        sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, *SLOW)

        assert (sender.wait(), receiver.wait()) == (DONE, DONE)
        for process in (sender, receiver):
            assert "\r" not in process.errors
            assert "\x1b" not in process.errors
            assert process.error_lines[-1] == f"blake3 {blake3_sum(source)}"
            assert process.stdout.read_bytes() == b""


def check_progress(objects: list[dict[str, Any]], role: str, size: int, more: frozenset[str] = frozenset()) -> None:
    """`objects` are those of one transfer, in order."""
    assert len(objects) >= 2
    for one in objects:
        assert set(one) == PROGRESS_KEYS | more
        assert (one["type"], one["role"], one["total_bytes"]) == ("progress", role, size)
        assert one["interval_bps"] == pytest.approx(one["interval_bytes"] * 8 / one["interval_seconds"])
        assert (one["packets_retransmitted"] is None) == (role == "receiver")
        assert (one["resends_sent"] is None) == (role == "sender")
        assert [one[key] for key in ("file_number", "files", "file_bytes", "file_total_bytes")] == [None] * 4
    assert all(one["interval_seconds"] > 0.5 for one in objects[1:]), "no two in one second"
    for before, after in itertools.pairwise(objects):
        assert after["bytes"] - before["bytes"] == after["interval_bytes"]
        assert after["seconds"] - before["seconds"] == pytest.approx(after["interval_seconds"], abs=1e-5)
    assert objects[0]["bytes"] <= size
    assert objects[-1]["bytes"] > 0
    assert objects[-1]["seconds_left"] is not None


class TestJsonProgress:
    def test_send_and_recv_print_an_object_each_second_and_then_the_summary(self, lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 500_000)
        receiver = lab.wait_for_peer(lab.there, "recv", tmp_path / "target", "--json-progress")
        sender = lab.start(lab.here, "send", source, lab.there.address, *SLOW, "--json-progress", "--quiet")

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        for process, role, name in ((sender, "sender", "source"), (receiver, "receiver", "target")):
            *progress, summary = process.json_lines
            check_progress(progress, role, summary["negotiated"] and progress[0]["total_bytes"])
            assert {one["file"] for one in progress} == {name}
            assert set(summary) == KEYS, "the summary is that of --json"
            assert summary["result"] == "done"
            assert len(progress) <= summary["seconds"]
            assert progress[-1]["bytes"] <= summary["bytes"] + 32

    def test_listen_prints_those_of_each_transfer(self, udp_lab: Lab, tmp_path: Path) -> None:
        root = tmp_path / "root"
        root.mkdir()
        source = make_file(tmp_path / "source", 500_000)
        server = udp_lab.start(udp_lab.there, "listen", "--root", root, "--json-progress")
        server.wait_until_it_waits()
        clients = [
            udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--client-string", name, *SLOW)
            for name in ("one", "two")
        ]
        assert [client.wait() for client in clients] == [DONE, DONE], [client.errors for client in clients]
        server.wait_until(lambda: server.stdout.read_text().count("sha256") == 2, "both are reported")
        server.send_signal(signal.SIGINT)
        server.wait()

        objects = server.json_lines
        for name in ("one", "two"):
            *progress, summary = [one for one in objects if one["file"] == name]
            check_progress(progress, "receiver", progress[0]["total_bytes"], frozenset({"peer"}))
            assert {one["peer"] for one in progress} == {summary["peer"]}
            assert set(summary) == KEYS | {"file", "peer"}

    def test_a_reader_that_does_not_read_does_not_stop_the_transfer(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 500_000), tmp_path / "target"
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", target)
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        os.write(write, b"x" * 4000)
        sender = udp_lab.start(
            udp_lab.here, "send", source, udp_lab.there.address, *SLOW, "--json-progress", stdout=write
        )
        os.close(write)
        assert receiver.wait() == DONE, receiver.errors
        assert target.read_bytes() == source.read_bytes()
        rest = b""
        while piece := os.read(read, 65536):
            rest += piece
        os.close(read)
        assert sender.wait() == DONE, sender.errors
        assert [json.loads(line)["result"] for line in rest[4000:].splitlines()] == ["done"]

    def test_stdout_cannot_have_both_the_file_and_the_objects(self, udp_lab: Lab) -> None:
        process = udp_lab.start(udp_lab.here, "recv", "-", udp_lab.there.address, "--json-progress")
        assert process.wait() == 2
        assert "--json-progress and DEST - both want stdout" in process.errors
