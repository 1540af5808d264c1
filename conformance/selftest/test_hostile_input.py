# SPDX-License-Identifier: GPL-2.0-or-later
"""Input that is meant to harm the suite: captures of very many connections, programs that take too much, output
without end, and text that steers terminals."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from netblt_conformance.check import crowd, report
from netblt_conformance.check.judge import Checked
from netblt_conformance.common import words
from netblt_conformance.common.child import sanitizer_report
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.kept import FILE_BYTES, HEAD_BYTES, TAIL_BYTES, kept_file, kept_text
from netblt_conformance.common.verdicts import ExitCode, Result, Verdict
from netblt_conformance.judges.limits import MEMORY_VARIABLE, TIME_VARIABLE, failure, limits
from netblt_conformance.judges.standings import CROWD
from netblt_conformance.judges.tshark import plugin_folder
from netblt_conformance.links.process import Process
from netblt_conformance.report import files, table

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dissector.tests import hostile

if TYPE_CHECKING:
    from selftest.conftest import Command

MIB = 1 << 20
# Colours, a title, C1's own way to begin a sequence, an override of direction, zero width, a line separator, a tag.
EVIL = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202eturned\u200b\u2066\u200f\ufeff\u2028next\U000e0041"
with_plugin = pytest.mark.skipif(not list(plugin_folder().glob("*/epan/netblt.so")), reason="no plugin")


def measured(*arguments: str, **environment: str) -> tuple[int, str, str, int]:
    """Exit status, output, errors of the command, and the bytes of its largest process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "netblt_conformance", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    output, errors = process.communicate()
    return process.returncode, output, errors, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


@with_plugin
def test_check_judges_a_crowd_within_20_kb_for_each_connection(tmp_path: Path) -> None:
    many = 10_000
    capture = hostile.capture(tmp_path / "crowd.pcap", hostile.broken_openings, many)
    status, output, _, largest = measured("check", "--json", str(capture))
    assert status == ExitCode.HOLDS
    (file,) = json.loads(output)["files"]
    assert (file["transfers"], len(file["connections"])) == (many, many)
    assert {row["verdict"] for one in file["connections"] for row in one["requirements"]} == {"PASS", "INCONC"}
    # The suite and tshark, each less what it takes with nothing to do.
    assert largest <= many * 20_000 + 256 * MIB


@with_plugin
def test_the_table_of_a_crowd_sums_up_what_its_connections_have_in_common(tmp_path: Path) -> None:
    many = CROWD + 500
    capture = hostile.capture(tmp_path / "crowd.pcap", hostile.broken_openings, many)
    status, output, _, _ = measured("check", "-v", str(capture))
    assert status == ExitCode.HOLDS
    assert "... and 500 more (--json lists all)" in output
    assert f"{many} connections: " in output  # a rule that all of them keep
    assert f"{many - crowd.LISTED_ALIKE} more connections" in output  # those that are suspected alike
    assert len(output.splitlines()) < CROWD + 1000


@with_plugin
def test_a_capture_that_needs_more_memory_than_there_is_ends_with_an_error_that_says_so(tmp_path: Path) -> None:
    capture = hostile.capture(tmp_path / "messages.pcap", hostile.random_messages, 6_000)
    status, output, errors, largest = measured("check", str(capture))
    assert status == ExitCode.COULD_NOT_RUN
    assert "not judged to its end: stream 0: no memory is left for it from frame" in errors
    assert "netblt.memory_limit (256 MiB) allows more" in errors
    assert "requirements were put to the test" in output
    assert largest < 900 * MIB


@with_plugin
@pytest.mark.parametrize(
    ("variable", "value", "reached"),
    [
        (MEMORY_VARIABLE, "450", "the memory limit of 450 MiB"),
        (TIME_VARIABLE, "0.05", "the time limit of 0.05 s"),
    ],
)
def test_a_limit_that_tshark_reaches_is_named_with_the_variable_that_raises_it(
    tmp_path: Path, variable: str, value: str, reached: str
) -> None:
    capture = hostile.capture(tmp_path / "crowd.pcap", hostile.connections, 60_000)
    status, _, errors, _ = measured("check", str(capture), **{variable: value})
    assert status == ExitCode.COULD_NOT_RUN
    assert reached in errors
    assert f"{variable} in the environment allows more" in errors


@pytest.mark.parametrize("value", ["", "many", "0", "-1", "1e99"])
def test_a_limit_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, value)
    with pytest.raises(JudgeError, match=f"{MEMORY_VARIABLE}={value}: a number greater than zero"):
        limits()


def test_why_tshark_failed_is_told_from_how_it_ended() -> None:
    allocation = b"GLib-ERROR **: gmem.c:137: failed to allocate 2097152 bytes\n"
    assert "memory limit" in failure(-5, allocation, limits())
    assert failure(-11, b"", limits()) == "no reason given (it ended with SIGSEGV)"
    assert failure(2, b'tshark: The standard input is no "capture"\n', limits()) == 'it is no "capture"'
    assert failure(0, allocation, limits()) == ""


# ---- the output of an implementation ----


def writer(code: str) -> Process:
    process = Process([sys.executable, "-c", f"import sys\n{code}"], {})
    assert process.wait(60) is not None
    return process


def test_standard_error_is_kept_up_to_a_size_with_its_beginning_and_its_end() -> None:
    process = writer(
        "sys.stderr.write('first\\n'); [sys.stderr.write('x' * 999 + '\\n') for _ in range(20_000)]\n"
        "sys.stderr.write('ERROR: AddressSanitizer: last')"
    )
    text = process.errors()
    assert text.startswith("first\n")
    assert "bytes left out ..." in text
    assert len(text) <= HEAD_BYTES + TAIL_BYTES + 100
    assert process.fault() == "sanitizer report: ERROR: AddressSanitizer: last"
    process.free()
    process.free()


def test_short_output_is_kept_whole_and_apart() -> None:
    process = writer("print('out'); print('err', file=sys.stderr)")
    assert (process.output(), process.errors(), process.last_words()) == ("out\n", "err\n", "err")
    process.free()


def test_a_program_that_goes_on_in_the_background_does_not_hold_up_the_suite() -> None:
    process = writer(
        "import subprocess\nprint('here', file=sys.stderr, flush=True)\nprint(subprocess.Popen(['sleep', '600']).pid)"
    )
    background = int(process.output())
    try:
        assert process.errors() == "here\n"
        process.free()
        os.kill(background, 0)  # it is still there: nothing waited for its end
    finally:
        os.kill(background, signal.SIGKILL)


@pytest.mark.parametrize("text", ["x" * 4_000_000, "runtime erro" * 300_000, "ERROR: Sanitizer" * 250_000])
def test_a_line_without_end_is_searched_in_linear_time(text: str) -> None:
    """A quadratic search takes days for it."""
    began = time.process_time()
    assert sanitizer_report(text) is None
    assert time.process_time() - began < 10


def test_a_sanitizers_report_is_found_in_its_line() -> None:
    assert (
        sanitizer_report("a\n==7==ERROR: AddressSanitizer: heap\x1b[0m\nb") == "ERROR: AddressSanitizer: heap\\u001b[0m"
    )
    assert sanitizer_report("WARNING: ThreadSanitizer: race") == "WARNING: ThreadSanitizer: race"
    assert sanitizer_report("x.c:3: runtime error: shift") == "x.c:3: runtime error: shift"


def test_a_forked_process_cannot_write_more_than_the_file_holds() -> None:
    with kept_file() as file:
        child = os.fork()
        if child == 0:
            os.dup2(file.fileno(), 2)
            for _ in range(3 * FILE_BYTES // 1000):
                try:
                    os.write(2, b"y" * 1000)
                except OSError:
                    os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert 0 < len(kept_text(file)) <= FILE_BYTES


# ---- text that steers terminals ----


def harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.replace("\t", " ").split("\n"))


def test_every_character_that_steers_or_hides_is_escaped_and_others_stay() -> None:
    assert words.fit(EVIL) == (
        "\\u001b[31mred\\u001b]0;title\\u0007\\u009b2J\\u202eturned\\u200b\\u2066\\u200f\\ufeff\\u2028next\\udb40\\udc41"
    )
    for code in (
        *range(0x20),
        *range(0x7F, 0xA0),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        0x200E,
        0x200F,
        0x61C,
    ):
        assert words.fit(chr(code)) == f"\\u{code:04x}"
    plain = "größer → 3 €, 日本, a\u00a0b 😀"
    assert words.fit(plain) == plain
    assert words.fit_lines("a\n\tb\x1b") == "a\n\tb\\u001b"
    assert words.printable("a\nb\x1b" + "c" * 900).startswith("a b\\u001bccc")
    assert len(words.printable("\x1b" * 900)) == words.WORDS_MAX


def evil_result(verdict: Verdict = Verdict.FAIL) -> Result:
    return Result(f"case {EVIL}", ["CTRL-04"], "role", verdict, EVIL, observed={"name": EVIL}, expected=EVIL)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_reports_hold_no_character_that_steers(verdict: Verdict) -> None:
    header: dict[str, Any] = {"implementation": EVIL, "versions": {"x": EVIL}, "link": "pipe"}
    results = [evil_result(verdict)]
    xml = files.junit(header, results)
    assert harmless(xml)
    ET.fromstring(xml)
    text = files.json_lines(header, results)
    assert harmless(text)
    first, second = map(json.loads, text.splitlines())
    assert (first["implementation"], second["seen"], second["expected"]) == (
        EVIL,
        EVIL,
        EVIL,
    )  # the value is what it was
    assert harmless("\n".join(table.rows(results, colour=False)))


def test_the_document_of_check_holds_no_character_that_steers() -> None:
    checked = [Checked(f"{EVIL}.pcap", error=EVIL, notes=[EVIL])]
    document = report.document(checked, ExitCode.COULD_NOT_RUN, strict=False, skipped=[(EVIL, EVIL)])
    for one_line in (False, True):
        text = "".join(report.pieces(document, checked, one_line=one_line))
        assert harmless(text)
        assert json.loads(text)["files"][0]["error"] == EVIL
        assert text.count("\n") == 1 or not one_line
    assert harmless(report.text(checked, False, verbose=True, quiet=False, skipped=[(EVIL, EVIL)]))


def test_a_hostile_file_name_is_escaped_on_the_terminal(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2Jb\u202e.pcap"
    path.write_bytes(b"")
    done = command("check", str(path))
    assert done.status == ExitCode.COULD_NOT_RUN
    assert harmless(done.output)
    assert "\\u001b[2Jb\\u202e" in done.errors
    assert harmless(done.errors)


RUST = """\
ready
thread 'main' panicked at src/core.rs:41:9:
attempt to divide by zero
stack backtrace:
   0: rust_begin_unwind
   1: core::panicking::panic_fmt
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
"""
GO = "ready\npanic: runtime error: index out of range [3]\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:7 +0x1d\n"
PYTHON = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    1 / 0\nZeroDivisionError: zero\n'
JAVASCRIPT = """\
/a.js:1
function f() { return null.y }
                           ^

TypeError: Cannot read properties of null
    at f (/a.js:1:28)
    at /a.js:2:22
    at process.processTicksAndRejections (node:internal/process/task_queues:77:11)

Node.js v20.20.2
"""


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        (JAVASCRIPT, "TypeError: Cannot read properties of null / at f (/a.js:1:28) / "),
        ("look at this\nnow at last\nat once\n", "look at this / now at last / at once"),
        (RUST, "thread 'main' panicked at src/core.rs:41:9: / attempt to divide by zero / "),
        (GO, "panic: runtime error: index out of range [3] / "),
        (PYTHON, 'File "a.py", line 1, in <module> / 1 / 0 / ZeroDivisionError: zero'),
        ("one\n\ntwo\nthree\nfour\n", "two / three / four"),
    ],
)
def test_the_reason_of_a_stack_trace_is_quoted_wherever_it_stands(text: str, begin: str) -> None:
    assert words.last_lines(text).startswith(begin)
