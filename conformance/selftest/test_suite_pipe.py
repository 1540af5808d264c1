# SPDX-License-Identifier: GPL-2.0-or-later
"""The pipe link: its frames are those of docs/pipe.md, the example plays every role, broken programs are detected."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.adapter import adapter_file
from netblt_conformance.common import paths
from netblt_conformance.common.errors import ImplementationError, NotSupportedError
from netblt_conformance.common.model import ACTIVE_SENDER, Parameters, Start, Status, Stop
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.links import pipeframes
from netblt_conformance.links.pipe import PipeEndpoint

if TYPE_CHECKING:
    from selftest.conftest import Command

CORE_CASES = "CKSUM,OPEN-02,OPEN-07,NEG,CTRL-01,CTRL-03,CTRL-04,CTRL-06,CTRL-09,RESEND,ORDER-02,DATA-04,TIMER-02"

ANSWER_HELLO = r"""
import struct, sys, time, hashlib, os
def frame(kind, payload=b""):
    sys.stdout.buffer.write(struct.pack(">IB", 1 + len(payload), kind) + payload); sys.stdout.buffer.flush()
def state(status=0, deadline=2**64 - 1):
    frame(0x83, struct.pack(">QBH", deadline, status, 0))
def requests():
    while True:
        head = sys.stdin.buffer.read(4)
        if len(head) < 4: sys.exit()
        body = sys.stdin.buffer.read(struct.unpack(">I", head)[0])
        if body[0] == 1: frame(0x81, struct.pack(">HIH", 1, 0x7F, 1) + b"x")
        elif body[0] == 6: frame(0x84, struct.pack(">Q32sH", 0, hashlib.sha256().digest(), 0))
        else: yield body[0], body[1:]
"""

PROGRAMS = {
    "silent": "for kind, body in requests(): state()",
    "echoing": "for kind, body in requests():\n    if kind == 3: frame(0x82, body[8:])\n    state()",
    "claiming success": "for kind, body in requests(): state(status=4)",
    "crashing": "for kind, body in requests():\n    if kind == 3: os.abort()\n    state()",
    "exiting": "for kind, body in requests():\n    if kind == 3: sys.exit('I give up')\n    state()",
    "standing still": "for kind, body in requests(): state(deadline=0)",
    "out of step": "for _ in requests():\n    sys.stdout.buffer.write(b'\\xff' * 64); sys.stdout.buffer.flush()",
}
EACH_TIME = ("claiming success", "crashing")  # the others by night


def adapter_for(tmp_path: Path, program: str) -> Path:
    script = tmp_path / "program.py"
    script.write_text(ANSWER_HELLO + program + "\n", encoding="utf-8")
    adapter = tmp_path / "adapter.toml"
    adapter.write_text(f'name = "broken"\n[pipe]\ncommand = ["{sys.executable}", "{script}"]\n', encoding="utf-8")
    return adapter


def test_the_worked_example_of_the_document_is_what_the_suite_sends() -> None:
    document = (paths.root() / "docs" / "pipe.md").read_text(encoding="utf-8")
    frames = [bytes.fromhex(text) for text in re.findall(r"^    ([0-9a-f ]+)(?:  .*)?$", document, re.MULTILINE)]
    joined = b"".join(frames)
    start = Start(
        role=ACTIVE_SENDER,
        parameters=Parameters(client_string="hi"),
        local_address=bytes([192, 0, 2, 2]),
        foreign_address=bytes([192, 0, 2, 1]),
        local_port=1025,
        foreign_port=1,
        seed=7,
        test_id="t",
        data=b"data",
    )
    assert pipeframes.hello("netblt-conformance") in joined
    assert pipeframes.start(start, 0) in joined
    assert pipeframes.advance(1_000_000) in joined


def test_stop_and_packet_frames_have_their_layout() -> None:
    assert pipeframes.stop(Stop.ABORT, "no", 5).hex() == "0000000e05" + "0000000000000005" + "01" + "0002" + "6e6f"
    assert pipeframes.packet(bytes([1, 2, 3, 4]), b"\xaa", 6).hex() == "0000000e03" + "0000000000000006" + "01020304aa"


@pytest.mark.parametrize("payload", [b"", b"\0", b"\0" * 10, b"\0" * 8 + b"\x09\0\0", b"\0" * 9 + b"\0\x05abc"])
def test_a_malformed_state_is_the_programs_fault(payload: bytes) -> None:
    with pytest.raises(pipeframes.FrameError):
        pipeframes.parse_state(payload)


@pytest.mark.long
@pytest.mark.usefixtures("built_writer")
def test_the_example_endpoint_passes_in_every_role(command: Command) -> None:
    done = command("run", "--adapter", str(paths.adapters() / "example_pipe.toml"), "--select", CORE_CASES)
    assert done.status == 0, done.output + done.errors
    assert {result.role for result in done.results} == {
        "active-sender",
        "active-receiver",
        "passive-sender",
        "passive-receiver",
    }


@pytest.mark.usefixtures("built_library")
def test_the_endpoint_in_c_passes_what_the_same_code_passes_as_a_library(command: Command) -> None:
    adapter = ("--adapter", str(paths.adapters() / "example_pipe_c.toml"))
    assert command("doctor", *adapter).status == 0
    words = ("--select", "OPEN-02,OPEN-05,NEG-03,QUIT-01,ABORT-01,DATA-08,CTRL-13", "--no-sweep", "--no-dissector")
    over_pipe, as_library = command("run", *adapter, *words), command("run", *words)
    assert over_pipe.status == 0, over_pipe.output + over_pipe.errors
    assert [(one.key, one.verdict, one.seconds) for one in over_pipe.results] == [
        (one.key, one.verdict, one.seconds) for one in as_library.results
    ]


@pytest.mark.usefixtures("built_writer")
@pytest.mark.parametrize(
    "name", [name if name in EACH_TIME else pytest.param(name, marks=pytest.mark.nightly) for name in PROGRAMS]
)
def test_a_broken_program_never_passes_a_transfer(command: Command, tmp_path: Path, name: str) -> None:
    adapter = adapter_for(tmp_path, PROGRAMS[name])
    done = command(
        "run",
        "--link",
        "pipe",
        "--adapter",
        str(adapter),
        "--select",
        "two_packets_set_a_connection_up,DATA-08,CTRL-04",
    )
    assert done.status in (1, 2), done.output
    assert done.results
    assert not [result for result in done.results if result.verdict in (Verdict.PASS, Verdict.WARN)], done.output
    if name in ("crashing", "exiting", "standing still", "out of step"):
        assert any(result.verdict is Verdict.FAIL for result in done.results)


LACKING = "for kind, body in requests():\n    if kind in (3, 5): {answer}\n    else: state()"


@pytest.mark.parametrize(
    ("request_", "answer", "error", "words"),
    [
        ("STOP", "frame(0x85, b'not now')", NotSupportedError, "not now"),
        ("STOP", "frame(0x82, bytes(16)); frame(0x85, b'no')", ImplementationError, "UNSUPPORTED after 1 OUTPUT"),
        ("PACKET", "frame(0x85, b'not now')", ImplementationError, "answered PACKET with UNSUPPORTED"),
    ],
)
def test_unsupported_is_the_whole_answer_and_to_a_stop_only(
    tmp_path: Path, request_: str, answer: str, error: type[Exception], words: str
) -> None:
    endpoint = PipeEndpoint(adapter_file.read(adapter_for(tmp_path, LACKING.format(answer=answer))))
    requests = {
        "STOP": lambda: endpoint.stop(Stop.QUIT, "the client", 0),
        "PACKET": lambda: endpoint.packet(bytes(4), bytes(12), 0),
    }
    try:
        with pytest.raises(error, match=words):
            requests[request_]()
    finally:
        endpoint.end()


@pytest.mark.parametrize("reason", [b"\xff\xfe", b"caf\xe9", b"cut \xe2\x82"])
def test_a_reason_that_is_no_utf_8_is_no_mistake(reason: bytes) -> None:
    state = pipeframes.parse_state(struct.pack(">QBH", 7, Status.FAILED, len(reason)) + reason)
    assert state.deadline_us == 7
    assert state.reason.endswith("\ufffd")


# The example with a queue through which each packet leaves so much later.
OUTPUTS = """    outputs = end.out if end else []
    for destination, packet in outputs:
        write_frame(stream, 0x82, destination + packet)
    outputs.clear()
    deadline = min(end.timers.values(), default=NEVER) if end else NEVER
"""
LATE_OUTPUTS = """    late = end.__dict__.setdefault("late", []) if end else []
    if end:
        late += [(end.now + 80 * MS, *output) for output in end.out]
        end.out.clear()
    while late and late[0][0] <= end.now:
        _, destination, packet = late.pop(0)
        write_frame(stream, 0x82, destination + packet)
    deadline = min([*end.timers.values(), *(moment for moment, *_ in late)], default=NEVER) if end else NEVER
"""
# Cases that fail it when they count packets of less than 80 ms ago as known.
HASTY = "quit_is_answered_with_quitack,abort_closes_without,lengths_beside_the_edges"


@pytest.mark.usefixtures("built_writer")
def test_a_slow_program_is_held_to_what_it_knew(command: Command, tmp_path: Path) -> None:
    text = (paths.adapters() / "example_pipe_endpoint.py").read_text(encoding="utf-8")
    assert text.count(OUTPUTS) == 1, "the example has changed"
    adapter = adapter_for(tmp_path, "")
    (tmp_path / "program.py").write_text(text.replace(OUTPUTS, LATE_OUTPUTS), encoding="utf-8")
    done = command("run", "--adapter", str(adapter), "--select", HASTY, "--no-sweep", "--no-dissector")
    assert done.status == 0, done.output
    assert not [result for result in done.results if result.verdict is Verdict.FAIL], done.output
    assert done.output.count("80 ms") == 4, done.output  # what each role shows in its first transfer


def test_a_program_that_does_not_exist_is_named(command: Command, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter.toml"
    adapter.write_text('name = "none"\n[pipe]\ncommand = ["/no/such/program"]\n', encoding="utf-8")
    done = command("run", "--link", "pipe", "--adapter", str(adapter))
    assert done.status == 2
    assert "/no/such/program" in done.errors
    assert "Traceback" not in done.errors
