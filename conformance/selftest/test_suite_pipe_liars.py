# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs on the pipe that do NETBLT well and lie to the suite, or break the pipe in the middle of a transfer:
the example endpoint with one change each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import Verdict

if TYPE_CHECKING:
    from selftest.conftest import Command, Outcome

EXAMPLE = paths.adapters() / "example_pipe_endpoint.py"
DIGEST = "digest = hashlib.sha256(end.delivered).digest()"
LENGTH = 'struct.pack(">Q32sH", len(end.delivered), '
STATUS = "status = end.status if end else OPENING"
INPUT = 'end.input(payload[8:12], payload[12:], struct.unpack_from(">Q", payload)[0])'
ANSWER = "            write_answer(sink, end)\n        sink.flush()"
ONE = "two_packets_set_a_connection_up"
NEVER_A_PASS = (Verdict.PASS, Verdict.WARN)

# What it reports to its client: old text, new text, cases that look at it.
LIES = {
    "another digest": (DIGEST, DIGEST.replace("end.delivered", "end.delivered[::-1]"), "the_data_arrive_byte_for_byte"),
    "a byte more": (LENGTH, LENGTH.replace("len(end.delivered)", "len(end.delivered) + 1"), "the_data_arrive_byte"),
    "nothing delivered": (DIGEST, "digest = bytes(32); end.delivered = b''", "the_data_arrive_byte_for_byte"),
    "success at once": (STATUS, "status = 2", "the_receiver_is_not_done_while"),
    "success whatever becomes of it": (
        STATUS,
        "status = {3: 2, 5: 4}.get(end.status, end.status) if end else 0",
        "ends_the_transfer",
    ),
    "failure whatever becomes of it": (
        STATUS,
        "status = {2: 3, 4: 5}.get(end.status, end.status) if end else 0",
        "two_packets_set_a_connection_up",
    ),
}

COUNT = (
    "\n                end.seen = getattr(end, 'seen', 0) + 1\n                if end.seen == 3:\n                    "
)
BREAKS = {
    "crashes": (INPUT, f"{INPUT}{COUNT}__import__('os').abort()", "SIGABRT"),
    "ends": (INPUT, f"{INPUT}{COUNT}sys.exit('no more')", "no more"),
    "closes its output": (
        INPUT,
        f"{INPUT}{COUNT}sink.flush(), __import__('os').close(1), __import__('time').sleep(60)",
        "closed its end of the pipe",
    ),
    "writes rubbish": (INPUT, f"{INPUT}{COUNT}sink.write(b'\\xee' * 4096)", "sent a pipe frame of 4008636142 bytes"),
    "writes half a frame": (
        INPUT,
        f"{INPUT}{COUNT}sink.write(b'\\0\\0\\1\\0\\x82'), sink.flush(), sys.exit()",
        "before its answer was complete",
    ),
    "answers without end": (
        INPUT,
        f"{INPUT}{COUNT}[write_frame(sink, 0x82, bytes(44)) for _ in iter(int, 1)]",
        "packets at one moment",
    ),
    "answers twice": (
        ANSWER,
        ANSWER.replace("sink.flush()", "write_answer(sink, end)\n        sink.flush()"),
        "sent a frame without a request",
    ),
}


def example(tmp_path: Path, old: str, new: str) -> Path:
    """An adapter for the example endpoint with this change."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"the example has changed: {old!r}"
    (tmp_path / "endpoint.py").write_text(text.replace(old, new), encoding="utf-8")
    adapter = tmp_path / "adapter.toml"
    command = f'["{sys.executable}", "{tmp_path / "endpoint.py"}"]'
    adapter.write_text(f'name = "changed example"\n[pipe]\ncommand = {command}\n', encoding="utf-8")
    return adapter


def run(command: Command, adapter: Path, select: str) -> Outcome:
    words = ("--select", select, "--role", "passive-receiver", "--no-sweep", "--no-dissector")
    return command("run", "--link", "pipe", "--adapter", str(adapter), *words)


@pytest.mark.usefixtures("built_writer")
@pytest.mark.parametrize("lie", LIES)
def test_a_liar_is_convicted_by_whoever_looks(command: Command, tmp_path: Path, lie: str) -> None:
    old, new, select = LIES[lie]
    done = run(command, example(tmp_path, old, new), select)
    assert done.status == 1, done.output
    assert any(result.verdict is Verdict.FAIL for result in done.results), done.output
    assert not [result for result in done.results if result.verdict in NEVER_A_PASS], done.output


@pytest.mark.usefixtures("built_writer")
@pytest.mark.parametrize("how", BREAKS)
def test_a_pipe_that_breaks_in_the_middle_is_a_failure_that_says_how(
    command: Command, tmp_path: Path, how: str
) -> None:
    old, new, words = BREAKS[how]
    done = run(command, example(tmp_path, old, new), "the_data_arrive_byte_for_byte")
    assert done.status == 1, done.output
    assert not [result for result in done.results if result.verdict in NEVER_A_PASS], done.output
    assert words in " ".join(done.output.split())


@pytest.mark.usefixtures("built_writer")
def test_the_example_itself_passes_what_the_liars_fail(command: Command, tmp_path: Path) -> None:
    select = ",".join({select for _, _, select in LIES.values()})
    done = run(command, example(tmp_path, STATUS, STATUS), select)
    assert done.status == 0, done.output
    assert {result.verdict for result in done.results} == {Verdict.PASS}, done.output


@pytest.mark.usefixtures("built_writer")
def test_words_on_standard_output_before_the_first_answer_are_named(command: Command, tmp_path: Path) -> None:
    main = 'if __name__ == "__main__":'
    done = run(command, example(tmp_path, main, f'print("endpoint 1.0, welcome", flush=True)\n{main}'), ONE)
    assert done.status == 2, done.output
    assert "the pipe program cannot be used: wrote text on the pipe: 'endpoint 1.0, welcome'" in done.errors
